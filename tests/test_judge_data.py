"""The judge's training data: the split, the negations, the sampler."""

import json
from pathlib import Path

import pytest

from evals.training.data import Example, load_corpus
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
