"""CASEC: DCG on the pairs whose payoffs vary most."""

import torch

from dcg import JOINT, dcg_tables, dcg_value
from weights import half_square, taken

SPARSENESS, KEPT = 0.3, 2


def pair_variances(weights, states):
    """Var_b q_ij(a, b) for every a, and Var_a q_ij(a, b) for every b: [state, pair, 2 A]."""
    _, payoffs = dcg_tables(weights, states)
    tables = torch.stack([0.5 * (forth + back.transpose(1, 2)) for forth, back in payoffs.values()], 1)
    return torch.cat([tables.var(3, correction=0), tables.var(2, correction=0)], 2)


def casec_best(online, states, kept):
    """The best joint action where only the kept pairs count: mean utility and their mean payoff."""
    utilities, payoffs = dcg_tables(online, states)
    values = []
    for joint in JOINT:
        together = [0.5 * (forth[:, joint[i], joint[j]] + back[:, joint[j], joint[i]])
                    for (i, j), (forth, back) in payoffs.items()]
        together = (torch.stack(together, 1) * kept).sum(1) / KEPT
        values.append(taken(utilities, joint.expand(len(states), -1)).mean(1) + together)
    return JOINT[torch.stack(values).argmax(0)]


def casec_loss(online, target, batch):
    """DCG's loss, the next action found on the graph that the target network chooses, and the mean variance."""
    states = batch["next_states"]
    with torch.no_grad():
        worth = pair_variances(target, states).amax(2)
        kept = torch.zeros_like(worth).scatter(1, worth.topk(KEPT, 1).indices, 1.0)
        next_values = dcg_value(target, states, casec_best(online, states, kept))
    targets = batch["rewards"].mean(1) + batch["discounts"] * next_values
    error = dcg_value(online, batch["states"], batch["actions"]) - targets
    return half_square(error) + SPARSENESS * pair_variances(online, batch["states"]).mean()
