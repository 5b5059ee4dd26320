"""The answer as one HTML page without scripts; numbers link to their sources."""

from html import escape

from agent.answer.model import Answer, AnswerClaim, AnswerPerspective, Citation
from agent.answer.render.words import (
    ADD_SOURCES,
    MAY_SPEAK,
    beside,
    case,
    cased,
    closing,
    head,
    hole,
    label,
    line_of,
    looked_for,
    read_as,
    said,
    shown,
    source_line,
    strength_of,
    words_behind,
)

_STYLE = (
    "body{max-width:46rem;margin:2rem auto;padding:0 1rem;font:1rem/1.55 Georgia,serif;color:#1d2430;background:#fff}"
    "h1{font-size:1.6rem}h2{font-size:1.1rem;margin:1.8rem 0 .2rem}.how,.note,footer{color:#5a6472;font-size:.9rem}"
    "li{margin:.35rem 0}.leaning{color:#5a6472;list-style:circle}a{color:#1f4e79}.thesis{font-style:italic}"
)


def to_html(answer: Answer) -> str:
    """A whole page; every text is escaped, and only http(s) addresses become links."""
    answer = shown(answer)
    body = [f"<h1>{escape(answer.question)}</h1>"]
    body += [f'<p class="how">{escape(read)}</p>'] if (read := read_as(answer)) else []
    body.append(f"<p>{escape(answer.summary)}</p>")
    body += [f"<p>{_claim(answer.crux)}</p>"] if answer.crux else []
    body += [f"<p>{_claim(c)}</p>" for c in answer.plain]
    body += [_side(answer, side) for side in answer.perspectives]
    if answer.citations:
        body += ["<h2>Sources</h2>", "<ol>", *(_source(answer, c) for c in answer.citations), "</ol>"]
    body += [f'<p class="note">{escape(note.text)}</p>' for note in answer.notes]
    if answer.nearest_questions:
        body += [
            "<p>Nearest sample questions:</p><ul>",
            *(f"<li>{escape(q)}</li>" for q in answer.nearest_questions),
            "</ul>",
        ]
    body.append(
        f"<footer><p>{escape(closing(answer))}</p><p>More sources: <code>{escape(ADD_SOURCES)}</code></p></footer>"
    )
    meta = '<meta charset="utf-8"><meta name="viewport" content="width=device-width">'
    meta += f"<title>{escape(answer.question)}</title>"
    return (
        f'<!doctype html>\n<html lang="en"><head>{meta}<style>{_STYLE}</style></head>\n<body>\n'
        + "\n".join(body)
        + "\n</body></html>\n"
    )


def _side(answer: Answer, side: AnswerPerspective) -> str:
    line = line_of(answer, side)
    parts = [
        f"<h2>{label(answer, side)}: {escape(head(side))}</h2>",
        f'<p class="how">{escape(strength_of(line, cased(side)))}</p>',
    ]
    parts += [f'<p class="thesis">{_claim(c)}</p>' for c in case(side) if c.role == "thesis"]
    bullets = [f"<li>{_claim(c)}</li>" for c in case(side) if c.role != "thesis"]
    parts += ["<ul>", *bullets, "</ul>"] if bullets else []
    if leaning := beside(side):
        parts.append(f'<p class="how">{escape(MAY_SPEAK)}</p>')
        parts += ['<ul class="leaning">', *(f"<li>{_claim(c)}</li>" for c in leaning), "</ul>"]
    if gap := hole(line, side):
        parts.append(f"<p>{escape(gap)}</p>")
    if tried := looked_for(answer, side, line):
        parts.append(f'<p class="how">{escape(tried)}</p>')
    return "<section>" + "\n".join(parts) + "</section>"


def _claim(claim: AnswerClaim) -> str:
    return f"{escape(said(claim))} " + " ".join(f'<a href="#s{n}">[{n}]</a>' for n in claim.citations)


def _source(answer: Answer, citation: Citation) -> str:
    text = escape(source_line(citation))
    if citation.url.startswith(("https://", "http://")):
        place = escape(citation.url, quote=True)
        text = text.removesuffix(escape(citation.url)) + f'<a href="{place}" rel="noreferrer nofollow">{place}</a>'
    behind = "".join(f'<br><span class="how">“{escape(w)}”</span>' for w in words_behind(answer, citation))
    return f'<li id="s{citation.number}">{text}{behind}</li>'
