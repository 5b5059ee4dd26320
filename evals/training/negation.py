"""Negated statements, and the statement that 'Yes' to a question means."""

import re

_AUXILIARY = re.compile(
    r"\b(isn't|aren't|shouldn't|wouldn't|couldn't|won't|can't|doesn't|don't|didn't|cannot|does not|do not|did not"
    r"|should|would|could|can|will|must|may|might|is|are|was|were)\b( not\b)?",
    re.IGNORECASE,
)
_AFFIRMED = {"won't": "will", "can't": "can", "cannot": "can"}
_CLAIM_QUESTION = re.compile(r"(?i)^(should|is|are|was|were|does|do|did|can|will|would|has|have)\s+(.+?)\?*$")
_PREDICATE = re.compile(
    r"\s(be|have|continue|receive|pay|use|allow|ban|adopt|remain|take|provide|play|get|make|keep|go|support|require|eat"
    r"|vote|abolish|legalize|return|lead|cause|help|increase|reduce|wear|benefit|harm|improve|work|need|carry)\s",
    re.IGNORECASE,
)


def negated(statement: str) -> str:
    """Negates the statement by rule: adds or removes 'not' after the first auxiliary."""
    lowered = statement.lower()
    for opening in ("it is not true that ", "it is not the case that "):
        if lowered.startswith(opening):
            return _capital(statement[len(opening) :])
    for old, new in (("more harm than good", "more good than harm"), ("more good than harm", "more harm than good")):
        if old in lowered:
            return statement.replace(old, new)
    if not (found := _AUXILIARY.search(statement)):
        first = statement.split(" ", 1)[0]
        plain = first[1:] == first[1:].lower() and not first.isupper()
        return f"It is not true that {statement[:1].lower() + statement[1:] if plain else statement}"
    auxiliary, word = found[1], found[1].lower()
    if not found[2]:
        denied = word in _AFFIRMED or word.endswith(("n't", " not"))
        auxiliary = _AFFIRMED.get(word, word.removesuffix("n't").removesuffix(" not")) if denied else f"{auxiliary} not"
    return _capital(statement[: found.start()] + auxiliary + statement[found.end() :])


def claim(question: str) -> str:
    """Returns the statement that 'Yes' to the question means, or the question if no rule applies."""
    if found := _CLAIM_QUESTION.match(question.strip()):
        verb, rest = found[1].lower(), found[2].strip()
        place = _PREDICATE.search(f"{rest} ")
        if verb in {"should", "will", "would", "can", "does", "do", "did"} and place:
            return _capital(f"{rest[: place.start()]} {verb}{rest[place.start() :]}.")
    return question


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
