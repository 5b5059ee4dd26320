"""The debate sheet: an answer on one page, to print or to take along."""

from functools import partial

import streamlit as st

from agent.answer.files import SHEET_ENDINGS, sheet_file
from agent.answer.model import Answer
from agent.answer.outline import Block
from agent.answer.sheet import sheet
from agent.runs.store import RunRow
from ui import ask_view, say
from ui.shown import text

_CALLED = dict(zip(SHEET_ENDINGS, ("Markdown", "Word"), strict=True))


def show(run: RunRow, answer: Answer) -> None:
    """The whole sheet; what is printed is the sheet alone."""
    with st.container(horizontal=True, key="end"):
        st.button("Back to the answer", type="tertiary", on_click=ask_view.go, kwargs={"run": run.id})
        for ending, called in _CALLED.items():
            made, name = partial(sheet_file, answer, ending, run.created_at), f"steelman-{run.id}-sheet{ending}"
            st.download_button(called, made, name, on_click="ignore", key=f"sheet{ending}", type="tertiary")
    say.title(answer.question)
    st.html("".join(_shown(block) for block in sheet(answer)[1:]))


def _shown(block: Block) -> str:
    below = "".join(f'<p class="sm-small">{text(said)}</p>' for said in block.said_by)
    kind = "case" if block.kind in ("case", "unknown") else ""
    tag = "h2" if block.kind == "head" else f'p class="sm-claim {kind}"'
    return f"<{tag}>{text(block.marked)}</{tag.split()[0]}>{below}"
