"""Collections and their documents: list, upload, delete."""

import asyncio
import contextlib
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Depends, File, Form, Header, Query, UploadFile
from fastapi import Path as PathParameter
from pydantic import WithJsonSchema
from starlette.responses import Response

from agent.runs.job_table import JobState, Sent
from agent.runs.jobs import DOCUMENTS, Job
from api import schemas
from api.problems import LOCATED, FieldProblem, ProblemError, link, problem_of
from api.schemas import AnyCollection, CollectionName, JobDetails, JobId, Stored
from api.service import ApiService, TheService
from tools.disk import disk_errors
from tools.documents.document import ColumnNames, normalized_name
from tools.documents.readers import READERS
from tools.errors import AmbiguousDocumentError, SourceError
from tools.language.sentences import clean_text
from tools.passages import SourceDocument
from tools.store.store import SAMPLES

router = APIRouter(prefix="/v1/collections", tags=["collections"])
jobs = APIRouter(prefix="/v1/jobs/{job_id}", tags=["jobs"])
_LATER = "respond-async"
LARGE_COUNT, LARGE_BYTES = 1_000, 4_000_000
"""A larger upload is a job."""
_MOST_OPEN = 16  # a caller's open jobs
_TABLES = ".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".mbox"  # a file holds many documents: its bytes count tenfold
# A form's part is bytes: OpenAPI 3.1 has no type for it.
_BYTES: dict[str, Any] = {"items": {"contentMediaType": "application/octet-stream"}}
_OneColumn = Annotated[str, Form(max_length=1000)]
_TEXT_COLUMN = (
    "In tables: the column of the text. Default: recognised by its name. Several columns are joined in order."
)


def _columns(
    text_column: Annotated[list[str], Form(), WithJsonSchema({"description": _TEXT_COLUMN})] = [],  # noqa: B006  # only read
    id_column: _OneColumn = "",
    title_column: _OneColumn = "",
    url_column: _OneColumn = "",
    publisher_column: _OneColumn = "",
    date_column: _OneColumn = "",
    kind_column: _OneColumn = "",
    author_column: _OneColumn = "",
) -> ColumnNames:
    fields = id_column, title_column, url_column, publisher_column, date_column, kind_column, author_column
    hint = "Send the form field text_column={column} with it."
    return ColumnNames(tuple(filter(None, text_column)), *fields, hint=hint)


@router.get("")
async def list_collections(service: TheService) -> schemas.Collections:
    """Lists the collections."""
    found = await asyncio.to_thread(service.runs.store.collections)
    return schemas.Collections.model_validate({"collections": found})


@router.get("/{name}/documents")
async def list_documents(
    name: AnyCollection,
    service: TheService,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
    offset: Annotated[int, Query(ge=0, le=2**53)] = 0,
) -> schemas.Documents:
    """Lists the documents of a collection in the order of storing."""
    rows = await asyncio.to_thread(service.runs.store.documents, name, limit + 1, offset)
    fields = schemas.Document.model_fields
    found = [schemas.Document(**{n: getattr(r, "shown_id" if n == "id" else n) for n in fields}) for r in rows[:limit]]
    return schemas.Documents(documents=found, next_offset=offset + limit if len(rows) > limit else None)


Prefer = Annotated[
    str | None, Header(description="`respond-async` (RFC 7240): a job stores the upload, and the reply is 202.")
]
_STORED: dict[int | str, dict[str, Any]] = {202: {"model": JobDetails, **LOCATED}}


@router.post("/{name}/documents", response_model=Stored, responses=_STORED)
async def store_documents(
    name: CollectionName, documents: schemas.NewDocuments, service: TheService, prefer: Prefer = None
) -> Response:
    """Stores texts. Creates the collection if necessary, and replaces documents with the same id.

    An upload of more than 1,000 documents or 4 MB becomes a job. A smaller upload becomes a job on request.
    """
    _check_not_samples(name)
    count = len(documents.documents)
    large = count > LARGE_COUNT or sum(len(document.text) for document in documents.documents) > LARGE_BYTES
    state = JobState(collection=name, documents=count)
    async with service.jobs.folder() as folder:
        body = folder / "0"
        with disk_errors(body):
            body.write_bytes(DOCUMENTS.dump_json([_source(document) for document in documents.documents]))
        return await _store_or_begin(service, state, Sent(), [body], large, prefer)


@router.post("/{name}/files", response_model=Stored, responses=_STORED)
async def store_files(
    name: CollectionName,
    service: TheService,
    files: Annotated[
        list[UploadFile],
        File(min_length=1, description=f"Files ending in {', '.join(READERS)}.", json_schema_extra=_BYTES),
    ],
    columns: Annotated[ColumnNames, Depends(_columns)],
    prefer: Prefer = None,
) -> Response:
    """Stores files under their names. A name's ending selects the reader.

    `problems` lists unreadable files; the others are stored. If no file is readable, the reply is a problem. An upload
    of more than 4 MB, or of more than 400 kB of tables and mailboxes, becomes a job. A smaller upload becomes a job on
    request.
    """
    _check_not_samples(name)
    async with service.jobs.folder() as folder:
        kept = [await _copy(file, folder, number) for number, file in enumerate(files)]
        sent = Sent(names=[name for _, name in kept], columns=columns)
        state, paths = JobState(collection=name), [path for path, _ in kept]
        sizes = ((f.size or 0) * (10 if (f.filename or "").lower().endswith(_TABLES) else 1) for f in files)
        return await _store_or_begin(service, state, sent, paths, sum(sizes) > LARGE_BYTES, prefer)


@router.delete("/{name}")
async def delete_collection(name: AnyCollection, service: TheService) -> schemas.Deleted:
    """Deletes a collection with its documents. Answers that quote its documents do not change."""
    _check_not_samples(name)
    removed = await asyncio.to_thread(service.runs.store.delete_collection, name)
    await asyncio.to_thread(service.runs.providers.search.refresh)
    return schemas.Deleted(passages=removed)


@router.delete("/{name}/documents/{id:path}")
async def delete_document(
    name: AnyCollection,
    service: TheService,
    id: Annotated[str, PathParameter(min_length=1, max_length=2000, description="The document's id from the list.")],
    number: Annotated[int | None, Query(ge=1, le=2**53, description="Selects one of several with the id.")] = None,
) -> schemas.Deleted:
    """Deletes one document."""
    _check_not_samples(name)
    try:
        removed = await asyncio.to_thread(service.runs.store.delete_document, name, id, number)
    except AmbiguousDocumentError as exc:
        detail = f"Several documents of '{name}' have the id '{id}'. Send the number of one; the list shows it."
        raise ProblemError(409, "ambiguous-document", detail) from exc
    if not removed:
        detail = f"Collection '{name}' has no document '{id}'. GET /v1/collections/{quote(name)}/documents lists them."
        raise ProblemError(404, "unknown-document", detail)
    await asyncio.to_thread(service.runs.providers.search.refresh)
    return schemas.Deleted(passages=removed)


async def _store_or_begin(
    service: ApiService, state: JobState, sent: Sent, files: Sequence[Path], large: bool, prefer: str | None
) -> Response:
    preferred = _LATER in [part.partition(";")[0].strip().lower() for part in (prefer or "").split(",")]
    if not large and not preferred:
        job = Job(state, sent)
        try:
            stored = Stored.model_validate(await service.jobs.store(job, lambda: files))
        except SourceError as exc:
            fields = [FieldProblem(field="body", message=problem) for problem in job.report.problems]
            raise ProblemError(422, "unreadable-document", exc.remote_text, fields=fields) from exc
        return Response(stored.model_dump_json(), media_type="application/json")
    with contextlib.ExitStack() as opened:
        parts = [opened.enter_context(path.open("rb")) for path in files]
        if not await service.jobs.begin(service.caller, state, sent, parts, _MOST_OPEN):
            detail = f"This key has {_MOST_OPEN} open jobs, the maximum. Wait for one, or cancel one."
            raise ProblemError(429, "too-many-jobs", detail, headers={"Retry-After": "30"})
    headers = {"Location": link(f"/v1/jobs/{state.id}")} | ({"Preference-Applied": _LATER} if preferred else {})
    return Response(_details(state).model_dump_json(), 202, headers=headers, media_type="application/json")


def _source(d: schemas.NewDocument) -> SourceDocument:
    about = clean_text(d.title), d.url, clean_text(d.publisher), d.kind, d.date
    return SourceDocument(d.id, clean_text(d.text).strip(), *about, author=clean_text(d.author))


def _details(state: JobState) -> JobDetails:
    error = problem_of(state.failure.cause()).detail if state.failure else None
    return JobDetails.model_validate(state).model_copy(update={"error": error})


async def _copy(file: UploadFile, folder: Path, number: int) -> tuple[Path, str]:
    """Copies the file under a safe name. Returns the copy's path and the file's original name."""
    sent = normalized_name(file.filename or f"file-{number + 1}")
    ending = PurePosixPath(sent).suffix.lower()
    path = folder / f"{number}{ending if ending in READERS else ''}"
    with disk_errors(folder), path.open("wb") as out:
        while part := await file.read(1 << 20):
            await asyncio.to_thread(out.write, part)
    return path, sent


@jobs.get("")
async def read_job(job_id: JobId, service: TheService) -> JobDetails:
    """Returns the job's progress. `result` counts the documents stored so far, until the job has ended."""
    return _details(await _find(service, job_id))


@jobs.post("/cancel")
async def cancel_job(job_id: JobId, service: TheService) -> schemas.Cancelled:
    """Stops the job after the document in progress. Stored documents stay."""
    await _find(service, job_id)
    return schemas.Cancelled(id=job_id, stopped=await service.jobs.cancel(service.caller, job_id))


async def _find(service: ApiService, job_id: str) -> JobState:
    if row := await service.jobs.find(service.caller, job_id):
        return row.state
    raise ProblemError(404, "unknown-job", f"You have no job '{job_id}'. Check its id, or send the upload again.")


def _check_not_samples(name: str) -> None:
    if name == SAMPLES:
        detail = f"The collection '{SAMPLES}' belongs to Steelman and cannot be changed. Use another name."
        raise ProblemError(409, "collection-is-fixed", detail)
