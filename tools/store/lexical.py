"""The lexical index: BM25 over stemmed words with tantivy, updated in place."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import ClassVar

from tantivy import Document, Index, Occur, Query, Schema, SchemaBuilder, Searcher

from tools.language.lexicon import analyzer
from tools.store.index import ALL_PASSAGES, PANICS, FolderIndex, IndexEntry

_ANALYZER = "english"
_DAMAGE = (
    *("Data corrupted", "corrupted", "kind: InvalidData", "kind: UnexpectedEof", "FileDoesNotExist"),
    *("schema does not match", "decompressed buffer", "match offset", "Invalid data", "Invalid doc store version"),
    *("Unsupported ", "Reach end of buffer", "failed to fill whole buffer"),
)
"""tantivy 0.27's words for truncated, overwritten, missing or foreign files. A file system's own error is `kind:
Unsupported` without a space after it."""
_WRITER_BYTES = 30_000_000
_LONGEST_QUERY = 64  # words


class LexicalIndex(FolderIndex):
    """BM25 over title and text (Robertson et al. 1994; tantivy's k1 = 1.2, b = 0.75)."""

    name = "lexical"
    damage: ClassVar = {"ValueError": _DAMAGE, "PanicException": PANICS}

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._files = folder / "tantivy"
        self._index: Index | None = None

    def reopen(self) -> None:
        self._index = None

    def count(self) -> int:
        with self._errors():
            return int(self._searcher().num_docs)

    def _searcher(self) -> Searcher:
        index = self._open()
        index.reload()
        return index.searcher()

    def apply(self, adds: Sequence[IndexEntry], removes: Sequence[tuple[int, int]]) -> None:
        # Deletes by a query, because tantivy's `delete_documents_by_term` does not match unsigned numbers.
        gone = [i for _, i in removes] + [p.id for _, p, _ in adds]
        with self._errors():
            writer = self._open().writer(_WRITER_BYTES, 1)
            writer.delete_documents_by_query(Query.term_set_query(_schema(), "id", gone))
            for collection_id in {c for c, i in removes if i == ALL_PASSAGES}:
                writer.delete_documents_by_query(Query.term_query(_schema(), "collection", collection_id))
            for collection_id, passage, _ in adds:
                document = Document()
                document.add_unsigned("id", passage.id)
                document.add_unsigned("collection", collection_id)
                document.add_text("body", f"{passage.title}\n{passage.section}\n{passage.text}")
                writer.add_document(document)
            writer.commit()
            writer.wait_merging_threads()

    def search(self, text: str, collection_ids: Sequence[int], k: int) -> list[tuple[int, float]]:
        """Up to k (passage id, BM25 score), best first. Stop words are ignored."""
        words = list(dict.fromkeys(analyzer().analyze(text)))[:_LONGEST_QUERY]
        if not words or not collection_ids:
            return []
        with self._errors():
            searcher = self._searcher()
            hits = searcher.search(self._query(words, collection_ids), k, count=False).hits
            found = [(int(searcher.doc(address)["id"][0]), float(str(score))) for score, address in hits]
        return sorted(found, key=lambda hit: (-hit[1], hit[0]))

    def _query(self, words: Sequence[str], collection_ids: Sequence[int]) -> Query:
        # A term set would be slower: tantivy lists all passages of the collections for every query with a term set.
        within = Query.boolean_query(
            [(Occur.Should, Query.term_query(_schema(), "collection", i)) for i in collection_ids]
        )
        anything = Query.boolean_query([(Occur.Should, Query.term_query(_schema(), "body", w, "freq")) for w in words])
        return Query.boolean_query([(Occur.Must, Query.const_score_query(within, 0.0)), (Occur.Must, anything)])

    def _open(self) -> Index:
        if self._index is None:
            with self._errors():
                self._files.mkdir(parents=True, exist_ok=True)
                self._index = Index(_schema(), path=str(self._files))
            self._index.register_tokenizer(_ANALYZER, analyzer())
        return self._index


@cache
def _schema() -> Schema:
    builder = SchemaBuilder()
    builder.add_unsigned_field("id", stored=True, indexed=True)
    builder.add_unsigned_field("collection", indexed=True)
    builder.add_text_field("body", tokenizer_name=_ANALYZER, index_option="freq")
    return builder.build()
