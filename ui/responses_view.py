"""What a side's sources say: each document's thesis and the evidence for it, those with near theses together."""

from agent.answer.model import AnswerPerspective, DocumentResponse, ResponseGroup
from agent.answer.words import decontextualised
from tools.language.words import count
from ui.shown import label, link, text


def listed(side: AnswerPerspective) -> str:
    """The list as HTML."""
    return "".join(_group(group) for group in side.groups)


def _group(group: ResponseGroup) -> str:
    documents = len(group.responses)
    near = f"{count(documents, 'document')} of {count(group.sources, 'source')}, close in what they say"
    head = f'<p class="sm-small">{near}</p>' if documents > 1 else ""
    return f'<div class="sm-group">{head}{"".join(_response(r) for r in group.responses)}</div>'


def _response(said: DocumentResponse) -> str:
    title = link(said.url, label(said.title or said.document_id, 160))
    about = [label(said.publisher, 60), f"[{said.citation}]" if said.citation else ""]
    evidence = "".join(f"<li>“{text(decontextualised(sentence))}”</li>" for sentence in said.evidence)
    return (
        f'<h4>{title}</h4><p class="sm-small">{text(" ".join(filter(None, about)))}</p>'
        f'<p class="sm-claim">“{text(decontextualised(said.thesis))}”</p>'
        + (f"<ul>{evidence}</ul>" if evidence else "")
    )
