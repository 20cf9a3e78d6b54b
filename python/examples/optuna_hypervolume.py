"""Optuna: which settings give the largest hypervolume under a limit on collisions?

    pip install optuna
    python python/examples/optuna_hypervolume.py --trials 20 --steps 100000
"""

import argparse
import tempfile
from pathlib import Path

import optuna

import cgcmarl

LIMIT = {"collisions_per_step": 0.02}


def objective(trial, folder, steps):
    """One training; what is maximised is what its front covers within the limit."""
    model = cgcmarl.train(
        "simple_spread",
        agents=2,
        total_steps=steps,
        gamma=trial.suggest_float("gamma", 0.7, 0.95),
        lr=trial.suggest_float("lr", 2e-4, 3e-3, log=True),
        out=Path(folder) / str(trial.number),
        threads=1,
    )
    front = model.sweep([0.2, 0.5, 1.0, 2.0], episodes=100, threads=1)
    # Above 0 where no point keeps the limit: the sampler then looks elsewhere.
    lowest = min(point["collisions_per_step"] for point in front.points)
    trial.set_user_attr("excess", lowest - LIMIT["collisions_per_step"])
    return front.hypervolume_within(LIMIT)


def main(trials=20, steps=100_000):
    sampler = optuna.samplers.TPESampler(seed=1, constraints_func=lambda trial: [trial.user_attrs["excess"]])
    study = optuna.create_study(direction="maximize", sampler=sampler)
    with tempfile.TemporaryDirectory() as folder:
        study.optimize(lambda trial: objective(trial, folder, steps), n_trials=trials)
    print(f"hypervolume within the limit: {study.best_value:.4f} with {study.best_params}")
    return study


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--steps", type=int, default=100_000)
    main(**vars(parser.parse_args()))
