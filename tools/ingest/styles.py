"""What word processors have in common: what the name of a style says of its paragraphs, and hyphens."""

import re

from tools.passages import BlockForm

# Word keeps the English names of its own styles whatever its language; other programs write what their users see.
_HEADING = re.compile(
    r"(?:heading|header|überschrift|titre|título|titolo|kop|rubrik|overskrift|otsikko|nagłówek|nadpis|címsor|"
    r"заголовок|başlık|見出し|标题|標題|제목) ?([1-9])"
)
_CAPTIONS = {"caption", "beschriftung", "légende", "leyenda", "didascalia", "bijschrift", "legenda"}
_CONTENTS = re.compile(r"toc ?\d|(?:toc|contents) heading|table of (?:figures|authorities)|index ?\d|contents ?\d")
HYPHENS = {0xAD: None, 0x2011: "-"}
"""Of a line's end that may come, and one that may not: as plain text has them."""
_TITLES = {"title", "titel", "titre", "título", "titolo"}


def is_contents(name: str) -> bool:
    """Whether it is a line of a list of headings or terms."""
    return bool(_CONTENTS.fullmatch(name.lower().strip()))


def form_of_name(name: str) -> tuple[BlockForm, int] | None:
    """The form of the paragraphs, and their level as headings; None where the name says nothing."""
    name = name.lower().strip()
    if name in _CAPTIONS:
        return "caption", 0
    if name in _TITLES:
        return "heading", 1
    if name.startswith(("list bullet", "list number")):
        return "item", 0
    match = _HEADING.fullmatch(name)
    return ("heading", int(match[1])) if match else None
