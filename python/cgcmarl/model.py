"""Trained models: policies at any multiplier, fronts, choices with a guarantee, tables."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _external, _native
from ._arguments import array, function, maybe_whole, place, real, reals, whole, word
from ._settings import threads as thread_count
from .results import Choice, Front, Score

Multiplier = float | Mapping[str, float]
"""One number for all constraints, or one for each by name."""
Multipliers = Sequence[float] | Mapping[str, Sequence[float]]
"""Numbers for all constraints, or some for each by name: then every combination."""


@dataclass(frozen=True)
class Tables:
    """One decision, laid open."""

    regions: list[list[int]]
    """Who coordinates with whom."""
    tables: list[NDArray[np.float32]]
    """What each region says of each joint action of its members: primary + multiplier · cost."""
    action: list[int]
    """The joint action that was chosen."""
    value: float
    """What the tables add up to there."""
    upper_bound: float
    """No joint action is worth more."""


class Policy:
    """A frozen policy: states in, joint actions out."""

    def __init__(self, native: _native.Policy, spec: Mapping[str, Any]) -> None:
        self._native = native
        self.task: str = spec["task"]
        self.agents: int = spec["n_agents"]
        self.state_width: int = spec["state_width"]
        self._seen_width: int = spec["agent_width"]
        self._actions: list[int] = spec["n_actions"]

    @overload
    def act(self, states: ArrayLike) -> NDArray[np.int64]: ...

    @overload
    def act(
        self, states: Mapping[str, ArrayLike], infos: Mapping[str, Mapping[str, Any]] | None = None
    ) -> dict[str, int]: ...

    def act(
        self,
        states: ArrayLike | Mapping[str, ArrayLike],
        infos: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> NDArray[np.int64] | dict[str, int]:
        """One action for each agent: a row for each state, or a flat array for a single state.

        In an environment that others wrote also by agent: what each one sees, as `reset` and `step` return
        it (in the order of the environment's agents), with `infos` where they hold an `action_mask`.
        """
        if infos is not None and not isinstance(infos, Mapping):
            raise TypeError(f"infos: {type(infos).__name__}, not a mapping of agents")
        if isinstance(states, Mapping):
            row = self._state(states, infos or {})
            return dict(zip(states, map(int, self._native.act(row[None])[0])))
        try:
            rows = np.asarray(states, dtype=np.float32)
        except (TypeError, ValueError) as error:
            raise TypeError(f"states: {error}") from error
        if not 1 <= rows.ndim <= 2:
            raise ValueError(f"states: {rows.ndim} axes; one state has one, many have two")
        if rows.ndim == 1:
            actions: NDArray[np.int64] = self._native.act(rows[None])[0]
            return actions
        return self._native.act(rows)

    def _state(
        self, seen: Mapping[str, ArrayLike], infos: Mapping[str, Mapping[str, Any]]
    ) -> NDArray[np.float32]:
        """The state of an environment that others wrote: what its agents see, then what they may do."""
        if self.task != _external.TASK:
            raise ValueError(
                f"observations: regions of {self.task!r} see more than its agents do; "
                "take the state, `environment.state()`"
            )
        if len(seen) != self.agents:
            names = ", ".join(map(str, seen))
            raise ValueError(
                f"observations: {len(seen)} agents ({names}), and the team has {self.agents}"
            )
        strangers = [name for name in infos if name not in seen]
        if strangers:
            raise ValueError(f"infos[{strangers[0]!r}]: no such agent in observations")
        rows = [self._seen(agent, numbers) for agent, numbers in seen.items()]
        masks = zip(seen, self._actions)
        rows.extend(_mask(agent, infos.get(agent), n_actions) for agent, n_actions in masks)
        return np.concatenate(rows)

    def _seen(self, agent: str, numbers: ArrayLike) -> NDArray[np.float32]:
        """What one agent sees, flat."""
        where = f"observations[{agent!r}]"
        try:
            found = np.asarray(numbers)
            if np.iscomplexobj(found):
                raise TypeError("complex numbers")
            row = found.astype(np.float32).ravel()
        except (TypeError, ValueError) as error:
            raise TypeError(f"{where}: {error}") from error
        if row.size != self._seen_width:
            raise ValueError(f"{where}: {row.size} numbers, not {self._seen_width}")
        wrong = np.flatnonzero(~np.isfinite(row))
        if wrong.size:
            raise ValueError(f"{where}[{wrong[0]}] is {row[wrong[0]]}")
        return row


def _mask(agent: str, info: Any, n_actions: int) -> NDArray[np.float32]:
    """What one agent may do; everything where nothing is said."""
    if info is not None and not isinstance(info, Mapping):
        raise TypeError(f"infos[{agent!r}]: {type(info).__name__}, not a mapping")
    said = (info or {}).get("action_mask")
    if said is None:
        return np.ones(n_actions, dtype=np.float32)
    mask, where = np.asarray(said), f"infos[{agent!r}]['action_mask']"
    if mask.shape != (n_actions,):
        raise ValueError(f"{where}: the shape {mask.shape}, not ({n_actions},)")
    if not np.isin(mask, (0, 1)).all() or not mask.any():
        raise ValueError(f"{where}: {mask.tolist()}; zeros and ones, at least one of them a one")
    return mask.astype(np.float32)


class Model:
    """A trained run."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        where = place("path", path)
        if _external.is_needed([where]):
            _external.enable()
        self._native = _native.Model(where)
        about = json.loads(self._native.about(None))
        spec = about["spec"]
        self.path: str = about["path"]
        self.task: str = spec["task"]
        self.algorithm: str = about["algorithm"]
        self.seed: int = about["seed"]
        self.steps: int = about["steps"]
        self.agents: int = spec["n_agents"]
        self.constraints: list[str] = [constraint["name"] for constraint in spec["constraints"]]
        self.options: dict[str, Any] = about["options"]
        self.has_multipliers: bool = about["has_multipliers"]
        """Whether it plays at any multiplier; a baseline has one trade-off."""

    def __repr__(self) -> str:
        return f"Model({self.path!r}: {self.algorithm}, {self.task}, {self.agents} agents)"

    @property
    def config(self) -> str:
        """The resolved configuration, as TOML."""
        return self._native.config()

    @property
    def front(self) -> Front:
        """The front of the last sweep that was saved."""
        return Front.read(self._native.front())

    def policy(self, multiplier: Multiplier = 1.0, agents: int | None = None) -> Policy:
        """The policy at a multiplier, or at one for each constraint by name; for a team of another
        size where the model fits any.

        >>> load(example_model).policy({"collision": 2.0}).agents
        3
        """
        agents = maybe_whole("agents", agents, 1)
        native = self._native.policy(self._row(multiplier), agents)
        spec = json.loads(self._native.about(agents))["spec"]
        return Policy(native, spec)

    def sweep(
        self,
        multipliers: Multipliers | None = None,
        episodes: int | None = None,
        *,
        agents: int | None = None,
        start_seed: int | None = None,
        threads: int | None = None,
        progress: Callable[[Score], object] | None = None,
    ) -> Front:
        """Scores the model at many multipliers, all on the same start states.

        >>> front = load(example_model).sweep([0.1, 1.0], episodes=50)
        >>> [round(point.multipliers["collision"], 1) for point in front.points]
        [0.1, 1.0]
        """
        function("progress", progress)
        numbers, grid = _lists(multipliers)
        done = None if progress is None else lambda text: progress(Score.read(json.loads(text)))
        return Front.read(
            self._native.sweep(
                numbers,
                grid,
                maybe_whole("episodes", episodes, 1),
                maybe_whole("start_seed", start_seed),
                maybe_whole("agents", agents, 1),
                thread_count(threads),
                done,
            )
        )

    def choose(
        self,
        limits: float | Mapping[str, float],
        *,
        maximise: str | None = None,
        confidence: float = 0.95,
        episodes: int = 10_000,
        multipliers: Multipliers | None = None,
        threads: int | None = None,
        save: bool = False,
    ) -> Choice:
        """The multipliers with the best objective that keep the limits, all of them together, with
        this confidence; `save` writes the choice into the run, where the program finds it."""
        if isinstance(limits, Mapping):
            named = {name: real(f"limits[{name!r}]", limit) for name, limit in limits.items()}
        else:
            named = {name: real("limits", limits) for name in self.constraints}
        numbers, grid = _lists(multipliers)
        return Choice.read(
            self._native.choose(
                list(named.items()),
                None if maximise is None else word("maximise", maximise),
                real("confidence", confidence),
                whole("episodes", episodes, 1),
                numbers,
                grid,
                thread_count(threads),
                save,
            )
        )

    def tables(
        self, state: ArrayLike, multiplier: Multiplier = 1.0, agents: int | None = None
    ) -> Tables:
        """What the regions say in a state, for those who look inside."""
        row = array("state", state, np.float32).reshape(-1)
        agents = maybe_whole("agents", agents, 1)
        regions, tables, action, value, bound = self._native.tables(
            row, self._row(multiplier), agents
        )
        actions = json.loads(self._native.about(agents))["spec"]["n_actions"]
        shaped = [
            table.reshape([actions[agent] for agent in members])
            for members, table in zip(regions, tables)
        ]
        return Tables(regions, shaped, action, value, bound)

    def _row(self, multiplier: Multiplier) -> list[float]:
        if not isinstance(multiplier, Mapping):
            row = [real("multiplier", multiplier, 0.0)] * len(self.constraints)
        else:
            strangers = set(multiplier) - set(self.constraints)
            missing = set(self.constraints) - set(multiplier)
            if strangers or missing:
                raise ValueError(
                    f"multipliers for {sorted(multiplier)}; the constraints are {self.constraints}"
                )
            row = [
                real(f"multiplier[{name!r}]", multiplier[name], 0.0) for name in self.constraints
            ]
        return row


def _lists(
    multipliers: Multipliers | None,
) -> tuple[list[float] | None, list[tuple[str, list[float]]]]:
    if multipliers is None:
        return None, []
    if isinstance(multipliers, Mapping):
        return None, [
            (name, reals(f"multipliers[{name!r}]", numbers, 0.0))
            for name, numbers in multipliers.items()
        ]
    return reals("multipliers", multipliers, 0.0), []


def load(path: str | os.PathLike[str]) -> Model:
    """Opens a run directory, or one of the shipped models.

    >>> load(example_model)
    Model('...simple_spread_3': cg_cmarl, simple_spread, 3 agents)
    """
    return Model(path)
