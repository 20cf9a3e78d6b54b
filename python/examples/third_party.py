"""Teams in environments of other packages, with costs by functions that `cgcmarl.train(costs=…)` imports.

    python python/examples/third_party.py formation --seed 1            # MPE2: how fast an agent is costs
    python python/examples/third_party.py rware --seed 1                # a robot warehouse: blocked moves cost
    python python/examples/third_party.py foraging --seed 1             # level-based foraging: loading in vain costs
    python python/examples/third_party.py rware --seed 1 --algorithm iql --penalty 0.2   # a baseline, same steps
    python python/examples/third_party.py all --compare --seed 1 2 3 --results docs/results/third_party.json

Trains, sweeps and prints the front; runs go to runs/third_party/ENVIRONMENT/ARM/seed_K, and one that is there is
not made again. `--compare` does so for one model of ours and for IQL at some prices of the cost (a training each),
and tells the area between each front and the random policy (hypervolume), and who dominates whom.
"""

import argparse
import json
from pathlib import Path

import numpy as np


def speed(observation, **_):
    """MPE2: how fast an agent is; its own velocity comes first in what it sees."""
    return float(np.hypot(observation[0], observation[1]))


def load_in_vain(action, reward, **_):
    """Level-based foraging: it tried to load (action 5) and got nothing."""
    return float(action == 5 and reward <= 0.0)


def blocked(before, action, observation, **_):
    """RWARE: it wanted forward (action 1) and is where it was; its place comes first in what it sees."""
    return float(action == 1 and before[0] == observation[0] and before[1] == observation[1])


class RelativeForaging:
    """Level-based foraging whose agents see food and each other from where they stand, instead of integer
    coordinates. Nothing is added to what an agent sees by itself; rewards and rules are untouched."""

    def __init__(self, env):
        from gymnasium.spaces import Box, Tuple

        self.env, self.spec, self.unwrapped = env, env.spec, env.unwrapped
        self.action_space = env.action_space
        self.n_food = (env.observation_space[0].shape[0] - 6) // 3
        width = 10 * self.n_food + 4 + 7
        self.observation_space = Tuple([Box(-2.0, 2.0, (width,), np.float32) for _ in env.action_space])

    def reset(self, seed=None):
        seen, info = self.env.reset(seed=seed)
        return self.seen(seen), info

    def step(self, actions):
        seen, *rest = self.env.step(actions)
        return self.seen(seen), *rest

    def seen(self, rows):
        return tuple(self.row(np.asarray(row, dtype=np.float32)) for row in rows)

    def row(self, numbers):
        foods = numbers[: 3 * self.n_food].reshape(-1, 3)
        (y, x, level), (other_y, other_x, other_level) = numbers[3 * self.n_food :].reshape(2, 3)
        features = []
        for food_y, food_x, needed in foods:
            if needed <= 0:
                features += [0.0] * 10
                continue
            dy, dx = food_y - y, food_x - x
            far = abs(dy) + abs(dx)
            features += [1.0, dy / 8, dx / 8, np.sign(dy), np.sign(dx), far / 14, far == 1, needed / 4]
            features += [level >= needed, level + other_level >= needed]
        dy, dx = other_y - y, other_x - x
        features += [dy / 8, dx / 8, abs(dy) + abs(dx) == 1, other_level / 4]
        features += [y / 8, x / 8, level / 4, y == 0, x == 0, y == 7, x == 7]
        return np.array(features, dtype=np.float32)


def foraging(**arguments):
    """Makes it; for `env="third_party:foraging"`."""
    import gymnasium

    return RelativeForaging(gymnasium.make(**arguments, disable_env_checker=True))


FORMATION = dict(
    env="mpe2.simple_formation_v1:parallel_env",
    arguments={"max_cycles": 25},
    costs={"speed": "third_party:speed"},
    horizon=25,
    total_steps=100_000,
)
# Two robots, four shelves, two of them requested at a time, one place to deliver; the layout, the length of
# an episode and the requests are arguments of the environment's own. Rewards and rows are as it gives them.
RWARE = dict(
    env="gymnasium:make",
    arguments={
        "id": "rware:rware-tiny-2ag-v2",
        "layout": ".....\n.x.x.\n.x.x.\n..g..\n",
        "request_queue_size": 2,
        "max_steps": 100,
    },
    costs={"blocked": "third_party:blocked"},
    horizon=100,
    total_steps=200_000,
)
# The published map; agents see the same from where they stand (see `RelativeForaging`): from integer
# coordinates nothing was learned in as many steps.
FORAGING = dict(
    env="third_party:foraging",
    arguments={"id": "lbforaging:Foraging-8x8-2p-2f-v3"},
    costs={"vain": "third_party:load_in_vain"},
    horizon=50,
    total_steps=200_000,
)
# Rewards are rare at first: agents begin at random, and the price of a cost stays below what a reward is worth.
SPARSE = {"gamma": 0.95, "reward_scale": 4.0}
OURS = {
    # A region for each agent and one for both, each of which learns what its own members earn and pay.
    "regions": [[0], [1], [0, 1]], "reward": "agent", "error": "regional", "steps_per_update": 2.0,
    "random_actions.start": 1.0, "random_actions.end": 0.05, "random_actions.steps": 80_000,
    "exploration.start": 0.02, "exploration.end": 0.02, "sample_low": 0.02, "sample_high": 1.0,
}  # fmt: skip
IQL = {"exploration.start": 1.0, "exploration.end": 0.05, "exploration.steps": 80_000}
# What is trained, what all algorithms share, what is ours, what is the baselines'.
ENVIRONMENTS = {
    "formation": (FORMATION, {}, {}, {}),
    "rware": (RWARE, SPARSE, OURS, IQL),
    "foraging": (FORAGING, SPARSE, OURS, IQL),
}
MULTIPLIERS = [0.0, 0.05, 0.1, 0.2, 0.5, 1.0]
START_SEED = 20_261_117
"""Of the start states that are played, the same for all; none that anything was chosen on."""


def settings_of(environment, algorithm, penalty=0.0, steps=None):
    """What is trained, and how."""
    task, shared, ours, baselines = ENVIRONMENTS[environment]
    settings = {**task, **shared, **(ours if algorithm == "cg_cmarl" else baselines)}
    if penalty:
        (cost,) = task["costs"]
        settings[f"penalty.{cost}"] = penalty
    return {**settings, "total_steps": steps or task["total_steps"]}


def front_of(environment, algorithm, penalty, seed, steps=None, episodes=200, out="runs/third_party"):
    """The front of one training: what an episode returns and what an agent pays at a step, by label."""
    import cgcmarl

    settings = settings_of(environment, algorithm, penalty, steps)
    arm = f"{algorithm}_{penalty:g}" if penalty else algorithm
    place = Path(out) / environment / arm / f"seed_{seed}"
    known = place / "points.json"
    if not known.exists():
        model = cgcmarl.train(**settings, algorithm=algorithm, seed=seed, workers=1, threads=1, out=place)
        multipliers = MULTIPLIERS if model.has_multipliers else None
        front = model.sweep(multipliers, episodes=episodes, start_seed=START_SEED, threads=1)
        scale, cost = settings.get("reward_scale", 1.0), f"cost_{model.constraints[0]}"
        points = {
            point.label: [round(point["team_return"] / scale, 4), round(point[cost], 5)]
            for point in [*front.points, *front.references]
        }
        known.write_text(json.dumps(points), "utf-8")
    points = json.loads(known.read_text("utf-8"))
    print(f"{environment}, {arm}, seed {seed}: return of an episode, cost of an agent and step")
    for label, (reward, cost) in points.items():
        print(f"{label:>22} {reward:9.3f} {cost:9.4f}", flush=True)
    return points


def hypervolume(points, corner):
    """The area between points (return, cost) and a corner that they are better than."""
    area, least = 0.0, corner[0]
    for reward, cost in sorted(points, key=lambda point: point[1]):
        if cost < corner[1] and reward > least:
            area += (reward - least) * (corner[1] - cost)
            least = reward
    return area


def dominates(one, other):
    return one[0] >= other[0] and one[1] <= other[1] and one != other


def compare(environment, seeds, prices, **options):
    """Ours and IQL at each price of the cost, on all seeds, and what became of them."""
    rows = []
    for seed in seeds:
        ours = front_of(environment, "cg_cmarl", 0.0, seed, **options)
        corner = ours.pop("random")
        theirs = {}
        for price in prices:
            points = front_of(environment, "iql", price, seed, **options)
            (theirs[f"penalty {price:g}"],) = (point for name, point in points.items() if name != "random")
        rows.append({
            "seed": seed, "random": corner, "cg_cmarl": ours, "iql": theirs,
            "hypervolume": {
                "cg_cmarl": round(hypervolume(ours.values(), corner), 4),
                **{f"iql, {label}": round(hypervolume([point], corner), 4) for label, point in theirs.items()},
                "iql, all trainings": round(hypervolume(theirs.values(), corner), 4),
            },
            "iql dominated by": {
                label: [name for name, own in ours.items() if dominates(own, point)] for label, point in theirs.items()
            },
            "dominated by iql": [
                name for name, own in ours.items() if any(dominates(point, own) for point in theirs.values())
            ],
        })  # fmt: skip
        print(json.dumps({key: rows[-1][key] for key in ["seed", "hypervolume", "iql dominated by", "dominated by iql"]}))
    return rows


def main(environment, algorithm, penalty, seed, compare_all, prices, results, **options):
    names = sorted(ENVIRONMENTS) if environment == "all" else [environment]
    if compare_all:
        told = json.loads(Path(results).read_text("utf-8")) if results and Path(results).exists() else {}
        told.update({name: compare(name, seed, prices, **options) for name in names})
        if results:
            Path(results).write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n", "utf-8")
        return
    for name in names:
        for number in seed:
            front_of(name, algorithm, penalty, number, **options)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("environment", choices=[*sorted(ENVIRONMENTS), "all"])
    parser.add_argument("--algorithm", default="cg_cmarl")
    parser.add_argument("--penalty", type=float, default=0.0, help="price of a unit of the cost, for baselines")
    parser.add_argument("--seed", type=int, nargs="+", default=[1])
    parser.add_argument("--steps", type=int)
    parser.add_argument("--episodes", type=int, default=200)
    parser.add_argument("--out", default="runs/third_party")
    parser.add_argument("--compare", action="store_true", dest="compare_all", help="ours and IQL")
    parser.add_argument("--prices", type=float, nargs="+", default=[0.0, 0.2], help="of IQL in the comparison")
    parser.add_argument("--results", help="a file for what the comparison finds; other environments in it stay")
    main(**vars(parser.parse_args()))
