"""The tasks in PettingZoo's registry, where it has one."""

import pettingzoo

from ..environment import tasks


def register_all() -> None:
    """Registers `cgcmarl/<task>-v0` for both interfaces."""
    register = getattr(pettingzoo, "register", None)
    if register is None:
        return
    from ._parallel import factories

    for task in tasks():
        name = f"cgcmarl/{task}-v0"
        parallel_env, env = factories(task)
        known = (pettingzoo.parallel_registry, pettingzoo.aec_registry)
        for kind, entry, registry in zip(("parallel", "aec"), (parallel_env, env), known):
            if name not in registry:
                register(kind, name, entry)
