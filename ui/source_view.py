"""A citation's card: the passage with the words marked, who published it, who else says so, how sure the judge is; and
what a side's sources say: each document's thesis and the evidence for it, those with near theses together."""

from collections.abc import Mapping, Sequence

from agent.answer.model import Answer, AnswerPerspective, Citation, CoverageLine, DocumentResponse, ResponseGroup
from agent.answer.words import day, decontextualised, line_of, place_of
from tools.language.words import count
from tools.passages import Passage
from ui.shown import label, link, marked, text

_NAMED = 6  # sources named beside this one


def card(
    answer: Answer,
    side: AnswerPerspective | None,
    citation: Citation,
    passages: Mapping[int, Passage],
    sources: Sequence[str],
) -> str:
    """The card as HTML.

    passages: by id, of which those that were deleted are missing. sources: names of the independent sources that stand
    behind the side.
    """
    about = ", ".join(filter(None, [label(citation.publisher, 100), _kind(citation), label(day(citation.date))]))
    facts = [
        ("Strength", text(_strength(citation))),
        ("Sources", text(_independent(line_of(answer, side), citation, sources)) if side else ""),
    ]
    rows = "".join(f"<dt>{name}</dt><dd>{said}</dd>" for name, said in facts if said)
    title = link(citation.url, label(citation.title or citation.document_id, 160))
    head = f"<h4>{title}</h4>" + (f'<p class="sm-small">{text(about)}</p>' if about else "")
    return f'<div class="sm-source">{head}{_passages(citation, passages)}<dl>{rows}</dl></div>'


def likelihood(support: float) -> str:
    """A probability in words."""
    steps = ((0.9, "very likely"), (0.7, "likely"), (0.5, "more likely than not"))
    return next((word for least, word in steps if support >= least), "uncertain")


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
    return f'<p class="sm-small">{label(where, 120)}</p>' if where else ""


def _kind(citation: Citation) -> str:
    kind = "" if citation.kind == "unknown" else citation.kind
    return f"{kind} (sample)".strip() if citation.sample else kind


def _strength(citation: Citation) -> str:
    """What the judge made of the words, in words, with the number behind them."""
    if citation.support is None:
        return ""
    return f"{likelihood(citation.support)} to support this side (the judge's probability: {citation.support:.2f})"


def _independent(line: CoverageLine, citation: Citation, sources: Sequence[str]) -> str:
    """How many stand behind the side, and who they are beside this one."""
    said = f"{count(line.sources, 'independent source')} for this side"
    own = (citation.publisher or citation.document_id).casefold()
    others = [name for name in dict.fromkeys(sources) if name.casefold() != own]
    named = ", ".join(label(name, 60) for name in others[:_NAMED]) + (" …" if len(others) > _NAMED else "")
    return f"{said}; beside this one: {named}" if others else said


def listed(side: AnswerPerspective) -> str:
    """What the side's sources say, as HTML."""
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
