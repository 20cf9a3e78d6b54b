"""CPU time of one update in PyTorch eager, on one thread: the paper's network and double-Q loss.

`dense` is what one writes first: both heads over all joint actions, then `gather`.
`selected` touches only the selected columns: the whole primary head of the online network for the
arg max, single rows of the head's weight everywhere else. Prints CPU microseconds per update.

    python torch_update.py dense|selected [updates] [fused]
"""

import sys
import time

import torch
from torch import nn

BATCH, INPUTS, HIDDEN, ENTRIES, GAMMA, TAU = 64, 16, 128, 625, 0.99, 0.005


class TwoHead(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(
            nn.Linear(INPUTS, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, HIDDEN), nn.ReLU()
        )
        self.primary = nn.Linear(HIDDEN, ENTRIES)
        self.cost = nn.Linear(HIDDEN, ENTRIES)

    def forward(self, rows):
        features = self.trunk(rows)
        return self.primary(features), self.cost(features)


def column(head, features, actions):
    """The selected outputs only: w[a] · h + b[a]."""
    return (head.weight[actions] * features).sum(1) + head.bias[actions]


def dense_loss(online, target, batch):
    before, after, actions, reward, cost, discount = batch
    with torch.no_grad():
        greedy = online(after)[0].argmax(1, keepdim=True)
        next_primary, next_cost = target(after)
        primary_target = reward + discount * next_primary.gather(1, greedy).squeeze(1)
        cost_target = cost + discount * next_cost.gather(1, greedy).squeeze(1)
    primary, costs = online(before)
    chosen = actions.unsqueeze(1)
    error = primary.gather(1, chosen).squeeze(1) - primary_target
    cost_error = costs.gather(1, chosen).squeeze(1) - cost_target
    return 0.5 * (error.square().mean() + cost_error.square().mean())


def selected_loss(online, target, batch):
    before, after, actions, reward, cost, discount = batch
    with torch.no_grad():
        greedy = online.primary(online.trunk(after)).argmax(1)
        features = target.trunk(after)
        primary_target = reward + discount * column(target.primary, features, greedy)
        cost_target = cost + discount * column(target.cost, features, greedy)
    features = online.trunk(before)
    error = column(online.primary, features, actions) - primary_target
    cost_error = column(online.cost, features, actions) - cost_target
    return 0.5 * (error.square().mean() + cost_error.square().mean())


def batches(count):
    for _ in range(count):
        yield (
            torch.randn(BATCH, INPUTS),
            torch.randn(BATCH, INPUTS),
            torch.randint(ENTRIES, (BATCH,)),
            torch.randn(BATCH),
            -torch.rand(BATCH),
            torch.full((BATCH,), GAMMA),
        )


def main():
    loss_of = {"dense": dense_loss, "selected": selected_loss}[sys.argv[1]]
    updates = int(sys.argv[2]) if len(sys.argv) > 2 else 500
    torch.set_num_threads(1)
    torch.manual_seed(0)
    online, target = TwoHead(), TwoHead()
    target.load_state_dict(online.state_dict())
    # Eager's default on a CPU is one small kernel per operation and tensor; `fused` is opt-in.
    fused = True if "fused" in sys.argv else None
    adam = torch.optim.Adam(online.parameters(), lr=1e-3, fused=fused)
    memory = list(batches(32))
    pairs = list(zip(target.parameters(), online.parameters()))

    def update(step):
        loss = loss_of(online, target, memory[step % len(memory)])
        adam.zero_grad(set_to_none=True)
        loss.backward()
        adam.step()
        if step % 200 == 199:
            with torch.no_grad():
                for old, new in pairs:
                    old.lerp_(new, TAU)

    for step in range(50):
        update(step)
    start = time.process_time()
    for step in range(updates):
        update(step)
    print(f"{(time.process_time() - start) * 1e6 / updates:.1f}")


if __name__ == "__main__":
    main()
