"""Training from Python: the same trainings as the program's, byte for byte."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from . import _external, _native
from ._arguments import function, maybe_whole, place, word
from ._external import Named
from ._settings import pairs
from ._settings import threads as thread_count
from .model import Model, load

Callback = Callable[[int, dict[str, Any]], object]
"""Hears of the steps so far and of the latest line of metrics."""


def train(
    task: str = "simple_spread",
    *,
    env: Named | None = None,
    arguments: Mapping[str, Any] | None = None,
    regions: str | Sequence[Sequence[int]] = "complete",
    reward: Named = "team",
    costs: Mapping[str, Named | int] | None = None,
    horizon: int | None = None,
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

    With `env`, the team learns in a PettingZoo `ParallelEnv` of anybody's: a function that makes one, or
    where to import it from (`"module:factory"`), with `arguments` for it. Its agents have equal `Discrete`
    actions and flat observations, start and end together. `regions` says who coordinates with whom
    (`"complete"`, `"ring"`, `"path"`, `"star"`, `"k_nearest"`, or a list of regions), `reward` who is
    paid (`"team"`, `"agent"`, or a function), `costs` where each constraint finds its cost: `"infos"` for
    `infos[agent]["cost"]`, a key of `infos[agent]`, a place in `infos[agent]["cost"]`, or a function.
    A guarantee (`model.choose`) needs to know what an agent pays at a step at most: `most_cost=[…]`, one number
    for each cost. Functions get `agent`, `before` (what it saw), `action`, `observation`, `reward` and `info` by name.
    A Gymnasium environment with a tuple of equals works too. Environments run in processes of their own.
    """
    chosen: dict[str, object] = {"task": word("task", task), **settings}
    horizon = maybe_whole("horizon", horizon)
    if env is not None:
        own = _external.settings(env, arguments, regions, reward, costs, horizon)
        chosen = {**settings, "task": _external.TASK, **own}
    elif horizon is not None:
        chosen["horizon"] = horizon
    if chosen["task"] == _external.TASK:
        _external.enable()
    return _run(pairs(chosen), out, root, False, threads, callback)


def resume(
    run: str | os.PathLike[str],
    *,
    threads: int | None = None,
    callback: Callback | None = None,
) -> Model:
    """Goes on with an interrupted training, exactly where it stopped."""
    run = place("run", run)
    if _external.is_needed([run]):
        _external.enable()
    return _run([], run, "runs", True, threads, callback)


def _run(
    settings: list[tuple[str, str]],
    out: str | os.PathLike[str] | None,
    root: str | os.PathLike[str],
    going_on: bool,
    threads: int | None,
    callback: Callback | None,
) -> Model:
    function("callback", callback)
    tell = None if callback is None else lambda steps, line: callback(steps, json.loads(line))
    folder = None if out is None else place("out", out)
    if folder == "":
        raise ValueError("out: '' is not a folder")
    path, _ = _native.train(
        settings, folder, place("root", root), going_on, thread_count(threads), tell
    )
    return load(path)
