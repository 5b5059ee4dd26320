"""From lines in reading order to blocks: headings, paragraphs, items of lists, notes, tables and captions."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from tools.ingest.line_ends import Vocabulary, unligated
from tools.ingest.pdf_layout import Line, Region
from tools.ingest.pdf_pages import OutlineEntry
from tools.passages import Block, BlockForm

_BULLET = re.compile(r"(?:[•◦▪‣●○■□∙·▶►✓✔➢❖]|[–—*-](?= ))\s*(?=\S)")
_NUMBER = re.compile(r"(?:\(?(?:\d{1,2}|[a-z]|[ivx]{2,4})[.)]|\[\w{1,8}\])\s+(?=\S)")
_CAPTION = re.compile(
    r"(?:Figure|Fig\.|Table|Chart|Exhibit|Map|Plate|Scheme|Listing|Algorithm|Photo|Graph|Diagram)\s+"
    r"[A-Z]?[-.\d]*[\dIVX]+[a-z]?\s?(?:[:.|–—](?=\s)|\)|$)"
)
_NOTE = re.compile(r"(?:\d{1,3}[.)]?|[*†‡§¶∗]{1,3})\s*(?=\S)")
_NUMBERED = re.compile(r"(\d{1,3})\s+(?=[A-Z“\"‘])")
_SENTENCE_END = re.compile(r"[.!?:…][\"'”’)\]]*$")
_SECTION = re.compile(r"(?:\d{1,2}(?:\.\d{1,2})*\.?|[IVX]{1,5}\.|[A-Z]\.)\s+(?=\S)")
_LARGER, _SMALLER = 1.12, 0.93  # of the size of the text
_SHORTEST_NOTE = 8  # letters
_INDENT = 0.8  # of the size
_ALIKE, _FEWEST_ALIKE = 3.0, 4  # times the size by which such lines begin apart; how many tell their edge
_LONGEST_HEADING, _LONGEST_BOLD = 200, 100  # characters


@dataclass(slots=True)
class Part:
    """Lines that belong together, before it is known what they are.

    page, last_page: counted from 1. left, right: the edges of the column. table: whether the lines are rows.
    note: whether they are a footnote.
    """

    lines: list[Line]
    page: int
    last_page: int
    right: float
    left: float = 0.0
    table: bool = False
    note: bool = False

    @property
    def text(self) -> str:
        return " ".join(line.text for line in self.lines)

    @property
    def size(self) -> float:
        return self.lines[0].size

    @property
    def bold(self) -> bool:
        return all(line.bold for line in self.lines)


def parts_of(region: Region, page: int) -> Iterator[Part]:
    """The paragraphs of a region."""
    right = max(line.right for line in region.lines)
    if region.table:
        yield Part(region.lines, page, page, right, table=True)
        return
    left = min(line.left for line in region.lines)
    paragraph: list[Line] = []
    breaks = _Breaks(region.lines, right)
    for i, line in enumerate(region.lines):
        if paragraph and breaks.before(i, paragraph):
            yield Part(paragraph, page, page, right, left)
            paragraph = []
        paragraph.append(line)
    yield Part(paragraph, page, page, right, left)


def _follows(first: Line, line: Line) -> bool:
    """Whether both begin with a number and a capital, as notes do, and the second's is the next number."""
    number, following = (_NUMBERED.match(each.text) for each in (first, line))
    return number is not None and following is not None and int(following[1]) == int(number[1]) + 1


class _Breaks:
    """Where the paragraphs of a column begin."""

    def __init__(self, lines: Sequence[Line], right: float) -> None:
        self._lines, self._right = lines, right
        steps = sorted(b.base - a.base for a, b in pairwise(lines) if len(a.text) > 30 and b.base - a.base > a.size)
        self._step = steps[len(steps) // 4] if steps else 0.0
        # Where a sentence goes on over a change of the indent, a first line stands out to the right or to the left.
        inner = [_shift(a, b) for a, b in pairwise(lines) if not (_SENTENCE_END.search(a.text) or self._room(a, b))]
        self._hanging = sum(shift > _INDENT for shift in inner) > sum(shift < -_INDENT for shift in inner)

    def before(self, i: int, paragraph: Sequence[Line]) -> bool:
        """Whether one begins with this line."""
        line, last = self._lines[i], self._lines[i - 1]
        size, room = max(line.size, last.size), self._room(last, line)
        ended = room or bool(_SENTENCE_END.search(last.text))
        # A line may be of another size for a word in another font; where the text goes on, it is the same paragraph.
        if abs(line.size - last.size) > (0.08 if ended else 0.25) * size:
            return True
        small = line.text[:1].islower()
        if line.bold != last.bold and (room or self._heads(line, paragraph, ended and not small)):
            return True
        if line.base - last.base > 1.3 * max(self._step, size) or line.base < last.base - size or line.note:
            return True
        if _BULLET.match(line.text) or (ended and _follows(paragraph[0], line)):
            return True
        if small and last.text.endswith("-"):
            return False
        if _marker(paragraph[0]):
            return self._after_item(line, paragraph, room and (line.left <= paragraph[0].left + 1 or not small))
        if abs(_shift(last, line)) <= _INDENT:
            return room and not small
        return room or (ended and (_shift(last, line) < 0) == self._hanging)

    def _heads(self, line: Line, paragraph: Sequence[Line], ended: bool) -> bool:
        """Whether a heading that fills its line ends before this one, or begins with it."""
        if line.bold:
            return ended and bool(_SECTION.match(line.text))
        return line.text[:1].isupper() and all(above.bold for above in paragraph)

    def _after_item(self, line: Line, paragraph: Sequence[Line], ended: bool) -> bool:
        if _NUMBER.match(line.text) and line.left < paragraph[0].left + _INDENT * line.size:
            return True
        return ended or (len(paragraph) > 1 and _shift(paragraph[-1], line) < -_INDENT)

    def _room(self, last: Line, line: Line) -> bool:
        """Whether the next line's first word would have had room on the line: then the author ended it."""
        width = (line.right - line.left) / max(len(line.text), 1)
        return last.right + (len(line.text.split(" ", 1)[0]) + 1.5) * width < self._right_edge(last)

    def _right_edge(self, line: Line) -> float:
        """Where lines such as this one end: a title or a summary may be set narrower or wider than the text."""
        alike = [
            other.right
            for other in self._lines
            if abs(other.size - line.size) <= 0.08 * line.size and abs(other.left - line.left) <= _ALIKE * line.size
        ]
        return max(alike) if len(alike) >= _FEWEST_ALIKE else self._right


def _shift(last: Line, line: Line) -> float:
    """By how many times its size a line begins further right."""
    return (line.left - last.left) / max(line.size, last.size)


def _marker(line: Line) -> bool:
    return bool(_BULLET.match(line.text) or _NUMBER.match(line.text))


def joined_parts(parts: Sequence[Part], body: float) -> list[Part]:
    """The parts, with those put together that a column's or a page's end divides.

    What floats between them (notes, tables, captions) comes after the paragraph that it interrupts.
    """
    made: list[Part] = []
    open_part: Part | None = None
    longer = [part for part in parts if len(part.lines) > 2 and not part.table]
    indents = sum(_indented(part) for part in longer) > 0.6 * len(longer)
    for part in parts:
        if part.table or _CAPTION.match(part.text) or part.size < _SMALLER * body:
            made.append(part)
            continue
        if open_part is not None and _goes_on(open_part, part, indents):
            open_part.lines.extend(part.lines)
            open_part.last_page, open_part.right = part.last_page, part.right
            continue
        made.append(part)
        open_part = part
    return made


def _indented(part: Part) -> bool:
    return part.lines[0].left > part.left + _INDENT * part.size


def _goes_on(first: Part, second: Part, indents: bool) -> bool:
    """Whether the second is the rest of the first; indents: whether paragraphs begin with an indent here."""
    last, next_line = first.lines[-1], second.lines[0]
    if abs(last.size - next_line.size) > 0.08 * last.size or last.bold != next_line.bold:
        return False
    if next_line.base > last.base and first.last_page == second.page and next_line.left < last.right:
        return False  # below it: what parted them in their column still does
    full = last.right > first.right - 2 * last.size
    if _marker(next_line):
        return False
    if _SENTENCE_END.search(last.text):
        return indents and full and len(first.lines) > 1 < len(second.lines) and not _indented(second)
    return next_line.text[:1].islower() or full


def body_size(parts: Sequence[Part]) -> float:
    """The size of most of the text."""
    sizes: Counter[float] = Counter()
    for part in parts:
        for line in part.lines:
            sizes[round(2 * line.size) / 2] += 0 if part.table else len(line.text)
    return sizes.most_common(1)[0][0] if sizes else 0.0


class BlockMaker:
    """Tells what each part of a document is, by its size, its weight, its place, its beginning and the outline."""

    def __init__(self, parts: Sequence[Part], outline: Sequence[OutlineEntry]) -> None:
        self.left_out: Counter[str] = Counter()
        self._words = Vocabulary(line.text for part in parts for line in part.lines)
        self._body = body_size(parts)
        self._outline = {(entry.page, _key(entry.title)): entry.level for entry in outline if entry.page}
        parts = joined_parts(parts, self._body)
        _mark_notes(parts, self._body)
        self._parts = parts
        larger = {self._round(p) for p in parts if self._is_large(p)}
        self._levels = {size: i for i, size in enumerate(sorted(larger, reverse=True), start=1)}

    def blocks(self) -> list[Block]:
        """The blocks of the document."""
        found: list[Block] = []
        heading_part: Part | None = None
        for part in self._parts:
            block = self._block(part)
            if block is None:
                continue
            self.left_out["note marks"] += sum(line.marks for line in part.lines)
            if heading_part and _same_heading(heading_part, part, found[-1], block):
                found[-1] = replace(found[-1], text=f"{found[-1].text} {block.text}")
            else:
                found.append(block)
            heading_part = part if block.form == "heading" else None
        return found

    def _block(self, part: Part) -> Block | None:
        if part.table:
            return self._made(part, "table", "\n".join(unligated(line.text) for line in part.lines))
        text = self._words.join(unligated(line.text) for line in part.lines)
        if not any(c.isalnum() for c in text):
            self.left_out["lines without words"] += len(part.lines)
            return None
        if _CAPTION.match(text):
            return self._made(part, "caption", text)
        level = self._level(part, text)
        if level:
            return replace(self._made(part, "heading", text), level=level)
        if part.note:
            return self._made(part, "note", _NOTE.sub("", text, 1) if not part.lines[0].note else text)
        if marker := _BULLET.match(text) or _NUMBER.match(text):
            # A clause is cited by what stands in brackets before it: '(2)', '(a)'.
            return self._made(part, "item", text if text.startswith("(") else text[marker.end() :])
        return self._made(part, "paragraph", text)

    def _made(self, part: Part, form: BlockForm, text: str) -> Block:
        return Block(text, form, page=part.page, last_page=part.last_page)

    def _round(self, part: Part) -> float:
        return round(2 * part.size) / 2

    def _is_large(self, part: Part) -> bool:
        short = len(part.text) <= _LONGEST_HEADING and any(c.isalpha() for c in part.text)
        return not part.table and short and part.size >= _LARGER * self._body and not _CAPTION.match(part.text)

    def _level(self, part: Part, text: str) -> int:
        """The level of a heading, 0 for what is none."""
        told = self._outline.get((part.page, _key(text))) if len(text) <= _LONGEST_HEADING else None
        if told:
            return told
        if self._is_large(part):
            return min(self._levels[self._round(part)], 6)
        ends = _SENTENCE_END.search(text) and not text.endswith((":", "?"))
        longest = _LONGEST_BOLD if part.size >= _SMALLER * self._body else _LONGEST_BOLD // 3
        if part.bold and len(text) <= longest and not ends:
            return min(len(self._levels) + 1, 6) if any(c.isalpha() for c in text) else 0
        return 0


def _key(text: str) -> str:
    """A heading as the outline may have it: letters only, without the number of its section."""
    return "".join(c for c in unligated(_SECTION.sub("", text.strip(), 1)).casefold() if c.isalpha())


def _same_heading(first: Part, second: Part, made: Block, block: Block) -> bool:
    """Whether the second is a further line of the heading."""
    alike = (first.page, first.size, made.level) == (second.page, second.size, block.level)
    if not alike or block.form != "heading" or _SECTION.match(second.text):
        return False
    return 0 < second.lines[0].base - first.lines[-1].base < 1.6 * first.size


def _mark_notes(parts: Sequence[Part], body: float) -> None:
    """Footnotes: small, begun by a mark, with text above them in their column and none below."""
    texts: defaultdict[int, list[Part]] = defaultdict(list)
    for part in parts:
        if not part.table and part.size >= _SMALLER * body:
            for page in {part.page, part.last_page}:
                texts[page].append(part)
    for part in parts:
        first = part.lines[0]
        if part.table or part.size >= _SMALLER * body or not (first.note or _NOTE.match(first.text)):
            continue
        beside = [
            line
            for text in texts[part.page]
            for line, page in ((text.lines[0], text.page), (text.lines[-1], text.last_page))
            if page == part.page and line.left < part.right and line.right > first.left and line.size >= _SMALLER * body
        ]
        words = sum(c.isalpha() for c in part.text)
        part.note = bool(beside) and words >= _SHORTEST_NOTE and all(line.base < first.base for line in beside)
