"""What a run tells people who know nothing of the program: its card, and the header of its model."""

import json
import struct
from pathlib import Path

import pytest

import cgcmarl
from conftest import MODEL

MODELS = sorted(path.parent for path in MODEL.parent.glob("*/model.safetensors"))
SMALL = dict(agents=2, total_steps=600, learning_starts=100, seed=4)


def header(file):
    """The metadata of a safetensors file, by the format alone."""
    data = Path(file).read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    return json.loads(data[8 : 8 + length])["__metadata__"]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("card") / "run"
    cgcmarl.train(out=folder, **SMALL)
    return folder


@pytest.mark.parametrize("model", MODELS, ids=lambda path: path.name)
def test_a_hub_reads_the_card_with_the_front_as_results(model):
    hub = pytest.importorskip("huggingface_hub")
    card = hub.ModelCard.load(model / "README.md")
    data = card.data.to_dict()
    assert data["license"] == ["mit", "apache-2.0"] and data["library_name"] == "cgcmarl"
    trained = cgcmarl.load(model)
    assert {trained.task, trained.algorithm, "multi-agent-reinforcement-learning"} <= set(data["tags"])
    front = trained.front
    results = {(result.metric_name, result.metric_value) for result in card.data.eval_results}
    told = {(f"{axis} at {point.label}", point[axis]) for point in front.points for axis in front.axes}
    assert results == told
    assert "## Limits" in card.text and "random" in card.text
    # Written again by the hub's own writer, nothing is lost.
    again = hub.ModelCard(str(card))
    assert again.data.to_dict() == data


def test_a_run_without_a_front_has_a_card_too(run):
    hub = pytest.importorskip("huggingface_hub")
    card = hub.ModelCard.load(run / "README.md")
    assert card.data.library_name == "cgcmarl" and card.data.eval_results is None
    assert "600 environment steps" in card.text


@pytest.mark.parametrize("model", MODELS, ids=lambda path: path.name)
def test_any_reader_finds_task_actions_constraints_and_rows(model):
    about = header(model / "model.safetensors")
    trained = cgcmarl.load(model)
    assert about["task"] == trained.task and about["algorithm"] == trained.algorithm
    assert json.loads(about["constraints"]) == trained.constraints
    assert len(json.loads(about["actions"])) == int(about["agents"]) == trained.agents
    layout = json.loads(about["row_layout"])
    assert layout[0]["from"] == 0 and layout[-1]["to"] == int(about["region_width"])
    assert all(one["to"] == other["from"] for one, other in zip(layout, layout[1:]))
    assert all(group["holds"] for group in layout)


def test_safetensors_itself_reads_it(run):
    safetensors = pytest.importorskip("safetensors")
    with safetensors.safe_open(run / "model.safetensors", "numpy") as file:
        assert file.metadata()["task"] == "simple_spread"
        assert json.loads(file.metadata()["actions"]) == [25, 25]
        assert file.keys()
