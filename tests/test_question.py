"""What kind of question a text is, over real wordings: how people type, head papers and set exams."""

import collections
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals.datasets.rows import GOLD
from evals.models import question_of
from evals.training.artifacts import fit_kinds
from tools.language import question
from tools.language.lexicon import respelled
from tools.language.question import ANSWERS, MOST_OPTIONS, named_options, read_question
from tools.models.encoders import load_encoder

KINDS = {
    "polar": (
        "Should schools ban smartphones?",
        "Should parents vaccinate their children?",
        "are tattoos unprofessional",
        "I'm 19 and my parents say uni is a waste of money now. are they right?",
    ),
    "claim": (
        "AI art is theft",
        "COVID lockdowns worked",
        "Men and women can't be just friends. Discuss.",
    ),
    "topic": ("AI regulation", "UBI", "GMO", "Abortion", "pros and cons of going cashless"),
    "open": ("What causes crime?", "How many genders are there?", "What should be done about homelessness?"),
    "plain": ("When did the Berlin Wall fall?", "How tall is Mont Blanc?", "What is the capital of France?"),
    "none": ("", "…", "hello", "good morning", "Thanks!", "Why?", "Write a poem about the sea", "asdf qwer zxcv uiop"),
}
CHOICES = {
    "Should Torsay cap the number of ships or charge a passenger fee?": (
        "Cap the number of ships",
        "Charge a passenger fee",
    ),
    "Should Saltergate get new slabs or sawn and relaid setts?": ("New slabs", "Sawn and relaid setts"),
    "Should men or women pay for dates?": ("Men", "Women"),
    "Should cities ban cars or tax them?": ("Ban cars", "Tax them"),
    "hi, a quick one - honestly, should we keep the tax or bin it?": ("Keep the tax", "Bin it"),
    "Is the customer or the waiter to blame when a steak comes back": ("The customer", "The waiter"),
    "Working from home or in an office, which is better?": ("Working from home", "In an office"),
    "Should Britain keep the monarchy or become a republic?": ("Keep the monarchy", "Become a republic"),
    "Rent the hall or hang on to it?": ("Rent the hall", "Hang on to it"),
    "Tea or coffee in the morning?": ("Tea", "Coffee"),
    "private schools: ban them, tax them or leave them alone?": ("Ban them", "Tax them", "Leave them alone"),
    "Vegemite v Marmite": ("Vegemite", "Marmite"),
    "between the bypass and the tram, what does our town need more": ("The bypass", "The tram"),
}


@pytest.mark.parametrize(("kind", "typed"), [(kind, typed) for kind, all_of in KINDS.items() for typed in all_of])
def test_a_question_is_of_its_kind(kind: str, typed: str) -> None:
    assert question_of(typed).kind == kind


@pytest.mark.parametrize("typed", CHOICES, ids=CHOICES)
def test_a_choice_names_its_alternatives(typed: str) -> None:
    found = question_of(typed)
    assert (found.kind, found.options) == ("choice", CHOICES[typed])


@pytest.mark.parametrize("typed", ["Is it safe or not?", "Should it close, or am I wrong?", "Should AI be regulated?"])
def test_what_only_doubts_names_no_alternatives(typed: str) -> None:
    assert named_options(typed) == ()


def test_lines_that_nobody_trained_on_are_of_their_kind() -> None:
    lines = [json.loads(line) for line in (GOLD / "kinds.jsonl").read_text().splitlines()]
    found = [question_of(line["text"]).kind for line in lines]
    right = [kind == line["kind"] for kind, line in zip(found, lines, strict=True)]
    refused = [line["text"] for kind, line in zip(found, lines, strict=True) if kind == "none" != line["kind"]]
    assert np.mean(right) >= 0.9
    assert len(refused) <= 1
    of_kind = collections.Counter(line["kind"] for line in lines)
    assert min(of_kind.values()) >= 15


@pytest.mark.slow
def test_the_weights_are_those_of_the_training_lines() -> None:
    weights, offsets = fit_kinds()
    lines = [json.loads(line)["text"] for line in (GOLD / "kinds.jsonl").read_text().splitlines()]
    features = np.stack(list(map(question.feature_vector, lines, load_encoder().encode(lines))))
    with np.load(question.KIND_WEIGHTS) as stored:
        kept = (features @ stored["weights"].T.astype(float) + stored["offsets"]).argmax(axis=1)
    again = (features @ weights.T.astype(float) + offsets).argmax(axis=1)
    assert np.mean(kept == again) >= 0.97
    assert question.KIND_WEIGHTS.stat().st_size <= 40_000


@pytest.mark.parametrize(
    ("typed", "text"),
    [
        ("are tattoos unprofessional", "Are tattoos unprofessional?"),
        ("Nuclear or wind? pick one", "Nuclear or wind? pick one"),
        ("tipping culture is a scam", "Tipping culture is a scam"),
        ("  is it\n right ? ", "Is it right ?"),
    ],
)
def test_nothing_is_made_of_the_words_but_a_capital_and_a_mark(typed: str, text: str) -> None:
    assert question_of(typed).text == text


@given(st.text(max_size=200) | st.text("or is it,.?!:- vs/ aA\"'", max_size=80))
def test_no_text_is_too_odd(text: str) -> None:
    found = read_question(text, np.zeros(384, np.float32))
    assert " ".join(text.split()).casefold().startswith(found.text.casefold().rstrip(" .,;:?"))
    assert (found.kind == "choice") is bool(found.options)
    assert len(found.options) <= MOST_OPTIONS
    assert not set(ANSWERS) & {"choice", "open", "plain", "none"}


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("should the libary go to the meridian?", "should the library go to the meridian?"),
        ("Is parkng at the shoping center dear?", "Is parking at the shopping center dear?"),
        ("Does the county pay?", "Does the county pay?"),  # a word of its own, however near the text's 'country'
        ("What does Haddad say of teh plans?", "What does Haddad say of teh plans?"),
    ],
)
def test_misspelt_words_are_read_as_the_documents_spell_them(typed: str, meant: str) -> None:
    text = "The library may move to the shopping centre, where parking is free. The country pays. The Meridian is full."
    assert respelled(typed, text) == meant


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("stop the nite ferry?", "stop the night ferry?"),
        ("is the fery loud at ngiht", "is the ferry loud at night"),
        ("keep the skool tran", "keep the school train"),
        ("Is Rome fair to boys with an uber?", "Is Rome fair to boys with an uber?"),  # names and new words are none
        ("ban the vape, the wifi and the lidar", "ban the vape, the wifi and the lidar"),
        ("is a lama a pet", "is a lama a pet"),  # 'llama' is there once alone
    ],
)
def test_short_misspelt_words_are_read_as_words_that_recur(typed: str, meant: str) -> None:
    text = "The night ferry, the school train, the wife, the room, the vane and the urban liar. "
    assert respelled(typed, f"{text * 2} A llama.") == meant
