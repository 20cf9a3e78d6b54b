"""The program `cgcmarl`: the same commands as the binary."""

import sys

from ._native import command


def main() -> None:
    """Runs the program and exits with its code."""
    sys.stdout.flush()
    sys.exit(command(["cgcmarl", *sys.argv[1:]]))


if __name__ == "__main__":
    main()
