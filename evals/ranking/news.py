"""News events, with the paragraphs of what was written about each, and the methods that choose among paragraphs.

The layout is that of NEWSCOPE's released data:

    raw_data/headline.json                            an event's id: the headline, which is the query
    news_text_by_paragraph/EVENT_by_paragraph.json    a paragraph's id, EVENT_ADDRESS_pN: its text
    annotation/EVENT_by_paragraph.json                a paragraph's id: 1 where it is relevant to the headline, else 0

Not every event is annotated. The paragraphs of the others are in the corpus all the same, as what is not to be found.
"""

import hashlib
import json
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evals.ranking.retrievers import Ranking, Vectors
from tools.diversity.clusters import Clustered, greedy_plus, greedy_scs
from tools.diversity.marginal import dkmips, mmr
from tools.errors import InputError
from tools.passages import SourceDocument
from tools.web.hosts import host_of

Place = Path | zipfile.Path

_HEADLINES = "raw_data/headline.json"
_TEXTS = "news_text_by_paragraph"
_LABELS = "annotation"
_ENDING = "_by_paragraph.json"
_PLUS_TRADE_OFF = 0.5  # λ of GreedyPlus in all of the paper's main results


@dataclass(frozen=True, slots=True)
class NewsParagraph:
    """source: the host of the article's address, empty where the id holds none. label: is it relevant to the event's
    headline? None where nobody was asked."""

    id: str
    text: str
    source: str = ""
    label: bool | None = None

    @property
    def article(self) -> str:
        """The address in the id, which all paragraphs of an article share; the id where it holds none."""
        address = self.id.partition("_")[2].rpartition("_p")[0]
        return address if "://" in address else self.id


@dataclass(frozen=True, slots=True)
class NewsEvent:
    """An event, and the paragraphs that were written about it."""

    id: str
    headline: str
    paragraphs: tuple[NewsParagraph, ...]

    @property
    def annotated(self) -> frozenset[str]:
        """The paragraphs that somebody was asked about, whatever was said."""
        return frozenset(p.id for p in self.paragraphs if p.label is not None)

    @property
    def positives(self) -> tuple[NewsParagraph, ...]:
        """The paragraphs that are relevant to the headline."""
        return tuple(p for p in self.paragraphs if p.label)


@dataclass(frozen=True)
class NewsSet:
    """Events in the order of the headlines. without_text: how many paragraphs were left out since they are empty."""

    name: str
    events: tuple[NewsEvent, ...]
    without_text: int

    @property
    def measured(self) -> list[NewsEvent]:
        """The events with annotations."""
        return [e for e in self.events if e.annotated]

    @cached_property
    def corpus(self) -> list[SourceDocument]:
        """The paragraphs of all events."""
        return [SourceDocument(p.id, p.text, publisher=p.source) for e in self.events for p in e.paragraphs]

    @cached_property
    def digest(self) -> str:
        """Changes when a headline, a paragraph or a label does; the same for a zip and what was unpacked from it."""
        return hashlib.sha256(json.dumps([asdict(e) for e in self.events]).encode()).hexdigest()[:12]


def load_news(data: Path) -> NewsSet:
    """Reads a zip or an unpacked folder; the folder with the layout may lie inside it.

    Raises InputError that names file, event or paragraph, and field: something missing, doubled or of another kind, a
    label that is neither 0 nor 1, paragraphs or labels of an unknown event, no event with annotations.
    """
    if data.is_dir():
        return _read(_root(data.resolve()))
    if not data.is_file():
        raise InputError(f"{data} is neither a file nor a folder. Name the zip of the news, or the folder in it.")
    try:
        with zipfile.ZipFile(data) as file:
            return _read(_root(zipfile.Path(file)))
    except zipfile.BadZipFile as exc:
        raise InputError(f"{data} is no whole zip file ({exc}). Get it again, or name an unpacked folder.") from exc
    except OSError as exc:
        raise InputError(f"{data} cannot be opened ({exc.strerror or exc}).") from exc


def _root(data: Place) -> Place:
    """The folder with the headlines: the one named, or the only one in it that has them."""
    inside = sorted((p for p in data.iterdir() if p.is_dir()), key=lambda p: p.name)
    found = [p for p in (data, *inside) if (p / _HEADLINES).is_file()]
    if not found:
        raise InputError(f"{data} holds no '{_HEADLINES}'. Name the zip or the folder that has it, such as LocalNews.")
    if found[0] is not data and len(found) > 1:
        raise InputError(f"{data} holds several sets: {', '.join(p.name for p in found)}. Name the folder of one.")
    return found[0]


def _read(root: Place) -> NewsSet:
    place = root / _HEADLINES
    headlines = {event: _text(place, f"event '{event}': the headline", h) for event, h in _object(place).items()}
    if unknown := sorted({*_events_of(root / _TEXTS), *_events_of(root / _LABELS)} - headlines.keys()):
        raise InputError(f"{place} has no headline for event '{unknown[0]}', of which there is a file. Add it.")
    read = [_event(root, event, headline) for event, headline in headlines.items()]
    _check_ids(root, read)
    events = tuple(NewsEvent(e.id, e.headline, tuple(p for p in e.paragraphs if p.text.strip())) for e in read)
    news = NewsSet(root.name, events, sum(not p.text.strip() for e in read for p in e.paragraphs))
    if not news.measured:
        raise InputError(f"{root / _LABELS} says of no paragraph whether it is relevant: there is nothing to measure.")
    return news


def _event(root: Place, event: str, headline: str) -> NewsEvent:
    texts, labels = root / _TEXTS / f"{event}{_ENDING}", root / _LABELS / f"{event}{_ENDING}"
    if not texts.is_file():
        raise InputError(f"{texts} is missing, which should hold the paragraphs of event '{event}'.")
    paragraphs = _object(texts)
    known = {i: _label(labels, i, label) for i, label in (_object(labels) if labels.is_file() else {}).items()}
    if missing := [i for i in known if i not in paragraphs]:
        raise InputError(f"{labels}: paragraph '{missing[0]}' is not in {texts}. Take it out, or add its text.")
    return NewsEvent(event, headline, tuple(_paragraph(texts, i, text, known) for i, text in paragraphs.items()))


def _paragraph(place: Place, id_: str, text: Any, labels: dict[str, bool]) -> NewsParagraph:
    if not isinstance(text, str):
        raise InputError(f"{place}: paragraph '{id_}': its text has to be text, not {json.dumps(text)[:40]}.")
    address = id_.partition("_")[2]
    return NewsParagraph(id_, text, host_of(address) if "://" in address else "", labels.get(id_))


def _label(place: Place, id_: str, label: Any) -> bool:
    if isinstance(label, bool) or label not in (0, 1):
        raise InputError(f"{place}: paragraph '{id_}': the label has to be 0 or 1, not {json.dumps(label)[:40]}.")
    return bool(label)


def _text(place: Place, what: str, value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise InputError(f"{place}: {what} has to be text and not empty. Correct it.")
    return value


def _check_ids(root: Place, events: Sequence[NewsEvent]) -> None:
    """What is found is told apart by its id, so that an id stands for one paragraph of one event."""
    owner: dict[str, str] = {}
    for event in events:
        for paragraph in event.paragraphs:
            if (other := owner.setdefault(paragraph.id, event.id)) != event.id:
                place = root / _TEXTS / f"{event.id}{_ENDING}"
                raise InputError(
                    f"{place}: paragraph '{paragraph.id}' is in event '{other}' already. Name it otherwise."
                )


def _events_of(folder: Place) -> Iterator[str]:
    if folder.is_dir():
        yield from (p.name.removesuffix(_ENDING) for p in folder.iterdir() if p.name.endswith(_ENDING))


def _object(place: Place) -> dict[str, Any]:
    """A file's JSON object. Raises InputError for anything else, and for a name that is in it twice."""
    try:
        values = json.loads(place.read_bytes(), object_pairs_hook=_once)
    except ValueError as exc:
        raise InputError(f"{place} is no JSON that can be used ({exc}). Correct it, or get it again.") from exc
    except (OSError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error) as exc:  # a password is a RuntimeError
        raise InputError(f"{place} cannot be read ({exc}). Get it again, or unpack it and name the folder.") from exc
    if not isinstance(values, dict):
        raise InputError(f"{place} has to hold one object of names and values. Correct it.")
    return values


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Where a name comes twice, JSON's reader would take the last without a word."""
    values = dict(pairs)
    if len(values) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"'{next(n for n in names if names.count(n) > 1)}' is there twice")
    return values


# Stage II


@dataclass(frozen=True, slots=True)
class Dials:
    """What the methods can be told; `enough` None is never to stop before k."""

    trade_off: float = 0.75
    weight: float = 1.0
    divided: bool = False
    enough: float | None = None


@dataclass(frozen=True, slots=True)
class Ready:
    """An event after stage I, with its n candidates in the order of their cosines.

    ids: of the candidates. articles: which each is of. vectors: shape (n, dimensions). cosine and similarity: to the
    headline, shape (n,); the second is what GreedyPlus goes by. clusters: of the candidates' sentences. positives: of
    the sentences of the event's relevant paragraphs; place tells which of these a paragraph is. seconds: of clustering
    the candidates'.
    """

    event: NewsEvent
    ids: list[str]
    articles: list[str]
    vectors: Vectors
    cosine: NDArray[np.float32]
    similarity: NDArray[np.float32]
    clusters: Clustered
    positives: Clustered
    place: dict[str, int]
    seconds: float


Choose = Callable[[Ready, int, Dials], Ranking]
"""From an event to the positions of up to k candidates, best first."""
Reading = Callable[[Ready], NDArray[np.float32]]
"""From an event to a cosine of each candidate, shape (n,), that tells how relevant it is."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """A logistic function that makes a similarity, from 0 to 1, of a cosine; at its midpoint it is a half."""

    slope: float
    midpoint: float

    def similarity(self, cosine: NDArray[np.float32]) -> NDArray[np.float32]:
        """1 / (1 + exp(−slope · (cosine − midpoint))), each by itself."""
        halved = self.slope * (cosine - self.midpoint) / 2
        return np.asarray((1 + np.tanh(halved)) / 2, np.float32)  # the same, without exp's overflow


OF_ARTICLES = Calibration(slope=23.6, midpoint=0.72)
"""Fitted on one half of LocalNews' events by `python -m evals news --fit`."""


def own_cosine(ready: Ready) -> NDArray[np.float32]:
    """Of the paragraph alone."""
    return ready.cosine


def article_cosine(ready: Ready) -> NDArray[np.float32]:
    """The highest of the candidate's article: the best passage stands for the document (MaxP, Dai and Callan 2019)."""
    best: dict[str, np.float32] = {}
    for article, cosine in zip(ready.articles, ready.cosine, strict=True):
        best.setdefault(article, cosine)  # candidates come in the order of their cosines
    return np.array([best[article] for article in ready.articles], np.float32)


def stopped(order: Ranking, clusters: Clustered, enough: float) -> Ranking:
    """The order up to where it covers the share `enough` of the clusters, then other candidates by their cosine.

    order: positions of candidates, which are numbered by their cosine; as many come back.
    """
    total, covered, kept = len(np.unique(clusters.label)), set[int](), list[int]()
    for position in order:
        if not total or len(covered) / total >= enough:
            break
        covered |= clusters.of(position)
        kept.append(position)
    taken = set(kept)
    rest = [i for i in range(len(order)) if i not in taken]
    return [*kept, *rest][: len(order)]


def _dense(ready: Ready, k: int, dials: Dials) -> Ranking:
    return list(range(min(k, len(ready.ids))))


def _mmr(ready: Ready, k: int, dials: Dials) -> Ranking:
    order = mmr(ready.cosine, ready.vectors, k, dials.trade_off, largest=1.0)
    return order if dials.enough is None else stopped(order, ready.clusters, dials.enough)


def _dkmips(ready: Ready, k: int, dials: Dials) -> Ranking:
    order = dkmips(ready.cosine, ready.vectors, k, dials.trade_off, dials.weight, dials.divided)
    return order if dials.enough is None else stopped(order, ready.clusters, dials.enough)


def _scs(released: bool) -> Choose:
    return lambda ready, k, dials: greedy_scs(ready.clusters, ready.cosine, k, _enough(dials), released)


def _plus(ready: Ready, k: int, dials: Dials) -> Ranking:
    return greedy_plus(ready.clusters, ready.similarity, k, _enough(dials), _PLUS_TRADE_OFF)


def calibrated(reading: Reading, calibration: Calibration) -> Choose:
    """GreedyPlus by a calibrated cosine in the place of a re-ranker's sigmoid."""

    def choose(ready: Ready, k: int, dials: Dials) -> Ranking:
        similarity = calibration.similarity(reading(ready))
        return greedy_plus(ready.clusters, similarity, k, _enough(dials), _PLUS_TRADE_OFF)

    return choose


def _enough(dials: Dials) -> float:
    return 1.0 if dials.enough is None else dials.enough


METHODS: dict[str, Choose] = {
    "dense": _dense,
    "mmr": _mmr,
    "dkmips": _dkmips,
    "scs": _scs(released=False),
    "scs-released": _scs(released=True),
    "greedyplus": _plus,
    "greedyplus-calibrated": calibrated(article_cosine, OF_ARTICLES),
}
_WITHOUT_CLUSTERS = ("mmr", "dkmips")


def needs_clusters(name: str, dials: Dials) -> bool:
    """Whether clustering is a part of the method's work."""
    return name != "dense" and (name not in _WITHOUT_CLUSTERS or dials.enough is not None)
