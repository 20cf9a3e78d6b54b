"""What evaluations answer, as plain data; `.to_pandas()` where pandas is installed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class Estimate:
    """A mean with its 95 % interval."""

    mean: float
    low: float
    high: float

    def __float__(self) -> float:
        return self.mean


@dataclass(frozen=True)
class Score:
    """What one policy achieved."""

    label: str
    multipliers: dict[str, float]
    episodes: int
    metrics: dict[str, Estimate]

    def __getitem__(self, metric: str) -> float:
        """The mean of a metric."""
        return self.metrics[metric].mean

    @classmethod
    def read(cls, data: dict[str, Any]) -> Score:
        """From the program's JSON."""
        return cls(
            label=data["label"],
            multipliers=dict(data.get("multipliers", {})),
            episodes=data["episodes"],
            metrics={name: _estimate(value) for name, value in data["metrics"].items()},
        )

    def row(self) -> dict[str, Any]:
        """One flat row: label, multipliers, and every metric with the ends of its interval."""
        row: dict[str, Any] = {"label": self.label, "episodes": self.episodes}
        row.update({f"multiplier_{name}": value for name, value in self.multipliers.items()})
        for name, value in self.metrics.items():
            row.update({name: value.mean, f"{name}_low": value.low, f"{name}_high": value.high})
        return row


@dataclass(frozen=True)
class Front:
    """The trade-off of a model: a score for each multiplier, and those of other policies."""

    task: str
    algorithm: str
    agents: int
    axes: list[str]
    points: list[Score]
    pareto: list[bool]
    references: list[Score]
    hypervolume: float
    json: dict[str, Any] = field(repr=False)

    @classmethod
    def read(cls, text: str) -> Front:
        """From the program's JSON."""
        data = json.loads(text)
        return cls(
            task=data["task"],
            algorithm=data["algorithm"],
            agents=data["agents"],
            axes=list(data["axes"]),
            points=[Score.read(point) for point in data["points"]],
            pareto=[bool(point["pareto"]) for point in data["points"]],
            references=[Score.read(score) for score in data["references"]],
            hypervolume=data["hypervolume"],
            json=data,
        )

    def hypervolume_within(self, limits: Mapping[str, float]) -> float:
        """The hypervolume of what keeps limits on metrics of the axes: measured from the limits instead
        of what the random policy costs there, so that points beyond a limit count for nothing.

        >>> front = Front.read((example_model / "front.json").read_text("utf-8"))
        >>> front.hypervolume_within({"collisions_per_step": 0.01}) < front.hypervolume
        True
        >>> front.hypervolume_within({"collisions_per_step": 0.0})
        0.0
        """
        strangers = set(limits) - set(self.axes[1:])
        if strangers:
            raise ValueError(f"limits: {sorted(strangers)} are none of {self.axes[1:]}")
        # Only what is limited is better when lower; the first axis is the objective.
        better = {metric["name"]: metric["better"] for metric in self.json["metrics"]}
        signs = [1.0 if better[axis] == "higher" else -1.0 for axis in self.axes]
        corner = [
            sign * float(limits.get(axis, self.json["reference"][axis]))
            for sign, axis in zip(signs, self.axes)
        ]
        points = [
            [sign * point[axis] for sign, axis in zip(signs, self.axes)] for point in self.points
        ]
        return _volume(points, corner)

    def to_pandas(self) -> pandas.DataFrame:
        """A row for each point, then one for each reference."""
        rows = [{**point.row(), "pareto": best} for point, best in zip(self.points, self.pareto)]
        return _frame(rows + [{**score.row(), "pareto": False} for score in self.references])


@dataclass(frozen=True)
class Candidate:
    """Multipliers that were tested against limits."""

    score: Score
    upper_bounds: dict[str, float]
    verdict: str

    def row(self) -> dict[str, Any]:
        """One flat row: the score, what its costs stay below, and the verdict."""
        bounds = {f"{name}_below": value for name, value in self.upper_bounds.items()}
        return {**self.score.row(), **bounds, "verdict": self.verdict}


@dataclass(frozen=True)
class Choice:
    """The multipliers that keep limits, `None` if none is known to."""

    multipliers: dict[str, float] | None
    limits: dict[str, float]
    maximise: str
    confidence: float
    candidates: list[Candidate]

    @classmethod
    def read(cls, text: str) -> Choice:
        """From the program's JSON."""
        data = json.loads(text)
        limits = data["limits"]
        candidates = [
            Candidate(Score.read(one), dict(one["upper_bounds"]), one["verdict"])
            for one in data["candidates"]
        ]
        return cls(
            multipliers=data["chosen"],
            limits=dict(limits["limits"]),
            maximise=limits["maximise"],
            confidence=limits["confidence"],
            candidates=candidates,
        )

    def to_pandas(self) -> pandas.DataFrame:
        """A row for each candidate."""
        return _frame([one.row() for one in self.candidates])


def _volume(points: list[list[float]], corner: list[float]) -> float:
    """What points dominate above a corner, more is better: slices along the last axis."""
    above = [point for point in points if all(p > c for p, c in zip(point, corner))]
    if not above:
        return 0.0
    if len(corner) == 1:
        return max(point[0] for point in above) - corner[0]
    heights = sorted({point[-1] for point in above}, reverse=True)
    volume = 0.0
    for height, lower in zip(heights, [*heights[1:], corner[-1]]):
        slice_ = [point[:-1] for point in above if point[-1] >= height]
        volume += (height - lower) * _volume(slice_, corner[:-1])
    return volume


def _estimate(data: dict[str, float]) -> Estimate:
    return Estimate(data["mean"], data["low"], data["high"])


def _frame(rows: list[dict[str, Any]]) -> pandas.DataFrame:
    try:
        import pandas
    except ImportError as missing:
        raise ImportError("to_pandas needs pandas: pip install pandas") from missing
    return pandas.DataFrame(rows)
