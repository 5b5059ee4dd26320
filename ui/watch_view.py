"""A run that goes on: its stages and its sides as they are, a stop button, and the sides to edit where it waits."""

from collections.abc import Callable

import streamlit as st

from agent.answer.words import same
from agent.runs.store import RunRow
from agent.state import is_answer
from tools.errors import SteelmanError, UnknownRunError
from ui import say, sides_view
from ui.service import PageService
from ui.shown import text
from ui.watching import STAGES, RunProgress, SideProgress, SideState, progress_of

_EVERY = 0.5  # seconds between looks at the run's events
_MARKS = {"now": "◐", "done": "●", "open": "○"}
_STATES = {"now": "going on", "done": "done", "open": "to come"}
_SIDES: dict[SideState, str] = {
    "planned": "○",
    "searching": "◔",
    "found": "◑",
    "searching again": "◔",
    "supported": "●",
    "thin": "◒",
    "leaning": "◔",
    "not_found": "✕",
}


def show(service: PageService, run: RunRow, on_end: Callable[[], None]) -> None:
    """Follows the run until it ends, then calls `on_end`."""
    say.title(run.question)
    if run.status == "waiting":
        sides_view.edit(service, run.id)
        return
    st.fragment(_watch, run_every=_EVERY)(service, run.id, on_end)


def _watch(service: PageService, run_id: str, on_end: Callable[[], None]) -> None:
    try:
        run = service.run(run_id)
        if run.answer is not None or run.status == "waiting":
            on_end()
        progress = progress_of(service.events(run_id))
        st.html(stages(progress, run.question) + sides(progress))
        _control(service, run)
    except UnknownRunError:  # deleted meanwhile: the page says so
        on_end()
    except SteelmanError as exc:
        say.error(str(exc))


def _control(service: PageService, run: RunRow) -> None:
    """Stop, or what became of the run and how to go on."""
    if run.status == "running" and not run.abandoned:
        if st.button("Stop", key="stop"):
            service.cancel(run.id)
        return
    gone = "This run was interrupted: its process is gone."
    what = "This run was stopped." if run.status == "cancelled" else run.error or gone
    say.warning(what)
    if st.button("Go on with it", key="resume"):
        service.resume(run.id)


def stages(progress: RunProgress, question: str) -> str:
    """The line of stages: those that have begun, the running one, and those to come; and how the question is read."""
    parts = []
    for stage, word in STAGES:
        if stage == "again" and stage not in progress.reached:
            continue
        state = "now" if stage == progress.running else "done" if stage in progress.reached else "open"
        parts.append(f'<li class="sm-{state}" title="{_STATES[state]}">{_MARKS[state]} {word}</li>')
    other = progress.neutral and not same(progress.neutral, question)
    neutral = f'<p class="sm-small">Read as: {text(progress.neutral)}</p>' if other else ""
    return f'{neutral}<ul class="sm-stages">{"".join(parts)}</ul>'


def sides(progress: RunProgress) -> str:
    """A block for each side: what it says, how far it is, and its claims as they are verified."""
    return "".join(_one(side) for side in progress.sides.values())


def _one(side: SideProgress) -> str:
    claims = "".join(f"<li>{text(c)}</li>" for c in side.claims)
    head = side.name if is_answer(side.name, side.statement) else side.statement
    said = f'<p><b>{text(head)}</b></p><p class="sm-small">{_SIDES[side.state]} {text(side.words)}</p>'
    return f'<div class="sm-side">{said}{f"<ul>{claims}</ul>" if claims else ""}</div>'
