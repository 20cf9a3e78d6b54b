"""A built-in task as a `ParallelEnv`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete, Space
from numpy.typing import NDArray
from pettingzoo import AECEnv, ParallelEnv
from pettingzoo.utils import wrappers
from pettingzoo.utils.conversions import parallel_to_aec

from ..environment import Environment, tasks

Observation = NDArray[np.float32]
MAY_SEE_NOTHING = frozenset({"capture", "predator_prey"})
"""Tasks in which an agent may be next to no target, or out of the game."""


class TaskEnv(ParallelEnv):  # type: ignore[misc, type-arg, unused-ignore]
    """One environment of a task. What each agent pays is in `infos[agent]["cost"]`, by constraint;
    which actions it may take in `infos[agent]["action_mask"]`. Where an agent may see nothing at all, what it
    sees ends with a 1, so that nothing is told from no observation."""

    metadata: dict[str, Any]

    def __init__(
        self,
        task: str,
        max_cycles: int | None = None,
        render_mode: str | None = None,
        **options: object,
    ) -> None:
        self.metadata = {
            "name": f"{task}_v0",
            "render_modes": ["human", "rgb_array"],
            "is_parallelizable": True,
            "render_fps": 10,
        }
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise ValueError(f"render_mode {render_mode!r} is not 'human' or 'rgb_array'")
        if max_cycles is not None:
            options["horizon"] = max_cycles
        self.render_mode = render_mode
        self.environment = Environment(task, 1, **options)
        self.possible_agents = [f"agent_{i}" for i in range(self.environment.agents)]
        self.agents: list[str] = []
        self._marked = task in MAY_SEE_NOTHING
        shape = (self.environment.observation_width + self._marked,)
        self.observation_spaces = {agent: _anything(shape) for agent in self.possible_agents}
        self.action_spaces = {
            agent: Discrete(n) for agent, n in zip(self.possible_agents, self.environment.actions)
        }
        self.state_space = _anything((self.environment.state_width,))
        self._seeded = False
        self._window: Any = None

    def observation_space(self, agent: str) -> Space[Any]:
        """What an agent sees: the same object every time."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> Space[Any]:
        """What an agent can do: the same object every time."""
        return self.action_spaces[agent]

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Observation], dict[str, dict[str, Any]]]:
        """Starts an episode; no option is known."""
        if seed is None and not self._seeded:
            seed = int(np.random.SeedSequence().generate_state(1)[0])
        self._seeded = True
        self.environment.reset(seed)
        self.agents = list(self.possible_agents)
        nothing = np.zeros((len(self.agents), len(self.environment.constraints)))
        if self.render_mode == "human":
            self.render()
        return self._seen(), self._infos(nothing)

    def step(
        self, actions: dict[str, int]
    ) -> tuple[
        dict[str, Observation],
        dict[str, float],
        dict[str, bool],
        dict[str, bool],
        dict[str, dict[str, Any]],
    ]:
        """Plays one joint action."""
        if not self.agents:
            return {}, {}, {}, {}, {}
        missing = [agent for agent in self.agents if agent not in actions]
        if missing:
            raise ValueError(f"no action for {missing[0]}")
        joint = [int(actions[agent]) for agent in self.agents]
        after = self.environment.step([joint])
        agents = self.agents
        seen = self._seen()
        infos = self._infos(after.costs[0])
        for info in infos.values():
            info["metrics"] = {name: float(value[0]) for name, value in after.metrics.items()}
        rewards = {agent: float(reward) for agent, reward in zip(agents, after.rewards[0])}
        terminations = dict.fromkeys(agents, bool(after.terminated[0]))
        truncations = dict.fromkeys(agents, bool(after.truncated[0]))
        if after.done[0]:
            self.agents = []
        if self.render_mode == "human":
            self.render()
        return seen, rewards, terminations, truncations, infos

    def state(self) -> NDArray[np.float32]:
        """What policies of this package act on."""
        row: NDArray[np.float32] = self.environment.states()[0]
        return row

    def render(self) -> NDArray[np.uint8] | None:
        """The picture where the mode is `rgb_array`; shows it in a window where it is `human`."""
        if self.render_mode is None:
            return None
        picture = self.environment.picture()
        if self.render_mode == "rgb_array":
            return picture
        try:
            import pygame
        except ImportError as missing:
            raise ImportError("render_mode='human' needs pygame: pip install pygame") from missing
        if self._window is None:
            pygame.display.init()
            self._window = pygame.display.set_mode(picture.shape[1::-1])
        self._window.blit(pygame.surfarray.make_surface(picture.swapaxes(0, 1)), (0, 0))
        pygame.event.pump()
        pygame.display.flip()
        return None

    def close(self) -> None:
        """Closes the window."""
        if self._window is not None:
            import pygame

            pygame.display.quit()
            self._window = None

    def _seen(self) -> dict[str, Observation]:
        rows = self.environment.observations()[0]
        if self._marked:
            rows = np.pad(rows, ((0, 0), (0, 1)), constant_values=1.0)
        return dict(zip(self.agents, rows))

    def _infos(self, costs: NDArray[Any]) -> dict[str, dict[str, Any]]:
        masks = self.environment.masks()[0].astype(np.int8)
        names = self.environment.constraints
        return {
            agent: {
                "cost": {name: float(cost) for name, cost in zip(names, costs[i])},
                "action_mask": masks[i, : self.environment.actions[i]],
            }
            for i, agent in enumerate(self.agents)
        }


def _anything(shape: tuple[int, ...]) -> Box[Any]:
    most = np.finfo(np.float32).max
    return Box(-most, most, shape, np.float32)


def factories(task: str) -> tuple[Callable[..., TaskEnv], Callable[..., AECEnv]]:
    """`parallel_env` and `env` of a task."""
    if task not in tasks():
        raise ValueError(f"{task!r} is not one of {sorted(tasks())}")

    def parallel_env(
        max_cycles: int | None = None, render_mode: str | None = None, **options: object
    ) -> TaskEnv:
        return TaskEnv(task, max_cycles, render_mode, **options)

    def env(
        max_cycles: int | None = None, render_mode: str | None = None, **options: object
    ) -> AECEnv:
        inner = parallel_to_aec(TaskEnv(task, max_cycles, render_mode, **options))
        return wrappers.OrderEnforcingWrapper(inner)

    return parallel_env, env
