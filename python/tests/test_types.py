"""The package is typed, and its stubs tell the truth."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def run(*words):
    done = subprocess.run([sys.executable, "-m", *words], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_package_type_checks():
    run("mypy", "--strict", "--ignore-missing-imports", "-p", "cgcmarl")


def test_the_stub_of_the_native_half_is_what_was_built():
    run("mypy.stubtest", "cgcmarl._native")
