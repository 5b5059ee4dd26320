"""Shows two answers beside each other, or an answer beside the plain ranked list of its passages."""

from datetime import datetime
from typing import Any

import streamlit as st

from agent.answer import followups, wording
from agent.answer.ballots import answer_page, ranked_page
from agent.answer.debate_sheet import corrected_lines
from agent.answer.model import Answer
from agent.answer.summary import file_of
from agent.runs.store import RunRow
from tools.errors import UnknownRunError
from tools.language.lexicon import count
from tools.translation import mark, speaking, tr
from ui import answer_view, ask_view, html, permissions, progress_view
from ui.escaping import escaped, label, text
from ui.service import PageService
from ui.vote_view import html_of

_QUOTED = mark("{both} quoted by both answers, {left} by the left one alone, {right} by the right one alone.")
_RANKED = mark("A plain list of search results")
_THREADS = 50  # the answers of the last 50 threads can be chosen


def show(service: PageService, run: RunRow, answer: Answer, view: str) -> None:
    """Shows the answer on the left. The right side shows the run that `with` in the address names, or the ranked
    passages in the view 'ranked'. If no run is named, the reader chooses a run."""
    ask_view.link(tr("Back to the answer"), "back", run=run.id)
    named = st.query_params.get("with", "") if view == "compare" else ""
    try:
        other = service.rows.get(named) if named else None
    except UnknownRunError:
        other = None
        html.warning(tr(ask_view.GONE))
    second = other.answer if other else None
    comparing = tr("Two answers") if second else tr("Compare with another answer")
    html.title(tr(_RANKED) if view == "ranked" else comparing)
    if view == "ranked":
        html.line(tr("Beside the answer: the best-matching passages, in the order of a search engine, not by side."))
    elif second:
        one, two = ({file_of(d) for d in told.documents if d.quoted} for told in (answer, second))
        both = count(len(one & two), "document")
        html.line(tr(_QUOTED, both=both, left=len(one - two), right=len(two - one)))
    if not other and view == "compare":
        _choose(service, run, answer)
        _column(service, run, answer)
        return
    left, right = st.columns(2, gap="medium")
    with left:
        _column(service, run, answer)
    with right:
        if view == "ranked":
            found = html_of(ranked_page(answer, service.ranked(run.id)))
            st.container(border=True).html(found or f"<p>{text(tr('The search results are no longer stored.'))}</p>")
        elif other and second:
            _column(service, other, permissions.seen(second, service.settings))
        elif other:
            progress_view.show(service, other, on_end=st.rerun)


def _column(service: PageService, run: RunRow, answer: Answer) -> None:
    st.html(f"<h2>{text(answer.question)}</h2>")
    with speaking(answer.language):
        made = wording.closing_line(answer, asked=run.created_at).removeprefix(tr(wording.REMINDER))
        about = f"{answer_view.searched(answer, service, run)}{made}"
    for said in (about, *corrected_lines(answer)):
        html.small(said)
    st.container(border=True).html(html_of(answer_page(answer, explain=True)))


def _choose(service: PageService, run: RunRow, answer: Answer) -> None:
    """Lets the reader choose another answer, or ask the same question in other places. A window that a shared link
    opened lists no answers, as its sidebar does."""
    again = tr("Ask the question again in")
    if not permissions.by_shared_link(service.person):
        again = tr("Or ask the question again in")
        threads = (service.rows.thread(thread.id) for thread in service.threads.latest(_THREADS))
        known = {r.id: _told(service, r) for rows in threads for r in rows if r.status == "done" and r.id != run.id}
        hint = tr("Choose an earlier question") if known else tr("There is no other question yet")
        if chosen := st.selectbox(tr("Another answer"), known, None, known.__getitem__, placeholder=hint):
            ask_view.go(run=run.id, view="compare", **{"with": chosen})
            st.rerun()
    with st.form("again"):
        called = {c.name: escaped(service.called(c.name)) for c in service.store.collections()}
        where = st.pills(again, called, selection_mode="multi", format_func=called.__getitem__)
        alone = st.checkbox(tr("Without web and chat model: Steelman's built-in models alone"))
        if st.form_submit_button(tr("Ask again")):
            options: dict[str, Any] = {"web": False, "built_in": True} if alone else {}
            options |= {"collections": tuple(where)} if where else {}
            thread = run.id if answer.focus or answer.against else None  # a follow-up needs its thread
            how = ", ".join([*map(service.called, where or ()), *([tr("without web and chat model")] if alone else [])])
            asked = followups.repeated_question(answer)
            ask_view.begin(service, asked, thread=thread, beside=(run.id, f"{asked} · {how or tr('again')}"), **options)
    ask_view.link(tr(_RANKED), "ranked", run=run.id, view="ranked")


def _told(service: PageService, row: RunRow) -> str:
    at = datetime.fromisoformat(row.created_at).astimezone()
    where = ", ".join(service.called(name) for name in row.options.get("collections", ()))
    return label(f"{label(row.question, 50)} · {where} · {at.day} {at:%b}, {at:%H:%M}", 140)
