"""The measures of answers, by hand."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import written_answers
from providers import ScriptedJudge
from toys import ToyEncoder
from written_answers import stands as stand_for

from agent.answer.model import Answer, AnswerClaim, AnswerDocument, AnswerPerspective, DocumentStance
from agent.models.inference import Models
from evals.answering.checks import check_claims, judge_claims
from evals.metrics.answers import (
    AgentReply,
    both_sides_known,
    citations,
    documents_told,
    missing_side,
    of_plain,
    one_sided,
)
from evals.metrics.stance_alignment import polarity, stance_alignment
from tools.models.cache import VectorCache

GOLD = {"supports": frozenset({"s1", "s2"}), "opposes": frozenset({"o1", "o2"})}
DOCUMENTS = ["s1", "s2", "o1", "o2", "x1"]  # citation numbers 1 to 5


def claim(text: str, *numbers: int, quoted: bool = True) -> AnswerClaim:
    return AnswerClaim(text=text, citations=list(numbers), quoted=quoted)


def side(stance: Any, *claims: AnswerClaim, status: Any = "supported", statement: str = "") -> AnswerPerspective:
    ids = {"supports": ("p1", "p2"), "opposes": ("p2", "p1"), "other": ("p3", "")}[stance]
    words = statement or {"supports": "Bridges help.", "opposes": "Bridges do not help."}.get(stance, "Charge a toll.")
    return stand_for(ids[0], stance, words, *claims, status=status, contrary=ids[1])


def answer(*sides: AnswerPerspective, outcome: Any = "answered") -> Answer:
    cited = {n for s in sides for c in s.all_claims for n in c.citations}
    found = [written_answers.cited(n, document_id=DOCUMENTS[n - 1]) for n in sorted(cited)]
    return written_answers.answer("Do bridges help?", *sides, citations=found, outcome=outcome)


def reply(question: str, *sides: AnswerPerspective, **more: Any) -> AgentReply:
    return AgentReply(question, more.pop("gold", GOLD), answer=answer(*sides), **more)


FAILED = AgentReply("failed", GOLD)
EVEN = reply("even", side("supports", claim("a b", 1)), side("opposes", claim("c d", 3)))
# Three claims for (the last with two citations, one of the other side's document), one against on an unlabelled one.
UNEVEN = reply(
    "uneven", side("supports", claim("a b", 1), claim("c d", 2), claim("e f", 1, 3)), side("opposes", claim("g h i", 5))
)
ONLY_FOR = reply("one", side("supports", claim("a", 1)), side("opposes", status="thin"))
NOTHING = AgentReply("nothing", GOLD, answer=answer(outcome="nothing_found"))


def test_a_citation_is_right_wrong_or_unknown() -> None:
    # Even: 2 right. Uneven: 3 right, 1 wrong (o1 under for), 1 unknown. Of 7: 5, 1, 1; of the 6 known 1 is wrong.
    shares = {name: m.value for name, m in citations([EVEN, UNEVEN, FAILED]).items()}
    assert shares == {
        "citations_right": 5 / 7,
        "citations_wrong": 1 / 7,
        "citations_unknown": 1 / 7,
        "wrong_of_known": 1 / 6,
    }


def test_the_side_of_documents() -> None:
    def document(name: str, *told: str) -> AnswerDocument:
        return AnswerDocument.model_construct(
            id=name, stances=[DocumentStance(perspective=p, argues="for") for p in told]
        )

    both, strange = document("o2", "p1", "p2"), document("x", "p1")
    found = [document("s1", "p1"), document("s2", "p2"), document("o1"), both, strange]
    told = answer(side("supports"), side("opposes")).model_copy(update={"documents": found})
    shares = documents_told([AgentReply("q", GOLD, answer=told), FAILED])
    assert (shares["documents_told"].value, shares["documents_right"].value) == (2 / 4, 1 / 2)


def test_a_failed_question_stays_in_every_mean() -> None:
    replies = [EVEN, ONLY_FOR, NOTHING, FAILED]
    assert of_plain(replies)["answered"].value == 2 / 4
    assert of_plain(replies)["all_sides_cited"].value == 1 / 4
    assert {name: m.value for name, m in one_sided(replies).items()} == {
        "one_sided": 3 / 4,  # all but the even one
        "one_sided_of_answered": 1 / 2,
        "smaller_side_share": 0.5 / 4,
    }


def test_the_two_alternatives_of_a_choice_are_its_sides() -> None:
    first = side("other", claim("a", 1), statement="Bridges.").model_copy(update={"id": "p1", "contrary": "p2"})
    second = side("other", claim("b", 2), statement="Ferries.").model_copy(update={"id": "p2", "contrary": "p1"})
    choice = reply("q", first, second, left_out="supports")
    assert one_sided([choice])["one_sided"].value == 0
    assert of_plain([choice])["all_sides_cited"].value == 1
    assert citations([choice])["citations_right"].total == 0  # which of them is for is not known
    assert missing_side([choice])["missing_admitted"].total == 0


def test_a_question_from_either_pole_has_no_right_side() -> None:
    turned = reply("q", side("supports", claim("b", 3)), side("opposes", claim("a", 1)))
    assert both_sides_known([turned])["both_sides_known"].value == 0
    told = replace(turned, either_way=True)
    assert both_sides_known([told])["both_sides_known"].value == 1
    assert citations([turned])["citations_wrong"].value == 1
    assert citations([told])["citations_wrong"].total == 0


def test_a_missing_side_is_admitted_or_shown() -> None:
    out = {"left_out": "opposes"}
    thin = reply("thin", side("supports", claim("a", 1)), side("opposes", status="thin"), **out)
    wrong = reply("wrong", side("supports", claim("a", 1)), side("opposes", claim("b", 2)), **out)
    unknown = reply("unknown", side("supports", claim("a", 1)), side("opposes", claim("b", 5)), **out)
    silent = reply("silent", side("supports", claim("a", 1)), side("opposes", status="supported"), **out)
    nothing = AgentReply("nothing", GOLD, answer=answer(outcome="nothing_found"), left_out="opposes")
    failed = AgentReply("failed", GOLD, left_out="opposes")
    found = missing_side([thin, wrong, unknown, silent, nothing, failed, EVEN])
    assert {name: m.value for name, m in found.items()} == {
        "missing_admitted": 2 / 6,  # thin and nothing
        "missing_admitted_other_kept": 1 / 6,  # thin
        "missing_shown": 2 / 6,
        "missing_shown_wrong": 1 / 6,
    }


def test_alignment_of_text_with_its_stance() -> None:
    good, bad = claim("Bridges are good.", 1), claim("Bridges are bad.", 3)
    found = stance_alignment([reply("a", side("supports", good), side("opposes", bad))])
    assert [polarity(c.text) for c in (good, bad)] == pytest.approx([0.7, -0.7])
    assert found["alignment_sign"].value == pytest.approx(1)
    assert polarity("bridges, Support") == polarity("bridges, Oppose") == 0
    assert math.isnan(found["alignment_textblob"].value)  # constant: the words carry no polarity


PASSAGES = {1: "Since 1901 bridges let farmers sell wool and milk on both banks.", 2: "Nobody minds a ferry."}


@pytest.mark.parametrize(
    ("text", "quoted", "held"),
    [
        ("bridges let farmers sell wool", True, [True, False]),
        ("Bridges let farmers sell cheese", True, [False, False]),
        ("Bridges let farmers sell milk and wool on both banks.", False, [True, False]),
        ("Bridges let farmers sell milk, which keeps several kings awake.", False, [False, False]),
        ("Bridges let 90 farmers sell milk and wool on both banks.", False, [False, False]),  # no such number
    ],
)
def test_each_citation_of_a_claim_is_checked(text: str, quoted: bool, held: list[bool]) -> None:
    one = reply("q", side("supports", claim(text, 1, 2, quoted=quoted)), passages=PASSAGES)
    assert check_claims([one, FAILED]) == [("q", [held])]
    against = side("other").model_copy(update={"objections": [claim(text, 1, 2, quoted=quoted)]})
    assert check_claims([reply("q", against, passages=PASSAGES)]) == [("q", [held])]


async def test_each_claim_is_judged_for_its_side_and_the_contrary(tmp_path: Path) -> None:
    judge = ScriptedJudge(lambda pair: 0.2 if " not " in pair.statement else 0.7)
    models = Models(ToyEncoder(dimensions=256), judge, VectorCache(tmp_path / "cache.db"))
    found = await judge_claims([EVEN, ONLY_FOR, FAILED, reply("x", side("other", claim("a", 1)))], models)
    assert [(q, round(own, 2), round(other, 2)) for q, own, other in found] == [
        ("even", 0.7, 0.2),
        ("even", 0.2, 0.7),
        ("one", 0.7, 0.2),
    ]
