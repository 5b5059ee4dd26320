"""A run that goes on: its stages and its sides as they are, a stop button, and the sides to edit where it waits."""

from collections.abc import Callable
from typing import Any

import streamlit as st

from agent.run_store import RunRow
from ui.answer_view import escaped
from ui.door import Door
from ui.shown import text
from ui.watching import STAGES, Progress, progress_of

_EVERY = 0.5  # seconds between looks at the run's events
_STANCES = ["supports", "opposes", "other"]


def show(to: Door, run: RunRow, on_end: Callable[[], None]) -> None:
    """Follows the run until it ends, then calls `on_end`."""
    st.title(escaped(run.question))
    if run.status == "waiting":
        _edit(to, run.id)
        return
    st.fragment(_watch, run_every=_EVERY)(to, run.id, on_end)


def _watch(to: Door, run_id: str, on_end: Callable[[], None]) -> None:
    run, progress = to.run(run_id), progress_of(to.events(run_id))
    if run.answer is not None or run.status == "waiting":
        on_end()
        return
    st.html(stages(progress) + sides(progress))
    if run.status == "running" and not run.abandoned:
        if st.button("Stop", key="stop"):
            to.cancel(run_id)
        return
    what = "This run was stopped." if run.status == "cancelled" else run.error or "The process of this run is gone."
    st.warning(escaped(what))
    if st.button("Go on with it", key="resume"):
        to.resume(run_id)


def stages(progress: Progress) -> str:
    """The line of stages: those that have begun, the running one, and those to come."""
    parts = []
    for stage, word in STAGES:
        if stage == "again" and stage not in progress.reached:
            continue
        state = "now" if stage == progress.running else "done" if stage in progress.reached else "open"
        mark = {"now": "◐", "done": "●", "open": "○"}[state]
        parts.append(f'<span title="{state}" style="opacity:{0.45 if state == "open" else 1}">{mark} {word}</span>')
    neutral = f"<p><i>{text(progress.neutral)}</i></p>" if progress.neutral else ""
    return f'{neutral}<p style="display:flex;flex-wrap:wrap;gap:.9rem">{"".join(parts)}</p>'


def sides(progress: Progress) -> str:
    """A line for each side: what it says, how far it is, and its claims as they are verified."""
    rows = []
    for side in progress.sides.values():
        claims = "".join(f"<li>{text(c)}</li>" for c in side.claims)
        rows.append(
            f"<p><b>{text(side.statement)}</b><br><small>{text(side.words)}</small></p>"
            + (f"<ul>{claims}</ul>" if claims else "")
        )
    return "".join(rows)


def _edit(to: Door, run_id: str) -> None:
    """The planned sides as a table: rows can be changed, added and taken out."""
    planned = next(e for e in reversed(to.events(run_id)) if e.kind == "waiting").data["sides"]
    st.caption("These sides will be searched for. Change them, add some, take some out.")
    rows = st.data_editor(
        [{"statement": p["statement"], "stance": p["stance"], "id": p["id"]} for p in planned],
        num_rows="dynamic",
        use_container_width=True,
        column_order=["statement", "stance"],
        column_config={
            "statement": st.column_config.TextColumn("Statement", required=True, width="large"),
            "stance": st.column_config.SelectboxColumn("Stance", options=_STANCES, default="other", required=True),
        },
        key=f"sides-{run_id}",
    )
    if st.button("Search for these", type="primary"):
        to.resume(run_id, [_side(row, planned) for row in rows])
        st.rerun()


def _side(row: dict[str, Any], planned: list[dict[str, Any]]) -> dict[str, Any]:
    """The side as it was planned with what a person changed of it; a new one has no id yet."""
    before = next((p for p in planned if p["id"] == row.get("id")), {})
    changed = before.get("statement") != row.get("statement")
    kept = {k: v for k, v in before.items() if k != "name"} if changed else dict(before)
    return (
        kept
        | {"statement": row.get("statement"), "stance": row.get("stance")}
        | ({"origin": "person"} if changed else {})
    )
