"""Sources and the passages that they are cut into: the nouns that every other module speaks about."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import PurePath
from typing import Literal, get_args

SourceKind = Literal[
    "government", "academic", "news", "advocacy", "reference", "forum", "company", "personal", "unknown"
]
SOURCE_KINDS: tuple[str, ...] = get_args(SourceKind)


PROBABLY = "probably "
"""Begins the name of a speaker that is not certain: 'probably Cllr Faulds'."""

BlockForm = Literal["heading", "paragraph", "item", "note", "table", "caption"]


@dataclass(frozen=True, slots=True)
class Block:
    """A part of a document that its author set off: a paragraph, a heading, an item of a list, a table, a caption.

    text: on one line, but for a table: a line for each row, the cells of a row separated by ` | `. An item stands
    without its bullet or number, a heading without its number signs. A `note` is a footnote or an endnote.
    level: of a heading, 1 for the highest; of everything else 0.
    page, last_page: the pages it stands on, counted from 1; 0 where the format has none.
    speaker: who says or writes it, where the document tells one speaker from another ('Cllr Faulds'); else empty. A
    name that is not certain begins with `PROBABLY`.
    bold: how many of its first characters are bold, as the name before a speech is and the question of an interview.
    """

    text: str
    form: BlockForm = "paragraph"
    level: int = 0
    page: int = 0
    last_page: int = 0
    speaker: str = ""
    bold: int = 0


@dataclass(frozen=True, slots=True)
class SourceDocument:
    """A document as it was read from the world, before it is stored.

    `external_id` names the document to people: the path as it was given, the `id` of a jsonl or csv row, or a URL.
    `key` is its identity within a collection, where that is more than its name: the whole path of a file, with the id
    of the row in it. Reading the same source again yields the same key, so ingesting twice replaces.
    `origin` is the file it was read from, as a whole path, or empty.
    `kind` is one of `SOURCE_KINDS`, or what the document calls itself ('letter').
    `date` is ISO (`2026-03-12`, `2026-03`, `2026`) or empty.
    `blocks` holds the text with its structure, where the format has one; `text` is then what the blocks say.
    `left_out` counts what the reader did not take over, by its name in the plural ('running headers').
    `language` is the text's (ISO 639-1), empty where it is not known.
    `owner` is who answers for a web page, by its address: a publisher that is known for it, or its registrable domain.
    `author` wrote the whole document; empty where it is not known or several people speak in it.
    `provenance` says where date and author were read: 'date: byline; author: PDF metadata'.
    """

    external_id: str
    text: str
    title: str = ""
    url: str = ""
    publisher: str = ""
    kind: str = "unknown"
    date: str = ""
    key: str = ""
    origin: str = ""
    blocks: tuple[Block, ...] = ()
    left_out: Mapping[str, int] = field(default_factory=dict)
    language: str = ""
    owner: str = ""
    author: str = ""
    provenance: str = ""

    @property
    def identity(self) -> str:
        """What tells the document from the others of its collection."""
        return self.key or self.external_id


PassageForm = Literal["prose", "table", "caption"]


@dataclass(frozen=True, slots=True)
class PassageText:
    """The text of a passage and where it stands in its document: below which heading, on which pages (0: unknown).

    speaker: the one speaker of the passage, as `Block` has it; empty where the document names none.
    """

    text: str
    section: str = ""
    form: PassageForm = "prose"
    page: int = 0
    last_page: int = 0
    speaker: str = ""


@dataclass(frozen=True, slots=True)
class Passage:
    """About a hundred words of a document, cut at sentence ends, with what is known of its source.

    Ids above zero are of the store; those below zero are of pages that a run read on the web. `original` is the
    source that had the text first, where the document is known to be a copy. `section` is the heading above it,
    `page` to `last_page` where it stands, 0 where the format has no pages. `language` is its document's (ISO 639-1),
    empty where it is not known. `key` is its document's identity within the collection, where that is more than
    `document_id`, the name that people see. `owner` is a web page's, as `SourceDocument` has it. `speaker` says the
    passage, as `Block` has it; `author` wrote the whole document.
    """

    id: int
    document_id: str
    collection: str
    text: str
    title: str = ""
    url: str = ""
    publisher: str = ""
    kind: str = "unknown"
    date: str = ""
    position: int = 0
    original: str = ""
    section: str = ""
    form: PassageForm = "prose"
    page: int = 0
    last_page: int = 0
    language: str = ""
    key: str = ""
    owner: str = ""
    speaker: str = ""
    author: str = ""

    @property
    def said_by(self) -> str:
        """The speaker of the passage, or else the author of its document; empty where neither is known."""
        return self.speaker or self.author

    @property
    def document(self) -> tuple[str, str]:
        """The document's identity: its collection and its key there."""
        return self.collection, self.key or self.document_id

    @property
    def file(self) -> str:
        """The name of the table that the document is a row of; empty where it is none, or its id names the file."""
        table = self.key.removesuffix(f"#{self.document_id}")
        return "" if table in ("", self.key) else PurePath(table).name

    @property
    def source(self) -> str:
        """Who stands behind the passage, for counting independent sources: whoever published the text first as far as
        is known, the owner of a web page whatever it calls itself, the publisher, or else the document. Where several
        people speak in a document, each of them is a source: its publisher does not stand for their views."""
        whole = self.original or self.owner.casefold() or self.publisher.casefold() or self.key or self.document_id
        speaker = self.speaker.removeprefix(PROBABLY).casefold().partition(" (")[0]  # 'Mrs Bray (the Clerk)'
        return f"{whole}: {speaker}" if speaker else whole


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a passage and its place there, counted from 0 over all of the passage's sentences."""

    text: str
    passage: Passage
    position: int


def interleave(rankings: Iterable[Sequence[int]]) -> list[int]:
    """All first places in the order of the rankings, then all second places, and so on; what was there is skipped."""
    return list(dict.fromkeys(i for places in zip_longest(*rankings) for i in places if i is not None))
