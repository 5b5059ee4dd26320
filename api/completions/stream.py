"""The answer as OpenAI's stream of chunks.

The text that is streamed is the very document that a caller without `stream` gets. Sources are numbered in the order in
which the whole answer uses them, the summary counts all of them, and a claim may still be replaced while any side is
being verified: nothing of the document is certain before the run is done, but its title. So the title is sent at once,
and the rest, paragraph by paragraph, when the run is done.

What happens until then, each verified claim among it, goes out as `reasoning_content`, the member in which DeepSeek's
and other servers send what comes before an answer. Clients that know it show it apart; OpenAI's own and LangChain's
leave it out of the content. Where nothing happens for long, a chunk without text is sent and not a comment: LangChain
gives up on a stream that has no chunk for two minutes.
"""

import json
import re
from collections.abc import AsyncIterator
from contextlib import aclosing
from datetime import datetime
from typing import Any

from agent.runs.store import RunRow
from api.completions.content import message_of, opening_of, usage_of
from api.completions.problems import error_of, failed
from api.completions.progress import ReasoningWords
from api.completions.schemas import Completion
from api.events import followed
from api.service import Service
from tools.errors import SteelmanError

_BLOCKS = re.compile(r".+?(?:\n\n+|\Z)", re.DOTALL)
_DONE = "data: [DONE]\n\n"


async def chunks(
    service: Service, run: RunRow, model: str, base: str, include_usage: bool, aside: bool
) -> AsyncIterator[str]:
    """The run's answer as server-sent events. A client that goes away costs the run nothing."""
    making = _Chunks(completion_id(run), created(run), model, include_usage, run)
    opening = opening_of(run.question, aside)
    yield making.delta(role="assistant", content="")
    yield making.delta(content=opening)
    reasoning = ReasoningWords()
    try:
        async with aclosing(followed(service, run.id)) as events:
            async for event in events:
                if event is None or (words := reasoning.words(event)):
                    yield making.delta(**({"reasoning_content": words} if event else {}))
        answer = await service.answer(run.id)
    except SteelmanError as exc:
        yield _data({"error": error_of(failed(run.id, exc).problem)})
        yield _DONE
        return
    message = message_of(answer, base, aside)
    making.outcome = answer.outcome
    for block in _BLOCKS.findall(message.content.removeprefix(opening)):
        yield making.delta(content=block)
    if message.annotations:  # all in one: clients add chunks up, and could not tell a second list from the first
        yield making.delta(annotations=[a.model_dump() for a in message.annotations])
    yield making.delta("stop")
    if include_usage:
        yield making.chunk([], usage_of(answer).model_dump())
    yield _DONE


async def chunks_of(reply: Completion, include_usage: bool) -> AsyncIterator[str]:
    """A reply without a run, as the same events."""
    making = _Chunks(reply.id, reply.created, reply.model, include_usage)
    yield making.delta(role="assistant", content="")
    yield making.delta(content=reply.choices[0].message.content)
    yield making.delta("stop")
    if include_usage:
        yield making.chunk([], reply.usage.model_dump())
    yield _DONE


class _Chunks:
    """Makes the chunks of one run, or of a reply without one; `outcome` is known once the run is done."""

    def __init__(self, name: str, at: int, model: str, include_usage: bool, run: RunRow | None = None) -> None:
        self.outcome: str | None = None
        self._run, self._include_usage = run, include_usage
        self._head = {"id": name, "object": "chat.completion.chunk", "created": at, "model": model}

    def delta(self, finish_reason: str | None = None, /, **delta: Any) -> str:
        return self.chunk([{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}])

    def chunk(self, choices: list[dict[str, Any]], usage: dict[str, Any] | None = None) -> str:
        run = self._run
        about = run and {"run_id": run.id, "thread": run.thread, "outcome": self.outcome}
        return _data(
            {**self._head, "choices": choices, "steelman": about} | ({"usage": usage} if self._include_usage else {})
        )


def completion_id(run: RunRow) -> str:
    return f"chatcmpl-{run.id}"


def created(run: RunRow) -> int:
    """When the run was begun, in seconds since the epoch."""
    return int(datetime.fromisoformat(run.created_at).timestamp())


def _data(value: dict[str, Any]) -> str:
    return f"data: {json.dumps(value, ensure_ascii=False)}\n\n"
