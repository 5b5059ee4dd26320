"""A client of the calls over HTTP, for programs in Python: the calls as methods, with typed results.

    from api.client import Steelman

    with Steelman() as steelman:
        answer = steelman.ask("Should schools ban smartphones?")

It loads nothing of the agent's machinery: httpx, and the shapes that the server itself checks with.
"""

import time
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self, TypedDict, Unpack
from urllib.parse import quote

import httpx

from agent.answer.model import Answer as Answer
from agent.answer.retrieved import Retrieved as Retrieved
from agent.options import Depth
from agent.runs.store import Event as Event
from agent.runs.store import RunStatus
from api import schemas
from api.client.connection import CallError as CallError
from api.client.connection import ClientError as ClientError
from api.client.connection import Connection
from api.client.connection import JobEndedError as JobEndedError
from api.client.connection import RunEndedError as RunEndedError
from api.client.connection import UnreachableError as UnreachableError
from api.schemas import Collection as Collection
from api.schemas import Document as Document
from api.schemas import JobDetails as JobDetails
from api.schemas import Judged as Judged
from api.schemas import JudgePair as JudgePair
from api.schemas import NewDocument as NewDocument
from api.schemas import RunDetails as RunDetails
from api.schemas import RunSummary as RunSummary
from api.schemas import Side as Side
from api.schemas import Stored as Stored

_LATER = {"Prefer": "respond-async"}
_FIRST_LOOK, _LAST_LOOK = 0.1, 2.0  # seconds between two looks at a job


class Options(TypedDict, total=False):
    """Where and how to look; docs/api.md has a line for each. What is left out is as the server has it."""

    collections: Sequence[str]
    web: bool
    domains: Sequence[str]
    depth: Depth
    deadline_seconds: float
    selection: str
    thread: str


class Steelman:
    """A server of Steelman's (`python -m api`).

    Every method raises CallError with what the server says is wrong, and UnreachableError where no server answers.
    Those that follow a run wait up to `patience` seconds for a server that is away, as when it is restarted: the run
    goes on there, nothing is begun twice, and no event is missed. `timeout`: seconds for which a reply may be silent.
    """

    def __init__(
        self,
        address: str = "http://127.0.0.1:8000",
        key: str | None = None,
        *,
        timeout: float = 120.0,
        patience: float = 60.0,
    ) -> None:
        self._server = Connection(address, key, timeout, patience)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Lets go of the connections; runs go on."""
        self._server.close()

    # Questions

    def ask(self, question: str, **options: Unpack[Options]) -> Answer:
        """The whole answer, with every side's strongest sourced case. Raises as `answer` does."""
        return self.answer(self.start(question, **options))

    def start(self, question: str, *, review: bool = False, **options: Unpack[Options]) -> str:
        """Begins a run and returns its id at once. `review`: it stops when its sides are planned, until `resume`."""
        return self._begun("/v1/ask", {"question": question, "review": review, **options})

    def retrieve(self, question: str, **options: Unpack[Options]) -> Retrieved:
        """The sides and the passages found for each; nothing is written. Raises as `answer` does."""
        run_id = self._begun("/v1/retrieve", {"question": question, **options})
        self._ended(run_id)
        return self.passages(run_id)

    def judge(self, pairs: Sequence[JudgePair]) -> Judged:
        """How likely each passage supports its statement."""
        body = {"pairs": [pair.model_dump() for pair in pairs]}
        return self._server.read(Judged, "POST", "/v1/judge", json=body)

    # Runs

    def events(self, run_id: str, after: int = 0) -> Iterator[Event]:
        """The run's events with numbers above `after`, as they come, until the run ends or waits for its sides.

        A connection that breaks is made again; every event comes once. docs/api.md lists their kinds.
        """
        return self._server.events(f"{_at('runs', run_id)}/events", after)

    def answer(self, run_id: str) -> Answer:
        """Waits for the run to end and returns its answer.

        Raises CallError of what the run failed at, RunEndedError when it was cancelled or waits for its sides.
        """
        return Answer.model_validate(self._ended(run_id).data["answer"])

    def passages(self, run_id: str) -> Retrieved:
        """What a run that is done found for each side."""
        return self._server.read(Retrieved, "GET", f"{_at('runs', run_id)}/passages")

    def run(self, run_id: str) -> RunDetails:
        """How far the run is."""
        return self._server.read(RunDetails, "GET", _at("runs", run_id))

    def runs(self, *, status: RunStatus | None = None, thread: str | None = None) -> Iterator[RunSummary]:
        """The caller's runs, newest first; pages are asked for as they are needed."""
        named = {name: value for name, value in (("status", status), ("thread", thread)) if value is not None}
        while True:
            page = self._server.read(schemas.RunList, "GET", "/v1/runs", params={"limit": 100, **named})
            yield from page.runs
            if page.next is None:
                return
            named["after"] = page.next

    def cancel(self, run_id: str) -> bool:
        """Stops the run; False for one that had ended already."""
        return self._server.read(schemas.Cancelled, "POST", f"{_at('runs', run_id)}/cancel").stopped

    def resume(self, run_id: str, sides: Sequence[Side | Mapping[str, Any]] | None = None) -> None:
        """Goes on with a run that was stopped or has failed; `sides` answer one that waits for them."""
        given = None if sides is None else [Side.model_validate(side).model_dump() for side in sides]
        self._server.send("POST", f"{_at('runs', run_id)}/resume", json={"sides": given})

    def delete(self, run_id: str) -> None:
        """Removes the run, its answer and the pages that it read."""
        self._server.send("DELETE", _at("runs", run_id))

    # Collections

    def collections(self) -> list[Collection]:
        """What is stored."""
        return self._server.read(schemas.Collections, "GET", "/v1/collections").collections

    def documents(self, collection: str) -> Iterator[Document]:
        """The documents of a collection; pages are asked for as they are needed."""
        offset: int | None = 0
        path = f"{_at('collections', collection)}/documents"
        while offset is not None:
            page = self._server.read(schemas.Documents, "GET", path, params={"limit": 500, "offset": offset})
            yield from page.documents
            offset = page.next_offset

    def ingest(self, collection: str, *files: str | Path, **columns: str | list[str]) -> Stored:
        """Stores files, each under its name, in a new collection if need be; `problems` name what cannot be read.

        Files of one name are stored under as much of their paths as tells them apart. A file that is sent in another
        call under the name of a stored one replaces it, and `replaced` counts it.
        columns: of tables, where they are not plain: text=['pro', 'con'], id='key', title='headline'. What is large
        becomes a job, and is waited for as `stored` does, whose errors this raises too.
        """
        return self._whole(self._ingest(collection, files, columns))

    def start_ingest(self, collection: str, *files: str | Path, **columns: str | list[str]) -> str:
        """The same by a job, whose id is returned once the files have arrived."""
        return _placed(self._ingest(collection, files, columns, headers=_LATER))

    def store(self, collection: str, documents: Sequence[NewDocument]) -> Stored:
        """Stores texts, in a new collection if need be; a document of the same id is replaced. Many become a job, and
        are waited for as `stored` does, whose errors this raises too."""
        return self._whole(self._store(collection, documents))

    def start_store(self, collection: str, documents: Sequence[NewDocument]) -> str:
        """The same by a job, whose id is returned once the texts have arrived."""
        return _placed(self._store(collection, documents, headers=_LATER))

    def delete_collection(self, collection: str) -> int:
        """Removes a collection with all that it holds; returns how many passages went."""
        return self._server.read(schemas.Deleted, "DELETE", _at("collections", collection)).passages

    def delete_document(self, collection: str, document_id: str, number: int | None = None) -> int:
        """Removes one document, by its number where several have the id; returns how many passages went."""
        given = {} if number is None else {"number": str(number)}
        part = quote(document_id, safe="").replace(".", "%2E")  # in which '..' and '/' lead nowhere
        path = f"{_at('collections', collection)}/documents/{part}"
        return self._server.read(schemas.Deleted, "DELETE", path, params=given).passages

    # Jobs

    def stored(self, job_id: str) -> Stored:
        """Waits for the job to end and returns what its upload came to. Raises JobEndedError."""
        pause = _FIRST_LOOK
        while True:
            job = self.job(job_id)
            if job.result is not None:
                return job.result
            if job.status not in ("queued", "running"):
                raise JobEndedError(job_id, job.status, job.error or "")
            time.sleep(pause)
            pause = min(2 * pause, _LAST_LOOK)

    def job(self, job_id: str) -> JobDetails:
        """How far the job is."""
        reply = self._server.send_until_answered("GET", _at("jobs", job_id), arrived=True)
        return JobDetails.model_validate_json(reply.content)

    def cancel_job(self, job_id: str) -> bool:
        """Stops the job, and keeps what it stored; False for one that had ended already."""
        return self._server.read(schemas.Cancelled, "POST", f"{_at('jobs', job_id)}/cancel").stopped

    # Inside

    def _ingest(
        self, collection: str, files: Sequence[str | Path], columns: Mapping[str, str | list[str]], **more: Any
    ) -> httpx.Response:
        named = {f"{field}_column": column for field, column in columns.items()}
        with ExitStack() as opened:
            parts = [("files", (n, opened.enter_context(p.open("rb")))) for p, n in _told_apart(files).items()]
            return self._server.send("POST", f"{_at('collections', collection)}/files", files=parts, data=named, **more)

    def _store(self, collection: str, documents: Sequence[NewDocument], **more: Any) -> httpx.Response:
        body = {"documents": [document.model_dump() for document in documents]}
        return self._server.send("POST", f"{_at('collections', collection)}/documents", json=body, **more)

    def _whole(self, reply: httpx.Response) -> Stored:
        """What was stored, by a job too."""
        if reply.status_code == httpx.codes.ACCEPTED:
            return self.stored(_placed(reply))
        return Stored.model_validate_json(reply.content)

    def _begun(self, path: str, body: Mapping[str, Any]) -> str:
        """The id of the run; the name that goes with the request lets it be sent again without beginning another."""
        once = {"Idempotency-Key": uuid.uuid4().hex}
        return _placed(self._server.send_until_answered("POST", path, json={**body, "wait_seconds": 0}, headers=once))

    def _ended(self, run_id: str) -> Event:
        """The event 'done' of the run. Raises as `answer` does."""
        *_, last = self.events(run_id)
        if last.kind == "failed":
            raise CallError(last.data["problem"])
        if last.kind != "done":
            raise RunEndedError(run_id, last.kind, last.data.get("sides", []))
        return last


def _placed(reply: httpx.Response) -> str:
    """The id of the run or the job that a reply gives the address of."""
    place: str = reply.headers.get("location") or reply.headers["content-location"]
    return place.rpartition("/")[2]


def _at(kind: str, name: str) -> str:
    return f"/v1/{kind}/{quote(name, safe='')}"


def _told_apart(files: Sequence[str | Path]) -> dict[Path, str]:
    """Each file once, by its whole path, with the shortest end of the path that no other of them has."""
    paths = list(dict.fromkeys(Path(f).absolute() for f in files))
    names, parts = {path: path.name for path in paths}, 1
    while len(held := Counter(names.values())) < len(names):
        parts += 1
        names |= {p: Path(*p.parts[-parts:]).as_posix() for p, n in names.items() if held[n] > 1}
    return names
