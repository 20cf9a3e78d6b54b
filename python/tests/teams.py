"""Small environments that nobody's package has: a good one, and one for each way to go wrong."""

import os
import time

import numpy as np
from gymnasium.spaces import Box, Discrete
from pettingzoo import ParallelEnv


class Choir(ParallelEnv):
    """All singers see which of four notes comes next, and are paid when all sing it; the highest note
    costs whoever sings it."""

    metadata = {"name": "choir_v0", "render_modes": []}
    note = 3

    def __init__(self, singers=3, length=10, wrong=None, at=3, marker=None):
        self.possible_agents = [f"singer_{i}" for i in range(singers)]
        self.agents = []
        self.length, self.wrong, self.at, self.marker = length, wrong, at, marker
        self.spaces = {a: Box(0.0, 1.0, (4,), np.float32) for a in self.possible_agents}
        self.actions = {a: Discrete(4) for a in self.possible_agents}
        if wrong == "space":
            self.spaces["singer_1"] = Box(0.0, 1.0, (7,), np.float32)
        if wrong == "actions":
            self.actions["singer_2"] = Discrete(5)

    def observation_space(self, agent):
        return self.spaces[agent]

    def action_space(self, agent):
        return self.actions[agent]

    def seen(self):
        row = np.eye(4, dtype=np.float32)[self.cue]
        return {agent: row.copy() for agent in self.agents}

    def reset(self, seed=None, options=None):
        self.rng = np.random.default_rng(seed)
        self.agents, self.steps = list(self.possible_agents), 0
        self.cue = int(self.rng.integers(4))
        return self.seen(), {agent: {} for agent in self.agents}

    def step(self, actions):
        self.steps += 1
        now = self.steps == self.at
        if now and self.wrong == "raises":
            raise RuntimeError("the roof fell in")
        if now and self.wrong in ("dies", "dies once"):
            if self.wrong == "dies" or not os.path.exists(self.marker):
                if self.marker:
                    open(self.marker, "w").close()
                os._exit(3)
        if now and self.wrong == "hangs":
            time.sleep(60)
        sung = [actions[agent] for agent in self.agents]
        reward = float(all(note == self.cue for note in sung))
        infos = {a: {"cost": {"strain": float(n == self.note)}, "sung": float(n)} for a, n in zip(self.agents, sung)}
        self.cue = int(self.rng.integers(4))
        seen, over = self.seen(), self.steps >= self.length
        if now and self.wrong == "nan":
            seen["singer_1"][2] = np.nan
        if now and self.wrong == "negative":
            infos["singer_0"]["cost"]["strain"] = -1.0
        truncations = dict.fromkeys(self.agents, over)
        if now and self.wrong == "leaves":
            truncations["singer_2"] = True
        rewards = dict.fromkeys(self.agents, reward)
        terminations = dict.fromkeys(self.agents, False)
        if over:
            self.agents = []
        return seen, rewards, terminations, truncations, infos


class Rests(Choir):
    """A singer may not sing the note that it sang last, nor may it sing what it may not."""

    def masks(self):
        return {agent: {"action_mask": (np.arange(4) != last).astype(np.int8)} for agent, last in self.last.items()}

    def reset(self, seed=None, options=None):
        seen, _ = super().reset(seed)
        self.last = dict.fromkeys(self.agents, -1)
        return seen, self.masks()

    def step(self, actions):
        assert all(actions[agent] != self.last[agent] for agent in self.agents), (actions, self.last)
        self.last = {agent: int(action) for agent, action in actions.items()}
        *rest, infos = super().step(actions)
        return *rest, {agent: {**info, **self.masks()[agent]} for agent, info in infos.items()}


class Strolling(Choir):
    """Singers who walk about: behind the cue they see where they are."""

    def __init__(self, **arguments):
        super().__init__(**arguments)
        self.spaces = {a: Box(-1.0, 1.0, (6,), np.float32) for a in self.possible_agents}

    def seen(self):
        place = lambda: self.rng.uniform(-1.0, 1.0, 2).astype(np.float32)
        return {agent: np.concatenate([row, place()]) for agent, row in super().seen().items()}


def rests(**arguments):
    return Rests(**arguments)


def strolling(**arguments):
    return Strolling(**arguments)


def choir(**arguments):
    return Choir(**arguments)


def high_note(agent, action, info, **_):
    return action == 3 and info["sung"] == 3.0
