"""The quotations that stand beside what a model wrote, so that no perspective is shorter for having been written."""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence

from agent.evidence.checks import ClaimChecks
from agent.evidence.room import room_of
from agent.state import Claim, Dropped, in_case
from tools.budget import current_log
from tools.passages import Passage

NOT_WRITTEN = "The answer was not written"
"""Begins the note of a stage that ran out of time for all perspectives."""
_SOURCES = 3  # of a perspective's case, where there are so many
_USUAL = 4  # claims of a perspective


async def fill(checks: ClaimChecks, held: Sequence[Claim], dropped: Sequence[Dropped], limit: int) -> list[Claim]:
    """Quotations for the perspectives that show fewer claims than their sources would be quoted with: of what a model
    wrote too little may hold. Then some of further sources, as far as there is room for `limit` claims."""
    perspectives, shown = checks.state.get("perspectives", []), {c["text"] for c in held}
    quotations = checks.state.get("quotations", [])
    passed = (await checks.sift([q for q in quotations if q["text"] not in shown]))[0]
    wanted = Counter(q["perspective"] for q in quotations)
    ready = {p["id"]: [q for q in passed if q["perspective"] == p["id"]] for p in perspectives}
    own = {p["id"]: [c for c in held if c["perspective"] == p["id"]] for p in perspectives}
    filling = {i: filling_of(own[i], ready[i], wanted[i]) for i in own}
    now = {i: [*own[i], *filling[i]] for i in own}
    most = min(limit, max(room_of(now).values(), default=0))
    for i, claims in now.items():
        filling[i] += await from_others(checks, claims, ready[i], max(most - sum(map(in_case, claims)), 0))
    lost = {d["perspective"] for d in dropped} - {c["perspective"] for c in held}
    unwritten = _unwritten(checks)
    for perspective in perspectives:
        own_id, name = perspective["id"], perspective["name"]
        quoted = ": its sources are quoted instead." if filling[own_id] else "."
        brief = "Quotations stand in for what the model wrote." if filling[own_id] else ""
        if own_id in lost and filling[own_id]:
            current_log().note(
                "degraded", f"Nothing that the model wrote for '{name}' passed the checks{quoted}", brief
            )
        if own_id in unwritten:
            current_log().note("degraded", f"The model wrote nothing for '{name}'{quoted}", brief)
    return [claim for claims in filling.values() for claim in claims]


def _unwritten(checks: ClaimChecks) -> set[str]:
    """The perspectives with passages for which a model wrote nothing, where no other note tells that already."""
    state = checks.state
    if checks.providers.quote_fallback is None:
        return set()
    told = " ".join(f["message"] for f in state.get("failures", []) if f["stage"] == "write")
    named = {p["id"] for p in state.get("perspectives", []) if f"'{p['name']}'" in told or NOT_WRITTEN in told}
    drafted = {c["perspective"] for c in state.get("drafts", [])}
    return {i for i, found in state.get("coverage", {}).items() if found["ids"]} - drafted - named


def filling_of(own: Sequence[Claim], quotations: Sequence[Claim], wanted: int) -> list[Claim]:
    """The quotations with which a perspective has as many claims as are wanted: those of its case first, of passages
    that are not cited yet, and not the very words behind a claim, as far as there are others."""
    cited = {i for c in own for i in c["passages"]}
    behind = {words for c in own for words in c.get("evidence", [])}
    order = sorted(quotations, key=lambda q: (not in_case(q), q["text"] in behind, bool(cited & {*q["passages"]})))
    return order[: max(0, wanted - len(own))]


async def from_others(
    checks: ClaimChecks, shown: Sequence[Claim], quotations: Sequence[Claim], most: int
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
