"""Functions that examples of the documentation import."""

from typing import Any


def reward_lost(reward: float, **_: Any) -> float:
    """A cost that any environment has: how far its reward is below zero."""
    return max(0.0, -float(reward))
