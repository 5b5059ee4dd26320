"""News events with the paragraphs of their articles, in the layout of NEWSCOPE's released data:

raw_data/headline.json                            event id: headline, which is the query
news_text_by_paragraph/EVENT_by_paragraph.json    paragraph id, EVENT_ADDRESS_pN: text
annotation/EVENT_by_paragraph.json                paragraph id: 1 if relevant to the headline, else 0

Paragraphs of events without annotations are distractors in the corpus.
"""

import hashlib
import json
import re
import zipfile
import zlib
from collections import Counter
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Literal, TypeVar

from evals.datasets.rows import Text, read_json
from tools.errors import InputError
from tools.passages import SourceDocument

Place = Path | zipfile.Path
_T = TypeVar("_T")

_HEADLINES = "raw_data/headline.json"
_TEXTS = "news_text_by_paragraph"
_LABELS = "annotation"
_ENDING = "_by_paragraph.json"
_ARTICLE = re.compile(r"(?:.+?_)?([a-z]+://.+)_p\d+|(.+_.+)_p\d+")


@dataclass(frozen=True, slots=True)
class NewsParagraph:
    """label: whether people marked the paragraph as relevant to the event's headline; None without annotation."""

    id: str
    text: str
    label: bool | None = None

    @property
    def article(self) -> str:
        """Returns the common part of an article's paragraph ids: the address or EVENT_ARTICLE. Other ids stay whole."""
        shared = _ARTICLE.fullmatch(self.id)
        return shared[1] or shared[2] if shared else self.id


@dataclass(frozen=True, slots=True)
class NewsEvent:
    """An event and its paragraphs."""

    id: str
    headline: str
    paragraphs: tuple[NewsParagraph, ...]

    @property
    def annotated(self) -> frozenset[str]:
        """Returns the ids of annotated paragraphs, relevant or not."""
        return frozenset(p.id for p in self.paragraphs if p.label is not None)

    @property
    def positives(self) -> tuple[NewsParagraph, ...]:
        """Returns the relevant paragraphs."""
        return tuple(p for p in self.paragraphs if p.label)


@dataclass(frozen=True)
class NewsSet:
    """Events in the order of the headlines. without_text: the number of empty paragraphs, which are excluded."""

    name: str
    events: tuple[NewsEvent, ...]
    without_text: int

    @property
    def measured(self) -> list[NewsEvent]:
        """Returns the events with annotations."""
        return [e for e in self.events if e.annotated]

    @cached_property
    def corpus(self) -> list[SourceDocument]:
        """Returns the paragraphs of all events."""
        return [SourceDocument(p.id, p.text) for e in self.events for p in e.paragraphs]

    @property
    def sizes(self) -> dict[str, int]:
        found = {"annotated": len(self.measured), "events": len(self.events), "paragraphs": len(self.corpus)}
        return found | {"without_text": self.without_text}

    @cached_property
    def digest(self) -> str:
        """Returns a hash of headlines, paragraphs and labels. A zip and its unpacked folder have equal hashes."""
        return hashlib.sha256(json.dumps([asdict(e) for e in self.events]).encode()).hexdigest()[:12]


def load_news(data: Path) -> NewsSet:
    """Reads a zip or an unpacked folder, which may contain the folder with the layout.

    Raises InputError with file, event or paragraph, and field.
    """
    if data.is_dir():
        return _read(_root(data.resolve()))
    if not data.is_file():
        raise InputError(f"{data} is neither a file nor a folder. Name the zip of the news, or the folder in it.")
    try:
        with zipfile.ZipFile(data) as file:
            return _read(_root(zipfile.Path(file)))
    except (zipfile.BadZipFile, OSError) as exc:
        raise InputError(f"{data} cannot be read ({exc}). Download it again, or name an unpacked folder.") from exc


def _root(data: Place) -> Place:
    """Returns the folder with the headlines: the given folder, or the only folder in it."""
    inside = sorted((p for p in data.iterdir() if p.is_dir()), key=lambda p: p.name)
    found = [p for p in (data, *inside) if (p / _HEADLINES).is_file()]
    if not found:
        raise InputError(f"{data} has no '{_HEADLINES}'. Name the zip or the folder with it, such as LocalNews.")
    if found[0] is not data and len(found) > 1:
        raise InputError(f"{data} has several sets: {', '.join(p.name for p in found)}. Name the folder of one.")
    return found[0]


def _read(root: Place) -> NewsSet:
    headlines = _object(dict[str, Text], root / _HEADLINES)
    labels = root / _LABELS
    for folder in (root / _TEXTS, labels):
        files = [p.name for p in folder.iterdir() if p.name.endswith(_ENDING)] if folder.is_dir() else []
        if unknown := sorted({name.removesuffix(_ENDING) for name in files} - headlines.keys()):
            raise InputError(f"{root / _HEADLINES} has no headline for event '{unknown[0]}', which has a file.")
    read = [_event(root / _TEXTS, labels, event, headline) for event, headline in headlines.items()]
    ids = Counter(p.id for event in read for p in event.paragraphs)  # ids must be unique in the corpus
    if doubled := [id_ for id_, count in ids.items() if count > 1]:
        raise InputError(f"{root / _TEXTS}: paragraph '{doubled[0]}' is in two events. Rename it.")
    events = tuple(replace(e, paragraphs=tuple(p for p in e.paragraphs if p.text.strip())) for e in read)
    news = NewsSet(root.name, events, sum(not p.text.strip() for e in read for p in e.paragraphs))
    if not news.measured:
        raise InputError(f"{labels} says of no paragraph whether it is relevant, so no event can be measured.")
    return news


def _event(folder: Place, annotated: Place, event: str, headline: str) -> NewsEvent:
    texts, labels = folder / f"{event}{_ENDING}", annotated / f"{event}{_ENDING}"
    paragraphs = _object(dict[str, str], texts)
    known = _object(dict[str, Literal[0, 1]], labels) if labels.is_file() else {}
    if missing := known.keys() - paragraphs.keys():
        raise InputError(f"{labels}: paragraph '{min(missing)}' is not in {texts}. Remove it, or add its text.")
    labelled = {id_: bool(label) for id_, label in known.items()}
    read = (NewsParagraph(i, text, labelled.get(i)) for i, text in paragraphs.items())
    return NewsEvent(event, headline, tuple(read))


def _object(kind: type[_T], place: Place) -> _T:
    """Reads a file's JSON object. Raises InputError."""
    try:
        return read_json(kind, place.read_bytes(), place)
    except (OSError, EOFError, RuntimeError, KeyError, zipfile.BadZipFile, zlib.error) as exc:  # RuntimeError: password
        raise InputError(
            f"{place} cannot be read ({exc}). Download it again, or unpack it and name the folder."
        ) from exc
