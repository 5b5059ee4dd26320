"""The judge's training data: the split, the negations, the sampler."""

import json
from pathlib import Path

import pytest

from evals.training.data import DISPUTES, load_corpus, rows_of
from evals.training.examples import Example, sentences_in_place
from evals.training.sampler import Sampler
from evals.training.text import key, negated, shingles
from tools.models.judges.embedded import joint_statement
from tools.models.judges.judge import judged_text

SHARED = Path(__file__).parents[2] / "shared" / "data"


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


def test_copies_share_shingles_and_others_do_not() -> None:
    text = "A keeper who feeds the same animals every day learns more about them than any visitor does."
    assert set(shingles(text)) & set(shingles(f"As she said: {text.upper()} So there."))
    assert not set(shingles(text)) & set(shingles(text[::-1]))


def test_sampler_goes_on_where_it_was() -> None:
    corpus = {"a": [Example(f"Thing {i} should stay.", f"Thing {i} helps.", (1, 0, 0), "a", str(i)) for i in range(7)]}
    whole = Sampler(corpus, 3)
    first, second = whole.draw({"a": 1.0}, 5, 0.5), whole.draw({"a": 1.0}, 5, 0.5)
    again = Sampler(corpus, 3)
    assert again.draw({"a": 1.0}, 5, 0.5) == first
    assert Sampler(corpus, 3, dict(again.state)).draw({"a": 1.0}, 5, 0.5) == second


@pytest.mark.skipif(not SHARED.exists(), reason="needs ../shared/data")
@pytest.mark.slow
def test_no_held_out_or_development_text_is_trained_on() -> None:
    corpus = load_corpus(SHARED)
    kept = {s for pair in corpus.development for s in shingles(judged_text(pair.document))}
    kept |= {s for examples in corpus.held_out.values() for e in examples for s in shingles(e.text)}
    trained = [e for examples in corpus.training.values() for e in examples]
    assert not any(s in kept for e in trained for s in shingles(e.text))
    assert not {key(e.group) for e in trained} & {key(e.group) for es in corpus.held_out.values() for e in es}
    questions = [json.loads(line) for line in (SHARED / "judge/berds_pairs.dev.jsonl").read_text().splitlines()]
    assert not {key(e.group) for e in trained} & {key(q["question"]) for q in questions}


def test_told_a_pair_has_both_statements_either_way_round_or_the_question() -> None:
    one, other = "Kites should be banned.", "Kites should be allowed."
    told = Example(one, "Kites cut birds.", (1, 0, 0), "berds", "kites", other, "Should kites be banned?")
    drawn = Sampler({"a": [told]}, 1).draw({"a": 1.0}, 200, 1.0, told=1.0)
    wanted = {
        joint_statement(one, other): (1, 0, 0),
        joint_statement(other, one): (0, 1, 0),
        "Should kites be banned?": (1, 0, 0),
        # Where the statement was turned round first, the old one is its contrary.
        joint_statement(negated(one), one): (0, 1, 0),
        joint_statement(one, negated(one)): (1, 0, 0),
    }
    assert {e.statement for e in drawn} == set(wanted)
    assert all(e.target == wanted[e.statement] for e in drawn)
    alone = Sampler({"a": [told]}, 1).draw({"a": 1.0}, 200, 1.0)
    assert {e.statement for e in alone} == {one, negated(one)}


def test_a_question_comes_in_its_wordings_and_the_turned_ones_exchange_the_answer() -> None:
    wordings = (("Should kites be banned?", True), ("ban kites?", True), ("Should kites be allowed?", False))
    told = Example("Kites should be banned.", "Kites cut birds.", (1, 0, 0), "a", "kites", wordings=wordings)
    drawn = Sampler({"a": [told]}, 1).draw({"a": 1.0}, 400, 1.0, told=1.0)
    asked = [e for e in drawn if e.statement in dict(wordings)]
    assert {e.statement for e in asked} == set(dict(wordings))
    assert 0.65 < len(asked) / len(drawn) < 0.85
    assert all(e.target == ((1, 0, 0) if dict(wordings)[e.statement] else (0, 1, 0)) for e in asked)
    alone = Sampler({"a": [told]}, 1).draw({"a": 1.0}, 100, 1.0)
    assert not {e.statement for e in alone} & set(dict(wordings))  # the small judge reads statements


def test_sentences_are_mostly_read_in_their_place() -> None:
    row = next(rows_of(DISPUTES))
    examples = list(sentences_in_place(row))
    assert [e.text for e in examples] == [judged_text(s["text"]) for s in row["sentences"]]
    assert [e.label for e in examples] == [["yes", "no", "none"].index(s["label"]) for s in row["sentences"]]
    assert all(f"⟨ {e.text} ⟩" in e.placed and e.placed.startswith(row["title"][:20]) for e in examples)
    assert examples[0].text in examples[1].placed
    drawn = Sampler({"a": examples}, 1).draw({"a": 1.0}, 400, 1.0, told=1.0)
    assert 0.6 < sum("⟨" in e.text for e in drawn) / len(drawn) < 0.8
    assert not any("⟨" in e.text for e in Sampler({"a": examples}, 1).draw({"a": 1.0}, 100, 1.0))
