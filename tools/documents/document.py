"""What every reader shares: from bytes to text, from text or blocks to a document."""

import codecs
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from itertools import zip_longest
from pathlib import Path
from textwrap import shorten
from typing import Any, cast

from tools.dates import date_of_cell
from tools.documents.bylines import byline, kind_told, signature, stated
from tools.documents.encodings import Decoded, decode_text
from tools.documents.speakers import with_speakers
from tools.errors import ReaderFailedError, SourceError
from tools.language.sentences import clean
from tools.passages import SOURCE_KINDS, Block, SourceDocument

_BETWEEN = "\n\n"  # blocks
_OF_BLOCK = tuple(each.name for each in fields(Block))
# Encoded data, a picture in an address: as a word it would be a passage of megabytes. Other scripts have no spaces.
_ENDLESS = re.compile(r"(?<![!-~])([!-~]{80})[!-~]{1000,}")
_COUNTED = "words without end"
# The title that a program gives to every document, or the name of a file.
_JUNK_TITLE = re.compile(
    r"(?:untitled|unknown|no title|title|document|slide|page|dokument|doc|layout|default|normal|report|brochure|"
    r"word document|python-docx|(?:powerpoint.)?pr[eäé]sentat?\w{1,4}(?:(?: de)? powerpoint)?)[\s\d_.-]*"
    r"|microsoft word - .*|\S*\.(?:pdf|\w?html?|txt|md|tex|dvi|ps|eps|ai|cdr|wpd)"
    r"|.*\.(?:rtf|do[ct]x?|p[po]tx?|xlsx?|od[tp]|indd|qx[dp]|p65)"
    r"|(?:https?|file|about|data):\S*|[a-z]:\\.*|/\S+/\S*|\W*|[0-9a-f-]{16,}",
    re.IGNORECASE,
)
# What is set by a program where a file was made of another; a book or a page may be called so.
_JUNK_OF_FILE = re.compile(
    r"[\s\d_.-]*|(?:microsoft (?:word|powerpoint|excel)|powerpoint|word|adobe \w+) ?- .*|.*\btemplate\b.*",
    re.IGNORECASE,
)
_LONGEST_HEADING = 20  # words; a longer one is a sentence
_LONGEST_KIND = 60  # characters
_SENTENCE_END = re.compile(r"[^\W\d_]{2}[\"'”’)\]]*[.!][\"'”’)\]]*$")


@dataclass(frozen=True, slots=True)
class Note:
    """A remark of a reader on its file: what it guessed, what it left out."""

    text: str


FIELDS = ("id", "title", "url", "publisher", "date", "kind", "author")


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns as the user named them; what is left empty is guessed.

    `text` may be several, whose texts are joined in this order; a name may also hold several with commas between.
    `hint` tells how the text's column is named where the user stands; {file} and {column} are put in.
    """

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
        """All names that the user gave."""
        return [name for name in (*self.text, *(getattr(self, f) for f in FIELDS)) if name]


GUESS_ALL = Columns()


ReaderOutput = SourceDocument | SourceError | Note
"""One output of a reader: a document, the error of a wrong row, or a note on the file."""


@dataclass(frozen=True, slots=True)
class InputFile:
    """A file to ingest. name: as it is shown. origin: its whole path, by which a later ingest knows it again."""

    path: Path
    name: str
    origin: str


def document_to_json(found: SourceDocument) -> dict[str, Any]:
    """The document as JSON has it; shallow, since a book has a hundred thousand blocks."""
    told = {each.name: getattr(found, each.name) for each in fields(found)}
    blocks = [{name: getattr(block, name) for name in _OF_BLOCK} for block in found.blocks]
    return {**told, "left_out": dict(found.left_out), "blocks": blocks}


def document_from_json(told: Mapping[str, Any]) -> SourceDocument:
    """What `document_to_json` made, whose fields may be fewer; nothing is checked but their names.

    Raises TypeError where they are others.
    """
    return SourceDocument(**{**told, "blocks": tuple(Block(**block) for block in told.get("blocks", ()))})


def output_to_json(found: ReaderOutput) -> dict[str, Any]:
    """A reader's output as the process that reads hands it over."""
    if isinstance(found, Note):
        return {"note": found.text}
    if isinstance(found, SourceError):
        return {"problem": str(found), "hint": found.hint}
    if len(found.text) > LARGEST_TEXT:
        return {"problem": f"{found.external_id}: longer than {LARGEST_TEXT:,} characters. Split it."}
    return {"document": document_to_json(found)}


def output_from_json(told: Mapping[str, Any]) -> ReaderOutput:
    """What `output_to_json` made, each field checked, since a library may have taken the process over. Raises
    ValueError, TypeError for anything else."""
    if "document" in told:
        return cast(SourceDocument, _documents().validate_python(told["document"]))
    if "note" in told:
        return Note(str(told["note"]))
    if "problem" in told:
        return SourceError(str(told["problem"]), hint=str(told.get("hint", "")))
    raise ValueError(f"no answer: {list(told)}")


@cache
def _documents() -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter(SourceDocument)


def unforeseen_failure(name: str, exc: Exception) -> ReaderFailedError:
    """The error of a file whose reader failed for a reason that no reader foresees."""
    return ReaderFailedError(
        f"{name}: cannot be read, for a reason that was not foreseen ({type(exc).__name__}). Please report this, "
        "with the file if it may be shown; saving it in another format may help meanwhile."
    )


def read_decoded(path: Path, name: str, markup: bool = False) -> Decoded:
    """The text of a file, its line ends as newlines, and what is uncertain in it; `markup`: of HTML.

    Raises SourceError where it is no text, OSError where it cannot be opened.
    """
    data = path.read_bytes()
    wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE))
    if not wide and (b"\x00" in data[:4096] or data.startswith((b"%PDF", b"PK\x03\x04"))):
        raise SourceError(f"{name}: this is not a text file, whatever its name says. Give it its right ending.")
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
    """A document with its structure; its text is what the blocks say, an empty line between them.

    A title that is missing among the fields is the first heading; `untitled` where there is none. `properties`:
    what `tools.documents.bylines.stated` reads, and their 'place'; they count less than a byline in the text.
    """
    told = tuple(replace(b, text=_unlinked(b.text)) if b.form == "heading" else b for b in blocks if b.text.strip())
    heading = next((b.text for b in told if b.form == "heading"), "")
    title = fields.get("title") or (properties or {}).get("title") or heading
    told = _keep_sentences(told, str(title))
    ended = [_ENDLESS.subn(r"\1…", b.text) for b in told]
    taken = tuple(replace(b, text=text) if n else b for b, (text, n) in zip(told, ended, strict=True))
    found = Counter({**(left_out or {}), _COUNTED: sum(n for _, n in ended)})
    spoken = tuple(with_speakers(taken, found))
    if title == heading and all(b.text != heading for b in spoken):  # it was the name of a speaker
        title = next((b.text for b in spoken if b.form == "heading"), "")
    values = {**fields, "title": _unlinked(str(title or untitled)), "kind": fields.get("kind") or kind_told(taken)}
    alone = {} if len({b.speaker for b in spoken} - {""}) < 2 else {"author": ""}  # nobody wrote what several say
    add_fields(values, "byline", **{**byline(taken), **alone})
    if not values.get("author"):
        add_fields(values, "signature", **{**signature(taken), **alone})
    if properties:
        add_fields(values, properties["place"], **{**stated(properties, taken), **alone})
    made = document_of_text(external_id, _BETWEEN.join(b.text for b in spoken), values)
    counts = {what: count for what, count in found.items() if count}
    return replace(made, blocks=spoken, left_out=counts)


def _keep_sentences(blocks: Sequence[Block], title: str) -> tuple[Block, ...]:
    """The blocks, with headings that no passage would keep as paragraphs: sentences, and what has no text below it."""
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
    """A heading without the sign that pages link its address to, which is copied along with it."""
    return heading.removesuffix("¶").rstrip()


def document_of_text(external_id: str, text: str, fields: Mapping[str, Any]) -> SourceDocument:
    """A document of plain text, its fields put in order; a date that cannot be read is left empty."""
    values = {k: clean(str(fields.get(k) or "")).strip() for k in FIELDS[1:]}
    kind = shorten(values["kind"], _LONGEST_KIND, placeholder=" …") or "unknown"
    text, endless = _ENDLESS.subn(r"\1…", clean(text).strip())
    return SourceDocument(
        external_id=printable(external_id),
        text=text,
        title=values["title"],
        url=values["url"],
        publisher=values["publisher"],
        kind=kind.lower() if kind.lower() in SOURCE_KINDS else kind,
        date=date_of_cell(values["date"]),
        author=values["author"],
        provenance=str(fields.get("provenance") or ""),
        left_out={_COUNTED: endless} if endless else {},
    )


def add_fields(fields: dict[str, Any], place: str, **told: str) -> None:
    """Fills the fields that are still empty, and notes in 'provenance' where each was read: 'date: PDF metadata'."""
    for field, value in told.items():
        if value and not fields.get(field):
            fields[field] = value
            fields["provenance"] = "; ".join(filter(None, (fields.get("provenance"), f"{field}: {place}")))


def truncate_document(found: SourceDocument, most: int) -> SourceDocument:
    """The document with at most so many characters of its text, and the blocks that these are of."""
    if len(found.text) <= most:
        return found
    kept: list[Block] = []
    left = most
    for block in found.blocks:
        if left <= 0:
            break
        kept.append(replace(block, text=block.text[:left].rstrip()))
        left -= len(block.text) + len(_BETWEEN)
    left_out = {**found.left_out, "characters beyond the limit": len(found.text) - most}
    text = _BETWEEN.join(b.text for b in kept) if kept else found.text[:most]
    return replace(found, text=text, blocks=tuple(kept), left_out=left_out)


def printable(name: str) -> str:
    """The name of a file (or an id) as Unicode that can be stored and shown, 'é' as one character however it came."""
    return unicodedata.normalize("NFC", name.encode("utf-8", "backslashreplace").decode())


def title_of(name: str) -> str:
    """What a file is called where it has no title of its own."""
    return re.sub(r"[_-]+", " ", Path(name).stem).strip()


def title_unless_junk(title: str, name: str = "") -> str:
    """The title; empty where a program set it and no author: a file's name, a template's, 'untitled'.

    name: of a file that is printed from another, as a PDF is; then a number is no title, nor is the file's own name.
    """
    title = " ".join(title.split())
    of_file = bool(name) and (
        title_of(title).casefold() == title_of(Path(name).name).casefold() or _JUNK_OF_FILE.fullmatch(title)
    )
    return "" if of_file or _JUNK_TITLE.fullmatch(title) or "\ufffd" in title else title


LARGEST_TEXT = 20_000_000
"""Characters of one document at most."""
