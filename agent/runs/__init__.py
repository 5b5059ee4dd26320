"""Runs: start, follow, suspend, resume and delete. `parts` and `build` put the whole agent together."""
