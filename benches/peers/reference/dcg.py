"""DCG: utilities and payoffs of low rank on all pairs."""

import itertools

import torch
from torch.nn import functional as F

from q_learning import agent_rows
from team import AGENTS, FEATURES, PAIRS
from weights import half_square, linear, taken

PAIR_HIDDEN, RANK = 5, 2
JOINT = torch.tensor(list(itertools.product(range(3), repeat=AGENTS)))
DCG = [
    ("encoder.0", FEATURES + AGENTS, 6),
    ("utility.0", 6, 3),
    ("payoff.0", 6, 2 * PAIR_HIDDEN),
    ("payoff.1", PAIR_HIDDEN, 2 * RANK * 3),
]


def dcg_tables(weights, states):
    """Utilities of all agents, and the payoff tables of all pairs in both orders."""
    features = F.relu(linear(weights, "encoder.0", agent_rows(states)))
    utilities = linear(weights, "utility.0", features)
    first, second = linear(weights, "payoff.0", features).split(PAIR_HIDDEN, dim=2)

    def payoff(i, j):
        terms = linear(weights, "payoff.1", F.relu(first[:, i] + second[:, j]))
        left, right = terms.reshape(-1, 2, RANK, 3).unbind(1)
        return torch.einsum("bka,bkc->bac", left, right)

    return utilities, {(i, j): (payoff(i, j), payoff(j, i)) for i, j in PAIRS}


def dcg_value(weights, states, actions):
    """Mean utility and mean payoff of the joint action of each state."""
    utilities, payoffs = dcg_tables(weights, states)
    rows = torch.arange(len(states))
    together = 0.0
    for (i, j), (forth, back) in payoffs.items():
        a, b = actions[:, i], actions[:, j]
        together = together + 0.5 * (forth[rows, a, b] + back[rows, b, a])
    return taken(utilities, actions).mean(1) + together / len(PAIRS)


def dcg_loss(online, target, batch):
    states = batch["next_states"]
    with torch.no_grad():
        values = [dcg_value(online, states, joint.expand(len(states), -1)) for joint in JOINT]
        best = JOINT[torch.stack(values).argmax(0)]
        next_values = dcg_value(target, states, best)
    targets = batch["rewards"].mean(1) + batch["discounts"] * next_values
    return half_square(dcg_value(online, batch["states"], batch["actions"]) - targets)
