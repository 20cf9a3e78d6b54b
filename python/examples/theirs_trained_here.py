# %% [markdown]
# # An environment of theirs, trained here
# A notebook of cells (`# %%`): VS Code and Jupyter (with jupytext) open it as one; `python` runs it whole.
# We take MPE2's `simple_formation_v1`, which knows no costs, say what costs us something, train once and choose the trade-off afterwards.

# %%
import sys
import tempfile
from pathlib import Path

import cgcmarl

sys.path.insert(0, str(Path("python/examples").resolve()))  # where `third_party` lies, for the environments' processes too
STEPS = int(sys.argv[1]) if len(sys.argv) > 1 and sys.argv[1].isdigit() else 3_000
folder = Path(tempfile.mkdtemp())

# %% [markdown]
# ## Train
# A function of `third_party.py` is the cost: how fast an agent is. Environments run in processes of their own.

# %%
model = cgcmarl.train(
    env="mpe2.simple_formation_v1:parallel_env",
    arguments={"max_cycles": 25},
    costs={"speed": "third_party:speed"},
    most_cost=[2.0],  # no agent is faster: what a guarantee needs to know
    horizon=25,
    total_steps=STEPS,
    workers=1,
    out=folder / "run",
    callback=lambda steps, line: print(steps, "return", round(line["team_return"], 1), "speed", round(line["cost_speed"], 2)),
)
print(model, model.constraints)

# %% [markdown]
# ## The whole trade-off, one model
# All points are played from the same start states, with the random policy beside them.

# %%
front = model.sweep([0.0, 0.2, 1.0], episodes=30)
print(front.to_pandas()[["label", "team_return", "cost_speed", "pareto"]])
points = {point.label: point for point in [*front.points, *front.references]}
assert points["λ=1"]["cost_speed"] < points["random"]["cost_speed"]

# %% [markdown]
# ## Choose with a guarantee, and play
# What is chosen keeps the limit with 95 % confidence, whatever the distribution of costs, or nothing is.

# %%
choice = model.choose(limits={"speed": 0.5}, episodes=300, multipliers=[0.2, 1.0])
print("chosen:", choice.multipliers)
print(choice.to_pandas()[["label", "cost_speed", "speed_below", "verdict"]])
