"""The sidebar: a new question, the threads asked before, the settings."""

import streamlit as st

from agent.runs.store import Thread
from tools.errors import SteelmanError
from ui import say
from ui.ask_view import go
from ui.service import PageService
from ui.shown import escaped, label

_THREADS = 30  # shown at first, and more with each click on "Older"


def show(service: PageService, run_id: str) -> None:
    """What was asked before, newest first; each thread can be opened and deleted."""
    st.button("New question", key="new", width="stretch", on_click=go)
    most = st.session_state.get("threads", _THREADS)
    threads = service.rows.threads(most + 1)
    if threads:
        say.small("Asked before")
    with st.container(gap=None):
        for thread in threads[:most]:
            _line(service, thread, run_id)
        if len(threads) > most:
            more = {"threads": most + _THREADS}
            st.button("Older", key="older", type="tertiary", on_click=st.session_state.update, kwargs=more)
    st.button("Settings", key="settings", type="tertiary", on_click=go, kwargs={"view": "settings"})


def _line(service: PageService, thread: Thread, run_id: str) -> None:
    asked = escaped(label(thread.question, 60))
    with st.container(horizontal=True, wrap=False, gap=None, vertical_alignment="center"):
        opened = {"run": thread.latest}
        st.button(asked, key=f"open-{thread.id}", type="tertiary", width="stretch", on_click=go, kwargs=opened)
        with st.popover("⋯", type="tertiary", key=f"more-{thread.id}"):
            _delete(service, thread.id, thread.runs, run_id)


def _delete(service: PageService, thread: str, runs: int, shown: str) -> None:
    what = "this answer" if runs == 1 else f"the {runs} answers of this thread"
    say.small(f"Deletes {what}, with the pages that were read for it.")
    if not st.button("Delete for good", key=f"delete-{thread}"):
        return
    here = any(row.id == shown for row in service.rows.thread(thread))
    try:
        service.delete_thread(thread)
    except SteelmanError as exc:
        say.error(str(exc))
        return
    if here:
        go()
    st.rerun()
