"""Asks the agent questions whose documents have known sides, and reads other agents' answers."""
