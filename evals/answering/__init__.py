"""Asking the agent for the suites `answers` and `expand`: cases, their variants, the asking, the checks."""
