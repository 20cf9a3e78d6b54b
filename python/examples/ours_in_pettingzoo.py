# %% [markdown]
# # A task of ours in PettingZoo
# A notebook of cells (`# %%`): VS Code and Jupyter (with jupytext) open it as one; `python` runs it whole.
# We take a built-in task as an ordinary PettingZoo environment, look at what it costs, and let a trained policy play in it.

# %%
import numpy as np
from pettingzoo.test import parallel_api_test

import cgcmarl
from cgcmarl.pettingzoo import simple_spread_v0, vector_rewards

environment = simple_spread_v0.parallel_env(agents=3, max_cycles=25, render_mode="rgb_array")
parallel_api_test(environment, num_cycles=50)
print(environment.possible_agents, environment.action_space("agent_0"), environment.observation_space("agent_0").shape)

# %% [markdown]
# ## Anybody's policy
# Actions go in by agent, costs come out in `infos` by the names of the constraints.


# %%
def play(choose, episodes=40):
    """Mean cost of a step, and the share of landmarks covered at the end, of a policy."""
    costs, covered = [], []
    for episode in range(episodes):
        observations, infos = environment.reset(seed=episode)
        while environment.agents:
            actions = choose(observations)
            observations, rewards, terminations, truncations, infos = environment.step(actions)
            costs.append(np.mean([info["cost"]["collision"] for info in infos.values()]))
        positions = np.array([seen[2:4] for seen in observations.values()])
        landmarks = observations["agent_0"][4:10].reshape(3, 2) + positions[0]
        distances = np.linalg.norm(landmarks[:, None] - positions[None], axis=2)
        covered.append(np.mean(distances.min(axis=1) < 0.1))
    return np.mean(costs), np.mean(covered)


generator = np.random.default_rng(1)
random_cost, random_coverage = play(
    lambda observations: {agent: int(generator.integers(environment.action_space(agent).n)) for agent in observations}
)
print(f"random: coverage {random_coverage:.2f}, cost {random_cost:.4f}")

# %% [markdown]
# ## A trained policy
# `state()` is what policies act on; the multiplier chooses how much collisions matter, after training.

# %%
model = cgcmarl.load("models/simple_spread_3")
for multiplier in (0.1, 1.0):
    policy = model.policy(multiplier)
    cost, coverage = play(lambda observations: dict(zip(observations, policy.act(environment.state()).tolist())))
    print(f"λ = {multiplier}: coverage {coverage:.2f}, cost {cost:.4f}")
assert coverage > random_coverage + 0.5 and cost < random_cost

# %% [markdown]
# ## A picture, and rewards as vectors for multi-objective learners

# %%
environment.reset(seed=7)
print("picture:", environment.render().shape)
several = vector_rewards(simple_spread_v0.parallel_env(agents=3))
several.reset(seed=1)
_, rewards, *_ = several.step({agent: 0 for agent in several.agents})
print("task, −collision:", rewards["agent_0"])
