"""QMIX: a mixer that rises with every agent's value, its weights by one network or by four."""

import torch
from torch.nn import functional as F

from q_learning import own_values
from team import AGENTS, STATE
from weights import half_square, perceptron

UNITS = 4
MIXER = [("mixer.0", STATE, 5), ("mixer.1", 5, AGENTS * UNITS + 2 * UNITS + 1)]
SEPARATE_MIXER = [
    ("mixer.first.0", STATE, 5), ("mixer.first.1", 5, AGENTS * UNITS),
    ("mixer.bias.0", STATE, UNITS),
    ("mixer.second.0", STATE, 5), ("mixer.second.1", 5, UNITS),
    ("mixer.value.0", STATE, UNITS), ("mixer.value.1", UNITS, 1),
]


def mix(weights, states, values):
    """Q_tot = |w₂(s)| · ELU(|W₁(s)|ᵀ q + b₁(s)) + v(s)."""
    if "mixer.0.weight" in weights:
        parts = perceptron(weights, "mixer", 2, states)
        first, bias, second, rest = parts.split([AGENTS * UNITS, UNITS, UNITS, 1], dim=1)
    else:  # The four hypernetworks of Rashid et al.
        first = perceptron(weights, "mixer.first", 2, states)
        bias = perceptron(weights, "mixer.bias", 1, states)
        second = perceptron(weights, "mixer.second", 2, states)
        rest = perceptron(weights, "mixer.value", 2, states)
    first = first.reshape(-1, AGENTS, UNITS).abs()
    hidden = F.elu((values.unsqueeze(1) @ first).squeeze(1) + bias)
    return (second.abs() * hidden).sum(1) + rest.squeeze(1)


def qmix_loss(online, target, batch):
    values, next_values = own_values(online, target, batch)
    with torch.no_grad():
        next_team = mix(target, batch["next_states"], next_values)
    targets = batch["rewards"].mean(1) + batch["discounts"] * next_team
    return half_square(mix(online, batch["states"], values) - targets)
