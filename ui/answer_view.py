"""Shows an answer: the sides beside each other, the quotations without a side, the documents, and further actions."""

from collections.abc import Sequence
from functools import partial
from itertools import groupby
from typing import NamedTuple

import streamlit as st

from agent.answer import followups, wording
from agent.answer.debate_sheet import SHEET_LABEL
from agent.answer.files import export_answer, file_name
from agent.answer.followups import suggested_followups
from agent.answer.model import LEAD_NOTE_KINDS, Answer, AnswerClaim, AnswerPerspective
from agent.answer.outline import side_as_text
from agent.limits import FIRST_ALSO
from agent.options import RunOptions
from agent.runs.store import RunRow
from agent.stage_interfaces import NO_WEB
from agent.state import OTHER_WAYS
from tools.language.lexicon import count
from tools.store.store import SAMPLES
from tools.translation import in_its_language, in_marks, labelled, mark, speaking, tr, trn
from ui import ask_view, claims_view, document_list, focus, html, permissions
from ui.escaping import escaped, label, text
from ui.service import PageService

_ROWS = 6  # number of reasons that are not folded
_SOURCES = mark(
    "This counts what is shown, not who is right. Each publisher is one source, each document without a publisher, and "
    "each speaker of a document with several. Texts that say the same count once. A person whom a text quotes has a "
    "number of their own."
)


def show(service: PageService, run: RunRow, answer: Answer) -> None:
    """Shows the answer with its thread. The open source is shown beside the answer.

    The answer's words are in its language, the page's own words around them in the visitor's."""
    citation = claims_view.opened(answer)
    # There are always two columns, so that the answer and the focused element stay in place if one column is empty.
    main, aside = st.columns([9, 4] if citation else [1, 0.001], gap="small" if citation else None)
    with main:
        _answer(service, run, answer)
    if citation:
        with aside, st.container(border=True, key="source"):
            claims_view.source(service, answer, citation)


def _answer(service: PageService, run: RunRow, answer: Answer) -> None:
    _thread(service, run)
    html.title(answer.question)
    if read := wording.question_as_read(answer):
        html.small(read)
    html.line(answer.summary)
    if not permissions.by_shared_link(service.person) and _repeats(service, run, answer):
        html.small(tr("This search found nothing more than the one before."))
    for note in answer.notes:
        if note.kind in LEAD_NOTE_KINDS:
            html.small(note.text)
    _nearest(service, answer)
    if answer.crux:
        with speaking(answer.language):
            label = labelled(tr(wording.CRUX_LABEL), "")
        crux = f'<p class="sm-claim"><b>{label}</b>{text(answer.crux.text)}</p>'
        claims_view.line(answer, crux, answer.crux, "crux")
    by = claims_view.Corrector(service, run, answer)
    parts = partial(_sides, by, answer), partial(_also, by, answer)
    for show_part in reversed(parts) if wording.is_sideless(answer) else parts:
        show_part()
    show_notes(answer)
    by.undo()
    document_list.show(service, answer)
    _end(service, run, answer)
    _suggested(service, answer)
    _conversation(by, answer)


def _repeats(service: PageService, run: RunRow, answer: Answer) -> bool:
    """Returns whether the run asked again for an earlier answer of its thread, and quotes nothing that was not quoted
    there."""
    earlier = [row.id for row in service.rows.thread(run.thread) if row.created_at < run.created_at]
    before = [found for row in earlier if (found := service.rows.get(row).answer)]
    again = [_quotes(found) for found in before if followups.repeated_question(found) == run.question]
    return bool(again) and _quotes(answer) <= set[str]().union(*again)


def _quotes(answer: Answer) -> set[str]:
    return {q.quote for citation in answer.citations for q in citation.quotations}


def _also(by: claims_view.Corrector, answer: Answer) -> None:
    """Shows the quotations that have no side. If no quotation has a side, shows how to get sides."""
    if answer.also and answer.perspectives:
        st.html(f"<h2>{wording.also_heading(answer)}</h2>")
    claims_view.claims(by, answer.also, "also", FIRST_ALSO)
    if said := wording.how_to_get_sides(answer):
        html.small(
            said
            if permissions.may_set()
            else tr("With a chat model, which the operator of this page can set up, these are sorted by side.")
        )


def show_notes(answer: Answer) -> None:
    """Shows failures and omissions in one line, and folds all other notes."""
    if line := wording.problem_line(answer.notes):
        html.small(line)
    if more := wording.folded_notes(answer.notes):
        with st.expander(tr(wording.HOW_MADE)):
            for said in more:
                html.small(said)


def _thread(service: PageService, run: RunRow) -> None:
    """Links to each question of the thread."""
    rows = service.rows.thread(run.thread)
    if len(rows) < 2 or permissions.by_shared_link(service.person, run.thread):
        return
    with st.container(horizontal=True, key="thread"):
        for row in rows:
            asked, key, here = escaped(label(row.question)), f"thread-{row.id}", row.id == run.id
            st.button(asked, key, None, ask_view.go, kwargs={"run": row.id}, type="tertiary", disabled=here)


# The sides


class _ReasonRow(NamedTuple):
    """One reason with the claims of two sides. reason: empty for claims without a reason. cells: for each side, the
    positions of its claims in `claims_below_heading`."""

    reason: str
    cells: tuple[list[int], list[int]]


def _rows_by_reason(sides: Sequence[AnswerPerspective]) -> list[_ReasonRow]:
    """Groups the claims of two sides by reason. Returns rows only if both sides name reasons. Quotations have no
    reasons.

    Shared reasons come first and claims without a reason last. The other rows follow the order of their first claim.
    """
    cases = [wording.claims_below_heading(side) for side in sides]
    if len(cases) != 2 or not all(any(c.reason for c in claims) for claims in cases):
        return []
    rows: dict[Sequence[str], _ReasonRow] = {}
    for place, claims in enumerate(cases):
        for number, claim in enumerate(claims):
            row = rows.setdefault(wording.reason_key(claim.reason), _ReasonRow(wording.reason_label(claim), ([], [])))
            row.cells[place].append(number)
    return sorted(rows.values(), key=lambda r: (not r.reason, not all(r.cells), min(r.cells[0] + r.cells[1])))


def _sides(by: claims_view.Corrector, answer: Answer) -> None:
    """Shows the sides for and against beside each other, and the other sides below them."""
    for name, found in groupby(answer.perspectives, lambda side: "others" if side.stance == "other" else "facing"):
        sides = list(found)
        rows = _rows_by_reason(sides) if name == "facing" or len(answer.perspectives) == 2 else []
        with st.container(key=f"sides-{name}"):
            for side in sides:
                with st.container(border=True, key=f"card-{side.stance}-{side.id}"):
                    _card(by, answer, side, claims=not rows)
                    _acts(by.service, by.run, answer, side)
        above = st.container()  # for the way back of a claim whose row is gone
        for place, row in enumerate(rows[:_ROWS]):
            _row(by, sides, row, place)
        if more := rows[_ROWS:]:
            said = trn("{number} more reason", "{number} more reasons", len(more))
            with st.expander(f":small[+ {said}]", key="folded-reasons"):
                for place, row in enumerate(more, start=_ROWS):
                    _row(by, sides, row, place)
        with above:
            for side in sides if rows else ():
                by.undo(side.id)


def _row(by: claims_view.Corrector, sides: Sequence[AnswerPerspective], row: _ReasonRow, place: int) -> None:
    """Shows a reason, and below it the claims of each side for that reason."""
    st.html(f"<h4>{text(label(row.reason) or tr('Without a named reason'))}</h4>")
    with st.container(key=f"sides-row-{place}"):
        for side, cell in zip(sides, row.cells, strict=True):
            with st.container(key=f"card-{side.stance}-{side.id}-{place}", gap="small"):
                html.small(f"{label(wording.side_name(by.answer, side))}{'' if cell else ' —'}")
                by.undo(stood := f"{side.id}-row-{wording.reason_key(row.reason)}")  # a move changes the rows' order
                for number in cell:
                    claims_view.one(by, wording.claims_below_heading(side)[number], f"{side.id}-{number}", stood)


def _acts(service: PageService, run: RunRow, answer: Answer, side: AnswerPerspective) -> None:
    with st.container(horizontal=True, key=f"acts-{side.id}"):
        if st.button(tr("Search more for this side"), key=f"search-more-{side.id}", type="tertiary"):
            ask_view.begin(service, followups.repeated_question(answer), "deep", thread=run.id)
        against, has_case = tr("What speaks against this"), side.claims and side.id != OTHER_WAYS
        if has_case and st.button(against, f"against-{side.id}", type="tertiary"):
            ask_view.carry_out(service, answer, "", followups.counter_search(answer, side.name))
        if side.all_claims:
            button = {"focus": "[data-testid=stPopoverBody] .stCode button"}
            copy = st.popover(tr("Copy"), type="tertiary", key=f"copy-{side.id}", on_change=focus.then, kwargs=button)
            if copy.open:
                copy.code(side_as_text(answer, side), language=None, wrap_lines=True)


def _card(by: claims_view.Corrector, answer: Answer, side: AnswerPerspective, *, claims: bool) -> None:
    """Shows a side. claims: whether the card includes the claims. Otherwise rows below both sides show the claims."""
    strength = wording.evidence_counts(answer, side)
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center", gap="small"):
        st.html(f"<b>{text(wording.side_label(answer, side))}</b>", width="content")
        st.markdown(f":small[{strength}]", help=tr(_SOURCES), width="content")
    own = wording.quoted_heading(side)
    if said := wording.side_heading(answer, side):
        head = f'<p class="sm-thesis">{text(said)}</p>'
        claims_view.sourced(by, head, own or AnswerClaim(text="", citations=[]), f"{side.id}-head")
    if claims:
        claims_view.claims(by, wording.claims_below_heading(side), side.id)
    if not side.claims and (tried := wording.queries_tried(answer, side, wording.coverage_line(answer, side))):
        html.small(tried)
    if side.objections:
        st.markdown(f":small[{tr(wording.AGAINST_IT)}]")
        claims_view.claims(by, side.objections, f"{side.id}-against")


# Actions on the answer


def _nearest(service: PageService, answer: Answer) -> None:
    if answer.nearest_questions:
        html.small(tr(wording.NEAREST_QUESTIONS))
    with st.container(gap=None, horizontal_alignment="left"):
        for question in answer.nearest_questions:
            if st.button(escaped(question), key=f"nearest-{question}", type="tertiary"):
                ask_view.begin(service, question, collections=(SAMPLES,))
    if answer.outcome == "nothing_found":
        ask_view.link(tr("Add your documents"), "add-documents", view="documents")


def _conversation(by: claims_view.Corrector, answer: Answer) -> None:
    """Shows the commands of this visit and their replies. The newest comes last."""
    replies = st.session_state.get(f"replies-{answer.run_id}", [])
    for place, (asked, reply) in enumerate(replies, start=1):
        with st.container(border=True, key=f"reply-{place}"):
            you = text(tr("You asked: {question}", question=asked))
            st.html(f'<p class="sm-small">{you}</p><b>{text(reply.heading)}</b>')
            for number, (said, cited) in enumerate(reply.lines):
                _reply_line(by, said, cited, f"reply-{place}-{number}", reply.quotes.get(said, ""))
    if replies:
        html.small(tr("Reloading the page removes these replies."))


def _reply_line(by: claims_view.Corrector, said: str, cited: Sequence[int], key: str, quote: str) -> None:
    """Shows a line of a reply. If the line is a claim of the answer, its sources follow as in the answer. quote: the
    words that the sources mark."""
    every = [*(c for side in by.answer.perspectives for c in side.all_claims), *by.answer.also]
    same = (c for c in every if {*cited} & {*c.citations} and said.endswith(wording.claim_text(c)))
    if (claim := next(same, None)) is None:
        plain = AnswerClaim(text=said, citations=list(cited), quoted=False, evidence=[quote])
        claims_view.line(by.answer, f'<p class="sm-claim">{text(said)}</p>', plain, key)
        return
    words = said.removesuffix(wording.claim_text(claim)) + wording.claim_text(claim, speaker="")
    claims_view.sourced(by, f'<p class="sm-claim">{text(words)}</p>', claim, key, cited=cited)


def _suggested(service: PageService, answer: Answer) -> None:
    """Offers commands and follow-ups as buttons."""
    with st.container(horizontal=True, key="suggested"):
        if answer.citations:
            commands = {tr("Summarise"): followups.summarise_answer, tr("Only newer sources"): followups.newer_sources}
            for name, command in commands.items():
                if st.button(name, key=f"command-{command.__name__}"):
                    ask_view.carry_out(service, answer, name, command(answer))
        for question in suggested_followups(answer):
            if st.button(escaped(question), key=f"suggested-{question}"):
                ask_view.begin(service, question, thread=answer.run_id)


@in_its_language
def searched(answer: Answer, service: PageService, run: RunRow) -> str:
    """Returns 'Searched: mine, studies.' or 'Searched: 2 web pages.'"""
    options = RunOptions.from_dict(run.options)
    places = [in_marks(service.called(name), "‘{}’") for name in options.own_collections]
    places += [tr(ask_view.KINDS[kind]) for kind in answer.kinds if kind != "mine"]
    if options.urls:
        places = [count(len(options.urls), "web page")]
    elif not answer.kinds and answer.perspectives and tr(NO_WEB) not in wording.problem_line(answer.notes):
        places.append(tr("the web"))  # answers of earlier versions name no kinds
    return tr("Searched: {places}.", places=", ".join(places))


def _end(service: PageService, run: RunRow, answer: Answer) -> None:
    html.small(searched(answer, service, run))
    html.small(wording.closing_line(answer, asked=run.created_at))
    with st.container(horizontal=True, key="end"):
        with st.popover(tr("Export"), type="tertiary"):
            for ending, called in FORMATS.items():
                made = partial(export_answer, answer, ending, asked=run.created_at)
                name = file_name(answer.question, ending)
                st.download_button(tr(called), made, name, on_click="ignore", key=f"as{ending}")
        if answer.outcome == "answered":
            ask_view.link(tr(SHEET_LABEL), "sheet", run=answer.run_id, view="sheet")
        focus.print_button()
        ask_view.link(tr("Compare"), "compare", run=answer.run_id, view="compare")
        with st.popover(tr("Link"), type="tertiary"):
            alone = tr("The answer's permanent address; you alone can open it.")
            shared = tr("The answer's permanent address; all who can open this page can open it.")
            html.small(alone if run.person else shared)
            st.code(f"{(st.context.url or '').split('?')[0].rstrip('/')}/?run={answer.run_id}", None, wrap_lines=True)


FORMATS = {
    ".docx": "Word",
    ".html": mark("Web page"),
    ".md": mark("Plain text (Markdown)"),
    ".json": mark("For programs (JSON)"),
}
