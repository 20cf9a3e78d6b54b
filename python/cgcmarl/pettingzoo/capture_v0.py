"""Three agents at once take a target."""

from ._parallel import factories

parallel_env, env = factories("capture")
raw_env = env
