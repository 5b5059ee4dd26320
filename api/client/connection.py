"""The client's side of HTTP: calls, and streams of events that are taken up again where they broke off."""

import json
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx

from agent.runs.store import Event
from api.client.errors import CallError, UnreachableError, error_in
from tools.errors import ProviderDownError
from tools.net.route import proxy_for, way_options

_LAST = ("done", "failed", "cancelled", "waiting")
_COME_AGAIN = (408, 429, 502, 503, 504)
_QUIET_SECONDS = 30.0  # the server sends a comment every ten
_FIRST_PAUSE, _LONGEST_PAUSE = 0.2, 3.0


class Connection:
    """One server. `patience`: seconds for which it may be away before a call that can be repeated is given up."""

    def __init__(self, address: str, key: str | None, timeout: float, patience: float) -> None:
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        try:
            way = way_options(address, proxy_for(address))
        except ProviderDownError as exc:
            raise UnreachableError(str(exc)) from exc
        self._http = httpx.Client(base_url=address, headers=headers, timeout=timeout, **way)
        self.patience = patience

    def close(self) -> None:
        self._http.close()

    def send(self, method: str, path: str, **request: Any) -> httpx.Response:
        """The reply. Raises CallError for a problem, UnreachableError where there is none."""
        try:
            reply = self._http.request(method, path, **request)
        except httpx.TransportError as exc:
            raise self._silent(exc) from exc
        if reply.is_error:
            raise error_in(reply)
        return reply

    def send_until_answered(self, method: str, path: str, *, arrived: bool = False, **request: Any) -> httpx.Response:
        """The same of a request that does no harm when it arrives twice: it is sent again while its reply is lost.

        Where there was no server to begin with, that is said at once, unless one was reached before (`arrived`).
        """
        waiting = _Waiting(self.patience)
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
        waiting, kind = _Waiting(self.patience), ""
        while True:
            try:
                with self._stream(path, after) as lines:
                    for event in sent_events(lines):
                        after, kind = event.number, event.kind
                        waiting.has_ended()
                        yield event
                if kind in _LAST:
                    return
                waiting.after(UnreachableError("The stream of events ended before the run did."))
            except _NothingMoreError:
                return
            except httpx.TransportError as exc:
                waiting.after(self._silent(exc))
            except CallError as exc:
                waiting.after(exc)

    def _silent(self, exc: httpx.TransportError) -> UnreachableError:
        unreachable = UnreachableError(
            f"{self._http.base_url} does not answer ({exc}). Does `python -m api` run there?"
        )
        unreachable.__cause__ = exc
        return unreachable

    @contextmanager
    def _stream(self, path: str, after: int) -> Iterator[Iterable[str]]:
        timeout = httpx.Timeout(self._http.timeout.connect, read=_QUIET_SECONDS)
        headers = {"Last-Event-ID": str(after)}
        with self._http.stream("GET", path, headers=headers, timeout=timeout) as reply:
            if reply.status_code == httpx.codes.NO_CONTENT:
                raise _NothingMoreError
            if reply.is_error:
                reply.read()
                raise error_in(reply)
            yield reply.iter_lines()


class _NothingMoreError(Exception):
    """The run has ended, and all its events were seen."""


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
        wished = failure.retry_after if isinstance(failure, CallError) else None
        if isinstance(failure, CallError) and (failure.run_id or failure.status not in _COME_AGAIN):
            raise failure
        pause = max(self._pause, wished or 0.0)
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
