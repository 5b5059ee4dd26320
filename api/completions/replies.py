"""Sends the answer as a completion or a response: Markdown with an annotation for each citation, whole or streamed.

A stream sends the answer when the run is done, because numbers and claims may change until then. Before, it sends the
progress, including verified claims. A completion has the progress in `reasoning_content`, as with DeepSeek and other
servers. Empty chunks keep a quiet stream alive, because LangChain ignores comments and closes a stream after two
minutes without a chunk. A response has the progress in a reasoning item. Its events and their order follow
https://developers.openai.com/api/reference/resources/responses/streaming-events.
"""

import asyncio
import json
import re
import time
from collections.abc import AsyncIterator
from datetime import datetime
from typing import Any
from uuid import uuid4

from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.background import BackgroundTask

from agent.answer.files import escape_markdown, to_markdown
from agent.answer.model import Answer, Citation
from agent.answer.wording import strip_control_characters
from agent.runs.progress import RunProgress
from agent.runs.store import RunRow
from api.events import sse_response
from api.problems import FieldProblem, ProblemError, problem_of
from api.service import ApiService
from tools.errors import RunCancelledError, RunError, SteelmanError, UnknownRunError

_NUMBER = re.compile(r"\[(\d+)\]")
"""Matches a citation. Other text has escaped brackets."""
_NOT_READ = (
    "> Steelman did not read the documents and search results that your app sent. It quotes its own collections and "
    "searches. Add documents to a collection to have them cited.\n\n"
)
_ID = re.compile(r"resp_(?:([0-9a-f]{12})|none)(_[0-9a-f]{12})?")
_UNSET = "incomplete_details", "instructions", "max_output_tokens", "reasoning", "temperature", "top_p"
_FIXED: dict[str, Any] = dict.fromkeys(_UNSET) | {"parallel_tool_calls": False, "tools": [], "tool_choice": "auto"}
_FIXED |= {"text": {"format": {"type": "text"}}, "truncation": "disabled", "background": False, "metadata": {}}


class Reply:
    """The reply with a run's answer, or with the `text` that answers an app's task. `base`: this server's address, for
    sources without an address. `aside`: whether the app sent passages. `stored`: whether the run is kept."""

    def __init__(
        self,
        model: str,
        run: RunRow | None,
        text: str = "",
        aside: bool = False,
        *,
        base: str = "",
        stored: bool = True,
    ) -> None:
        self._model, self._run, self._text, self._aside = model, run, text, aside
        self._base, self._stored = base, stored
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


class ModelResponse(Reply):
    """The reply as a response. `previous`: the id of the response before it. `problem`: why it failed.

    The id has the run. The id of a reply without a run, such as to a greeting, has the run before it instead, so that
    the conversation continues there."""

    def __init__(self, *given: Any, previous: str | None = None, **more: Any) -> None:
        super().__init__(*given, **more)
        self.problem: ProblemError | None = None
        run = self._run
        before = _ID.fullmatch(previous or "")
        self._name = run.id if run else f"{(before and before[1]) or 'none'}_{uuid4().hex[:12]}"
        self._head = {"id": f"resp_{self._name}", "object": "response", "created_at": self._at, "model": self._model}
        self._head |= {**_FIXED, "previous_response_id": previous, "store": self._stored}
        self._number, self._thinking = 0, False

    def state(self, status: str, output: list[dict[str, Any]] | None = None, **more: Any) -> dict[str, Any]:
        ends = {"status": status, "error": None, "usage": None, "output": output or [], **more}
        return {**self._head, **ends, "steelman": self._about}

    async def whole(self, service: ApiService) -> dict[str, Any]:
        return dict([event async for event in self._events(service)][-1]["response"])

    def streamed(self, service: ApiService, after: BackgroundTask | None = None) -> EventSourceResponse:
        """Streams the response. An empty delta keeps a quiet stream alive. `after`: see `sse_response`."""

        async def sent() -> AsyncIterator[dict[str, str]]:
            async for event in self._events(service):
                yield {"event": event["type"], "data": json.dumps(event, ensure_ascii=False)}

        def quiet() -> ServerSentEvent:
            if not self._thinking:
                return ServerSentEvent(comment="waiting", sep="\n")
            event = self._thought("text.delta", delta="")
            return ServerSentEvent(json.dumps(event), event=event["type"], sep="\n")

        return sse_response(sent(), self._run.id if self._run else "", quiet, after)

    async def _events(self, service: ApiService) -> AsyncIterator[dict[str, Any]]:
        """Yields the events. The last one has the response, which may have failed."""
        for kind in ("created", "in_progress"):
            yield self._event(kind, response=self.state("in_progress"))
        output: list[dict[str, Any]] = []
        try:
            if self._run:
                async for event in self._reasoning(service, output):
                    yield event
            message, used = await self._reply(service)
        except SteelmanError as exc:
            self.problem, status = self._failed(exc), "cancelled" if isinstance(exc, RunCancelledError) else "failed"
            error = {"code": "server_error", "message": self.problem.detail}
            yield self._event("failed", response=self.state(status, error=error))
            return
        for event in self._message(message, output):
            yield event
        usage = {"input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0}, "input_tokens": used[0]}
        usage |= {"output_tokens_details": {"reasoning_tokens": 0}, "output_tokens": used[1], "total_tokens": sum(used)}
        yield self._event("completed", response=self.state("completed", output, usage=usage))

    async def _reasoning(self, service: ApiService, output: list[dict[str, Any]]) -> AsyncIterator[dict[str, Any]]:
        """Yields the events of the progress, and adds its item to the output."""
        item: dict[str, Any] = {"type": "reasoning", "id": f"rs_{self._name}", "summary": []}
        part = {"type": "summary_text", "text": ""}
        yield self._event("output_item.added", output_index=0, item=item)
        yield self._thought("part.added", part=part)
        self._thinking = True
        async for step in self._thoughts(service):
            part = {**part, "text": part["text"] + step}
            yield self._thought("text.delta", delta=step)
        self._thinking = False
        yield self._thought("text.done", text=part["text"])
        yield self._thought("part.done", part=part)
        output.append({**item, "summary": [part]})
        yield self._event("output_item.done", output_index=0, item=output[0])

    def _message(self, message: dict[str, Any], output: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Returns the events of the message, and adds it to the output."""
        notes = [{"type": note["type"], **note["url_citation"]} for note in message["annotations"]]
        empty: dict[str, Any] = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
        part = {**empty, "text": message["content"], "annotations": notes}
        item = {"type": "message", "id": f"msg_{self._name}", "role": "assistant"}
        done = {**item, "status": "completed", "content": [part]}
        index = {"output_index": len(output)}
        at = {**index, "item_id": item["id"], "content_index": 0}
        output.append(done)
        return [
            self._event("output_item.added", **index, item={**item, "status": "in_progress", "content": []}),
            self._event("content_part.added", **at, part=empty),
            self._event("output_text.delta", **at, delta=part["text"], logprobs=[]),
            *(
                self._event("output_text.annotation.added", **at, annotation_index=number, annotation=note)
                for number, note in enumerate(notes)
            ),
            self._event("output_text.done", **at, text=part["text"], logprobs=[]),
            self._event("content_part.done", **at, part=part),
            self._event("output_item.done", **index, item=done),
        ]

    def _thought(self, kind: str, **members: Any) -> dict[str, Any]:
        at = {"item_id": f"rs_{self._name}", "output_index": 0, "summary_index": 0}
        return self._event(f"reasoning_summary_{kind}", **at, **members)

    def _event(self, kind: str, **members: Any) -> dict[str, Any]:
        self._number += 1
        return {"type": f"response.{kind}", "sequence_number": self._number - 1, **members}


async def run_of(service: ApiService, response_id: str, *, previous: bool = False) -> RunRow | None:
    """Returns the caller's run of a response. A `previous` response may have none. Raises ProblemError (404)."""
    known = _ID.fullmatch(response_id)
    if known and (previous or not known[2]):
        try:
            run = await service.run(known[1]) if known[1] else None
            if previous or (run and run.options.get("writing", True)):  # a run of /v1/retrieve writes no answer
                return run
        except UnknownRunError:  # another caller's, or deleted
            pass
    detail = f"There is no response '{response_id[:100]}'. Perhaps it is deleted, or was not stored."
    name, member = ("previous-response-not-found", "previous_response_id") if previous else ("unknown-response", "id")
    raise ProblemError(404, name, detail, fields=[FieldProblem(field=member, message=detail)])


async def previous_id(service: ApiService, run: RunRow | None) -> str | None:
    """Returns the id of the response directly before the run in its thread; None without one."""
    thread = await asyncio.to_thread(service.runs.run_store.thread, run.thread) if run else []
    earlier = [r.id for r in thread if run and r.created_at < run.created_at and r.options.get("writing", True)]
    return f"resp_{earlier[-1]}" if earlier else None


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
