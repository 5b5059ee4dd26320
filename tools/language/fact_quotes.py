"""Parts of passages that answer a question of fact."""

import re
import sys
from collections.abc import Iterable, Sequence
from datetime import date
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tools.language.grounding import stems, verbatim
from tools.language.lexicon import LIGHT_WORDS, QUERY_FILLERS
from tools.language.quotable import LONGEST_PAIR, is_prose, needs_context, with_bracketed_capital
from tools.language.sentences import is_no_prose, split_sentences, without_list_mark
from tools.passages import Passage


class FactQuote(NamedTuple):
    """A sentence or a table row. text: to quote. shown: to show, after the table's head or, if short, its question.
    asked: the question before the sentence, in the text or as its heading."""

    passage: Passage
    text: str
    shown: str = ""
    asked: str = ""

    @property
    def with_question(self) -> str:
        """The question and the text that answers it, as one text for comparison."""
        return f"{self.asked} {self.text}" if self.asked else self.text

    @property
    def edited(self) -> str:
        """The text to show; empty if it is unchanged. '[I]n March' for a sentence whose beginning is cut off."""
        capital = with_bracketed_capital(self.text)
        return self.shown or (capital if capital != self.text else "")


def fact_quotes(passage: Passage) -> list[FactQuote]:
    """The quotable parts of a passage: table rows or sentences, each with the previous sentence if it needs context."""
    if passage.form == "table":
        head, *rows = [line for line in passage.text.split("\n") if line.strip()]
        return [FactQuote(passage, row, f"[{head}] {row}") for row in rows]
    parts, before, sentences = list[FactQuote](), passage.section, split_sentences(passage.text)
    for sentence in sentences:
        own = without_list_mark(sentence)
        heading = is_no_prose(sentence) and len(sentences) > 1  # a row's text often has no full stop
        asked = before if before.endswith("?") and own.endswith((".", "!")) else ""
        if not heading and (is_prose(own) or holds_values(own)) and not own.endswith("?"):
            pair = f"{before} {own}"
            leans = before and needs_context(own) and len(pair.split()) <= LONGEST_PAIR
            leans = leans and verbatim(pair, passage.text)
            parts.append(FactQuote(passage, pair if leans else own, asked="" if leans else asked))
        elif asked and len(own.split()) > 1:  # 'Forty-six spaces.'
            parts.append(FactQuote(passage, own, f"[{asked}] {own}", asked))
        before = "" if heading and not own.endswith("?") else own
    return parts


def holds_values(text: str) -> bool:
    """Whether a text lists named values, as a row of a table with joined columns: 'Quay: Gull quay; Boats: 14'."""
    values = text.split("; ")
    return len(values) > 1 and all(": " in value for value in values)


def distinct(parts: Iterable[FactQuote], most: int, of_a_passage: int = sys.maxsize) -> list[FactQuote]:
    """The first parts, without repetitions: at most `most` in all and at most `of_a_passage` from each passage."""
    chosen = list[FactQuote]()
    for part in parts:
        same = sum(part.passage.id == other.passage.id for other in chosen)
        if len(chosen) < most and same < of_a_passage and not any(_repeats(part, other) for other in chosen):
            chosen.append(part)
    return chosen


def _repeats(part: FactQuote, other: FactQuote) -> bool:
    """Whether both parts have the same text, or come from the same passage and one part contains the other."""
    within = part.passage.id == other.passage.id and not part.shown
    return part.text == other.text or (within and (part.text in other.text or other.text in part.text))


_LIGHT = QUERY_FILLERS | LIGHT_WORDS | {"say", "says", "said", "think", "much", "many", "tell", "really"}
_ASKS_FIGURE = re.compile(
    r"\bhow (?:many|much|long|old|often|far|high|big|large)\b|\b(?:cost|price|percent|share|number|figure|when)\w*",
    re.I,
)
_HAS_FIGURE = re.compile(
    r"\d|\b(?:hundred|thousand|million|dozen|half|third|two|three|four|five|six|seven|eight|nine|ten|"
    r"eleven|twelve|\w+teen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)\b",
    re.I,
)


def words_held(typed: str, parts: Sequence[FactQuote]) -> NDArray[np.float64]:
    """The share of the question's content words that each part or its day contains, shape (n,), weighted by idf."""
    wanted = _content_stems(typed)
    told = (f"{p.with_question} {p.passage.section} {p.passage.said_by} {_day_of_row(p)}" for p in parts)
    texts = [{*stems(text)} for text in told]
    weight = {word: np.log((len(texts) + 1) / (1 + sum(word in own for own in texts))) for word in wanted}
    whole = sum(weight.values()) or 1.0
    return np.array([sum(weight[word] for word in wanted & own) / whole for own in texts])


def _day_of_row(part: FactQuote) -> str:
    """Returns '8 February 2025' for a row with this day; '' for other texts, whose day is not what they report."""
    if not (holds_values(part.text) and len(part.passage.date) == len("2025-02-08")):
        return ""
    day = date.fromisoformat(part.passage.date)
    return f"{day.day} {day:%B %Y}"


def share_known(typed: str, passages: Iterable[Passage]) -> float:
    """The share of the question's content words that occur in any of the passages; 1 if the question has none."""
    wanted, known = _content_stems(typed), stems(" ".join(f"{p.title} {p.section} {p.text}" for p in passages))
    return len(wanted.intersection(known)) / len(wanted) if wanted else 1.0


def _content_stems(typed: str) -> set[str]:
    return {*stems(" ".join(w for w in re.findall(r"[\w'’-]+", typed) if w.casefold() not in _LIGHT))}


def figures_asked(typed: str, parts: Sequence[FactQuote]) -> NDArray[np.bool_]:
    """Which parts contain a figure, shape (n,); none if the question does not ask for a figure."""
    return np.array([bool(_ASKS_FIGURE.search(typed) and _HAS_FIGURE.search(part.text)) for part in parts])
