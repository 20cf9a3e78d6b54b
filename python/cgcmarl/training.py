"""Training from Python: the same trainings as the program's, byte for byte."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

from . import _native
from ._settings import pairs
from ._settings import threads as thread_count
from .model import Model, load

Callback = Callable[[int, dict[str, Any]], object]
"""Hears of the steps so far and of the latest line of metrics."""


def train(
    task: str = "simple_spread",
    *,
    out: str | os.PathLike[str] | None = None,
    root: str | os.PathLike[str] = "runs",
    threads: int | None = None,
    callback: Callback | None = None,
    **settings: object,
) -> Model:
    """Trains a team and returns the model; settings as the program takes them (`cgcmarl config`).

    Ctrl-C, or an exception from the callback, saves first: `resume` goes on exactly there.

    >>> model = train(out=folder, agents=2, total_steps=600)
    >>> model.steps
    600
    """
    everything = pairs({"task": task, **settings})
    return _run(everything, out, root, False, threads, callback)


def resume(
    run: str | os.PathLike[str],
    *,
    threads: int | None = None,
    callback: Callback | None = None,
) -> Model:
    """Goes on with an interrupted training, exactly where it stopped."""
    return _run([], run, "runs", True, threads, callback)


def _run(
    settings: list[tuple[str, str]],
    out: str | os.PathLike[str] | None,
    root: str | os.PathLike[str],
    going_on: bool,
    threads: int | None,
    callback: Callback | None,
) -> Model:
    tell = None if callback is None else lambda steps, line: callback(steps, json.loads(line))
    place = None if out is None else os.fspath(out)
    path, _ = _native.train(
        settings, place, os.fspath(root), going_on, thread_count(threads), tell
    )
    return load(path)
