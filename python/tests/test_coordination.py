"""The coordinators on tables of the user's own, against enumeration."""

import itertools

import numpy as np
import pytest

from cgcmarl.coordination import solve


def best(n_actions, regions, tables):
    def value(joint):
        return sum(t[tuple(joint[a] for a in members)] for members, t in zip(regions, tables))

    return max(value(joint) for joint in itertools.product(*map(range, n_actions)))


def test_exact_finds_what_enumeration_finds_in_every_row_of_a_batch():
    rng = np.random.default_rng(1)
    edges = [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)]
    tables = rng.normal(size=(6, len(edges), 3, 3)).astype(np.float32)
    answer = solve(edges, tables, solver="exact")
    assert answer.actions.shape == (6, 4)
    for row in range(6):
        assert answer.value[row] == pytest.approx(best([3] * 4, edges, tables[row]), abs=1e-5)
        alone = solve(edges, tables[row], solver="exact")
        assert (alone.actions == answer.actions[row]).all() and alone.value == answer.value[row]
    assert np.allclose(answer.gap, 0.0, atol=1e-6)


def test_regions_of_mixed_sizes_and_agents_with_their_own_actions():
    rng = np.random.default_rng(2)
    regions, n_actions = [(0, 1, 2), (2, 3), (3,)], [2, 3, 4, 5]
    tables = [rng.normal(size=[n_actions[a] for a in members]) for members in regions]
    answer = solve(regions, tables, solver="exact")
    single = [np.float32(table) for table in tables]
    assert answer.value == pytest.approx(best(n_actions, regions, single), abs=1e-5)


def test_utilities_count_and_minus_infinity_forbids():
    table = np.array([[1.0, 0.0], [0.0, 0.5]])
    assert solve([(0, 1)], table, [[0.0, 0.0], [0.0, 3.0]]).actions.tolist() == [1, 1]
    table[0, 0] = -np.inf
    assert solve([(0, 1)], table).actions.tolist() == [1, 1]


@pytest.mark.parametrize("solver", ["anytime", "max_sum"])
def test_bounds_hold_and_threads_change_nothing(solver):
    rng = np.random.default_rng(3)
    edges = list(itertools.combinations(range(6), 2))
    tables = rng.normal(size=(8, len(edges), 5, 5)).astype(np.float32)
    answer = solve(edges, tables, solver=solver, bound=True)
    optimum = solve(edges, tables, solver="exact", threads=2)
    assert (optimum.value >= answer.value - 1e-6).all()
    assert (answer.upper_bound >= optimum.value - 1e-6).all()
    again = solve(edges, tables, solver=solver, bound=True, threads=2)
    assert (again.actions == answer.actions).all()
    if solver == "anytime":
        assert (answer.value >= optimum.value - 0.05 * np.abs(optimum.value)).all()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (dict(regions=[(0, 1)], tables=np.zeros((2, 2)), solver="magic"), "magic"),
        (dict(regions=[(0, 0)], tables=np.zeros((2, 2))), "region"),
        (dict(regions=[(0, 1)], tables=np.full((2, 2), np.nan)), "NaN"),
        (dict(regions=[(0, 1), (1, 2)], tables=np.zeros((3, 2, 2))), "2 regions"),
        (dict(regions=[(0, 1)], tables=np.zeros((2, 2)), damping=1.5), "damping"),
        (dict(regions=[(0, 5)], tables=np.zeros((2, 2)), agents=3), "agent 5"),
        (
            dict(regions=[(0, 1), (1, 2)], tables=[np.zeros((2, 2)), np.zeros((3, 2))]),
            "agent 1 has 2 actions and 3",
        ),
    ],
)
def test_mistakes_are_named(arguments, told):
    with pytest.raises(ValueError, match=told):
        solve(**arguments)
