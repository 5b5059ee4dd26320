"""A citation's card: the passage with the words marked, who published it, how sure the judge is; and what a side's
sources say: each document's thesis and the evidence for it, those with near theses together."""

from collections.abc import Mapping

from agent.answer.model import AnswerPerspective, Citation, DocumentResponse
from agent.answer.words import day, decontextualised, place_of
from tools.language.words import count
from tools.passages import Passage
from ui.shown import label, link, marked, text


def card(citation: Citation, passages: Mapping[int, Passage]) -> str:
    """The card as HTML; passages: by id, of which those that were deleted are missing."""
    known = "" if citation.kind == "unknown" else citation.kind
    kind = f"{known} (sample)".strip() if citation.sample else known
    about = ", ".join(filter(None, [label(citation.publisher, 100), kind, label(day(citation.date))]))
    head = f"<h4>{link(citation.url, label(citation.title or citation.document_id, 160))}</h4>"
    head += f'<p class="sm-small">{text(about)}</p>' if about else ""
    sure = ""
    if citation.support is not None:
        sure = f'<p class="sm-small">{citation.support:.2f}, by the judge: how likely it supports this side</p>'
    return f'<div class="sm-source">{head}{_passages(citation, passages)}{sure}</div>'


def _passages(citation: Citation, passages: Mapping[int, Passage]) -> str:
    quotes = {citation.passage_id: [citation.quote]}
    for more in citation.more:
        quotes.setdefault(more.passage_id, []).append(more.quote)
    shown = [
        f"{_place(passages[i])}<blockquote>{marked(passages[i].text, said)}</blockquote>"
        for i, said in quotes.items()
        if i in passages
    ]
    gone = "" if len(shown) == len(quotes) else f"<p>{text(citation.quote)}</p><p>The passage is gone since.</p>"
    return "".join(shown) + gone


def _place(passage: Passage) -> str:
    where = place_of(passage)
    return f'<p class="sm-small">{text(label(where, 120))}</p>' if where else ""


def listed(side: AnswerPerspective) -> str:
    """What the side's sources say, as HTML."""
    shown = ""
    for group in side.groups:
        documents = len(group.responses)
        near = f"{count(documents, 'document')} of {count(group.sources, 'source')}, close in what they say"
        head = f'<p class="sm-small">{near}</p>' if documents > 1 else ""
        shown += f'<div class="sm-group">{head}{"".join(_response(r) for r in group.responses)}</div>'
    return shown


def _response(said: DocumentResponse) -> str:
    title = link(said.url, label(said.title or said.document_id, 160))
    about = [label(said.publisher, 60), f"[{said.citation}]" if said.citation else ""]
    evidence = "".join(f"<li>“{text(decontextualised(sentence))}”</li>" for sentence in said.evidence)
    return (
        f'<h4>{title}</h4><p class="sm-small">{text(" ".join(filter(None, about)))}</p>'
        f'<p class="sm-claim">“{text(decontextualised(said.thesis))}”</p>'
        + (f"<ul>{evidence}</ul>" if evidence else "")
    )
