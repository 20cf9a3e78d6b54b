"""Predators catch prey on a grid, two at a time."""

from ._parallel import factories

parallel_env, env = factories("predator_prey")
raw_env = env
