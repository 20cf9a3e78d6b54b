"""A deep coordination graph in PyTorch whose joint action comes from `cgcmarl.coordination.solve`.

    pip install torch
    python python/examples/torch_dcg.py --agents 10 --batch 32

Prints what the coordinator and DCG's own message passing (Böhmer et al., 2020) find on the same Q-values,
and what each takes on one thread. The network is an ordinary `torch.nn.Module`; gradients flow through
the value of whichever joint action was chosen.
"""

import argparse
import itertools
import statistics
import time

import numpy as np
import torch
from torch import nn

from cgcmarl.coordination import solve


class DeepCoordinationGraph(nn.Module):
    """Utilities of agents and payoffs of pairs, both from shared networks over what agents see."""

    def __init__(self, agents, observation, actions, hidden=64):
        super().__init__()
        self.actions = actions
        self.edges = list(itertools.combinations(range(agents), 2))
        self.encoder = nn.Sequential(nn.Linear(observation, hidden), nn.ReLU())
        self.utility = nn.Linear(hidden, actions)
        self.payoff = nn.Linear(2 * hidden, actions * actions)

    def forward(self, observations):
        """Utilities `(batch, agents, actions)` and payoffs `(batch, edges, actions, actions)`."""
        seen = self.encoder(observations)
        first, second = zip(*self.edges)
        there = self.payoff(torch.cat([seen[:, list(first)], seen[:, list(second)]], dim=-1))
        back = self.payoff(torch.cat([seen[:, list(second)], seen[:, list(first)]], dim=-1))
        shape = (len(observations), len(self.edges), self.actions, self.actions)
        # Averaged over both orders of a pair, so that it does not matter who comes first.
        payoffs = (there.view(shape) + back.view(shape).transpose(2, 3)) / 2
        return self.utility(seen) / seen.shape[1], payoffs / len(self.edges)

    def value(self, utilities, payoffs, joint):
        """What a joint action is worth, with gradients."""
        alone = utilities.gather(2, joint[..., None]).sum(dim=(1, 2))
        rows = torch.arange(len(joint))[:, None]
        first, second = (list(side) for side in zip(*self.edges))
        pairs = payoffs[rows, torch.arange(len(self.edges))[None], joint[:, first], joint[:, second]]
        return alone + pairs.sum(dim=1)


def coordinate(graph, utilities, payoffs, solver="anytime"):
    """The joint actions of a batch by the coordinator of this package."""
    answer = solve(graph.edges, payoffs.detach().numpy(), utilities.detach().numpy(), solver=solver)
    return torch.from_numpy(answer.actions)


def message_passing(graph, utilities, payoffs, iterations=8):
    """DCG's own: max-sum with normalised messages, the best joint action of all iterations kept."""
    first, second = (torch.tensor(side) for side in zip(*graph.edges))
    forward = torch.zeros(len(utilities), len(graph.edges), graph.actions)
    backward = torch.zeros_like(forward)
    scores, best = utilities, utilities.argmax(dim=2)
    best_value = graph.value(utilities, payoffs, best)
    for _ in range(iterations):
        to_second = (payoffs + (scores[:, first] - backward)[..., None]).amax(dim=2)
        to_first = (payoffs + (scores[:, second] - forward)[:, :, None]).amax(dim=3)
        forward = to_second - to_second.mean(dim=2, keepdim=True)
        backward = to_first - to_first.mean(dim=2, keepdim=True)
        scores = utilities.clone().index_add(1, second, forward).index_add(1, first, backward)
        joint = scores.argmax(dim=2)
        value = graph.value(utilities, payoffs, joint)
        better = value > best_value
        best = torch.where(better[:, None], joint, best)
        best_value = torch.where(better, value, best_value)
    return best


def milliseconds(work, rounds=20):
    """Processor time of one call, the median of some."""
    work()
    found = []
    for _ in range(rounds):
        start = time.process_time()
        work()
        found.append(1e3 * (time.process_time() - start))
    return statistics.median(found)


def main(agents=10, batch=32, actions=5, observation=16):
    torch.set_num_threads(1)
    torch.manual_seed(1)
    graph = DeepCoordinationGraph(agents, observation, actions)
    observations = torch.randn(batch, agents, observation)
    with torch.no_grad():
        utilities, payoffs = graph(observations)
        chosen = {
            "cgcmarl anytime": lambda: coordinate(graph, utilities, payoffs),
            "cgcmarl max_sum": lambda: coordinate(graph, utilities, payoffs, "max_sum"),
            "DCG's message passing": lambda: message_passing(graph, utilities, payoffs),
        }
        print(f"{agents} agents, {len(graph.edges)} pairs, {actions} actions, {batch} states at once, one thread")
        print("| joint action by | mean value | ms |\n|---|---|---|")
        rows = {}
        for name, choose in chosen.items():
            value = graph.value(utilities, payoffs, choose()).mean().item()
            rows[name] = value, milliseconds(choose)
            print(f"| {name} | {value:.4f} | {rows[name][1]:.2f} |")
    # One step of learning: the coordinator chooses, PyTorch differentiates.
    utilities, payoffs = graph(observations)
    taken = graph.value(utilities, payoffs, coordinate(graph, utilities, payoffs))
    (taken - torch.ones(batch)).square().mean().backward()
    assert all(np.isfinite(weight.grad.numpy()).all() for weight in graph.parameters())
    return rows


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--agents", type=int, default=10)
    parser.add_argument("--batch", type=int, default=32)
    main(**vars(parser.parse_args()))
