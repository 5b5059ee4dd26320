"""The answer as OpenAI's stream of chunks.

The text that is streamed is the very document that a caller without `stream` gets. Sources are numbered in the order in
which the whole answer uses them, the summary counts all of them, and a claim may still be replaced while any side is
being verified: nothing of the document is certain before the run is done, but its title. So the title is sent at once,
and the rest, paragraph by paragraph, when the run is done.

What happens until then, each verified claim among it, goes out as `reasoning_content`, the member in which DeepSeek's
and other servers send what comes before an answer. Clients that know it show it apart; OpenAI's own and LangChain's
leave it out of the content. What keeps a quiet stream alive is a chunk without text and not a comment: LangChain
gives up on a stream that has no chunk for two minutes.
"""

import json
import re
from collections.abc import AsyncIterator, Iterator
from datetime import datetime
from typing import Any

from openai.types import CompletionUsage
from sse_starlette import EventSourceResponse, ServerSentEvent

from agent.runs.store import RunRow
from api.completions.content import NO_TOKENS, content_of, opening_of, usage_of
from api.completions.problems import error_of, failed
from api.completions.progress import ReasoningWords
from api.completions.schemas import Completion
from api.events import sent
from api.service import Service
from tools.errors import SteelmanError

_BLOCKS = re.compile(r".+?(?:\n\n+|\Z)", re.DOTALL)
_DONE = {"data": "[DONE]"}


def stream(
    service: Service, run: RunRow, model: str, base: str, include_usage: bool, aside: bool
) -> EventSourceResponse:
    """The run's answer as it comes. A client that goes away costs the run nothing."""
    making = _Chunks(completion_id(run), created(run), model, include_usage, run)
    quiet = ServerSentEvent(making.delta()["data"], sep="\n")
    return sent(_chunks(service, run, making, base, aside), run.id, quiet)


async def _chunks(
    service: Service, run: RunRow, making: "_Chunks", base: str, aside: bool
) -> AsyncIterator[dict[str, str]]:
    opening = opening_of(run.question, aside)
    yield making.delta(role="assistant", content="")
    yield making.delta(content=opening)
    reasoning = ReasoningWords()
    try:
        async for event in service.events(run.id):
            if words := reasoning.words(event):
                yield making.delta(reasoning_content=words)
        answer = await service.answer(run.id)
    except SteelmanError as exc:
        yield _data({"error": error_of(failed(run.id, exc).problem)})
        yield _DONE
        return
    content, annotations = content_of(answer, base, aside)
    making.outcome = answer.outcome
    for block in _BLOCKS.findall(content.removeprefix(opening)):
        yield making.delta(content=block)
    if annotations:  # all in one: clients add chunks up, and could not tell a second list from the first
        yield making.delta(annotations=[a.model_dump() for a in annotations])
    for last in making.ending(usage_of(answer)):
        yield last


def stream_of(reply: Completion, include_usage: bool) -> EventSourceResponse:
    """A reply without a run, as the same events."""

    async def chunks() -> AsyncIterator[dict[str, str]]:
        making = _Chunks(reply.id, reply.created, reply.model, include_usage)
        yield making.delta(role="assistant", content="")
        yield making.delta(content=reply.choices[0].message.content)
        for last in making.ending(NO_TOKENS):
            yield last

    return sent(chunks())


class _Chunks:
    """Makes the chunks of one run, or of a reply without one; `outcome` is known once the run is done."""

    def __init__(self, name: str, at: int, model: str, include_usage: bool, run: RunRow | None = None) -> None:
        self.outcome: str | None = None
        self._run, self._include_usage = run, include_usage
        self._head = {"id": name, "object": "chat.completion.chunk", "created": at, "model": model}

    def delta(self, finish_reason: str | None = None, /, **delta: Any) -> dict[str, str]:
        return self._chunk([{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}])

    def ending(self, usage: CompletionUsage) -> Iterator[dict[str, str]]:
        """The last chunks, and what tells that there are no more."""
        yield self.delta("stop")
        if self._include_usage:
            yield self._chunk([], usage.model_dump())
        yield _DONE

    def _chunk(self, choices: list[dict[str, Any]], usage: dict[str, Any] | None = None) -> dict[str, str]:
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


def _data(value: dict[str, Any]) -> dict[str, str]:
    return {"data": json.dumps(value, ensure_ascii=False)}
