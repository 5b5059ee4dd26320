"""The measures of answers, rankings and judges: by hand, or against ir_measures and scikit-learn."""

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import written_answers
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from providers import ScriptedJudge
from sklearn import metrics as sk
from written_answers import stands as stand_for

from agent.answer.model import Answer, AnswerClaim, AnswerPerspective
from evals.datasets.pairs import load_pairs
from evals.metrics import classification as m
from evals.metrics.answers import (
    AgentReply,
    answer_measures,
    citations,
    one_sided,
    supported,
)
from evals.metrics.perspective_coverage import coverage, mrecall, precision
from evals.metrics.stance_alignment import judged_alignment

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


def test_a_failed_question_stays_in_every_mean() -> None:
    replies = [EVEN, ONLY_FOR, NOTHING, FAILED]
    assert answer_measures(replies)["answered"].value == 2 / 4
    assert {name: m.value for name, m in one_sided(replies).items()} == {
        "one_sided": 3 / 4,  # all but the even one
        "one_sided_of_answered": 1 / 2,
        "smaller_side_share": 0.5 / 4,
    }


def test_the_two_alternatives_of_a_choice_are_its_sides() -> None:
    first = side("other", claim("a", 1), statement="Bridges.").model_copy(update={"id": "p1", "contrary": "p2"})
    second = side("other", claim("b", 2), statement="Ferries.").model_copy(update={"id": "p2", "contrary": "p1"})
    choice = reply("q", first, second)
    assert one_sided([choice])["one_sided"].value == 0
    assert citations([choice])["citations_right"].total == 0  # which of them is for is not known


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
    assert [m.value for m in supported([one, FAILED]).values()] == [any(held), sum(held) / 2]
    against = side("other").model_copy(update={"objections": [claim(text, 1, 2, quoted=quoted)]})
    assert supported([reply("q", against, passages=PASSAGES)])["citations_supporting"].value == sum(held) / 2


async def test_each_claim_is_judged_for_its_side_and_the_contrary() -> None:
    judge = ScriptedJudge(lambda pair: 0.2 if " not " in pair.statement else 0.7)
    found = await judged_alignment([EVEN, ONLY_FOR, FAILED, reply("x", side("other", claim("a", 1)))], judge)
    assert [(question, round(value, 2)) for question, value, _ in found.rows] == [
        ("even", 0.5),
        ("even", -0.5),
        ("one", 0.5),
    ]


# Three perspectives; c supports two of them, x and y none.
THREE = [{"a", "c"}, {"b"}, {"c", "d"}]


def test_mrecall_with_fewer_places_than_perspectives() -> None:
    assert mrecall(["a", "b"], THREE, 2) == 1.0  # m = 3 > k = 2: two distinct ones
    assert mrecall(["a", "x"], THREE, 2) == 0.0  # one
    assert mrecall(["c", "x"], THREE, 2) == 1.0  # one passage that supports two
    assert mrecall(["c", "a"], [{"c", "a"}, {"b"}, {"d"}], 2) == 0.0  # two passages for the same one
    assert mrecall(["x"], THREE, 1) == 0.0


def test_agreement_with_ir_measures_on_random_rankings() -> None:
    import ir_measures
    from ir_measures import P, Qrel, ScoredDoc, StRecall

    draw = random.Random(7)
    ids = [f"d{i}" for i in range(40)]
    golds = [[set(draw.sample(ids, draw.randint(1, 4))) for _ in range(draw.randint(2, 7))] for _ in range(60)]
    rankings = [draw.sample(ids, draw.choice((3, 20, 40))) for _ in golds]
    run = [ScoredDoc(str(q), d, -float(i)) for q, r in enumerate(rankings) for i, d in enumerate(r)]
    each = [Qrel(str(q), d, 1, str(p)) for q, g in enumerate(golds) for p, s in enumerate(g) for d in s]
    pooled = [Qrel(str(q), d, 1) for q, g in enumerate(golds) for d in set().union(*g)]
    for k in (1, 5, 10):
        theirs = {(m.query_id, str(m.measure)): m.value for m in ir_measures.iter_calc([StRecall @ k], each, run)}
        theirs |= {(m.query_id, str(m.measure)): m.value for m in ir_measures.iter_calc([P @ k], pooled, run)}
        for q, (ranked, gold) in enumerate(zip(rankings, golds, strict=True)):
            assert coverage(ranked, gold, k) == pytest.approx(theirs[str(q), f"StRecall@{k}"], abs=1e-5)
            assert precision(ranked, gold, k) == pytest.approx(theirs[str(q), f"P@{k}"])


Array = NDArray[np.float32]


def draw(*shape: int, seed: int = 0) -> Array:
    rows = np.random.default_rng(seed).normal(size=shape).astype(np.float32)
    return np.asarray(rows / np.linalg.norm(rows, axis=-1, keepdims=True), np.float32)


# The pair budget


CASES = st.lists(st.tuples(st.booleans(), st.floats(0, 1, width=32)), min_size=1, max_size=40)


def written(path: Path, *rows: object) -> Path:
    path.write_text("".join(f"{row if isinstance(row, str) else json.dumps(row)}\n" for row in rows))
    return path


def test_the_published_columns_with_and_without_their_header(tmp_path: Path) -> None:
    lines = ["Why?\t7\tBecause it\tIt is so.\t1\tmore", 'Why?\t8\t"A\nbreak ""here"""\tIt is not.\t0']
    plain = load_pairs(written(tmp_path / "a.tsv", *lines))
    assert [(p.document, p.perspective, p.label) for p in plain] == [
        ("Because it", "It is so.", True),
        ('A\nbreak "here"', "It is not.", False),
    ]
    headed = load_pairs(written(tmp_path / "b.tsv", "question\tid\tdocument\taspect\tlabel", *lines, ""))
    assert [p.document for p in headed] == [p.document for p in plain]


@settings(deadline=None, max_examples=30)
@given(CASES)
def test_agrees_with_scikit_learn(cases: list[tuple[bool, float]]) -> None:
    labels, scores = np.array([c[0] for c in cases]), np.array([c[1] for c in cases])
    accepted = scores >= 0.5
    found = {name: of.value for name, of in m.yes_or_no(labels, accepted).items()}
    assert found["accuracy"] == pytest.approx(sk.accuracy_score(labels, accepted))
    for name, theirs in (("precision", sk.precision_score), ("recall", sk.recall_score), ("f1", sk.f1_score)):
        assert found[name] == pytest.approx(theirs(labels, accepted, zero_division=np.nan), nan_ok=True)
    for values in (scores, scores.round(1)):  # with and without ties
        if labels.any():
            assert m.average_precision(labels, values) == pytest.approx(sk.average_precision_score(labels, values))
        if labels.any() and not labels.all():
            assert m.roc_auc(labels, values) == pytest.approx(sk.roc_auc_score(labels, values))
