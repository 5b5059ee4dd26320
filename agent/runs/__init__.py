"""Runs: start, follow, suspend, resume and delete. `bootstrap` and `build` assemble the agent."""
