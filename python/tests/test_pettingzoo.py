"""PettingZoo's own tests on every built-in task, and its neighbours' conventions."""

import importlib
import pkgutil

import numpy as np
import pettingzoo
import pytest
from pettingzoo.test import (
    api_test,
    max_cycles_test,
    parallel_api_test,
    parallel_seed_test,
    render_test,
    seed_test,
)
from pettingzoo.test.state_test import state_test

import cgcmarl
import cgcmarl.pettingzoo as ours

MODULES = [
    importlib.import_module(f"cgcmarl.pettingzoo.{found.name}")
    for found in pkgutil.iter_modules(ours.__path__)
    if found.name.endswith("_v0")
]
named = pytest.mark.parametrize("module", MODULES, ids=lambda m: m.__name__.rsplit(".", 1)[1])


@pytest.fixture(autouse=True)
def no_window(monkeypatch):
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")


def test_every_task_has_a_module():
    assert {m.__name__.rsplit(".", 1)[1] for m in MODULES} == {f"{t}_v0" for t in cgcmarl.tasks()}


@named
def test_the_parallel_interface(module):
    parallel_api_test(module.parallel_env(), num_cycles=60)
    parallel_seed_test(module.parallel_env, num_cycles=30)


@named
def test_the_agent_by_agent_interface(module):
    api_test(module.env(), num_cycles=60)
    seed_test(module.env, num_cycles=30)
    state_test(module.env(), module.parallel_env())
    max_cycles_test(module)


@named
def test_pictures(module):
    render_test(module.env)


def test_costs_are_told_by_name():
    environment = ours.simple_spread_v0.parallel_env(agents=3, radius=0.7)
    environment.reset(seed=1)
    *_, infos = environment.step({agent: 12 for agent in environment.agents})
    assert any(info["cost"]["collision"] > 0 for info in infos.values())
    assert infos["agent_0"]["action_mask"].tolist() == [1] * 25
    assert "coverage" in infos["agent_0"]["metrics"]


def test_the_registry_knows_them():
    environment = pettingzoo.make("parallel", "cgcmarl/simple_spread-v0", agents=4)
    assert len(environment.reset(seed=0)[0]) == 4


@named
def test_momaland_takes_vector_rewards(module):
    momaland = pytest.importorskip("momaland.test.api_test")
    from momaland.utils.conversions import mo_parallel_to_aec

    inner = module.parallel_env()
    environment = ours.vector_rewards(inner)
    environment.reset(seed=0)
    _, rewards, *_ = environment.step({agent: 0 for agent in environment.agents})
    assert rewards["agent_0"].shape == (1 + len(inner.environment.constraints),)
    momaland.api_test(mo_parallel_to_aec(environment), num_cycles=60)


def test_six_values_as_in_safety_gymnasium():
    environment = ours.six_tuple(ours.simple_spread_v0.parallel_env(radius=0.7))
    environment.reset(seed=1)
    seen, rewards, costs, terminations, truncations, infos = environment.step(
        {agent: 0 for agent in environment.agents}
    )
    assert costs == {agent: infos[agent]["cost"]["collision"] for agent in costs}


@named
def test_supersuit_runs_them_side_by_side(module):
    supersuit = pytest.importorskip("supersuit")
    inner = module.parallel_env()
    one = supersuit.pettingzoo_env_to_vec_env_v1(inner)
    many = supersuit.concat_vec_envs_v1(one, 2, num_cpus=0, base_class="gymnasium")
    seen, _ = many.reset(seed=1)
    assert seen.shape[0] == 2 * len(inner.possible_agents)
    seen, rewards, *_ = many.step(np.zeros(len(seen), dtype=np.int64))
    assert np.isfinite(rewards).all()


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: ours.simple_spread_v0.parallel_env(render_mode="ascii"), "ascii"),
        (lambda: ours.simple_spread_v0.parallel_env(agent=3), "agents"),
        (lambda: ours.factories("nothing"), "nothing"),
    ],
)
def test_mistakes_are_named(call, told):
    with pytest.raises(ValueError, match=told):
        call()


def test_a_missing_action_is_named():
    environment = ours.simple_spread_v0.parallel_env()
    environment.reset(seed=0)
    with pytest.raises(ValueError, match="agent_2"):
        environment.step({"agent_0": 0, "agent_1": 0})
