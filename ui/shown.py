"""Text as HTML that shows it and does nothing else, whatever sources, models and people wrote."""

from collections.abc import Sequence
from html import escape

from agent.rendering.words import plain

LONGEST = 4_000
"""Characters of one text that are shown; what is longer is cut, and says so."""
_MARK = '<mark style="background:#f3e3b3">'


def text(said: str) -> str:
    """The text, escaped, without unseen and direction marks, and bounded."""
    shown = plain(said)
    return escape(shown if len(shown) <= LONGEST else f"{shown[:LONGEST]} … (cut)")


def marked(passage: str, quotes: Sequence[str]) -> str:
    """The passage with the quoted words marked, where they stand in it; white space may differ."""
    shown = plain(passage)
    spans = sorted({_span(shown, plain(q)) for q in quotes} - {(0, 0)})
    parts, reached = [], 0
    for start, end in spans:
        if start >= reached:
            parts += [escape(shown[reached:start]), f"{_MARK}{escape(shown[start:end])}</mark>"]
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
