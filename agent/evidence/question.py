"""What is refused before a run begins, with a message that says what to do instead."""

import re
import unicodedata

from agent.state import Form
from tools.errors import QuestionError
from tools.language.identification import (
    is_likely_english,
    is_likely_foreign,
    is_of_another_script,
    likeliest_language,
    name_of_language,
)
from tools.language.lexicon import is_noun_by_ending, is_word
from tools.language.words import ENGLISH_MARKERS, FOREIGN_OPENERS

LONGEST = 4000
"""Characters of a question at most."""

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_JOINERS = "\u200c\u200d"  # Persian and emoji need them; marks of direction and what has no width go
_AUXILIARIES = frozenset("is are am do does did should can could would has have must".split())
_EXAMPLE = "Ask something that people disagree on, such as: Should schools ban smartphones?"


def check_question(text: str, *, english_only: bool = True) -> str:
    """The question with its white space folded and without invisible marks.

    Raises QuestionError for one that cannot be answered. The embedded providers read English, so with them a question
    in another language is refused in so many words.
    """
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as exc:
        raise QuestionError("the question holds bytes that are no text (not UTF-8). Type it again.") from exc
    if len(text) > LONGEST:
        raise QuestionError(
            f"the question is {len(text):,} characters long; {LONGEST:,} is the most. Ask it in a sentence or two, "
            "and give long texts to `python -m agent ingest`.",
            hint=", and give long texts to `python -m agent ingest`",
        )
    if any(unicodedata.category(c) == "Cc" and not c.isspace() for c in text):
        raise QuestionError("the question holds control characters. Type it again as plain text.")
    question = " ".join("".join(c for c in text if c in _JOINERS or unicodedata.category(c) != "Cf").split())
    if not question:
        raise QuestionError(f"the question is empty. {_EXAMPLE}")
    words = _WORD.findall(question)
    if not words:
        raise QuestionError(f"there is no word in '{_short(question)}'. {_EXAMPLE}")
    if english_only and not reads_as_english(question):
        if len(words) == 1 and not is_of_another_script(question):
            check_form("none", question)  # of one word the language is not known, and it is no question in any
        but = f" but as {language}" if (language := question_language(question)) else ""
        raise QuestionError(
            f"'{_short(question)}' does not read as English{but}, and the embedded providers read English only. "
            "Ask it in English, or set a chat model that knows the language: the answer is then in English."
        )
    return question


def question_language(question: str) -> str:
    """The name of the language that a question is in; empty where that is English or cannot be told."""
    words = _WORD.findall(question)
    if not words or reads_as_english(question):
        return ""
    language = likeliest_language(question) or FOREIGN_OPENERS.get(words[0].casefold(), "")
    return name_of_language(language) if language else ""


def check_form(form: Form, question: str) -> None:
    """Raises QuestionError for what is neither a question nor a claim."""
    if form == "none":
        raise QuestionError(f"'{_short(question)}' is neither a question nor a claim. {_EXAMPLE}")


def reads_as_english(question: str) -> bool:
    """Whether it is in English. The lexicon and function words tell nearly all questions: the classifier costs a second
    and 100 MB of memory."""
    words = _WORD.findall(question)
    if not words or is_of_another_script(question) or words[0].casefold() in FOREIGN_OPENERS:
        return False
    english = is_english(words)
    all_known = all(_is_known(w) or is_word(w.removesuffix("s")) for w in _inner(words))
    if english and (all_known or any(w.casefold() in ENGLISH_MARKERS for w in words)):
        return True
    begins = words[0].casefold() in _AUXILIARIES and any(map(_is_known, _inner(words)[1:]))
    return is_likely_english(question) or ((english or begins) and not is_likely_foreign(question))


def is_english(words: list[str]) -> bool:
    """Whether enough of the words are in TextBlob's English lexicon; names inside the question do not count.

    Three fifths of a sentence, or half of up to three words.
    """
    inner = _inner(words)
    return sum(map(_is_known, inner)) >= (0.5 if len(inner) <= 3 else 0.6) * len(inner)


def _is_known(word: str) -> bool:
    return is_word(word) or is_word(word.split("'")[0]) or is_noun_by_ending(word)


def _inner(words: list[str]) -> list[str]:
    """The words without names, or all where they are names."""
    return [w for i, w in enumerate(words) if i == 0 or w.islower() or w.isupper()] or words


def _short(question: str) -> str:
    return question if len(question) <= 60 else question[:57] + "…"
