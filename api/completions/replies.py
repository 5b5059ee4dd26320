"""Sends the answer as a completion: Markdown with an annotation for each citation, whole or in chunks.

A stream sends the answer when the run is done, because numbers and claims may change until then. The member
`reasoning_content` has the progress, including verified claims, as with DeepSeek and other servers. Empty chunks keep a
quiet stream alive, because LangChain ignores comments and closes a stream after two minutes without a chunk.
"""

import json
import re
import time
from collections.abc import AsyncIterator
from datetime import datetime
from typing import Any
from uuid import uuid4

from sse_starlette import EventSourceResponse, ServerSentEvent

from agent.answer.files import escape_markdown, to_markdown
from agent.answer.model import Answer, Citation
from agent.answer.wording import strip_control_characters
from agent.runs.progress import RunProgress
from agent.runs.store import RunRow
from api.events import sse_response
from api.problems import ProblemError, problem_of
from api.service import ApiService
from tools.errors import RunCancelledError, RunError, SteelmanError

_NUMBER = re.compile(r"\[(\d+)\]")
"""Matches a citation. Other text has escaped brackets."""
_NOT_READ = (
    "> Steelman did not read the documents and search results that your app sent. It quotes its own collections and "
    "searches. Add documents to a collection to have them cited.\n\n"
)


class Reply:
    """The reply with a run's answer, or with the `text` that answers an app's task. `base`: this server's address, for
    sources without an address. `aside`: whether the app sent passages."""

    _stored = True

    def __init__(self, model: str, run: RunRow | None, text: str = "", base: str = "", *, aside: bool = False) -> None:
        self._model, self._run, self._text, self._base, self._aside = model, run, text, base, aside
        self._at = int(datetime.fromisoformat(run.created_at).timestamp() if run else time.time())
        about: dict[str, str | None] = {"run_id": run.id, "thread": run.thread, "outcome": None} if run else {}
        self._about = about or None

    async def _thoughts(self, service: ApiService) -> AsyncIterator[str]:
        """Yields the run's progress, each step as a paragraph of Markdown."""
        progress = RunProgress()
        if self._run:
            async for event in service.events(self._run.id):
                if (step := progress.step(event)) and step[1]:
                    yield f"{escape_markdown(strip_control_characters(step[1]))}\n\n"

    async def _reply(self, service: ApiService) -> tuple[dict[str, Any], tuple[int, int]]:
        """Returns the message, and how many tokens chat models read and wrote. Embedded providers use no tokens."""
        if not self._run:
            return {"content": self._text, "annotations": []}, (0, 0)
        answer = await service.answer(self._run.id)
        self._about = {**(self._about or {}), "outcome": answer.outcome}
        return self.message(answer), (answer.usage.input_tokens, answer.usage.output_tokens)

    def message(self, answer: Answer) -> dict[str, Any]:
        content = f"{_NOT_READ if self._aside else ''}{to_markdown(answer, remote=True)}".rstrip("\n")
        sources = {c.number: c for c in answer.citations}
        here = f"{self._base}/v1/runs/{answer.run_id}/citations"
        annotations = [_annotation(m, sources[int(m[1])], here) for m in _NUMBER.finditer(content)]
        return {"content": content, "annotations": annotations}

    def _failed(self, exc: SteelmanError) -> ProblemError:
        """Returns the problem of a run without an answer. OpenAI's clients get a server error instead of a conflict."""
        if isinstance(exc, RunCancelledError) or not isinstance(exc, RunError) or not self._run:
            return problem_of(exc)
        advice = f"POST /v1/runs/{self._run.id}/resume continues it." if self._stored else "Ask again."
        return ProblemError(502, "run-failed", f"{exc.remote_text} {advice}")


class Completion(Reply):
    """The reply as a chat completion."""

    def __init__(self, *given: Any, **more: Any) -> None:
        super().__init__(*given, **more)
        name = self._run.id if self._run else uuid4().hex[:12]
        self._head = {"id": f"chatcmpl-{name}", "created": self._at, "model": self._model}

    async def whole(self, service: ApiService) -> dict[str, Any]:
        """Returns the completion in one object. Raises ProblemError if the run has no answer."""
        try:
            message, used = await self._reply(service)
        except SteelmanError as exc:
            raise self._failed(exc) from exc
        said = {"role": "assistant", "refusal": None, **message}
        choice = {"index": 0, "message": said, "logprobs": None, "finish_reason": "stop"}
        ends = {"choices": [choice], "usage": _usage(*used), "steelman": self._about}
        return {**self._head, "object": "chat.completion", **ends}

    def streamed(self, service: ApiService, include_usage: bool) -> EventSourceResponse:
        chunks, empty = self._chunks(service, include_usage), self._chunk({})["data"]
        return sse_response(chunks, self._run.id if self._run else "", lambda: ServerSentEvent(empty, sep="\n"))

    async def _chunks(self, service: ApiService, include_usage: bool) -> AsyncIterator[dict[str, str]]:
        """Yields the chunks, with an error instead of the answer if the run has no answer."""
        yield self._chunk({"role": "assistant", "content": ""})
        try:
            async for thought in self._thoughts(service):
                yield self._chunk({"reasoning_content": thought})
            message, used = await self._reply(service)
        except SteelmanError as exc:
            yield {"data": json.dumps({"error": self._failed(exc).openai_error()})}
        else:
            yield self._chunk(message)  # one chunk has all annotations: clients concatenate chunks
            yield self._chunk({}, "stop")
            if include_usage:
                yield self._chunk(None, usage=_usage(*used))
        yield {"data": "[DONE]"}

    def _chunk(self, delta: dict[str, Any] | None, finish_reason: str | None = None, **more: Any) -> dict[str, str]:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
        choices = [] if delta is None else [choice]
        chunk = {**self._head, "object": "chat.completion.chunk", "choices": choices, "steelman": self._about, **more}
        return {"data": json.dumps(chunk, ensure_ascii=False)}


def _usage(read: int, wrote: int) -> dict[str, int]:
    return {"prompt_tokens": read, "completion_tokens": wrote, "total_tokens": read + wrote}


def _annotation(place: re.Match[str], source: Citation, here: str) -> dict[str, Any]:
    """Returns an annotation. `content[start_index:end_index]`, in Unicode code points, is the citation."""
    address = strip_control_characters(source.url)
    own, named = address.startswith(("https://", "http://")), source.title or source.publisher or source.document_id
    cited = {
        "url": address if own else f"{here}/{source.number}",
        "title": strip_control_characters(", ".join(filter(None, (source.speaker, named)))),
        "start_index": place.start(),
        "end_index": place.end(),
    }
    return {"type": "url_citation", "url_citation": cited}
