"""Writes tests/data/torch_reference.json.gz: a few updates of every learner, from the equations of its paper.

Everything is computed in double precision by PyTorch's automatic differentiation, from weights and
batches that single precision holds exactly. The learners: CG-CMARL as it is by default (tied heads, the
multiplier as an input, coupled targets, summed error), IQL, VDN, QMIX, DCG, CASEC, MAPPO and MAPPO-Lagrangian.

    python benches/peers/reference
"""

import gzip
import json
from pathlib import Path

import torch

from casec import casec_loss
from cg_cmarl import cg_cmarl
from dcg import DCG, dcg_loss
from independent import iql_loss, vdn_loss
from mappo import PPO, mappo
from q_learning import AGENT, q_learning
from qmix import MIXER, SEPARATE_MIXER, qmix_loss
from team import RULE
from weights import numbers


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
    path = Path(__file__).parents[3] / "tests" / "data" / "torch_reference.json.gz"
    # A fixed time stamp keeps the file the same from run to run.
    with open(path, "wb") as file, gzip.GzipFile(fileobj=file, mode="wb", mtime=0) as packed:
        packed.write(json.dumps(numbers(fixture), separators=(",", ":")).encode())
    print(f"{path}: {path.stat().st_size} bytes, torch {torch.__version__}")


if __name__ == "__main__":
    main()
