"""Coverage of a perspective: filters citable passages, groups passages with the same content, and builds the pool.

Near-duplicates and paraphrases count once. Passages of one publisher count as one source.
"""

import asyncio
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from agent.limits import ENOUGH_PASSAGES, ENOUGH_SOURCES
from agent.options import RunOptions
from agent.providers.inference import CachedJudge, Models
from agent.stage_interfaces import Providers, SentenceScores
from agent.state import Coverage, CoverageStatus, PassageEvidence, RunState
from tools.budget import current_log, in_time
from tools.errors import SteelmanError
from tools.language.demands import ticked_answers
from tools.language.identification import is_english, question_language, question_words
from tools.language.near_duplicates import copy_groups, differ_in_figures, group_paraphrases, reason_clause, repeats
from tools.language.quotable import quotable_parts
from tools.language.sentences import passage_sentences, split_sentences
from tools.models.encoders import MiniLM
from tools.models.judges.quoting import argues
from tools.passages import Passage
from tools.selection import Pool
from tools.store.hybrid import fuse
from tools.translation import answer_language, tr


class FilteredPassages(NamedTuple):
    """ids: passages that may be cited, in order. foreign: languages (ISO 639-1) of documents left out, by title."""

    ids: list[int]
    foreign: dict[str, str]


def filter_passages(
    ids: Sequence[int], passages: Mapping[int, Passage], question: str, *, tables: bool = False
) -> FilteredPassages:
    """Returns the passages that the answer may cite.

    An English question gets documents in English or in an unknown language. A question in another language, which is
    searched in English too, also gets documents in its language. An empty question gets all. tables: include rows of
    tables and captions, for questions of fact and for judges that can read them.
    """
    read = "", "en", answer_language()
    found = [passages[i] for i in ids if i in passages and (tables or passages[i].form == "prose")]
    if all(p.language in read for p in found) or not question or not is_english(question_words(question)):
        return FilteredPassages([p.id for p in found], {})
    foreign = {p.title or p.document_id: p.language for p in found if p.language not in read}
    return FilteredPassages([p.id for p in found if p.language in read], foreign)


def search_passages(
    providers: Providers, query: str, vector: NDArray[np.float32], options: RunOptions, run: str
) -> list[int]:
    """Returns up to `options.pool` passages of the collections, best first. If no collection is searched, returns
    passages of the pages that the run has read, by cosine. run: the run's id. Raises as `HybridSearch.search` does."""
    if options.own_collections:
        return [h.passage_id for h in providers.search.search(query, vector, options.own_collections, options.pool)]
    stored = providers.store.web.vectors(providers.store.web.passage_ids(run))
    return sorted(stored, key=lambda i: (-float(stored[i] @ vector), -i))[: options.pool]


async def search_store(
    providers: Providers, query: str, options: RunOptions, run: str, *, tables: bool = False
) -> tuple[FilteredPassages, dict[int, Passage]]:
    """Searches as `search_passages`. Returns the passages that the answer may cite, and all that were retrieved."""
    vector = (await providers.models.encode_queries([query]))[0]
    ids = await asyncio.to_thread(search_passages, providers, query, vector, options, run)
    stored = await asyncio.to_thread(providers.store.passages, ids)
    other = await asyncio.to_thread(question_language, query) if providers.models.encoder_languages else ""
    asked = "" if other else query  # only questions in English leave out other languages
    kept = await asyncio.to_thread(filter_passages, ids, stored, asked, tables=tables)
    return kept, await asyncio.to_thread(providers.passages, ids)


def originals_of(passages: Mapping[int, Passage]) -> dict[int, int]:
    """Maps each passage id to the id of the passage that it copies, otherwise to itself. Copies are judged and counted
    once. The original is the earliest of the copies that are nearly as long as the longest. A passage that was
    shortened to its own sentences is no copy."""
    ids = sorted(passages)
    texts = {i: passages[i].whole or passages[i].text for i in ids}
    groups = dict(zip(ids, copy_groups([*texts.values()]), strict=True))
    length = {i: len(text) for i, text in texts.items()}
    longest = {groups[i]: length[i] for i in sorted(ids, key=length.__getitem__)}
    whole = [i for i in ids if length[i] >= _NEARLY_WHOLE * longest[groups[i]]]
    order = sorted(whole, key=lambda i: (bool(passages[i].whole), passages[i].date or "9", i), reverse=True)
    original = {groups[i]: i for i in order}
    return {i: i if passages[i].whole else original[group] for i, group in groups.items()}


_NEARLY_WHOLE = 2 / 3  # share of the longest copy's characters; a shorter copy may lack an argument
_FEWEST_OWN_WORDS = 8  # of a sentence; fewer may be a date line or a signature


def own_sentences_of(passages: Mapping[int, Passage]) -> dict[int, str]:
    """Maps a copy to its quotable sentences that its original and earlier copies lack. Other copies are left out."""
    originals, found = originals_of(passages), dict[int, str]()
    groups, said = defaultdict[int, set[tuple[str, str]]](set), defaultdict[tuple[str, str], list[str]](list)
    for i, first in originals.items():
        groups[first].add(passages[i].document)
        if i == first:
            said[passages[i].document].append(passages[i].text)
    copies = (i for i, first in originals.items() if i != first)
    for i in sorted(copies, key=lambda i: (passages[i].date or "9", i)):
        first = originals[i]
        if own := _own_sentences(passages[i], [passages[first].text, *(t for key in groups[first] for t in said[key])]):
            found[i] = own
            said[passages[i].document].append(own)
    return found


def _own_sentences(passage: Passage, said: Sequence[str]) -> str:
    """Returns the passage's quotable sentences that none of the texts says, one a line, '…' for omissions."""
    sentences, own = split_sentences(passage.text), set[int]()
    for part in quotable_parts(passage):
        new = [i for i in part.positions if not any(repeats(sentences[i], text) for text in said)]
        if part.positions[-1] in new and len(sentences[part.positions[-1]].split()) >= _FEWEST_OWN_WORDS:
            own.update(new)
    gaps = ("…\n" if i - 1 not in own and i > min(own) else "" for i in sorted(own))
    return "\n".join(gap + sentences[i] for gap, i in zip(gaps, sorted(own), strict=True))


def coverage_of(
    evidence: PassageEvidence,
    passages: Mapping[int, Passage],
    *,
    cited: Sequence[int] | None = None,
    same: Mapping[int, int] = MappingProxyType({}),
) -> Coverage:
    """Returns how well the evidence covers its perspective.

    cited: passages of verified claims; they count too. Without a cited passage the status is at best 'thin'. same: maps
    each passage to the first with the same content; of these one counts, preferably a cited one.
    """
    ids = evidence["ids"]
    if cited is not None:
        counted = list(dict.fromkeys([*ids, *cited]))
        kept = distinct_texts([*cited, *counted], same)
        ids = [i for i in counted if i in kept]
    sources = len({passages[i].source for i in ids if i in passages})
    enough = len(ids) >= ENOUGH_PASSAGES and sources >= ENOUGH_SOURCES and (cited is None or bool(cited))
    weak: CoverageStatus = "thin" if ids else "not_found"
    status: CoverageStatus = "supported" if enough else weak
    return Coverage(ids=ids, strongest=evidence["strongest"], status=status, passages=len(ids), sources=sources)


def favouring_passages(support: dict[int, float], contrary: dict[int, float]) -> dict[int, float]:
    """Returns the passages that support a perspective at least as much as they support the opposing side."""
    return {i: s for i, s in support.items() if s >= contrary.get(i, 0.0)}


def judged_evidence(
    support: dict[int, float],
    threshold: float,
    passages: Mapping[int, Passage],
    originals: Mapping[int, int],
    same: Mapping[int, int] = MappingProxyType({}),
) -> PassageEvidence:
    """Returns the passages at or above the threshold. Copies and passages with the `same` content count once."""
    above = sorted((i for i, s in support.items() if s >= threshold and i in passages), key=lambda i: (-support[i], i))
    ids = distinct_texts(distinct_texts(above, originals), same)
    return PassageEvidence(ids=ids, strongest=max((support[i] for i in ids), default=0.0))


def sentence_evidence(reading: SentenceScores) -> PassageEvidence:
    """Returns the passages with a sentence for the case, surest first. Only the surest of several copies counts."""
    originals = originals_of({u.passage.id: u.passage for u in reading.units})
    best: dict[int, tuple[float, int]] = {}
    for i in np.flatnonzero(reading.case):
        passage, sure = reading.units[i].passage.id, float(reading.confidence[i])
        best[originals[passage]] = max(best.get(originals[passage], (-1.0, 0)), (sure, passage))
    case = sorted(best.values(), reverse=True)
    return PassageEvidence(ids=[passage for _, passage in case], strongest=case[0][0] if case else 0.0)


def arguing_passages(reading: SentenceScores, judge: CachedJudge) -> list[int]:
    """Returns the passage with the surest arguing part of each document that argues for the perspective."""
    arguing = argues(reading.features, reading.grounds, reading.rescored & judge.reads_closely, judge.quoting)
    sure = np.where(arguing, np.nan_to_num(reading.confidence), -1.0)
    best: dict[tuple[str, str], int] = {}
    for i in (int(i) for i in np.argsort(-sure, kind="stable") if arguing[i]):
        best.setdefault(reading.units[i].passage.document, reading.units[i].passage.id)
    return list(best.values())


def distinct_texts(ids: Sequence[int], same: Mapping[int, int]) -> list[int]:
    """Returns the ids without passages that have the `same` content as an earlier passage."""
    first: dict[int, int] = {}
    for i in ids:
        first.setdefault(same.get(i, i), i)
    return list(first.values())


async def paraphrase_groups(models: Models, passages: dict[int, Passage], ids: Collection[int]) -> dict[int, int]:
    """Maps each passage to one passage that says the same word for word or in other words.

    The thresholds for paraphrases fit the embedded encoder. With another encoder only copies are found.
    """
    kept = {i: passages[i] for i in sorted(set(ids)) if i in passages}
    originals = originals_of(kept)
    if not isinstance(models.encoder, MiniLM):
        return originals
    texts = sorted(set(originals.values()))
    # Two people who tick the same answer give two reasons.
    read = [passage_sentences(kept[i]) for i in texts]
    sentences = [[s for s in mine if not ticked_answers(s.text)] or mine for mine in read]
    vectors = await models.encode_sentences([s for mine in sentences for s in mine])
    ends = np.cumsum([len(mine) for mine in sentences])
    parts = [vectors[end - len(mine) : end] for mine, end in zip(sentences, ends, strict=True)]
    why = [reason_clause(mine[0].text) if len(mine) == 1 else "" for mine in sentences]
    of = dict(zip(given := [w for w in why if w], await models.encode(given), strict=True)) if any(why) else {}
    groups = await asyncio.to_thread(group_paraphrases, parts, [of.get(w) for w in why])
    first = {i: texts[group] for i, group in zip(texts, groups, strict=True)}
    first = {i: i if differ_in_figures(kept[i].text, kept[one].text) else one for i, one in first.items()}
    return {i: first[original] for i, original in originals.items()}


async def build_pool(
    providers: Providers, state: RunState, passages: dict[int, Passage], options: RunOptions
) -> tuple[list[int], Pool]:
    """Returns the passages' ids in the order of the pool, best first, and the pool.

    A passage that was deleted meanwhile has no vector and is left out.
    """
    stored = await asyncio.to_thread(providers.vectors, list(passages))
    ids = [i for i, _ in fuse(list(state["candidates"].values())) if i in passages and i in stored]
    question = state["framing"]["question"]
    vectors = np.stack([stored[i] for i in ids]) if ids else np.zeros((0, 1), np.float32)
    cosine = vectors @ (await providers.models.encode_queries([question]))[0] if ids else np.zeros(0)
    known = await _word_scores(providers, question, options)
    usual = float(np.mean([known.get(i, 0.0) for i in ids if i > 0] or [0.0]))  # web pages are not indexed
    support = state.get("support", {})
    judged = [[support.get(p["id"], {}).get(i, np.nan) for i in ids] for p in state["perspectives"]]
    pool = Pool(
        cosine=cosine,
        vectors=vectors,
        words=np.array([known.get(i, 0.0 if i > 0 else usual) for i in ids], np.float64),
        support=np.array(judged).reshape(len(judged), len(ids)),
        sources=[passages[i].source for i in ids],
    )
    return ids, pool


async def similarity_to(
    providers: Providers, statements: Sequence[str], ids: Sequence[int]
) -> dict[int, NDArray[np.float32]]:
    """Maps each passage to its cosines to the statements, shape (statements,)."""
    stored = await asyncio.to_thread(providers.vectors, ids)
    asked = await providers.models.encode_queries(list(statements))
    return {i: np.asarray(asked @ vector, np.float32) for i, vector in stored.items()}


def counter_rank(support: float, nearness: float) -> float:
    """Returns the score of a counter-argument: support times nearness.

    support: the judge's probability for the opposing statement. nearness: cosine to the claim. A text with low cosine
    is about something else. A text with high cosine but low support repeats the claim.
    """
    return support * max(0.0, nearness)


async def _word_scores(providers: Providers, question: str, options: RunOptions) -> dict[int, float]:
    """Returns BM25 scores by passage; none if the index does not answer in time, so that only vectors count."""
    with suppress(SteelmanError):
        return await in_time(asyncio.to_thread(providers.search.word_scores, question, options.own_collections))
    current_log().note("failed", tr("Passages were chosen without their word scores."))
    return {}
