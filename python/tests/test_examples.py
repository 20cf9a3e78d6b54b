"""Every example runs: both notebooks, the searches, the one that needs PyTorch where it is installed."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "python" / "examples"


def needs(package):
    if find_spec(package) is None:
        pytest.skip(f"{package} is optional, and not installed")


def play(name, *words):
    environment = {**os.environ, "SDL_VIDEODRIVER": "dummy", "RAY_USAGE_STATS_ENABLED": "0", "PYTHONWARNINGS": "ignore"}
    environment["RAY_worker_niceness"] = "0"  # as quick as everybody else
    environment.pop("RAY_ADDRESS", None)
    command = [sys.executable, str(EXAMPLES / name), *words]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_every_example_is_known_here():
    tested = {"third_party.py", "ours_in_pettingzoo.py", "theirs_trained_here.py"}
    tested |= {"optuna_hypervolume.py", "tune_hypervolume.py", "torch_dcg.py"}
    assert {file.name for file in EXAMPLES.glob("*.py")} == tested


@pytest.mark.parametrize(("name", "package"), [("formation", "mpe2"), ("rware", "rware"), ("foraging", "lbforaging")])
def test_the_environments_of_others_train_and_sweep(name, package, tmp_path):
    needs(package)
    words = ["--compare", "--steps", "1200", "--episodes", "3", "--out", str(tmp_path)]
    told = play("third_party.py", name, *words, "--results", str(tmp_path / "results.json"))
    assert all(f"{name}, {arm}, seed 1" in told for arm in ["cg_cmarl", "iql", "iql_0.2"])
    (row,) = json.loads((tmp_path / "results.json").read_text("utf-8"))[name]
    assert list(row["cg_cmarl"])[0] == "λ=0" and list(row["iql"]) == ["penalty 0", "penalty 0.2"]
    again = play("third_party.py", name, "--algorithm", "iql", "--penalty", "0.2", "--out", str(tmp_path))
    assert f"{row['iql']['penalty 0.2'][0]:9.3f}" in again  # what is there is not made again


def test_areas_and_who_dominates(monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLES))
    from third_party import dominates, hypervolume

    # Two steps of a staircase; a third point is dominated, a fourth costs more than the corner.
    points = [(2.0, 0.1), (3.0, 0.3), (1.5, 0.2), (9.0, 0.6)]
    assert hypervolume(points, (1.0, 0.5)) == pytest.approx(1.0 * 0.4 + 1.0 * 0.2)
    assert hypervolume([], (1.0, 0.5)) == 0.0
    assert dominates([2.0, 0.1], [1.5, 0.2]) and not dominates([3.0, 0.3], [2.0, 0.1])
    assert not dominates([2.0, 0.1], [2.0, 0.1])


def test_the_notebook_of_a_task_of_ours():
    needs("pettingzoo")
    told = play("ours_in_pettingzoo.py")
    assert "random: coverage" in told and "λ = 1.0: coverage" in told


def test_the_notebook_of_an_environment_of_theirs():
    needs("mpe2")
    told = play("theirs_trained_here.py", "2000")
    assert "random" in told and "chosen:" in told


def test_optuna_maximises_the_hypervolume_under_a_limit():
    needs("optuna")
    assert "hypervolume within the limit: 0." in play("optuna_hypervolume.py", "--trials", "2", "--steps", "3000")


def test_ray_tune_maximises_the_hypervolume_under_a_limit():
    needs("ray")
    assert "hypervolume within the limit: 0." in play("tune_hypervolume.py", "--samples", "2", "--steps", "3000")


def test_a_pytorch_dcg_calls_the_coordinator():
    needs("torch")
    told = play("torch_dcg.py", "--agents", "5", "--batch", "4")
    values = [float(row.split("|")[2]) for row in told.splitlines() if row.startswith(("| cgcmarl", "| DCG"))]
    assert len(values) == 3 and values[0] >= values[2] - 1e-6
