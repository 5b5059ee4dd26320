"""Asks the agent over documents of known sides, and reads other agents' answers."""
