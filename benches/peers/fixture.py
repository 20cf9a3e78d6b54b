"""Writes tests/data/torch_updates.json.gz: 20 updates of the paper's two-head loss in PyTorch.

Double Q-learning on one region of two agents with three actions each: the primary head of the online
network chooses the next joint action, the target network values it, the cost head evaluates that
same action. Adam on the online network, Polyak averaging into the target network.

    python benches/peers/fixture.py
"""

import gzip
import json
from pathlib import Path

import torch
from torch import nn

INPUTS, HIDDEN, ACTIONS, BATCH, UPDATES = 6, 16, 3, 12, 20
RULE = {"gamma": 0.9, "lr": 1e-3, "tau": 0.1, "target_interval": 3, "cost_weight": 0.7}


class TwoHead(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(
            nn.Linear(INPUTS, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, HIDDEN), nn.ReLU()
        )
        self.primary = nn.Linear(HIDDEN, ACTIONS**2)
        self.cost = nn.Linear(HIDDEN, ACTIONS**2)

    def forward(self, rows):
        features = self.trunk(rows)
        return self.primary(features), self.cost(features)


def named(network):
    """The weights under the names of our checkpoints."""
    both = lambda part: torch.cat([getattr(network.primary, part), getattr(network.cost, part)])
    tensors = {
        "trunk.0.weight": network.trunk[0].weight,
        "trunk.0.bias": network.trunk[0].bias,
        "trunk.1.weight": network.trunk[2].weight,
        "trunk.1.bias": network.trunk[2].bias,
        "heads.weight": both("weight"),
        "heads.bias": both("bias"),
    }
    return {name: tensor.detach().flatten().tolist() for name, tensor in tensors.items()}


def draw_batch():
    return {
        "before": torch.randn(BATCH, INPUTS),
        "after": torch.randn(BATCH, INPUTS),
        "actions": torch.randint(ACTIONS, (BATCH, 2)),
        "rewards": torch.randn(BATCH),
        "costs": torch.rand(BATCH),
        "terminal": torch.rand(BATCH) < 0.2,
    }


def loss_of(online, target, batch):
    discount = RULE["gamma"] * (~batch["terminal"]).float()
    with torch.no_grad():
        greedy = online(batch["after"])[0].argmax(1, keepdim=True)
        primary, cost = (q.gather(1, greedy).squeeze(1) for q in target(batch["after"]))
        primary_target = batch["rewards"] + discount * primary
        cost_target = -batch["costs"] + discount * cost
    chosen = (batch["actions"] @ torch.tensor([ACTIONS, 1])).unsqueeze(1)
    primary, cost = (q.gather(1, chosen).squeeze(1) for q in online(batch["before"]))
    primary_loss = 0.5 * (primary - primary_target).square().mean()
    return primary_loss + RULE["cost_weight"] * 0.5 * (cost - cost_target).square().mean()


def main():
    torch.manual_seed(7)
    torch.set_num_threads(1)
    online, target = TwoHead(), TwoHead()
    target.load_state_dict(online.state_dict())
    adam = torch.optim.Adam(online.parameters(), lr=RULE["lr"])
    fixture = {"torch": torch.__version__, "rule": RULE, "initial": named(online), "batches": []}
    fixture |= {"inputs": INPUTS, "hidden": [HIDDEN, HIDDEN], "actions": ACTIONS}
    for update in range(1, UPDATES + 1):
        batch = draw_batch()
        fixture["batches"].append({name: tensor.tolist() for name, tensor in batch.items()})
        adam.zero_grad()
        loss_of(online, target, batch).backward()
        adam.step()
        if update % RULE["target_interval"] == 0:
            with torch.no_grad():
                for old, new in zip(target.parameters(), online.parameters()):
                    old.lerp_(new, RULE["tau"])
    fixture |= {"online": named(online), "target": named(target)}
    path = Path(__file__).parents[2] / "tests" / "data" / "torch_updates.json.gz"
    # A fixed time stamp keeps the file the same from run to run.
    with open(path, "wb") as file, gzip.GzipFile(fileobj=file, mode="wb", mtime=0) as packed:
        packed.write(json.dumps(fixture, separators=(",", ":")).encode())
    print(f"{path}: {path.stat().st_size} bytes, torch {torch.__version__}")


if __name__ == "__main__":
    main()
