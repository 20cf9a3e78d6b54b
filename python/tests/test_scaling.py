"""The recipes of docs/scaling.md, word for word: a plain shell, and the script of a Slurm array."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = (ROOT / "docs" / "scaling.md").read_text("utf-8")
SETTINGS = ["agents=2", "learning_starts=100", "buffer_size=1800", "checkpoint_interval=400", "log_interval=200", "episodes=4"]
FILES = ["model.safetensors", "metrics.jsonl", "front.json", "README.md"]

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")


@pytest.fixture
def shell(tmp_path):
    """Jobs in a folder, and the program on the path."""
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "cgcmarl"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m cgcmarl "$@"\n')
    program.chmod(0o755)
    found = {**os.environ, "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"}

    def run(script, **more):
        return subprocess.Popen(["bash", "-c", script], cwd=tmp_path, env={**found, **more}, stdout=subprocess.DEVNULL)

    def jobs(steps):
        settings = [*SETTINGS, f"total_steps={steps}"]
        words = ["cgcmarl", "jobs", "--over", "seed=1,2,3", *settings, "--out", "grid"]
        listed = subprocess.run(words, cwd=tmp_path, env=found, capture_output=True, text=True, check=True).stdout
        (tmp_path / "jobs.jsonl").write_text(listed)

    run.jobs = jobs
    return run


def content(place):
    return {(seed, file): (place / "grid" / f"seed={seed}" / file).read_bytes() for seed in (1, 2, 3) for file in FILES}


def test_several_at_once_on_one_machine(shell, tmp_path):
    (line,) = re.findall(r"^xargs .*$", DOCS, re.MULTILINE)
    shell.jobs(600)
    done = shell(line)
    assert done.wait() == 0
    together = content(tmp_path)
    shutil.rmtree(tmp_path / "grid")
    done = shell('while read -r job; do cgcmarl run-job "$job" --quiet; done < jobs.jsonl')
    assert done.wait() == 0 and content(tmp_path) == together


def test_the_elements_of_an_array_share_the_jobs_and_go_on_when_they_are_requeued(shell, tmp_path):
    (script,) = re.findall(r"<<'SCRIPT'\n(.*?)^SCRIPT$", DOCS, re.MULTILINE | re.DOTALL)
    requeue = tmp_path / "bin" / "scontrol"
    requeue.write_text('#!/bin/sh\necho "$@" >> requeued\n')
    requeue.chmod(0o755)
    slurm = {"SLURM_ARRAY_JOB_ID": "7", "SLURM_ARRAY_TASK_COUNT": "2"}
    shell.jobs(6000)
    first = shell(script, SLURM_ARRAY_TASK_ID="1", **slurm)
    metrics = tmp_path / "grid" / "seed=1" / "metrics.jsonl"
    until = time.monotonic() + 120
    while not (metrics.exists() and metrics.read_bytes().count(b"\n") >= 3):
        assert time.monotonic() < until and first.poll() is None
        time.sleep(0.02)
    first.send_signal(signal.SIGTERM)
    assert first.wait() == 0
    assert (tmp_path / "requeued").read_text() == "requeue 7_1\n"
    assert not (tmp_path / "grid" / "seed=1" / "model.safetensors").exists()
    for element in ("2", "1"):
        assert shell(script, SLURM_ARRAY_TASK_ID=element, **slurm).wait() == 0
    resumed = content(tmp_path)
    shutil.rmtree(tmp_path / "grid")
    done = shell('while read -r job; do cgcmarl run-job "$job" --quiet; done < jobs.jsonl')
    assert done.wait() == 0 and content(tmp_path) == resumed
