"""`python -m cgcmarl.ray grid|reproduce|evaluate …`: the program's jobs on a Ray cluster."""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

from . import Options, run

EXAMPLES = """\
examples:
  python -m cgcmarl.ray grid --over seed=1,2,3 --over agents=3,6 total_steps=100000 --out grid
  python -m cgcmarl.ray reproduce --agents 3,4 --seeds 2 --out reproduction --address auto
  python -m cgcmarl.ray evaluate RUN --episodes 100000 --parts 16 --out front --address HOST:6379

`grid` takes the words of `cgcmarl jobs`, `reproduce` those of `cgcmarl reproduce`, `evaluate` those of
`cgcmarl sweep`, whose front it leaves in the folder of --out. The folder must be seen by all nodes at the
same place. Without --address (and without RAY_ADDRESS) this machine is the cluster. The same command
goes on where it was stopped.
"""


def arguments() -> tuple[argparse.Namespace, list[str]]:
    parser = argparse.ArgumentParser(
        prog="python -m cgcmarl.ray",
        description="Runs many trainings or one large evaluation on a Ray cluster.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("what", choices=["grid", "reproduce", "evaluate"])
    parser.add_argument("--address", default=os.environ.get("RAY_ADDRESS"), help="the cluster, such as auto")
    parser.add_argument("--cpus-per-job", type=int, default=1, metavar="N", help="cores of each job")
    parser.add_argument("--retries", type=int, default=5, metavar="N", help="how often a lost job is taken up")
    parser.add_argument("--later", type=float, default=10.0, metavar="S", help="when a locked job is tried again")
    parser.add_argument("--out", default=None, help="where everything goes; seen by all nodes")
    parser.add_argument("--parts", type=int, default=None, metavar="N", help="of evaluate: parts of the episodes")
    parser.add_argument("--quiet", action="store_true", help="say nothing while working")
    chosen, words = parser.parse_known_args()
    if chosen.cpus_per_job < 1 or chosen.retries < 0 or chosen.later <= 0:
        parser.error("--cpus-per-job is at least 1, --retries at least 0, --later above 0")
    if chosen.parts is not None and chosen.what != "evaluate":
        parser.error("--parts is for evaluate")
    return chosen, words


def program(*words: str, capture: bool = False) -> str:
    """Runs the program; its mistakes are ours."""
    done = subprocess.run(
        [sys.executable, "-m", "cgcmarl", *words], stdout=subprocess.PIPE if capture else None, text=True
    )
    if done.returncode != 0:
        sys.exit(done.returncode)
    return done.stdout or ""


def absolute(line: str) -> str:
    """A job that means the same on every node."""
    job = json.loads(line)
    job["out"] = os.path.abspath(job["out"])
    if "sweep" in job:
        job["sweep"][0] = os.path.abspath(job["sweep"][0])
    return json.dumps(job)


def main() -> None:
    chosen, words = arguments()
    default = {"grid": "grid", "reproduce": "reproduction", "evaluate": "evaluation"}
    out = Path(chosen.out or default[chosen.what])
    parts = out / "parts"
    if chosen.what == "grid":
        listed = program("jobs", *words, "--out", str(out), capture=True)
    elif chosen.what == "reproduce":
        # The tables at the end are written by the same words, which say what to train.
        if not any(word.split("=")[0] in ("--budget", "--steps") for word in words):
            words += ["--budget", "standard"]
        listed = program("jobs", "reproduce", *words, "--out", str(out), capture=True)
    else:
        n = chosen.parts or 2 * (os.cpu_count() or 1)
        listed = program("jobs", "sweep", *words, "--parts", str(n), "--out", str(parts), capture=True)
    lines = [absolute(line) for line in listed.splitlines()]
    if importlib.util.find_spec("ray") is None:
        sys.exit("error: Ray is missing: pip install 'cgcmarl[ray]'")
    options = Options(chosen.address, chosen.cpus_per_job, chosen.retries, chosen.later)

    def tell(text: str) -> None:
        if not chosen.quiet:
            print(text, file=sys.stderr, flush=True)

    try:
        ended = run(lines, options, tell)
    except KeyboardInterrupt:
        print("stopped; everything is saved. The same command goes on.", file=sys.stderr)
        sys.exit(130)
    if ended.failed:
        for line, told in ended.failed.items():
            print(f"error: {json.loads(line)['out']}: {told}", file=sys.stderr)
        sys.exit(2)
    if chosen.what == "evaluate":
        program("merge", *sorted(json.loads(line)["out"] for line in lines), "--out", str(out))
    elif chosen.what == "reproduce":
        program("reproduce", *words, "--out", str(out), "--quiet")
    else:
        print(f"{len(ended.done)} jobs done in {out}")


if __name__ == "__main__":
    main()
