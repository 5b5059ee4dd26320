"""Asking the agent over documents of known sides, other agents' answers, and checks of claims."""
