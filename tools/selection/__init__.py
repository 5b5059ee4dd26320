"""Selects few passages that are relevant and say different things."""
