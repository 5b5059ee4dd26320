"""The commands of `python -m agent`: one module each, with `run(args) -> exit status`."""
