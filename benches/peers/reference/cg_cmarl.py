"""CG-CMARL as it is by default, on three agents in pairs."""

import math

import torch
from torch.nn import functional as F

from team import AGENTS, BATCH, FEATURES, PAIRS, RULE, STATE, UPDATES
from weights import copy, flat, follow, initial, linear, normal, single

GRID = 3
ACTIONS, SPAN = GRID * GRID, 2 * GRID - 1
TERMS = 1 + 2 * (ACTIONS + 2 * GRID) + SPAN * SPAN
COST_WEIGHT = 0.7


def tied_tables(terms):
    """V + Σ_i (E_i[a_i] + X_i[x_i] + Y_i[y_i]) + D[a_2 − a_1] for every pair of actions."""
    value, first, second, offsets = terms.split(
        [1, ACTIONS + 2 * GRID, ACTIONS + 2 * GRID, SPAN * SPAN], dim=-1
    )
    a = torch.arange(ACTIONS)
    x, y = a // GRID, a % GRID

    def alone(part):
        return part[..., a] + part[..., ACTIONS + x] + part[..., ACTIONS + GRID + y]

    between = (x[None] - x[:, None] + GRID - 1) * SPAN + y[None] - y[:, None] + GRID - 1
    return value[..., None] + alone(first)[..., :, None] + alone(second)[..., None, :] + offsets[..., between]


def pair_tables(weights, states, multipliers, reversed_pairs):
    """Tables [state, pair, head, a_i, a_j]; a reversed pair is seen from its second member."""
    own = states.reshape(-1, AGENTS, FEATURES)
    seen = (0.3 * torch.log1p(20 * multipliers))[:, None]
    tables = []
    for p, (i, j) in enumerate(PAIRS):
        back = reversed_pairs[:, p]
        pairs = torch.stack([own[:, i], own[:, j]], 1)
        pairs = torch.where(back[:, None, None], pairs.flip(1), pairs)
        rows = torch.cat([pairs.flatten(1), seen], dim=1)
        features = F.relu(linear(weights, "trunk.0", rows))
        table = tied_tables(linear(weights, "heads", features).reshape(-1, 2, TERMS))
        tables.append(torch.where(back[:, None, None, None], table.transpose(2, 3), table))
    return torch.stack(tables, 1)


def at(tables, joint):
    """The values of a joint action: [state, pair, head]."""
    rows = torch.arange(len(joint))
    return torch.stack([tables[rows, p, :, joint[:, i], joint[:, j]] for p, (i, j) in enumerate(PAIRS)], 1)


def coupled(tables, multipliers):
    """The joint action of the largest Σ_R Q_prim + λ Q_cost."""
    augmented = tables[:, :, 0] + multipliers[:, None, None, None] * tables[:, :, 1]
    total = 0.0
    for p, (i, j) in enumerate(PAIRS):
        shape = [len(tables), 1, 1, 1]
        shape[1 + i], shape[1 + j] = ACTIONS, ACTIONS
        total = total + augmented[:, p].reshape(shape)
    best = total.flatten(1).argmax(1)
    return torch.stack([best // ACTIONS**2, best // ACTIONS % ACTIONS, best % ACTIONS], 1)


def cg_cmarl_loss(online, target, batch):
    view = (batch["multipliers"], batch["reversed"])
    with torch.no_grad():
        joint = coupled(pair_tables(online, batch["next_states"], *view), batch["multipliers"])
        next_values = at(pair_tables(target, batch["next_states"], *view), joint)
    values = at(pair_tables(online, batch["states"], *view), batch["actions"])
    discounts = batch["discounts"]
    primary = batch["rewards"].sum(1) + discounts * next_values[:, :, 0].sum(1)
    summed = values[:, :, 0].sum(1) - primary
    cost = values[:, :, 1] - (-batch["costs"] + discounts[:, None] * next_values[:, :, 1])
    n_rows = BATCH * len(PAIRS)
    # A summed error is divided by the root of the number of regions.
    task = 0.5 * summed.square().sum() / math.sqrt(len(PAIRS))
    return (task + COST_WEIGHT * 0.5 * cost.square().sum()) / n_rows


def cg_cmarl():
    online = initial([("trunk.0", 2 * FEATURES + 1, 8), ("heads", 8, 2 * TERMS)])
    target = copy(online)
    fixture = {"initial": flat(online), "cost_weight": COST_WEIGHT, "batches": []}
    adam = torch.optim.Adam(online.values(), lr=RULE["lr"])
    for _ in range(UPDATES):
        batch = {
            "states": normal(BATCH, STATE),
            "next_states": normal(BATCH, STATE),
            "actions": torch.randint(ACTIONS, (BATCH, AGENTS)),
            "rewards": normal(BATCH, len(PAIRS)),
            "costs": normal(BATCH, len(PAIRS)).abs(),
            "discounts": single(RULE["gamma"] * (torch.rand(BATCH) > 0.25).double()),
            "multipliers": single(torch.rand(BATCH) * 3 * (torch.rand(BATCH) > 0.3)),
            "reversed": torch.rand(BATCH, len(PAIRS)) > 0.5,
        }
        fixture["batches"].append({name: part.flatten() for name, part in batch.items()})
        adam.zero_grad()
        cg_cmarl_loss(online, target, batch).backward()
        adam.step()
        follow(target, online, RULE["tau"])
    return fixture | {"online": flat(online), "target": flat(target)}
