"""Lists the documents that were read for an answer, each with its side and whether the answer quotes the document."""

from functools import partial

import streamlit as st

from agent.answer import document_list as documents
from agent.answer.model import Answer, AnswerClaim, AnswerDocument
from agent.answer.wording import DOCUMENTS
from tools.translation import labelled, speaking, spoken_language, tr
from ui import claims_view, source_view
from ui.escaping import escaped, label, text
from ui.service import PageService

_SHOWN = 50  # documents at first, and more with each click


def show(service: PageService, answer: Answer) -> None:
    """Shows the list folded. On a printed page the list is unfolded."""
    if not (files := documents.documents_by_file(answer)):
        return
    key = f"read-{answer.run_id}"
    most, shown = st.session_state.get(key, _SHOWN), 0
    headline = documents.documents_headline(answer)
    told = headline.lower() if spoken_language() == "en" else headline[:1].lower() + headline[1:]
    with st.expander(labelled(tr(DOCUMENTS), told), key="folded-documents"):
        with speaking(answer.language):
            for name, rows in files:
                if name and shown < most:
                    st.html(f"<b>{text(label(documents.file_line(name, rows), 120))}</b>")
                for row in rows[: max(0, most - shown)]:
                    _row(service, answer, row, shown := shown + 1)
        if shown < sum(len(rows) for _, rows in files):
            st.button(tr("More"), key="more-read", on_click=st.session_state.update, kwargs={key: most + _SHOWN})


def _row(service: PageService, answer: Answer, document: AnswerDocument, place: int) -> None:
    """Shows a document. A click on the title opens the document at its surest sentence."""
    with st.container(gap=None, horizontal_alignment="left", key=f"read-{place}"):
        title = documents.document_title(document, document.id, filed=False)
        if st.button(escaped(label(title, 120)), key=f"open-read-{place}", type="tertiary"):
            judged, retrieved = partial(service.evidence, answer.run_id), partial(service.ranked, answer.run_id)
            passage, words = documents.surest_passage(answer, document, judged, retrieved)
            source_view.open_document(title, service.store.document_passages(passage), [words])
        cited = AnswerClaim(text="", citations=document.quoted, quoted=False)
        facts = " · ".join(documents.document_facts(answer, document))
        claims_view.line(answer, f'<p class="sm-small">{text(facts)}</p>', cited, f"list-{place}")
