"""MAPPO and MAPPO-Lagrangian: rounds of two episodes, one of which truly ends."""

import math

import torch
from torch.nn import functional as F

from weights import flat, half_square, initial, normal, perceptron, single, taken

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
