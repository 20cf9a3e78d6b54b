"""Teams in environments of other packages, with costs by functions that `cgcmarl.train(costs=…)` imports.

    python python/examples/third_party.py formation --seed 1            # MPE2: how fast an agent is costs
    python python/examples/third_party.py rware --seed 1                # a robot warehouse: blocked moves cost
    python python/examples/third_party.py foraging --seed 1             # level-based foraging: loading in vain costs
    python python/examples/third_party.py rware --seed 1 --algorithm iql    # a baseline on the same steps

Trains, sweeps and prints the front; the run goes to runs/ENVIRONMENT/ALGORITHM/seed_K.
"""

import argparse
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
    "random_actions.start": 1.0, "random_actions.end": 0.05, "random_actions.steps": 80_000,
    "exploration.start": 0.02, "exploration.end": 0.02, "sample_low": 0.02, "sample_high": 1.0,
}  # fmt: skip
IQL = {"exploration.start": 1.0, "exploration.end": 0.05, "exploration.steps": 80_000}
ENVIRONMENTS = {"formation": (FORMATION, {}), "rware": (RWARE, SPARSE), "foraging": (FORAGING, SPARSE)}


def main(environment, algorithm="cg_cmarl", seed=1, steps=None, episodes=200, out=None):
    import cgcmarl

    task, settings = ENVIRONMENTS[environment]
    if settings:
        settings = {**settings, **(OURS if algorithm == "cg_cmarl" else IQL)}
    task = {**task, "total_steps": steps or task["total_steps"]}
    place = Path(out or f"runs/{environment}/{algorithm}/seed_{seed}")
    model = cgcmarl.train(**task, **settings, algorithm=algorithm, seed=seed, workers=1, threads=1, out=place)
    multipliers = [0.0, 0.05, 0.1, 0.2, 0.5, 1.0] if model.has_multipliers else None
    front = model.sweep(multipliers, episodes=episodes, start_seed=2026, threads=1)
    scale = settings.get("reward_scale", 1.0)
    cost = f"cost_{model.constraints[0]}"
    print(f"{environment}, {algorithm}, seed {seed}: return of an episode, {cost} of an agent and step")
    for point in [*front.points, *front.references]:
        print(f"{point.label:>10} {point['team_return'] / scale:9.3f} {point[cost]:9.4f}")
    return front


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("environment", choices=sorted(ENVIRONMENTS))
    parser.add_argument("--algorithm", default="cg_cmarl")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--steps", type=int)
    parser.add_argument("--episodes", type=int, default=200)
    parser.add_argument("--out")
    main(**vars(parser.parse_args()))
