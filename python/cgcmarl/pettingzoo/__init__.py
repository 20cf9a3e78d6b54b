"""The built-in tasks as PettingZoo environments.

Importing this module registers them with PettingZoo (`pettingzoo.make("parallel", "cgcmarl/…")`) where
it has a registry. Every task is a module with `parallel_env` and `env`:

>>> from cgcmarl.pettingzoo import simple_spread_v0
>>> environment = simple_spread_v0.parallel_env(agents=3, max_cycles=25)
>>> observations, infos = environment.reset(seed=1)
>>> infos["agent_0"]["cost"]
{'collision': 0.0}
"""

from ._parallel import TaskEnv, factories
from ._registry import register_all
from .wrappers import six_tuple, vector_rewards

__all__ = ["TaskEnv", "factories", "six_tuple", "vector_rewards"]

register_all()
