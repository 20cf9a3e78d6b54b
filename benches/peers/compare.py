"""Our update beside PyTorch's: the same step, one thread each, interleaved; CPU time, not wall clock.

    cargo build --release --example update_time
    python -m venv /tmp/peers && /tmp/peers/bin/pip install torch numpy
    /tmp/peers/bin/python benches/peers/compare.py [rounds]

The paper's network (16 inputs, trunk 2 x 128, two heads of 625 joint actions), batch 64, double-Q
targets, Adam 1e-3. Each round runs every candidate once; the median over rounds is printed.
"""

import statistics
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
OURS = HERE.parents[1] / "target" / "release" / "examples" / "update_time"
TORCH = [sys.executable, str(HERE / "torch_update.py")]
CANDIDATES = {
    "cgcmarl": [str(OURS), "paper", "3", "1000"],
    "PyTorch eager": [*TORCH, "dense", "300"],
    "PyTorch eager, fused Adam": [*TORCH, "dense", "300", "fused"],
    "PyTorch, selected columns": [*TORCH, "selected", "300"],
    "PyTorch, selected columns, fused Adam": [*TORCH, "selected", "300", "fused"],
}


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    times = {name: [] for name in CANDIDATES}
    for _ in range(rounds):
        for name, command in CANDIDATES.items():
            run = subprocess.run(command, capture_output=True, text=True, check=True)
            times[name].append(float(run.stdout))
    ours = statistics.median(times["cgcmarl"])
    print("| one update, batch 64, paper's heads | CPU µs (median) | min - max | × ours |")
    print("|---|---|---|---|")
    for name, values in times.items():
        median = statistics.median(values)
        spread = f"{min(values):.0f} - {max(values):.0f}"
        print(f"| {name} | {median:.0f} | {spread} | {median / ours:.1f} |")


if __name__ == "__main__":
    main()
