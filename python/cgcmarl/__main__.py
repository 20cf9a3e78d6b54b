"""The program `cgcmarl`: the same commands as the binary."""

import sys

from . import _external
from ._native import command


def main() -> None:
    """Runs the program and exits with its code."""
    if _external.is_needed(sys.argv[1:]):
        _external.enable()
    sys.stdout.flush()
    sys.exit(command(["cgcmarl", *sys.argv[1:]]))


if __name__ == "__main__":
    main()
