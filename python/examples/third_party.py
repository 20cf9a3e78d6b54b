"""Costs for environments of other packages, by functions: what `cgcmarl.train(costs=…)` imports.

    python -m cgcmarl train task=pettingzoo env=mpe2.simple_formation_v1:parallel_env horizon=25 'costs=["speed=third_party:speed"]'
"""

import numpy as np


def speed(observation, **_):
    """MPE2: how fast an agent is; its own velocity comes first in what it sees."""
    return float(np.hypot(observation[0], observation[1]))


def load_in_vain(action, reward, **_):
    """Level-based foraging: it tried to load (action 5) and got nothing."""
    return float(action == 5 and reward <= 0.0)


def blocked(before, action, observation, **_):
    """RWARE: it wanted forward (action 1) and is where it was; its place comes first in what it sees."""
    return float(action == 1 and before[0] == observation[0] and before[1] == observation[1])
