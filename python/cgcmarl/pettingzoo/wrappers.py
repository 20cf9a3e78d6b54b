"""The same environments in the shapes that neighbouring libraries ask for."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.spaces import Box, Space
from pettingzoo.utils.wrappers import BaseParallelWrapper

from ._parallel import TaskEnv


class VectorRewards(BaseParallelWrapper):  # type: ignore[misc, type-arg, unused-ignore]
    """MOMAland's convention: an agent's reward is a vector, first what the task pays it, then minus
    what it pays for each constraint."""

    def __init__(self, env: TaskEnv) -> None:
        super().__init__(env)
        self._n = 1 + len(env.environment.constraints)
        self.reward_spaces = {
            agent: Box(-np.inf, np.inf, (self._n,), np.float32) for agent in env.possible_agents
        }

    @property
    def unwrapped(self) -> VectorRewards:
        """Itself: what is inside has other rewards."""
        return self

    def reward_space(self, agent: str) -> Space[Any]:
        """The vector's shape: the same object every time."""
        return self.reward_spaces[agent]

    def step(self, actions: dict[str, int]) -> Any:
        """Plays one joint action."""
        seen, rewards, terminations, truncations, infos = super().step(actions)
        vectors = {
            agent: np.array(
                [reward, *(-cost for cost in infos[agent]["cost"].values())], dtype=np.float32
            )
            for agent, reward in rewards.items()
        }
        return seen, vectors, terminations, truncations, infos


class SixTuple(BaseParallelWrapper):  # type: ignore[misc, type-arg, unused-ignore]
    """Safety-Gymnasium's convention: `step` returns observations, rewards, costs, terminations,
    truncations and infos; an agent's cost is the sum over the constraints."""

    def step(self, actions: dict[str, int]) -> Any:
        """Plays one joint action."""
        seen, rewards, terminations, truncations, infos = super().step(actions)
        costs = {agent: sum(info["cost"].values()) for agent, info in infos.items()}
        return seen, rewards, costs, terminations, truncations, infos


def vector_rewards(env: TaskEnv) -> VectorRewards:
    """Rewards as MOMAland has them."""
    return VectorRewards(env)


def six_tuple(env: TaskEnv) -> SixTuple:
    """Steps as Safety-Gymnasium has them."""
    return SixTuple(env)
