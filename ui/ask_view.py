"""The question: its field, how it is to be searched for, and the sample questions."""

from collections.abc import Callable
from typing import Any, cast

import streamlit as st

from agent.options import Depth
from agent.samples import sample_questions
from tools.errors import SteelmanError
from ui import say
from ui.service import PageService

_SHOWN_QUESTIONS = 6
_DEPTHS = {"quick": "one search", "normal": "searches again for what is missing", "deep": "searches longest"}


def form(open_service: Callable[[], PageService], thread: str | None = None) -> None:
    """The field; what is asked in a thread may follow up on it."""
    label = "Follow up, or ask something new" if thread else "Ask something that people disagree on"
    example = "What about the cost?" if thread else "Should schools ban smartphones?"
    with st.form("ask", border=False):
        question = st.text_input(label, placeholder=example, key="question")
        with st.container(horizontal=True, vertical_alignment="center"):
            asked = st.form_submit_button("Ask", type="primary")
            with st.popover("Options", type="tertiary"):
                told = " · ".join(f"{depth}: {what}" for depth, what in _DEPTHS.items())
                depth = st.segmented_control("Depth", list(_DEPTHS), default="normal", help=told)
                review = st.checkbox("Let me edit the sides first")
                web = st.checkbox("Search the web too", value=True, help="Where a search engine is set up.")
    if asked:
        begin(open_service(), question, cast(Depth, depth or "normal"), thread=thread, review=review, web=web)


def samples(open_service: Callable[[], PageService]) -> None:
    """Questions that the sample passages answer, without any set-up."""
    say.small("Or try one of the sample questions; their sources were written for this project.")
    with st.container(gap=None):
        for question in list(sample_questions().values())[:_SHOWN_QUESTIONS]:
            if st.button(question, type="tertiary"):
                begin(open_service(), question)


def begin(
    service: PageService, question: str, depth: Depth = "normal", *, thread: str | None = None, **options: Any
) -> None:
    """Starts the run and goes to its address; says what is wrong with a question that cannot be asked."""
    try:
        with st.spinner("Reading the question …"):
            run_id = service.start(question, depth, thread=thread, **options)
    except SteelmanError as exc:
        say.error(str(exc))
        return
    go(run=run_id)
    st.rerun()


def go(**query: str) -> None:
    """To another view of the page, with an address of its own.

    Meant as the callback of a button, which comes before the page is made anew; elsewhere a `st.rerun` has to follow.
    """
    st.query_params.from_dict(query)
