"""Reads plain text: the paragraphs, headings, items and tables that people make with line ends and spaces."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from tools.ingest.documents import document, document_of_blocks, read_decoded, title_of
from tools.ingest.lines import is_wrapped, joined, paragraphs
from tools.passages import Block, SourceDocument

_PAGE_END = 2  # lines from a form feed
_WIDEST = 130  # characters; a longer line is a paragraph by itself
_BULLET = re.compile(
    r"\s*(?:[-*+•·‣◦●▪–—][ \t]+|o[ \t]{2,}|\(?(?:\d{1,3}|[a-z]|[ivx]{2,5})[.)][ \t]+|\[\d{1,3}\][ \t]+)(?=\S)"
)
_UNDERLINE = re.compile(r"\s*(={3,}|-{3,}|~{3,}|\*{3,}|#{3,}|\^{3,})\s*$")
_RULE = re.compile(r"[\W_]{3,}$")
_NUMBERED = re.compile(r"(\d{1,2}(?:\.\d{1,2}){0,4}|[A-Z](?:\.\d{1,2}){1,4})\.?\s{1,4}(?=[^\W\d_])")
_CHAPTER = re.compile(r"(?:chapter|part|book|section|appendix|act|scene)\s+(?:\d+|[IVXLC]+|[A-Z])\b", re.IGNORECASE)
_LEADERS = re.compile(r"(?:\.\s?){4,}\s*[\divxlc]+\s*$")
_SENTENCE_END = re.compile(r"[.!?;,:][\"'”’)\]]*$")
_QUOTED = re.compile(r"\s*(?:>\s?)+")
_DRAWN = frozenset("|+-_=/\\<>^*#~│┃─━┌┐└┘├┤┬┴┼═║╔╗╚╝")
_COLUMN = re.compile(r"\s*\|\s*|\s{2,}|\t+")
_BOXED = re.compile(r"\s*([*#])(?=[*#\s])(.*)(?<=[*#\s])\1\s*$")
_GAP = re.compile(r"\S\s{3,}\S")
_DIGITS = re.compile(r"\d+|\b[ivxlc]+\b")
_WORD = re.compile(r"[\"'“‘(]*[^\W_]+(?:['’-][^\W_]+)*[.,;:!?\"'”’)]*|[–—&-]")


def read_plain(path: Path, name: str) -> Iterator[SourceDocument]:
    found = read_decoded(path, name)
    yield text_document(found.text, name, found.left_out)


def text_document(text: str, name: str, left_out: dict[str, int] | None = None) -> SourceDocument:
    """A document of plain text. A text whose lines are its paragraphs is taken as it is, without blocks."""
    counts = Counter(left_out or {})
    fields = {"title": title_of(name)}
    blocks = text_blocks(text, counts)
    if _says_the_same(blocks, text):
        found = document(name, text, fields)
        return replace(found, left_out={**found.left_out, **{what: n for what, n in counts.items() if n}})
    return document_of_blocks(name, blocks, fields, counts)


def _says_the_same(blocks: Sequence[Block], text: str) -> bool:
    """Whether each line of the text is a block already, so that the blocks tell nothing that the lines do not."""
    return [b.text for b in blocks if b.form in ("paragraph", "heading")] == [
        " ".join(line.split()) for line in text.split("\n") if line.strip()
    ]


def text_blocks(text: str, left_out: Counter[str]) -> list[Block]:
    """The blocks of a text; what is no text goes into the counts of `left_out`."""
    lines = _without_running_lines(text.expandtabs(8).split("\n"), left_out)
    width = _width(lines)
    found: list[Block] = []
    for chunk in _chunks(lines):
        found += _chunk_blocks(chunk, width, left_out)
    return found


# Pages


def _without_running_lines(lines: list[str], left_out: Counter[str]) -> list[str]:
    """Without the lines that stand above and below each page of a paginated text, such as an RFC.

    They stand alone, and the same at least three times but for the numbers in them, or next to the end of a page.
    """
    alone = [
        i
        for i, line in enumerate(lines)
        if line.strip("\f \t") and _empty(lines, i - 1, line) and _empty(lines, i + 1, line)
    ]
    shapes = Counter(_shape(lines[i]) for i in alone)
    alike = [i for i in alone if _is_running(lines[i])]
    known = {_shape(lines[i]) for i in alike if shapes[_shape(lines[i])] >= 3 or _at_page_end(lines, i)}
    running = {i for i in alike if _shape(lines[i]) in known}
    left_out["running headers and footers"] += len(running)
    kept: list[str] = []
    for i, line in enumerate(lines):
        if i in running or (line.strip("\f \t") == "" and "\f" in line):
            kept.append("\f")
        else:
            kept += [part.rstrip() for part in line.replace("\f", "\n\f\n").split("\n")]
    return list(_bridged(kept))


def _empty(lines: Sequence[str], i: int, line: str) -> bool:
    return not 0 <= i < len(lines) or not lines[i].strip() or "\f" in lines[i] or "\f" in line


def _at_page_end(lines: Sequence[str], i: int) -> bool:
    return any("\f" in line for line in lines[max(0, i - _PAGE_END) : i + _PAGE_END + 1])


def _shape(line: str) -> str:
    return _DIGITS.sub("#", " ".join(line.split()))


def _is_running(line: str) -> bool:
    return bool(_GAP.search(line) or "\f" in line or re.search(r"\bpage\s+\d+|^\W*\d+\W*$", line, re.IGNORECASE))


def _bridged(lines: list[str]) -> Iterator[str]:
    """Over the end of a page a paragraph goes on where its sentence does; elsewhere an empty line parts the pages."""
    i = 0
    before = ""
    while i < len(lines):
        end = i
        while end < len(lines) and not lines[end].strip(" \f"):
            end += 1
        after = lines[end] if end < len(lines) else ""
        if "\f" in lines[i:end]:
            if not (before and after.lstrip()[:1].islower() and before.rstrip()[-1:] not in ".!?:"):
                yield ""
        else:
            yield from lines[i:end]
        if end < len(lines):
            before = lines[end]
            yield before
        i = end + 1


# Chunks


def _chunks(lines: Sequence[str]) -> Iterator[list[str]]:
    """The lines between empty lines; the marks of a quoted message are taken off."""
    chunk: list[str] = []
    for line in (*lines, ""):
        bare = _QUOTED.sub("", line) if line.lstrip().startswith(">") else line
        if bare.strip():
            chunk.append(bare)
        elif chunk:
            yield chunk
            chunk = []


def _width(lines: Sequence[str]) -> int:
    """What the lines were broken at: nine in ten of those with a line after them are at most as long."""
    lengths = sorted(len(a) for a, b in pairwise(lines) if a.strip() and b.strip())
    width = lengths[len(lengths) * 9 // 10] if lengths else 0
    return width if width <= _WIDEST else 0


def _chunk_blocks(chunk: list[str], width: int, left_out: Counter[str]) -> Iterator[Block]:
    chunk = _unboxed(chunk)
    kept = [line for line in chunk if not _LEADERS.search(line)]
    left_out["lines of a table of contents"] += len(chunk) - len(kept)
    while chunk:
        while kept and _RULE.match(kept[0].strip()) and not _heading_below(kept):
            del kept[0]  # a rule is no text
        if not kept:
            left_out["preformatted lines"] += len(chunk) if len(chunk) > 1 and not _LEADERS.search(chunk[0]) else 0
            return
        heading = _underlined(kept)
        if not heading:
            yield from _body_blocks(kept, width, left_out)
            return
        yield heading
        chunk = _unboxed(kept[2:])
        kept = chunk[:]


def _body_blocks(lines: list[str], width: int, left_out: Counter[str]) -> Iterator[Block]:
    """The blocks of lines that begin with no underlined heading."""
    if rows := _rows(lines):
        yield Block("\n".join(rows), "table")
    elif _drawn(lines):
        left_out["preformatted lines"] += len(lines)
    else:
        for part in _parts(lines):
            yield from _part_blocks(part, width, alone=len(lines) == 1)


def _heading_below(lines: Sequence[str]) -> bool:
    return len(lines) > 2 and bool(_UNDERLINE.match(lines[0])) and bool(_UNDERLINE.match(lines[2]))


def _underlined(lines: list[str]) -> Block | None:
    """The heading that the second line underlines; a line above it belongs to it."""
    if _heading_below(lines):
        del lines[0]
    mark = _UNDERLINE.match(lines[1]) if len(lines) > 1 else None
    title = lines[0].strip()
    if not mark or not any(c.isalpha() for c in title) or abs(len(mark[1]) - len(title)) > max(4, len(title) // 2):
        return None
    return Block(" ".join(title.split()), "heading", 1 if mark[1][0] in "=*#" else 2)


def _rows(lines: Sequence[str]) -> list[str]:
    """The rows of a table set with spaces or bars: as many cells in nearly every line, and few words in a cell."""
    ruled = [line for line in lines if not _RULE.match(line.strip())]
    rows = [[cell for cell in _COLUMN.split(line.strip(" |")) if cell] for line in ruled]
    if len(rows) < 2 or not any(_GAP.search(line) or "|" in line for line in ruled):
        return []
    columns, times = Counter(len(row) for row in rows).most_common(1)[0]
    words = sorted(len(cell.split()) for row in rows for cell in row)
    even = columns > 1 and times >= 0.8 * len(rows) and words[len(words) // 2] <= 6
    # Keys and values in columns that are not all as wide: rows still.
    gaps = sum(1 for line in lines if _GAP.search(line))
    if _BULLET.match(lines[0]) or _drawn(lines) or not (even or (len(lines) > 2 and gaps > 0.6 * len(lines))):
        return []
    return [" | ".join(row) for row in rows]


def _drawn(lines: Sequence[str]) -> bool:
    """Whether lines are a drawing and no text."""
    marks = sum(1 for line in lines for c in line if c in _DRAWN and c != "|")
    letters = sum(1 for line in lines for c in line if c.isalnum())
    return marks > 0.35 * (marks + letters)


def _unboxed(lines: list[str]) -> list[str]:
    """The text of a box that is drawn of stars or signs."""
    if len(lines) < 3 or not all(map(_BOXED.match, lines)):
        return lines
    return [m[2] for m in map(_BOXED.match, lines) if m and not _RULE.match(m[2].strip() or "---")]


def _parts(lines: list[str]) -> Iterator[list[str]]:
    """The items of a list that stand close, and paragraphs that only an indented first line sets off."""
    bulleted = [bool(_BULLET.match(line)) for line in lines]
    listed = (
        bulleted[0]
        or sum(bulleted) > 1
        or any(b and lines[i - 1].rstrip().endswith(":") for i, b in enumerate(bulleted))
    )
    part: list[str] = []
    for i, line in enumerate(lines):
        if part and ((listed and bulleted[i]) or _begins_indented(lines, i)):
            yield part
            part = []
        part.append(line)
    yield part


def _begins_indented(lines: Sequence[str], i: int) -> bool:
    indents = [len(line) - len(line.lstrip()) for line in lines[i - 1 : i + 2]]
    ended = _SENTENCE_END.search(lines[i - 1].rstrip())
    return bool(ended) and 2 <= indents[1] - indents[0] <= 8 and (len(indents) < 3 or indents[2] < indents[1])


def _part_blocks(lines: list[str], width: int, alone: bool) -> Iterator[Block]:
    if alone and (heading := _heading(lines[0].strip())):
        yield heading
    elif mark := _BULLET.match(lines[0]):
        bare = [" " * len(mark[0]) + lines[0][mark.end() :], *lines[1:]]
        hanging = all(line.startswith(" ") for line in lines[1:])
        texts = [joined(bare)] if hanging or is_wrapped(bare, width) else paragraphs(bare, width)
        yield Block(texts[0], "item")
        yield from (Block(text) for text in texts[1:])
    else:
        yield from (Block(text) for text in paragraphs(lines, width))


def _heading(line: str) -> Block | None:
    """A line that stands alone and is plainly one: numbered by section, called a chapter, or in capitals."""
    text = " ".join(line.split())
    if len(text.split()) > 12 or _SENTENCE_END.search(text):
        return None
    if numbered := _NUMBERED.match(text):
        rest = text[numbered.end() :]
        # A lone number may also be that of an item; those rarely have a capital and more than one level never.
        return Block(text, "heading", 1 + numbered[1].count(".")) if rest[0].isupper() else None
    if _CHAPTER.match(text):
        return Block(text, "heading", 1)
    letters = [c for c in text if c.isalpha()]
    return Block(text, "heading", 1) if len(letters) > 3 and text.isupper() else None


def prose(text: str) -> bool:
    """Whether a text is of sentences: nearly all words are plain ones, and it ends as sentences do."""
    words = text.split()
    plain = sum(1 for word in words if _WORD.fullmatch(word))
    return len(words) >= 12 and plain >= 0.9 * len(words) and bool(re.search(r"[.!?][\"'”’)]*$", text.rstrip()))
