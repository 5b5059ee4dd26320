"""Lookup: answers a question of fact, and a follow-up without sides or claims, with the sources' best sentences.

If a chat model is set, it picks the sentences. If it finds none that fits, it gets sentences of more passages.
"""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import product
from typing import NamedTuple

import numpy as np
from langgraph.runtime import Runtime
from pydantic import BaseModel, Field

from agent import limits
from agent.evidence.coverage import FilteredPassages, search_store, similarity_to
from agent.evidence.sentences import score_sentences, stances_to, with_denial
from agent.options import RunOptions, run_options
from agent.providers.inference import CachedJudge, Models
from agent.stage_interfaces import Brief, Providers, WebResults
from agent.stages.stage import ask_model, report, run_id, stage
from agent.state import Claim, FramingState, QuotedStance, RunState, asked_query, repeats_target
from prompts import as_data
from tools.budget import current_log, in_time, share_of_time
from tools.errors import DeadlineError, JudgeError
from tools.language.fact_quotes import FactQuote, distinct, fact_quotes, figures_asked, share_known, words_held
from tools.language.grounding import has_prompt_injection
from tools.language.identification import question_language, reads_as_english
from tools.models.chat.model import ChatModel
from tools.models.judges.batch import documents_as_data
from tools.passages import Passage
from tools.translation import tr


class _Ranking(NamedTuple):
    """Weights of a sentence's features. The sentence's own cosine to the typed words has weight 1. passage: cosine of
    its passage to the typed words. length: logarithm of its length in words. words: share of the typed words in the
    sentence. figure: whether it has a figure that was asked for. most: sentences shown per passage."""

    passage: float
    length: float
    words: float
    figure: float
    most: int


_FOLLOW_UP, _FACT = _Ranking(0.43, 0.085, 0.2, 0.1, most=1), _Ranking(0.5, 0.0, 1.3, 0.35, most=2)
"""Fitted on 270 follow-ups to 54 local disputes, and on 142 questions of fact about 36 of these disputes."""


class _LookupResult(NamedTuple):
    """parts: sentences to show, best first. read: all ranked sentences, or those that a model saw. left: passages."""

    parts: list[FactQuote]
    read: list[FactQuote]
    left: FilteredPassages


@stage("lookup")
async def lookup(providers: Providers, state: RunState, runtime: Runtime[RunOptions]) -> RunState:
    found = _LookupResult([], [], FilteredPassages([], {}))
    options, framing, web = run_options(runtime), state["framing"], WebResults()
    language = await asyncio.to_thread(question_language, framing["question"])
    if providers.english_only and language:
        current_log().note(
            "skipped", tr("The built-in judge reads English only, so what was found is not sorted by side.")
        )
    if state.get("earlier") and not framing["focus"]:  # understandable alone, but perhaps on the thread's subject
        thread = await providers.models.thread_question(state["earlier"])
        framing = FramingState(**{**framing, "question": thread, "focus": framing["question"]})
    outside = bool(options.sources) or not options.own_collections  # otherwise only the collections are searched
    try:
        if outside:
            web = await _search_sources(providers, framing, options)
        found = await in_time(_look_up(providers, framing, options, state))
    except DeadlineError as exc:
        current_log().note("late", tr("Nothing could be looked up: {error}", error=exc))
    report(runtime, "written", claims=len(found.parts))
    return RunState(
        perspectives=state.get("perspectives", []),
        drafts=[
            Claim(perspective="", text=p.text, shown=p.edited, passages=[p.passage.id], support=0.0, role="also")
            for p in found.parts
        ],
        candidates={"": found.left.ids},
        selected={"": list(dict.fromkeys(part.passage.id for part in found.read))},
        foreign_documents=found.left.foreign,
        unread_pages=web.unread,
        counts={"pages": web.new},
        kinds=providers.kinds_searched(options) if outside else [],
    )


async def _search_sources(providers: Providers, framing: FramingState, options: RunOptions) -> WebResults:
    """Searches the internet with the question; the lookup then ranks what was read."""
    for why in providers.not_asked(options):
        current_log().note("skipped", why)
    if not providers.sources(options):
        return WebResults()
    queries = list(dict.fromkeys([framing["focus"] or framing["question"], asked_query(framing)]))
    with share_of_time(limits.LOOKUP_SEARCH):
        web = await providers.web.find(run_id(), queries, options.pages, options.pool, options.domains, options.sources)
    for problem in dict.fromkeys(str(p) for each in web.problems.values() for p in each):
        current_log().note("failed", problem)
    return web


async def _look_up(providers: Providers, framing: FramingState, options: RunOptions, state: RunState) -> _LookupResult:
    """Returns the sentences that a chat model picks. Without its reply, returns the best ranked sentences. state: names
    the quotation that the question wants to see opposed; it is left out."""
    read = list[FactQuote]()
    for pool in (limits.LOOKUP_POOL, limits.LOOKUP_SECOND_POOL):
        ranked = await _rank_sentences(providers, framing, options, pool, state)
        if providers.pick is None:
            break
        new = [part for part in ranked.read if part not in read][: limits.LOOKUP_SHOWN]
        new.sort(key=lambda p: (p.passage.document, p.passage.position, p.passage.text.find(p.text)))
        picked = await providers.pick(framing, [replace(p.passage, text=p.shown or p.text) for p in new]) if new else []
        if picked is None:  # the model failed
            break
        read += new
        ranked = _LookupResult(distinct((new[i] for i in picked), limits.LOOKUP_PICKED), read, ranked.left)
        if picked:
            break
    quoted = {part.passage.id: part.passage for part in ranked.parts}
    stored = await asyncio.to_thread(providers.store.vectors, [*quoted])
    await asyncio.to_thread(providers.store.kept.put, run_id(), [quoted[i] for i in quoted if i in stored], stored)
    return ranked


class PickedSentences(BaseModel):
    """A model's reply."""

    sentences: list[int] = Field(default_factory=list, max_length=limits.LOOKUP_SHOWN)


async def pick_by_chat(model: ChatModel, framing: FramingState, sentences: Sequence[Passage]) -> list[int]:
    """Returns the positions of the answering sentences, best first. Each sentence is shown as a passage."""
    numbered = {str(n): sentence for n, sentence in enumerate(sentences, 1)}
    reply = await ask_model(
        model,
        "lookup",
        PickedSentences,
        question=as_data("question", framing["question"]),
        focus=f"The reader now asks: {as_data('focus', framing['focus'])}" if framing["focus"] else "",
        sentences=documents_as_data(numbered),
        most=str(limits.LOOKUP_PICKED),
    )
    return [n - 1 for n in dict.fromkeys(reply.sentences) if str(n) in numbered]


async def pick_none(_: FramingState, sentences: Sequence[Passage]) -> None:
    """Replaces a model that fails. The caller then shows the best ranked sentences."""


async def _rank_sentences(
    providers: Providers, framing: FramingState, options: RunOptions, pool: int, state: RunState
) -> _LookupResult:
    """Returns the sentences of the retrieved passages, best first, and the sentences to show.

    Two queries are searched: the typed words, and the thread's question with the typed words. The typed words weigh
    more, so that 'and what would it cost?' finds the cost on the thread's subject.
    """
    typed, whole = framing["focus"] or framing["question"], asked_query(framing)
    queries = list(dict.fromkeys([typed, whole, framing.get("asked", whole)]))
    found, passages = await _search_queries(providers, queries, options, pool)
    parts = [part for i in found.ids for part in fact_quotes(passages[i]) if not repeats_target(state, part.text)]
    near = await similarity_to(providers, [typed, whole], list({p.passage.id for p in parts}))
    parts = [part for part in parts if part.passage.id in near]
    english = await asyncio.to_thread(reads_as_english, typed)  # other languages need an encoder that reads them
    encode = providers.models.encode if english else providers.models.encode_passages
    vectors = await encode([typed, *(p.with_question for p in parts)])
    cosine, held = vectors[1:] @ vectors[0], words_held(typed, parts)
    known = framing["focus"] and share_known(typed, passages.values()) >= limits.LOOKUP_KNOWN_WORDS
    if not parts:
        return _LookupResult([], [], found)
    to_typed, to_whole = np.array([near[p.passage.id] for p in parts]).T
    lengths, figures = np.log([len(p.text.split()) for p in parts]), figures_asked(typed, parts)
    by = _FOLLOW_UP if framing["focus"] else _FACT
    fit = cosine + by.passage * to_typed + by.length * lengths + by.words * held + by.figure * figures
    fit += np.minimum(to_whole, limits.LOOKUP_SAME_SUBJECT)
    listed = to_whole >= min(limits.LOOKUP_RELATED, to_whole.max() / 2)  # other encoders may give only small cosines
    order = [int(at) for at in np.argsort(-fit, kind="stable")]
    fitting = (parts[at] for at in order if listed[at] and (known or cosine.max() >= limits.LOOKUP_NEAR))
    return _LookupResult(distinct(fitting, limits.LOOKUP_SENTENCES, by.most), [parts[at] for at in order], found)


async def more_like(
    providers: Providers,
    question: str,
    words: str,
    options: RunOptions,
    stand: QuotedStance | None,
    judge: str | None,
    run: str = "",
) -> list[tuple[str, Passage]]:
    """Returns sentences similar to a quotation with their passages, most similar first. The quotation is left out.

    stand: the perspective that the quotation supports; the sentences must support it too. None: any sentence will do.
    judge: the name of the run's judge; None: the embedded judge. run: the run whose pages are searched if no
    collection is.
    """
    models = providers.models
    found, passages = await search_store(providers, words, replace(options, pool=limits.LOOKUP_POOL), run)
    parts = [part for i in found.ids for part in fact_quotes(passages[i]) if words not in part.text]
    parts = [part for part in {p.text: p for p in parts}.values() if part.text not in words]
    parts = [part for part in parts if not has_prompt_injection(part.text)]
    near = await similarity_to(providers, [words, question], list({p.passage.id for p in parts}))
    parts = [part for part in parts if part.passage.id in near and near[part.passage.id][1] >= limits.LOOKUP_RELATED]
    vectors = await models.encode([words, *(p.text for p in parts)])
    cosine = vectors[1:] @ vectors[0]
    nearest = (parts[int(at)] for at in np.argsort(-cosine, kind="stable") if cosine[at] >= limits.LOOKUP_NEAR)
    alike = distinct(nearest, limits.MORE_LIKE_WEIGHED, 1)
    if stand and alike:
        by = models.judge(models.own_judge.name if judge is None else judge)
        alike = await _agreeing(models, question, alike, stand, by)
    return [(part.text, part.passage) for part in alike[: limits.MORE_LIKE]]


async def _agreeing(
    models: Models, question: str, parts: list[FactQuote], stand: QuotedStance, judge: CachedJudge
) -> list[FactQuote]:
    """Returns the sentences that support the quotation's perspective. A judge of documents decides. Without such a
    judge, the sentences must pass the same test as quotations."""
    perspective, contrary = stand
    if judge.reads_documents:
        with suppress(JudgeError):
            stances = await stances_to(judge, *with_denial(perspective, contrary), [p.shown or p.text for p in parts])
            return [p for p, (own, other) in zip(parts, stances, strict=True) if own >= judge.threshold and own > other]
        judge = models.judge(models.own_judge.name)
    framing = FramingState(form="polar", question=question, alternatives=[], focus="")
    brief = Brief(perspective, contrary, framing, [p.passage for p in parts], {}, limit=limits.MORE_LIKE, judge=judge)
    reading = (await score_sentences(models, [brief]))[0]
    sure = [(unit.passage.id, unit.text) for unit, case in zip(reading.units, reading.case, strict=True) if case]
    return [p for p in parts if any(i == p.passage.id and (text in p.text or p.text in text) for i, text in sure)]


async def _search_queries(
    providers: Providers, queries: list[str], options: RunOptions, pool: int
) -> tuple[FilteredPassages, dict[int, Passage]]:
    wide, ids, known = replace(options, pool=max(pool, options.pool)), dict[int, None](), dict[int, Passage]()
    left, elsewhere = FilteredPassages([], {}), tuple(kind for kind in options.sources if kind != "mine")
    places = [wide, *([replace(wide, sources=elsewhere)] if elsewhere and options.own_collections else [])]
    for query, place in product(queries, places):
        found, passages = await search_store(providers, query, place, run_id(), tables=True)
        ids, known = ids | dict.fromkeys(found.ids), known | passages
        left = FilteredPassages([*ids], left.foreign | found.foreign)
    return left, known
