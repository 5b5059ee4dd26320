"""Search over the store: the dense and the lexical index, kept up to date with it, and their fusion."""

import sqlite3
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tools.errors import StoreBusyError
from tools.inference.encoders.encoder import Encoder
from tools.inference.encoders.sentences import encode_with_sentences
from tools.language.sentences import split_sentences
from tools.store.dense import DenseIndex, DenseProjection, Entry, Projection
from tools.store.lexical import LexicalIndex
from tools.store.locks import index_lock
from tools.store.store import Store, check_encoder

_BATCH = 1000
_RRF_K = 60
_MOST_WORD_SCORES = 500
_COPIES = 3  # hits with one text at most: enough to tell that there are copies
_DEEPER = 5
_LOCK_SECONDS = 60.0
_REENCODED_UP_TO = "encoded again up to"
"""The note of the last passage that has a vector of the encoder to come."""

Progress = Callable[[str, int], None]
"""Called with an index's name and the number of passages it has just taken in."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage found, with its fused score and its cosine to the query."""

    passage_id: int
    score: float
    cosine: float


def fuse(rankings: Sequence[Sequence[int]], k: int = _RRF_K) -> list[tuple[int, float]]:
    """Reciprocal rank fusion (Cormack, Clarke and Büttcher 2009): sum over rankings of 1 / (k + rank), rank from 1.

    Ties go to the smaller id, so that the order does not depend on the order of the rankings.
    """
    scores: dict[int, float] = {}
    for ranking in rankings:
        for rank, item in enumerate(ranking, start=1):
            scores[item] = scores.get(item, 0.0) + 1.0 / (k + rank)
    return sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))


class HybridSearch:
    """Passages for a query by meaning and by words. Safe to use from several threads and processes.

    dense: an index elsewhere in the place of the embedded one, such as a `DenseServer`.
    keeps_sentences: whether vectors of sentences are stored with the passages, as those are ingested or rebuilt.
    """

    def __init__(
        self,
        store: Store,
        folder: Path,
        encoder: Encoder,
        dense: DenseProjection | None = None,
        *,
        keeps_sentences: bool = True,
    ) -> None:
        self._store = store
        self.keeps_sentences = keeps_sentences
        self._lock = folder / "lock"
        self.encoder = encoder
        self.dense: DenseProjection = DenseIndex(folder / "dense") if dense is None else dense
        self.lexical = LexicalIndex(folder / "lexical")
        self._seen: dict[str, tuple[object, ...]] = {}
        self._noticing = threading.Lock()

    def search(self, text: str, vector: NDArray[np.float32], collections: Sequence[str], k: int) -> list[Hit]:
        """Up to k hits, best first, from both indexes by reciprocal rank fusion; of one text three at most.

        `vector` is the query's, of shape (dimensions,). Raises UnknownCollectionError, EncoderMismatchError,
        StoreDamagedError, StoreBusyError, and ProviderDownError where the dense index is on a server.
        """
        ids = self._collection_ids(collections)
        if k < 1:
            return []
        hits = self._found(text, vector, ids, k)
        if (thinned := self._without_copies(hits)) != hits:  # copies stand where other passages might: look for those
            thinned = self._without_copies(self._found(text, vector, ids, _DEEPER * k))[:k]
        return thinned

    def _found(self, text: str, vector: NDArray[np.float32], collection_ids: Sequence[int], k: int) -> list[Hit]:
        with self._reading():
            dense = self.dense.search(vector, collection_ids, k)
            lexical = self.lexical.search(text, collection_ids, k)
        fused = fuse([[i for i, _ in dense], [i for i, _ in lexical]])[:k]
        stored = self._store.vectors(i for i, _ in fused)
        # A passage that was deleted since the indexes were read has no vector any more and is no hit.
        return [Hit(i, score, float(stored[i] @ vector)) for i, score in fused if i in stored]

    def _without_copies(self, hits: Sequence[Hit]) -> list[Hit]:
        """The hits without what would be more than a few copies of one text."""
        passages = self._store.passages(h.passage_id for h in hits)
        seen = Counter[str]()
        kept = []
        for hit in hits:
            text = passages[hit.passage_id].text if hit.passage_id in passages else ""
            seen[text] += 1
            if seen[text] <= _COPIES:
                kept.append(hit)
        return kept

    def word_scores(self, text: str, collections: Sequence[str], k: int = _MOST_WORD_SCORES) -> dict[int, float]:
        """BM25 scores of the k passages that a text's words fit best, by id. Raises as `search`, but for the dense
        index."""
        ids = self._collection_ids(collections)
        with self._reading():
            return dict(self.lexical.search(text, ids, k))

    def close(self) -> None:
        """Releases the dense index's files or connections; the next use opens them again."""
        self.dense.close()

    def refresh(self, progress: Progress = lambda *_: None) -> None:
        """Brings both indexes up to date with the store; makes them where they are missing."""
        with index_lock(self._lock, exclusive=True, timeout=_LOCK_SECONDS):
            for projection in self._projections():
                self._bring_up_to_date(projection, progress)

    def rebuild(self, progress: Progress = lambda *_: None) -> None:
        """Makes both indexes again from the store; vectors of another encoder are computed again first.

        Passages that have no vectors of their sentences get them at last, when the indexes can be searched again.
        """
        with index_lock(self._lock, exclusive=True, timeout=_LOCK_SECONDS):
            # Begun first: were the process to end on the way, no index would still hold the old vectors.
            for projection in self._projections():
                self._begin_rebuild(projection)
            self._reencode(progress)
            for projection in self._projections():
                self._bring_up_to_date(projection, progress)
        if self.keeps_sentences:
            self._encode_sentences(progress)

    def _projections(self) -> tuple[Projection, ...]:
        return (self.dense, self.lexical)

    def _collection_ids(self, names: Sequence[str]) -> list[int]:
        ids = []
        for name in dict.fromkeys(names):
            collection_id, made_by = self._store.collection(name)
            check_encoder(name, made_by, self.encoder.name)
            ids.append(collection_id)
        return ids

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """The shared lock, held over indexes that are up to date."""
        give_up = time.monotonic() + _LOCK_SECONDS
        while time.monotonic() < give_up:
            with index_lock(self._lock, exclusive=False, timeout=_LOCK_SECONDS):
                if all(self._is_current(p) for p in self._projections()):
                    yield
                    return
            self.refresh()
        raise StoreBusyError("other processes keep changing the store. Wait for them to end, then try again.")

    def _is_current(self, projection: Projection) -> bool:
        row = self._store.projection(projection.name)
        if row is None or row["rebuilt_to"] is not None or projection.stamp() != row["stamp"]:
            return False
        if row["applied_seq"] < self._store.last_seq():
            return False
        self._notice(projection, row)
        return True

    def _notice(self, projection: Projection, row: sqlite3.Row) -> None:
        """What another process wrote is not in this one's memory: read it again."""
        with self._noticing:  # of the threads that come in together one reopens, before any of them searches
            seen = self._seen.get(projection.name)
            if seen is not None and seen != tuple(row):
                projection.reopen()
            self._seen[projection.name] = tuple(row)

    def _begin_rebuild(self, projection: Projection) -> None:
        stamp = uuid.uuid4().hex
        # Recorded first: were the process to end between the two, the stamps differ and the rebuild starts over.
        self._store.set_projection(projection.name, stamp, self._store.last_seq(), rebuilt_to=0)
        projection.clear(stamp)

    def _bring_up_to_date(self, projection: Projection, progress: Progress) -> None:
        row = self._store.projection(projection.name)
        if row is None or projection.stamp() != row["stamp"]:
            self._begin_rebuild(projection)
        else:
            self._notice(projection, row)
        self._finish_rebuild(projection, progress)
        self._apply_journal(projection, progress)

    def _finish_rebuild(self, projection: Projection, progress: Progress) -> None:
        while (row := self._store.projection(projection.name)) is not None and row["rebuilt_to"] is not None:
            batch = self._store.scan(row["rebuilt_to"], _BATCH)
            if batch:
                vectors = self._store.vectors(p.id for _, p in batch)
                projection.apply([(c, p, vectors[p.id]) for c, p in batch if p.id in vectors], [])
            reached = batch[-1][1].id if batch else None
            self._record(projection, row["stamp"], row["applied_seq"], reached)
            if batch:
                progress(projection.name, len(batch))

    def _apply_journal(self, projection: Projection, progress: Progress) -> None:
        row = self._store.projection(projection.name)
        assert row is not None  # _bring_up_to_date made it
        applied = row["applied_seq"]
        while changes := self._store.changes(applied, _BATCH):
            removes = [(c.collection_id, c.passage_id) for c in changes if c.op == "remove"]
            adds = self._entries({c.passage_id: c.collection_id for c in changes if c.op == "add"})
            projection.apply(adds, removes)
            applied = changes[-1].seq
            self._record(projection, row["stamp"], applied, None)
            progress(projection.name, len(changes))

    def _record(self, projection: Projection, stamp: str, applied: int, rebuilt_to: int | None) -> None:
        """How far the index is, known to be in this process's memory too."""
        self._store.set_projection(projection.name, stamp, applied, rebuilt_to)
        self._seen[projection.name] = (projection.name, stamp, applied, rebuilt_to)

    def _entries(self, collections: dict[int, int]) -> list[Entry]:
        """What is still there of the passages that were added; the rest was removed again since."""
        passages, vectors = self._store.passages(collections), self._store.vectors(collections)
        return [(collections[i], p, vectors[i]) for i, p in sorted(passages.items()) if i in vectors]

    def _reencode(self, progress: Progress) -> None:
        made_by, unfinished = self._store.encoders(), f"{self.encoder.name} (unfinished)"
        if made_by <= {self.encoder.name}:
            return
        if not made_by <= {self.encoder.name, unfinished}:  # else an earlier process was stopped on the way
            self._store.set_note(_REENCODED_UP_TO, "0")
            # Until all are done, the vectors are a mixture that no encoder may search.
            self._store.set_encoder(unfinished)
        reached = int(self._store.note(_REENCODED_UP_TO))
        while batch := self._store.scan(reached, _BATCH):
            texts = [passage_text(p.title, p.text, p.section) for _, p in batch]
            vectors = self.encoder.encode(texts)
            self._store.replace_vectors({p.id: v for (_, p), v in zip(batch, vectors, strict=True)})
            reached = batch[-1][1].id
            self._store.set_note(_REENCODED_UP_TO, str(reached))
            progress("vectors", len(batch))
        self._store.set_encoder(self.encoder.name)

    def _encode_sentences(self, progress: Progress) -> None:
        reached = 0
        while batch := self._store.without_sentences(self.encoder.name, reached, _BATCH):
            _, vectors = encode_with_sentences(self.encoder, [], [split_sentences(p.text) for p in batch])
            self._store.keep_sentence_vectors(self.encoder.name, {p.id: v for p, v in zip(batch, vectors, strict=True)})
            reached = batch[-1].id
            progress("sentences", len(batch))


def passage_text(title: str, text: str, section: str = "") -> str:
    """What the encoder reads of a passage: its document's title and the heading above it stand in for the context
    that the cut lost."""
    return ". ".join([*filter(None, (title, section)), text])
