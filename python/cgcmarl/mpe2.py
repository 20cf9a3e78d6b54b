"""Playing in the real MPE2: its observations as our states, our actions as its."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray


def simple_spread_state(observations: Mapping[str, ArrayLike]) -> NDArray[np.float32]:
    """The state of Simple Spread from what the agents of `mpe2.simple_spread_v3` see, in their order:
    positions, velocities, landmarks."""
    rows = [np.asarray(row, dtype=np.float32) for row in observations.values()]
    n = len(rows)
    if any(row.shape != (4 + 2 * n + 4 * (n - 1),) for row in rows):
        raise ValueError(f"observations of the shapes {[row.shape for row in rows]} for {n} agents")
    positions = np.concatenate([row[2:4] for row in rows])
    velocities = np.concatenate([row[:2] for row in rows])
    landmarks = rows[0][4 : 4 + 2 * n] + np.tile(rows[0][2:4], n)
    return np.concatenate([positions, velocities, landmarks])
