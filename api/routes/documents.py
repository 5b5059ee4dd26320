"""Collections and their documents: list, upload, delete."""

import asyncio
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Depends, File, Form, Query, UploadFile
from pydantic import WithJsonSchema

from api.callers import Caller, TheCaller
from api.json_bodies import StrictRoute
from api.problems import FieldProblem, ProblemError, responses
from api.schemas import (
    LONGEST_ID,
    MOST_ON_A_PAGE,
    AnyCollection,
    Collection,
    CollectionName,
    Collections,
    Deleted,
    Document,
    Documents,
    InDigits,
    NewDocuments,
    Stored,
)
from api.service import Service, TheService
from tools.errors import AmbiguousDocumentError, SourceError
from tools.ingest.columns import Columns
from tools.ingest.documents import printable, title_of
from tools.ingest.ingest import Ingester, IngestReport
from tools.ingest.pdf_apart import pdf_apart
from tools.ingest.readers import READERS, read_file
from tools.language.sentences import clean
from tools.passages import SourceDocument
from tools.store.store import SAMPLES

router = APIRouter(prefix="/v1/collections", tags=["collections"], route_class=StrictRoute)
_PAGE = 100
_PDF_SECONDS, _PDF_RECOGNISING = 300.0, 1800.0
_PDF_MEMORY = 4 << 30  # bytes
_NAMED: dict[str, Any] = {
    "headers": {
        "Content-Disposition": {
            "description": "With the file's name, whose ending says what it is read as.",
            "schema": {"type": "string", "example": 'form-data; name="files"; filename="notes.txt"'},
        }
    }
}


# What a part of a form holds is bytes: it has no type of JSON that could be wrong, and OpenAPI 3.1 names none for it.
_BYTES: dict[str, Any] = {"items": {"contentMediaType": "application/octet-stream"}}
_OneColumn = Annotated[str, Form(max_length=1000)]


_TEXT_COLUMN = (
    "In tables: the column of the text, guessed where it is plain; sent several times, they are joined in that order."
)


def _columns(
    text_column: Annotated[list[str], Form(), WithJsonSchema({"description": _TEXT_COLUMN})] = [],  # noqa: B006  # only read
    id_column: _OneColumn = "",
    title_column: _OneColumn = "",
    url_column: _OneColumn = "",
    publisher_column: _OneColumn = "",
    date_column: _OneColumn = "",
    kind_column: _OneColumn = "",
) -> Columns:
    """The columns of tables, as the caller named them."""
    return Columns(
        text=tuple(name for name in text_column if name),
        id=id_column,
        title=title_column,
        url=url_column,
        publisher=publisher_column,
        date=date_column,
        kind=kind_column,
        hint="Send the form field text_column={column} with it.",
    )


@router.get("", response_model=Collections, responses=responses(503))
async def list_collections(service: TheService) -> Collections:
    """What is stored."""
    found = await asyncio.to_thread(service.runs.store.collections)
    return Collections(
        collections=[
            Collection(name=c.name, encoder=c.encoder, documents=c.documents, passages=c.passages) for c in found
        ]
    )


@router.get("/{name}/documents", response_model=Documents, responses=responses(404, 422))
async def list_documents(
    name: AnyCollection,
    service: TheService,
    limit: Annotated[int, Query(ge=1, le=MOST_ON_A_PAGE), InDigits] = _PAGE,
    offset: Annotated[int, Query(ge=0, le=2**53), InDigits] = 0,
) -> Documents:
    """The documents of a collection, in the order in which they were stored."""
    rows = await asyncio.to_thread(service.runs.store.documents, name, limit + 1, offset)
    found = [
        Document(
            id=r["shown_id"],
            number=r["number"],
            language=r["language"],
            title=r["title"],
            url=r["url"],
            publisher=r["publisher"],
            kind=r["kind"],
            date=r["date"],
            passages=r["passages"],
        )
        for r in rows[:limit]
    ]
    return Documents(documents=found, next_offset=offset + limit if len(rows) > limit else None)


@router.post("/{name}/documents", response_model=Stored, responses=responses(400, 409, 413, 415, 422, 503, 507))
async def store_documents(
    name: CollectionName, request: NewDocuments, service: TheService, caller: TheCaller
) -> Stored:
    """Stores texts, in a new collection if need be; a document of the same id is replaced."""
    given = [
        SourceDocument(d.id, clean(d.text).strip(), clean(d.title), d.url, clean(d.publisher), d.kind, d.date)
        for d in request.documents
    ]
    return await _store(service, caller, name, lambda _: iter(given))


@router.post(
    "/{name}/files",
    response_model=Stored,
    responses=responses(400, 409, 413, 415, 422, 503, 507),
    openapi_extra={"requestBody": {"content": {"multipart/form-data": {"encoding": {"files": _NAMED}}}}},
)
async def store_files(
    name: CollectionName,
    service: TheService,
    caller: TheCaller,
    files: Annotated[
        list[UploadFile],
        File(min_length=1, description=f"Files ending in {', '.join(READERS)}.", json_schema_extra=_BYTES),
    ],
    columns: Annotated[Columns, Depends(_columns)],
) -> Stored:
    """Stores files, each under the name that it was sent with; its ending says what it is read as.

    What cannot be read is named in `problems`, and the rest is stored; where nothing can be, the reply is a problem.
    """
    with tempfile.TemporaryDirectory(prefix="steelman-upload-") as folder:
        kept = [await _keep(file, Path(folder), number) for number, file in enumerate(files)]
        return await _store(service, caller, name, lambda report: _read(kept, report, columns))


@router.delete("/{name}", response_model=Deleted, responses=responses(404, 409, 422, 503))
async def delete_collection(name: AnyCollection, service: TheService) -> Deleted:
    """Removes a collection with all that it holds. Answers that quote it stay as they are."""
    _check_own(name)
    removed = await asyncio.to_thread(service.runs.store.delete_collection, name)
    await asyncio.to_thread(service.runs.providers.search.refresh)
    return Deleted(passages=removed)


@router.delete("/{name}/documents", response_model=Deleted, responses=responses(404, 409, 422, 503))
async def delete_document(
    name: AnyCollection,
    service: TheService,
    id: Annotated[str, Query(min_length=1, max_length=2000, description="The document's id, as the list shows it.")],
    number: Annotated[
        int | None, Query(ge=1, le=2**53, description="Where several have the id: which."), InDigits
    ] = None,
) -> Deleted:
    """Removes one document."""
    _check_own(name)
    try:
        removed = await asyncio.to_thread(service.runs.store.delete_document, name, id, number)
    except AmbiguousDocumentError as exc:
        detail = f"Several documents of '{name}' have the id '{id}'. Give the number of one, as the list shows it."
        raise ProblemError(409, "ambiguous-document", "Several such documents", detail) from exc
    if not removed:
        detail = f"Collection '{name}' has no document '{id}'. GET /v1/collections/{quote(name)}/documents lists them."
        raise ProblemError(404, "unknown-document", "No such document", detail)
    await asyncio.to_thread(service.runs.providers.search.refresh)
    return Deleted(passages=removed)


async def _store(
    service: Service, caller: Caller, name: str, read: Callable[[IngestReport], Iterator[SourceDocument]]
) -> Stored:
    _check_own(name)
    with service.beside(caller):
        return await _stored(service, name, read)


async def _stored(service: Service, name: str, read: Callable[[IngestReport], Iterator[SourceDocument]]) -> Stored:
    search, report = service.runs.providers.search, IngestReport()
    # Read to the end first: a collection is not made for what holds nothing.
    given = await asyncio.to_thread(lambda: list(_with_text(read(report), report)))
    if given:
        ingester = Ingester(service.runs.store, search, search.encoder)
        await asyncio.to_thread(ingester.ingest, given, name, None, report)
    if not report.stored and not report.unchanged:
        raise _nothing_stored(report.problems)
    return Stored(
        stored=report.stored,
        replaced=report.replaced,
        unchanged=report.unchanged,
        passages=report.passages,
        problems=report.problems,
        notes=report.notes,
        left_out=dict(report.left_out),
        languages=dict(report.languages),
    )


def _with_text(documents: Iterable[SourceDocument], report: IngestReport) -> Iterator[SourceDocument]:
    for document in documents:
        if document.text:
            yield document
        else:
            report.problems.append(f"{document.external_id}: holds no text.")


def _nothing_stored(problems: list[str]) -> ProblemError:
    fields = [FieldProblem(field="body", message=problem) for problem in problems]
    more = f" And {len(problems) - 1} more; see errors." if len(problems) > 1 else ""
    detail = f"Nothing was stored. {problems[0] if problems else 'There was nothing to read.'}{more}"
    return ProblemError(422, "unreadable-document", "No document can be read", detail, fields=fields)


async def _keep(file: UploadFile, folder: Path, number: int) -> tuple[Path, str]:
    """The file on this machine, under a name of ours, with the name that it was sent with."""
    sent = printable(file.filename or f"file-{number + 1}")
    ending = PurePosixPath(sent).suffix.lower()
    path = folder / f"{number}{ending if ending in READERS else ''}"
    with path.open("wb") as out:
        while part := await file.read(1 << 20):
            await asyncio.to_thread(out.write, part)
    return path, sent


def _read(files: list[tuple[Path, str]], report: IngestReport, columns: Columns) -> Iterator[SourceDocument]:
    for path, sent in files:
        if wrong := _wrong_name(path, sent):
            report.problems.append(wrong)
            continue
        try:
            if path.suffix == ".pdf":  # what would end the process is not read in the server's own
                data, title = path.read_bytes(), title_of(sent)
                yield pdf_apart(data, sent, None, _PDF_SECONDS, title, _PDF_RECOGNISING, _PDF_MEMORY)
                continue
            yield from read_file(
                path, sent, lambda problem: report.problems.append(str(problem)), columns, report.notes.append
            )
        except SourceError as exc:
            report.problems.append(str(exc))


def _wrong_name(path: Path, sent: str) -> str:
    """Why nothing can be stored under the name; empty where something can."""
    if not sent.isprintable() or len(sent) > LONGEST_ID:
        return f"{sent[:60]!r}: no document can have this name. Send the file under a plain one."
    if not path.suffix:
        ending = PurePosixPath(sent).suffix
        what = f"files ending in '{ending}' cannot be read" if ending else "the name has no ending that says what it is"
        return f"{sent}: {what}. These can be read: {', '.join(READERS)}."
    return ""


def _check_own(name: str) -> None:
    """Raises ProblemError for the starter corpus, which is the project's own."""
    if name == SAMPLES:
        detail = f"The collection '{SAMPLES}' is Steelman's own and stays as it is. Use another name."
        raise ProblemError(409, "collection-is-fixed", "The collection cannot be changed", detail)
