"""What a step of training costs every method of the comparison: one thread each, interleaved; CPU time.

    cargo build --release
    python benches/peers/pace.py [agents [rounds]]

Each round trains every method twice with the configuration of the comparison, the second time for longer;
the difference is what the further steps cost, with neither start nor last evaluation. CG-CMARL's steps serve
every multiplier, those of the others (but MAPPO-lambda's) one price.
"""

import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROGRAM = ROOT / "target" / "release" / "cgcmarl"
METHODS = {
    "CG-CMARL": "cgcmarl/cg_cmarl",
    "IQL": "baselines/shared/iql",
    "VDN": "baselines/shared/vdn",
    "QMIX": "baselines/shared/qmix",
    "DCG": "baselines/shared/dcg",
    "CASEC": "baselines/shared/casec",
    "MAPPO": "baselines/shared/mappo",
    "MAPPO-Lagrangian": "baselines/shared/mappo_lag",
    "MACPO": "baselines/shared/macpo",
    "MAPPO-lambda": "baselines/shared/mappo_lambda",
}
# Environment steps of both trainings: beyond the first, every method learns.
STEPS = (6_400, 19_200)


def cpu_seconds(config, agents, steps):
    """CPU seconds of one training."""
    with tempfile.TemporaryDirectory() as folder:
        command = [str(PROGRAM), "train", "--config", str(ROOT / "configs" / f"{config}.toml")]
        command += [f"agents={agents}", "curriculum=[]", f"total_steps={steps}"]
        command += ["episodes=1", "--threads", "1", "--quiet", "--out", str(Path(folder) / "run")]
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        environment = {**os.environ, "RAYON_NUM_THREADS": "1"}
        subprocess.run(command, capture_output=True, check=True, env=environment)
        return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def main():
    agents = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    paces = {name: [] for name in METHODS}
    for _ in range(rounds):
        for name, config in METHODS.items():
            short, long = (cpu_seconds(config, agents, steps) for steps in STEPS)
            paces[name].append(100_000 * (long - short) / (STEPS[1] - STEPS[0]))
    ours = statistics.median(paces["CG-CMARL"])
    print(f"| {agents} agents | CPU seconds for 100 k steps (median) | min - max | × ours |")
    print("|---|---|---|---|")
    for name, values in paces.items():
        median = statistics.median(values)
        print(f"| {name} | {median:.1f} | {min(values):.1f} - {max(values):.1f} | {median / ours:.2f} |")


if __name__ == "__main__":
    main()
