"""The page of documents: shows the contents of the collections, and adds files and web pages."""

import re
from collections.abc import Callable, Sequence
from functools import partial

import streamlit as st

from agent.answer.wording import named_row, stored_document_facts
from agent.runs.bootstrap import USER_COLLECTION
from agent.runs.job_table import JobRow
from tools.documents.readers import READERS
from tools.language.lexicon import count
from tools.store.database import AnyRow
from tools.store.store import SAMPLES
from tools.translation import grouped, mark, tr
from ui import guard, html, permissions, source_view
from ui.escaping import escaped, label, text
from ui.service import PageService

_STORED = mark("Read {read} of {uploads}: {texts} stored in '{collection}' ({passages}); already there: {unchanged}.")
_LEFT_OUT = mark(
    "Not stored, because one upload holds {megabytes} MB at most: {files}. Add the rest in another upload."
)
_USED = mark(
    "Questions search what you add here instead of the sample texts. Under Options, each question can choose where to "
    "look."
)
_SHOWN = 50  # documents at first, and more with each click
_PROBLEMS = 20
_EVERY = 0.5  # seconds between looks at an upload


def show(service: PageService) -> None:
    html.title(tr("Documents"))
    html.small(tr(_USED))
    if service.person:
        html.small(tr("It is yours: others who log in neither see nor search it."))
    _add(service)
    _collections(service)


def _add(service: PageService) -> None:
    latest = service.latest_upload()
    named = service.called(latest.state.collection) if latest else USER_COLLECTION
    asked = tr("Add to this collection (a new name makes a new one)")
    into = st.text_input(asked, named, max_chars=64, key="into")  # not cleared with the form
    with st.form("add", clear_on_submit=True):
        named = tr("Files, up to {megabytes} MB in all", megabytes=service.settings.api_upload)
        readable = tr("Files that can be read: {endings}", endings=", ".join(READERS))
        files = st.file_uploader(named, accept_multiple_files=True, help=readable)
        guard.show_field()
        pasted = st.text_area(tr("Or addresses of web pages, one a line"), height=80)
        if st.form_submit_button(tr("Add"), type="primary"):
            with permissions.told():
                sent = [(file.name, file.getvalue()) for file in files]
                service.upload(sent, re.findall(r"https?://\S+", pasted), into)
                latest = service.latest_upload()
            st.session_state["left_out"] = guard.show_field(taken=True)
    if left_out := st.session_state.get("left_out"):
        html.warning(tr(_LEFT_OUT, files=", ".join(map(label, left_out)), megabytes=service.settings.api_upload))
    if latest is not None:
        st.fragment(_progress, run_every=None if latest.state.ended else _EVERY)(service)


def _progress(service: PageService) -> None:
    """Shows the progress of the person's latest upload. At the end it shows the files that could not be read, with the
    reasons."""
    if (upload := service.latest_upload()) is None:
        return
    state, report = upload.state, upload.state.result
    total = len(upload.sent.text or upload.sent.names) + len(upload.sent.addresses) * (not upload.sent.text)
    if not state.ended:
        done = max(0, report.begun - 1)
        indexing = tr("Reading {number} of {all}", number=report.begun, all=total)
        at = f": {label(report.reading)}" if report.reading else ""
        st.progress(done / max(1, total), f"{indexing}{escaped(at)}")
        return
    if not st.session_state.get(seen := f"told-{state.id}-{state.created_at}"):
        st.session_state[seen] = True  # the list below shows the new documents
        if report.stored + report.unchanged:
            st.session_state["collection"] = state.collection
        st.rerun()
    unread = len(report.broken) + sum(problem.startswith("http") for problem in report.problems)
    told = {"texts": count(report.stored, "text"), "collection": service.called(state.collection)}
    told |= {"passages": count(report.passages, "passage"), "unchanged": grouped(report.unchanged)}
    html.line(tr(_STORED, **told, read=grouped(total - unread), uploads=count(total, "upload")))
    if report.stored + report.unchanged > total - unread:
        html.small(tr("Each row of a table, each message of a mailbox and each quoted mail counts as a text."))
    if state.failure:
        html.error(permissions.cause(state.failure.cause()))
    for problem in report.problems[:_PROBLEMS]:
        html.warning(tr("Not read: {problem}", problem=permissions.masked(problem, service.settings)))
    if (more := len(report.problems) - _PROBLEMS) > 0:
        html.small(tr("… and {number} more that could not be read.", number=more))
    for note in report.notes:
        html.small(permissions.masked(note, service.settings))
    if report.unsure:
        _ask_columns(service, upload, report.unsure)


def _ask_columns(service: PageService, upload: JobRow, unsure: dict[str, Sequence[tuple[str, str]]]) -> None:
    """Asks for the text columns of each table, and reads the tables again with them."""
    with st.form("columns"):
        chosen: dict[str, list[str]] = {}
        for name, columns in unsure.items():
            shown = {column: label(f"{column} ({example})", 100) for column, example in columns}
            asked = escaped(tr("Which column of {table} is the text? Several are joined.", table=label(name)))
            chosen[name] = st.multiselect(asked, list(shown), format_func=shown.__getitem__)
        if st.form_submit_button(tr("Read it"), type="primary"):
            with permissions.told():
                service.read_again(upload, chosen)
                st.rerun()


def _collections(service: PageService) -> None:
    known = service.store.collections()
    names = [c.name for c in known]
    if st.session_state.get("collection") not in names:
        liked = service.named(USER_COLLECTION), USER_COLLECTION, *names
        st.session_state["collection"] = next((name for name in liked if name in names), None)
    called = {name: escaped(service.called(name)) for name in names}
    chosen = st.pills(tr("Collection"), names, key="collection", format_func=called.__getitem__)
    here = next((c for c in known if c.name == chosen), None)
    if here is None:
        return
    held = f"{count(here.documents, 'text')}, {count(here.passages, 'passage')}."
    own = here.person == service.person and here.name != SAMPLES
    samples = tr("They come with Steelman and cannot be changed.")
    shared = tr("Everybody shares them; only the operator of this page can change them.")
    html.small(held if own else f"{held} {samples if here.name == SAMPLES else shared}")
    most = st.session_state.get("documents", _SHOWN)
    for row in service.store.documents(here.name, most):
        _line(service, here.name, row, own)
    if here.documents > most:
        st.button(tr("More"), "more-documents", None, st.session_state.update, kwargs={"documents": most + _SHOWN})
    if own:
        delete = partial(service.store.delete_collection, here.name)
        told = tr("All its documents are deleted. Answers that quote them stay as they are.")
        words = tr("Delete the collection"), tr("Delete the collection for good")
        _delete(service, delete, "collection", words, told)


def _line(service: PageService, collection: str, row: AnyRow, own: bool) -> None:
    """Shows a document with two buttons: open and delete."""
    name, number = str(row.shown_id), str(row.number)
    shown = str(row.title) or named_row(row)
    kind = "" if row.kind == "unknown" else tr(str(row.kind))
    passages = count(row.passages, "passage")
    with st.container(horizontal=True, vertical_alignment="center", key=f"document-{number}"):
        facts = [name if row.title else "", kind, *stored_document_facts(row), passages]
        told = " · ".join(label(fact, 70) for fact in facts if fact)
        st.html(f'<b>{text(label(shown, 90))}</b><p class="sm-small">{text(told)}</p>')
        if st.button(tr("Open"), key=f"open-document-{number}", type="tertiary"):
            source_view.open_document(shown, service.store.passages_of(int(number)))
        if own:
            delete = partial(service.store.delete_document, collection, name, int(number))
            words = tr("Delete"), tr("Delete for good")
            _delete(service, delete, f"document-{number}", words, tr("Answers that quote it stay as they are."))


def _delete(service: PageService, delete: Callable[[], object], key: str, words: tuple[str, str], told: str) -> None:
    """Shows a delete button that asks for confirmation. words: labels of both buttons."""
    with st.popover(words[0], key=f"drop-{key}", type="tertiary"):
        html.small(told)
        if st.button(words[1], key=f"delete-{key}"):
            delete()
            service.search.refresh()
            st.rerun()
