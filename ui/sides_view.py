"""The planned sides before the search: each can be changed and left out, and others can be added."""

from typing import Any

import streamlit as st

from ui import say
from ui.service import PageService

_STANCES = {"For": "supports", "Against": "opposes", "Other": "other"}
_WORDS = {stance: word for word, stance in _STANCES.items()}

Side = dict[str, Any]


def edit(service: PageService, run_id: str) -> None:
    """The sides as fields; the run goes on with those that are ticked."""
    planned = next(e for e in reversed(service.rows.events(run_id, 0)) if e.kind == "waiting").data["sides"]
    say.small("These sides will be searched for. Change them, untick what is to be left out, add what is missing.")
    added = st.session_state.get(f"added-{run_id}", 0)
    sides = [_row(n, side) for n, side in enumerate([*planned, *({} for _ in range(added))], start=1)]
    with st.container(horizontal=True):
        if st.button("Search for these", type="primary"):
            service.resume(run_id, [s for s in sides if s is not None])
            st.rerun()
        st.button("Add a side", on_click=_add, args=(run_id,))


def _add(run_id: str) -> None:
    st.session_state[f"added-{run_id}"] = st.session_state.get(f"added-{run_id}", 0) + 1


def _row(number: int, planned: Side) -> Side | None:
    """One side's fields, and the side as they have it; None where it is left out or empty."""
    statement, stance, ticked = st.columns([8, 2, 2], vertical_alignment="bottom")
    said = statement.text_area(f"Side {number}", planned.get("statement", ""), height="content")
    word = stance.selectbox(f"Stance of side {number}", list(_STANCES), list(_STANCES).index(_word(planned)))
    kept = ticked.checkbox("Search for it", value=True, key=f"kept-{number}")
    return _changed(planned, (said or "").strip(), _STANCES[word]) if kept and (said or "").strip() else None


def _word(planned: Side) -> str:
    return _WORDS[planned.get("stance", "other")]


def _changed(planned: Side, statement: str, stance: str) -> Side:
    """The side as it was planned with what a person changed of it; a new one has no id yet."""
    if planned.get("statement") == statement:
        return planned | {"stance": stance}
    named = {k: v for k, v in planned.items() if k != "name"}  # the name was of what it said
    return named | {"statement": statement, "stance": stance, "origin": "person"}
