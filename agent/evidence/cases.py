"""Builds the case of each perspective (its clear claims): the writer's input, the quotations, and the documents'
responses.

A document's response has a thesis and evidence for the thesis. The thesis is the sentence of the case with the highest
sum of confidence and cosine to the question. Similar responses form a group (`tools.selection`).
"""

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product

import numpy as np
from numpy.typing import NDArray

from agent import limits
from agent.evidence.coverage import distinct_texts, originals_of, paraphrase_groups
from agent.evidence.sentences import score_sentences, speeches_of
from agent.providers.inference import Models
from agent.stage_interfaces import Brief, Providers, SentenceScores
from agent.state import Claim, Perspective, RunState, ScoredResponse, contrary_statements, judge_form, quotes_of
from tools.language.demands import demanded_answer
from tools.language.quotable import quotable_parts, short_statements
from tools.language.reported_speech import speaker_of
from tools.limits import CLEAR
from tools.models.judges.judge import AFFIRMING
from tools.passages import Passage
from tools.selection import group_theses, independent_first

_WORD = re.compile(r"[^\W\d_]+")


async def briefs_of(providers: Providers, state: RunState, limit: int) -> list[Brief]:
    """Returns the writer's input for each perspective. limit: quotations wanted.

    The embedded judge judges the sentences if a chat model writes, or if the run's judge is a judge of documents.
    """
    models, chosen, support = providers.models, state.get("selected", {}), state.get("support", {})
    judge, contrary = models.judge(state.get("judge", "")), contrary_statements(state)
    read = judge.reads_documents
    found = (chosen, support, state.get("candidates", {})) if read else (chosen,)
    ids = {i for each in found for own in each.values() for i in own}
    passages = await asyncio.to_thread(providers.passages, ids, state.get("own_sentences", {}))
    briefs = [
        Brief(
            perspective=p,
            contrary=contrary[p["id"]],
            framing=state["framing"],
            passages=[passages[i] for i in chosen.get(p["id"], []) if i in passages],
            support=support.get(p["id"], {}),
            limit=limit,
            judge=models.judge(models.own_judge.name) if providers.quote or read else judge,
            opposing=state.get("opposition", {}).get(p["id"], {}),
            passage_scores_trusted=read,
        )
        for p in state["perspectives"]
    ]
    return await _with_opposing_passages(models, state, briefs, passages) if read else briefs


async def _with_opposing_passages(
    models: Models, state: RunState, briefs: Sequence[Brief], passages: dict[int, Passage]
) -> list[Brief]:
    """Adds the passages against each perspective. Each text occurs once. passages: all retrieved passages."""
    against = [_against(state, brief, passages) for brief in briefs]
    judged = {p.id for brief in briefs for p in brief.passages}.union(*against)
    originals = await asyncio.to_thread(originals_of, passages)
    texts = {originals[i] for i in judged}
    same = await paraphrase_groups(models, passages, [i for i, text in originals.items() if text in texts])
    return [_each_text_once(b, opposed, passages, same) for b, opposed in zip(briefs, against, strict=True)]


def _against(state: RunState, brief: Brief, passages: Mapping[int, Passage]) -> list[int]:
    """Returns the passages that only argue against the perspective. First come passages of people whom the
    perspective's own passages name, because those passages often answer them. Then the strongest come first, and every
    source comes once before a source comes again.

    Among equally strong passages, sources that do not support the perspective come first.
    """
    own, mine = brief.perspective["id"], {p.id: p.source for p in brief.passages}
    found = state.get("opposition", {}).get(own, {})
    ids = [i for i, s in found.items() if s >= state["threshold"] and i in passages and i not in mine]
    ranked = sorted(ids, key=lambda i: (-found[i], passages[i].source in mine.values(), i))
    words = {word for p in brief.passages for word in _WORD.findall(p.text)}
    surnames = {i: passages[i].said_by.partition(",")[0].rpartition(" ")[2] for i in ranked}
    named = [i for i in ranked if surnames[i][:1].isupper() and surnames[i] in words][: limits.ANSWERED_PASSAGES]
    return list(dict.fromkeys([*named, *independent_first([passages[i] for i in ranked])]))


def _each_text_once(
    brief: Brief, against: Sequence[int], passages: Mapping[int, Passage], same: Mapping[int, int]
) -> Brief:
    """Returns the brief with the passages for and against that the writer gets. Each text occurs once."""
    mine = distinct_texts([p.id for p in brief.passages], same)
    clear = [i for i in mine if brief.support[i] >= CLEAR][: limits.CLEAR_PASSAGES]
    weak = [i for i in mine if brief.support[i] < CLEAR][: max(0, limits.FILLED_PASSAGES - len(clear))]
    opposed = distinct_texts(against, same)[: limits.OPPOSING_PASSAGES if brief.contrary else limits.OBJECTING_PASSAGES]
    return replace(brief, passages=[passages[i] for i in (*clear, *weak)], against=[passages[i] for i in opposed])


def deduplicated(claims: Sequence[Claim]) -> list[Claim]:
    """Keeps each sentence only under the perspective that it supports most, and once in a perspective's objections."""
    best: dict[tuple[str, str], Claim] = {}
    for claim in claims:
        key = claim["text"], claim["perspective"] if claim.get("objection") else ""
        if key not in best or claim["support"] > best[key]["support"]:
            best[key] = claim
    return [c for c in claims if any(c is b for b in best.values())]


async def quotations(models: Models, brief: Brief) -> list[Claim]:
    """Returns quotations of the sentences that argue most clearly for the side."""
    reading = brief.sentence_scores or (await score_sentences(models, [brief]))[0]
    quotes = map(reading.quote, _pick(reading, _groups(reading, brief.responses), brief.limit))
    return [
        Claim(
            perspective=brief.perspective["id"],
            text=quote["text"],
            shown=quote["shown"],
            passages=[quote["passage"]],
            support=quote["support"],
            role="case",
        )
        for quote in quotes
    ]


def demands(perspective: Perspective, text: str) -> bool:
    """Whether a text demands the answer that the perspective gives to a yes-or-no question."""
    word, _, question = perspective["statement"].partition(": ")
    if judge_form(perspective) != "answer":
        return False
    return demanded_answer(text, question) == ("yes" if word in AFFIRMING else "no")


def demanded_claims(briefs: Sequence[Brief], claims: Sequence[Claim]) -> list[Claim]:
    """Returns a quotation for each person in a document who demands an answer. Each side gets up to its brief's limit,
    with its `claims`, which are not repeated.

    A judge of documents reads such sentences itself, so that the list is then empty."""
    if any(brief.passage_scores_trusted for brief in briefs):
        return []
    passages, found = {p.id: p for brief in briefs for p in brief.passages}, list[Claim]()
    for brief in briefs:
        side = brief.perspective["id"]
        mine = [claim for claim in claims if claim["perspective"] == side]
        seen = {_person(passages[i], c["text"]) for c in mine for i in c["passages"] if i in passages}
        for passage in sorted(passages.values(), key=lambda p: "#" in p.key):  # rows of a table last
            for part in (*quotable_parts(passage), *short_statements(passage)):
                fits = demands(brief.perspective, part.text) and _person(passage, part.text) not in seen
                if fits and len(mine) < brief.limit:
                    seen.add(_person(passage, part.text))
                    claim = Claim(perspective=side, text=part.text, passages=[passage.id], support=1.0, role="case")
                    mine.append(Claim(**claim, shown=part.shown))
                    found.append(mine[-1])
    return found


def _person(passage: Passage, quote: str) -> tuple[tuple[str, str], str]:
    return passage.document, speaker_of(passage, quote)


def _pick(reading: SentenceScores, groups: Sequence[int | None], most: int) -> list[int]:
    """Returns the positions of up to `most` quotable parts of the case that do not repeat each other. The best part of
    each kind of evidence comes first if it is about as good as the best part of all, then the best part of each source,
    then the best part of each response group, then any part.

    groups: for each quotable part the group of its speaker's response, or None.
    """
    among = np.flatnonzero(reading.case)
    order = [int(i) for i in among[np.argsort(-reading.quality[among], kind="stable")]]
    sources = [u.passage.source for u in reading.units]
    evidence = [u.passage.evidence_kind for u in reading.units]
    equal = [i for i in order if reading.quality[i] >= reading.quality[order[0]] - limits.AS_GOOD]
    kinds: tuple[Sequence[object], ...] = (sources, groups, range(len(sources)))
    chosen: list[int] = []
    for kind, i in (*((evidence, i) for i in equal), *product(kinds, order)):
        same = [j for j in chosen if reading.units[j].passage.id == reading.units[i].passage.id]
        nearest = max((float(reading.vectors[i] @ reading.vectors[j]) for j in chosen), default=-1.0)
        repeats = nearest >= limits.REPEATS or any(_overlap(reading, i, j) for j in same)
        is_new = kind[i] not in [kind[j] for j in chosen] and not repeats
        if len(chosen) < most and is_new and len(same) < limits.QUOTES_PER_PASSAGE:
            chosen.append(i)
    return chosen


def _groups(reading: SentenceScores, responses: Sequence[ScoredResponse]) -> list[int | None]:
    """Returns for each quotable part the group that has its speaker's response; None without such a group."""
    known = {r["thesis"]["passage"]: r["group"] for r in responses}
    speeches = [(u.passage.document, u.passage.speaker) for u in reading.units]
    found = {s: known[u.passage.id] for s, u in zip(speeches, reading.units, strict=True) if u.passage.id in known}
    return [*map(found.get, speeches)]


def document_responses(brief: Brief, reading: SentenceScores) -> list[ScoredResponse]:
    """Returns one response for each speaker of a document with a sentence for the case.

    Groups with more independent sources come first; with equally many sources, groups with the surer thesis. Within a
    group the response most similar to the others comes first. A response's vector is the mean of its sentences.
    """
    speeches = speeches_of(reading.units).values()  # thesis and evidence have the same speaker
    found = [r for here in speeches if (r := _thesis_and_evidence(reading, np.array(here)))]
    if not found:
        return []
    vectors = np.stack([reading.vectors[positions].mean(axis=0) for positions in found])

    def weight(members: Sequence[int]) -> tuple[int, float]:
        theses = [found[m][0] for m in members]
        sources = {reading.units[i].passage.source for i in theses}
        return -len(sources), -max(float(reading.confidence[i]) for i in theses)

    ordered = sorted(group_theses(vectors, reading.question_vector, threshold=limits.SAME_RESPONSE), key=weight)
    return [
        ScoredResponse(
            perspective=brief.perspective["id"],
            group=number,
            thesis=reading.quote(found[m][0]),
            evidence=[reading.quote(i) for i in found[m][1:]],
        )
        for number, members in enumerate(ordered)
        for m in members
    ]


def under_one_perspective(responses: Sequence[ScoredResponse], drafts: Sequence[Claim]) -> list[ScoredResponse]:
    """Leaves every sentence under one perspective: the perspective of a draft with the same text, otherwise the
    perspective that the sentence supports most.

    A response that loses its thesis is dropped.
    """
    owner = {c["text"]: c["perspective"] for c in drafts}
    quotes = [(q, r["perspective"]) for r in responses for q in quotes_of(r)]
    for quote, perspective in sorted(quotes, key=lambda pair: -pair[0]["support"]):
        owner.setdefault(quote["text"], perspective)
    return [
        ScoredResponse(**{**r, "evidence": [q for q in r["evidence"] if owner[q["text"]] == r["perspective"]]})
        for r in responses
        if owner[r["thesis"]["text"]] == r["perspective"]
    ]


def _thesis_and_evidence(reading: SentenceScores, here: NDArray[np.int_]) -> list[int]:
    """Returns the position of the thesis, then the positions of the evidence, most relevant first. Without a sentence
    for the case the list is empty.

    here: positions of the speaker's quotable parts in the document. The returned parts do not overlap.
    """
    vectors, case = reading.vectors[here], reading.case[here]
    if not case.any():
        return []
    score = np.clip(vectors @ reading.question_vector, 0.0, 1.0) + np.nan_to_num(reading.confidence[here])
    found = [int(here[np.argmax(np.where(case, score, -np.inf))])]
    relevance = reading.vectors @ reading.vectors[found[0]]
    for i in sorted((int(i) for i in here[case]), key=lambda i: -float(relevance[i])):
        if len(found) <= limits.RESPONSE_EVIDENCE and not any(_overlap(reading, i, j) for j in found):
            found.append(i)
    return found


def _overlap(reading: SentenceScores, one: int, other: int) -> bool:
    a, b = reading.units[one], reading.units[other]
    return a.passage.id == b.passage.id and bool(set(a.positions) & set(b.positions))
