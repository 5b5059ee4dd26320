"""Sources and the passages that they are cut into: the nouns that every other module speaks about."""

from dataclasses import dataclass
from typing import Literal, get_args

SourceKind = Literal[
    "government", "academic", "news", "advocacy", "reference", "forum", "company", "personal", "unknown"
]
SOURCE_KINDS: tuple[str, ...] = get_args(SourceKind)


@dataclass(frozen=True, slots=True)
class SourceDocument:
    """A document as it was read from the world, before it is stored.

    `external_id` is the document's identity within a collection: the path as it was given, the `id` of a
    jsonl or csv row, or a URL. Reading the same source again yields the same id, so ingesting twice replaces.
    `date` is ISO (`2026-03-12`, `2026-03`, `2026`) or empty.
    """

    external_id: str
    text: str
    title: str = ""
    url: str = ""
    publisher: str = ""
    kind: SourceKind = "unknown"
    date: str = ""


@dataclass(frozen=True, slots=True)
class Passage:
    """About a hundred words of a document, cut at sentence ends, with what is known of its source.

    Ids above zero are of the store; those below zero are of pages that a run read on the web. `original` is the
    source that had the text first, where the document is known to be a copy.
    """

    id: int
    document_id: str
    collection: str
    text: str
    title: str = ""
    url: str = ""
    publisher: str = ""
    kind: SourceKind = "unknown"
    date: str = ""
    position: int = 0
    original: str = ""

    @property
    def source(self) -> str:
        """Who stands behind the passage, for counting independent sources: whoever published the text first as far as
        is known, the publisher, or else the document."""
        return self.original or self.publisher.casefold() or self.document_id


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a passage and its place there, counted from 0 over all of the passage's sentences."""

    text: str
    passage: Passage
    position: int
