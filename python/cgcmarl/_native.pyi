from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

__all__ = ["Environments", "Model", "Policy", "__version__", "command", "set_interpreter", "solve", "tasks", "train"]

__version__: str

def command(arguments: Sequence[str]) -> int: ...
def set_interpreter(executable: str, path: str) -> None: ...
def tasks() -> str: ...
def solve(
    n_actions: Sequence[int],
    regions: Sequence[Sequence[int]],
    tables: NDArray[np.float32],
    utilities: NDArray[np.float32],
    solver: str,
    iterations: int,
    damping: float,
    tolerance: float,
    bound: bool,
    threads: int,
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]: ...
def train(
    settings: Sequence[tuple[str, str]],
    out: str | None,
    root: str,
    resume: bool,
    threads: int,
    callback: Callable[[int, str], Any] | None,
) -> tuple[Path, bool]: ...
@final
class Model:
    def __new__(cls, path: str) -> Model: ...
    def about(self, agents: int | None) -> str: ...
    def config(self) -> str: ...
    def front(self) -> str: ...
    def policy(self, multipliers: Sequence[float], agents: int | None) -> Policy: ...
    def sweep(
        self,
        multipliers: Sequence[float] | None,
        grid: Sequence[tuple[str, Sequence[float]]],
        episodes: int | None,
        start_seed: int | None,
        agents: int | None,
        threads: int,
        done: Callable[[str], Any] | None,
    ) -> str: ...
    def choose(
        self,
        limits: Sequence[tuple[str, float]],
        maximise: str | None,
        confidence: float,
        episodes: int,
        multipliers: Sequence[float] | None,
        grid: Sequence[tuple[str, Sequence[float]]],
        threads: int,
        save: bool,
    ) -> str: ...
    def tables(
        self, state: NDArray[np.float32], multipliers: Sequence[float], agents: int | None
    ) -> tuple[list[list[int]], list[NDArray[np.float32]], list[int], float, float]: ...

@final
class Policy:
    def act(self, states: NDArray[np.float32]) -> NDArray[np.int64]: ...

@final
class Environments:
    def __new__(cls, settings: Sequence[tuple[str, str]], n: int) -> Environments: ...
    def about(self) -> str: ...
    def reset(self, index: int, seed: int | None) -> None: ...
    def step(
        self, actions: NDArray[np.int64]
    ) -> tuple[
        NDArray[np.float32],
        NDArray[np.float32],
        NDArray[np.float32],
        NDArray[np.float64],
        NDArray[np.uint8],
    ]: ...
    def states(self) -> NDArray[np.float32]: ...
    def observations(self) -> NDArray[np.float32]: ...
    def masks(self) -> NDArray[np.bool_]: ...
    def snapshot(self, index: int) -> NDArray[np.float64]: ...
    def restore(self, index: int, snapshot: NDArray[np.float64]) -> None: ...
    def save(self) -> str: ...
    def load(self, saved: str) -> None: ...
    def picture(self, index: int) -> NDArray[np.uint8]: ...
