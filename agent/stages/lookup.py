"""Lookup: what has no sides is answered by the sources' own sentences, the best first.

Three kinds of text come here: a question of fact, a follow-up that is no question with sides, and a follow-up for whose
sides nothing was found.
"""

import asyncio
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from langgraph.runtime import Runtime
from numpy.typing import NDArray

from agent.evidence.coverage import FilteredPassages, search_store, similarity_to
from agent.models.providers import Providers
from agent.options import RunOptions, options_of
from agent.stages.stage import report, run_id, stage
from agent.state import Claim, FramingState, RunState, asked_query
from tools.budget import current_log, in_time
from tools.errors import DeadlineError
from tools.language.addressed import has_prompt_injection
from tools.language.grounding import stems, verbatim
from tools.language.quotable import LONGEST_PAIR, is_prose, needs_context
from tools.language.sentences import is_heading, split_sentences, without_mark
from tools.language.words import LIGHT_WORDS, QUERY_FILLERS
from tools.passages import Passage

_POOL = 60  # passages of each query
_MOST = 15
_LIKE = 6  # sentences like a quotation


class _Ranking(NamedTuple):
    """Weights beside a sentence's cosine to the typed words: its passage's cosine to them, the logarithm of its length
    in words, the share of the typed words that it holds, and a figure if one is asked for; and how many sentences of a
    passage are shown."""

    passage: float
    length: float
    words: float
    figure: float
    most: int


_FOLLOW_UP, _FACT = _Ranking(0.43, 0.085, 0.2, 0.1, most=1), _Ranking(0.5, 0.0, 1.3, 0.35, most=2)
"""Fitted on 270 follow-ups to 54 local disputes, and on 142 questions of fact on 36 of them."""
_ON_SUBJECT = 0.25  # cosine of a passage to the thread's question with the typed words; below it, other subjects begin
_RELATED = 0.2  # cosine of a passage to the same from which its sentences are listed
_NEAR = 0.4  # least cosine of the nearest sentence; below it the documents do not speak of the question
_KNOWN = 0.5  # share of a follow-up's words that the documents hold, from which they are about it, near or not
_LIGHT = QUERY_FILLERS | LIGHT_WORDS | {"say", "says", "said", "think", "much", "many", "tell", "really"}
_ASKS_FIGURE = re.compile(
    r"\bhow (?:many|much|long|old|often|far|high|big|large)\b|\b(?:cost|price|percent|share|number|figure|when)\w*",
    re.I,
)
_HAS_FIGURE = re.compile(
    r"\d|\b(?:hundred|thousand|million|dozen|half|third|two|three|four|five|six|seven|eight|nine|ten)\b", re.I
)


class _Part(NamedTuple):
    """A sentence or a table row as it is quoted, and as it is shown: a row after its table's head."""

    passage: Passage
    text: str
    shown: str = ""


@stage("lookup")
async def lookup(providers: Providers, state: RunState, runtime: Runtime[RunOptions]) -> RunState:
    drafts: list[Claim] = []
    left = FilteredPassages([], {})
    options, framing = options_of(runtime), state["framing"]
    if state.get("earlier") and not framing["focus"]:  # it stands alone, and may still be about the thread's subject
        thread = await providers.models.thread_question(state["earlier"])
        framing = FramingState(**{**framing, "question": thread, "focus": framing["question"]})
    try:
        drafts, left = await in_time(_best_sentences(providers, framing, options))
    except DeadlineError as exc:
        current_log().note("late", f"Nothing could be looked up: {exc}")
    report(runtime, "written", claims=len(drafts))
    return RunState(
        perspectives=state.get("perspectives", []),
        drafts=drafts,
        foreign_documents=left.foreign,
    )


async def _best_sentences(
    providers: Providers, framing: FramingState, options: RunOptions
) -> tuple[list[Claim], FilteredPassages]:
    """The best sentences of the passages found, best first; and what was left out.

    Both the typed words and the thread's question with them are searched for. The typed words weigh more, so that
    'and what would it cost?' finds the cost on the thread's subject.
    """
    typed, whole = framing["focus"] or framing["question"], asked_query(framing)
    found, passages = await _searched(providers, list(dict.fromkeys([typed, whole])), options)
    parts = [part for i in found.ids for part in parts_of(passages[i])]
    near = await similarity_to(providers, [typed, whole], list({p.passage.id for p in parts}))
    parts = [part for part in parts if part.passage.id in near]
    vectors = await providers.models.encode([typed, *(p.text for p in parts)])
    cosine, held = vectors[1:] @ vectors[0], words_held(typed, parts)
    known = framing["focus"] and share_known(typed, passages.values()) >= _KNOWN
    if not parts or not (known or cosine.max() >= _NEAR):
        return [], found
    to_typed, to_whole = np.array([near[p.passage.id] for p in parts]).T
    figures = np.array([bool(_ASKS_FIGURE.search(typed) and _HAS_FIGURE.search(p.text)) for p in parts])
    lengths = np.log([len(p.text.split()) for p in parts])
    by = _FOLLOW_UP if framing["focus"] else _FACT
    fit = cosine + by.passage * to_typed + by.length * lengths + by.words * held + by.figure * figures
    fit += np.minimum(to_whole, _ON_SUBJECT)
    listed = to_whole >= min(_RELATED, to_whole.max() / 2)  # another encoder's cosines may all be small
    chosen, shown = list[_Part](), Counter[int]()
    for part in (parts[int(at)] for at in np.argsort(-fit, kind="stable") if listed[at]):
        repeats = any(_repeats(part, other) for other in chosen)
        if len(chosen) < _MOST and shown[part.passage.id] < by.most and not repeats:
            shown[part.passage.id] += 1
            chosen.append(part)
    await _keep(providers, [part.passage for part in chosen])
    return [_claim(part) for part in chosen], found


def _repeats(part: _Part, other: _Part) -> bool:
    """Whether they are the same words, or one of two sentences of a passage holds the other."""
    within = part.passage.id == other.passage.id and not part.shown
    return part.text == other.text or (within and (part.text in other.text or other.text in part.text))


async def more_like(providers: Providers, question: str, words: str, options: RunOptions) -> list[tuple[str, Passage]]:
    """Sentences near to a quotation of an answer to the question, the nearest first, with their passages. The quotation
    itself and what stands next to it in its sentence are left out."""
    found, passages = await search_store(providers, words, replace(options, pool=_POOL))
    parts = [part for i in found.ids for part in parts_of(passages[i]) if words not in part.text]
    parts = [part for part in {p.text: p for p in parts}.values() if part.text not in words]
    parts = [part for part in parts if not has_prompt_injection(part.text)]
    near = await similarity_to(providers, [words, question], list({p.passage.id for p in parts}))
    parts = [part for part in parts if part.passage.id in near and near[part.passage.id][1] >= _RELATED]
    vectors = await providers.models.encode([words, *(p.text for p in parts)])
    cosine, chosen = vectors[1:] @ vectors[0], dict[int, tuple[str, Passage]]()
    for at in np.argsort(-cosine, kind="stable"):
        part = parts[int(at)]
        if cosine[at] >= _NEAR and len(chosen) < _LIKE:
            chosen.setdefault(part.passage.id, (part.text, part.passage))
    return list(chosen.values())


async def _searched(
    providers: Providers, queries: list[str], options: RunOptions
) -> tuple[FilteredPassages, dict[int, Passage]]:
    wide, ids, known = replace(options, pool=max(_POOL, options.pool)), dict[int, None](), dict[int, Passage]()
    left = FilteredPassages([], {})
    for query in queries:
        found, passages = await search_store(providers, query, wide, tables=True)
        ids, known = ids | dict.fromkeys(found.ids), known | passages
        left = FilteredPassages([*ids], left.foreign | found.foreign)
    return left, known


def parts_of(passage: Passage) -> list[_Part]:
    """What can be quoted of a passage: sentences, each with the one before where it leans on that; a table's rows."""
    if passage.form == "table":
        head, *rows = [line for line in passage.text.split("\n") if line.strip()]
        return [_Part(passage, row, f"[{head}] {row}") for row in rows]
    parts, before, sentences = list[_Part](), "", split_sentences(passage.text)
    for sentence in sentences:
        own = without_mark(sentence)
        heading = is_heading(sentence) and len(sentences) > 1  # a row's text often has no full stop
        if not heading and is_prose(own) and not own.endswith("?"):
            pair = f"{before} {own}"
            leans = before and needs_context(own) and len(pair.split()) <= LONGEST_PAIR
            parts.append(_Part(passage, pair if leans and verbatim(pair, passage.text) else own))
        before = "" if heading else own
    return parts


def words_held(typed: str, parts: list[_Part]) -> NDArray[np.float64]:
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


async def _keep(providers: Providers, passages: list[Passage]) -> None:
    """Keeps the passages that the answer quotes with the run."""
    stored = await asyncio.to_thread(providers.store.vectors, [p.id for p in passages])
    await asyncio.to_thread(providers.store.kept.put, run_id(), [p for p in passages if p.id in stored], stored)


def _claim(part: _Part) -> Claim:
    claim = Claim(perspective="", text=part.text, passages=[part.passage.id], support=0.0, role="also")
    return Claim(**{**claim, "shown": part.shown}) if part.shown else claim
