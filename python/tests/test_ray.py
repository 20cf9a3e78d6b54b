"""Jobs on a Ray cluster of two nodes on this machine: a node is lost in mid-training, and no byte changes."""

import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import pytest

from conftest import MODEL

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="reads /proc"),
    pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed"),
]

HERE = Path(__file__).parent
RAY = Path(sys.executable).parent / "ray"
SETTINGS = [
    "agents=2", "total_steps=20000", "learning_starts=200", "log_interval=500", "checkpoint_interval=500",
    "buffer_size=2000", "episodes=5", "multipliers=0,1",
]  # fmt: skip
FILES = ["model.safetensors", "metrics.jsonl", "curves.csv", "front.json", "front.csv", "README.md", "config.toml"]
# Ray lets its workers run behind everybody else (niceness 15) unless told otherwise.
# A token of its own: from Ray 2.61 on a cluster answers nobody without one.
TOKEN = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
QUIET = {**os.environ, **TOKEN, "RAY_worker_niceness": "0", "RAY_USAGE_STATS_ENABLED": "0"}


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def children():
    """The children of every process."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except (OSError, IndexError, ValueError):
                continue
            found.setdefault(parent, []).append(int(entry.name))
    return found


def below(process, tree):
    for child in tree.get(process, []):
        yield child
        yield from below(child, tree)


def command_of(process):
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""


class Node:
    """One node of a cluster: `ray start --block`, whose processes are found below it."""

    def __init__(self, *words):
        shared = ["--num-cpus=1", "--object-store-memory=100000000", "--disable-usage-stats", "--block"]
        shared.append("--node-ip-address=127.0.0.1")
        self.process = subprocess.Popen(
            [RAY, "start", *words, *shared], env=QUIET, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )

    def raylet(self):
        raylets = [p for p in below(self.process.pid, children()) if "/raylet" in command_of(p).split(" ")[0]]
        assert len(raylets) == 1, raylets
        return raylets[0]

    def trainings(self):
        """What runs on this node: the process of each job, by its folder."""
        found = {}
        for process in below(self.process.pid, children()):
            words = command_of(process)
            if "cgcmarl.ray._job" in words:
                found[words.partition('"out": "')[2].partition('"')[0]] = process
        return found

    def stop(self):
        own = [self.process.pid, *below(self.process.pid, children())]
        for process in own:
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.process.wait()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    port = free_port()
    nodes = [Node("--head", f"--port={port}", "--include-dashboard=false")]
    address = f"127.0.0.1:{port}"
    try:
        wait_for(lambda: alive(address) == 1, "the head")
        nodes.append(Node(f"--address={address}"))
        wait_for(lambda: alive(address) == 2, "the second node")
        yield address, nodes
    finally:
        for node in nodes:
            node.stop()
        # What is killed does not clean up: others would look for this cluster.
        left = Path("/tmp/ray/ray_current_cluster")
        if left.is_file() and left.read_text().strip() == address:
            left.unlink()


def alive(address):
    """How many nodes the head knows of."""
    text = f"import ray; ray.init('{address}', log_to_driver=False, logging_level='ERROR'); print(sum(n['Alive'] for n in ray.nodes()))"
    try:
        command = [sys.executable, "-c", text]
        done = subprocess.run(command, env=QUIET, capture_output=True, text=True, timeout=60)
    except subprocess.TimeoutExpired:
        return 0
    return int(done.stdout.strip() or 0) if done.returncode == 0 else 0


def wait_for(there, what, seconds=120.0):
    until = time.monotonic() + seconds
    while not there():
        assert time.monotonic() < until, f"{what} did not come"
        time.sleep(0.2)


def program(*words, **more):
    return subprocess.run([sys.executable, "-m", "cgcmarl", *words], check=True, capture_output=True, text=True, **more)


def on_ray(*words, **more):
    command = [sys.executable, "-m", "cgcmarl.ray", *map(str, words)]
    return subprocess.Popen(command, env=QUIET, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)


def lines(run):
    try:
        return (run / "metrics.jsonl").read_bytes().count(b"\n")
    except OSError:
        return 0


def test_a_lost_node_costs_no_byte(cluster, tmp_path):
    address, (_, second) = cluster
    # The undisturbed runs, one process after the other.
    for line in program("jobs", "--over", "seed=1,2", *SETTINGS, "--out", str(tmp_path / "alone")).stdout.splitlines():
        program("run-job", line, "--threads", "1", "--quiet")

    out = tmp_path / "shared"
    runner = on_ray("grid", "--over", "seed=1,2", *SETTINGS, "--out", out, "--address", address, "--later", "1")
    wait_for(lambda: any(lines(Path(run)) >= 3 for run in second.trainings()), "a training on the second node")
    (lost,) = second.trainings()
    os.kill(second.raylet(), signal.SIGKILL)
    killed_at = lines(Path(lost))
    told, remarks = runner.communicate(timeout=300)
    assert runner.returncode == 0, remarks
    assert killed_at < 40, "it was over before it was killed"
    name = os.path.relpath(lost)
    resumed = [remark for remark in remarks.splitlines() if name in remark and "resumed" in remark]
    assert resumed and "2 jobs done" in told, remarks
    for seed in (1, 2):
        for file in FILES:
            alone, shared = (tmp_path / place / f"seed={seed}" / file for place in ("alone", "shared"))
            assert alone.read_bytes() == shared.read_bytes(), f"seed {seed}: {file} differs"
    # The same command again finds everything done.
    again = on_ray("grid", "--over", "seed=1,2", *SETTINGS, "--out", out, "--address", address)
    _, remarks = again.communicate(timeout=300)
    assert again.returncode == 0 and remarks.count("kept") == 2, remarks


def test_an_evaluation_in_parts_has_the_bytes_of_the_whole(cluster, tmp_path):
    address, _ = cluster
    words = [str(MODEL), "--multipliers", "0.5,2", "--episodes", "60"]
    program("sweep", *words, "--out", str(tmp_path / "whole"))
    runner = on_ray("evaluate", *words, "--parts", "3", "--out", tmp_path / "parts", "--address", address)
    _, remarks = runner.communicate(timeout=300)
    assert runner.returncode == 0, remarks
    for file in ("front.json", "front.csv", "front.svg", "front.png"):
        assert (tmp_path / "whole" / file).read_bytes() == (tmp_path / "parts" / file).read_bytes(), file


def test_a_reproduction_runs_on_the_cluster_and_a_mistake_is_told(cluster, tmp_path):
    address, _ = cluster
    words = ["--rows", "iql_0.3", "--agents", "2", "--seeds", "1", "--steps", "600", "--episodes", "4"]
    runner = on_ray("reproduce", *words, "--table", "baselines", "--out", tmp_path / "ours", "--address", address)
    _, remarks = runner.communicate(timeout=300)
    assert runner.returncode == 0 and "iql_0.3, 2 agents, seed 1: trained" in remarks, remarks
    assert (tmp_path / "ours" / "raw" / "baselines.md").is_file()
    (tmp_path / "taken" / "seed=1").mkdir(parents=True)
    (tmp_path / "taken" / "seed=1" / "letter.txt").write_text("dear")
    runner = on_ray("grid", "--over", "seed=1", *SETTINGS, "--out", tmp_path / "taken", "--address", address)
    _, remarks = runner.communicate(timeout=300)
    assert runner.returncode == 2 and "is not empty" in remarks, remarks


def test_a_job_that_another_process_does_is_tried_again(cluster, tmp_path):
    address, _ = cluster
    settings = [*SETTINGS[:1], "total_steps=6000", *SETTINGS[2:]]
    (line,) = program("jobs", "--over", "seed=3", *settings, "--out", str(tmp_path / "run")).stdout.splitlines()
    other = subprocess.Popen([sys.executable, "-m", "cgcmarl", "run-job", line, "--quiet"], stdout=subprocess.DEVNULL)
    run = Path(json.loads(line)["out"])
    wait_for(lambda: lines(run) >= 1, "the training")
    os.kill(other.pid, signal.SIGSTOP)
    try:
        runner = on_ray(
            "grid", "--over", "seed=3", *settings, "--out", tmp_path / "run", "--address", address, "--later", "1"
        )
        heard = ""
        while "another process is at it" not in heard and runner.poll() is None:
            heard += runner.stderr.readline()
    finally:
        os.kill(other.pid, signal.SIGCONT)
    _, remarks = runner.communicate(timeout=300)
    assert runner.returncode == 0, heard + remarks
    assert "another process is at it; tried again in 1 s" in heard
    assert other.wait() == 0


def test_without_a_cluster_this_machine_is_one(tmp_path):
    settings = [*SETTINGS[:1], "total_steps=400", *SETTINGS[2:]]
    environment = {name: value for name, value in QUIET.items() if name != "RAY_ADDRESS"}
    command = [sys.executable, "-m", "cgcmarl.ray", "grid", "--over", "seed=1", *settings, "--out", "grid", "--quiet"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0 and "1 jobs done in grid" in done.stdout, done.stderr
    assert (tmp_path / "grid" / "seed=1" / "front.json").is_file()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["grid", "--over", "sead=1"], "seed"),
        (["grid", "--over", "seed=1", "--cpus-per-job", "0"], "--cpus-per-job"),
        (["reproduce", "--rows", "best"], "--rows"),
        (["evaluate", "nowhere"], "nowhere"),
        (["dance"], "dance"),
    ],
)
def test_mistakes_are_told_before_a_cluster_is_asked(words, told, tmp_path):
    runner = on_ray(*words, cwd=tmp_path)
    _, remarks = runner.communicate()
    assert runner.returncode == 2 and told in remarks
