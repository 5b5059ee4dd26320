"""What a collection holds while documents are read into it: which of them are new, changed, or moved."""

from collections import Counter
from dataclasses import replace

from tools.passages import SourceDocument
from tools.store.documents import KnownDocument

_BESIDE = " (2)"


class Known:
    """The stored documents by their identities, kept up to date while others are read."""

    def __init__(self, stored: dict[str, KnownDocument]) -> None:
        self._stored = stored
        self._new: dict[str, Counter[str]] = {}
        self._rows: dict[str, list[str]] = {}  # of each file the identities of its rows
        for key, known in stored.items():
            if known.origin and key != known.origin:
                self._rows.setdefault(known.origin, []).append(key)

    def get(self, identity: str) -> KnownDocument | None:
        """The document that is stored under the identity."""
        return self._stored.get(identity)

    def placed(self, document: SourceDocument) -> SourceDocument:
        """The document under a key that no document of another sort has.

        One that was sent with the id 'x.csv#A1' is not the row A1 of x.csv, although the row's key is the same.
        """
        free = ""
        key = document.identity
        while True:
            held = self._stored.get(key)
            if held is not None and _sort(held.shown, key, held.origin) == _sort_of(document):
                break
            free = free or ("" if held else key)
            if held is None and f"{key}{_BESIDE}" not in self._stored:
                key = free
                break
            key += _BESIDE
        return document if key == document.identity else replace(document, key=key)

    def take(self, document: SourceDocument, digest: str) -> None:
        """Notes that the document is stored now, in place of an older state where there is one."""
        before = self._stored.get(document.identity)
        shown = document.external_id if document.key else ""
        self._stored[document.identity] = KnownDocument(digest, document.origin, document.language, shown)
        if document.origin and (before is None or before.content_hash != digest):
            self._new.setdefault(document.origin, Counter())[digest] += 1

    def moved(self, seen: set[str], broken: set[str]) -> list[str]:
        """Identities of rows that their files give under other ids now, which were stored just now.

        seen: the identities that were read. broken: the files that were not read to their end.
        """
        found = []
        for origin, new in self._new.items():
            for key in self._rows.get(origin, ()) if origin not in broken else ():
                digest = self._stored[key].content_hash
                if key not in seen and new[digest]:
                    new[digest] -= 1
                    found.append(key)
        return found


def _sort_of(document: SourceDocument) -> str:
    return _sort(document.external_id if document.key else "", document.identity, document.origin)


def _sort(shown: str, key: str, origin: str) -> str:
    """What a document is known by: its file, its table, or the id that it was sent with."""
    if origin:
        return "file"
    return "table" if shown and key.removesuffix(_BESIDE) != shown else "id"
