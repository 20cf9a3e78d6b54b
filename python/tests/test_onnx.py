"""The exported network in onnxruntime: the same tables, and an episode without anything else of ours."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import cgcmarl
from conftest import MODEL

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")
HERE = Path(__file__).parent


def export(run, out):
    command = [sys.executable, "-m", "cgcmarl", "export", str(run), "--out", str(out)]
    found = {**os.environ, "PYTHONPATH": str(HERE)}
    subprocess.run(command, check=True, capture_output=True, env=found)
    onnx.checker.check_model(onnx.load(str(out)), full_check=True)
    session = onnxruntime.InferenceSession(str(out), providers=["CPUExecutionProvider"])
    contract = json.loads(session.get_modelmeta().custom_metadata_map["contract"])
    return session, contract


@pytest.fixture(scope="module")
def choir(tmp_path_factory):
    sys.path.insert(0, str(HERE))
    folder = tmp_path_factory.mktemp("onnx")
    settings = dict(horizon=10, total_steps=4000, learning_starts=200, gamma=0.5, seed=2)
    settings["exploration.steps"] = 2000
    model = cgcmarl.train(
        env="teams:choir", costs={"strain": "infos"}, out=folder / "run", **settings
    )
    return model, *export(folder / "run", folder / "network.onnx")


def augmented(session, contract, rows, multiplier):
    """primary + multiplier · cost, as the network sees the multiplier too."""
    entry = 0.3 * np.log1p(20 * multiplier)
    full = np.concatenate([rows, np.full((len(rows), 1), entry)], axis=1).astype(np.float32)
    (tables,) = session.run(None, {"rows": full})
    shape = (-1, contract["actions"], contract["actions"])
    return (tables[:, 0] + multiplier * tables[:, 1]).reshape(shape)


def pair_tables(session, contract, seen, regions, multiplier):
    """The tables of all pairs, averaged over both orders of their members."""
    rows = np.array([np.concatenate([seen[i], seen[k]]) for i, k in regions])
    back = np.array([np.concatenate([seen[k], seen[i]]) for i, k in regions])
    forth = augmented(session, contract, rows, multiplier)
    return (forth + augmented(session, contract, back, multiplier).swapaxes(1, 2)) / 2


def test_onnxruntime_agrees_with_us(choir):
    model, session, contract = choir
    assert contract["heads"] == ["task", "strain"] and contract["region_size"] == 2
    rng = np.random.default_rng(1)
    for multiplier in (0.0, 0.5, 3.0):
        seen = rng.normal(size=(3, 4)).astype(np.float32)
        state = np.concatenate([seen.reshape(-1), np.ones(12, dtype=np.float32)])
        inside = model.tables(state, multiplier)
        theirs = pair_tables(session, contract, seen, inside.regions, multiplier)
        assert np.abs(np.array(inside.tables) - theirs).max() < 1e-5


def test_an_episode_with_onnxruntime_and_the_coordinator_alone(choir):
    import teams

    _, session, contract = choir
    regions = [(0, 1), (0, 2), (1, 2)]
    env = teams.choir()
    earned = []
    for episode in range(20):
        seen, _ = env.reset(seed=episode)
        while env.agents:
            rows = np.array([seen[agent] for agent in env.agents])
            tables = pair_tables(session, contract, rows, regions, 0.0)
            joint = cgcmarl.coordination.solve(regions, tables).actions
            seen, rewards, *_ = env.step(dict(zip(env.agents, joint.tolist())))
            earned.append(rewards["singer_0"])
    assert np.mean(earned) > 0.8


def test_a_tied_head_is_exported_as_tables(tmp_path):
    session, contract = export(MODEL, tmp_path / "network.onnx")
    width = contract["region_width"] + contract["multiplier_inputs"]
    (tables,) = session.run(None, {"rows": np.zeros((2, width), dtype=np.float32)})
    assert tables.shape == (2, 2, 625) and np.isfinite(tables).all()


def test_a_file_is_not_overwritten(tmp_path):
    out = tmp_path / "network.onnx"
    out.write_text("mine")
    command = [sys.executable, "-m", "cgcmarl", "export", str(MODEL), "--out", str(out)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2 and "exists" in done.stderr and out.read_text() == "mine"
