"""Shows a run in progress: its stages, its sides and a stop button. If the run waits for a review, the sides can be
edited."""

from collections.abc import Callable
from typing import Any

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from agent.answer.wording import same_question
from agent.runs.executor import RunFailure
from agent.runs.progress import RunProgress, SideProgress, SideState, progress_of
from agent.runs.store import INTERRUPTED, RunRow
from agent.state import is_answer
from tools.errors import UnknownRunError
from tools.language.lexicon import count
from tools.translation import mark, tr
from ui import html, permissions
from ui.escaping import label, text
from ui.service import AT_ONCE, PageService

STAGES: tuple[tuple[str, str], ...] = (
    ("frame", mark("question")),
    ("expand", mark("sides")),
    ("retrieve", mark("search")),
    ("judge", mark("read")),
    ("requery", mark("search again")),
    ("write", mark("write")),
    ("verify", mark("check")),
)
"""The stages and their names on the page, in the order of a run. 'requery' occurs only if a side needs it."""

_EVERY = 0.5  # seconds between two checks for new events of the run
_SELDOM = 2.0  # the same for a run that waits for its turn
_MARKS = {"now": "◐", "done": "●", "open": "○"}
_STATES = {"now": mark("going on"), "done": mark("done"), "open": mark("to come")}
_SIDES: dict[SideState, tuple[str, str]] = {
    "planned": ("○", mark("planned")),
    "searching": ("◔", mark("searching")),
    "found": ("◑", "{}"),
    "searching again": ("◔", mark("searching again")),
    "supported": ("●", mark("enough found")),
    "thin": ("◒", mark("little found")),
    "not_found": ("◌", mark("nothing found yet")),
}
"""The mark and the words of each state. The words give the number of passages found; their sides are not known before
the passages are judged."""


def show(service: PageService, run: RunRow, on_end: Callable[[], None]) -> None:
    """Follows the run to its end, then calls `on_end`."""
    html.title(run.question)
    if run.status == "waiting":
        edit(service, run.id)
        return
    waits = service.ahead(run.id) >= AT_ONCE
    st.fragment(_watch, run_every=_SELDOM if waits else _EVERY)(service, run, on_end, waits)
    # Not in the fragment, which sees a click only when it has waited.
    if run.state == "running" and run.person == service.person and st.button(tr("Stop"), key="stop"):
        service.cancel(run.id)
        st.rerun()  # the history, too, says that it stopped


def _watch(service: PageService, shown: RunRow, on_end: Callable[[], None], waits: bool) -> None:
    """Shows how far the run is, then waits for its end until the next check. shown: the run when the page was drawn."""
    with permissions.told():
        try:
            run = service.rows.get(shown.id)
        except UnknownRunError:  # the run was deleted meanwhile
            on_end()
            return
        if run.answer is not None or run.status == "waiting":
            on_end()
        progress = progress_of(service.rows.events(run.id, 0))
        # Stop appears or goes, or the run's turn has come, so the page checks more often.
        if run.state != shown.state or (waits and service.ahead(run.id) < AT_ONCE):
            st.rerun()
        if progress.queued:
            ahead = count(service.ahead(run.id), "question")
            html.line(tr("Waiting for its turn, with {questions} before it.", questions=ahead))
        st.html(stages(progress, run.question) + sides(progress))
        if run.state != "running":
            _control(service, run)
        elif not waits and _is_alone() and service.await_end(run.id, _EVERY):
            st.rerun(scope="fragment")


def _is_alone() -> bool:
    """Whether only the fragment is drawn, so that nothing waits with it."""
    here = get_script_run_ctx()
    return bool(here and here.fragment_ids_this_run)


def _control(service: PageService, run: RunRow) -> None:
    """Shows why a run ended without an answer, and Continue to its owner."""
    failed = [e.data for e in service.rows.events(run.id, 0) if e.kind == "failed" and run.status == "failed"]
    failure = permissions.cause(RunFailure(**failed[-1]).cause()) if failed else ""
    stopped = tr("This question was stopped before it had an answer.")
    html.warning(tr(INTERRUPTED) if run.abandoned else failure or stopped)
    if run.person == service.person and st.button(tr("Continue"), key="resume"):
        service.resume(run.id)


def stages(progress: RunProgress, question: str) -> str:
    """Returns the line of stages as HTML: done, running and to come. The question as it was understood follows."""
    parts = []
    for stage, word in STAGES:
        if stage == "requery" and stage not in progress.reached:
            continue
        state = "now" if stage == progress.running else "done" if stage in progress.reached else "open"
        parts.append(f'<li class="sm-{state}" title="{tr(_STATES[state])}">{_MARKS[state]} {tr(word)}</li>')
    other = progress.neutral and not same_question(progress.neutral, question)
    read = text(tr("Understood as: {question}", question=progress.neutral))
    neutral = f'<p class="sm-small">{read}</p>' if other else ""
    return f'{neutral}<ul class="sm-stages">{"".join(parts)}</ul>'


def sides(progress: RunProgress) -> str:
    """Returns a block for each side as HTML: its state, and its claims as they are verified."""
    shown = ""
    for side in progress.sides.values():
        claims = "".join(f"<li>{text(c)}</li>" for c in side.claims)
        head = side.name if is_answer(side.name, side.statement) else side.statement
        said = f'<p><b>{text(head)}</b></p><p class="sm-small">{_SIDES[side.state][0]} {text(_words(side))}</p>'
        if side.sources and not side.claims:
            found = " · ".join(label(title, 60) for title in side.sources)
            said += f'<p class="sm-small">{text(tr("found: {titles}", titles=found))} …</p>'
        shown += f'<div class="sm-side">{said}{f"<ul>{claims}</ul>" if claims else ""}</div>'
    return shown


def _words(side: SideProgress) -> str:
    """Returns 'searching', '24 passages', 'enough found' …"""
    if side.state != "found":
        return tr(_SIDES[side.state][1])
    passages, pages = count(side.passages, "passage"), side.pages
    return tr("{passages} from {number} web pages", passages=passages, number=pages) if pages else passages


_STANCES = {"supports": mark("For"), "opposes": mark("Against"), "other": mark("Other")}
Side = dict[str, Any]


def edit(service: PageService, run_id: str) -> None:
    """Shows the sides as fields. The run continues with the ticked sides."""
    planned = next(e for e in reversed(service.rows.events(run_id, 0)) if e.kind == "waiting").data["sides"]
    html.small(tr("Steelman will search for these sides. Change or untick any of them, or add others."))
    key = f"added-{run_id}"
    added = st.session_state.get(key, 0)
    sides = [_row(n, side) for n, side in enumerate([*planned, *({} for _ in range(added))], start=1)]
    with st.container(horizontal=True):
        if st.button(tr("Search for these"), type="primary"):
            service.resume(run_id, [s for s in sides if s is not None])  # raises InputError for another person's run
            st.rerun()
        st.button(tr("Add a side"), on_click=st.session_state.update, kwargs={key: added + 1})


def _row(number: int, planned: Side) -> Side | None:
    """Shows the fields of one side. Returns the side, or None if the side is unticked or empty."""
    statement, stance, ticked = st.columns([8, 2, 2], vertical_alignment="bottom")
    said = statement.text_area(tr("Side {number}", number=number), planned.get("statement", ""), height="content")
    now, asked = list(_STANCES).index(planned.get("stance", "other")), tr("Stance of side {number}", number=number)
    chosen = stance.selectbox(asked, list(_STANCES), now, format_func=lambda s: tr(_STANCES[s]))
    kept = ticked.checkbox(tr("Search for it"), value=True, key=f"kept-{number}")
    if not kept or not (new := (said or "").strip()):
        return None
    if planned.get("statement") == new:
        return planned | {"stance": chosen}
    named = {k: v for k, v in planned.items() if k != "name"}  # the name described the old statement
    return named | {"statement": new, "stance": chosen, "origin": "person"}  # a new side has no id yet
