"""Lookup: a question of fact has no perspectives; the sources' plain sentences on it are all that there is to show."""

import asyncio

import numpy as np
from langgraph.runtime import Runtime

from agent.evidence.coverage import FilteredPassages, search_store
from agent.models.providers import Providers
from agent.options import RunOptions, in_time, options_of
from agent.stages.stage import report, run_id, stage
from agent.state import Claim, RunState
from tools.budget import current_log
from tools.errors import DeadlineError
from tools.language.quotable import stands_alone
from tools.language.sentences import split_sentences

_ANSWERS = 0.6  # cosine of a sentence to the question at which it may hold the answer
_MOST = 2


@stage("lookup")
async def lookup(providers: Providers, state: RunState, runtime: Runtime[RunOptions]) -> RunState:
    drafts: list[Claim] = []
    _, foreign, addressed = FilteredPassages([], {}, {})
    options, asked = options_of(runtime), state["framing"]["question"]
    try:
        drafts, (_, foreign, addressed) = await in_time(options, "write", _plain_claims(providers, asked, options))
    except DeadlineError as exc:
        current_log().note("late", f"Nothing could be looked up: {exc}")
    report(runtime, "written", claims=len(drafts))
    return RunState(perspectives=[], drafts=drafts, foreign_documents=foreign, addressing_documents=addressed)


async def _plain_claims(
    providers: Providers, question: str, options: RunOptions
) -> tuple[list[Claim], FilteredPassages]:
    """The sentences nearest to the question, each once; and what was left out."""
    found, passages = await search_store(providers, question, options, tables=True)
    holders: dict[str, int] = {}
    for i in found.ids:
        for sentence in filter(stands_alone, split_sentences(passages[i].text)):
            holders.setdefault(sentence, i)
    sentences = list(holders)
    vectors = await providers.models.encode([question, *sentences])
    nearness = vectors[1:] @ vectors[0]
    best = [sentences[int(i)] for i in np.argsort(-nearness)[:_MOST] if nearness[i] >= _ANSWERS]
    held = {holders[s] for s in best}
    stored = await asyncio.to_thread(providers.store.vectors, held)
    await asyncio.to_thread(providers.store.kept.put, run_id(), [passages[i] for i in held if i in stored], stored)
    claims = [Claim(perspective="", text=s, passages=[holders[s]], support=0.0, role="also") for s in best]
    return claims, found
