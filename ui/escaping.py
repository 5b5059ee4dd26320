"""Text as HTML, or for Streamlit's Markdown, that shows it and does nothing else, whatever its writers wrote."""

import re
from collections.abc import Sequence
from html import escape

from agent.answer.files import escape as escape_markdown
from agent.answer.words import plain
from tools.language.sentences import GAP

LONGEST = 4_000
"""Characters of one text that are shown; what is longer is cut, and says so."""
_STREAMLIT_MARKUP = re.compile(r"([:$])")
_MADE_OF_WORDS = re.compile(r"(:|@|www)", re.IGNORECASE)
_JOINER = "\u2060"  # unseen; `plain` takes it out of what others wrote


def text(said: str) -> str:
    """The text as HTML: escaped, without unseen and direction marks, and bounded."""
    return escape(_bounded(said))


def escaped(said: str) -> str:
    """Text for a label, which is Streamlit's own Markdown: none of its marks, colours, icons, links or formulas works.

    Icons, pictures and bare addresses are found in what is left once the backslashes are taken away, so an unseen
    joiner breaks them up as well.
    """
    marked_up = _STREAMLIT_MARKUP.sub(r"\\\1", escape_markdown(_bounded(said)))
    return _MADE_OF_WORDS.sub(rf"\1{_JOINER}", marked_up)


def label(said: str, longest: int = 70) -> str:
    """Text for the label of a button or a chart: one short line."""
    line = plain(said)
    return line if len(line) <= longest else f"{line[: longest - 1].rstrip()}…"


def marked(passage: str, quotes: Sequence[str]) -> str:
    """The passage, a line for each of its paragraphs, with the quoted words marked, where they stand in it; white space
    may differ."""
    shown = "\n".join(filter(None, map(plain, passage.splitlines())))
    words = [part for q in map(plain, quotes) for part in ([q] if q in shown.replace("\n", " ") else q.split(GAP))]
    spans = sorted({_span(shown.replace("\n", " "), part) for part in words} - {(0, 0)})
    parts, reached = [], 0
    for start, end in spans:
        if start >= reached:
            parts += [escape(shown[reached:start]), f"<mark>{escape(shown[start:end])}</mark>"]
            reached = end
    return "".join([*parts, escape(shown[reached:])]) if len(shown) <= LONGEST else text(shown)


def link(url: str, words: str) -> str:
    """A link that opens in a tab of its own, where the address is one of the web; else the words alone."""
    if not url.startswith(("https://", "http://")):
        return text(words)
    return f'<a href="{escape(plain(url), quote=True)}" target="_blank" rel="noreferrer nofollow">{text(words)}</a>'


def _span(shown: str, quote: str) -> tuple[int, int]:
    start = shown.find(quote) if quote else -1
    return (start, start + len(quote)) if start >= 0 else (0, 0)


def _bounded(said: str) -> str:
    shown = plain(said)
    return shown if len(shown) <= LONGEST else f"{shown[:LONGEST]} … (cut)"
