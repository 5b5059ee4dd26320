"""Defines the installed commands. Each command runs a package's `main` with Steelman's own folder first on the path."""

import sys
from functools import partial

from steelman import FOLDER


def run(package: str, *arguments: str) -> int:
    """Runs the package with the command's arguments. Returns the exit status."""
    if sys.flags.safe_path:
        sys.path.insert(0, FOLDER)
    else:  # replaces the current folder (`python -m`) or the command's folder: nothing is imported from there
        sys.path[0] = FOLDER
    from importlib import import_module

    return int(import_module(f"{package}.__main__").main([*arguments, *sys.argv[1:]]))


agent, api, evals, ui = (partial(run, package) for package in ("agent", "api", "evals", "ui"))
mcp = partial(run, "api", "mcp")

if __name__ == "__main__":
    sys.exit(agent())
