"""Runs jobs on a cluster: who works on what, what is tried again, what is told."""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ._job import BUSY, DONE, INTERRUPTED, MISTAKE, do

Tell = Callable[[str], object]


@dataclass(frozen=True)
class Options:
    """How jobs are run."""

    address: str | None = None
    """The cluster, such as `auto` or `HOST:PORT`; this machine alone where there is none."""
    cpus_per_job: int = 1
    """Cores, and threads, of each job; they change the speed, never the result."""
    retries: int = 5
    """How often a job is taken up again whose worker or node was lost, or which was killed."""
    later: float = 10.0
    """Seconds after which a job that another process is doing is tried again."""
    interval: float = 10.0
    """Seconds between two words about how far everything is."""


@dataclass
class Ended:
    """How all jobs ended."""

    done: dict[str, str] = field(default_factory=dict)
    """What was done for each line: `trained`, `resumed`, `swept`, `played` or `kept`."""
    failed: dict[str, str] = field(default_factory=dict)
    """What went wrong, by line."""


def run(lines: Sequence[str], options: Options = Options(), tell: Tell = lambda text: None) -> Ended:
    """Does every job; returns when all are done or have failed for good."""
    # By name: Ray's own types would be checked with ours.
    ray: Any = importlib.import_module("ray")
    started = not ray.is_initialized()
    if started:
        # `local` starts one; nothing at all would look for what an earlier cluster left on this machine.
        own = {"address": "local", "include_dashboard": False}
        told = own if options.address is None else {"address": options.address}
        ray.init(log_to_driver=False, logging_level="ERROR", **told)
    try:
        return _Cluster(ray, lines, options, tell).run()
    finally:
        if started:
            ray.shutdown()


class _Cluster:
    """The jobs that wait, run and are tried again later."""

    def __init__(self, ray: Any, lines: Sequence[str], options: Options, tell: Tell) -> None:
        self.ray, self.options, self.tell = ray, options, tell
        self.lines = list(lines)
        self.waiting: deque[tuple[float, str]] = deque((0.0, line) for line in self.lines)
        self.running: dict[Any, str] = {}
        self.lost = dict.fromkeys(self.lines, 0)
        self.ended = Ended()
        self.task = ray.remote(do).options(
            num_cpus=options.cpus_per_job,
            max_retries=options.retries,
            scheduling_strategy="SPREAD",
        )

    def run(self) -> Ended:
        spoken = time.monotonic()
        try:
            while self.waiting or self.running:
                self.submit()
                done, _ = self.ray.wait(list(self.running), timeout=0.5) if self.running else ([], [])
                if not self.running:
                    time.sleep(0.1)
                for reference in done:
                    self.close(reference, self.running.pop(reference))
                if time.monotonic() - spoken > self.options.interval:
                    spoken = time.monotonic()
                    self.tell(self.progress())
        except KeyboardInterrupt:
            self.stop()
            raise
        return self.ended

    def submit(self) -> None:
        """Hands out as many jobs as the cluster may soon have room for, not all of a hundred thousand."""
        room = 4 * int(self.ray.cluster_resources().get("CPU", 1)) + 16
        for _ in range(len(self.waiting)):
            if len(self.running) >= room:
                return
            when, line = self.waiting.popleft()
            if when > time.monotonic():
                self.waiting.append((when, line))
                continue
            threads = self.options.cpus_per_job
            reference = self.task.remote(line, threads, os.getcwd(), sys.path)
            self.running[reference] = line

    def close(self, reference: Any, line: str) -> None:
        """Takes the answer of a job: done, to be tried again, or failed for good."""
        try:
            code, told, node = self.ray.get(reference)
        except self.ray.exceptions.RayError as error:
            code, told, node = None, f"{type(error).__name__}: {error}", "?"
        name = named(line)
        if code == DONE:
            status = told.strip().splitlines()[-1].rpartition(": ")[2] if told.strip() else "done"
            self.ended.done[line] = status
            count = len(self.ended.done) + len(self.ended.failed)
            self.tell(f"[{count}/{len(self.lines)}] {name}: {status} on {node}")
        elif code == BUSY:
            self.tell(f"{name}: another process is at it; tried again in {self.options.later:g} s")
            self.waiting.append((time.monotonic() + self.options.later, line))
        elif code != MISTAKE and self.lost[line] < self.options.retries:
            self.lost[line] += 1
            reason = "was interrupted" if code == INTERRUPTED else f"ended with {code}: {told.strip()[-300:]}"
            self.tell(f"{name}: {reason}; taken up again")
            self.waiting.append((time.monotonic() + 1.0, line))
        else:
            self.ended.failed[line] = told.strip() or f"exit code {code}"
            self.tell(f"{name}: failed: {self.ended.failed[line]}")

    def progress(self) -> str:
        ended = self.ended
        steps = sum(filter(None, map(steps_of, self.running.values())))
        return (
            f"{len(ended.done)} of {len(self.lines)} done, {len(ended.failed)} failed; "
            f"{len(self.running)} handed out at step {steps:,} in all, {len(self.waiting)} waiting"
        )

    def stop(self) -> None:
        """Asks every job to save and end."""
        for reference in self.running:
            self.ray.cancel(reference, force=False)
        self.ray.wait(list(self.running), num_returns=len(self.running), timeout=30.0)


def named(line: str) -> str:
    """What a person calls a job."""
    job = json.loads(line)
    row = job.get("reproduce")
    place = os.path.relpath(job["out"])
    return f"{place}: {row['row']}, {row['agents']} agents, seed {row['seed']}" if row else place


def steps_of(line: str) -> int | None:
    """How far a training is, where its folder is visible from here."""
    metrics = Path(json.loads(line)["out"]) / "metrics.jsonl"
    try:
        with metrics.open("rb") as file:
            file.seek(max(0, metrics.stat().st_size - 4096))
            last = file.read().splitlines()[-1]
        return int(json.loads(last)["step"])
    except (OSError, IndexError, KeyError, ValueError):
        return None
