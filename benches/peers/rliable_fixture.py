"""Makes tests/data/rliable.json: what rliable says of two small tables of scores.

    python -m venv v && v/bin/pip install rliable==1.2.0 "pandas<3" && v/bin/python benches/peers/rliable_fixture.py
"""

import json
import pathlib

import numpy as np
from rliable import library, metrics

RESAMPLES = 2000


def case(seed, n_runs, n_tasks):
    draw = np.random.RandomState(seed)
    # Rounded, so that there are ties.
    own = np.round(draw.uniform(size=(n_runs, n_tasks)) ** 0.5, 2)
    other = np.round(draw.uniform(size=(n_runs + 1, n_tasks)), 2)
    thresholds = np.linspace(0.0, 1.0, 11)
    profile, _ = library.create_performance_profile({"own": own}, thresholds, reps=10)

    def interval(scores, statistic):
        _, intervals = library.get_interval_estimates(
            {"it": scores}, lambda *tables: np.array([statistic(*tables)]), reps=RESAMPLES,
            random_state=np.random.RandomState(seed))
        return intervals["it"][:, 0].tolist()

    return {
        "own": own.tolist(),
        "other": other.tolist(),
        "iqm": float(metrics.aggregate_iqm(own)),
        "iqm_interval": interval(own, metrics.aggregate_iqm),
        "improvement": float(metrics.probability_of_improvement(own, other)),
        "improvement_interval": interval((own, other), metrics.probability_of_improvement),
        "thresholds": thresholds.tolist(),
        "profile": profile["own"].tolist(),
    }


if __name__ == "__main__":
    place = pathlib.Path(__file__).parents[2] / "tests" / "data" / "rliable.json"
    made = {"rliable": "1.2.0", "cases": [case(1, 5, 8), case(2, 10, 3), case(3, 3, 7)]}
    place.write_text(json.dumps(made) + "\n")
