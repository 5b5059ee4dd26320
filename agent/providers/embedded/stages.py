"""Framing, requerying and writing without a model.

Frame: what kind of question it is, and follow-ups read with their thread. Requery: queries for an uncovered perspective
from its statement and what was found for it. Write: what the sources say word for word, best supported and least
redundant.
"""

import asyncio
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from agent.evidence.sentences import read_perspectives
from agent.inference import Models
from agent.seams import Brief, Reading
from agent.state import A_CASE, Claim, FramingState, Perspective, Response, Tier, is_answer
from tools.language.lexicon import lower_first
from tools.language.question import read_question
from tools.language.words import KEYWORD_STOP_WORDS, LIGHT_WORDS, NEGATORS

_FOLLOW_UP = re.compile(
    r"^(?:and |but |ok(?:ay)?,? |so )*(?:what|how) about (?P<focus>.+?)\??$|^(?:and|but)\s+(?P<rest>.+?)\??$",
    re.IGNORECASE,
)
_ASKS = re.compile(r"(?:is|are|should|does|do|will|can|would|has|have)\b", re.IGNORECASE)
_PRONOUN = re.compile(
    r"\b(?:it|its|they|them|their)\b|\b(?:this|that|these|those)\W*$|^\w+ (?:this|that|these|those)\b", re.IGNORECASE
)
_SHORT = 8  # words of a question that cannot do without the one that its pronoun points to


class EmbeddedFramer:
    """Tells the kind of a question by its words alone."""

    async def frame(self, question: str, earlier: Sequence[str]) -> FramingState:
        return await asyncio.to_thread(_frame, question, earlier)


def _frame(question: str, earlier: Sequence[str]) -> FramingState:
    asked, focus = read_with(question, earlier[-1]) if earlier else (question, "")
    read = read_question(asked)
    return FramingState(
        form="plain" if read.kind == "fact" else read.kind,  # a fact is looked up, and has no sides
        question=read.text,
        alternatives=list(read.options),
        focus=focus,
    )


def read_with(question: str, earlier: str) -> tuple[str, str]:
    """What a follow-up asks by itself, and the focus that it puts on the earlier question ('' where it puts none).

    'What about the cost?' is the earlier question with a focus on the cost; a short question with a pronoun ('Is it
    safe?') is asked with the earlier one before it.
    """
    asked = question.strip()
    if match := _FOLLOW_UP.match(asked):
        focus = (match["focus"] or match["rest"]).strip()
        if not _ASKS.match(focus):
            return earlier, focus
        asked = focus[:1].upper() + focus[1:] + "?"
    if _PRONOUN.search(asked) and len(asked.split()) <= _SHORT:
        return f"{earlier} {asked}", ""
    return asked, ""


_REASON = re.compile(r",? (?:because|since|so that|as long as)\b", re.IGNORECASE)
_WORD = re.compile(r"[\w'-]+")
_DENIALS = NEGATORS | {"nor", "without"}
_ANGLES: tuple[str, ...] = ("evidence that {statement}", "reasons why {statement}", "{keywords}")
_ASKED = ("{keywords} {found}", "{keywords}")
"""Of a question with the word that answers it."""
_COUNTERS = ("{topic}", "doubts and evidence against {topic}")
_POINT = 12  # words of what is argued against that make a query
_FOUND, _SHORTEST = 6, 4
"""Words of the best passages that make a query, and the letters of one at least."""


class EmbeddedRequerier:
    """Queries by angle, each with the side's whole statement: its topic alone would look for either side, or for the
    wrong one ('benefits of smoking bans' where the side is that smoking should not be banned)."""

    async def queries(
        self, perspective: Perspective, framing: FramingState, tried: Sequence[str], found: Sequence[str] = ()
    ) -> list[str]:
        said, angles, topic = perspective["statement"], _ANGLES, ""
        if answers := is_answer(perspective["name"], said):
            said, angles = framing["question"], _ASKED
        statement = _REASON.split(said)[0].rstrip(" .?!")
        words = keywords(statement)
        if framing["form"] == "counter":
            angles, topic = (words, *_COUNTERS), " ".join(keywords(framing["focus"]).split()[:_POINT])
        about = " ".join(_frequent(found, words)) if answers else ""
        filled = (
            a.format(statement=lower_first(statement), topic=topic, keywords=words, found=about).strip() for a in angles
        )
        known = {t.casefold() for t in tried}
        return [q for q in dict.fromkeys(filled) if q and q.casefold() not in known]


def keywords(statement: str) -> str:
    """The statement's content words in their order, and what denies them."""
    words = _WORD.findall(statement)
    return " ".join(w for w in words if w.lower() in _DENIALS or w.lower() not in KEYWORD_STOP_WORDS)


def _frequent(texts: Sequence[str], known: str) -> list[str]:
    """The words that most of the texts have and the query has not (pseudo-relevance feedback, Rocchio 1971)."""
    asked = {w.lower() for w in known.split()}
    counts = Counter(w for text in texts for w in dict.fromkeys(map(str.lower, _WORD.findall(text))))
    left_out = asked | KEYWORD_STOP_WORDS | LIGHT_WORDS
    return [w for w, _ in counts.most_common() if w.isalpha() and len(w) >= _SHORTEST and w not in left_out][:_FOUND]


MOST_LEANING = 3
"""Quotations under 'may speak for this side' at most."""
_SPARES = 3
_REPEATS = 0.72  # cosine at which a sentence says what another one has said
_A_PASSAGE = 2  # quotations of one passage at most


class EmbeddedWriter:
    """Quotes the words that argue most clearly for a side; where those make no case, also what may speak for it."""

    def __init__(self, models: Models) -> None:
        self._models = models

    async def write(self, brief: Brief) -> tuple[list[Claim], list[Claim]]:
        reading = brief.reading or (await read_perspectives(self._models, [brief]))[0]
        groups = _groups(reading, brief.responses)
        picked = _pick(reading, np.flatnonzero(reading.case), groups, brief.limit + _SPARES, [])
        case = [_claim(brief, reading, i, "case") for i in picked]
        if len(case) >= A_CASE:
            return case[: brief.limit], case[brief.limit :]
        most = len(picked) + MOST_LEANING - len(case)
        beside = _pick(reading, np.flatnonzero(_elsewhere(reading)), groups, most, picked)[len(picked) :]
        return [*case, *(_claim(brief, reading, i, "leaning") for i in beside)], []


def _elsewhere(reading: Reading) -> NDArray[np.bool_]:
    """What may speak for the side in passages that hold nothing for its case: what others hold is counted there."""
    ids = np.array([u.passage.id for u in reading.units], np.int64)
    return np.asarray(reading.leaning & ~np.isin(ids, ids[reading.case]))


def _pick(
    reading: Reading, among: NDArray[np.int_], groups: Sequence[int | None], most: int, before: Sequence[int]
) -> list[int]:
    """`before` and, of the positions `among` which to choose, up to `most` in all that repeat nothing: greedily the
    best ranked of each source, then of each group of responses, then any. groups: of each quotable part's document."""
    order = [int(i) for i in among[np.argsort(-reading.rank[among], kind="stable")]]
    sources = [u.passage.source for u in reading.units]
    chosen = list(before)

    def take(candidates: Iterable[int]) -> None:
        for i in candidates:
            unit = reading.units[i]
            same = [reading.units[j] for j in chosen if reading.units[j].passage.id == unit.passage.id]
            overlaps = any(set(unit.positions) & set(u.positions) for u in same)
            nearest = max((float(reading.vectors[i] @ reading.vectors[j]) for j in chosen), default=-1.0)
            if len(chosen) < most and nearest < _REPEATS and len(same) < _A_PASSAGE and not overlaps:
                chosen.append(i)

    def new(of: Sequence[object]) -> Iterator[int]:
        return (i for i in order if of[i] not in [of[j] for j in chosen])

    for turn in (new(sources), new(groups), order):
        take(turn)
    return chosen


def _groups(reading: Reading, responses: Sequence[Response]) -> list[int | None]:
    """For each quotable part the group of its document's response."""
    known = {r["thesis"]["passage"]: r["group"] for r in responses}
    documents = [u.passage.document for u in reading.units]
    ids = [u.passage.id for u in reading.units]
    found = {d: known[i] for d, i in zip(documents, ids, strict=True) if i in known}
    return [found.get(d) for d in documents]


def _claim(brief: Brief, reading: Reading, at: int, tier: Tier) -> Claim:
    quote = reading.quote(at)
    return Claim(
        perspective=brief.perspective["id"],
        text=quote["text"],
        shown=quote["shown"],
        passages=[quote["passage"]],
        support=quote["support"],
        role="case",
        tier=tier,
    )
