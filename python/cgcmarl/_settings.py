"""Settings as the command line writes them."""

import os
from collections.abc import Iterable, Mapping


def text(value: object) -> str:
    """A value as TOML writes it; words stay as they are."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value
    if isinstance(value, os.PathLike):
        return str(os.fspath(value))
    if isinstance(value, Mapping):
        raise TypeError("write a group of settings with dots, such as **{'observation.frame': 'cone'}")
    if isinstance(value, Iterable):
        inner = (f'"{item}"' if isinstance(item, str) else text(item) for item in value)
        return "[" + ", ".join(inner) + "]"
    return str(value)


def pairs(settings: Mapping[str, object]) -> list[tuple[str, str]]:
    """Keys and values in order."""
    return [(key, text(value)) for key, value in settings.items()]


def threads(count: int | None) -> int:
    """One thread per core unless said otherwise."""
    if count is not None and count < 1:
        raise ValueError(f"threads: {count} is not 1 or more")
    if count is not None:
        return count
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1
