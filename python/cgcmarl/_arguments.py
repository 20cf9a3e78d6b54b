"""Checks of single arguments: a mistake names the argument and what was given."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

MOST = 2**63 - 1


def whole(name: str, value: object, least: int = 0, most: int = MOST) -> int:
    """A whole number in a range."""
    if isinstance(value, (bool, np.bool_)) or not hasattr(value, "__index__"):
        raise TypeError(f"{name}: {value!r} is not a whole number")
    number = int(value.__index__())
    if not least <= number <= most:
        end = "" if most == MOST else f" to {most}"
        raise ValueError(f"{name}: {number} is not a whole number from {least}{end or ' up'}")
    return number


def maybe_whole(name: str, value: object, least: int = 0) -> int | None:
    """A whole number from `least` up, or nothing."""
    return None if value is None else whole(name, value, least)


def real(name: str, value: Any, least: float | None = None) -> float:
    """A finite number, from `least` up where that is given."""
    if isinstance(value, (str, bytes, bool)):
        raise TypeError(f"{name}: {value!r} is not a number")
    try:
        number = float(value)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name}: {value!r} is not a number") from error
    if number != number or number in (float("inf"), float("-inf")):
        raise ValueError(f"{name}: {number} is not finite")
    if least is not None and number < least:
        raise ValueError(f"{name}: {number} is not a number from {least:g} up")
    return number


def reals(name: str, values: Any, least: float | None = None) -> list[float]:
    """Several numbers."""
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise TypeError(f"{name}: {values!r} is not a list of numbers")
    return [real(name, value, least) for value in values]


def word(name: str, value: object) -> str:
    """A word."""
    if not isinstance(value, str):
        raise TypeError(f"{name}: {value!r} is not a word")
    return value


def place(name: str, value: object) -> str:
    """A path."""
    if not isinstance(value, (str, os.PathLike)):
        raise TypeError(f"{name}: {value!r} is not a path")
    path = os.fspath(value)
    if not isinstance(path, str):
        raise TypeError(f"{name}: {value!r} is not a path of text")
    return path


def function(name: str, value: object) -> None:
    """Something to call, or nothing."""
    if value is not None and not callable(value):
        raise TypeError(f"{name}: {value!r} cannot be called")


def array(name: str, values: Any, kind: Any) -> NDArray[Any]:
    """An array of one kind of numbers."""
    try:
        return np.ascontiguousarray(values, dtype=kind)
    except (TypeError, ValueError, OverflowError) as error:
        raise TypeError(f"{name}: {error}") from error
