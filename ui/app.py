"""The page's script, which `python -m ui` (`make ui`) serves.

    empty page ─ask▶ run ─▶ (sides are edited) ─▶ watch ─▶ answer ─follow up▶ run …
        │
        └─ sidebar: history, documents, settings

The address contains the run's id (`?run=…`). A reload therefore finds the run again, and every answer has a permanent
link. The page is drawn only from the run's rows in the database. `?view=vote` is the page of a preference study.
"""

import sys
from contextlib import closing, nullcontext

import streamlit as st

if __name__ == "app":  # `streamlit run` imports this file too, and would use Streamlit options from other files
    app = st.App(__file__)
    sys.exit("steelman: start the page with `python -m ui` (make ui); `streamlit run` serves nothing of it.")

from agent.answer.ballots import Ballots
from agent.settings import load_settings
from tools.errors import UnknownRunError
from tools.store.database import Database
from tools.translation import mark, tr
from ui import answer_view, ask_view, focus, history_view, html, login, permissions, progress_view
from ui.service import PageService, is_open, open_service, reopen
from ui.style import STYLE

_OPENING = mark("Opening. The very first time the sample passages are put into the index …")


def main() -> None:
    run_id, view = st.query_params.get("run", ""), st.query_params.get("view", "")
    st.set_page_config("Steelman", layout="wide", initial_sidebar_state="collapsed" if view == "vote" else "auto")
    st.html(STYLE)
    with permissions.told():
        person = login.person()
        if person is None:
            login.show_login()
            return
        aside = st.sidebar.container()  # created early, so that nothing moves when it is filled
        scripts = history_view.known(person, run_id) + focus.due()
        aside.html(f'<p class="sm-name">Steelman</p>{scripts}', unsafe_allow_javascript=True)
        if view == "vote":
            from ui import vote_view

            with closing(Database(load_settings().database)) as database:
                vote_view.show(Ballots(database), person)
            return  # voters must not see the history

        def opened() -> PageService:
            with nullcontext() if is_open() else st.spinner(tr(_OPENING)):
                return open_service().of(person)

        if view == "settings":
            from ui import settings_view

            settings_view.show(opened(), reopen)
        elif view == "documents":
            from ui import documents_view

            documents_view.show(opened())
        elif run_id:
            _run(opened(), run_id)
        else:
            ask_view.home(opened)
        with aside:  # last, so that the answer is drawn first
            history_view.show(opened(), run_id)
            if person:
                login.show_name()


def _run(service: PageService, run_id: str) -> None:
    try:
        run = service.rows.get(run_id)
    except UnknownRunError:
        html.warning(tr(ask_view.GONE))
        ask_view.form(lambda: service)
        return
    if (answer := run.answer) is None:
        progress_view.show(service, run, on_end=_arrived)
        ask_view.form(lambda: service, shown=run.id)
        return
    answer = permissions.seen(answer, service.settings)
    if (view := st.query_params.get("view")) in ("compare", "ranked"):
        from ui import compare_view

        compare_view.show(service, run, answer, view)
        return
    if view == "sheet":
        from ui import sheet_view

        sheet_view.show(run, answer)
        return
    answer_view.show(service, run, answer)
    ask_view.form(lambda: service, run.id, run.id)


def _arrived() -> None:
    """Moves the focus to the heading of the new answer, so that screen readers announce the heading."""
    focus.then(focus=".stColumn h1")
    st.rerun()


main()
