"""Teams that learn in environments which others wrote."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import cgcmarl
from conftest import MODEL

HERE = Path(__file__).parent
SMALL = dict(
    horizon=10,
    total_steps=6000,
    seed=1,
    learning_starts=200,
    gamma=0.5,
    **{"exploration.steps": 3000},
)


@pytest.fixture(autouse=True)
def importable(monkeypatch):
    monkeypatch.syspath_prepend(str(HERE))


def learn(out, **changes):
    everything = {"env": "teams:choir", "costs": {"strain": "infos"}, **SMALL, **changes}
    return cgcmarl.train(out=out, **everything)


@pytest.fixture(scope="module")
def choir(tmp_path_factory):
    sys.path.insert(0, str(HERE))
    return learn(tmp_path_factory.mktemp("choir") / "run")


def test_a_team_learns_and_the_multiplier_trades(choir):
    front = choir.sweep([0.0, 1.0], episodes=100)
    free, careful = front.points
    random = front.references[-1]
    assert free["team_return"] > 25 > 3 > random["team_return"]
    assert careful["cost_strain"] < 0.05 < 0.15 < free["cost_strain"]
    assert choir.agents == 3 and choir.constraints == ["strain"]


def test_the_policy_plays_by_what_agents_see(choir):
    import teams

    environment, policy = teams.choir(), choir.policy(0.0)
    earned = []
    for seed in range(20):
        seen, infos = environment.reset(seed=seed)
        while environment.agents:
            actions = policy.act(seen, infos)
            state = np.concatenate([*seen.values(), np.ones(12)])
            assert list(actions) == environment.agents and list(actions.values()) == policy.act(state).tolist()
            seen, rewards, _, _, infos = environment.step(actions)
            earned.append(rewards["singer_0"])
    assert np.mean(earned) > 0.8
    seen, _ = environment.reset(seed=0)
    only = {"singer_1": {"action_mask": np.eye(4, dtype=np.int8)[2]}}
    assert policy.act(seen, only)["singer_1"] == 2
    for wrong, told in [
        ({"singer_0": seen["singer_0"]}, r"1 agents \(singer_0\), and the team has 3"),
        ({**seen, "singer_1": [1.0]}, r"observations\['singer_1'\]: 1 numbers, not 4"),
        ({**seen, "singer_1": [1.0, 0.0, np.nan, 0.0]}, r"observations\['singer_1'\]\[2\] is nan"),
        ({**seen, "singer_1": "abc"}, r"observations\['singer_1'\]: could not convert"),
        ({**seen, "singer_1": [1j, 0, 0, 0]}, r"observations\['singer_1'\]: complex"),
    ]:
        with pytest.raises((TypeError, ValueError), match=told):
            policy.act(wrong)
    for infos, told in [
        ({"nobody": {}}, r"infos\['nobody'\]: no such agent"),
        ({"singer_1": None, "singer_2": 3}, r"infos\['singer_2'\]: int, not a mapping"),
        ([1, 2], "infos: list, not a mapping"),
        ({"singer_1": {"action_mask": np.zeros(4)}}, r"infos\['singer_1'\]\['action_mask'\]: \[0.0"),
        ({"singer_1": {"action_mask": [0.5, 1, 1, 1]}}, "zeros and ones"),
        ({"singer_1": {"action_mask": [1, 1]}}, r"the shape \(2,\), not \(4,\)"),
    ]:
        with pytest.raises((TypeError, ValueError), match=told):
            policy.act(seen, infos)
    with pytest.raises(ValueError, match="take the state"):
        cgcmarl.load(MODEL).policy(0.5).act({"agent_0": [0.0]})


def test_what_the_masks_forbid_is_never_played(tmp_path):
    """The environment itself raises where a singer does what it may not."""
    model = learn(tmp_path / "run", env="teams:rests", total_steps=2000, **{"random_actions.start": 0.5})
    assert model.sweep([0.0], episodes=20).points[0]["team_return"] > 0.0


def test_regions_follow_the_neighbours(tmp_path):
    arguments = {"singers": 4}
    model = learn(
        tmp_path / "run", env="teams:strolling", arguments=arguments, total_steps=1000,
        regions="k_nearest", positions=[4, 5], k=1,
    )  # fmt: skip
    places = np.array([[0.0, 0.0], [0.1, 0.0], [0.9, 0.9], [0.9, 0.8]])
    state = np.concatenate([*[[1, 0, 0, 0, *place] for place in places], np.ones(16)])
    assert sorted(map(sorted, model.tables(state, multiplier=0.0).regions)) == [[0, 1], [2, 3]]
    state[6 * 1 + 4 : 6 * 1 + 6] = 0.9
    assert [1, 2] in map(sorted, model.tables(state, multiplier=0.0).regions)


def test_the_number_of_processes_changes_nothing(choir, tmp_path):
    again = learn(tmp_path / "run", workers=3)
    model = lambda m: (Path(m.path) / "model.safetensors").read_bytes()
    assert model(again) == model(choir)


def test_costs_by_key_and_by_function_are_the_same(tmp_path):
    import teams

    by_function = learn(tmp_path / "a", env=teams.choir, costs={"strain": teams.high_note})
    by_infos = learn(tmp_path / "b", regions=[[0, 1], [1, 2], [0, 2]])
    score = lambda m: m.sweep([1.0], episodes=50).points[0].metrics
    assert score(by_function) == score(by_infos)


def test_the_program_sweeps_reports_and_resumes_such_a_run(choir, tmp_path):
    run = lambda *words: subprocess.run(
        [sys.executable, "-m", "cgcmarl", *words],
        capture_output=True,
        text=True,
        cwd=HERE,
        env={**os.environ, "PYTHONPATH": str(HERE)},
    )
    done = run("sweep", choir.path, "--multipliers", "1", "--episodes", "20", "--out", str(tmp_path / "s"))
    assert done.returncode == 0 and "strain" in done.stdout, done.stderr
    settings = ["env=teams:choir", 'costs=["strain=infos"]', "horizon=10", "total_steps=1000"]
    done = run("train", "task=pettingzoo", *settings, "episodes=5", "--out", str(tmp_path / "t"))
    assert done.returncode == 0, done.stderr
    assert run("report", str(tmp_path / "t"), "--out", str(tmp_path / "r.html")).returncode == 0


def test_a_choice_needs_to_know_what_an_agent_pays_at_most(choir, tmp_path):
    with pytest.raises(ValueError, match="has no largest value"):
        choir.choose({"strain": 0.9}, episodes=50)
    bounded = learn(tmp_path / "run", most_cost=[1.0])
    choice = bounded.choose({"strain": 0.99}, episodes=200, multipliers=[5.0])
    assert choice.candidates[0].upper_bounds["strain"] < 1.0
    for wrong in ([1.0, 2.0], [0.0]):
        with pytest.raises(ValueError, match="most_cost"):
            learn(tmp_path / "none", most_cost=wrong)
    with pytest.raises(ValueError, match="the cost 'strain' of .* is 1, above most_cost 0.5"):
        learn(tmp_path / "above", most_cost=[0.5])


def test_a_job_about_such_a_run_is_recognised(choir, tmp_path):
    run = lambda *words: subprocess.run(
        [sys.executable, "-m", "cgcmarl", *words],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(HERE)},
    )
    listed = run("jobs", "sweep", choir.path, "--multipliers", "1", "--episodes", "4", "--parts", "1", "--out", str(tmp_path))
    assert listed.returncode == 0, listed.stderr
    done = run("run-job", listed.stdout.strip())
    assert done.returncode == 0 and "played" in done.stderr, done.stderr
    # A word may be longer than any path.
    many = run("jobs", "--over", "seed=" + ",".join(map(str, range(100))), "total_steps=10", "--out", "grid")
    assert many.returncode == 0 and len(many.stdout.splitlines()) == 100, many.stderr


def test_an_interrupted_training_goes_on_exactly(choir, tmp_path):
    pressed = []

    def press(step, line):
        if not pressed:
            pressed.append(step)
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        learn(tmp_path / "run", callback=press, log_interval=1000)
    again = cgcmarl.resume(tmp_path / "run")
    model = lambda m: (Path(m.path) / "model.safetensors").read_bytes()
    assert model(again) == model(choir)


def test_a_process_that_dies_once_is_started_again_and_nothing_changes(choir, tmp_path):
    arguments = {"wrong": "dies once", "marker": str(tmp_path / "died")}
    again = learn(tmp_path / "run", arguments=arguments)
    assert (tmp_path / "died").exists()
    model = lambda m: (Path(m.path) / "model.safetensors").read_bytes()
    assert model(again) == model(choir)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ("raises", "step 3: RuntimeError: the roof fell in"),
        ("nan", "step 3: observation 2 of singer_1 is nan"),
        ("negative", "step 3: the cost 'strain' of singer_0 is -1.0, below 0"),
        ("leaves", "step 3: singer_2 is done while others go on"),
        ("dies", "environment process . died"),
    ],
)
def test_what_goes_wrong_is_named(wrong, told, tmp_path):
    with pytest.raises(ValueError, match=told):
        learn(tmp_path / "run", arguments={"wrong": wrong})


def test_a_process_that_hangs_is_stopped(tmp_path):
    with pytest.raises(ValueError, match="did not answer within 1 s"):
        learn(tmp_path / "run", arguments={"wrong": "hangs"}, patience=1)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        (dict(arguments={"wrong": "space"}), "singer_1 sees 7 numbers, singer_0 4"),
        (dict(arguments={"wrong": "actions"}), "singer_2 has 5 actions, singer_0 4"),
        (dict(arguments={"singers": 1}), "a team of 1"),
        (dict(env="teams:nobody"), "nobody"),
        (dict(env="teams"), "module:name"),
        (dict(costs={"noise": "infos"}), "no 'noise', only"),
        (dict(regions="k_nearest"), "positions"),
        (dict(regions=[[0, 5]]), "0, 5"),
        (dict(env=lambda: None), "cannot be imported"),
        (dict(horizon=0), "horizon"),
    ],
)
def test_mistakes_are_named_before_anything_is_learned(changes, told, tmp_path):
    with pytest.raises(ValueError, match=told):
        learn(tmp_path / "run", **changes)
    assert not (tmp_path / "run" / "model.safetensors").exists()


def test_a_gymnasium_environment_of_tuples_and_one_agent_by_agent(tmp_path):
    pytest.importorskip("lbforaging")
    quick = dict(total_steps=400, learning_starts=100, horizon=20, seed=1)
    foraging = cgcmarl.train(
        env="gymnasium:make",
        arguments={"id": "lbforaging:Foraging-8x8-3p-2f-v3"},
        costs={"reward_lost": "cgcmarl.examples:reward_lost"},
        out=tmp_path / "foraging",
        **quick,
    )
    assert foraging.agents == 3
    ours = cgcmarl.train(
        env="cgcmarl.pettingzoo.simple_spread_v0:env",
        arguments={"max_cycles": 20, "agents": 2},
        costs={"collision": "infos"},
        out=tmp_path / "ours",
        **quick,
    )
    assert ours.agents == 2 and ours.constraints == ["collision"]


def test_built_in_tasks_are_still_listed(choir):
    assert "simple_spread" in cgcmarl.tasks() and "pettingzoo" not in cgcmarl.tasks()
