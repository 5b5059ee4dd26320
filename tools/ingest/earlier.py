"""Which stored document a document that is read now is the next state of, and which of them are surely not."""

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import PurePath

from tools.language.sentences import split_sentences
from tools.passages import SourceDocument
from tools.store.documents import READING, KnownDocument

_LEADING_DOTS = re.compile(r"^(?:\.{0,2}/)+")
_WORD = re.compile(r"\w+")
_BESIDE = " (2)"


class Earlier:
    """What a collection holds, kept up to date while documents are read into it.

    texts: the passages' texts of a stored document, by its identity. namesakes: stored documents from before files
    were known by their whole paths that have the name of one that was read, and may be another.
    """

    def __init__(self, stored: dict[str, KnownDocument], texts: Callable[[str], Sequence[str]]) -> None:
        self._stored = stored
        self._texts = texts
        self._by_file_name = _by_file_name(stored)
        self._rows = _rows_by_file(stored)
        self._new: dict[str, Counter[str]] = {}
        self.namesakes: dict[str, None] = {}

    def __getitem__(self, identity: str) -> KnownDocument:
        return self._stored[identity]

    def placed(self, document: SourceDocument) -> SourceDocument:
        """The document under a key that no document of another sort has.

        One that was sent with the id 'x.csv#A1' is not the row A1 of x.csv, although the row's key is the same.
        """
        free = ""
        key = document.identity
        while True:
            held = self._stored.get(key)
            if held is not None and _is_of_sort(document, key, held):
                break
            free = free or ("" if held else key)
            if held is None and f"{key}{_BESIDE}" not in self._stored:
                key = free
                break
            key += _BESIDE
        return document if key == document.identity else replace(document, key=key)

    def state_of(self, document: SourceDocument, digest: str) -> str:
        """The identity that an earlier state of the document is stored under; empty where it is new.

        Before files were known by their whole paths, they were by the name that they were given by, from whatever
        folder, and rows by their id alone. Such a document is another state of this one where its content is the
        same, where its name was this whole path, or where the file still says each of its sentences.
        """
        if document.identity in self._stored:
            return document.identity
        if _sort_of(document) == "id":
            return ""
        is_row = document.key != document.origin
        names = [document.external_id] + ([] if is_row else self._names_then(document.origin))
        others = []
        for name in dict.fromkeys(names):
            before = self._stored.get(name)
            if before is None or before.origin or before.reading == READING:
                continue  # none, or one that did not come from a file
            if before.content_hash == digest or (not is_row and self._is_state(name, document)):
                return name
            others.append(name)
        self.namesakes.update(dict.fromkeys(others))
        return ""

    def take(self, document: SourceDocument, digest: str, older: str) -> None:
        """Notes that the document is stored now, in place of the older state where there is one."""
        before = self._stored.pop(older, None)
        self.namesakes.pop(older, None)
        shown = document.external_id if document.key else ""
        self._stored[document.identity] = KnownDocument(digest, document.origin, READING, document.language, shown)
        if document.origin and (before is None or before.content_hash != digest):
            self._new.setdefault(document.origin, Counter())[digest] += 1

    def moved(self, seen: set[str], broken: set[str]) -> list[str]:
        """Identities of rows that their files give under other ids now, which were stored just now.

        seen: the identities that were read. broken: the files that were not read to their end.
        """
        found = []
        for origin, new in self._new.items():
            for key in self._rows.get(origin, ()) if origin not in broken else ():
                digest = self._stored[key].content_hash if key in self._stored else ""
                if key not in seen and new[digest]:
                    new[digest] -= 1
                    found.append(key)
        return found

    def _names_then(self, origin: str) -> list[str]:
        """The names that a file may be stored under from before, when it was named from elsewhere."""
        then = self._by_file_name.get(PurePath(origin).name, ())
        return [n for n in then if origin.endswith("/" + _LEADING_DOTS.sub("", n))]

    def _is_state(self, name: str, document: SourceDocument) -> bool:
        if PurePath(name).is_absolute() and document.origin in (name, os.path.realpath(name)):
            return True
        return _says_all(document.text, self._texts(name))


def _says_all(text: str, earlier: Iterable[str]) -> bool:
    """Whether each sentence of the earlier texts is in the text, whatever its marks and white space."""
    words = _words(text)
    sentences = [_words(sentence) for part in earlier for sentence in split_sentences(part)]
    return bool(sentences) and all(sentence in words for sentence in sentences)


def _words(text: str) -> str:
    return f" {' '.join(_WORD.findall(text.casefold()))} "


def _is_of_sort(document: SourceDocument, key: str, held: KnownDocument) -> bool:
    """Whether what has the key may be an earlier state of the document, by what it is known by."""
    if document.origin == key and held.reading < READING:
        return True  # a file from before files were known by their paths, whose name was its path
    return _sort(held.shown, key, held.origin) == _sort_of(document)


def _sort_of(document: SourceDocument) -> str:
    return _sort(document.external_id if document.key else "", document.identity, document.origin)


def _sort(shown: str, key: str, origin: str) -> str:
    """What a document is known by: its file, its table, or the id that it was sent with."""
    if origin:
        return "file"
    return "table" if shown and key.removesuffix(_BESIDE) != shown else "id"


def _by_file_name(stored: dict[str, KnownDocument]) -> dict[str, list[str]]:
    """The names that documents were stored under before, by their last part."""
    found: dict[str, list[str]] = {}
    for name, before in stored.items():
        if before.reading < READING and not before.origin:
            found.setdefault(PurePath(name).name, []).append(name)
    return found


def _rows_by_file(stored: dict[str, KnownDocument]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for key, known in stored.items():
        if known.origin and key != known.origin:
            found.setdefault(known.origin, []).append(key)
    return found
