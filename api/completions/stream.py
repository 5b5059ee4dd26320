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

from agent.answer.render.markdown import title
from agent.runs.store import RunRow
from api.completions.content import message_of, usage_of
from api.completions.problems import error_of, failed
from api.completions.progress import ReasoningWords
from api.events import followed
from api.service import Service
from tools.errors import SteelmanError

_BLOCKS = re.compile(r".+?(?:\n\n+|\Z)", re.DOTALL)
_DONE = "data: [DONE]\n\n"


async def chunks(service: Service, run: RunRow, model: str, base: str, include_usage: bool) -> AsyncIterator[str]:
    """The run's answer as server-sent events. A client that goes away costs the run nothing."""
    making = _Chunks(run, model, include_usage)
    opening = title(run.question) + "\n\n"
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
    message = message_of(answer, base)
    making.outcome = answer.outcome
    for block in _BLOCKS.findall(message.content.removeprefix(opening)):
        yield making.delta(content=block)
    if message.annotations:  # all in one: clients add chunks up, and could not tell a second list from the first
        yield making.delta(annotations=[a.model_dump() for a in message.annotations])
    yield making.delta("stop")
    if include_usage:
        yield making.chunk([], usage_of(answer).model_dump())
    yield _DONE


class _Chunks:
    """Makes the chunks of one run; `outcome` is known once the run is done."""

    def __init__(self, run: RunRow, model: str, include_usage: bool) -> None:
        self.outcome: str | None = None
        self._run, self._model, self._include_usage = run, model, include_usage

    def delta(self, finish_reason: str | None = None, /, **delta: Any) -> str:
        return self.chunk([{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}])

    def chunk(self, choices: list[dict[str, Any]], usage: dict[str, Any] | None = None) -> str:
        return _data(
            {
                "id": completion_id(self._run),
                "object": "chat.completion.chunk",
                "created": created(self._run),
                "model": self._model,
                "choices": choices,
                "steelman": {"run_id": self._run.id, "thread": self._run.thread, "outcome": self.outcome},
            }
            | ({"usage": usage} if self._include_usage else {})
        )


def completion_id(run: RunRow) -> str:
    return f"chatcmpl-{run.id}"


def created(run: RunRow) -> int:
    """When the run was begun, in seconds since the epoch."""
    return int(datetime.fromisoformat(run.created_at).timestamp())


def _data(value: dict[str, Any]) -> str:
    return f"data: {json.dumps(value, ensure_ascii=False)}\n\n"
