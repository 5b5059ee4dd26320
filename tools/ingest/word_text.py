"""The text of a Word document: a walk over its main part that takes what a reader of the printed document would see."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, cast

from tools.ingest.packed import attr, child, local, number
from tools.ingest.raised import raised, written
from tools.ingest.tables import TableLines
from tools.ingest.word_styles import Styles, switch
from tools.passages import Block, BlockForm

_SILENT = frozenset(
    "pPr rPr tblPr tblGrid trPr tcPr sectPr sdtPr sdtEndPr instrText delInstrText delText proofErr rt "
    "annotationRef footnoteRef endnoteRef separator continuationSeparator fldData ffData".split()
)
_SET_APART = ("table", "note")  # in a cell
_DELETED = frozenset(("del", "moveFrom"))
_SIGNS = {"tab": " ", "ptab": " ", "br": " ", "cr": " ", "noBreakHyphen": "-"}
_COUNTED = {
    "pic": "images",
    "imagedata": "images",
    "chart": "charts",
    "relIds": "diagrams",
    "OLEObject": "embedded objects",
    "altChunk": "embedded documents",
    "commentReference": "comments",
}


class WordText:
    """`notes`: the foot- and endnotes by kind and id. What the walk does not take is counted in `left_out`."""

    def __init__(self, styles: Styles, notes: Mapping[tuple[str, str], Any]) -> None:
        self.left_out: Counter[str] = Counter()
        self._styles = styles
        self._notes = dict(notes)
        self._after: list[Block] = []  # footnotes and text boxes, which come after the paragraph that they hang on
        self._endnotes: list[Block] = []
        self._carried = ""  # the text of a paragraph that the next one goes on with
        self._fields: list[bool] = []  # the fields around the place, whether their result has begun
        self._whole_fields = True

    def blocks(self, root: Any) -> list[Block]:
        ends = Counter(attr(each, "fldCharType") for each in root.iter() if local(each) == "fldChar")
        self._whole_fields = ends["begin"] == ends["end"]  # else no end is known of what a field's code is
        return self._apart(root) + self._endnotes

    def _story(self, element: Any) -> Iterator[Block]:
        """The blocks of anything that holds paragraphs: the body, a cell, a text box, a note."""
        for each in element:
            name = local(each)
            if name == "p":
                yield from self._paragraph(each)
                yield from self._taken()
            elif name == "tbl":
                yield from self._table(each)
                yield from self._taken()
            elif name in _DELETED:
                self.left_out["deleted changes"] += 1
            elif name in _COUNTED:
                self.left_out[_COUNTED[name]] += 1
            elif name == "sdt" and self._is_prompt(each):
                self.left_out["prompts to fill in"] += 1
            elif name not in _SILENT:
                yield from self._story(_shown(each))

    def _taken(self) -> list[Block]:
        after, self._after = self._after, []
        return after

    def _paragraph(self, paragraph: Any) -> Iterator[Block]:
        properties = child(paragraph, "pPr")
        text = self._carried + self._text(paragraph, properties)
        self._carried = ""
        if properties is not None and _goes_on(properties):
            self._carried = text
            return
        if not (folded := self._folded(text)):
            return
        form, level = self._styles.form(properties)
        if form == "contents":
            self.left_out["lines of contents"] += 1
        else:
            yield Block(folded, cast(BlockForm, form), level)

    def _text(self, element: Any, paragraph: Any) -> str:
        """The text in a paragraph or in a part of one."""
        pieces = []
        for each in element:
            name = local(each)
            if name == "t":
                pieces.append((each.text or "") if all(self._fields) or not self._whole_fields else "")
            elif name == "r":
                pieces.append(self._run(each, paragraph))
            elif name in _SIGNS:
                pieces.append(_SIGNS[name])
            elif name not in _SILENT:
                pieces.append(self._other(each, name, paragraph))
        return "".join(pieces)

    def _run(self, run: Any, paragraph: Any) -> str:
        properties = child(run, "rPr")
        text = self._text(run, paragraph)
        if text.strip() and self._styles.hides(properties, paragraph):
            self.left_out["hidden texts"] += 1
            return ""
        return raised(text) if self._styles.raises(properties) else text

    def _other(self, element: Any, name: str, paragraph: Any) -> str:
        if name in _DELETED:
            self.left_out["deleted changes"] += 1
        elif name in _COUNTED:
            self.left_out[_COUNTED[name]] += 1
        elif name == "fldChar":
            self._field(attr(element, "fldCharType"))
        elif name in ("footnoteReference", "endnoteReference"):
            self._note(name.removesuffix("Reference"), attr(element, "id"))
        elif name == "txbxContent":
            self._after += self._apart(element)
        elif name == "sdt" and self._is_prompt(element):
            self.left_out["prompts to fill in"] += 1
        else:
            return self._text(_shown(element), paragraph)
        return ""

    def _field(self, kind: str) -> None:
        if kind == "begin":
            self._fields.append(False)
        elif kind == "separate" and self._fields:
            self._fields[-1] = True
        elif kind == "end" and self._fields:
            self._fields.pop()

    def _note(self, kind: str, id_: str) -> None:
        note = self._notes.pop((kind, id_), None)  # each once, also where one refers to itself
        if note is None:
            return
        text = " ".join(block.text for block in self._apart(note))
        if text:
            (self._after if kind == "footnote" else self._endnotes).append(Block(text, "note"))

    def _apart(self, element: Any) -> list[Block]:
        """The blocks of what stands beside the text: what goes on around it is put by for as long."""
        outer = self._after, self._carried, self._fields
        self._after, self._carried, self._fields = [], "", []
        found = list(self._story(element))
        if self._carried.strip():
            found.append(Block(self._folded(self._carried)))
        self._after, self._carried, self._fields = outer
        return found

    def _folded(self, text: str) -> str:
        text, marks = written(text)
        self.left_out["note marks"] += marks
        return " ".join(text.split())

    def _table(self, table: Any) -> Iterator[Block]:
        """The table, then what its cells hold beside text; a single cell is a frame around what it holds."""
        every = list(_inside(table, "tr"))
        rows = [row for row in every if child(row, "trPr", "del") is None]
        self.left_out["deleted changes"] += len(every) - len(rows)
        cells = [list(_inside(row, "tc")) for row in rows]
        if sum(map(len, cells)) == 1:
            yield from self._story(next(cell for row in cells for cell in row))
            return
        lines, after = TableLines(), []
        for row, inside in zip(rows, cells, strict=True):
            lines.skip(_value(row, "trPr", "gridBefore"))
            for cell in inside:
                after += self._cell(cell, lines)
            lines.end_row()
        yield from lines.blocks()
        yield from after

    def _cell(self, cell: Any, lines: TableLines) -> list[Block]:
        """Adds a cell to the lines of its table; the tables and notes in it are what comes back."""
        beside = child(cell, "tcPr", "hMerge")
        if beside is not None and attr(beside, "val") != "restart":
            lines.skip(1)
            return []
        blocks = self._apart(cell)
        merged = child(cell, "tcPr", "vMerge")
        goes_on = merged is not None and attr(merged, "val") != "restart"
        text = " ".join(block.text for block in blocks if block.form not in _SET_APART)
        lines.cell(text, _value(cell, "tcPr", "gridSpan"), goes_on)
        return [block for block in blocks if block.form in _SET_APART]

    def _is_prompt(self, control: Any) -> bool:
        """Whether a control shows what to type into it, and not what somebody typed."""
        found = child(control, "sdtPr", "showingPlcHdr")
        return found is not None and bool(switch(child(control, "sdtPr"), "showingPlcHdr"))


def _inside(element: Any, name: str) -> Iterator[Any]:
    """The rows of a table or the cells of a row, through the controls and markings around them."""
    for each in element:
        if local(each) == name:
            yield each
        elif local(each) in ("sdt", "sdtContent", "customXml", "ins", "moveTo"):
            yield from _inside(each, name)


def _shown(element: Any) -> Any:
    """Of the ways in which one thing is written down for newer and older programs, the newest that has text."""
    if local(element) != "AlternateContent":
        return element
    ways = [each for each in element if local(each) in ("Choice", "Fallback")]
    texts = [each for each in ways if any(local(inner) == "t" for inner in each.iter())]
    return [*texts, *ways][:1]


def _goes_on(properties: Any) -> bool:
    """Whether the next paragraph is more of this one: its end was deleted, or it is a large first letter."""
    frame = child(properties, "framePr")
    return child(properties, "rPr", "del") is not None or (
        frame is not None and attr(frame, "dropCap") not in ("", "none")
    )


def _value(element: Any, *path: str) -> int:
    found = child(element, *path)
    return number(attr(found, "val")) if found is not None else 0
