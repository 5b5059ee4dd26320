"""Splits text into sentences and recognises prose. Headings, captions, list marks and references stay in passages for
search and context. They are not judged or quoted, because a judge would take a heading for a claim."""

import re
from collections.abc import Iterator

from tools.passages import Passage, Sentence

SENTENCE_GAP = " … "  # between quoted sentences that are not adjacent

_SEGMENTED_CHARACTERS = 4_000  # most characters segmented at once, because segmenting takes quadratic time
_SPACES = re.compile(r"\s+")
_LINE_END = re.compile(r"\r\n?|[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")  # all line ends of str.splitlines
_TERMINAL = r"\x1b\[[0-9;?]*[ -/]*[@-~]"  # terminal escape codes
# Half of a surrogate pair is no character. Databases and tokenizers refuse it.
_INVISIBLE = re.compile(
    _TERMINAL + r"|[\x00-\x08\x0e-\x1b\x7f\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)
_GLUED_SENTENCES = re.compile(r"(?<=[a-z]{2}[.!?])(?=[A-Z][a-z]+ )")
SENTENCE_END = re.compile(r"[.!?:;…][\"'”’)\]]*$")


def clean_text(text: str) -> str:
    """Returns the text without control, invisible and direction-changing characters, with newlines as line ends.
    Restores lost spaces between sentences ('the end.Then')."""
    return _GLUED_SENTENCES.sub(" ", _INVISIBLE.sub("", _LINE_END.sub("\n", text)))


def split_sentences(text: str) -> list[str]:
    """Returns the sentences of an English text in order, white space folded. A line break ends a sentence."""
    found: list[str] = []
    for line in clean_text(text).split("\n"):
        rest = ""
        for part in _segments(_SPACES.sub(" ", line).strip()):
            rest += part
            if rest.endswith(" "):  # sentencex also ends sentences within words: 'See p. 3.)', 'www.example.org/?q=A'
                found.append(rest.strip())
                rest = ""
        if rest:
            found.append(rest)
    return found


def _segments(line: str) -> Iterator[str]:
    """Yields the segments of a line. Long lines are segmented in parts. Each part begins at the end of the last whole
    segment. A segment that is too long is cut before a space."""
    from sentencex import segment

    begun = 0
    while begun < len(line):
        part = line[begun : begun + _SEGMENTED_CHARACTERS]
        segments = segment("en", part)
        if begun + len(part) < len(line) and len(cut := segments.pop()) > _SEGMENTED_CHARACTERS // 2:
            segments.append(cut[: cut.rfind(" ", _SEGMENTED_CHARACTERS // 4)])
        yield from segments
        begun += sum(map(len, segments))


def passage_sentences(passage: Passage) -> list[Sentence]:
    """Returns all sentences of a passage, in the order of their stored vectors."""
    return [Sentence(text, passage, i) for i, text in enumerate(split_sentences(passage.text))]


_HEADING_WORDS = 14  # most words of a heading, which has no final mark
_ENDS_PROSE = re.compile(r"[.!?…:;,][\"'”’)\]]*(?:\s*\[\d[\d,\s–-]*\])*$")
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


def is_no_prose(line: str) -> bool:
    """Whether a line from `split_sentences` is a heading, caption, bare list item or reference."""
    words = line.split()
    if _NUMBER.fullmatch(line):  # a list's number that was cut off from its item
        return True
    if _CAPTION.match(line) or _REFERENCE_LINE.match(line) or line.startswith(("#", "|")):
        return True
    if line.isupper() and len(words) <= _HEADING_WORDS:
        return True
    return len(words) <= _HEADING_WORDS and not _ENDS_PROSE.search(line.rstrip("*_ "))


def without_list_mark(sentence: str) -> str:
    """Returns the sentence without a bullet, number or reply mark."""
    return _MARK.sub("", sentence, count=1)


def prose_text(text: str) -> str:
    """Returns the text without headings and list marks; the text itself if nothing remains."""
    sentences = [without_list_mark(s) for s in split_sentences(text) if not is_no_prose(s)]
    return " ".join(sentences) or text
