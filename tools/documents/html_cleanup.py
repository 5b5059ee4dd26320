"""Cleans an HTML tree for `html_blocks`: removes non-text, marks notes, writes superscripts. Raised digits become a
power (10^6, km^2) or are removed as a note mark. As plain digits they would change the figure before them. Subscripts
(CO2) and ordinals (21st) stay."""

import re
from collections import Counter
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

_BLOCK = frozenset("p li div aside dd td tr".split())
_NOTE_SIGN = re.compile(
    r"[\[(]?\s*(?:\d{1,4}|[a-z]{1,3}|[ivxlc]{1,6}|[*†‡§¶]{1,3}|note \d+|nb \d+)\s*[\])]?[.:]?", re.IGNORECASE
)
_BACK_LINK = re.compile(r"[\W\d_]*(?:back|return|jump up|a?)?[\W\d_]*", re.IGNORECASE)
_CODE = ("code", "samp", "kbd", "tt")
STRUCK = ("del", "s", "strike")  # struck-out text
_LONGEST_NOTE = 6_000  # characters; a longer target of a link is a section, not a note
_LONGEST_REPEATED = 200  # characters; a longer merged cell stays in its first row only
_CODE_CLASS = re.compile(
    r"(?:^|\s)(?:highlight\S*|language-\S+|lang-\S+|sourceCode|codehilite|code-?block|prettyprint)(?:\s|$)"
)
SUPERSCRIPT, SUPERSCRIPT_END = "\ue000", "\ue001"  # around raised text, until `write_superscripts`

NOTE_MARK = re.compile(r"(?:\d{1,3}|[ivx]{1,5}|[*†‡§¶∗]{1,3})(?:\s?,\s?\d{1,3})*")
_SUPERSCRIPT = re.compile(f"{SUPERSCRIPT}([^{SUPERSCRIPT}{SUPERSCRIPT_END}]*){SUPERSCRIPT_END}")
_POWER = re.compile(r"[+−–-]?\s?\d[\w.,/]{0,6}|[nxk]")
# The text before a power: a digit, a symbol, a sum in brackets, or a unit. 'in' and longer units need a number.
_BASE = re.compile(
    r"\d$|(?:[+−×*·/]\s?|\s-\s)(?:\d[\d.,]*|[^\W\d_])\)$|(?:^|[\W\d_])(?!(?:am|an|as|at|be|by|do|go|he|if|in|is|it|me|my|no|of|on|or|so|to|up|us|we|UK|EU|US|UN)$)"
    r"[^\W\d_]{1,2}$|\d\s?(?:in|feet|foot|inch(?:es)?|yards?|miles?|\w{0,5}met(?:er|re)s?)$",
    re.IGNORECASE,
)
_SLASHES, _OPENING = ("/", "\u2044", "\u2215"), "([{“„‘«—–-/"
_LONGEST_SUPERSCRIPT, _CONTEXT_CHARACTERS = 12, 40  # most characters of a superscript, and of the text before it
_BLOCKS = frozenset("p div li td th dd dt h1 h2 h3 h4 h5 h6 br hr pre tr table ul ol section article body html".split())


def remove_non_text(root: Any) -> Counter[str]:
    """Removes and counts images, listings, formulas, struck-out text and note marks. Gives notes the role that
    `html_blocks` expects. Changes `root`."""
    counts = Counter(
        {
            "note marks": write_superscript_elements(root),
            "images": _drop_all(root, root.iter("img", "svg", "picture", "video", "audio", "canvas", "map")),
            "formulas": _drop_all(root, root.iter("math")),
            "struck out texts": _drop_all(root, root.iter(*STRUCK)),
            "code blocks": _drop_all(root, (pre for pre in root.iter("pre") if _is_code(pre))),
        }
    )
    _mark_notes(root)
    return counts


def drop_element(element: Any) -> None:
    """Removes an element and keeps the text after it."""
    parent, before, tail = element.getparent(), element.getprevious(), element.tail
    if parent is None:
        return
    if tail and before is not None:
        before.tail = (before.tail or "") + tail
    elif tail:
        parent.text = (parent.text or "") + tail
    element.tail = None
    parent.remove(element)


def _drop_all(root: Any, found: Iterator[Any]) -> int:
    """Removes elements. Returns their number; nested elements do not count."""
    dropped = set[Any]()
    for element in list(found):
        if element is not root and dropped.isdisjoint(element.iterancestors()):
            dropped.add(element)
            drop_element(element)
    return len(dropped)


def _is_code(pre: Any) -> bool:
    """Whether a `pre` is a listing. Preformatted prose, such as an RFC, has no code markup."""
    around = [pre, *(up for up, _ in zip(pre.iterancestors(), range(3), strict=False))]
    typed = len(pre) > 0 and all(child.tag in _CODE for child in pre) and not (pre.text or "").strip()
    return typed or any(_CODE_CLASS.search(e.get("class") or "") for e in around)


def _mark_notes(root: Any) -> None:
    """Removes note marks, and gives the linked elements the role of a note."""
    targets = {key: e for e in root.iter("*") for key in (e.get("id"), e.get("name")) if key}
    short: dict[Any, bool] = {}  # each target is measured once
    notes: list[Any] = []
    for mark in [a for a in root.iter("a") if (a.get("href") or "").startswith("#") and is_note_mark(a)]:
        note = targets.get(mark.get("href")[1:])
        while note is not None and note.tag not in _BLOCK:
            note = note.getparent()
        if note is None or note in mark.iterancestors():
            continue
        if note not in short:
            short[note] = sum(map(len, note.itertext())) <= _LONGEST_NOTE
        # A note and its mark link to each other. The mark comes first.
        if short[note] and not any(up.get("role") == "doc-footnote" for up in mark.iterancestors()):
            note.set("role", "doc-footnote")
            notes.append(note)
            drop_note_mark(mark)
    for note in notes:
        for link in list(note.iter("a")):
            if (link.get("href") or "").startswith("#") and _BACK_LINK.fullmatch("".join(link.itertext()).strip()):
                drop_note_mark(link)


def drop_note_mark(mark: Any) -> None:
    """Removes a note mark with the raised element around it."""
    drop_element(mark.getparent() if _is_superscript_mark(mark.getparent()) else mark)


def is_note_mark(link: Any) -> bool:
    """Whether a link is a note mark: a number or sign, raised, in brackets or with a class such as 'reference'."""
    text = "".join(link.itertext()).strip()
    if not text or not _NOTE_SIGN.fullmatch(text):
        return False
    names = " ".join((e.get("class") or "") + " " + (e.get("role") or "") for e in (link, link.getparent()))
    named = re.search(r"foot-?note|end-?note|noteref|cite|reference|\bfn\b", names, re.IGNORECASE)
    raised = _is_superscript_mark(link.getparent()) or link.find(".//sup") is not None
    return bool(named or raised or text[0] in "[(*†‡")


def _is_superscript_mark(element: Any) -> bool:
    """Whether a raised element holds nothing but one mark."""
    return (
        element is not None
        and element.tag in ("sup", "span")
        and len("".join(element.itertext()).strip()) <= 8
        and (element.tag == "sup" or "note" in (element.get("class") or ""))
    )


def repeat_merged_cells(table: Any) -> None:
    """Copies a cell that spans rows into each spanned row, so that each row is complete."""
    rows = [row for row in table.iter("tr") if next(row.iterancestors("table")) is table]
    for at, row in enumerate(rows):
        column = 0
        for cell in row.iterchildren("td", "th"):
            for below in rows[at + 1 : at + int(cell.attrib.pop("rowspan", "1"))]:
                _insert_cell(deepcopy(cell), column, below)
            column += int(cell.get("colspan", "1"))


def _insert_cell(cell: Any, column: int, row: Any) -> None:
    """Inserts a copied cell into a row at a column."""
    cell.tail = None
    if len("".join(cell.itertext())) > _LONGEST_REPEATED:
        cell[:], cell.text = [], None
    for other in row.iterchildren("td", "th"):
        if column <= 0:
            other.addprevious(cell)
            return
        column -= int(other.get("colspan", "1"))
    row.append(cell)


def superscript_text(text: str, before: str, after: str = "") -> str | None:
    """Returns the text of a superscript between two texts; None for a note mark. A superscript after a number, unit or
    symbol is a power. Elsewhere a raised number or sign is a note mark."""
    said = text.strip()
    apart = not before or before[-1].isspace()
    begins = apart or before[-1] in _OPENING
    if begins and (after[:1].isalpha() or after[:1] in _SLASHES):  # an isotope, or a fraction
        return text
    if not apart and _POWER.fullmatch(said):
        if after[:1] in _SLASHES and before[-1].isdigit():
            return f" {said}"  # 1 1/2
        if said[0] in "+−–-" or _BASE.search(before):
            return f"^{said}"
    return None if before.strip() and NOTE_MARK.fullmatch(said) else text


def write_superscripts(text: str) -> tuple[str, int]:
    """Returns the text with all marked superscripts as plain text, and the number of removed note marks."""
    if SUPERSCRIPT not in text:
        return text, 0
    pieces, marks, end = [""], 0, 0
    text = text.replace(f"{SUPERSCRIPT_END}{SUPERSCRIPT}", "")  # joins a superscript that is split in two
    for match in _SUPERSCRIPT.finditer(text):
        pieces.append(text[end : match.start()])
        end = match.end()
        shown = superscript_text(match[1], "".join(pieces[-4:])[-_CONTEXT_CHARACTERS:], text[end : end + 1])
        marks += shown is None
        pieces.append(shown or "")
    return "".join(pieces) + text[end:], marks


def write_superscript_elements(root: Any) -> int:
    """Writes `sup` elements as text. Returns the number of removed note marks. Skips links. Changes `root`."""
    marks = 0
    for element in list(root.iter("sup")):
        text = "".join(element.itertext())
        linked = next(element.iter("a"), None) is not None or next(element.iterancestors("a"), None) is not None
        if linked or len(text) > _LONGEST_SUPERSCRIPT:
            continue
        shown = superscript_text(text, _text_before(element), (element.tail or "")[:1])
        if shown is None:
            marks += 1
            drop_element(element)
        elif shown != text:
            del element[:]
            element.text = shown
    return marks


def _text_before(element: Any) -> str:
    """Returns the end of the text right before an element in the element's paragraph."""
    last = element.getprevious()
    if last is None:
        return ((element.getparent().text if element.getparent() is not None else "") or "")[-_CONTEXT_CHARACTERS:]
    inside = "" if last.tag in _BLOCKS or not isinstance(last.tag, str) else "".join(last.itertext())
    return f"{inside}{last.tail or ''}"[-_CONTEXT_CHARACTERS:]
