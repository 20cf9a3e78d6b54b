"""Models: policies, fronts, choices, tables."""

import numpy as np
import pytest

import cgcmarl
from conftest import MODEL


@pytest.fixture(scope="module")
def model():
    return cgcmarl.load(MODEL)


def played(model, multiplier, n=400, seed=5):
    environment = cgcmarl.make(model.task, n=n, agents=model.agents)
    policy = model.policy(multiplier)
    states = environment.reset(seed=seed)
    collisions = 0.0
    for _ in range(environment.horizon):
        after = environment.step(policy.act(states))
        states = after.states
        collisions += after.metrics["collisions_per_step"].mean() / environment.horizon
    assert after.truncated.all() and not after.terminated.any()
    return after.metrics["coverage"].mean(), collisions


def test_a_model_tells_what_it_is(model):
    assert (model.task, model.agents, model.algorithm) == ("simple_spread", 3, "cg_cmarl")
    assert model.constraints == ["collision"] and model.has_multipliers
    assert "[training]" in model.config
    assert model.front.axes == ["coverage", "collisions_per_step"]


def test_it_plays_here_as_well_as_its_front_says(model):
    point = next(p for p in model.front.points if p.multipliers["collision"] == 0.5)
    coverage, collisions = played(model, 0.5)
    assert abs(coverage - point["coverage"]) < 0.02
    assert collisions < 3 * point["collisions_per_step"]
    assert played(model, 0.0)[1] > 5 * collisions


def test_one_state_and_many_give_the_same_actions(model):
    environment = cgcmarl.make("simple_spread", n=7)
    states = environment.reset(seed=3)
    policy = model.policy({"collision": 1.0})
    together = policy.act(states)
    assert together.dtype == np.int64 and together.shape == (7, 3)
    assert all((policy.act(row) == actions).all() for row, actions in zip(states, together))
    assert (policy.act(np.asfortranarray(states)) == together).all()



def test_a_team_of_another_size(model):
    any_team = cgcmarl.load(MODEL.parent / "simple_spread")
    policy = any_team.policy(1.0, agents=7)
    assert policy.act(np.zeros(policy.state_width)).shape == (7,)
    with pytest.raises(ValueError, match="agents"):
        any_team.policy(1.0, agents=1)


def test_a_sweep_scores_the_same_as_the_program(model, tmp_path):
    heard = []
    front = model.sweep([0.5], 200, start_seed=7, progress=heard.append, threads=1)
    again = model.sweep([0.5], 200, start_seed=7, threads=2)
    assert front.json == again.json
    assert [score.label for score in heard] == ["λ=0.5"]
    assert [score.label for score in front.references] == ["oracle", "random"]
    frame = front.to_pandas()
    assert list(frame["label"]) == ["λ=0.5", "oracle", "random"]
    assert frame["coverage"][0] == front.points[0]["coverage"]


def test_a_choice_keeps_its_limit_or_says_that_none_does(model):
    choice = model.choose({"collision": 0.02}, episodes=2000, multipliers=[1.0])
    assert choice.multipliers == {"collision": 1.0}
    assert choice.candidates[0].upper_bounds["collision"] <= 0.02
    assert len(choice.to_pandas()) == 1
    assert model.choose(1e-6, episodes=300, multipliers=[1.0]).multipliers is None


def test_tables_add_up_to_the_value(model):
    state = cgcmarl.make("simple_spread").reset(seed=2)[0]
    inside = model.tables(state, 0.5)
    assert (model.policy(0.5).act(state) == inside.action).all()
    total = sum(
        table[tuple(inside.action[agent] for agent in members)]
        for members, table in zip(inside.regions, inside.tables)
    )
    assert total == pytest.approx(inside.value, abs=1e-5)
    assert inside.upper_bound >= inside.value - 1e-6


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda m: m.policy({"noise": 1.0}), "noise"),
        (lambda m: m.policy(-1.0), "-1"),
        (lambda m: m.policy(0.5).act(np.zeros(5)), "18 numbers, not 5"),
        (lambda m: m.policy(0.5).act(np.full(18, np.nan)), r"states\[0, 0\] is NaN"),
        (lambda m: m.sweep([0.5], episodes=0), "episodes"),
        (lambda m: m.sweep({"noise": [1.0]}), "noise"),
        (lambda m: m.choose({"noise": 1.0}), "noise"),
    ],
)
def test_mistakes_are_named(model, call, told):
    with pytest.raises(ValueError, match=told):
        call(model)


def test_a_run_that_is_not_there_is_named(tmp_path):
    with pytest.raises((ValueError, OSError), match="nowhere"):
        cgcmarl.load(tmp_path / "nowhere")


def test_numbers_that_are_no_state_are_refused_and_a_lone_predator_acts():
    policy = cgcmarl.load(MODEL.parent / "predator_prey").policy(1.0)
    with pytest.raises(ValueError, match="states"):
        policy.act(np.full(policy.state_width, 1e9))
    assert policy.act(np.zeros(policy.state_width)).shape == (8,)


def turned(state, table, symmetry):
    """A state, and what its table is called there: bit 0 flips x, bit 1 flips y, bit 2 exchanges them."""
    points, forces = np.array(state).reshape(-1, 2), table.reshape(5, 5, 5, 5)
    if symmetry & 1:
        points, forces = points * [-1, 1], forces[::-1, :, ::-1, :]
    if symmetry & 2:
        points, forces = points * [1, -1], forces[:, ::-1, :, ::-1]
    if symmetry & 4:
        points, forces = points[:, ::-1], forces.transpose(1, 0, 3, 2)
    return points.reshape(-1).astype(np.float32), forces.reshape(25, 25)


@pytest.mark.parametrize("symmetry", range(1, 8))
def test_a_turned_world_gives_the_turned_tables(model, symmetry):
    environment = cgcmarl.make("simple_spread", n=4)
    environment.reset(seed=9)
    moved = environment.step(np.arange(12).reshape(4, 3) * 2).states
    for state in moved:
        plain = model.tables(state, 0.5)
        for region, table in enumerate(plain.tables):
            world, expected = turned(state, table, symmetry)
            there = model.tables(world, 0.5)
            assert there.regions == plain.regions
            assert (there.tables[region] == expected).all()
            assert abs(there.value - plain.value) < 1e-5
