"""Code that all parsers share: decodes bytes, builds documents, converts documents to JSON and back."""

import codecs
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from itertools import accumulate, zip_longest
from pathlib import Path
from textwrap import shorten
from typing import Any

from tools.dates import date_of_cell
from tools.documents.bylines import (
    blog_line,
    posts_date,
    properties_byline,
    read_byline,
    read_signature,
    stated_kind,
    with_title,
)
from tools.documents.speakers import with_speakers
from tools.errors import SourceError
from tools.language.sentences import clean_text
from tools.passages import SOURCE_KINDS, Block, SourceDocument

# Decoding

_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, because this mark begins with UTF-16's mark
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_TEXT_CODEC = re.compile(
    r"ascii|utf-8(-sig)?|utf-16(-[lb]e)?|cp\d+|iso8859-\d+|koi8-[rtu]|gb2312|gbk|gb18030|big5(hkscs)?"
    r"|euc_\w+|shift_jis\w*|iso2022_\w+|mac-\w+|tis-620"
)
# Browsers decode text that declares the first encoding with the second.
_AS_BROWSERS = {"ascii": "cp1252", "iso8859-1": "cp1252", "gb2312": "gb18030", "gbk": "gb18030", "shift_jis": "cp932"}
_DECLARED_ENCODING = re.compile(
    rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?([\w.:+-]{1,40})"
    rb"|^\s*<\?xml[^>]{0,200}?encoding\s*=\s*[\"']([\w.:+-]{1,40})",
    re.IGNORECASE,
)
_HEAD_BYTES = 4096  # bytes at a page's start that may declare its encoding

# Common encodings only, because most rarer encodings would fit any bytes.
_LIKELY_ENCODINGS = (
    *("cp1252", "cp1250", "cp1251", "cp1253", "cp1254", "cp1255", "cp1256", "iso8859_2", "koi8_r", "mac_roman"),
    *("cp850", "cp932", "euc_jp", "gb18030", "big5", "cp949"),
)
_LAST_RESORT = "cp1252"  # older Windows files
_SAMPLE_BYTES = 30_000  # bytes used to guess the encoding
_MOST_UNDECODABLE = 0.1  # largest share of undecodable characters among the non-ASCII characters


@dataclass(frozen=True, slots=True)
class Decoded:
    """A decoded text. undecodable: number of characters that were replaced by U+FFFD."""

    text: str
    undecodable: int = 0

    @property
    def left_out(self) -> dict[str, int]:
        return {"undecodable characters": self.undecodable}


def decode_text(data: bytes, server_encoding: str = "", markup: bool = False) -> Decoded:
    """Returns the text of a file or page. Tries the byte order mark, UTF-8, the declared encodings and a guess, in this
    order. Refuses a declared encoding if it leaves more than a tenth (UTF-8: half) of the non-ASCII characters
    undecoded. server_encoding: the encoding in the HTTP header. markup: the text is HTML or XML, which may declare its
    encoding."""
    for mark, codec in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            return _decode(data, codec)
    named = _DECLARED_ENCODING.search(data[:_HEAD_BYTES]) if markup else None
    labels = (server_encoding, (named[1] or named[2]).decode("ascii", "replace") if named else "")
    if not data.isascii():
        with suppress(UnicodeDecodeError):  # bytes are rarely UTF-8 by chance
            return Decoded(data.decode())
    for codec in (*filter(None, map(codec_of_label, labels)), "utf-8"):
        # A page whose declaration can be read as ASCII is not in UTF-16.
        found = _decode(data, "utf-8" if codec.startswith("utf-16") and b"\x00" not in data[:_HEAD_BYTES] else codec)
        beyond_ascii = sum(1 for c in found.text if c > "\x7f")
        if found.undecodable <= (0.5 if codec.startswith("utf-8") else _MOST_UNDECODABLE) * beyond_ascii:
            return found
    return _decode_by_guess(data)


def codec_of_label(label: str) -> str:
    """Returns Python's name of a text encoding. Returns '' for codecs that do not encode text, such as `hex`, and for
    slow encodings, such as `punycode`."""
    try:
        name = codecs.lookup(label).name if label else ""
    except (LookupError, ValueError):
        return ""
    return _AS_BROWSERS.get(name, name) if _TEXT_CODEC.fullmatch(name) else ""


def _decode(data: bytes, codec: str) -> Decoded:
    text = data.decode(codec, "replace")
    return Decoded(text, text.count("\ufffd"))


def _decode_by_guess(data: bytes) -> Decoded:
    """Decodes with the encoding whose letters look most like a language."""
    from charset_normalizer import from_bytes

    telling = b"\n".join(line for line in data.splitlines() if not line.isascii())[:_SAMPLE_BYTES]
    matches = from_bytes(telling, cp_isolation=list(_LIKELY_ENCODINGS))
    best = matches.best()
    usual = next((m for m in matches if _LAST_RESORT in (m.encoding, *m.could_be_from_charset)), None)
    if best is None or (usual and usual.chaos <= best.chaos and usual.coherence >= best.coherence):
        return _decode(data, _LAST_RESORT)
    return _decode(data, best.encoding)


# Documents

_BLOCK_SEPARATOR = "\n\n"  # blocks
# Encoded data looks like a word of megabytes. ASCII only, because scripts such as Chinese have no spaces.
_ENDLESS_WORD = re.compile(r"(?<![!-~])([!-~]{80})[!-~]{1000,}")
_ENDLESS_WORDS = "words without end"
# Titles that programs give to every document, and file names.
_JUNK_TITLE = re.compile(
    r"(?:untitled|unknown|no title|title|document|slide|page|dokument|doc|layout|default|normal|report|brochure|"
    r"word document|python-docx|(?:powerpoint.)?pr[eäé]sentat?\w{1,4}(?:(?: de)? powerpoint)?)[\s\d_.-]*"
    r"|microsoft word - .*|\S*\.(?:pdf|\w?html?|txt|md|tex|dvi|ps|eps|ai|cdr|wpd)"
    r"|.*\.(?:rtf|do[ct]x?|p[po]tx?|xlsx?|od[tp]|indd|qx[dp]|p65)"
    r"|(?:https?|file|about|data):\S*|[a-z]:\\.*|/\S+/\S*|\W*|[0-9a-f-]{16,}",
    re.IGNORECASE,
)
# Titles that programs set in exported files. Books and web pages may really have such titles.
_JUNK_OF_FILE = re.compile(
    r"[\s\d_.-]*|(?:microsoft (?:word|powerpoint|excel)|powerpoint|word|adobe \w+) ?- .*|.*\btemplate\b.*",
    re.IGNORECASE,
)
_EDITORS_NOTE = re.compile(
    r"(?i)\b(?:we|editors?) (?:re)?(?:print|publish|produce|received?)(?:ed|s)?\b[^.]{0,60}\bletter\b"
)
_BLOCKS_ABOVE_LETTER = 4
_LEAST_SAID = 3  # an author may quote speakers in less than a third of the text
_LONGEST_HEADING = 20  # words; a longer heading is a sentence
_LONGEST_KIND = 60  # characters
_SENTENCE_END = re.compile(r"[^\W\d_]{2}[\"'”’)\]]*[.!][\"'”’)\]]*$")


COLUMN_FIELDS = ("id", "title", "url", "publisher", "date", "kind", "author")


@dataclass(frozen=True, slots=True)
class ColumnNames:
    """Names of table columns that the user chose. If a name is empty, the parser guesses the column. text: one or more
    columns. The parser joins their texts in this order. An entry may name several columns, separated by commas. hint:
    tells the user how to name the text column; {file} and {column} are filled in."""

    text: tuple[str, ...] = ()
    id: str = ""
    title: str = ""
    url: str = ""
    publisher: str = ""
    date: str = ""
    kind: str = ""
    author: str = ""
    hint: str = "Name it with --text {column}."

    def named(self) -> list[str]:
        """Returns all names that the user gave."""
        return [name for name in (*self.text, *(getattr(self, f) for f in COLUMN_FIELDS)) if name]


GUESSED_COLUMNS = ColumnNames()


ReaderOutput = SourceDocument | SourceError | str  # a text is the parser's remark on the file


@dataclass(frozen=True, slots=True)
class InputFile:
    """A file to ingest. name: the displayed path. origin: the whole path, which identifies the file."""

    path: Path
    name: str
    origin: str


@cache
def _documents() -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter(SourceDocument)


def document_to_json(found: SourceDocument) -> dict[str, Any]:
    return dict(_documents().dump_python(found))


def document_from_json(told: Mapping[str, Any]) -> SourceDocument:
    """Reverses `document_to_json`. Optional fields may be missing. Raises ValueError for a value of another type."""
    document: SourceDocument = _documents().validate_python(told)
    return document


def output_to_json(found: ReaderOutput) -> dict[str, Any]:
    """Returns a parser's output in the form that the reader process sends."""
    if isinstance(found, str):
        return {"note": found}
    if isinstance(found, SourceError):
        return {"problem": str(found), "hint": found.hint}
    if len(found.text) > LARGEST_TEXT:
        return {"problem": f"{found.external_id}: longer than {LARGEST_TEXT:,} characters. Split it."}
    return {"document": document_to_json(found)}


def output_from_json(told: Mapping[str, Any]) -> ReaderOutput:
    """Reverses `output_to_json`. Checks each field, because a parser library may have corrupted the process. Raises
    ValueError or TypeError."""
    if "document" in told:
        return document_from_json(told["document"])
    if "note" in told:
        return str(told["note"])
    if "problem" in told:
        return SourceError(str(told["problem"]), hint=str(told.get("hint", "")))
    raise ValueError(f"no answer: {list(told)}")


def read_decoded(path: Path, name: str, markup: bool = False) -> Decoded:
    """Returns the decoded text of a file with newlines as line ends. markup: the file is HTML. Raises SourceError
    for a binary file, OSError if the file cannot be opened."""
    data = path.read_bytes()
    wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE))
    if not wide and (b"\x00" in data[:4096] or data.startswith((b"%PDF", b"PK\x03\x04"))):
        raise SourceError(f"{name}: this is not a text file, despite its ending. Correct the ending.")
    found = decode_text(data, markup=markup)
    return replace(found, text=found.text.replace("\r\n", "\n").replace("\r", "\n"))


def document_of_blocks(
    external_id: str,
    blocks: Iterable[Block],
    fields: Mapping[str, Any],
    left_out: Mapping[str, int] | None = None,
    untitled: str = "",
    properties: Mapping[str, str] | None = None,
) -> SourceDocument:
    """Returns a document with its structure and speakers. Its text joins the blocks with empty lines. The title is the
    first available of these: the field, the property, the first heading, `untitled`. properties: the file's metadata
    for `properties_byline`; 'place' names the metadata's source, such as 'PDF metadata'. A byline in the text takes
    precedence over the properties."""
    told = tuple(replace(b, text=_unlinked(b.text)) if b.form == "heading" else b for b in blocks if b.text.strip())
    heading = next((b.text for b in told if b.form == "heading"), "")
    title = fields.get("title") or (properties or {}).get("title") or heading
    title, told = with_title(str(title), told)
    heading = next((b.text for b in told if b.form == "heading"), "")
    told = _demote_false_headings(told, title)
    ended = [_ENDLESS_WORD.subn(r"\1…", b.text) for b in told]
    taken = tuple(replace(b, text=text) if n else b for b, (text, n) in zip(told, ended, strict=True))
    found = Counter({**(left_out or {}), _ENDLESS_WORDS: sum(n for _, n in ended)})
    written = str(fields.get("author") or "") or read_byline(taken)["author"]
    written = written or properties_byline(properties or {}, taken)["author"]
    spoken = tuple(with_speakers(taken, found, title, written))
    if title == heading and all(b.speaker or b.text != heading for b in spoken):  # the heading was a speaker's name
        title = next((b.text for b in spoken if b.form == "heading"), "")
    values = {**fields, "title": _unlinked(title or untitled), "kind": fields.get("kind") or stated_kind(taken)}
    several = _people_speak(spoken) and not blog_line(taken)  # others comment on a blog's post
    alone = {"author": ""} if several else {}
    add_fields(values, "posts", date=posts_date(taken))
    add_fields(values, "byline", **{**read_byline(taken), **alone})
    if not values.get("author"):
        add_fields(values, "signature", **{**read_signature(taken), **alone})
        spoken = tuple(_with_editors(spoken, str(values.get("publisher") or ""))) if values.get("author") else spoken
    if properties:
        own = properties_byline(properties, taken, str(values.get("publisher") or ""))
        add_fields(values, properties["place"], **{**own, **alone})
    made = document_of_text(external_id, _BLOCK_SEPARATOR.join(b.text for b in spoken), values)
    counts = {what: count for what, count in found.items() if count}
    return replace(made, blocks=spoken, left_out=counts)


def _people_speak(blocks: Sequence[Block]) -> bool:
    """Whether several people say more than a small part of the text, so that none of them is its author."""
    said = sum(len(b.text) for b in blocks if b.speaker) * _LEAST_SAID
    return len({b.speaker for b in blocks} - {""}) > 1 and said > sum(len(b.text) for b in blocks)


def _with_editors(blocks: Sequence[Block], publisher: str) -> Iterator[Block]:
    """Gives an editor's note above a printed letter to the publisher, because the signers did not write the note."""
    for i, block in enumerate(blocks):
        noted = i < _BLOCKS_ABOVE_LETTER and not block.speaker and _EDITORS_NOTE.search(block.text)
        yield replace(block, speaker=publisher or "The editors") if noted else block


def _demote_false_headings(blocks: Sequence[Block], title: str) -> tuple[Block, ...]:
    """Turns a heading into a paragraph if the heading is a sentence or has no text below."""
    kept = []
    for block, after in zip_longest(blocks, blocks[1:]):
        if block.form == "heading":
            below = after is not None and (after.form != "heading" or after.level > block.level)
            long = len(block.text.split()) > _LONGEST_HEADING
            if _SENTENCE_END.search(block.text) or long or not (below or block.text == title):
                block = replace(block, form="paragraph", level=0)
        kept.append(block)
    return tuple(kept)


def _unlinked(heading: str) -> str:
    return heading.removesuffix("¶").rstrip()


def document_of_text(external_id: str, text: str, fields: Mapping[str, Any]) -> SourceDocument:
    """Returns a document of plain text with normalized fields. An unreadable date is left empty."""
    values = {k: clean_text(str(fields.get(k) or "")).strip() for k in COLUMN_FIELDS[1:]}
    kind = shorten(values["kind"], _LONGEST_KIND, placeholder=" …") or "unknown"
    text, endless = _ENDLESS_WORD.subn(r"\1…", clean_text(text).strip())
    return SourceDocument(
        external_id=normalized_name(external_id),
        text=text,
        title=values["title"],
        url=values["url"],
        publisher=values["publisher"],
        kind=kind.lower() if kind.lower() in SOURCE_KINDS else kind,
        date=date_of_cell(values["date"]),
        author=values["author"],
        provenance=str(fields.get("provenance") or ""),
        left_out={_ENDLESS_WORDS: endless} if endless else {},
    )


def add_fields(fields: dict[str, Any], place: str, **told: str) -> None:
    """Fills empty fields and records the source of each in 'provenance': 'date: PDF metadata'."""
    for field, value in told.items():
        if value and not fields.get(field):
            fields[field] = value
            fields["provenance"] = "; ".join(filter(None, (fields.get("provenance"), f"{field}: {place}")))


def truncate_document(found: SourceDocument, most: int) -> SourceDocument:
    """Returns the document with at most `most` characters of text and only the blocks of this text."""
    if len(found.text) <= most:
        return found
    starts = accumulate((len(block.text) + len(_BLOCK_SEPARATOR) for block in found.blocks), initial=0)
    cut = [replace(b, text=b.text[: max(0, most - at)].rstrip()) for b, at in zip(found.blocks, starts, strict=False)]
    kept = tuple(block for block in cut if block.text)
    text = _BLOCK_SEPARATOR.join(block.text for block in kept) or found.text[:most]
    left_out = {**found.left_out, "characters beyond the limit": len(found.text) - len(text)}
    return replace(found, text=text, blocks=kept, left_out=left_out)


def normalized_name(name: str) -> str:
    """Returns a file name or id as NFC Unicode that can be stored and displayed."""
    return unicodedata.normalize("NFC", name.encode("utf-8", "backslashreplace").decode())


def file_title(name: str) -> str:
    return re.sub(r"[_-]+", " ", Path(name).stem).strip()


def title_unless_junk(title: str, name: str = "") -> str:
    """Returns the title, or '' if a program set the title: a file name, a template's title, 'untitled'. name: the name
    of a file that was exported from another file, such as a PDF. In such a file a number and the file's own name are no
    titles, either."""
    title = " ".join(title.split())
    same = file_title(title).casefold() == file_title(Path(name).name).casefold()
    of_file = bool(name) and (same or _JUNK_OF_FILE.fullmatch(title))
    return "" if of_file or _JUNK_TITLE.fullmatch(title) or "\ufffd" in title else title


LARGEST_TEXT = 20_000_000  # characters of a document
