"""Environments that others wrote: the task `pettingzoo` of the native half."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from . import _native

TASK = "pettingzoo"

Named = str | Callable[..., Any]
"""A function, or where to import it from: `module:name`."""


def enable() -> None:
    """Lets the environments run in processes of this Python, which import what this one can."""
    path = os.pathsep.join(entry or os.getcwd() for entry in sys.path)
    _native.set_interpreter(sys.executable, path)


def is_needed(words: Sequence[str]) -> bool:
    """Whether an argument is about such an environment, or a run that was trained in one."""

    def trained(word: str) -> bool:
        config = Path(word) / "config.toml"
        try:
            return config.is_file() and f'task = "{TASK}"' in config.read_text("utf-8")
        except (OSError, ValueError):
            # Not every word can be a path.
            return False

    return any(TASK in word or trained(word) for word in [*words, *_run_of_a_job(words)])


def _run_of_a_job(words: Sequence[str]) -> list[str]:
    """The run that a job of `cgcmarl jobs sweep` is about, where one of the words is such a job."""
    for word in words:
        if word.startswith("{"):
            try:
                return [str(part) for part in json.loads(word).get("sweep", [])[:1]]
            except (ValueError, AttributeError, TypeError):
                return []
    return []


def named(function: Named, what: str) -> str:
    """Where another process finds a function."""
    if isinstance(function, str):
        return function
    module, name = getattr(function, "__module__", ""), getattr(function, "__qualname__", "<?>")
    if module in ("", "__main__") or "<" in name:
        raise ValueError(
            f"{what}: {name} cannot be imported by other processes; put it into a module, "
            "at its top, and pass it or 'module:name'"
        )
    return f"{module}:{name}"


def settings(
    env: Named,
    arguments: Mapping[str, Any] | None,
    regions: str | Sequence[Sequence[int]],
    reward: Named,
    costs: Mapping[str, Named | int] | None,
    horizon: int | None,
) -> dict[str, object]:
    """The settings of the task."""
    chosen: dict[str, object] = {
        "env": named(env, "env"),
        # Twice, so that it is a word and no table.
        "arguments": json.dumps(json.dumps(dict(arguments or {}))),
        "reward": named(reward, "reward"),
        "costs": [
            f"{name}={source if isinstance(source, int) else named(source, f'costs[{name!r}]')}"
            for name, source in (costs or {}).items()
        ],
    }
    if isinstance(regions, str):
        chosen["topology"] = regions
    else:
        chosen["topology"] = "explicit"
        chosen["regions"] = [list(map(int, region)) for region in regions]
    if horizon is not None:
        chosen["horizon"] = horizon
    return chosen
