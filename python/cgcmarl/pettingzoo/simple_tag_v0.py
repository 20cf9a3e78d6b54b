"""Predators touch a faster prey, with MPE2's physics."""

from ._parallel import factories

parallel_env, env = factories("simple_tag")
raw_env = env
