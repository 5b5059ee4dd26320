"""Choosing few passages out of many, so that they are relevant and say different things."""
