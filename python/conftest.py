"""What the examples in docstrings refer to."""

import signal
from pathlib import Path

import pytest

MODEL = Path(__file__).parents[1] / "models" / "simple_spread_3"


@pytest.fixture(autouse=True)
def names(doctest_namespace, tmp_path):
    doctest_namespace["example_model"] = MODEL
    doctest_namespace["folder"] = tmp_path / "run"


@pytest.fixture(autouse=True)
def interrupts():
    """Ctrl-C interrupts, also where the tests were started by a shell that ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
