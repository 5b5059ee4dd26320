"""A citation's card with the quoted words marked, and a whole document in a window."""

from collections.abc import Mapping, Sequence

import streamlit as st

from agent.answer.document_list import document_title
from agent.answer.model import Citation
from agent.answer.wording import date_unless_in_title, location_in_source, source_kind, speaker_in_words
from tools.passages import Passage
from tools.translation import tr
from ui import focus
from ui.escaping import escaped, label, link, marked, text


def card(citation: Citation, passages: Mapping[int, Passage], words: Sequence[str] = ()) -> str:
    """Returns the card as HTML. passages: by id, without deleted ones. words: the quotations to mark."""
    head = f"<h2>{link(citation.url, label(document_title(citation, citation.document_id), 160))}</h2>"
    head += f'<p class="sm-small">{text(about)}</p>' if (about := about_of(citation)) else ""
    return f'<div class="sm-source">{head}{_passages(citation, passages, words)}</div>'


def about_of(citation: Citation) -> str:
    """Returns 'Cllr Faulds, Sample Gazette, opinion (sample), 12 March 2026'."""
    who = (label(name, 100) for name in (speaker_in_words(citation.speaker), citation.publisher, citation.file))
    return ", ".join(
        filter(None, [*who, source_kind(citation), label(date_unless_in_title(citation.title, citation.date))])
    )


def _passages(citation: Citation, passages: Mapping[int, Passage], words: Sequence[str]) -> str:
    quotes: dict[int, list[str]] = {}
    for quotation in citation.quotations:
        quotes.setdefault(quotation.passage_id, []).append(quotation.quote)
    alone = {i: wanted for i, said in quotes.items() if (wanted := [q for q in said if q in words])}
    shown = [
        (f'<p class="sm-small">{text(label(where, 120))}</p>' if (where := location_in_source(passages[i])) else "")
        + f"<blockquote>{marked(passages[i].text, said)}</blockquote>"
        for i, said in (alone or quotes).items()
        if i in passages
    ]
    gone = "" if shown else f"<p>{text((*words, citation.quote)[0])}</p><p>{text(tr('The passage was deleted.'))}</p>"
    return "".join(shown) + gone


def open_document(title: str, passages: Sequence[Passage], quotes: Sequence[str] = ()) -> None:
    """Opens a window with the whole document and its headings. Quotations are marked."""
    shown, heading = "" if passages else f"<p>{text(tr('The document was deleted.'))}</p>", ""
    for passage in passages:
        if passage.section != heading:
            heading = passage.section
            shown += f"<h3>{text(label(heading, 120))}</h3>" if heading else ""
        shown += f'<p class="sm-small">{text(label(passage.speaker, 120))}</p>' if passage.speaker else ""
        shown += f"<p>{marked(passage.text, quotes)}</p>"
    window = st.dialog(escaped(label(title, 90)), width="large")
    parts = (f'<div class="sm-source">{shown}</div>', False), (focus.now(shown="[role=dialog] mark"), True)
    window(lambda: [st.html(part, unsafe_allow_javascript=ours) for part, ours in parts])()
