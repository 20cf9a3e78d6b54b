"""The coordinators alone, for people with Q-values of their own.

>>> import numpy as np
>>> answer = solve([(0, 1)], np.array([[11.0, -30.0], [-30.0, 7.0]]))
>>> answer.actions.tolist(), float(answer.value)
([0, 0], 11.0)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _native
from ._arguments import array, real, whole, word
from ._settings import threads as thread_count

Solver = Literal["anytime", "max_sum", "exact"]


@dataclass(frozen=True)
class Solution:
    """Joint actions with what they are worth; arrays without a batch axis where the tables had none."""

    actions: NDArray[np.int64]
    value: NDArray[np.float64]
    upper_bound: NDArray[np.float64]
    """No joint action is worth more; infinite where no bound was asked for."""

    @property
    def gap(self) -> NDArray[np.float64]:
        """By how much the best joint action could be better at most."""
        return np.asarray(self.upper_bound - self.value)


def solve(
    regions: Sequence[Sequence[int]],
    tables: ArrayLike | Sequence[ArrayLike],
    utilities: ArrayLike | None = None,
    *,
    solver: Solver = "anytime",
    agents: int | None = None,
    iterations: int = 10,
    damping: float = 0.3,
    tolerance: float = 0.0,
    bound: bool = False,
    threads: int = 1,
) -> Solution:
    """The joint action that maximises the sum of all tables.

    `regions` lists the members of each region, pairs for a graph of edges. `tables` is one array for
    regions of one shape, `(…, regions, actions, actions)`, or a list with an array for each region; a
    leading axis is a batch. A single region may leave the axis of regions out. `utilities` is worth
    of each agent's actions alone, `(…, agents, actions)`. Minus infinity forbids.
    `exact` proves the optimum (up to a fixed number of branches); `bound` asks the other solvers for
    an upper bound too.
    """
    members = [[whole("regions", agent) for agent in region] for region in regions]
    listed = _listed(members, tables)
    n_agents = 1 + max((agent for region in members for agent in region), default=-1)
    alone = None if utilities is None else array("utilities", utilities, np.float32)
    if alone is not None and not 2 <= alone.ndim <= 3:
        raise ValueError(f"utilities: {alone.ndim} axes, not (…, agents, actions)")
    if alone is not None:
        n_agents = max(n_agents, alone.shape[-2])
    n_agents = n_agents if agents is None else whole("agents", agents, 1)
    batched = any(table.ndim > len(region) for region, table in zip(members, listed))
    n_actions = _actions(members, listed, alone, n_agents)
    sizes = [int(np.prod([n_actions[agent] for agent in region])) for region in members]
    flat = [table.reshape(-1, size) for table, size in zip(listed, sizes)]
    n_rows = max((len(rows) for rows in flat), default=1)
    if alone is not None:
        batched = batched or alone.ndim > 2
        alone = alone.reshape(-1, sum(n_actions))
        n_rows = max(n_rows, len(alone))
    else:
        alone = np.zeros((n_rows, sum(n_actions)), dtype=np.float32)
    rows = [np.broadcast_to(part, (n_rows, part.shape[1])) for part in flat]
    joined = np.concatenate(rows, axis=1) if rows else np.zeros((n_rows, 0), dtype=np.float32)
    actions, value, upper = _native.solve(
        n_actions,
        members,
        np.ascontiguousarray(joined),
        np.ascontiguousarray(np.broadcast_to(alone, (n_rows, alone.shape[1]))),
        word("solver", solver),
        whole("iterations", iterations),
        real("damping", damping),
        real("tolerance", tolerance),
        bool(bound),
        thread_count(threads),
    )
    if batched:
        return Solution(actions, value, upper)
    return Solution(actions[0], value[0], upper[0])


def _listed(
    members: list[list[int]], tables: ArrayLike | Sequence[ArrayLike]
) -> list[NDArray[np.float32]]:
    """A table for each region, with or without a batch axis."""
    if isinstance(tables, (list, tuple)) and len(tables) == len(members):
        return [array(f"tables[{i}]", table, np.float32) for i, table in enumerate(tables)]
    whole_array = array("tables", tables, np.float32)
    size = len(members[0]) if members else 0
    if len(members) == 1 and whole_array.ndim == size:
        return [whole_array]
    axis = whole_array.ndim - size - 1
    if axis not in (0, 1) or whole_array.shape[axis] != len(members):
        raise ValueError(
            f"tables of the shape {whole_array.shape} for {len(members)} regions of {size} members"
        )
    return [np.take(whole_array, region, axis=axis) for region in range(len(members))]


def _actions(
    members: list[list[int]],
    tables: list[NDArray[np.float32]],
    utilities: NDArray[np.float32] | None,
    n_agents: int,
) -> list[int]:
    """How many actions each agent has."""
    found = [0 if utilities is None else int(utilities.shape[-1])] * n_agents
    for region, (agents, table) in enumerate(zip(members, tables)):
        if table.ndim - len(agents) not in (0, 1):
            raise ValueError(
                f"the table of region {region} has {table.ndim} axes for {len(agents)} members"
            )
        for agent, count in zip(agents, table.shape[table.ndim - len(agents) :]):
            if not 0 <= agent < n_agents:
                raise ValueError(f"region {region}: agent {agent} is not one of {n_agents}")
            if found[agent] not in (0, count):
                raise ValueError(f"agent {agent} has {found[agent]} actions and {count} actions")
            found[agent] = int(count)
    return [count or 1 for count in found]
