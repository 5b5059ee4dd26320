"""Asks the agent over documents of known sides, reads other agents' answers, and checks claims."""
