"""One job on whichever node it is given to: a process of its own that ends with whoever started it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys

DONE = 0
MISTAKE = 2
"""The same job would fail again."""
BUSY = 75
"""Another process is at it."""
INTERRUPTED = 130
"""It was asked to stop and saved."""


def do(line: str, threads: int, folder: str, path: list[str]) -> tuple[int, str, str]:
    """Runs `cgcmarl run-job`; its exit code, what it said, and where it ran."""
    words = [line, "--threads", str(threads), "--quiet"]
    modules = os.pathsep.join(entry or folder for entry in path)
    process = subprocess.Popen(
        [sys.executable, "-m", "cgcmarl.ray._job", str(os.getpid()), *words],
        cwd=folder if os.path.isdir(folder) else None,
        env={**os.environ, "PYTHONPATH": modules},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        _, told = process.communicate()
    except BaseException:
        process.send_signal(signal.SIGINT)
        process.wait()
        raise
    return process.returncode, told, socket.gethostname()


def end_with(parent: int) -> None:
    """Asks the system for SIGTERM when the process is gone that started this one: it saves and ends, so
    that the job is free for another node. Elsewhere than on Linux the lock on the run is all there is."""
    if sys.platform == "linux":
        import ctypes

        set_parent_death_signal = 1
        ctypes.CDLL(None, use_errno=True).prctl(set_parent_death_signal, signal.SIGTERM)
        if os.getppid() != parent:
            sys.exit(INTERRUPTED)


if __name__ == "__main__":
    end_with(int(sys.argv[1]))
    sys.argv = ["cgcmarl", "run-job", *sys.argv[2:]]
    from cgcmarl.__main__ import main

    main()
