"""The built-in tasks with numpy arrays."""

import pickle

import numpy as np
import pytest

import cgcmarl


@pytest.mark.parametrize("task", sorted(cgcmarl.tasks()))
def test_every_task_plays_an_episode(task):
    environment = cgcmarl.make(task, n=3)
    rng = np.random.default_rng(0)
    states = environment.reset(seed=1)
    assert states.shape == (3, environment.state_width)
    for step in range(environment.horizon):
        masks = environment.masks()
        chances = masks + 1e-9
        actions = [
            [rng.choice(len(may), p=may / may.sum()) for may in agents] for agents in chances
        ]
        after = environment.step(actions)
        assert np.isfinite(after.states).all() and (after.costs >= 0).all()
        if after.done.all():
            break
    assert after.done.any() or step + 1 == environment.horizon
    picture = environment.picture()
    assert picture.dtype == np.uint8 and picture.shape[2] == 3 and picture.std() > 0


def test_seeds_repeat_and_environments_are_independent():
    one, two = cgcmarl.make(n=2), cgcmarl.make(n=2)
    assert (one.reset(seed=4) == two.reset(seed=4)).all()
    assert (one.reset(seed=[9, 4])[1] == two.reset(seed=[4, 4])[0]).all()
    before = one.states()[0]
    one.reset(seed=[1, 2], only=[1])
    assert (one.states()[0] == before).all()


def test_a_finished_episode_stands_still_until_it_is_reset():
    environment = cgcmarl.make(n=1, horizon=2)
    environment.reset(seed=0)
    environment.step([[0, 0, 0]])
    assert environment.step([[0, 0, 0]]).truncated[0]
    there = environment.states()
    assert (environment.step([[24, 24, 24]]).states == there).all()
    environment.reset()
    assert not environment.step([[0, 0, 0]]).done[0]


def test_a_snapshot_goes_on_exactly():
    one, two = cgcmarl.make(), cgcmarl.make()
    one.reset(seed=8)
    one.step([[3, 4, 5]])
    two.restore(one.snapshot())
    assert (one.step([[1, 2, 3]]).states == two.step([[1, 2, 3]]).states).all()


def test_a_copy_through_pickle_goes_on_exactly():
    one = cgcmarl.make(n=2, agents=4)
    one.reset(seed=8)
    one.step([[3, 4, 5, 6]] * 2)
    two = pickle.loads(pickle.dumps(one))
    assert (one.step([[1, 2, 3, 4]] * 2).states == two.step([[1, 2, 3, 4]] * 2).states).all()
    assert (one.reset() == two.reset()).all()


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: cgcmarl.make("simple_spred"), "simple_spread"),
        (lambda: cgcmarl.make(agent=3), "agents"),
        (lambda: cgcmarl.make(agents=-1), "agents"),
        (lambda: cgcmarl.make(n=0), "n: 0 is not a whole number from 1 up"),
        (lambda: cgcmarl.make("warehouse", n=10**9), "n: 1000000000 environments"),
        (lambda: cgcmarl.make().step([[0, 0, 25]]), "agent 2: action 25 is not one of the 25"),
        (lambda: cgcmarl.make().step([[0, -1, 0]]), "agent 1: action -1"),
        (lambda: cgcmarl.make(n=2).step([[0, 0, 0]]), "shape"),
        (lambda: cgcmarl.make().restore([1.0]), "snapshot"),
        (lambda: cgcmarl.make().restore([np.nan] * 19), "finite"),
        (lambda: cgcmarl.make().reset(only=[4]), "only: 4 is not a whole number from 0 to 0"),
    ],
)
def test_mistakes_are_named(call, told):
    with pytest.raises(ValueError, match=told):
        call()
