"""Narrow claims."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Narrow:
    """An effect that a claim asserts, and the wider dispute about its subject alone."""

    aspect: str
    question: str
    claim: str
    negation: str


def narrowed(claim: str) -> Narrow | None:
    """The effect that a claim asserts."""
    return None
