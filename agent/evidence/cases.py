"""The case of each perspective: what its writer is given, the words that are quoted for it, what its documents answer,
and the quotations that stand beside what a model wrote, so that no perspective is shorter for having been written.

What documents answer (a thesis, the evidence for it, which theses are near each other) is that of a multi-perspective
search engine (`tools/selection/responses.py`), given what a run knows.
"""

import asyncio
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from agent.evidence.claims import ClaimVerifier
from agent.evidence.sentences import score_sentences
from agent.models.inference import Models
from agent.models.providers import Brief, Providers, SentenceScores
from agent.state import Claim, Dropped, Perspective, Response, RunState, Tier, contrary_statements, in_case, quotes_of
from tools.budget import current_log
from tools.passages import Passage
from tools.selection.responses import MOST, ThesisWeights, choose_thesis, group_theses


def case_sizes(claims: Mapping[str, Sequence[Claim]]) -> dict[str, int]:
    """How many claims of its case each perspective may show: at most two more than the shortest case (two claims).

    A perspective with less than that is no measure for the others: the answer says that it is thin instead.
    """
    sizes = {perspective: sum(map(in_case, own)) for perspective, own in claims.items()}
    cases = [n for n in sizes.values() if n >= 2]
    most = min(cases) + 2 if cases else 1
    return {perspective: min(n, most) for perspective, n in sizes.items()}


def balance_claims(claims: Mapping[str, Sequence[Claim]]) -> list[Claim]:
    """The claims of all perspectives as far as each has room, each sentence under one of them only."""
    room = case_sizes(claims)
    return deduplicated([c for perspective, own in claims.items() for c in limit_case(own, room[perspective])])


def limit_case(claims: Sequence[Claim], room: int) -> list[Claim]:
    """The first claims of the case as the room allows, and what may speak for the perspective beside them."""
    return [*[c for c in claims if in_case(c)][:room], *(c for c in claims if not in_case(c))]


def deduplicated(claims: Sequence[Claim]) -> list[Claim]:
    """A sentence stands under one perspective only: the one that it supports most."""
    best: dict[str, Claim] = {}
    for claim in claims:
        if claim["text"] not in best or claim["support"] > best[claim["text"]]["support"]:
            best[claim["text"]] = claim
    return [c for c in claims if best[c["text"]] is c]


async def brief_of(providers: Providers, state: RunState, perspective: Perspective, limit: int) -> Brief:
    """The passages that were chosen for the perspective, and who reads their sentences; `limit`: claims wanted.

    Beside a model that writes, and for a judge of many passages in a call, the reader is the judge of this process.
    """
    models, support = providers.models, state["support"]
    judge = models.judge(state.get("judge", ""))
    well_judged = judge.reads_documents
    if providers.quote is not None or well_judged:
        judge = models.judge(models.own_judge.name)
    chosen = state.get("selected", {}).get(perspective["id"], [])
    passages = await asyncio.to_thread(providers.passages, chosen)
    return Brief(
        perspective=perspective,
        contrary=contrary_statements(state).get(perspective["id"], ""),
        framing=state["framing"],
        passages=[passages[i] for i in chosen if i in passages],
        support=support.get(perspective["id"], {}),
        limit=limit,
        judge=judge,
        opposing=support.get(perspective["contrary"], {}),
        well_judged=well_judged,
    )


_MIN_CASE_CLAIMS = 2  # of a case, from which nothing that merely leans is shown beside it
_MOST_LEANING = 3  # quotations under 'may speak for this side'
_SPARES = 3
_REPEATS = 0.72  # cosine at which a sentence says what another one has said
_A_PASSAGE = 2  # quotations of one passage at most


async def quotations(models: Models, brief: Brief) -> tuple[list[Claim], list[Claim]]:
    """Quotes the words that argue most clearly for a side; where those make no case, also what may speak for it."""
    reading = brief.reading or (await score_sentences(models, [brief]))[0]
    groups = _groups(reading, brief.responses)
    picked = _pick(reading, np.flatnonzero(reading.case), groups, brief.limit + _SPARES, [])
    case = [_claim(brief, reading, i, "case") for i in picked]
    if len(case) >= _MIN_CASE_CLAIMS:
        return case[: brief.limit], case[brief.limit :]
    most = len(picked) + _MOST_LEANING - len(case)
    ids = np.array([u.passage.id for u in reading.units], np.int64)
    elsewhere = reading.leaning & ~np.isin(ids, ids[reading.case])  # what other passages hold is counted in the case
    beside = _pick(reading, np.flatnonzero(elsewhere), groups, most, picked)[len(picked) :]
    return [*case, *(_claim(brief, reading, i, "leaning") for i in beside)], []


def _pick(
    reading: SentenceScores, among: NDArray[np.int_], groups: Sequence[int | None], most: int, before: Sequence[int]
) -> list[int]:
    """`before` and, of the positions `among` which to choose, up to `most` in all that repeat nothing: greedily the
    best ranked of each source, then of each group of responses, then any. groups: of each quotable part's document."""
    order = [int(i) for i in among[np.argsort(-reading.quality[among], kind="stable")]]
    sources = [u.passage.source for u in reading.units]
    chosen = list(before)

    def take(candidates: Iterable[int]) -> None:
        for i in candidates:
            same = [j for j in chosen if reading.units[j].passage.id == reading.units[i].passage.id]
            nearest = max((float(reading.vectors[i] @ reading.vectors[j]) for j in chosen), default=-1.0)
            overlaps = any(_overlap(reading, i, j) for j in same)
            if len(chosen) < most and nearest < _REPEATS and len(same) < _A_PASSAGE and not overlaps:
                chosen.append(i)

    def new(of: Sequence[object]) -> Iterator[int]:
        return (i for i in order if of[i] not in [of[j] for j in chosen])

    for turn in (new(sources), new(groups), order):
        take(turn)
    return chosen


def _groups(reading: SentenceScores, responses: Sequence[Response]) -> list[int | None]:
    """For each quotable part the group of its speaker's response."""
    known = {r["thesis"]["passage"]: r["group"] for r in responses}
    speeches = [(u.passage.document, u.passage.speaker) for u in reading.units]
    found = {s: known[u.passage.id] for s, u in zip(speeches, reading.units, strict=True) if u.passage.id in known}
    return [*map(found.get, speeches)]


def _claim(brief: Brief, reading: SentenceScores, at: int, tier: Tier) -> Claim:
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


NOT_WRITTEN = "The answer was not written"
"""Begins the note of a stage that ran out of time for all perspectives."""
_SOURCES = 3  # of a perspective's case, where there are so many


async def add_quotations(
    checks: ClaimVerifier, held: Sequence[Claim], dropped: Sequence[Dropped], limit: int
) -> list[Claim]:
    """Quotations for the perspectives that show fewer claims than their sources would be quoted with: of what a model
    wrote too little may hold. Then some of further sources, as far as there is room for `limit` claims."""
    perspectives, shown = checks.state.get("perspectives", []), {c["text"] for c in held}
    quotations = checks.state.get("quotations", [])
    passed = (await checks.verify_claims([q for q in quotations if q["text"] not in shown]))[0]
    wanted = Counter(q["perspective"] for q in quotations)
    ready = {p["id"]: [q for q in passed if q["perspective"] == p["id"]] for p in perspectives}
    own = {p["id"]: [c for c in held if c["perspective"] == p["id"]] for p in perspectives}
    filling = {i: missing_quotations(own[i], ready[i], wanted[i]) for i in own}
    now = {i: [*own[i], *filling[i]] for i in own}
    most = min(limit, max(case_sizes(now).values(), default=0))
    for i, claims in now.items():
        room = max(most - sum(map(in_case, claims)), 0)
        filling[i] += await quotations_of_new_sources(checks, claims, ready[i], room)
    lost = {d["perspective"] for d in dropped if d["check"] != "unchecked"} - {c["perspective"] for c in held}
    unwritten, note = _unwritten(checks), current_log().note
    for own_id, name in ((p["id"], p["name"]) for p in perspectives):
        quoted = ": its sources are quoted instead." if filling[own_id] else "."
        brief = "Quotations stand in for what the model wrote." if filling[own_id] else ""
        if own_id in lost and filling[own_id]:
            note("degraded", f"Nothing that the model wrote for '{name}' passed the checks{quoted}", brief)
        if own_id in unwritten:
            note("degraded", f"The model wrote nothing for '{name}'{quoted}", brief)
    return [claim for claims in filling.values() for claim in claims]


def _unwritten(checks: ClaimVerifier) -> set[str]:
    """The perspectives with passages for which a model wrote nothing, where no other note tells that already."""
    state = checks.state
    if checks.providers.quote is None:
        return set()
    told = " ".join(f["message"] for f in state.get("notes", []) if f["stage"] == "write")
    named = {p["id"] for p in state.get("perspectives", []) if f"'{p['name']}'" in told or NOT_WRITTEN in told}
    drafted = {c["perspective"] for c in state.get("drafts", [])}
    on_focus = state.get("on_focus", {})
    covered = {p for p, c in state.get("coverage", {}).items() if {*c["ids"]}.intersection(on_focus.get(p, c["ids"]))}
    return covered - drafted - named


def missing_quotations(own: Sequence[Claim], quotations: Sequence[Claim], wanted: int) -> list[Claim]:
    """The quotations with which a perspective has as many claims as are wanted: those of its case first, of passages
    that are not cited yet, and not the very words behind a claim, as far as there are others."""
    cited = {i for c in own for i in c["passages"]}
    behind = {words for c in own for words in c.get("evidence", [])}
    order = sorted(quotations, key=lambda q: (not in_case(q), q["text"] in behind, bool(cited & {*q["passages"]})))
    return order[: max(0, wanted - len(own))]


async def quotations_of_new_sources(
    checks: ClaimVerifier, shown: Sequence[Claim], quotations: Sequence[Claim], most: int
) -> list[Claim]:
    """Up to `most` quotations of further sources, for a case that a model wrote from fewer than three."""
    if not any(c.get("written") for c in shown):
        return []
    more = [q for q in quotations if in_case(q) and q not in shown]
    ids = {i for c in (*shown, *more) for i in c["passages"]}
    passages = await asyncio.to_thread(checks.providers.passages, ids)
    sources = {source for c in shown if in_case(c) for source in _sources(c, passages)}
    taken: list[Claim] = []
    for quotation in more:
        own = _sources(quotation, passages)
        if len(taken) < most and len(sources) < _SOURCES and not own & sources:
            taken.append(quotation)
            sources |= own
    return taken


def _sources(claim: Claim, passages: Mapping[int, Passage]) -> set[str]:
    return {passages[i].source for i in claim["passages"] if i in passages}


_ALIKE = 0.4  # mean cosine, without what the question says, from which two make a group
_WEIGHTS = ThesisWeights(place=0.0)  # a few passages do not show where a sentence stands in its document


def document_responses(brief: Brief, reading: SentenceScores) -> list[Response]:
    """A response of each speaker of a document who says a sentence which may be quoted for the perspective.

    Groups with more independent sources come first, of equals those with the surer thesis; in a group the response
    that is nearest to the others.
    """
    speeches: dict[tuple[tuple[str, str], str], list[int]] = {}
    for i, unit in enumerate(reading.units):  # one speaker's words are no evidence for another's thesis
        speeches.setdefault((unit.passage.document, unit.passage.speaker), []).append(i)
    return _grouped(brief, reading, [r for here in speeches.values() if (r := _document(reading, np.array(here)))])


def under_one_perspective(responses: Sequence[Response], drafts: Sequence[Claim]) -> list[Response]:
    """The responses with every sentence under one perspective only: that of the draft that it is, or else the one that
    it supports most. A response without its thesis is none."""
    owner = {c["text"]: c["perspective"] for c in drafts}
    quotes = [(q, r["perspective"]) for r in responses for q in quotes_of(r)]
    for quote, perspective in sorted(quotes, key=lambda pair: -pair[0]["support"]):
        owner.setdefault(quote["text"], perspective)
    return [
        Response(**{**r, "evidence": [q for q in r["evidence"] if owner[q["text"]] == r["perspective"]]})
        for r in responses
        if owner[r["thesis"]["text"]] == r["perspective"]
    ]


def _document(reading: SentenceScores, here: NDArray[np.int_]) -> list[int]:
    """The positions of the document's thesis and of the evidence for it, the most relevant first, among what was read;
    empty where it has no thesis. here: the document's quotable parts. No two of them overlap."""
    vectors, case = reading.vectors[here], reading.case[here]
    support = np.nan_to_num(reading.confidence[here])[None]
    if not case.any():
        return []
    found = [int(here[choose_thesis(vectors, reading.question_vector, support, case, _WEIGHTS)[0]])]
    relevance = reading.vectors @ reading.vectors[found[0]]
    for i in sorted((int(i) for i in here[case]), key=lambda i: -float(relevance[i])):
        if len(found) <= MOST and not any(_overlap(reading, i, j) for j in found):
            found.append(i)
    return found


def _overlap(reading: SentenceScores, one: int, other: int) -> bool:
    a, b = reading.units[one], reading.units[other]
    return a.passage.id == b.passage.id and bool(set(a.positions) & set(b.positions))


def _grouped(brief: Brief, reading: SentenceScores, found: Sequence[list[int]]) -> list[Response]:
    """The responses, those near each other together; where one lies is the mean of its thesis and evidence, since a
    thesis alone tells less of what it is about."""
    if not found:
        return []
    vectors = np.stack([reading.vectors[positions].mean(axis=0) for positions in found])

    def weight(members: Sequence[int]) -> tuple[int, float]:
        theses = [found[m][0] for m in members]
        sources = {reading.units[i].passage.source for i in theses}
        return -len(sources), -max(float(reading.confidence[i]) for i in theses)

    ordered = sorted(group_theses(vectors, reading.question_vector, threshold=_ALIKE), key=weight)
    return [
        Response(
            perspective=brief.perspective["id"],
            group=number,
            thesis=reading.quote(found[m][0]),
            evidence=[reading.quote(i) for i in found[m][1:]],
        )
        for number, members in enumerate(ordered)
        for m in members
    ]
