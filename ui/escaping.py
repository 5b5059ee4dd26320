"""Turns text by others into HTML or into Streamlit labels, so that no markup in the text has an effect."""

import re
from collections.abc import Sequence
from html import escape

from agent.answer.files import escape_markdown as escape_markdown
from agent.answer.wording import strip_control_characters
from tools.language.sentences import SENTENCE_GAP

LONGEST = 4_000
"""Characters shown of one text. A longer text is cut, with a note."""
_STREAMLIT_MARKUP = re.compile(r"([:$])")
_MADE_OF_WORDS = re.compile(r"(:|@|www)", re.IGNORECASE)
_JOINER = "\u2060"  # invisible; `strip_control_characters` removes this character from text by others


def text(said: str) -> str:
    """Returns the text as HTML: escaped, shortened, without control and direction characters."""
    return escape(_bounded(said))


def escaped(said: str) -> str:
    """Returns text for a label. Streamlit renders labels as Markdown, but no markup, colour, icon, link or formula in
    the returned text has an effect.

    Streamlit looks for icons, images and bare addresses after it removed backslashes. An invisible joiner breaks these
    patterns up.
    """
    marked_up = _STREAMLIT_MARKUP.sub(r"\\\1", escape_markdown(_bounded(said)))
    return _MADE_OF_WORDS.sub(rf"\1{_JOINER}", marked_up)


def label(said: str, longest: int = 70) -> str:
    """Returns one short line for a button."""
    line = strip_control_characters(said)
    return line if len(line) <= longest else f"{line[: longest - 1].rstrip()}…"


def marked(passage: str, quotes: Sequence[str]) -> str:
    """Returns the passage as HTML with the quotes marked. A quote may differ in white space."""
    shown = "\n".join(filter(None, map(strip_control_characters, passage.splitlines())))
    words = [
        part
        for q in map(strip_control_characters, quotes)
        for part in ([q] if q in shown.replace("\n", " ") else q.split(SENTENCE_GAP))
    ]
    found = ((shown.replace("\n", " ").find(part), len(part)) for part in words if part)
    spans = sorted({(start, start + length) for start, length in found if start >= 0})
    parts, reached = [], 0
    for start, end in spans:
        if start >= reached:
            parts += [escape(shown[reached:start]), f"<mark>{escape(shown[start:end])}</mark>"]
            reached = end
    return "".join([*parts, escape(shown[reached:])]) if len(shown) <= LONGEST else text(shown)


def link(url: str, words: str) -> str:
    """Returns a link that opens in a new tab. If the address is no web address, returns only the words."""
    if not url.startswith(("https://", "http://")):
        return text(words)
    address = escape(strip_control_characters(url), quote=True)
    return f'<a href="{address}" target="_blank" rel="noreferrer nofollow">{text(words)}</a>'


def _bounded(said: str) -> str:
    shown = strip_control_characters(said)
    return shown if len(shown) <= LONGEST else f"{shown[:LONGEST]} … (cut)"
