"""The debate sheet: an answer's strongest arguments, for printing."""

from functools import partial
from itertools import groupby

import streamlit as st

from agent.answer.debate_sheet import SHEET_ENDINGS, corrected_lines, sheet_file, sheet_sides, unknown_blocks
from agent.answer.files import file_name
from agent.answer.model import Answer
from agent.answer.outline import OutlineBlock
from agent.answer.wording import CRUX_LABEL, closing_line, question_as_read
from agent.runs.store import RunRow
from tools.translation import labelled, speaking, tr
from ui import ask_view, focus, html
from ui.answer_view import FORMATS
from ui.escaping import text


def show(run: RunRow, answer: Answer) -> None:
    """Shows the sheet in the answer's language, below buttons in the visitor's. A print contains only the sheet."""
    with st.container(horizontal=True, key="end"):
        ask_view.link(tr("Back to the answer"), "back", run=run.id)
        for ending in SHEET_ENDINGS:
            made = partial(sheet_file, answer, ending, run.created_at)
            name = file_name(answer.question, f"-sheet{ending}")
            called, key = tr(FORMATS[ending]), f"sheet{ending}"
            st.download_button(called, made, name, on_click="ignore", key=key, type="tertiary")
        focus.print_button()
    with speaking(answer.language):
        _sheet(run, answer)


def _sheet(run: RunRow, answer: Answer) -> None:
    html.title(answer.question)
    if read := question_as_read(answer):
        html.small(read)
    if answer.crux:
        html.line(labelled(tr(CRUX_LABEL), answer.crux.text))
    for said in corrected_lines(answer):
        html.small(said)
    for facing, sides in groupby(sheet_sides(answer), lambda found: found[0].stance != "other"):
        with st.container(key=f"sides-sheet-{facing}"):
            for _, blocks in sides:
                st.html("".join(map(_shown, blocks)))
    st.html("".join(map(_shown, unknown_blocks(answer))))
    html.small(closing_line(answer, asked=run.created_at))


def _shown(block: OutlineBlock) -> str:
    below = "".join(f'<p class="sm-small">{text(said)}</p>' for said in block.below)
    if block.kind == "head":
        return f"<h2>{text(block.labelled_text)}</h2>{below}"
    return f'<p class="sm-claim sm-apart">{text(block.labelled_text)}</p>{below}'
