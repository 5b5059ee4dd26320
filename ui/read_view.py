"""The documents that were read for an answer: what each was taken for, and whether it is quoted or why it is not."""

import streamlit as st

from agent.answer.lines import by_file, document_facts, file_line, headline, titled
from agent.answer.model import Answer, AnswerClaim, AnswerDocument
from agent.answer.words import DOCUMENTS
from ui import cited_view, source_view
from ui.service import PageService
from ui.shown import escaped, label, text

_SHOWN = 50  # documents at first, and more with each click


def show(service: PageService, answer: Answer) -> None:
    """The list, folded; on paper it is open."""
    if not (files := by_file(answer)):
        return
    key = f"read-{answer.run_id}"
    most, shown = st.session_state.get(key, _SHOWN), 0
    with st.expander(f"{DOCUMENTS}: {headline(answer).lower()}", key="folded-documents"):
        for name, rows in files:
            if name and shown < most:
                st.html(f"<b>{text(label(file_line(name, rows), 120))}</b>")
            for row in rows[: max(0, most - shown)]:
                _row(service, answer, row, shown := shown + 1)
        if shown < sum(len(rows) for _, rows in files):
            st.button("More", key="more-read", on_click=st.session_state.update, kwargs={key: most + _SHOWN})


def _row(service: PageService, answer: Answer, document: AnswerDocument, place: int) -> None:
    """Its title, which opens it at its surest sentence; what is known of it, and its numbers."""
    with st.container(gap=None, horizontal_alignment="left", key=f"read-{place}"):
        title = titled(document, document.id, filed=False)
        if st.button(escaped(label(title, 120)), key=f"open-read-{place}", type="tertiary"):
            passage, words = _surest(service, answer, document)
            source_view.open_document(title, service.store.document_passages(passage), [words])
        cited = AnswerClaim(text="", citations=document.quoted, quoted=False)
        facts = " · ".join(document_facts(answer, document))
        cited_view.line(answer, f'<p class="sm-small">{text(facts)}</p>', cited, f"list-{place}")


def _surest(service: PageService, answer: Answer, document: AnswerDocument) -> tuple[int, str]:
    """The passage of the document with its surest sentence, and that sentence; of one that no side quotes the passage
    that was judged surest. Passage 0, which there is not, where none is kept."""
    cited = [c for c in answer.citations if c.number in document.quoted]
    found = [(c.support or 0, c.passage_id, c.quote) for c in cited]
    found += [(q.support or 0, q.passage_id, q.quote) for c in cited for q in c.more]
    if not found:
        here = document.collection, document.id, document.file
        read = [(e.support, e.passage) for e in service.evidence(answer.run_id)]
        found = [(s, p.id, p.text) for s, p in read if (p.collection, p.document_id, p.file) == here]
    return max(found, default=(0, 0, ""))[1:]
