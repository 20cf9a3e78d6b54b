"""Writes tests/data/torch_reference.json.gz: a few updates of every learner, from the equations of its paper.

Everything is computed in double precision by PyTorch's automatic differentiation, from weights and
batches that single precision holds exactly. The learners: CG-CMARL as it is by default (tied heads, the
multiplier as an input, coupled targets, summed error), IQL, VDN, QMIX, DCG, CASEC, MAPPO and MAPPO-Lagrangian.

    python benches/peers/reference.py
"""

import gzip
import itertools
import json
import math
from pathlib import Path

import torch
from torch.nn import functional as F

AGENTS, FEATURES, BATCH, UPDATES = 3, 2, 5, 6
STATE = AGENTS * FEATURES
RULE = {"lr": 3e-3, "tau": 0.1, "max_norm": 0.5, "average_rate": 0.02, "gamma": 0.9}


def single(tensor):
    """The same numbers as single precision holds them."""
    return tensor.float().double()


def normal(*shape):
    return single(torch.randn(*shape))


def initial(shapes):
    """Weights under the names of our checkpoints: layers as (name, inputs, outputs)."""
    weights = {}
    for name, inputs, outputs in shapes:
        for part, shape in (("weight", (outputs, inputs)), ("bias", (outputs,))):
            numbers = (2 * torch.rand(*shape) - 1) / math.sqrt(inputs)
            weights[f"{name}.{part}"] = single(numbers).requires_grad_()
    return weights


def linear(weights, name, x):
    return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]


def perceptron(weights, name, layers, x):
    """Rectified layers `name.0`, `name.1`, …; the last one is linear."""
    for layer in range(layers - 1):
        x = F.relu(linear(weights, f"{name}.{layer}", x))
    return linear(weights, f"{name}.{layers - 1}", x)


def numbers(value):
    """What JSON is given: nine digits name a number of single precision."""
    if isinstance(value, dict):
        return {key: numbers(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [numbers(item) for item in value]
    if isinstance(value, torch.Tensor):
        return numbers(value.tolist())
    return float(f"{value:.9g}") if isinstance(value, float) else value


def flat(weights):
    return {name: tensor.detach().clone().flatten() for name, tensor in weights.items()}


def copy(weights):
    return {name: tensor.detach().clone() for name, tensor in weights.items()}


def follow(slow, fast, rate):
    with torch.no_grad():
        for name, tensor in slow.items():
            tensor += rate * (fast[name] - tensor)


# Q-learning from joint transitions: double targets, clipped gradients, Adam, Polyak averages.


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


def taken(values, actions):
    return values.gather(-1, actions.unsqueeze(-1)).squeeze(-1)


def own_values(online, target, batch):
    """Q(o_i, a_i) and Q̄(o_i', argmax_a Q(o_i', a))."""
    with torch.no_grad():
        greedy = agent_values(online, batch["next_states"]).argmax(-1)
        next_values = taken(agent_values(target, batch["next_states"]), greedy)
    return taken(agent_values(online, batch["states"]), batch["actions"]), next_values


def half_square(error):
    return 0.5 * error.square().mean()


def iql_loss(online, target, batch):
    values, next_values = own_values(online, target, batch)
    return half_square(values - batch["rewards"] - batch["discounts"][:, None] * next_values)


def vdn_loss(online, target, batch):
    values, next_values = own_values(online, target, batch)
    targets = batch["rewards"].mean(1) + batch["discounts"] * next_values.sum(1)
    return half_square(values.sum(1) - targets)


UNITS = 4


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


PAIRS = list(itertools.combinations(range(AGENTS), 2))
PAIR_HIDDEN, RANK = 5, 2
JOINT = torch.tensor(list(itertools.product(range(3), repeat=AGENTS)))


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


AGENT = [("agent.0", FEATURES + AGENTS, 6), ("agent.1", 6, 3)]
MIXER = [("mixer.0", STATE, 5), ("mixer.1", 5, AGENTS * UNITS + 2 * UNITS + 1)]
SEPARATE_MIXER = [
    ("mixer.first.0", STATE, 5), ("mixer.first.1", 5, AGENTS * UNITS),
    ("mixer.bias.0", STATE, UNITS),
    ("mixer.second.0", STATE, 5), ("mixer.second.1", 5, UNITS),
    ("mixer.value.0", STATE, UNITS), ("mixer.value.1", UNITS, 1),
]
DCG = [
    ("encoder.0", FEATURES + AGENTS, 6),
    ("utility.0", 6, 3),
    ("payoff.0", 6, 2 * PAIR_HIDDEN),
    ("payoff.1", PAIR_HIDDEN, 2 * RANK * 3),
]


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


# CG-CMARL as it is by default, on three agents in pairs.

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


# MAPPO and MAPPO-Lagrangian: rounds of two episodes, one of which truly ends.

TEAM, WIDTH, LENGTHS, HORIZON = 2, 2, (4, 3), 4
PPO = {
    "gamma": 0.9, "gae_lambda": 0.8, "clip": 0.2, "entropy": 0.02, "lr": 2e-3, "critic_lr": 3e-3,
    "epochs": 3, "max_grad_norm": 0.5, "value_rate": 0.3, "epsilon": 1e-5,
    "lambda_lr": 0.5, "cost_limit": 0.1, "upper_bound": 20.0,
}


class Scale:
    """Running mean and standard deviation of the returns, without the bias of its start."""

    def __init__(self):
        self.mean, self.square, self.weight = 0.0, 0.0, 0.0

    def follow(self, returns):
        rate = PPO["value_rate"]
        self.mean += rate * (returns.mean().item() - self.mean)
        self.square += rate * (returns.square().mean().item() - self.square)
        self.weight += rate * (1 - self.weight)

    def moments(self):
        if self.weight == 0:
            return 0.0, 1.0
        mean, square = self.mean / self.weight, self.square / self.weight
        return mean, math.sqrt(max(square - mean * mean, 1e-4))


class Critic:
    def __init__(self, name):
        self.name, self.scale = name, Scale()
        self.weights = initial([("net.0", 2 * TEAM + TEAM * WIDTH, 6), ("net.1", 6, 1)])
        self.adam = torch.optim.Adam(self.weights.values(), lr=PPO["critic_lr"], eps=PPO["epsilon"])

    def value(self, rows):
        return perceptron(self.weights, "net", 2, rows).squeeze(-1)

    def evaluate(self, rows, last_rows, rewards):
        """Advantages of each trajectory; targets on a scale moved to them, as PopArt says."""
        mean, deviation = self.scale.moments()
        with torch.no_grad():
            advantages, returns = [], []
            for own, last, paid, ends in zip(rows, last_rows, rewards, ENDS):
                values = mean + deviation * self.value(own)
                after = 0.0 if ends else (mean + deviation * self.value(last[None])[0]).item()
                advantage, found = 0.0, []
                for time in reversed(range(len(own))):
                    error = paid[time].item() + PPO["gamma"] * after - values[time].item()
                    advantage = error + PPO["gamma"] * PPO["gae_lambda"] * advantage
                    after = values[time].item()
                    found.append(advantage)
                found = torch.tensor(found[::-1]).double()
                advantages.append(found)
                returns.append(found + values)
            returns = torch.cat(returns)
            self.scale.follow(returns)
            new_mean, new_deviation = self.scale.moments()
            weight, bias = self.weights["net.1.weight"], self.weights["net.1.bias"]
            weight *= deviation / new_deviation
            bias.copy_((deviation * bias + mean - new_mean) / new_deviation)
        self.targets = (returns - new_mean) / new_deviation
        return torch.cat(advantages)

    def improve(self, rows):
        step(self.weights, self.adam, half_square(self.value(rows) - self.targets))


# One trajectory for each environment and agent.
ENDS = [length < HORIZON for length in LENGTHS for _ in range(TEAM)]


def step(weights, adam, loss):
    adam.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(weights.values(), PPO["max_grad_norm"])
    adam.step()


def trajectories(states):
    """Rows of the agents and of the critics, for each environment and agent."""
    seen, critic = [], []
    for own in states:
        for agent in range(TEAM):
            number = F.one_hot(torch.tensor([agent]), TEAM).double().expand(len(own), -1)
            rows = torch.cat([own[:, agent * WIDTH : (agent + 1) * WIDTH], number], dim=1)
            seen.append(rows)
            critic.append(torch.cat([rows, own], dim=1))
    return seen, critic


def mappo(constrained):
    actor = initial([("net.0", WIDTH + TEAM, 6), ("net.1", 6, 3)])
    adam = torch.optim.Adam(actor.values(), lr=PPO["lr"], eps=PPO["epsilon"])
    critics = [Critic("critic")] + ([Critic("critic_cost")] if constrained else [])
    named = lambda: {"policy": flat(actor)} | {c.name: flat(c.weights) for c in critics}
    fixture = {"initial": named(), "rounds": []}
    multiplier = 0.0
    for _ in range(2):
        states = [normal(length, TEAM * WIDTH) for length in LENGTHS]
        last_states = [normal(1, TEAM * WIDTH) for _ in LENGTHS]
        actions = [torch.randint(3, (length, TEAM)) for length in LENGTHS]
        rewards = [normal(length, TEAM) for length in LENGTHS]
        costs = [normal(length, TEAM).abs() for length in LENGTHS]
        seen, critic_rows = trajectories(states)
        _, last_rows = trajectories(last_states)
        by_trajectory = lambda parts: [part[:, agent] for part in parts for agent in range(TEAM)]
        rows, done = torch.cat(seen), torch.cat(by_trajectory(actions))

        def log_probabilities():
            return F.log_softmax(perceptron(actor, "net", 2, rows), dim=1)

        # As the agents acted, off from what the policy says now so that ratios differ from one.
        acted = single(taken(log_probabilities(), done).detach() + 0.3 * torch.randn(len(done)))
        fixture["rounds"].append({
            "states": states, "last_states": last_states, "actions": actions,
            "rewards": rewards, "costs": costs, "log_probabilities": acted,
        })
        last = [part[0] for part in last_rows]
        paid = by_trajectory(costs)
        if constrained:
            excess = torch.cat(paid).mean().item() - PPO["cost_limit"]
            moved = multiplier + PPO["lambda_lr"] * HORIZON * excess
            multiplier = min(max(moved, 0.0), PPO["upper_bound"])
        advantages = critics[0].evaluate(critic_rows, last, by_trajectory(rewards))
        if constrained:
            price = multiplier * critics[1].evaluate(critic_rows, last, paid)
            advantages = (advantages - price) / (1 + multiplier)
        advantages = (advantages - advantages.mean()) / (advantages.std(correction=0) + 1e-8)
        for _ in range(PPO["epochs"]):
            log_p = log_probabilities()
            ratio = (taken(log_p, done) - acted).exp()
            bound = ratio.clamp(1 - PPO["clip"], 1 + PPO["clip"])
            gain = torch.minimum(ratio * advantages, bound * advantages)
            entropy = -(log_p.exp() * log_p).sum(1)
            step(actor, adam, -(gain + PPO["entropy"] * entropy).mean())
            for critic in critics:
                critic.improve(torch.cat(critic_rows))
    return fixture | {"trained": named(), "multiplier": multiplier}


def main():
    torch.manual_seed(11)
    torch.set_num_threads(1)
    fixture = {
        "torch": torch.__version__, "rule": RULE, "ppo": PPO,
        "cg_cmarl": cg_cmarl(),
        "iql": q_learning(AGENT, iql_loss),
        "vdn": q_learning(AGENT, vdn_loss),
        "qmix": q_learning(AGENT + MIXER, qmix_loss),
        "dcg": q_learning(DCG, dcg_loss),
        "mappo": mappo(False),
        "mappo_lag": mappo(True),
        "qmix_separate": q_learning(AGENT + SEPARATE_MIXER, qmix_loss),
        "casec": q_learning(DCG, casec_loss),
    }
    path = Path(__file__).parents[2] / "tests" / "data" / "torch_reference.json.gz"
    # A fixed time stamp keeps the file the same from run to run.
    with open(path, "wb") as file, gzip.GzipFile(fileobj=file, mode="wb", mtime=0) as packed:
        packed.write(json.dumps(numbers(fixture), separators=(",", ":")).encode())
    print(f"{path}: {path.stat().st_size} bytes, torch {torch.__version__}")


if __name__ == "__main__":
    main()
