"""The sidebar: a new question, the threads asked before, documents and settings."""

from datetime import datetime

import streamlit as st

from agent.answer.words import day
from agent.runs.threads import Thread
from tools.errors import SteelmanError
from ui import rights, say
from ui.ask_view import go
from ui.service import PageService
from ui.shown import escaped, label

_THREADS = 15  # shown at first, and more with each click on "Older"


def show(service: PageService, run_id: str) -> None:
    """What was asked before, newest first; each thread can be opened, named and deleted."""
    st.button("New question", key="new", width="stretch", on_click=go)
    most = st.session_state.get("threads", _THREADS)
    words = st.session_state.get("search", "")
    threads = service.threads.latest(most + 1, words)
    if threads or words:
        st.text_input("Search what was asked", key="search", placeholder="Search", label_visibility="collapsed")
    _undo(service)
    with st.container(gap=None):
        for thread in threads[:most]:
            _line(service, thread, run_id)
        if words and not threads:
            say.small("Nothing that was asked has these words.")
        if len(threads) > most:
            more = {"threads": most + _THREADS}
            st.button("Older", key="older", type="tertiary", on_click=st.session_state.update, kwargs=more)
    st.button("Documents", key="documents-view", type="tertiary", on_click=go, kwargs={"view": "documents"})
    st.button("Settings", key="settings", type="tertiary", on_click=go, kwargs={"view": "settings"})


def _line(service: PageService, thread: Thread, run_id: str) -> None:
    name, opened = escaped(label(thread.name, 60)), {"run": thread.first}
    with st.container(horizontal=True, wrap=False, gap=None, vertical_alignment="center"):
        st.button(name, key=f"open-{thread.id}", type="tertiary", width="stretch", on_click=go, kwargs=opened)
        menu = st.popover("Rename or delete", type="tertiary", key=f"more-{thread.id}", on_change="rerun")  # drawn as ⋯
        if menu.open:  # what is in all of them takes as long as an answer
            with menu:
                state = "" if thread.state == "done" else f", {thread.state}"
                follow_ups = f", {thread.runs} questions" if thread.runs > 1 else ""
                say.small(f"{_when(thread.at)}{follow_ups}{state}")
                _rename(service, thread)
                _delete(service, thread, run_id)


def _rename(service: PageService, thread: Thread) -> None:
    given = st.text_input("Name (Enter keeps it)", thread.name, key=f"name-{thread.id}", max_chars=120)
    if given and given != thread.name:
        service.threads.name_thread(thread.id, given)
        st.rerun()


def _delete(service: PageService, thread: Thread, shown: str) -> None:
    if not thread.own:
        say.small("It is everybody's, and stays.")
        return
    if not st.button("Delete", key=f"delete-{thread.id}"):
        return
    here = any(row.id == shown for row in service.rows.thread(thread.id))
    try:
        service.remove_thread(thread.id)
    except SteelmanError as exc:
        say.error(rights.cause(exc))
        return
    st.session_state["removed"] = thread, shown if here else ""
    if here:
        go()
    st.rerun()


def _undo(service: PageService) -> None:
    """What was deleted last in this window can be put back."""
    if "removed" not in st.session_state:
        return
    thread, shown = st.session_state["removed"]
    with st.container(horizontal=True, vertical_alignment="center"):
        say.small(f"Deleted: {label(thread.name, 40)}")
        if st.button("Undo", key="undo", type="tertiary"):
            service.threads.set_removed(thread.id, None)
            del st.session_state["removed"]
            if shown:
                go(run=shown)
            st.rerun()


def _when(iso: str) -> str:
    """'27 November 2026, 14:05' by the clock of the machine that serves the page."""
    at = datetime.fromisoformat(iso).astimezone()
    return f"{day(at.date().isoformat())}, {at:%H:%M}"
