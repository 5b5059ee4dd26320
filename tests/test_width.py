"""Claims about one effect of a thing, and the wider dispute about the thing."""

import pytest

from tools.language.grammar.width import narrowed


@pytest.mark.parametrize(
    ("claim", "aspect", "question", "wider", "negation"),
    [
        ("Ferries cut pollution.", "pollution", "Are ferries", "Ferries are", "Ferries are not"),
        ("Queues lead to better manners.", "better manners", "Are queues", "Queues are", "Queues are not"),
        ("Closing canals would raise prices.", "prices", "Is closing canals", "Closing canals is", None),
        ("A toll does not slow traffic.", "traffic", "Is a toll", "A toll is", "A toll is not"),
        ("Street lamps make parks safer.", "parks", "Are street lamps", "Street lamps are", None),
        ("Parking fees push up rents.", "rents", "Are parking fees", "Parking fees are", None),
        ("Walking helps to prevent back pain.", "back pain", "Is walking", "Walking is", None),
        ("Standing desks have improved posture.", "posture", "Are standing desks", "Standing desks are", None),
        ("Banning kites pushes up prices.", "prices", "Is banning kites", "Banning kites is", None),
        ("Night trains save energy because they are full.", "energy", "Are night trains", "Night trains are", None),
    ],
)
def test_an_effect_and_what_is_wider(claim: str, aspect: str, question: str, wider: str, negation: str | None) -> None:
    found = narrowed(claim)
    assert found is not None
    assert (found.aspect, found.question, found.claim) == (
        aspect,
        f"{question} a good thing?",
        f"{wider} a good thing.",
    )
    assert found.negation == f"{negation or f'{wider} not'} a good thing."


@pytest.mark.parametrize(
    "claim",
    [
        "It cuts pollution.",
        "They raise prices.",
        "Sailors raise prices.",
        "Anna Bell harms the town.",
        "My boat destroys nets.",
        "Ferries are slow.",
        "Ferries should be banned.",
        "Tolls that nobody pays raise prices.",
        "The road leads home.",
        "Ferries help.",
        "Ferries?",
        "",
    ],
)
def test_no_such_claim_or_no_certain_subject(claim: str) -> None:
    assert narrowed(claim) is None
