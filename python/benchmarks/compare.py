"""Environment steps per second beside mpe2 and JaxMARL, and CPU microseconds of a decision, in one run.

    pip install mpe2 jax jaxmarl                                           # JaxMARL is left out where it is missing
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


def jax_marl():
    """JaxMARL's Simple Spread: one environment stepped from Python, and many in one compiled episode.

    Compiling is not counted; `step` starts a new episode by itself, as its users have it."""
    try:
        import jax
        import jax.numpy as jnp
        import jaxmarl
    except ImportError:
        return {}
    environment = jaxmarl.make("MPE_simple_spread_v3", num_agents=3, num_landmarks=3)
    actions = {agent: jnp.asarray(1) for agent in environment.agents}
    step, reset = jax.jit(environment.step), jax.jit(environment.reset)

    def one():
        for episode in range(20):
            key = jax.random.key(episode)
            _, state = reset(key)
            for _ in range(25):
                seen, state, *_ = step(key, state, actions)
            jax.block_until_ready(seen)

    def many(n):
        def episode(key):
            _, start = environment.reset(key)

            def forward(state, _):
                seen, state, rewards, _, _ = environment.step(key, state, actions)
                return state, (seen, rewards)

            return jax.lax.scan(forward, start, None, length=25)[1]

        episodes = jax.jit(jax.vmap(episode))

        def play():
            for number in range(20):
                jax.block_until_ready(episodes(jax.random.split(jax.random.key(number), n)))

        return play

    rows = {f"JaxMARL {jaxmarl.__version__}, one, step by step": per_second(20 * 25, one)}
    for n in (64, 1024):
        name = f"JaxMARL, {n} at once, whole episodes compiled"
        rows[name] = per_second(n * 20 * 25, many(n))
    return rows


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
        **jax_marl(),
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
