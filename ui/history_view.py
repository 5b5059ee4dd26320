"""The sidebar with links to a new question, documents and settings, and with the earlier threads by day."""

from contextlib import suppress
from datetime import date, datetime, timedelta
from itertools import groupby
from typing import Literal

import streamlit as st

from agent.answer.wording import format_date
from agent.runs.threads import RunThread
from tools.errors import SteelmanError, UnknownRunError
from tools.language.lexicon import count
from tools.translation import mark, tr
from ui import html, permissions
from ui.ask_view import go, keep_places, keep_typed, link
from ui.escaping import escaped, label, text
from ui.service import PageService

_COOKIE = "steelman_known"
_KEEP = f"<script>document.cookie = '{_COOKIE}=1; path=/; max-age=31536000; samesite=strict'</script>"
_RUN_STATES = {
    "running": mark("running"),
    "waiting": mark("waiting"),
    "failed": mark("failed"),
    "cancelled": mark("cancelled"),
    "interrupted": mark("interrupted"),
}
_THREADS = 15  # threads shown at first, and added by each click on "Older"


def known(person: str, run_id: str) -> str:
    """Returns a script that marks a browser which opened the page's own address. A browser without the mark that starts
    at an answer's address came by a shared link. Then `shared` is added to the address. With logins the mark is not
    needed, because each person has a history."""
    st.session_state.setdefault("at home", not run_id)
    if not (person or st.session_state["at home"] or _COOKIE in st.context.cookies):
        st.query_params["shared"] = "1"
    return "" if "shared" in st.query_params else _KEEP


def show(service: PageService, run_id: str) -> None:
    """Lists the earlier threads, newest first. Each thread can be opened, renamed and deleted. A window that was opened
    by a shared link shows no threads and no way to them, because without logins all visitors share the history."""
    keep_places()
    keep_typed()
    st.button(tr("New question"), key="new", width="stretch", on_click=go)
    if permissions.by_shared_link(service.person):
        html.small(tr("A shared link opened this window, so it lists no other questions."))
        return
    with st.container(horizontal=True):
        link(tr("Documents"), "documents-view", view="documents")
        link(tr("Settings"), "settings", view="settings")
    most, words = st.session_state.get("threads", _THREADS), st.session_state.get("search", "")
    threads = service.threads.latest(most + 1, words)
    if threads or words:
        label, hint = tr("Search what was asked"), tr("Search")
        st.text_input(label, key="search", type="search", placeholder=hint, label_visibility="collapsed", live=True)
    _undo(service)
    shown = ""
    with suppress(UnknownRunError):
        shown = service.rows.get(run_id).thread if run_id else ""
    with st.container(gap=None):
        for when, of_day in groupby(threads[:most], lambda thread: _day(thread.at)):
            html.small(when)
            for thread in of_day:
                _line(service, thread, run_id, shown)
        if words and not threads:
            html.small(tr("No question has these words."))
        if len(threads) > most:
            more = {"threads": most + _THREADS}
            st.button(tr("Older"), key="older", type="tertiary", on_click=st.session_state.update, kwargs=more)


def _line(service: PageService, thread: RunThread, run_id: str, opened_thread: str) -> None:
    """Shows a thread with its menu. The open thread has a frame, and a running one the word."""
    name, opened = escaped(label(thread.name, 160)), {"run": thread.first}
    kind: Literal["secondary", "tertiary"] = "secondary" if thread.id == opened_thread else "tertiary"
    with st.container(horizontal=True, wrap=False, gap=None, vertical_alignment="center"):
        st.button(name, f"open-{thread.id}", type=kind, width="stretch", wrap=True, on_click=go, kwargs=opened)
        if thread.state == "running":
            st.html(f'<span class="sm-small">{text(tr(_RUN_STATES[thread.state]))}</span>', width="content")
        # Shown as ⋯. Its content is drawn only while open: that of all menus would take as long as an answer.
        menu = st.popover(tr("Rename or delete"), type="tertiary", key=f"more-{thread.id}", on_change="rerun")
        if menu.open:
            with menu:
                state = "" if thread.state == "done" else f", {tr(_RUN_STATES.get(thread.state, thread.state))}"
                follow_ups = f", {count(thread.runs, 'question')}" if thread.runs > 1 else ""
                at = datetime.fromisoformat(thread.at).astimezone()
                html.small(f"{_day(thread.at)}, {at:%H:%M}{follow_ups}{state}")
                _rename(service, thread)
                _delete(service, thread, run_id)


def _rename(service: PageService, thread: RunThread) -> None:
    given = st.text_input(tr("New name (press Enter to save it)"), thread.name, key=f"name-{thread.id}", max_chars=120)
    if given and given != thread.name:
        service.threads.name_thread(thread.id, given)
        st.rerun()


def _delete(service: PageService, thread: RunThread, shown: str) -> None:
    if not thread.own:
        html.small(tr("Everybody shares it, so it cannot be deleted here."))
        return
    if not st.button(tr("Delete"), key=f"delete-{thread.id}"):
        return
    here = any(row.id == shown for row in service.rows.thread(thread.id))
    st.session_state["removed"] = thread, shown if here else ""  # first, because Streamlit may end the script here
    try:
        service.remove_thread(thread.id)
    except SteelmanError as exc:
        del st.session_state["removed"]
        html.error(permissions.cause(exc))
        return
    if here:
        go()
    st.rerun()


def _undo(service: PageService) -> None:
    """Offers to restore the thread that was last deleted in this window."""
    if "removed" not in st.session_state:
        return
    thread, shown = st.session_state["removed"]
    with st.container(horizontal=True, vertical_alignment="center"):
        html.small(tr("Deleted: {question}", question=label(thread.name, 40)))
        if st.button(tr("Undo"), key="undo", type="tertiary"):
            del st.session_state["removed"]
            service.threads.set_removed(thread.id, None)
            if shown:
                go(run=shown)
            st.rerun()


def _day(iso: str) -> str:
    """Returns 'Today', 'Yesterday' or '27 November 2026', according to the server's clock."""
    at, today = datetime.fromisoformat(iso).astimezone().date(), date.today()
    return {today: tr("Today"), today - timedelta(days=1): tr("Yesterday")}.get(at) or format_date(at.isoformat())
