"""Settings as the command line writes them."""

import os
from collections.abc import Iterable, Mapping

from ._arguments import whole


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

    def written(key: str, value: object) -> str:
        if value is None:
            raise TypeError(f"{key}: None is no value; leave it out for its default")
        try:
            return text(value)
        except TypeError as error:
            raise TypeError(f"{key}: {error}") from error

    return [(key, written(key, value)) for key, value in settings.items()]


def threads(count: int | None) -> int:
    """One thread per core unless said otherwise."""
    if count is not None:
        return whole("threads", count, 1, 1024)
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1
