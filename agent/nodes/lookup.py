"""Lookup: a question of fact has no sides; the sources' plain sentences on it are all that there is to show."""

import asyncio

import numpy as np
from langgraph.runtime import Runtime

from agent.nodes.reporting import Stage, report, timed
from agent.options import RunOptions
from agent.providers import Providers
from agent.state import Claim, RunState
from tools.sentences import split_sentences
from tools.standalone import stands_alone

_ANSWERS = 0.6  # cosine of a sentence to the question at which it may hold the answer
_MOST = 2


def node(providers: Providers) -> Stage[RunState]:
    async def lookup(state: RunState, runtime: Runtime[RunOptions]) -> RunState:
        question, options = state["framing"]["neutral"], runtime.context
        vector = (await providers.models.encode([question]))[0]
        hits = await asyncio.to_thread(providers.search.search, question, vector, options.collections, options.pool)
        passages = await asyncio.to_thread(providers.store.passages, [h.passage_id for h in hits])
        sentences = [(s, i) for i, p in passages.items() for s in split_sentences(p.text) if stands_alone(s)]
        nearness = (await providers.models.encode([s for s, _ in sentences])) @ vector
        best = [int(i) for i in np.argsort(-nearness)[:_MOST] if nearness[i] >= _ANSWERS]
        drafts = [
            Claim(perspective="", text=sentences[i][0], passages=[sentences[i][1]], support=0.0, role="plain")
            for i in best
        ]
        report(runtime, "written", claims=len(drafts))
        return RunState(perspectives=[], first_pass=[h.passage_id for h in hits], drafts=drafts)

    return timed("lookup", lookup)
