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


def bearing(to, speed, coast):
    """Displacement, distance and direction, the last after coasting at a relative speed."""
    ahead = to + coast * speed
    return to, np.linalg.norm(to), ahead / (np.linalg.norm(ahead) + 0.1)


def row_of(state, members, contract):
    """What a pair sees of a state, as `row_layout` and `row_words` tell it."""
    coast = contract["environment"]["observation"]["coast"]
    places, speeds, landmarks = state.reshape(3, -1, 2)
    cells = [part[member] for member in members for part in (speeds, places)]
    one, other = members
    cells += bearing(places[other] - places[one], speeds[other] - speeds[one], coast)
    away = np.linalg.norm(landmarks[:, None] - places[None, members], axis=2).min(axis=1)
    outside = [agent for agent in range(len(places)) if agent not in members]
    for landmark in landmarks[np.argsort(away, kind="stable")]:
        seen = [bearing(landmark - places[m], -speeds[m], coast) for m in members]
        cells += [part for parts in zip(*seen) for part in parts]
        nearest = (places + 0.2 * speeds)[outside] - landmark
        distance = np.linalg.norm(nearest, axis=1).min()
        cells += [distance, 0.2 / (distance + 0.1)]
    row = np.concatenate([np.atleast_1d(cell) for cell in cells])
    assert len(row) == contract["region_width"] == contract["row_layout"][-1]["to"]
    return row


def under(state, symmetry):
    """A state under one of the contract's symmetries."""
    places = np.array(symmetry["state"])
    return state[np.abs(places) - 1] * np.sign(places)


def frames_of(state, members, contract):
    """The symmetries that lead into the frames of a pair, as `frame_words` tells of a cone."""

    def is_ahead(symmetry):
        places = under(state, symmetry).reshape(3, -1, 2)[0]
        x, y = places[members[1]] - places[members[0]]
        return x >= y >= 0

    def look(symmetry):
        turned = under(state, symmetry)
        return [*row_of(turned, members, contract), *turned]

    symmetries = contract["symmetries"]
    ahead = max(filter(is_ahead, symmetries), key=look)
    flipped = [place * (-1) ** entry for entry, place in enumerate(ahead["state"])]
    (mirror,) = [symmetry for symmetry in symmetries if symmetry["state"] == flipped]
    return [ahead, mirror][: contract["averaged_frames"]]


def rebuilt(session, contract, state, region, multiplier):
    """The table of a region from the exported network and what its contract says, nothing else."""
    tables = []
    for order in (1, -1)[: contract["averaged_orders"]]:
        members = list(region)[::order]
        for symmetry in frames_of(state, members, contract):
            row = row_of(under(state, symmetry), members, contract)
            (seen,) = augmented(session, contract, row[None], multiplier)
            named = seen[np.ix_(symmetry["actions"], symmetry["actions"])]
            tables.append(named if order == 1 else named.T)
    return np.mean(tables, axis=0)


def test_tables_of_a_model_with_frames_are_rebuilt_from_the_file_alone(tmp_path):
    session, contract = export(MODEL, tmp_path / "network.onnx")
    assert (contract["frame_rule"], contract["averaged_frames"]) == ("cone", 2)
    assert contract["averaged_orders"] == 2 and len(contract["symmetries"]) == 8
    model, environment = cgcmarl.load(MODEL), cgcmarl.make("simple_spread", n=5)
    states = environment.reset(seed=4)
    level = states[0].copy()
    level[3] = level[1]  # the second agent straight to the right or left of the first
    for step, multiplier in enumerate((0.0, 0.5, 3.0)):
        for state in [*states, level]:
            inside = model.tables(state, multiplier)
            for region, table in zip(inside.regions, inside.tables):
                ours = rebuilt(session, contract, state, region, multiplier)
                assert np.abs(ours - table).max() < 1e-4
        states = environment.step((np.arange(15).reshape(5, 3) * 7 + step) % 25).states


def test_a_model_without_symmetries_has_one_frame(choir):
    _, _, contract = choir
    assert (contract["frame_rule"], contract["averaged_frames"]) == ("world", 1)
    assert [len(symmetry["actions"]) for symmetry in contract["symmetries"]] == [contract["actions"]]


def test_a_file_is_not_overwritten(tmp_path):
    out = tmp_path / "network.onnx"
    out.write_text("mine")
    command = [sys.executable, "-m", "cgcmarl", "export", str(MODEL), "--out", str(out)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2 and "exists" in done.stderr and out.read_text() == "mine"
