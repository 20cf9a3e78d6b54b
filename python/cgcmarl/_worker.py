"""A process that holds environments which others wrote; the native half talks to it.

Commands arrive on standard input, answers leave on what was standard output (an environment that prints
does so to standard error). A command is a letter, the number of an environment and what belongs to it.
"""

from __future__ import annotations

import importlib
import json
import math
import os
import struct
import sys
from collections.abc import Callable
from typing import Any, BinaryIO

import numpy as np


class Refused(Exception):
    """An environment that does not keep what an environment must keep."""


def imported(name: str) -> Any:
    """What `module:attribute` names."""
    module, _, attribute = name.partition(":")
    if not attribute:
        raise Refused(f"{name!r} is not written module:name")
    found = importlib.import_module(module)
    for part in attribute.split("."):
        found = getattr(found, part)
    return found


def number(value: Any, what: str) -> float:
    """A finite number, or an error that says what it is of."""
    try:
        real = float(np.asarray(value).reshape(()))
    except (TypeError, ValueError) as error:
        raise Refused(f"{what} is {value!r}, not a number") from error
    if not math.isfinite(real):
        raise Refused(f"{what} is {real}")
    return real


class Cost:
    """One constraint: where its cost is found."""

    def __init__(self, text: str) -> None:
        self.name, _, self.source = text.partition("=")
        self.source = self.source or "infos"
        self.function: Callable[..., Any] | None = None
        if ":" in self.source:
            self.function = imported(self.source)

    def of(self, agent: str, happened: dict[str, Any]) -> Any:
        if self.function is not None:
            return self.function(**happened)
        info = happened["info"]
        if self.source.lstrip("-").isdigit():
            return np.asarray(info["cost"])[int(self.source)]
        if self.source != "infos":
            if self.source not in info:
                raise Refused(f"infos[{agent!r}] has no {self.source!r}, only {sorted(info)}")
            return info[self.source]
        cost = info.get("cost")
        if isinstance(cost, dict):
            if self.name not in cost:
                raise Refused(f"infos[{agent!r}]['cost'] has no {self.name!r}, only {sorted(cost)}")
            return cost[self.name]
        if cost is None:
            raise Refused(f"infos[{agent!r}] has no 'cost'")
        return cost


class OfTuples:
    """A Gymnasium environment with a tuple of equals, as a `ParallelEnv`."""

    def __init__(self, env: Any) -> None:
        self.env = env
        self.possible_agents = [f"agent_{i}" for i in range(len(env.action_space))]
        self.metadata = {"name": getattr(env.spec, "id", type(env.unwrapped).__name__)}

    def action_space(self, agent: str) -> Any:
        return self.env.action_space[self.possible_agents.index(agent)]

    def observation_space(self, agent: str) -> Any:
        return self.env.observation_space[self.possible_agents.index(agent)]

    def reset(self, seed: int) -> Any:
        seen, _ = self.env.reset(seed=seed)
        return self.shared(seen), {}

    def step(self, actions: dict[str, int]) -> Any:
        seen, rewards, terminated, truncated, info = self.env.step(tuple(actions.values()))
        infos = {agent: dict(info) for agent in self.possible_agents}
        ends = (self.shared(self.all_of(end)) for end in (terminated, truncated))
        return self.shared(seen), self.shared(rewards), *ends, infos

    def all_of(self, end: Any) -> list[bool]:
        parts = np.asarray(end).reshape(-1)
        return [bool(parts.all())] * len(self.possible_agents)

    def shared(self, parts: Any) -> dict[str, Any]:
        return dict(zip(self.possible_agents, parts))


def team_of(env: Any) -> Any:
    """An environment of any of the usual shapes as a `ParallelEnv`."""
    if not hasattr(env, "possible_agents"):
        if hasattr(getattr(env, "action_space", None), "spaces"):
            return OfTuples(env)
        raise Refused(f"{type(env).__name__} is neither a PettingZoo environment nor one of tuples")
    if hasattr(env, "agent_iter"):
        from pettingzoo.utils.conversions import aec_to_parallel

        return aec_to_parallel(env)
    return env


class Team:
    """One environment with its team."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self.env = team_of(imported(settings["env"])(**json.loads(settings["arguments"])))
        self.costs = [Cost(text) for text in settings["costs"]]
        source = settings["reward"]
        self.reward = imported(source) if ":" in source else None
        self.agents: list[str] = list(self.env.possible_agents)
        self.width, self.n_actions = self.checked_spaces()
        self.before: dict[str, Any] = {}
        self.step_number = 0

    def checked_spaces(self) -> tuple[int, int]:
        if len(self.agents) < 2:
            raise Refused(f"a team of {len(self.agents)}; coordination needs two agents")
        widths, counts = {}, {}
        for agent in self.agents:
            space = self.env.action_space(agent)
            if not hasattr(space, "n"):
                raise Refused(f"{agent}: its actions are {space}, not Discrete")
            counts[agent] = int(space.n)
            seen = self.env.observation_space(agent)
            if getattr(seen, "shape", None) is None:
                raise Refused(f"{agent}: it sees {seen}, not a flat Box")
            widths[agent] = int(np.prod(seen.shape))
        for agent in self.agents:
            if counts[agent] != counts[self.agents[0]]:
                raise Refused(f"{agent} has {counts[agent]} actions, {self.agents[0]} {counts[self.agents[0]]}")
            if widths[agent] != widths[self.agents[0]]:
                raise Refused(f"{agent} sees {widths[agent]} numbers, {self.agents[0]} {widths[self.agents[0]]}")
        return widths[self.agents[0]], counts[self.agents[0]]

    def about(self) -> dict[str, Any]:
        name = getattr(self.env, "metadata", {}).get("name", type(self.env).__name__)
        return {
            "name": str(name),
            "agents": self.agents,
            "n_actions": self.n_actions,
            "width": self.width,
            "costs": [cost.name for cost in self.costs],
        }

    def reset(self, seed: int) -> bytes:
        self.step_number = 0
        answer = self.env.reset(seed=seed)
        observations, infos = answer if isinstance(answer, tuple) else (answer, {})
        if set(observations) != set(self.agents):
            raise Refused(f"reset shows {sorted(observations)}, not the team {self.agents}")
        self.before = observations
        nothing = [0.0] * len(self.agents)
        return self.packed(observations, nothing, [nothing] * len(self.costs), infos, 0)

    def step(self, actions: list[int]) -> bytes:
        self.step_number += 1
        answer = self.env.step(dict(zip(self.agents, actions)))
        observations, rewards, terminations, truncations, infos = answer
        for agent in self.agents:
            for name, part in (("observations", observations), ("rewards", rewards)):
                if agent not in part:
                    raise Refused(f"{agent} is missing from {name}: a team must stay together")
        over = [bool(terminations.get(a)) or bool(truncations.get(a)) for a in self.agents]
        if any(over) and not all(over):
            gone = self.agents[over.index(True)]
            raise Refused(f"{gone} is done while others go on: a team must end together")
        ending = 0 if not all(over) else 2 if all(terminations.get(a) for a in self.agents) else 1
        happened = [
            {
                "agent": agent,
                "before": self.before[agent],
                "action": action,
                "observation": observations[agent],
                "reward": rewards[agent],
                "info": infos.get(agent, {}),
            }
            for agent, action in zip(self.agents, actions)
        ]
        self.before = observations
        paid = [self.paid(agent, what) for agent, what in zip(self.agents, happened)]
        costs = [
            [self.charged(cost, agent, what) for agent, what in zip(self.agents, happened)]
            for cost in self.costs
        ]
        return self.packed(observations, paid, costs, infos, ending)

    def paid(self, agent: str, happened: dict[str, Any]) -> float:
        value = happened["reward"] if self.reward is None else self.reward(**happened)
        return number(value, f"the reward of {agent}")

    def charged(self, cost: Cost, agent: str, happened: dict[str, Any]) -> float:
        value = number(cost.of(agent, happened), f"the cost {cost.name!r} of {agent}")
        if value < 0.0:
            raise Refused(f"the cost {cost.name!r} of {agent} is {value}, below 0")
        return value

    def packed(self, observations: Any, rewards: Any, costs: Any, infos: Any, ending: int) -> bytes:
        rows = []
        for agent in self.agents:
            row = np.asarray(observations[agent], dtype=np.float32).reshape(-1)
            if row.size != self.width:
                raise Refused(f"{agent} sees {row.size} numbers, not {self.width}")
            if not np.isfinite(row).all():
                at = int(np.flatnonzero(~np.isfinite(row))[0])
                raise Refused(f"observation {at} of {agent} is {row[at]}")
            rows.append(row)
        masks = np.ones((len(self.agents), self.n_actions), dtype=np.uint8)
        for i, agent in enumerate(self.agents):
            mask = infos.get(agent, {}).get("action_mask") if infos else None
            if mask is not None:
                masks[i] = np.asarray(mask, dtype=bool)
                if not masks[i].any():
                    raise Refused(f"{agent} may do nothing: its action_mask is all zeros")
        paid = np.asarray(rewards, dtype=np.float32).tobytes()
        charged = np.asarray(costs, dtype=np.float32).reshape(len(self.costs), -1).T
        return b"".join(
            [np.concatenate(rows).tobytes(), paid, np.ascontiguousarray(charged).tobytes(), masks.tobytes(), bytes([ending])]
        )


def exactly(stream: BinaryIO, count: int) -> bytes:
    """So many bytes, or the end of everything."""
    data = stream.read(count)
    if len(data) != count:
        sys.exit(0)
    return data


def main() -> None:
    """Answers until nobody asks any more."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    commands = sys.stdin.buffer
    (size,) = struct.unpack("<I", exactly(commands, 4))
    settings = json.loads(exactly(commands, size))
    teams: dict[int, Team] = {}

    def answer(index: int, ok: bool, content: bytes) -> None:
        answers.write(struct.pack("<IBI", index, 0 if ok else 1, len(content)) + content)
        answers.flush()

    while True:
        letter, index = struct.unpack("<cI", exactly(commands, 5))
        team = teams.get(index)
        where = f"step {team.step_number + 1}: " if team is not None and letter == b"S" else ""
        try:
            if letter == b"N":
                teams[index] = Team(settings)
                answer(index, True, json.dumps(teams[index].about()).encode())
            elif letter == b"R":
                (seed,) = struct.unpack("<I", exactly(commands, 4))
                answer(index, True, teams[index].reset(seed))
            else:
                count = len(teams[index].agents)
                actions = struct.unpack(f"<{count}i", exactly(commands, 4 * count))
                answer(index, True, teams[index].step(list(actions)))
        except Refused as error:
            answer(index, False, f"{where}{error}".encode())
        except Exception as error:  # noqa: BLE001: whatever an environment raises is told
            answer(index, False, f"{where}{type(error).__name__}: {error}".encode())


if __name__ == "__main__":
    main()
