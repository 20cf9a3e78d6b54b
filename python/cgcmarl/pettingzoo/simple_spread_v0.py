"""Simple Spread: agents cover as many landmarks without colliding."""

from ._parallel import factories

parallel_env, env = factories("simple_spread")
raw_env = env
