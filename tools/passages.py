"""Documents, blocks and passages: the data types that all modules share."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from pathlib import PurePath
from typing import Literal, get_args

SourceKind = Literal[
    "government", "academic", "news", "advocacy", "reference", "forum", "company", "personal", "unknown"
]
SOURCE_KINDS: tuple[str, ...] = get_args(SourceKind)
WEB = "web"
"""The collection name of web passages."""
EvidenceKind = Literal["web", "studies", "news", "discussion", "encyclopedia", "mine"]
"""What can be searched: kinds of sources on the internet, and the documents of the store ('mine')."""
EVIDENCE_KINDS: tuple[EvidenceKind, ...] = get_args(EvidenceKind)
_EVIDENCE: dict[str, EvidenceKind] = {
    "study": "studies",
    "news": "news",
    "forum": "discussion",
    "reference": "encyclopedia",
}


def kind_of_evidence(kind: str, *, stored: bool) -> EvidenceKind:
    """The kind of evidence of a document with this `kind`. stored: the document is in the store."""
    return "mine" if stored else _EVIDENCE.get(kind, "web")


PROBABLY = "probably "
"""Prefix of an uncertain speaker's name: 'probably Cllr Faulds'."""

BlockForm = Literal["heading", "paragraph", "item", "note", "table", "caption"]


@dataclass(frozen=True, slots=True)
class Block:
    """A unit of a document's layout: a paragraph, heading, list item, table or caption.

    text: on one line. A table has one line per row, with ` | ` between cells. List bullets and heading numbers are
    removed. A `note` is a footnote or an endnote.
    level: 1 for the highest heading; 0 for all other blocks.
    page, last_page: counted from 1; 0 if the format has no pages.
    speaker: empty if the document does not mark speakers. Uncertain names begin with `PROBABLY`.
    bold: number of bold characters at the start, such as a speaker's name or an interview question.
    quoted: whether the block repeats another text, as lines after '>' do.
    """

    text: str
    form: BlockForm = "paragraph"
    level: int = 0
    page: int = 0
    last_page: int = 0
    speaker: str = ""
    bold: int = 0
    quoted: bool = False


@dataclass(frozen=True, slots=True)
class SourceDocument:
    """A document as read, before it is stored.

    `external_id`: the name that users see: the path as given, the `id` of a jsonl or csv row, or a URL.
    `key`: the identity within a collection, if the name is not enough: a file's whole path; for a table's row, the
    path, '#' and the row's id. The same source always yields the same key, so a second ingest replaces the document.
    `origin`: the whole path of the document's file, or empty.
    `kind`: one of `SOURCE_KINDS`, or the document's own word ('letter').
    `date`: ISO (`2026-03-12`, `2026-03`, `2026`) or empty.
    `blocks`: the structured text if the format has structure; `text` then contains the same words.
    `left_out`: counts of the parts that the parser dropped, by plural name ('running headers').
    `language`: ISO 639-1, empty if unknown.
    `owner`: the party responsible for a web page, derived from its address: a listed publisher or the registrable
    domain.
    `author`: of the whole document; empty if unknown or if several people speak in it.
    `provenance`: where the parser found date and author: 'date: byline; author: PDF metadata'.
    `venue`: where a study appeared. `extent`: what was read of a document that a source gave, such as 'abstract'.
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
    venue: str = ""
    extent: str = ""

    @property
    def identity(self) -> str:
        """The document's identity within its collection."""
        return self.key or self.external_id


PassageForm = Literal["prose", "table", "caption"]


@dataclass(frozen=True, slots=True)
class PassageText:
    """A passage's text and place in its document: heading and pages (0: unknown).

    speaker: the passage's only speaker, as in `Block`; empty if unknown.
    """

    text: str
    section: str = ""
    form: PassageForm = "prose"
    page: int = 0
    last_page: int = 0
    speaker: str = ""


@dataclass(frozen=True, slots=True)
class Passage:
    """About a hundred words of a document, cut at sentence ends, with the metadata of its source.

    Passages of the store have positive ids. Passages of web pages have negative ids. `original`: the first publisher of
    the text, if the document is a known copy. `section`: the heading above the passage. `key`, `language`, `owner`,
    `venue`, `extent`: as in `SourceDocument`. `speaker`: of the passage; `author`: of the whole document. `whole`: the
    passage's whole text, if `text` has only the sentences that the passage does not share with other passages.
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
    venue: str = ""
    extent: str = ""
    whole: str = ""

    @property
    def evidence_kind(self) -> EvidenceKind:
        return kind_of_evidence(self.kind, stored=self.id > 0)

    @property
    def said_by(self) -> str:
        """The speaker, else the document's author; empty if both are unknown."""
        return self.speaker or self.author

    @property
    def document(self) -> tuple[str, str]:
        """The document's identity: its collection and its key there."""
        return self.collection, self.key or self.document_id

    @property
    def file(self) -> str:
        """The file name of the table that contains the document as a row; empty for other documents."""
        table = self.key.removesuffix(f"#{self.document_id}")
        return "" if table in ("", self.key) else PurePath(table).name

    @property
    def name(self) -> str:
        """The document's title, 'survey.csv, row 9', or the document's id."""
        return self.title or (f"{self.file}, row {self.document_id}" if self.file else self.document_id)

    @property
    def source(self) -> str:
        """The passage's source, by which independent sources are counted. It is the first of these that is known: the
        text's first publisher, the web page's owner, the publisher, the document. Each speaker of a document is a
        separate source."""
        whole = self.original or self.owner.casefold() or self.publisher.casefold() or self.key or self.document_id
        speaker = self.speaker.removeprefix(PROBABLY).casefold().partition(" (")[0]  # 'Mrs Bray (the Clerk)'
        return f"{whole}: {speaker}" if speaker else whole


def shortened(passage: Passage, text: str) -> Passage:
    """Returns the passage with a part of its text. What only this passage says has no other publisher."""
    return replace(passage, text=text, whole=passage.whole or passage.text, original="")


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a passage. `position` counts from 0 within the passage."""

    text: str
    passage: Passage
    position: int


def interleave(rankings: Iterable[Sequence[int]]) -> list[int]:
    """Merges rankings without duplicates: first the top item of each ranking, then the second item of each, and so
    on."""
    return list(dict.fromkeys(i for places in zip_longest(*rankings) for i in places if i is not None))
