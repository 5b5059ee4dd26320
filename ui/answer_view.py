"""An answer as the page shows it: the sides beside each other, the words behind each claim beside them, what was not
found, the sources, and what can be done with it."""

from collections.abc import Callable, Sequence

import streamlit as st

from agent.answer.files import ENDINGS, as_file
from agent.answer.followups import suggestions
from agent.answer.model import Answer, AnswerClaim, AnswerPerspective, Citation
from agent.answer.requests import search_more
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
    numbers,
    quoted_head,
    read_as,
    source_line,
    strength_of,
    undone,
)
from agent.answer.words import label as stance
from agent.runs.store import RunRow
from ui import ask_view, ledger, moves, say, source_view
from ui.service import PageService
from ui.shown import escaped, label, text

_OPENED = "source"
_NONE = "", 0, "", ""
_OUT_OF_TIME = ("late", "unjudged")


def show(service: PageService, run: RunRow, answer: Answer) -> None:
    """The whole answer, with the thread that it belongs to; beside it the source that was opened."""
    shown_run, number, words, opener = st.session_state.get(_OPENED, _NONE)
    citation = next((c for c in answer.citations if c.number == number), None) if shown_run == run.id else None
    # Two columns also where one is empty: the answer stays in its place, and so does what has the focus.
    main, aside = st.columns([5, 3] if citation else [1, 0.001], gap="medium" if citation else None)
    with main:
        _answer(service, run, answer)
    if citation:
        with aside, st.container(border=True, key="source"):
            _source(service, run, answer, citation, words, opener)


def _answer(service: PageService, run: RunRow, answer: Answer) -> None:
    _thread(service, run)
    say.title(answer.question)
    if read := read_as(answer):
        say.small(read)
    say.line(answer.summary)
    for note in answer.notes:
        if note.kind == "not_found":
            say.small(note.text)
    seen = turned(answer)
    if answer.crux:
        _cited_line(answer, f'<p class="sm-claim">{text(answer.crux.text)}</p>', answer.crux, "crux")
    _sides(service, run, seen)
    for number, claim in enumerate(answer.plain):
        _cited_line(answer, f'<p class="sm-claim">{text(claim_text(claim))}</p>', claim, f"plain-{number}")
    show_notes(answer)
    _more_time(service, run, answer)
    evidence = service.evidence(run.id)
    if answer.coverage:
        ledger.show(seen, evidence)
    _sources(answer)
    _end(answer)
    _nearest(service, answer)
    _suggested(service, run, answer, evidence)
    _reply(run, answer)


def show_notes(answer: Answer) -> None:
    """What was not done, in one line, and all else that the notes tell, folded."""
    if line := undone(answer.notes):
        say.small(line)
    if more := more_about(answer.notes):
        with st.expander(MORE):
            for words in more:
                say.small(words)


def _more_time(service: PageService, run: RunRow, answer: Answer) -> None:
    """Where the time ran out: the same question with the most time."""
    late = any(note.kind in _OUT_OF_TIME for note in answer.notes) and run.options.get("depth") != "deep"
    if late and st.button("Search again with more time", key="more-time"):
        thread = None if run.thread == run.id else run.thread
        ask_view.begin(service, answer.question, "deep", thread=thread)


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


# The sides


def _sides(service: PageService, run: RunRow, answer: Answer) -> None:
    """Those for and against face each other; the others stand below them, three in a row."""
    facing = [s for s in answer.perspectives if s.stance != "other"]
    others = [s for s in answer.perspectives if s.stance == "other"]
    rows = [facing, *(others[i : i + 3] for i in range(0, len(others), 3))]
    for row in filter(None, rows):
        for column, side in zip(st.columns(max(2, len(row))), row, strict=False):
            with column, st.container(border=True, key=f"card-{side.stance}-{side.id}"):
                _card(answer, side)
                with st.container(horizontal=True, key=f"acts-{side.id}"):
                    if st.button("Search more for this", key=f"search-more-{side.id}", type="tertiary"):
                        more = search_more(answer, side)
                        ask_view.begin(service, more.text, more.depth or "normal", thread=run.id)
                    if side.claims:
                        with st.popover("Copy", type="tertiary", key=f"copy-{side.id}"):
                            st.code(copied(answer, side), language=None, wrap_lines=True)


def turned(answer: Answer) -> Answer:
    """The answer with its sides in the order of the cards and the charts. No side always stands first: which one does
    is decided by the run's id, so that a reload changes nothing."""
    facing = [s for s in answer.perspectives if s.stance != "other"]
    others = [s for s in answer.perspectives if s.stance == "other"]
    facing = facing[::-1] if int(answer.run_id, 16) % 2 else facing
    return answer.model_copy(update={"perspectives": [*facing, *others]})


def copied(answer: Answer, side: AnswerPerspective) -> str:
    """A side as plain text, each claim with its numbers and below them the sources of these."""
    claims = [f"{claim_text(c)} {numbers(c.citations)}" for c in side.claims if c.tier == "case"]
    leaning = [f"{claim_text(c)} {numbers(c.citations)}" for c in side.claims if c.tier == "leaning"]
    cited = {n for c in side.claims for n in c.citations}
    sources = [f"[{c.number}] {source_line(c)}" for c in answer.citations if c.number in cited]
    head = f"{answer.neutral_question} {stance(answer, side)}"
    return "\n".join([head, *claims, *([MAY_SPEAK, *leaning] if leaning else []), "", *sources])


def _card(answer: Answer, side: AnswerPerspective) -> None:
    line = line_of(answer, side)
    strength = strength_of(line, cased(side))
    st.html(f'<div class="sm-head"><b>{text(stance(answer, side))}</b><span>{text(strength)}</span></div>')
    own = quoted_head(side)
    if said := named(answer, side):
        _cited_line(answer, f'<p class="sm-thesis">{text(said)}</p>', own, f"{side.id}-head")
    for number, claim in enumerate(case(side)):
        words = f'<p class="sm-claim {claim.role}">{text(claim_text(claim))}</p>'
        _cited_line(answer, words, claim, f"{side.id}-{number}")
    if leaning := beside(side):
        st.html(f'<p class="sm-small sm-apart">{text(MAY_SPEAK)}</p>')
        for number, claim in enumerate(leaning):
            words = f'<p class="sm-claim leaning">{text(claim_text(claim))}</p>'
            _cited_line(answer, words, claim, f"{side.id}-leaning-{number}")
    if gap := gap_of(line, side):
        st.html(f'<p class="sm-small">{text(gap)}</p>')
    if side.groups:
        with st.expander("What its sources say"):
            st.html(source_view.listed(side))


def _cited_line(answer: Answer, words: str, claim: AnswerClaim | None, key: str) -> None:
    """Words, and beside them their numbers; each opens its source beside the answer, with this claim's words marked."""
    said = claim.text if claim and claim.quoted else ""
    with st.container(horizontal=True, vertical_alignment="bottom", gap=None, wrap=False):
        st.html(words)
        for number in claim.citations if claim else ():
            _number(answer, number, said, f"cite-{key}-{number}")


def _number(answer: Answer, number: int, words: str, key: str) -> None:
    opened = answer.run_id, number, words, key
    st.button(rf"\[{number}\]", key=key, type="tertiary", on_click=_open, args=(opened, "close-source"))


def _open(source: tuple[str, int, str, str], focus: str) -> None:
    """Shows the source, or with `_NONE` none; the button of the key `focus` gets the focus."""
    st.session_state[_OPENED] = source
    moves.then(focus=f".st-key-{focus} button")


# The source that is open


def _source(service: PageService, run: RunRow, answer: Answer, citation: Citation, words: str, opener: str) -> None:
    passages = service.passages([citation.passage_id, *(q.passage_id for q in citation.more)])
    with st.container(horizontal=True, vertical_alignment="center"):
        st.html(f"<b>[{citation.number}]</b>")
        key, back = "close-source", (_NONE, opener)
        st.button("Close", key=key, type="tertiary", shortcut="Esc", on_click=_open, args=back)
    st.html(source_view.card(citation, passages, words))
    with st.container(horizontal=True):
        if st.button("Whole document", key="whole-document", type="tertiary"):
            _whole(service, citation, words)
        claimed = any(citation.number in c.citations for s in answer.perspectives for c in s.claims)
        if claimed and st.button("Challenge this claim", key="challenge", type="tertiary"):
            ask_view.begin(service, f"Strongest counter-argument to {citation.number}?", thread=run.id)


def _whole(service: PageService, citation: Citation, words: str) -> None:
    quotes = [words] if words else [citation.quote, *(q.quote for q in citation.more)]

    def shown() -> None:
        passages = service.store.document_passages(citation.passage_id)
        st.html(source_view.document(passages, quotes) if passages else "<p>The document is gone since.</p>")

    st.dialog(escaped(label(citation.title or citation.document_id, 90)), width="large")(shown)()


def _sources(answer: Answer) -> None:
    """The list of sources, each with its publisher, kind, date and sides; each opens beside the answer."""
    if not answer.citations:
        return
    st.html("<h2>Sources</h2>")
    for citation in answer.citations:
        about = " · ".join(filter(None, [source_view.about_of(citation), _speaks_for(answer, citation.number)]))
        title = label(citation.title or citation.document_id, 120)
        with st.container(horizontal=True, vertical_alignment="center", gap="small", wrap=False):
            _number(answer, citation.number, "", f"cite-list-{citation.number}")
            st.html(f'<div><b>{text(title)}</b><p class="sm-small">{text(about)}</p></div>')


def _speaks_for(answer: Answer, number: int) -> str:
    """'Yes, may speak for No': the sides whose claims cite the source."""
    told = []
    for side in answer.perspectives:
        if tiers := {c.tier for c in side.claims if number in c.citations}:
            name = stance(answer, side)
            told.append(name if "case" in tiers else f"may speak for {name}")
    return ", ".join(dict.fromkeys(told))


# What can be done with it


def _nearest(service: PageService, answer: Answer) -> None:
    if answer.nearest_questions:
        say.small("The nearest sample questions:")
    with st.container(gap=None):
        for question in answer.nearest_questions:
            if st.button(escaped(question), key=f"nearest-{question}", type="tertiary"):
                ask_view.begin(service, question)


def _reply(run: RunRow, answer: Answer) -> None:
    """What was last asked of this answer, and what it tells."""
    shown_run, reply = st.session_state.get("reply", ("", None))
    if reply is None or shown_run != run.id:
        return
    with st.container(border=True, key="reply"):
        st.html(f"<h4>{text(reply.heading)}</h4>")
        for place, (said, cited) in enumerate(reply.lines):
            claim = AnswerClaim(text=said, citations=cited, quoted=False)
            _cited_line(answer, f'<p class="sm-claim">{text(said)}</p>', claim, f"reply-{place}")


def _suggested(service: PageService, run: RunRow, answer: Answer, evidence: Sequence[Evidence]) -> None:
    """Follow-ups to ask with a click."""
    texts = list({e.passage.id: e.passage.text for e in evidence}.values())
    asked = [row.question for row in service.rows.thread(run.thread)]
    with st.container(horizontal=True, key="suggested"):
        for question in suggestions(answer, texts, asked):
            if st.button(escaped(question), key=f"suggested-{question}"):
                ask_view.begin(service, question, thread=run.id)


def _end(answer: Answer) -> None:
    say.small(closing(answer))
    with st.container(horizontal=True, key="end"):
        with st.popover("Export", type="tertiary"):
            for ending in ENDINGS:
                name = f"steelman-{answer.run_id}{ending}"
                st.download_button(
                    _FORMATS[ending], _content(answer, ending), name, on_click="ignore", key=f"as{ending}"
                )
        if answer.citations:
            beside = {"run": answer.run_id, "view": "compare"}
            st.button("Compare", key="compare", type="tertiary", on_click=ask_view.go, kwargs=beside)
        with st.popover("Link", type="tertiary"):
            say.small("The answer's permanent address; who can open this page can open it.")
            st.code(f"{(st.context.url or '').partition('?')[0]}?run={answer.run_id}", language=None, wrap_lines=True)


_FORMATS = {".md": "Markdown", ".html": "Web page", ".docx": "Word", ".json": "JSON"}


def _content(answer: Answer, ending: str) -> Callable[[], bytes]:
    """Makes the file once it is asked for."""
    return lambda: as_file(answer, ending)
