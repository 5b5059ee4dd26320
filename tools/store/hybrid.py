"""Hybrid search over the dense and the lexical index, with reciprocal rank fusion. Both indexes follow the store's
changes."""

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tools.limits import RRF_K
from tools.models.encoders import Encoder, encode_each_once
from tools.store.dense import ChromaIndex, DenseIndex
from tools.store.index_sync import BATCH, IndexSync, Progress, lock_timeout, search_indexes
from tools.store.lexical import LexicalIndex
from tools.store.store import Store, check_encoder

_MOST_WORD_SCORES = 500
_COPIES = 3  # most hits with the same text; three show that copies exist
_DEEPER = 5


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A retrieved passage, with its fused score and its cosine to the query."""

    passage_id: int
    score: float
    cosine: float


def fuse(rankings: Sequence[Sequence[int]]) -> list[tuple[int, float]]:
    """Reciprocal rank fusion (Cormack, Clarke and Büttcher 2009). A score is the sum of 1 / (RRF_K + rank) over the
    rankings; ranks start at 1.

    Of equal scores the smaller id comes first, so the order of the rankings does not matter.
    """
    scores: dict[int, float] = {}
    for ranking in rankings:
        for rank, item in enumerate(ranking, start=1):
            scores[item] = scores.get(item, 0.0) + 1.0 / (RRF_K + rank)
    return sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))


class HybridSearch:
    """Retrieves passages by meaning and by words. Safe for threads and processes.

    dense: an index that replaces the embedded dense index, such as a `DenseServer`.
    """

    def __init__(self, store: Store, folder: Path, encoder: Encoder, dense: ChromaIndex | None = None) -> None:
        self._store = store
        self.encoder = encoder
        self.dense: ChromaIndex = DenseIndex(folder / "dense") if dense is None else dense
        self.lexical = LexicalIndex(folder / "lexical")
        self._syncs = IndexSync(store, folder, self.dense), IndexSync(store, folder, self.lexical)

    def search(self, text: str, vector: NDArray[np.float32], collections: Sequence[str], k: int) -> list[SearchHit]:
        """Up to k hits, best first, fused from both indexes. At most three hits have the same text.

        `vector`: the query's vector, shape (dimensions,). Raises UnknownCollectionError, EncoderMismatchError,
        StoreDamagedError, StoreBusyError, and ProviderDownError for a dense index on a server.
        """
        ids = self._collection_ids(collections)
        if k < 1:
            return []
        hits = self._fused_hits(text, vector, ids, k)
        if (thinned := self._limit_copies(hits)) != hits:  # search deeper for passages with other texts
            thinned = self._limit_copies(self._fused_hits(text, vector, ids, _DEEPER * k))[:k]
        return thinned

    def _fused_hits(
        self, text: str, vector: NDArray[np.float32], collection_ids: Sequence[int], k: int
    ) -> list[SearchHit]:
        searches = {
            self.dense.name: lambda: self.dense.search(vector, collection_ids, k),
            self.lexical.name: lambda: self.lexical.search(text, collection_ids, k),
        }
        found = search_indexes(self._syncs, searches)
        fused = fuse([[i for i, _ in ranking] for ranking in found.values()])[:k]
        stored = self._store.vectors(i for i, _ in fused)
        # A passage that was deleted since has no vector and is no hit.
        return [SearchHit(i, score, float(stored[i] @ vector)) for i, score in fused if i in stored]

    def _limit_copies(self, hits: Sequence[SearchHit]) -> list[SearchHit]:
        """The hits, at most three with the same text."""
        passages = self._store.passages(h.passage_id for h in hits)
        seen = Counter[str]()
        kept = []
        for hit in hits:
            text = passages[hit.passage_id].text if hit.passage_id in passages else ""
            seen[text] += 1
            if seen[text] <= _COPIES:
                kept.append(hit)
        return kept

    def word_scores(self, text: str, collections: Sequence[str]) -> dict[int, float]:
        """BM25 scores of the 500 best passages, by id. While another process writes the index, the result is empty,
        with a note. Raises the same errors as `search`."""
        ids = self._collection_ids(collections)
        searches = {self.lexical.name: lambda: self.lexical.search(text, ids, _MOST_WORD_SCORES)}
        found = search_indexes(self._syncs, searches, needed=False)
        return dict(found.get(self.lexical.name, ()))

    def close(self) -> None:
        """Closes the dense index. The next search opens it again."""
        self._syncs[0].forget()
        self.dense.close()

    def refresh(self) -> None:
        """Brings both indexes up to date. Builds missing or damaged indexes."""
        for sync in self._syncs:
            with sync.locked(time.monotonic() + lock_timeout()):
                sync.update()

    def condition(self) -> list[str]:
        """The indexes' problems, in words. Opens no index and waits for no lock."""
        return [said for sync in self._syncs if (said := sync.condition())]

    def rebuild(self, progress: Progress = lambda *_: None) -> None:
        """Rebuilds both indexes. First encodes again all texts whose vectors another encoder made."""
        for sync in self._syncs:
            with sync.locked(time.monotonic() + lock_timeout()):
                sync.empty()  # if the process dies, no old vectors remain
                if sync.name == self.dense.name:
                    self._reencode(progress)
                sync.update(progress)

    def _collection_ids(self, names: Sequence[str]) -> list[int]:
        ids = []
        for name in dict.fromkeys(names):
            collection_id, made_by = self._store.collection(name)
            check_encoder(name, made_by, self.encoder.name)
            ids.append(collection_id)
        return ids

    def _reencode(self, progress: Progress) -> None:
        if self._store.encoders() <= {self.encoder.name}:
            return
        # Until the end two encoders' vectors are mixed, so no encoder may search them.
        self._store.set_encoder(f"{self.encoder.name} (unfinished)")
        self._store.drop_sentence_vectors()
        reached = 0
        while batch := self._store.scan(reached, BATCH):
            texts = [passage_text(p.title, p.text, p.section) for _, p in batch]
            vectors = encode_each_once(self.encoder, texts)
            self._store.replace_vectors(dict(zip((p.id for _, p in batch), vectors, strict=True)))
            reached = batch[-1][1].id
            progress("vectors", len(batch))
        self._store.changes.forget(self.dense.name)  # other data folders' indexes still have the old vectors
        self._store.set_encoder(self.encoder.name)


def passage_text(title: str, text: str, section: str = "") -> str:
    """The encoder's input: title, heading and passage. Title and heading give the passage its context."""
    return ". ".join([*filter(None, (title, section)), text])
