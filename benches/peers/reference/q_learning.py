"""Q-learning from joint transitions: double targets, clipped gradients, Adam, Polyak averages."""

import torch

from team import AGENTS, BATCH, FEATURES, RULE, STATE, UPDATES
from weights import copy, flat, follow, initial, normal, perceptron, single, taken

AGENT = [("agent.0", FEATURES + AGENTS, 6), ("agent.1", 6, 3)]


def draw_batch():
    return {
        "states": normal(BATCH, STATE),
        "next_states": normal(BATCH, STATE),
        "actions": torch.randint(3, (BATCH, AGENTS)),
        "rewards": normal(BATCH, AGENTS),
        "discounts": single(RULE["gamma"] * (torch.rand(BATCH) > 0.25).double()),
    }


def agent_rows(states):
    """Each agent's own features and its number."""
    own = states.reshape(-1, AGENTS, FEATURES)
    return torch.cat([own, torch.eye(AGENTS).double().expand(len(own), -1, -1)], dim=2)


def agent_values(weights, states):
    return perceptron(weights, "agent", 2, agent_rows(states))


def own_values(online, target, batch):
    """Q(o_i, a_i) and Q̄(o_i', argmax_a Q(o_i', a))."""
    with torch.no_grad():
        greedy = agent_values(online, batch["next_states"]).argmax(-1)
        next_values = taken(agent_values(target, batch["next_states"]), greedy)
    return taken(agent_values(online, batch["states"]), batch["actions"]), next_values


def q_learning(layers, loss_of):
    online = initial(layers)
    target, averaged = copy(online), copy(online)
    fixture = {"initial": flat(online), "batches": []}
    adam = torch.optim.Adam(online.values(), lr=RULE["lr"])
    for update in range(1, UPDATES + 1):
        batch = draw_batch()
        fixture["batches"].append({name: part.flatten() for name, part in batch.items()})
        adam.zero_grad()
        loss_of(online, target, batch).backward()
        torch.nn.utils.clip_grad_norm_(online.values(), RULE["max_norm"])
        adam.step()
        follow(averaged, online, max(RULE["average_rate"], 1 / (update + 1)))
        follow(target, online, RULE["tau"])
    return fixture | {"online": flat(online), "target": flat(target), "averaged": flat(averaged)}
