"""Provides searches, re-rankers and selection methods by name, over one index of a corpus."""
