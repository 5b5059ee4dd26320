"""Judges score whether a text supports a statement."""
