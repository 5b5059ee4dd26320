"""The answer as one HTML page without scripts; numbers link to their sources."""

from collections.abc import Sequence
from html import escape
from itertools import groupby

from agent.answer.model import Answer, Citation
from agent.answer.render.outline import Block, ending, opening, perspective, sources
from agent.answer.render.words import ADD_SOURCES, MORE, closing, numbers, shown, words_behind

_STYLE = (
    "body{max-width:46rem;margin:2rem auto;padding:0 1rem;font:1rem/1.55 Georgia,serif;color:#1d2430;background:#fff}"
    "h1{font-size:1.6rem}h2{font-size:1.1rem;margin:1.8rem 0 .2rem}.how,.note,footer{color:#5a6472;font-size:.9rem}"
    "li{margin:.35rem 0}.leaning{color:#5a6472;list-style:circle}a{color:#1f4e79}.thesis{font-style:italic}"
)
_HOW = '<p class="how">{}</p>'
_TAGS = {
    **dict.fromkeys(("read_as", "tried", "strength", "may_speak", "looked_for"), _HOW),
    **dict.fromkeys(("case", "leaning", "more", "nearest"), "<li>{}</li>"),
    "title": "<h1>{}</h1>",
    "head": "<h2>{}</h2>",
    "thesis": '<p class="thesis">{}</p>',
    "note": '<p class="note">{}</p>',
    "source": "{}",
}
_LISTS = {
    "case": ("<ul>", "</ul>"),
    "leaning": ('<ul class="leaning">', "</ul>"),
    "source": ("<h2>Sources</h2>\n<ol>", "</ol>"),
    "more": (f'<details class="how"><summary>{MORE}</summary><ul>', "</ul></details>"),
    "nearest": ("<p>Nearest sample questions:</p><ul>", "</ul>"),
}


def to_html(answer: Answer) -> str:
    """A whole page, with all that the notes tell folded; texts are escaped, and only http(s) addresses become links."""
    answer = shown(answer)
    sides = (_lines(answer, perspective(answer, side)) for side in answer.perspectives)
    body = [
        *_lines(answer, opening(answer)),
        *("<section>" + "\n".join(side) + "</section>" for side in sides),
        *_lines(answer, [*sources(answer), *ending(answer, explain=True)]),
        f"<footer><p>{escape(closing(answer))}</p><p>More sources: <code>{escape(ADD_SOURCES)}</code></p></footer>",
    ]
    meta = '<meta charset="utf-8"><meta name="viewport" content="width=device-width">'
    meta += f"<title>{escape(answer.question)}</title>"
    return (
        f'<!doctype html>\n<html lang="en"><head>{meta}<style>{_STYLE}</style></head>\n<body>\n'
        + "\n".join(body)
        + "\n</body></html>\n"
    )


def _lines(answer: Answer, blocks: Sequence[Block]) -> list[str]:
    lines: list[str] = []
    for kind, group in groupby(blocks, key=lambda block: block.kind):
        items = [_TAGS.get(kind, "<p>{}</p>").format(_content(answer, block)) for block in group]
        opened, closed = _LISTS.get(kind, ("", ""))
        lines += filter(None, [opened, *items, closed])
    return lines


def _content(answer: Answer, block: Block) -> str:
    text = escape(block.marked)
    if block.source:
        return _source(answer, block.source, text)
    if block.citations is None:
        return text
    cited = numbers(block.citations) if block.kind == "head" else _links(block.citations)
    return f"{text} {cited}"


def _links(citations: Sequence[int]) -> str:
    return " ".join(f'<a href="#s{n}">[{n}]</a>' for n in citations)


def _source(answer: Answer, citation: Citation, text: str) -> str:
    if citation.url.startswith(("https://", "http://")):
        place = escape(citation.url, quote=True)
        text = text.removesuffix(escape(citation.url)) + f'<a href="{place}" rel="noreferrer nofollow">{place}</a>'
    behind = "".join(f'<br><span class="how">“{escape(w)}”</span>' for w in words_behind(answer, citation))
    return f'<li id="s{citation.number}">{text}{behind}</li>'
