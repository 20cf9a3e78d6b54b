"""Constrained multi-agent reinforcement learning on coordination graphs.

Train once, choose the trade-off afterwards:

>>> import cgcmarl
>>> model = cgcmarl.load(example_model)
>>> policy = model.policy(multiplier=0.5)
>>> environment = cgcmarl.make("simple_spread", agents=3)
>>> policy.act(environment.reset(seed=1)).shape
(1, 3)
"""

from . import coordination
from ._native import __version__
from .environment import Environment, Step, Task, make, tasks
from .model import Model, Policy, load
from .results import Candidate, Choice, Estimate, Front, Score
from .training import resume, train

__all__ = [
    "Candidate",
    "Choice",
    "Environment",
    "Estimate",
    "Front",
    "Model",
    "Policy",
    "Score",
    "Step",
    "Task",
    "__version__",
    "coordination",
    "load",
    "make",
    "resume",
    "tasks",
    "train",
]
