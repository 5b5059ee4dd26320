"""What of a text is prose: its sentences without headings, captions, list marks and lists of references.

Headings are kept with a passage for search and as context. They are no part of what is judged or quoted: a judge takes
the words of a heading for a claim.
"""

import re

from tools.language.sentences import split_sentences

_HEADING_WORDS = 14
"""A line of at most so many words that ends without a mark is a heading, a caption or an item of a list."""
_ENDS = re.compile(r"[.!?…:;,][\"'”’)\]]*(?:\s*\[\d[\d,\s–-]*\])*$")
_MARK = re.compile(
    r"^(?:(?:[-*+•‣▪·–—>]|#{1,6}|\(?\d{1,2}[.)]|\d{1,2}(?:\.\d{1,2}){1,3}\.?(?=\s+[A-Z])|\(?(?:[a-z]\)|[ivx]{2,4}[.)]))\s+)+(?=\S)|^[*_]{1,2}(?=\S)"
)
_NUMBER = re.compile(r"\(?(?:\d{1,4}|[a-z]|[ivx]{2,4})[.)]*")
_CAPTION = re.compile(
    r"^(?:(?:figure|fig\.?|table|chart|box|exhibit)\s+\d+|(?:photo(?:graph)?|image|picture|source|credit|caption)s?\s*:)",
    re.IGNORECASE,
)
_REFERENCE_LINE = re.compile(
    r"^(?:\[\d+\]|\d{1,3}\.)\s+[A-Z][\w'’-]+,?\s+(?:[A-Z]\b\.?|et al)|^\[\d+\]\s+[A-Z][\w'’-]+ and [A-Z]|"
    r"^https?://\S+$|^www\.\S+$"
)


def is_heading(line: str) -> bool:
    """Whether a line of a text is a heading, a caption, a bare item or an entry of a list of references.

    line: one of `split_sentences`, which ends sentences at line breaks too.
    """
    words = line.split()
    if _NUMBER.fullmatch(line):  # of a list, cut off from its item
        return True
    if _CAPTION.match(line) or _REFERENCE_LINE.match(line) or line.startswith(("#", "|")):
        return True
    if line.isupper() and len(words) <= _HEADING_WORDS:
        return True
    return len(words) <= _HEADING_WORDS and not _ENDS.search(line.rstrip("*_ "))


def without_mark(sentence: str) -> str:
    """The sentence without the bullet, number or quotation mark of a list or a reply in front of it."""
    return _MARK.sub("", sentence, count=1)


def prose(text: str) -> str:
    """The text's sentences without headings and list marks; the text itself where that leaves nothing."""
    sentences = [without_mark(s) for s in split_sentences(text) if not is_heading(s)]
    return " ".join(sentences) or text
