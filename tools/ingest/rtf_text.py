"""The text of an RTF document, from its control words one by one."""

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Literal

from tools.ingest.raised import raised
from tools.ingest.rtf_story import Paragraph, Story
from tools.ingest.word_styles import form_of_name
from tools.passages import Block

# Of fonts, by their character sets; 0 and 1 are the document's own.
_CODEPAGES = dict(
    pair.split(":")
    for pair in "77:mac_roman 128:cp932 129:cp949 134:cp936 136:cp950 161:cp1253 162:cp1254 163:cp1258 177:cp1255 "
    "178:cp1256 186:cp1257 204:cp1251 222:cp874 238:cp1250".split()
)
_SIGNS = dict(zip("emdash endash lquote rquote ldblquote rdblquote bullet".split(), "—–‘’“”•", strict=True))
_SIGNS |= {"tab": "\t"} | dict.fromkeys("line lbr enspace emspace qmspace page column softpage".split(), " ")
_SILENT = frozenset(
    "colortbl info fldinst nonshppict nonesttables xe tc bkmkstart bkmkend filetbl ftnsep ftnsepc ftncn aftnsep "
    "aftnsepc aftncn sn sv shprslt listtext pntext objname objclass txe rxe".split()
)
_OF_SIGNS = frozenset("v deleted plain super sub nosupersub f uc ansicpg deff mac".split())
_READ = frozenset("shpinst nesttableprops do".split())  # of those that older readers are to skip
_STORIES = {
    **dict.fromkeys(("header", "headerl", "headerr", "headerf"), "running headers"),
    **dict.fromkeys(("footer", "footerl", "footerr", "footerf"), "running footers"),
    "annotation": "comments",
    "footnote": "note",
    "shptxt": "box",
    "dptxbxtext": "box",
}

_Place = Literal["text", "silent", "fonts", "styles", "title", "date"]
_PLACES: dict[str, _Place] = {
    "fonttbl": "fonts",
    "stylesheet": "styles",
    "title": "title",
    "creatim": "date",
    "revtim": "date",
    **dict.fromkeys(_SILENT, "silent"),
}


@dataclass(slots=True)
class _Group:
    """What holds inside a pair of braces."""

    place: _Place = "text"
    font: int = 0
    fallback: int = 1  # how many signs after a Unicode one stand there for readers that do not know it
    hidden: bool = False
    deleted: bool = False
    raised: bool = False
    paragraph: Paragraph = field(default_factory=Paragraph)
    begins: bool = False  # a story


@dataclass(slots=True)
class _Style:
    name: str = ""
    outline: int | None = None
    base: int = 0


@dataclass(slots=True)
class _Described:
    """A style, a font or a time, while its description is being read."""

    text: str = ""
    numbers: dict[str, int] = field(default_factory=dict)


class RtfText:
    """Takes the tokens of a document; `blocks` is what they said, `left_out` what was not taken."""

    def __init__(self) -> None:
        self.left_out: Counter[str] = Counter()
        self.title = ""
        self.date = ""
        self._groups = [_Group()]
        self._stories = [Story(self._form)]
        self._endnotes: list[Block] = []
        self._fonts: dict[int, str] = {}
        self._styles: dict[int, _Style] = {}
        self._described = _Described()
        self._codepage = "cp1252"
        self._font = 0
        self._bytes = b""
        self._skip = 0  # signs that stand for a Unicode one
        self._half = 0  # the first half of a sign that takes two
        self._starred = False
        self._dropping = False

    @property
    def depth(self) -> int:
        return len(self._groups) - 1

    def blocks(self) -> list[Block]:
        self._flush()
        found = self._stories[0].blocks(self._groups[0].paragraph)
        self.left_out["lines of contents"] += self._stories[0].contents
        self.left_out["note marks"] += self._stories[0].marks
        return found + self._endnotes

    def open(self) -> None:
        self._flush()
        self._groups.append(replace(self._groups[-1], begins=False))
        if self.depth > 1 and self._groups[-1].place in ("fonts", "styles"):
            self._described = _Described()

    def close(self) -> None:
        self._flush()
        group = self._groups.pop() if len(self._groups) > 1 else self._groups[0]
        self._skip = 0
        if group.begins:
            self._end_story(group)
        elif group.place != self._groups[-1].place or group.place in ("fonts", "styles"):
            self._end_description(group.place)
        if not self.depth:
            self._groups[0].paragraph = group.paragraph

    def bytes(self, data: bytes) -> None:
        if self._skip:
            skipped = min(self._skip, len(data))
            self._skip -= skipped
            data = data[skipped:]
        if self._groups[-1].place != "silent":
            self._bytes += data

    def symbol(self, sign: str) -> None:
        if sign in "\\{}":
            self.bytes(sign.encode())
            return
        self._flush()
        if sign == "*":
            self._starred = True
        elif sign in "\r\n":
            self.word("par", None)
        elif sign in "~_":
            self._say(" " if sign == "~" else "-")

    def word(self, word: str, value: int | None) -> None:
        self._flush()
        starred, self._starred = self._starred, False
        group = self._groups[-1]
        if word == "u":
            self._unicode(value or 0)
        elif group.place == "silent" and word not in ("title", "creatim", "revtim"):
            return
        elif word in ("pict", "shppict"):
            group.place = "silent"
            self.left_out["images"] += 1
        elif word in _STORIES:
            group.begins, group.place, group.paragraph = True, "text", Paragraph()
            self._stories.append(Story(self._form, _STORIES[word]))
        elif starred and word not in _READ:
            group.place = "silent"
            self._mark(word)
        elif word in _PLACES:
            group.place = _PLACES[word]
            self._mark(word)
        elif group.place in ("fonts", "styles", "date"):
            self._described.numbers[word] = value or 0
        else:
            self._in_text(group, word, value)

    def _mark(self, word: str) -> None:
        if word in ("listtext", "pntext"):
            self._stories[-1].marked = True
        elif word in ("creatim", "revtim"):
            self._described = _Described()

    def _in_text(self, group: _Group, word: str, value: int | None) -> None:
        if word in _SIGNS:
            self._say(_SIGNS[word])
        elif word in ("par", "sect"):
            self._stories[-1].end_paragraph(group.paragraph)
        elif word in _OF_SIGNS:
            self._signs(group, word, value)
        elif word == "ftnalt":
            self._stories[-1].kind = "endnote" if self._stories[-1].kind == "note" else self._stories[-1].kind
        elif not self._in_table(group, word):
            self._properties(group, word, value)

    def _signs(self, group: _Group, word: str, value: int | None) -> None:
        """How the signs that follow are to be read."""
        if word == "v":
            group.hidden = value != 0
        elif word == "deleted":
            group.deleted = value != 0
        elif word == "plain":
            group.hidden, group.deleted, group.raised, group.font = False, False, False, self._font
        elif word in ("super", "sub", "nosupersub"):
            group.raised = word == "super" and value != 0
        elif word == "f":
            group.font = value or 0
        elif word == "uc":
            group.fallback = max(value or 0, 0)
        elif word == "deff":
            self._font = group.font = value or 0
        else:
            self._codepage = "mac_roman" if word == "mac" else _known(f"cp{value}")

    def _in_table(self, group: _Group, word: str) -> bool:
        """Whether the word is of a table, and done."""
        story, depth = self._stories[-1], max(group.paragraph.table, 1)
        if word in ("cell", "nestcell"):
            story.end_cell(1 if word == "cell" else depth)
        elif word in ("row", "nestrow"):
            story.end_row(1 if word == "row" else depth)
        elif word == "trowd":
            story.begin_row(depth)
        elif word in ("clmrg", "clvmrg"):
            story.merged(depth, "beside" if word == "clmrg" else "above")
        elif word == "cellx":
            story.cell_described(depth)
        else:
            return False
        return True

    def _properties(self, group: _Group, word: str, value: int | None) -> None:
        """The properties of the paragraph."""
        if word == "pard":
            group.paragraph = Paragraph()
        elif word == "s":
            group.paragraph = replace(group.paragraph, style=value or 0)
        elif word == "outlinelevel":
            group.paragraph = replace(group.paragraph, outline=value or 0)
        elif word == "ls":
            group.paragraph = replace(group.paragraph, listed=bool(value))
        elif word == "intbl":
            group.paragraph = replace(group.paragraph, table=max(group.paragraph.table, 1))
        elif word == "itap":
            group.paragraph = replace(group.paragraph, table=min(value or 0, 20))

    def _unicode(self, value: int) -> None:
        sign = value % 65536
        if 0xD800 <= sign < 0xDC00:
            self._half = sign
        elif 0xDC00 <= sign < 0xE000:
            if self._half:
                self._say(chr(0x10000 + ((self._half - 0xD800) << 10) + sign - 0xDC00))
            self._half = 0
        else:
            self._say(chr(sign))
        self._skip = self._groups[-1].fallback

    def _flush(self) -> None:
        if self._bytes:
            codepage = self._fonts.get(self._groups[-1].font, self._codepage)
            self._say(self._bytes.decode(codepage, errors="replace"))
            self._bytes = b""

    def _say(self, text: str) -> None:
        group = self._groups[-1]
        if group.place == "title":
            self.title += text
        elif group.place != "text":
            self._described.text += text if group.place != "silent" else ""
        elif group.hidden or group.deleted:
            if not self._dropping and text.strip():
                self.left_out["deleted changes" if group.deleted else "hidden texts"] += 1
                self._dropping = True
        else:
            self._dropping = False
            self._stories[-1].add(raised(text) if group.raised else text)

    def _end_story(self, group: _Group) -> None:
        story = self._stories.pop()
        found = story.blocks(group.paragraph)
        self.left_out["note marks"] += story.marks
        text = " ".join(block.text for block in found)
        if story.kind == "note":
            self._stories[-1].beside.append(Block(text, "note"))
        elif story.kind == "endnote":
            self._endnotes.append(Block(text, "note"))
        elif story.kind == "box":
            self._stories[-1].beside += found
        else:
            self.left_out[story.kind] += bool(text)

    def _end_description(self, place: _Place) -> None:
        numbers, name = self._described.numbers, self._described.text.strip().removesuffix(";")
        if place == "fonts" and "f" in numbers:
            charset = _CODEPAGES.get(str(numbers.get("fcharset", 0)))
            if charset is not None:
                self._fonts[numbers["f"]] = charset
        elif place == "styles" and name:
            self._styles[numbers.get("s", 0)] = _Style(name, numbers.get("outlinelevel"), numbers.get("sbasedon", 0))
        elif place == "date" and numbers.get("yr"):
            self.date = "-".join([f"{numbers['yr']:04}", *(f"{numbers[w]:02}" for w in ("mo", "dy") if numbers.get(w))])

    def _form(self, paragraph: Paragraph) -> tuple[str, int]:
        """What a paragraph is, by its own outline level or by its style and those that it is based on."""
        if paragraph.outline is not None:
            return ("heading", paragraph.outline + 1) if 0 <= paragraph.outline < 9 else ("paragraph", 0)
        number, seen = paragraph.style, set[int]()
        while number in self._styles and number not in seen:
            seen.add(number)
            style = self._styles[number]
            if found := form_of_name(style.name):
                return found
            if style.outline is not None and 0 <= style.outline < 9:
                return "heading", style.outline + 1
            number = style.base
        return "paragraph", 0


def _known(codepage: str) -> str:
    try:
        "".encode(codepage)
    except LookupError:
        return "cp1252"
    return codepage
