"""Sentences, the passages of about a hundred words that they are packed into, and which of them are prose: headings,
captions, list marks and lists of references are kept with a passage for search and as context. They are no part of what
is judged or quoted: a judge takes the words of a heading for a claim."""

import re
from collections.abc import Iterator, Sequence

from tools.passages import Passage, Sentence

PASSAGE_WORDS = 100
"""The length the papers retrieve at (BERDS §4: blocks of 100 words)."""
GAP = " … "
"""Stands between two sentences of a passage that are quoted together and stand apart."""

_LONGEST_SENTENCE = 60
_SEGMENTED = 4_000  # characters that are segmented at once, which takes time by their square
_SPACES = re.compile(r"\s+")
_LINE_END = re.compile(r"\r\n?|[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")  # whatever str.splitlines takes for one
_TERMINAL = r"\x1b\[[0-9;?]*[ -/]*[@-~]"  # what makes a terminal print in bold or in colour
# Half of a surrogate pair is no character: no database and no tokenizer takes it.
_INVISIBLE = re.compile(
    _TERMINAL + r"|[\x00-\x08\x0e-\x1b\x7f\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)
_GLUED = re.compile(r"(?<=[a-z]{2}[.!?])(?=[A-Z][a-z]+ )")
_ENDS = re.compile(r"[.!?:;…][\"'”’)\]]*$")
_CLAUSE_END = re.compile(r"(?<=[;:,])\s+")


def clean(text: str) -> str:
    """Without control, invisible and direction-changing characters; line ends as plain newlines.

    Sentences that lost the space between them ('the end.Then') get it back.
    """
    return _GLUED.sub(" ", _INVISIBLE.sub("", _LINE_END.sub("\n", text)))


def split_sentences(text: str) -> list[str]:
    """The sentences of an English text in order, white space folded; a line break ends a sentence."""
    found: list[str] = []
    for line in clean(text).split("\n"):
        rest = ""
        for part in _segments(_SPACES.sub(" ", line).strip()):
            rest += part
            if rest.endswith(" "):  # it also ends sentences inside a word: 'See p. 3.)', 'www.example.org/?q=A'
                found.append(rest.strip())
                rest = ""
        if rest:
            found.append(rest)
    return found


def _segments(line: str) -> Iterator[str]:
    """The segments of a line. A long one is segmented in parts: each part begins where the last whole segment ended.

    A segment far too long is cut before a space, so that its parts join again.
    """
    from sentencex import segment

    begun = 0
    while begun < len(line):
        part = line[begun : begun + _SEGMENTED]
        segments = segment("en", part)
        if begun + len(part) < len(line) and len(cut := segments.pop()) > _SEGMENTED // 2:
            segments.append(cut[: cut.rfind(" ", _SEGMENTED // 4)])
        yield from segments
        begun += sum(map(len, segments))


def passage_sentences(passage: Passage) -> list[Sentence]:
    """All sentences of a passage, in the order in which the store keeps their vectors."""
    return [Sentence(text, passage, i) for i, text in enumerate(split_sentences(passage.text))]


def cut_passages(text: str, words: int = PASSAGE_WORDS) -> list[str]:
    """Passages of about `words` words, each ending where a sentence ends.

    A sentence far too long for that is cut at a clause, or else at a word; nothing is left out. A rest of less than
    a quarter of a passage joins the one before. A line without an end to its sentence (a headline, an item) stays a
    line, so that it is no part of the sentence after it.
    """
    # Lines that a page's width broke are joined; an empty line or a finished sentence still ends the line.
    joined = re.sub(r"(?<![.!?:;\n\"'”’)\]])\n(?=[a-z(])", " ", clean(text))
    pieces = list(pieces_of(joined, words))
    return [join_pieces(pieces[first:end]) for first, end in pack_pieces(pieces, words)]


def pieces_of(text: str, words: int = PASSAGE_WORDS) -> Iterator[str]:
    """The pieces that passages are packed of: sentences, and parts of those that are far too long.

    A piece that does not end a sentence has a line end behind it.
    """
    for sentence in split_sentences(text):
        pieces = list(split_long_sentence(sentence, words))
        if not _ENDS.search(sentence):
            pieces[-1] += "\n"
        yield from pieces


def pack_pieces(pieces: Sequence[str], words: int = PASSAGE_WORDS) -> list[tuple[int, int]]:
    """Packs pieces into passages of about `words` words: of each the index of its first piece and its end."""
    lengths = [len(piece.split()) for piece in pieces]
    starts: list[int] = []
    for i, length in enumerate(lengths):
        if not starts or sum(lengths[starts[-1] : i]) + length / 2 > words:
            starts.append(i)
    if len(starts) > 1 and sum(lengths[starts[-1] :]) < words / 4:
        starts.pop()
    return list(zip(starts, [*starts[1:], len(pieces)], strict=True)) if starts else []


def join_pieces(pieces: Sequence[str]) -> str:
    """The text of a passage that was packed of these pieces."""
    return " ".join(pieces).replace("\n ", "\n").rstrip()


def split_long_sentence(sentence: str, words: int = PASSAGE_WORDS) -> Iterator[str]:
    """The sentence, or one that is far too long in parts that end at a clause, or else at a word."""
    longest = max(words, _LONGEST_SENTENCE)
    if len(sentence.split()) <= longest:
        yield sentence
        return
    piece: list[str] = []
    for clause in _CLAUSE_END.split(sentence):
        for word in clause.split():
            piece.append(word)
            if len(piece) >= longest:
                yield " ".join(piece)
                piece = []
        if len(piece) >= words * 3 / 4:
            yield " ".join(piece)
            piece = []
    if piece:
        yield " ".join(piece)


_HEADING_WORDS = 14
"""A line of at most so many words that ends without a mark is a heading, a caption or an item of a list."""
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
    return len(words) <= _HEADING_WORDS and not _ENDS_PROSE.search(line.rstrip("*_ "))


def without_mark(sentence: str) -> str:
    """The sentence without the bullet, number or quotation mark of a list or a reply in front of it."""
    return _MARK.sub("", sentence, count=1)


def prose_of(text: str) -> str:
    """The text's sentences without headings and list marks; the text itself where that leaves nothing."""
    sentences = [without_mark(s) for s in split_sentences(text) if not is_heading(s)]
    return " ".join(sentences) or text
