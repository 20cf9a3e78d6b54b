"""The built-in tasks, many environments at once, with numpy arrays."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _native
from ._arguments import array, whole, word
from ._settings import pairs


@dataclass(frozen=True)
class Task:
    """What a task says about itself."""

    name: str
    summary: str
    options: dict[str, Any]
    metrics: list[str]
    constraints: list[str]
    objective: str


def tasks() -> dict[str, Task]:
    """The built-in tasks by name.

    >>> "simple_spread" in tasks()
    True
    """
    known = json.loads(_native.tasks())
    return {
        info["name"]: Task(
            name=info["name"],
            summary=info["summary"],
            options={option["key"]: option["default"] for option in info["options"]},
            metrics=[metric["name"] for metric in info["metrics"]],
            constraints=[constraint["name"] for constraint in info["constraints"]],
            objective=info["objective"],
        )
        for info in known
    }


@dataclass(frozen=True)
class Step:
    """What one joint action brought in each environment."""

    states: NDArray[np.float32]
    """The states after it."""
    rewards: NDArray[np.float32]
    """What each agent is paid."""
    team_rewards: NDArray[np.float32]
    """The shared reward of the task."""
    costs: NDArray[np.float32]
    """What each agent pays for each constraint."""
    metrics: dict[str, NDArray[np.float64]]
    """The task's own measures of this step."""
    terminated: NDArray[np.bool_]
    """Whether the episode truly ended."""
    truncated: NDArray[np.bool_]
    """Whether its time is over."""

    @property
    def done(self) -> NDArray[np.bool_]:
        """Whether the episode is over."""
        return self.terminated | self.truncated


class Environment:
    """Environments of one task side by side."""

    def __init__(self, task: str = "simple_spread", n: int = 1, **options: object) -> None:
        self._given = options
        settings = pairs({"task": word("task", task), **options})
        n = whole("n", n, 1)
        self._native = _native.Environments(settings, n)
        about = json.loads(self._native.about())
        spec = about["spec"]
        self.task = task
        self.n = n
        self.options: dict[str, Any] = about["options"]
        self.agents: int = spec["n_agents"]
        self.actions: list[int] = spec["n_actions"]
        self.state_width: int = spec["state_width"]
        self.observation_width: int = spec["agent_width"]
        self.horizon: int = spec["horizon"]
        self.metrics: list[str] = [metric["name"] for metric in spec["metrics"]]
        self.constraints: list[str] = [constraint["name"] for constraint in spec["constraints"]]

    def __getstate__(self) -> dict[str, Any]:
        return {"task": self.task, "n": self.n, "given": self._given, "saved": self._native.save()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["task"], state["n"], **state["given"])  # type: ignore[misc]
        self._native.load(state["saved"])

    def reset(
        self, seed: int | Sequence[int] | None = None, only: Sequence[int] | None = None
    ) -> NDArray[np.float32]:
        """Starts episodes in all environments, or in some; returns all states. One seed makes the
        seeds of all: each environment adds its number."""
        chosen = range(self.n) if only is None else only
        if isinstance(seed, (Sequence, np.ndarray)) and not isinstance(seed, str):
            if len(seed) != self.n:
                raise ValueError(f"seed: {len(seed)} seeds for {self.n} environments")
            seeds = [whole("seed", one) for one in seed]
        elif seed is not None:
            first = whole("seed", seed)
            seeds = list(range(first, first + self.n))
        for index in chosen:
            index = whole("only", index, 0, self.n - 1)
            self._native.reset(index, None if seed is None else seeds[index])
        return self.states()

    def step(self, actions: ArrayLike) -> Step:
        """Plays one joint action in every environment: a row each, an action for each agent.
        Environments whose episode is over stand still until they are reset."""
        joint = array("actions", actions, np.int64)
        if joint.size != self.n * self.agents:
            raise ValueError(f"actions: shape {joint.shape} for {self.n} × {self.agents} agents")
        joint = joint.reshape(-1, self.agents)
        team, rewards, costs, metrics, endings = self._native.step(joint)
        return Step(
            states=self.states(),
            rewards=rewards,
            team_rewards=team,
            costs=costs,
            metrics={name: metrics[:, i] for i, name in enumerate(self.metrics)},
            terminated=endings == 2,
            truncated=endings == 1,
        )

    def states(self) -> NDArray[np.float32]:
        """What policies act on: one row for each environment."""
        return self._native.states()

    def observations(self) -> NDArray[np.float32]:
        """What each agent sees: environments, agents, numbers."""
        return self._native.observations()

    def masks(self) -> NDArray[np.bool_]:
        """Which actions each agent may take: environments, agents, actions."""
        return self._native.masks()

    def snapshot(self, index: int = 0) -> NDArray[np.float64]:
        """Everything about the present moment of one environment, in full precision."""
        return self._native.snapshot(whole("index", index, 0, self.n - 1))

    def restore(self, snapshot: ArrayLike, index: int = 0) -> None:
        """Goes on from a snapshot."""
        index = whole("index", index, 0, self.n - 1)
        self._native.restore(index, array("snapshot", snapshot, np.float64).reshape(-1))

    def picture(self, index: int = 0) -> NDArray[np.uint8]:
        """How the present moment looks: rows of red, green and blue."""
        return self._native.picture(whole("index", index, 0, self.n - 1))


def make(task: str = "simple_spread", n: int = 1, **options: object) -> Environment:
    """`n` environments of a task; options as `cgcmarl tasks` lists them.

    >>> environment = make("simple_spread", agents=4, n=2)
    >>> environment.reset(seed=0).shape
    (2, 24)
    >>> environment.step([[0, 1, 2, 3], [4, 5, 6, 7]]).rewards.shape
    (2, 4)
    """
    return Environment(task, n, **options)
