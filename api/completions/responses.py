"""Sends the answer as a response: a reasoning item with the run's progress, and a message with annotations.

The events and their order follow https://developers.openai.com/api/reference/resources/responses/streaming-events. A
response's id has its run. The id of a reply without a run, such as to a greeting, has the run before it instead, so
that the conversation continues there.
"""

import json
import re
from collections.abc import AsyncIterator
from typing import Any
from uuid import uuid4

from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.background import BackgroundTask

from agent.runs.store import RunRow
from api.callers import Caller
from api.completions.replies import Reply
from api.events import sse_response
from api.problems import FieldProblem, ProblemError
from api.service import ApiService
from tools.errors import RunCancelledError, SteelmanError, UnknownRunError

_ID = re.compile(r"resp_(?:([0-9a-f]{12})|none)(_[0-9a-f]{12})?")
_UNSET = "incomplete_details", "instructions", "max_output_tokens", "reasoning", "temperature", "top_p"
_FIXED: dict[str, Any] = dict.fromkeys(_UNSET) | {"parallel_tool_calls": False, "tools": [], "tool_choice": "auto"}
_FIXED |= {"text": {"format": {"type": "text"}}, "truncation": "disabled", "background": False, "metadata": {}}


async def run_of(service: ApiService, caller: Caller, response_id: str, *, previous: bool = False) -> RunRow | None:
    """Returns the caller's run of a response. A `previous` response may have none. Raises ProblemError (404)."""
    known = _ID.fullmatch(response_id)
    if known and (previous or not known[2]):
        try:
            run = await service.run(caller, known[1]) if known[1] else None
            if previous or (run and run.options.get("writing", True)):  # a run of /v1/retrieve writes no answer
                return run
        except UnknownRunError:  # another caller's, or deleted
            pass
    detail = f"There is no response '{response_id[:100]}'. Perhaps it is deleted, or was not stored."
    name, member = ("previous-response-not-found", "previous_response_id") if previous else ("unknown-response", "id")
    raise ProblemError(404, name, detail, fields=[FieldProblem(field=member, message=detail)])


class ModelResponse(Reply):
    """The reply as a response. `previous`: the id of the response before it. `problem`: why it failed."""

    def __init__(self, *given: Any, previous: str | None = None, stored: bool = True, **more: Any) -> None:
        super().__init__(*given, **more)
        self.problem: ProblemError | None = None
        run = self._run
        if run and run.thread != run.id:
            previous = previous or f"resp_{run.thread}"
        before = _ID.fullmatch(previous or "")
        self._name = run.id if run else f"{(before and before[1]) or 'none'}_{uuid4().hex[:12]}"
        self._head = {"id": f"resp_{self._name}", "object": "response", "created_at": self._at, "model": self._model}
        self._head |= {**_FIXED, "previous_response_id": previous, "store": stored}
        self._number, self._thinking, self._stored = 0, False, stored

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
