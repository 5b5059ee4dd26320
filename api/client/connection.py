"""The client's side of HTTP: calls, and streams of events that are taken up again where they broke off.

ClientError
├── CallError          the server answered with a problem document
├── RunEndedError      the run was cancelled, or waits for its sides: it has no answer
├── JobEndedError      the job has failed, was cancelled or interrupted: not all of its upload is stored
└── UnreachableError   no reply, for longer than the client is patient
"""

import json
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeVar

import httpx
from pydantic import BaseModel

from agent.runs.store import Event
from tools.errors import ProviderDownError
from tools.net.route import proxy_for, transport_options

_Shape = TypeVar("_Shape", bound=BaseModel)
_LAST = ("done", "failed", "cancelled", "waiting")
_COME_AGAIN = (408, 429, 502, 503, 504)
_QUIET_SECONDS = 30.0  # the server sends a comment every ten
_FIRST_PAUSE, _LONGEST_PAUSE = 0.2, 3.0


class ClientError(Exception):
    """Base of the client's errors; its text says what is wrong and, where the server knows it, what to do next."""


class CallError(ClientError):
    """The problem that the server answered with; its text is the problem's detail.

    `status` is the HTTP status, `name` the kind of problem ('unknown-collection'), `fields` what is wrong with each
    field of the request, `run_id` the run that it is about ('' where it is about none), `retry_after` the seconds until
    it is worth asking again.
    """

    def __init__(self, problem: Mapping[str, Any], retry_after: float | None = None) -> None:
        super().__init__(str(problem.get("detail") or problem.get("title") or "The call failed."))
        self.status = int(problem.get("status", 500))
        self.name = str(problem.get("type", "")).rpartition(":")[2]
        self.fields: dict[str, str] = {wrong["field"]: wrong["message"] for wrong in problem.get("errors") or ()}
        self.run_id = str(problem.get("instance") or "").rpartition("/")[2]
        self.retry_after = retry_after


class RunEndedError(ClientError):
    """The run has no answer: its `status` is 'cancelled', or 'waiting' with the planned `sides`. `resume` goes on."""

    def __init__(self, run_id: str, status: str, sides: list[dict[str, Any]]) -> None:
        state = "waits for its sides" if status == "waiting" else f"is {status}"
        super().__init__(f"Run {run_id} {state}. resume('{run_id}') goes on with it.")
        self.run_id, self.status, self.sides = run_id, status, sides


class JobEndedError(ClientError):
    """The job has not stored all that was uploaded: its `status` is 'failed', 'cancelled' or 'interrupted'. What it
    stored stays, and is not stored twice where the upload is sent again."""

    def __init__(self, job_id: str, status: str, error: str) -> None:
        super().__init__(f"Job {job_id} is {status}. {error or 'Send the upload again for the rest.'}")
        self.job_id, self.status = job_id, status


class UnreachableError(ClientError):
    """The server gave no reply; the cause is what went wrong last."""


def _error_in(reply: httpx.Response) -> CallError:
    """The error that a reply is, whose body has been read; also one that is not Steelman's own, as a proxy's."""
    after = reply.headers.get("retry-after", "")
    try:
        problem = reply.json()
    except ValueError:
        problem = None
    if not isinstance(problem, dict):
        problem = {"detail": f"{reply.url} answered {reply.status_code} {reply.reason_phrase}."}
    return CallError({"status": reply.status_code, **problem}, float(after) if after.isdigit() else None)


class Connection:
    """One server. `patience`: seconds for which it may be away before a call that can be repeated is given up."""

    def __init__(self, address: str, key: str | None, timeout: float, patience: float) -> None:
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        try:
            way = transport_options(address, proxy_for(address))
        except ProviderDownError as exc:
            raise UnreachableError(str(exc)) from exc
        self._http = httpx.Client(base_url=address, headers=headers, timeout=timeout, **way)
        self._patience = patience

    def close(self) -> None:
        self._http.close()

    def send(self, method: str, path: str, **request: Any) -> httpx.Response:
        """The reply. Raises CallError for a problem, UnreachableError where there is none."""
        try:
            reply = self._http.request(method, path, **request)
        except httpx.TransportError as exc:
            raise self._silent(exc) from exc
        if reply.is_error:
            raise _error_in(reply)
        return reply

    def read(self, shape: type[_Shape], method: str, path: str, **request: Any) -> _Shape:
        """The reply in its shape. Raises as `send` does."""
        return shape.model_validate_json(self.send(method, path, **request).content)

    def send_until_answered(self, method: str, path: str, *, arrived: bool = False, **request: Any) -> httpx.Response:
        """The same of a request that does no harm when it arrives twice: it is sent again while its reply is lost.

        Where there was no server to begin with, that is said at once, unless one was reached before (`arrived`).
        """
        waiting = _Waiting(self._patience)
        while True:
            try:
                return self.send(method, path, **request)
            except (CallError, UnreachableError) as exc:
                if not arrived and isinstance(exc.__cause__, httpx.ConnectError):
                    raise
                arrived = True
                waiting.after(exc)

    def events(self, path: str, after: int) -> Iterator[Event]:
        """The events with numbers above `after`, each once, over as many connections as it takes."""
        waiting, kind = _Waiting(self._patience), ""
        timeout = httpx.Timeout(self._http.timeout.connect, read=_QUIET_SECONDS)
        while True:
            try:
                seen = {"Last-Event-ID": str(after)}
                with self._http.stream("GET", path, headers=seen, timeout=timeout) as reply:
                    if reply.status_code == httpx.codes.NO_CONTENT:  # the run has ended, and all its events were seen
                        return
                    if reply.is_error:
                        reply.read()
                        raise _error_in(reply)
                    for event in sent_events(reply.iter_lines()):
                        after, kind = event.number, event.kind
                        waiting.has_ended()
                        yield event
                if kind in _LAST:
                    return
                waiting.after(UnreachableError("The stream of events ended before the run did."))
            except httpx.TransportError as exc:
                waiting.after(self._silent(exc))
            except CallError as exc:
                waiting.after(exc)

    def _silent(self, exc: httpx.TransportError) -> UnreachableError:
        told = f"{self._http.base_url} does not answer ({exc}). Does `python -m api` run there?"
        unreachable = UnreachableError(told)
        unreachable.__cause__ = exc
        return unreachable


class _Waiting:
    """Pauses that grow while the server is away, until patience ends."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self.has_ended()

    def has_ended(self) -> None:
        """Something came: the next time that nothing does, patience begins anew."""
        self._pause, self._until = _FIRST_PAUSE, time.monotonic() + self._seconds

    def after(self, failure: CallError | UnreachableError) -> None:
        """Waits after a failure. Raises it when waiting cannot help, or has been for too long."""
        pause = self._pause
        if isinstance(failure, CallError):
            if failure.run_id or failure.status not in _COME_AGAIN:
                raise failure
            pause = max(pause, failure.retry_after or 0.0)
        if time.monotonic() + pause > self._until:
            raise failure
        time.sleep(pause)
        self._pause = min(2 * self._pause, _LONGEST_PAUSE)


def sent_events(lines: Iterable[str]) -> Iterator[Event]:
    """The events of a stream of server-sent events. Raises CallError for the problem that ends one."""
    fields: dict[str, str] = {}
    for line in lines:
        if line:
            name, _, value = line.partition(":")
            fields[name] = value.removeprefix(" ")
        elif "data" in fields:
            data = json.loads(fields["data"])
            if "id" not in fields:
                raise CallError({**data, "status": data.get("status", 500)})
            yield Event(int(fields["id"]), data.pop("at"), fields["event"], data)
            fields = {}
