"""The page: `make ui`, or `python -m streamlit run ui/app.py`.

    empty page ─ask▶ run ─▶ (sides are edited) ─▶ watch ─▶ answer ─follow up▶ run …

A run's id is in the address (`?run=…`), so a reload or a dropped connection finds it again, and every answer has a
permanent link. What is on the screen is made from the run's rows alone.
"""

import sys
from pathlib import Path
from typing import cast

import streamlit as st

ROOT = Path(__file__).parents[1]
if str(ROOT) not in sys.path:  # Streamlit puts only the script's own folder there
    sys.path.insert(0, str(ROOT))

from agent.answer import Answer  # noqa: E402  # needs the path above
from agent.options import Depth  # noqa: E402
from agent.run_store import RunRow  # noqa: E402
from agent.samples import sample_questions  # noqa: E402
from tools.errors import SteelmanError, UnknownRunError  # noqa: E402
from ui import answer_view, watch_view  # noqa: E402
from ui.door import Door  # noqa: E402

_SHOWN_QUESTIONS = 6


@st.cache_resource(show_spinner="Opening …")
def door() -> Door:
    return Door()


def main() -> None:
    st.set_page_config("Steelman", layout="wide")
    try:
        run_id = st.query_params.get("run", "")
        _page(door(), run_id)
    except UnknownRunError:
        st.warning("There is no such run. It may have been deleted.")
        _ask(door(), None)
    except SteelmanError as exc:
        st.error(answer_view.escaped(str(exc)))


def _page(to: Door, run_id: str) -> None:
    if not run_id:
        st.title("Every side's strongest sourced case")
        _ask(to, None)
        _samples(to)
        return
    run = to.run(run_id)
    if run.answer is not None:
        answer_view.show(to, Answer.model_validate_json(run.answer))
        _ask(to, run.thread)
    else:
        watch_view.show(to, run, on_end=st.rerun)
        _new_question(run)


def _ask(to: Door, thread: str | None) -> None:
    label = "Follow up, or ask something new" if thread else "Ask something that people disagree on"
    with st.form("ask", border=False):
        question = st.text_input(label, placeholder="Should schools ban smartphones?")
        left, middle, right = st.columns([2, 3, 2], vertical_alignment="center")
        depth = left.segmented_control(
            "Depth", ["quick", "normal", "deep"], default="normal", label_visibility="collapsed"
        )
        review = middle.checkbox("Let me edit the sides first")
        asked = right.form_submit_button("Ask", type="primary", use_container_width=True)
    if asked:
        begin(to, question, cast(Depth, depth or "normal"), review=review, thread=thread)


def begin(to: Door, question: str, depth: Depth = "normal", *, review: bool = False, thread: str | None = None) -> None:
    """Starts the run and goes to its address; says what is wrong with a question that cannot be asked."""
    try:
        st.query_params["run"] = to.start(question, depth, review=review, thread=thread)
    except SteelmanError as exc:
        st.error(answer_view.escaped(str(exc)))
        return
    st.rerun()


def _samples(to: Door) -> None:
    st.caption("Or try one of the sample questions:")
    for question in list(sample_questions().values())[:_SHOWN_QUESTIONS]:
        if st.button(question, type="tertiary"):
            begin(to, question)


def _new_question(run: RunRow) -> None:
    if run.status != "running" and st.button("Ask something else"):
        st.query_params.clear()
        st.rerun()


main()
