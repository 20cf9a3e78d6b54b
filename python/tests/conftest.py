"""What all tests have in common."""

import signal

import pytest


@pytest.fixture(autouse=True)
def interrupts():
    """Ctrl-C interrupts, also where the tests were started by a shell that ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
