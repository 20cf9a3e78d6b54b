"""A wrong argument is named with what was given, whatever is wrong about it."""

import numpy as np
import pytest

import cgcmarl
from cgcmarl.coordination import solve
from conftest import MODEL


@pytest.fixture(scope="module")
def model():
    return cgcmarl.load(MODEL)


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda m: cgcmarl.load(5), "path: 5"),
        (lambda m: cgcmarl.load(b"run"), "path: b'run'"),
        (lambda m: m.policy("much"), "multiplier: 'much'"),
        (lambda m: m.policy({"collision": "much"}), r"multiplier\['collision'\]: 'much'"),
        (lambda m: m.policy(float("nan")), "multiplier: nan"),
        (lambda m: m.policy(1.0, agents="three"), "agents: 'three'"),
        (lambda m: m.policy(1.0, agents=-1), "agents: -1"),
        (lambda m: m.policy(1.0).act("state"), "states: "),
        (lambda m: m.policy(1.0).act(np.zeros((2, 2, 18))), "states: 3 axes"),
        (lambda m: m.sweep(0.5), "multipliers: 0.5"),
        (lambda m: m.sweep(["a"]), "multipliers: 'a'"),
        (lambda m: m.sweep([1.0], episodes="many"), "episodes: 'many'"),
        (lambda m: m.sweep([1.0], episodes=2.5), "episodes: 2.5"),
        (lambda m: m.sweep([1.0], episodes=-3), "episodes: -3"),
        (lambda m: m.sweep([1.0], start_seed=-1), "start_seed: -1"),
        (lambda m: m.sweep([1.0], start_seed=10**30), "start_seed: 10"),
        (lambda m: m.sweep([1.0], threads="2"), "threads: '2'"),
        (lambda m: m.sweep([1.0], progress=3), "progress: 3"),
        (lambda m: m.choose("low"), "limits: 'low'"),
        (lambda m: m.choose({"collision": None}), r"limits\['collision'\]: None"),
        (lambda m: m.choose(0.1, confidence="high"), "confidence: 'high'"),
        (lambda m: m.choose(0.1, maximise=3), "maximise: 3"),
        (lambda m: m.tables("x"), "state: "),
        (lambda m: cgcmarl.make(3), "task: 3"),
        (lambda m: cgcmarl.make(n=-1), "n: -1"),
        (lambda m: cgcmarl.make(n="two"), "n: 'two'"),
        (lambda m: cgcmarl.make(agents=None), "agents: None"),
        (lambda m: cgcmarl.make(observation={"kind": "paper"}), "observation: "),
        (lambda m: cgcmarl.make().reset(seed=-1), "seed: -1"),
        (lambda m: cgcmarl.make().reset(seed="one"), "seed: 'one'"),
        (lambda m: cgcmarl.make(n=2).reset(seed=[1]), "seed: 1 seeds for 2"),
        (lambda m: cgcmarl.make().reset(only=[7]), "only: 7"),
        (lambda m: cgcmarl.make().step("left"), "actions: "),
        (lambda m: cgcmarl.make().step([[1, 2]]), r"actions: shape \(1, 2\)"),
        (lambda m: cgcmarl.make().snapshot(-1), "index: -1"),
        (lambda m: cgcmarl.train(5), "task: 5"),
        (lambda m: cgcmarl.train(out=5), "out: 5"),
        (lambda m: cgcmarl.train(out="x", callback=5), "callback: 5"),
        (lambda m: cgcmarl.train(out="x", threads=0), "threads: 0"),
        (lambda m: cgcmarl.train(out="x", horizon="long"), "horizon: 'long'"),
        (lambda m: cgcmarl.resume(7), "run: 7"),
        (lambda m: solve([(0, "b")], np.zeros((1, 2, 2))), "regions: 'b'"),
        (lambda m: solve([(0, 1)], "tables"), "tables: "),
        (lambda m: solve([(0, 1)], np.zeros((1, 2, 2)), iterations="ten"), "iterations: 'ten'"),
        (lambda m: solve([(0, 1)], np.zeros((1, 2, 2)), iterations=-1), "iterations: -1"),
        (lambda m: solve([(0, 1)], np.zeros((1, 2, 2)), damping="half"), "damping: 'half'"),
        (lambda m: solve([(0, 1)], np.zeros((1, 2, 2)), solver=1), "solver: 1"),
        (lambda m: solve([(0, 1)], np.zeros((1, 2, 2)), threads=-1), "threads: -1"),
        (lambda m: solve([(0, 1)], np.zeros((1, 2, 2)), np.zeros(2)), "utilities: 1 axes"),
    ],
)
def test_a_wrong_argument_is_named(model, call, told):
    with pytest.raises((TypeError, ValueError), match=told):
        call(model)


def test_numbers_of_numpy_are_numbers(model):
    assert model.policy(np.float32(0.5)).agents == 3
    front = model.sweep(np.array([1.0]), episodes=np.int64(2), threads=np.int32(1))
    assert front.points[0].episodes == 2
