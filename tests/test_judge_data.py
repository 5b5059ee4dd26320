"""The judge's training data: negations, and how the sampler varies an example."""

import pytest

from evals.training.data import DISPUTES, Example, rows_of, sentences_in_place
from evals.training.sampler import Sampler
from evals.training.text import negated
from tools.models.judges.embedded import joint_statement

ONE, OTHER = "Kites should be banned.", "Kites should be allowed."
FOR, AGAINST = (1, 0, 0), (0, 1, 0)


def drawn(*examples: Example, joint: float = 0.0) -> list[Example]:
    return Sampler({"a": list(examples)}, 1).draw({"a": 1.0}, 400, 1.0, joint)


@pytest.mark.parametrize(
    ("statement", "denial"),
    [
        ("Zoos should be closed.", "Zoos should not be closed."),
        ("Zoos should not be closed.", "Zoos should be closed."),
        ("It is not true that zoos teach.", "Zoos teach."),
        ("Tourism does more harm than good.", "Tourism does more good than harm."),
        ("Exams can't measure effort.", "Exams can measure effort."),
        ("Zoos teach children.", "It is not true that zoos teach children."),
    ],
)
def test_negated(statement: str, denial: str) -> None:
    assert negated(statement) == denial


def test_sampler_resumes_from_its_state() -> None:
    corpus = {"a": [Example(f"Thing {i} should stay.", f"Thing {i} helps.", FOR, "a", str(i)) for i in range(7)]}
    whole, again = Sampler(corpus, 3), Sampler(corpus, 3)
    first, second = whole.draw({"a": 1.0}, 5, 0.5), whole.draw({"a": 1.0}, 5, 0.5)
    assert again.draw({"a": 1.0}, 5, 0.5) == first
    assert Sampler(corpus, 3, dict(again.state)).draw({"a": 1.0}, 5, 0.5) == second


def test_joint_pairs_have_both_statements_in_either_order_or_the_question() -> None:
    example = Example(ONE, "Kites cut birds.", FOR, "berds", "kites", OTHER, "Should kites be banned?")
    wanted = {
        joint_statement(ONE, OTHER): FOR,
        joint_statement(OTHER, ONE): AGAINST,
        "Should kites be banned?": FOR,
        joint_statement(negated(ONE), ONE): AGAINST,  # a negated statement has the old one as its contrary
        joint_statement(ONE, negated(ONE)): FOR,
    }
    assert {e.statement: e.target for e in drawn(example, joint=1.0)} == wanted
    assert {e.statement for e in drawn(example)} == {ONE, negated(ONE)}


def test_wordings_with_the_opposite_yes_exchange_the_target() -> None:
    wordings = (("Should kites be banned?", True), ("ban kites?", True), ("Should kites be allowed?", False))
    example = Example(ONE, "Kites cut birds.", FOR, "a", "kites", wordings=wordings)
    asked = [e for e in drawn(example, joint=1.0) if e.statement in dict(wordings)]
    assert {e.statement: e.target for e in asked} == {text: FOR if yes else AGAINST for text, yes in wordings}
    assert not {e.statement for e in drawn(example)} & set(dict(wordings))  # the small judge reads statements


def test_sentences_of_a_document_are_read_in_their_context() -> None:
    row = next(rows_of(DISPUTES))
    examples = list(sentences_in_place(row))
    assert [e.label for e in examples] == [["yes", "no", "none"].index(s["label"]) for s in row["sentences"]]
    assert all(f"⟨ {e.text} ⟩" in e.placed and e.placed.startswith(row["title"][:20]) for e in examples)
    assert 0.6 < sum("⟨" in e.text for e in drawn(*examples, joint=1.0)) / 400 < 0.8
    assert not any("⟨" in e.text for e in drawn(*examples))
