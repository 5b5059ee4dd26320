"""Lookup: a question of fact has no sides; the sources' plain sentences on it are all that there is to show."""

import asyncio

import numpy as np
from langgraph.runtime import Runtime

from agent.nodes.reporting import Stage, in_time, report, timed
from agent.options import RunOptions, options_of
from agent.providers import Providers
from agent.state import Claim, Failure, RunState
from tools.errors import DeadlineError
from tools.text.sentences import split_sentences
from tools.text.standalone import stands_alone

_ANSWERS = 0.6  # cosine of a sentence to the question at which it may hold the answer
_MOST = 2


def node(providers: Providers) -> Stage[RunState]:
    async def lookup(state: RunState, runtime: Runtime[RunOptions]) -> RunState:
        drafts: list[Claim] = []
        failures: list[Failure] = []
        options = options_of(runtime)
        try:
            drafts = await in_time(options, "write", _plain_claims(providers, state["framing"]["neutral"], options))
        except DeadlineError as exc:
            failures = [Failure(stage="lookup", message=f"Nothing could be looked up: {exc}")]
        report(runtime, "written", claims=len(drafts))
        return RunState(perspectives=[], drafts=drafts, failures=failures)

    return timed("lookup", lookup)


async def _plain_claims(providers: Providers, question: str, options: RunOptions) -> list[Claim]:
    """The sentences nearest to the question, each once."""
    query = (await providers.models.encode_queries([question]))[0]
    hits = await asyncio.to_thread(providers.search.search, question, query, options.collections, options.pool)
    passages = await asyncio.to_thread(providers.store.passages, [h.passage_id for h in hits])
    holders: dict[str, int] = {}
    for passage in (passages[h.passage_id] for h in hits if h.passage_id in passages):
        for sentence in filter(stands_alone, split_sentences(passage.text)):
            holders.setdefault(sentence, passage.id)
    sentences = list(holders)
    vectors = await providers.models.encode([question, *sentences])
    nearness = vectors[1:] @ vectors[0]
    best = [sentences[int(i)] for i in np.argsort(-nearness)[:_MOST] if nearness[i] >= _ANSWERS]
    return [Claim(perspective="", text=s, passages=[holders[s]], support=0.0, role="plain") for s in best]
