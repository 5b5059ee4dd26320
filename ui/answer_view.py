"""An answer as the page shows it: the sides side by side, the words behind each claim, what was not found."""

import re

import streamlit as st

from agent.answer import Answer, AnswerPerspective, Citation
from agent.rendering.markdown import escape as escape_markdown
from agent.rendering.markdown import to_markdown
from agent.rendering.words import (
    case,
    closing,
    head,
    hole,
    label,
    line_of,
    looked_for,
    plain,
    read_as,
    said,
    strength_of,
)
from ui.door import Door
from ui.shown import link, marked, text

_STREAMLIT_MARKUP = re.compile(r"([:$])")


def escaped(words: str) -> str:
    """Text for Streamlit's own Markdown: none of its marks, colours, icons or formulas does anything."""
    return _STREAMLIT_MARKUP.sub(r"\\\1", escape_markdown(plain(words)))


def show(to: Door, answer: Answer) -> None:
    """The whole answer."""
    st.title(escaped(answer.question))
    if read := read_as(answer):
        st.caption(escaped(read))
    st.markdown(escaped(answer.summary))
    facing = [s for s in answer.perspectives if s.stance != "other"]
    others = [s for s in answer.perspectives if s.stance == "other"]
    for group in (_turned(answer.run_id, facing), others):
        for column, side in zip(st.columns(max(1, len(group))), group, strict=False):
            with column:
                _card(to, answer, side)
    for claim in answer.plain:
        st.html(f"<p>{text(said(claim))}</p>")
    for note in answer.notes:
        st.caption(escaped(note.text))
    _end(answer)


def _turned(run_id: str, sides: list[AnswerPerspective]) -> list[AnswerPerspective]:
    """No side always stands first: which one does is decided by the run's id, so that a reload changes nothing."""
    return sides[::-1] if int(run_id, 16) % 2 else sides


def _card(to: Door, answer: Answer, side: AnswerPerspective) -> None:
    line = line_of(answer, side)
    with st.container(border=True):
        st.html(
            f"<small>{text(label(side))} · {text(strength_of(line, len(side.claims)))}</small>"
            f"<h3 style='margin:.2rem 0'>{text(head(side))}</h3>"
        )
        for number, claim in enumerate(case(side)):
            st.html(f"<p>{text(said(claim))}</p>")
            with st.container(horizontal=True):
                for cited in claim.citations:
                    citation = next(c for c in answer.citations if c.number == cited)
                    with st.popover(
                        f"[{cited}]".replace("[", r"\["), type="tertiary", key=f"{side.id}-{number}-{cited}"
                    ):
                        _source(to, answer, citation)
        for words in filter(None, (hole(line, len(side.claims)), looked_for(side, line))):
            st.caption(escaped(words))


def _source(to: Door, answer: Answer, citation: Citation) -> None:
    """The passages behind a citation with the words marked, and what is known of their source."""
    quotes = {citation.passage_id: [citation.quote]}
    for more in citation.more:
        quotes.setdefault(more.passage_id, []).append(more.quote)
    found = to.passages(list(quotes))
    title = citation.title or citation.document_id
    about = [citation.publisher, f"{citation.kind} (sample)" if citation.sample else citation.kind, citation.date]
    parts = [f"<b>{link(citation.url, title)}</b>", f"<p><small>{text(' · '.join(filter(None, about)))}</small></p>"]
    parts += [f"<p>{marked(found[i].text, said_there)}</p>" for i, said_there in quotes.items() if i in found]
    if citation.support is not None:
        parts.append(f"<p><small>the judge's probability of support: {citation.support:.2f}</small></p>")
    st.html("".join(parts))


def _end(answer: Answer) -> None:
    if answer.nearest_questions:
        st.caption("Nearest sample questions: " + escaped(" · ".join(answer.nearest_questions)))
    st.caption(escaped(closing(answer)))
    st.download_button("Download as Markdown", to_markdown(answer), f"steelman-{answer.run_id}.md", "text/markdown")
