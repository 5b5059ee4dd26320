"""What only the pages of a document need: running headers and footers, page numbers, tables of contents."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from statistics import median

from tools.ingest.pdf_columns import Row
from tools.ingest.pdf_layout import joined

_EDGE = 0.14  # of the height of a page, above and below
_DEEPEST = 3  # lines from the edge
_MOST_CHARACTERS = 120
_SAME_PLACE = 6.0  # points
_LARGER = 1.15  # than most of the text
_NUMBER = re.compile(
    r"(?:page |p\. ?|slide |[-–—|•(] ?)*(?:\d{1,4}|[ivxlc]{1,7})(?: ?(?:of|/) ?\d{1,4})?(?: ?[-–—|•)])*",
    re.I,
)
_FIRST_NUMBER, _LAST_NUMBER = re.compile(r"^\d{1,4}(?=\s|$)"), re.compile(r"(?<!\S)\d{1,4}$")
_LEADERS = re.compile(r"(?:\. ?){5,}\s*\w{0,6}$")
_DIGITS = re.compile(r"\d+")
_NAMES = ("running footers", "running headers")

Place = tuple[int, int]  # page and row


def without_margins(pages: Sequence[list[Row]], heights: Sequence[float]) -> tuple[list[list[Row]], Counter[str]]:
    """The rows of the pages without what stands at their edges again and again, and how much was left out.

    A page keeps its lines where nothing else would be left of it.
    """
    whole, pages = pages, [[joined(row) for row in rows] for rows in pages]
    near = _candidates(pages, heights)
    found = [*_repeated(pages, near), *_numbered(pages, near)]
    named = {(page, row): _NAMES[2 * row < len(pages[page])] for page, row in found}
    for place, text in near.items():
        if _NUMBER.fullmatch(text) and (place in named or _stands_alone(place, pages)):
            named[place] = "page numbers"
    kept, counts = [], Counter[str]()
    for number, rows in enumerate(whole):
        inner = [row for i, row in enumerate(rows) if (number, i) not in named]
        kept.append(inner or list(rows))
        if inner:
            counts.update(what for (page, _), what in named.items() if page == number)
    return kept, counts


def without_contents(rows: Sequence[Row]) -> list[Row]:
    """The rows without those of a table of contents: a title, dots and a page, and what stands between such lines."""
    texts = [" ".join(piece.text for piece in joined(row)) for row in rows]
    dotted = [i for i, text in enumerate(texts) if _LEADERS.search(text)]
    if len(dotted) < 2:
        return list(rows)
    return [
        row
        for i, row in enumerate(rows)
        if i not in dotted
        and not (len(joined(row)) > 1 and _LAST_NUMBER.search(texts[i]) and dotted[0] - 3 <= i <= dotted[-1] + 2)
    ]


def _candidates(pages: Sequence[list[Row]], heights: Sequence[float]) -> dict[Place, str]:
    """The text of each row that is near an edge."""
    found: dict[Place, str] = {}
    sizes = [piece.size for rows in pages for row in rows for piece in row]
    largest = _LARGER * median(sizes) if sizes else 0.0
    for number, (rows, height) in enumerate(zip(pages, heights, strict=True)):
        for i in {*range(min(_DEEPEST, len(rows))), *range(max(0, len(rows) - _DEEPEST), len(rows))}:
            text = " ".join(piece.text for piece in rows[i])
            base = rows[i][0].base
            if rows[i][0].size > largest:
                continue  # 'Chapter 2' in large letters is a heading
            if (base < _EDGE * height or base > (1 - _EDGE) * height) and len(text) <= _MOST_CHARACTERS:
                found[number, i] = text
    return found


def _repeated(pages: Sequence[list[Row]], near: Mapping[Place, str]) -> Iterator[Place]:
    """Rows whose words stand at the same place on other pages, numbers apart."""
    alike: defaultdict[str, list[Place]] = defaultdict(list)
    for place, text in near.items():
        alike[_DIGITS.sub("#", text.casefold()).strip("# ")].append(place)
    for places in alike.values():
        bases = [pages[page][row][0].base for page, row in places]
        for place, base in zip(places, bases, strict=True):
            if sum(abs(base - other) < _SAME_PLACE for other in bases) >= _fewest(pages):
                yield place


def _numbered(pages: Sequence[list[Row]], near: Mapping[Place, str]) -> list[Place]:
    """Outermost rows that begin or end with a number that counts the pages: 'Chapter 2: The harbour 17'."""
    counted: defaultdict[int, list[Place]] = defaultdict(list)
    for (page, row), text in near.items():
        if row in (0, len(pages[page]) - 1):
            for number in {*_FIRST_NUMBER.findall(text), *_LAST_NUMBER.findall(text)}:
                counted[int(number) - page].append((page, row))
    most = max(counted.values(), key=len, default=[])
    return most if len({page for page, _ in most}) >= _fewest(pages) else []


def _fewest(pages: Sequence[list[Row]]) -> int:
    return 2 if len(pages) <= 4 else 3


def _stands_alone(place: Place, pages: Sequence[list[Row]]) -> bool:
    """Whether the row is the outermost one, and set off from the others."""
    page, row = place
    rows = pages[page]
    gaps = [abs(rows[row][0].base - rows[i][0].base) for i in (row - 1, row + 1) if 0 <= i < len(rows)]
    return row in (0, len(rows) - 1) and len(rows[row]) == 1 and min(gaps, default=0.0) > 1.5 * rows[row][0].size
