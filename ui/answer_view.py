"""An answer as the page shows it: the sides beside each other, the words behind each claim, what was not found."""

from collections.abc import Sequence

import streamlit as st

from agent.answer.files import to_markdown
from agent.answer.followups import suggestions
from agent.answer.model import Answer, AnswerPerspective
from agent.answer.retrieved import Evidence
from agent.answer.words import (
    MAY_SPEAK,
    MORE,
    beside,
    case,
    cased,
    claim_text,
    closing,
    gap_of,
    line_of,
    more_about,
    named,
    quoted_head,
    read_as,
    strength_of,
    undone,
)
from agent.answer.words import label as stance
from agent.runs.store import RunRow
from tools.passages import Passage
from ui import ask_view, ledger, say, source_view
from ui.service import PageService
from ui.shown import escaped, label, text


def show(service: PageService, run: RunRow, answer: Answer) -> None:
    """The whole answer, with the thread that it belongs to."""
    _thread(service, run)
    say.title(answer.question)
    if read := read_as(answer):
        say.small(read)
    say.line(answer.summary)
    for note in answer.notes:
        if note.kind == "not_found":
            say.small(note.text)
    evidence = service.evidence(run.id)
    passages = service.passages(_cited(answer))
    seen = turned(answer)
    if answer.crux:
        words = f'<p class="sm-claim">{text(answer.crux.text)}</p>'
        _cited_line(answer, words, answer.crux.citations, "crux", passages)
    _sides(seen, passages)
    for number, claim in enumerate(answer.plain):
        words = f'<p class="sm-claim">{text(claim_text(claim))}</p>'
        _cited_line(answer, words, claim.citations, f"plain-{number}", passages)
    show_notes(answer)
    if answer.coverage:
        ledger.show(seen, evidence)
    _end(answer)
    _nearest(service, answer)
    _suggested(service, run, answer, evidence)


def show_notes(answer: Answer) -> None:
    """What was not done, in one line, and all else that the notes tell, folded."""
    if line := undone(answer.notes):
        say.small(line)
    if more := more_about(answer.notes):
        with st.expander(MORE):
            for words in more:
                say.small(words)


def _thread(service: PageService, run: RunRow) -> None:
    """The questions of the thread, each a link to its answer."""
    rows = service.rows.thread(run.thread)
    if len(rows) < 2:
        return
    with st.container(horizontal=True, key="thread"):
        for row in rows:
            asked, key, here = escaped(label(row.question)), f"thread-{row.id}", row.id == run.id
            opened = {"run": row.id}
            st.button(asked, key=key, type="tertiary", disabled=here, on_click=ask_view.go, kwargs=opened)


def _cited(answer: Answer) -> list[int]:
    return [i for c in answer.citations for i in (c.passage_id, *(q.passage_id for q in c.more))]


def _sides(answer: Answer, passages: dict[int, Passage]) -> None:
    """Those for and against face each other; the others stand below them, three in a row."""
    facing = [s for s in answer.perspectives if s.stance != "other"]
    others = [s for s in answer.perspectives if s.stance == "other"]
    rows = [facing, *(others[i : i + 3] for i in range(0, len(others), 3))]
    for row in filter(None, rows):
        for column, side in zip(st.columns(max(2, len(row))), row, strict=False):
            with column, st.container(border=True, key=f"card-{side.stance}-{side.id}"):
                _card(answer, side, passages)


def turned(answer: Answer) -> Answer:
    """The answer with its sides in the order of the cards and the charts. No side always stands first: which one does
    is decided by the run's id, so that a reload changes nothing."""
    facing = [s for s in answer.perspectives if s.stance != "other"]
    others = [s for s in answer.perspectives if s.stance == "other"]
    facing = facing[::-1] if int(answer.run_id, 16) % 2 else facing
    return answer.model_copy(update={"perspectives": [*facing, *others]})


def _card(answer: Answer, side: AnswerPerspective, passages: dict[int, Passage]) -> None:
    line = line_of(answer, side)
    strength = strength_of(line, cased(side))
    st.html(f'<div class="sm-head"><b>{text(stance(answer, side))}</b><span>{text(strength)}</span></div>')
    own = quoted_head(side)

    def cited(words: str, numbers: Sequence[int], key: str) -> None:
        _cited_line(answer, words, numbers, f"{side.id}-{key}", passages)

    if said := named(answer, side):
        cited(f'<p class="sm-thesis">{text(said)}</p>', own.citations if own else [], "head")
    for number, claim in enumerate(case(side)):
        cited(f'<p class="sm-claim {claim.role}">{text(claim_text(claim))}</p>', claim.citations, str(number))
    if leaning := beside(side):
        st.html(f'<p class="sm-small sm-apart">{text(MAY_SPEAK)}</p>')
        for number, claim in enumerate(leaning):
            cited(f'<p class="sm-claim leaning">{text(claim_text(claim))}</p>', claim.citations, f"leaning-{number}")
    if gap := gap_of(line, side):
        st.html(f'<p class="sm-small">{text(gap)}</p>')
    if side.groups:
        with st.expander("What its sources say"):
            st.html(source_view.listed(side))


def _cited_line(answer: Answer, words: str, numbers: Sequence[int], key: str, passages: dict[int, Passage]) -> None:
    """Words, and beside them their numbers; each opens the card of its source."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap=None, wrap=False):
        st.html(words)
        for citation in (c for c in answer.citations if c.number in numbers):
            with st.popover(rf"\[{citation.number}\]", type="tertiary", key=f"cite-{key}-{citation.number}"):
                st.html(source_view.card(citation, passages))


def _nearest(service: PageService, answer: Answer) -> None:
    if answer.nearest_questions:
        say.small("The nearest sample questions:")
    with st.container(gap=None):
        for question in answer.nearest_questions:
            if st.button(escaped(question), key=f"nearest-{question}", type="tertiary"):
                ask_view.begin(service, question)


def _suggested(service: PageService, run: RunRow, answer: Answer, evidence: Sequence[Evidence]) -> None:
    """Follow-ups to ask with a click."""
    texts = list({e.passage.id: e.passage.text for e in evidence}.values())
    asked = [row.question for row in service.rows.thread(run.thread)]
    with st.container(horizontal=True, key="suggested"):
        for question in suggestions(answer, texts, asked):
            if st.button(escaped(question), key=f"suggested-{question}"):
                ask_view.begin(service, question, thread=run.id)


def _end(answer: Answer) -> None:
    name = f"steelman-{answer.run_id}.md"
    with st.container(horizontal=True, vertical_alignment="center"):
        say.small(closing(answer))
        st.download_button(
            "Download as Markdown", to_markdown(answer), name, "text/markdown", on_click="ignore", type="tertiary"
        )
