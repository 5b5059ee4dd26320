"""Opens corpora for questions with perspectives (BERDS §4.2), by name.

`ctxs` is the ranking in the data file. A file, or a collection of the agent's store, is one corpus for all questions.
"""

import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from agent.settings import Settings
from evals.datasets.perspectives import GoldRow
from evals.datasets.retrieval import read_corpus
from evals.retrievers.ranker import Corpora
from tools.errors import InputError
from tools.passages import SourceDocument
from tools.store.database import Database
from tools.store.store import Store

CTXS, _COLLECTION = "ctxs", "collection:"


def open_corpora(name: str, rows: Sequence[GoldRow], settings: Settings) -> Corpora:
    """Opens the corpora of that name. Raises InputError."""
    if name == CTXS:
        if missing := [row.key for row in rows if row.ctxs is None]:
            raise InputError(f"{missing[0]} has no 'ctxs', the ranking to measure. Add it, or give another --corpus.")
        brought = {row.key: _brought(row) for row in rows}
        return Corpora(brought.__getitem__)
    stored = name.startswith(_COLLECTION)
    corpus = _stored(name.removeprefix(_COLLECTION), settings) if stored else read_corpus(Path(name))
    return Corpora(lambda _: corpus, shared=True)


def _brought(row: GoldRow) -> list[SourceDocument]:
    """Returns the ranking of the data file, with empty places. The passages keep the file's ids if the ids are
    unique."""
    ctxs = row.ctxs or ()
    named = len({c.id for c in ctxs} - {""}) == len(ctxs)
    return [SourceDocument(c.id if named else str(n), c.text, title=c.title) for n, c in enumerate(ctxs, start=1)]


def _stored(name: str, settings: Settings) -> list[SourceDocument]:
    with closing(Database(settings.database)) as database:
        store = Store(database)
        wanted, _ = store.collection(name)
        rows = store.scan(0, sys.maxsize)
        return [SourceDocument(str(p.id), p.text, title=p.title) for number, p in rows if number == wanted]
