"""How many claims each perspective may show, so that none is shorter for having been written about less."""

from collections.abc import Mapping, Sequence

from agent.state import Claim, in_case


def comparable_room(claims: Mapping[str, int]) -> dict[str, int]:
    """How many claims each perspective may show: at most two more than the shortest that has a case (two claims).

    A perspective with less than that is no measure for the others: the answer says that it is thin instead.
    """
    cases = [n for n in claims.values() if n >= 2]
    most = min(cases) + 2 if cases else 1
    return {perspective: min(n, most) for perspective, n in claims.items()}


def room_of(claims: Mapping[str, Sequence[Claim]]) -> dict[str, int]:
    """`comparable_room` by the claims of each perspective's case."""
    return comparable_room({perspective: sum(map(in_case, own)) for perspective, own in claims.items()})


def in_comparable_room(claims: Mapping[str, Sequence[Claim]]) -> list[Claim]:
    """The claims of all perspectives as far as each has room, each sentence under one of them only."""
    room = room_of(claims)
    return once([c for perspective, own in claims.items() for c in in_room(own, room[perspective])])


def in_room(claims: Sequence[Claim], room: int) -> list[Claim]:
    """The first claims of the case as the room allows, and what may speak for the perspective beside them."""
    return [*[c for c in claims if in_case(c)][:room], *(c for c in claims if not in_case(c))]


def once(claims: Sequence[Claim]) -> list[Claim]:
    """A sentence stands under one perspective only: the one that it supports most."""
    best: dict[str, Claim] = {}
    for claim in claims:
        if claim["text"] not in best or claim["support"] > best[claim["text"]]["support"]:
            best[claim["text"]] = claim
    return [c for c in claims if best[c["text"]] is c]
