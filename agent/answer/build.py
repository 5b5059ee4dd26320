"""From a run's final state to its answer: reads what the answer quotes, and asks what else could be asked."""

import asyncio
import contextlib

from agent.answer.assemble import assemble
from agent.answer.model import Answer
from agent.answer.notes import gone_since
from agent.answer.summary import unquoted
from agent.deadlines import in_time
from agent.options import RunOptions
from agent.samples import nearest_questions
from agent.seams import Providers
from agent.state import RunState, quotes_of
from tools.errors import DeadlineError


async def answer_of(run_id: str, state: RunState, options: RunOptions, providers: Providers, seconds: float) -> Answer:
    """The public answer; `seconds`: how long the run took."""
    cited = {i for c in state.get("claims", []) for i in c["passages"]}
    explained = {r["passage"] for r in state.get("reasons", [])}
    quoted = {q["passage"] for r in state.get("responses", []) for q in quotes_of(r)}
    leaning = {i for ids in unquoted(state).values() for i in ids}
    counted = {i for c in state.get("coverage", {}).values() for i in c["ids"]}
    passages = await asyncio.to_thread(providers.passages, cited | explained | quoted | leaning | counted)
    stored = await asyncio.to_thread(providers.store.passages, cited | quoted)
    nearest: list[str] = []
    if not cited:
        with contextlib.suppress(DeadlineError):  # a courtesy that an answer does not wait for
            nearest = await in_time(
                options, "verify", nearest_questions(state["framing"]["question"], providers.models)
            )
    answer = assemble(run_id, state, passages, providers.names, nearest, seconds)
    gone = [p for i, p in passages.items() if i in cited | quoted and i not in stored]
    return answer.model_copy(update={"notes": [*answer.notes, *gone_since(gone)]})
