"""What a dispute turns on, in one sentence that stands above the perspectives and cites both.

A chat model writes it from both sides' passages, and it is verified as every written claim is. Without a model, or
where what it wrote does not hold, the sentence names the points that claims of both perspectives speak to.
"""

from collections.abc import Iterator, Sequence

from agent.evidence.aspects import shared_aspects
from agent.state import Claim, Perspective, RunState, as_read, in_case

_POINTS = 3


def opposed(perspectives: Sequence[Perspective]) -> tuple[Perspective, Perspective] | None:
    """The first two perspectives that say the opposite of each other."""
    known = {p["id"]: p for p in perspectives}
    return next(((p, known[p["contrary"]]) for p in perspectives if p["contrary"] in known), None)


def with_crux(state: RunState, claims: Sequence[Claim]) -> list[Claim]:
    """The claims with one sentence on what the dispute turns on, where both perspectives have a case: the one that was
    written and held, else the points that both cases speak to."""
    perspectives = state.get("perspectives", [])
    written = [c for c in claims if c["role"] == "crux"]
    rest = [c for c in claims if c["role"] != "crux"]
    pair = opposed(perspectives)
    if pair is None or not {p["id"] for p in pair} <= {c["perspective"] for c in rest if in_case(c)}:
        return rest
    asked = " ".join([state["framing"]["question"], *(p["statement"] for p in pair)])
    crux = written[0] if written else shared_points(perspectives, rest, asked)
    return [*rest, crux] if crux else rest


def shared_points(perspectives: Sequence[Perspective], claims: Sequence[Claim], question: str) -> Claim | None:
    """The sentence that names what claims of both cases speak to, citing one of each perspective for each point; None
    where there is no such point beside what the question itself is about."""
    if (pair := opposed(perspectives)) is None:
        return None
    mine, theirs = ([c for c in claims if c["perspective"] == p["id"] and in_case(c)] for p in pair)
    points = shared_aspects([as_read(c) for c in mine], [as_read(c) for c in theirs], question)[:_POINTS]
    if not points:
        return None
    cited = {i: words for _, a, b in points for c in (mine[a], theirs[b]) for i, words in _evidence(c)}
    return Claim(
        perspective="",
        text=f"Both sides speak to {_listed([point for point, _, _ in points])}.",
        passages=list(cited),
        support=0.0,
        role="crux",
        written=True,
        evidence=list(cited.values()),
    )


def _evidence(claim: Claim) -> Iterator[tuple[int, str]]:
    """The passages of a claim with the words of each that say it."""
    yield from zip(claim["passages"], claim.get("evidence") or [claim["text"]] * len(claim["passages"]), strict=True)


def _listed(words: Sequence[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
