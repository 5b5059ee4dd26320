"""The sentences and table rows of passages as answers to a question of fact: what can be quoted, and how much of the
question's words it holds."""

import re
import sys
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tools.language.grounding import stems, verbatim
from tools.language.quotable import LONGEST_PAIR, is_prose, needs_context
from tools.language.sentences import is_heading, split_sentences, without_mark
from tools.language.words import LIGHT_WORDS, QUERY_FILLERS
from tools.passages import Passage

_LIGHT = QUERY_FILLERS | LIGHT_WORDS | {"say", "says", "said", "think", "much", "many", "tell", "really"}
_ASKS_FIGURE = re.compile(
    r"\bhow (?:many|much|long|old|often|far|high|big|large)\b|\b(?:cost|price|percent|share|number|figure|when)\w*",
    re.I,
)
_HAS_FIGURE = re.compile(
    r"\d|\b(?:hundred|thousand|million|dozen|half|third|two|three|four|five|six|seven|eight|nine|ten)\b", re.I
)


class Part(NamedTuple):
    """A sentence or a table row as it is quoted, and as it is shown: a row after its table's head."""

    passage: Passage
    text: str
    shown: str = ""


def parts_of(passage: Passage) -> list[Part]:
    """What can be quoted of a passage: sentences, each with the one before where it leans on that; a table's rows."""
    if passage.form == "table":
        head, *rows = [line for line in passage.text.split("\n") if line.strip()]
        return [Part(passage, row, f"[{head}] {row}") for row in rows]
    parts, before, sentences = list[Part](), "", split_sentences(passage.text)
    for sentence in sentences:
        own = without_mark(sentence)
        heading = is_heading(sentence) and len(sentences) > 1  # a row's text often has no full stop
        if not heading and is_prose(own) and not own.endswith("?"):
            pair = f"{before} {own}"
            leans = before and needs_context(own) and len(pair.split()) <= LONGEST_PAIR
            parts.append(Part(passage, pair if leans and verbatim(pair, passage.text) else own))
        before = "" if heading else own
    return parts


def distinct(parts: Iterable[Part], most: int, of_a_passage: int = sys.maxsize) -> list[Part]:
    """The first parts that repeat no earlier one, so many at most in all and of each passage."""
    chosen = list[Part]()
    for part in parts:
        same = sum(part.passage.id == other.passage.id for other in chosen)
        if len(chosen) < most and same < of_a_passage and not any(_repeats(part, other) for other in chosen):
            chosen.append(part)
    return chosen


def _repeats(part: Part, other: Part) -> bool:
    """Whether they are the same words, or one of two sentences of a passage holds the other."""
    within = part.passage.id == other.passage.id and not part.shown
    return part.text == other.text or (within and (part.text in other.text or other.text in part.text))


def words_held(typed: str, parts: Sequence[Part]) -> NDArray[np.float64]:
    """The share of the typed words that each part holds, (n,). Rarer words count more (idf)."""
    wanted, texts = _telling(typed), [{*stems(f"{p.text} {p.passage.section} {p.passage.said_by}")} for p in parts]
    weight = {word: np.log((len(texts) + 1) / (1 + sum(word in own for own in texts))) for word in wanted}
    whole = sum(weight.values()) or 1.0
    return np.array([sum(weight[word] for word in wanted & own) / whole for own in texts])


def share_known(typed: str, passages: Iterable[Passage]) -> float:
    """The share of the typed words that stand in any of the passages; 1 without a word that tells anything."""
    wanted = _telling(typed)
    return (
        len(wanted & {*stems(" ".join(f"{p.title} {p.section} {p.text}" for p in passages))}) / len(wanted)
        if wanted
        else 1.0
    )


def _telling(typed: str) -> set[str]:
    """The stems of the typed words that tell what is asked about."""
    return {*stems(" ".join(w for w in re.findall(r"[\w'’-]+", typed) if w.casefold() not in _LIGHT))}


def figures_asked(typed: str, parts: Sequence[Part]) -> NDArray[np.bool_]:
    """Which parts have a figure, (n,); none where the typed words ask for no figure."""
    return np.array([bool(_ASKS_FIGURE.search(typed) and _HAS_FIGURE.search(part.text)) for part in parts])
