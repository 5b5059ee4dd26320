"""The commands of `python -m agent`."""
