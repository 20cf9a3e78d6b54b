"""Trainings from Python: the program's bytes, interrupts that lose nothing."""

import os
import signal
import subprocess
import sys
import threading

import pytest

import cgcmarl

SMALL = dict(agents=2, total_steps=3000, seed=3, environments=4, learning_starts=100)
FILES = ["model.safetensors", "metrics.jsonl"]


def content(run):
    return {name: (run / name).read_bytes() for name in FILES}


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    out = tmp_path_factory.mktemp("train") / "run"
    lines = []
    model = cgcmarl.train(out=out, callback=lambda step, line: lines.append((step, line)), **SMALL)
    assert model.steps == 3000 and model.agents == 2
    assert lines[-1][0] == 3000 and lines[-1][1]["step"] == 3000 and "coverage" in lines[-1][1]
    return content(out)


def test_the_command_trains_the_same_bytes(uninterrupted, tmp_path):
    settings = [f"{key}={value}" for key, value in SMALL.items()]
    out = tmp_path / "run"
    command = [sys.executable, "-m", "cgcmarl", "train", *settings, "episodes=2", "--out", str(out)]
    subprocess.run([*command, "--quiet"], check=True, capture_output=True)
    assert content(out) == uninterrupted
    assert (out / "front.png").exists()


def test_ctrl_c_saves_and_resume_ends_with_the_same_bytes(uninterrupted, tmp_path):
    out = tmp_path / "run"
    pressed = []

    def press(step, line):
        if not pressed:
            pressed.append(step)
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        cgcmarl.train(out=out, callback=press, log_interval=500, **SMALL)
    assert not (out / "model.safetensors").exists()
    model = cgcmarl.resume(out, threads=2)
    assert model.steps == 3000
    assert (out / "model.safetensors").read_bytes() == uninterrupted["model.safetensors"]


def test_an_exception_of_the_callback_saves_first(tmp_path):
    out = tmp_path / "run"

    def fail(step, line):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        cgcmarl.train(out=out, callback=fail, log_interval=500, **SMALL)
    assert cgcmarl.resume(out).steps == 3000


def test_the_lock_is_free_while_it_trains(tmp_path):
    counted = []
    done = threading.Event()

    def count():
        while not done.wait(0.001):
            counted.append(1)

    thread = threading.Thread(target=count)
    thread.start()
    cgcmarl.train(out=tmp_path / "run", **SMALL)
    done.set()
    thread.join()
    assert len(counted) > 10


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        (dict(gama=0.9), "gamma"),
        (dict(gamma=2.0), "gamma"),
        (dict(task="simple_spread", agents=1), "agents"),
        (dict(threads=0), "threads"),
    ],
)
def test_mistakes_are_named_before_anything_is_written(settings, told, tmp_path):
    out = tmp_path / "run"
    with pytest.raises(ValueError, match=told):
        cgcmarl.train(out=out, **settings)
    assert not (out / "metrics.jsonl").exists()


def test_an_empty_folder_name_is_refused():
    with pytest.raises(ValueError, match="out: ''"):
        cgcmarl.train(out="", **SMALL)


def test_a_run_is_not_overwritten(tmp_path):
    cgcmarl.train(out=tmp_path / "run", **SMALL)
    with pytest.raises(ValueError, match="run"):
        cgcmarl.train(out=tmp_path / "run", **SMALL)


def test_the_command_answers_with_its_exit_code():
    run = lambda *words: subprocess.run(
        [sys.executable, "-m", "cgcmarl", *words], capture_output=True, text=True
    )
    assert run("--version").returncode == 0
    wrong = run("train", "gama=1")
    assert wrong.returncode == 2 and "gamma" in wrong.stderr
    assert run("nonsense").returncode == 2
