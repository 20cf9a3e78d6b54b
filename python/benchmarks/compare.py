"""Environment steps per second beside mpe2, and CPU microseconds of a decision, in one run on one thread.

    python python/benchmarks/compare.py                                    # in a clone, after `make python`
    cargo run --release --example decision_time models/simple_spread_3     # the same decision in Rust
"""

import statistics
import time
import warnings

import numpy as np

import cgcmarl
from cgcmarl.pettingzoo import simple_spread_v0

warnings.simplefilter("ignore")
from mpe2 import simple_spread_v3  # noqa: E402

ROUNDS = 5


def per_second(steps, play):
    """Steps per second of CPU time: median, lowest and highest of a few rounds."""
    play()
    found = []
    for _ in range(ROUNDS):
        start = time.process_time()
        play()
        found.append(steps / (time.process_time() - start))
    return statistics.median(found), min(found), max(found)


def parallel(env, episodes):
    def play():
        for episode in range(episodes):
            env.reset(seed=episode)
            while env.agents:
                env.step({agent: 1 for agent in env.agents})

    return play


def batch(n, episodes):
    environment = cgcmarl.make("simple_spread", agents=3, n=n, physics="mpe2")
    actions = np.ones((n, 3), dtype=np.int64)

    def play():
        for episode in range(episodes):
            environment.reset(seed=episode)
            for _ in range(25):
                environment.step(actions)
                environment.observations()

    return play


def decision():
    policy = cgcmarl.load("models/simple_spread_3").policy(1.0)
    states = list(cgcmarl.make("simple_spread", agents=3, n=200).reset(seed=1))

    def play():
        for state in states:
            policy.act(state)

    return play


def main():
    theirs = simple_spread_v3.parallel_env(N=3, max_cycles=25)
    ours = simple_spread_v0.parallel_env(agents=3, max_cycles=25, physics="mpe2")
    rows = {
        "mpe2 simple_spread_v3": per_second(50 * 25, parallel(theirs, 50)),
        "cgcmarl ParallelEnv": per_second(50 * 25, parallel(ours, 50)),
        "cgcmarl, 64 at once": per_second(64 * 100 * 25, batch(64, 100)),
    }
    base = rows["mpe2 simple_spread_v3"][0]
    print("| steps per second, N = 3 | median | lowest - highest | × mpe2 |")
    print("|---|---|---|---|")
    for name, (median, low, high) in rows.items():
        print(f"| {name} | {median:,.0f} | {low:,.0f} - {high:,.0f} | {median / base:.1f} |")
    play = decision()
    times = sorted(1e6 / rate for rate in per_second(200, play))
    print(f"\na decision from Python: {times[1]:.1f} µs ({times[0]:.1f} - {times[2]:.1f})")


if __name__ == "__main__":
    main()
