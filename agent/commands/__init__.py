"""The commands of `python -m agent`, a module each with `run(args) -> exit status`."""
