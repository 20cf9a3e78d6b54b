"""Ray Tune: which settings give the largest hypervolume under a limit on collisions?

    pip install 'ray[tune]'
    python python/examples/tune_hypervolume.py --samples 20 --steps 100000
"""

import argparse
import os
import tempfile
from pathlib import Path

import ray
from ray import tune

import cgcmarl

LIMIT = {"collisions_per_step": 0.02}


def trainable(settings, steps, folder):
    """One training in a folder that all nodes see; what is maximised is what its front covers within the limit."""
    place = Path(folder) / tune.get_context().get_trial_id()
    model = cgcmarl.train("simple_spread", agents=2, total_steps=steps, out=place, threads=1, **settings)
    front = model.sweep([0.2, 0.5, 1.0, 2.0], episodes=100, threads=1)
    tune.report({"hypervolume": front.hypervolume_within(LIMIT), "whole": front.hypervolume})


def main(samples=20, steps=100_000):
    # On this machine, unless RAY_ADDRESS names a cluster whose nodes all see the folder below.
    ray.init(os.environ.get("RAY_ADDRESS", "local"), include_dashboard=False if "RAY_ADDRESS" not in os.environ else None)
    with tempfile.TemporaryDirectory() as folder:
        tuner = tune.Tuner(
            tune.with_resources(tune.with_parameters(trainable, steps=steps, folder=folder), {"cpu": 1}),
            param_space={"gamma": tune.uniform(0.7, 0.95), "lr": tune.loguniform(2e-4, 3e-3)},
            tune_config=tune.TuneConfig(metric="hypervolume", mode="max", num_samples=samples),
            run_config=tune.RunConfig(storage_path=folder, verbose=0),
        )
        results = tuner.fit()
    best = results.get_best_result()
    print(f"hypervolume within the limit: {best.metrics['hypervolume']:.4f} with {best.config}")
    return results


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--samples", type=int, default=20)
    parser.add_argument("--steps", type=int, default=100_000)
    main(**vars(parser.parse_args()))
