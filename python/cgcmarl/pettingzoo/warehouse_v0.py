"""Robots bring orders from shelves to stations."""

from ._parallel import factories

parallel_env, env = factories("warehouse")
raw_env = env
