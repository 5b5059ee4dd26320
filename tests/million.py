"""Measures search at a million passages: a Chroma server, Postgres, and the word index against Postgres full text.

    python tests/million.py FOLDER prepare            sentences of the repository's own data, and their vectors
    python tests/million.py FOLDER vectors --chroma URL       fills the Chroma server
    python tests/million.py FOLDER store --database URL --chroma URL      fills the store and tells it of the server
    python tests/million.py FOLDER words --database URL       tantivy and Postgres full text against exact BM25
    python tests/million.py FOLDER query --database URL --chroma URL      hybrid queries, and each process's memory

A passage is four sentences of one topic and one of any topic, so its words have real frequencies. Its vector is the
mean of its sentences' real vectors, with noise. Questions are real ones with real vectors.
"""

import argparse
import gzip
import json
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import sqlalchemy as sa

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
BLOCK, COLLECTION, QUESTIONS, K = 1_000, 1, 200, 20
ENCODER: Any = SimpleNamespace(name="million", dimensions=384)
K1, B, CANDIDATES = 1.2, 0.75, 1_000


def topics() -> dict[str, list[str]]:
    """The repository's sentences by topic."""
    from agent.samples import sample_documents
    from tools.language.sentences import split_sentences

    found = defaultdict[str, list[str]](list)
    for document in sample_documents():
        found[document.external_id.split("/")[1]] += split_sentences(document.text)
    for row in rows("disputes"):
        found[row["dispute"]] += [s["text"] for s in row["sentences"]]
    for name in ("written", "contrasts"):
        for row in rows(name):
            found[row["question"]] += split_sentences(row["text"])
    kept = {name: list(dict.fromkeys(s for s in texts if 25 < len(s) < 400)) for name, texts in found.items()}
    return {name: texts for name, texts in kept.items() if len(texts) >= 6}


def rows(name: str) -> Iterator[dict[str, Any]]:
    with gzip.open(ROOT / "evals" / "training" / f"{name}.jsonl.gz", "rt", encoding="utf-8") as file:
        yield from map(json.loads, file)


def prepare(args: argparse.Namespace) -> None:
    from tools.models.encoders import load_encoder

    encoder, groups = load_encoder(), topics()
    texts, starts = [t for group in groups.values() for t in group], np.cumsum([0, *map(len, groups.values())])
    asked = dict.fromkeys([r["question"] for r in [*rows("disputes"), *rows("contrasts")] if "?" in r["question"]])
    questions = list(np.random.default_rng(5).permutation(list(asked)))[:QUESTIONS]
    print(len(groups), "topics,", len(texts), "sentences", flush=True)
    vectors = []
    for first in range(0, len(texts), 1000):
        vectors.append(encoder.encode(texts[first : first + 1000]))
        print(first, round(time.monotonic()), flush=True)
    np.savez(
        args.folder / "sentences.npz",
        texts=np.array(texts),
        starts=starts,
        vectors=np.concatenate(vectors),
        questions=np.array(questions),
        asked=encoder.encode_queries([str(q) for q in questions]),
    )


@cache
def loaded(folder: Path) -> dict[str, Any]:
    return dict(np.load(folder / "sentences.npz"))


def chosen(folder: Path, number: int) -> tuple[Any, np.random.Generator]:
    """The sentences of a block's passages, shape (5, BLOCK). Each block has its own seed."""
    data, rng = loaded(folder), np.random.default_rng([1, number])
    starts, count = data["starts"], len(data["texts"])
    topic = np.searchsorted(starts, rng.integers(count, size=BLOCK), side="right") - 1
    first, size = starts[topic], starts[topic + 1] - starts[topic]
    same = (first + (rng.random((4, BLOCK)) * size)).astype(int)
    return np.concatenate([same, rng.integers(count, size=(1, BLOCK))]), rng


def block(folder: Path, number: int) -> tuple[list[str], Any]:
    """The texts and vectors of a block's passages."""
    data, (picked, rng) = loaded(folder), chosen(folder, number)
    vectors = data["vectors"][picked].mean(axis=0) + 0.015 * rng.standard_normal((BLOCK, ENCODER.dimensions))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    texts = [" ".join(dict.fromkeys(data["texts"][column])) for column in picked.T]
    return texts, vectors.astype(np.float32)


def blocks(args: argparse.Namespace, at: int) -> Iterator[int]:
    """The numbers of the blocks after the first `at` passages, with a report of the rate."""
    began = time.monotonic()
    for number in range(at // BLOCK, args.passages // BLOCK):
        yield number
        if number % 10 == 9:
            done = (number + 1) * BLOCK
            print(done, round((done - at) / (time.monotonic() - began), 1), "passages per second", flush=True)


def vectors(args: argparse.Namespace) -> None:
    from tools.store.dense_server import DenseServer

    index = DenseServer(args.chroma, "million", seconds=600)
    for number in blocks(args, index.count()):
        ids = [SimpleNamespace(id=number * BLOCK + row + 1) for row in range(BLOCK)]
        entries = [(COLLECTION, p, v) for p, v in zip(ids, block(args.folder, number)[1], strict=True)]
        index.apply(cast("Any", entries), [])


def opened(args: argparse.Namespace) -> tuple[Any, Any]:
    from tools.store.database import Database
    from tools.store.dense_server import DenseServer
    from tools.store.hybrid import HybridSearch
    from tools.store.store import Store

    kept = Store(Database(args.database))
    dense = DenseServer(args.chroma, "million") if args.chroma else None
    folder = args.folder / f"index-{sa.make_url(args.database).database}"
    return kept, HybridSearch(kept, folder, ENCODER, dense)


def store(args: argparse.Namespace) -> None:
    """Copies rows into the tables as `Store.put` writes them, fills the word index, records positions."""
    from tools.store.database import to_float16, upsert
    from tools.store.index import IndexPosition
    from tools.store.schema import documents, meta, passages

    kept, search = opened(args)
    assert kept.ensure_collection("c", ENCODER.name) == COLLECTION, "the database must be new"
    kept.set_note("store_id", "million")
    for number in blocks(args, kept.changes.last()[0]):
        texts, made = block(args.folder, number)
        ids = range(number * BLOCK + 1, (number + 1) * BLOCK + 1)
        with kept._db.write() as db:
            raw = db.connection.driver_connection
            copy_rows(raw, documents, [{"id": number + 1, "collection_id": COLLECTION, "external_id": f"d{number}"}])
            rows = zip(ids, texts, strict=True)
            copy_rows(raw, passages, ({"id": i, "document_id": number + 1, "text": t} for i, t in rows))
            with raw.cursor().copy("COPY vectors (passage_id, vector) FROM STDIN") as copy:
                for i, vector in zip(ids, made, strict=True):
                    copy.write_row((i, to_float16(vector)))
            upsert(db, meta, [{"key": "last of passages", "value": str(ids[-1])}], replace=True)
        new = [SimpleNamespace(id=i, title="", section="", text=t) for i, t in zip(ids, texts, strict=True)]
        search.lexical.apply(cast("Any", [(COLLECTION, passage, None) for passage in new]), [])
    for sync in search._syncs[0 if args.chroma else 1 :]:
        position = IndexPosition("million-0", kept.changes.last()[0], 0)
        sync._index.set_number(str(position))
        kept.changes.set_position(sync._row, position)


def copy_rows(raw: Any, into: sa.Table, rows: Iterable[dict[str, Any]]) -> None:
    """Columns that a row lacks are empty or 0."""
    empty = {c.name: "" if isinstance(c.type, sa.types.TypeDecorator) else 0 for c in into.columns}
    with raw.cursor().copy(f"COPY {into.name} ({', '.join(empty)}) FROM STDIN") as copy:
        for row in rows:
            copy.write_row([*(empty | row).values()])


class Exact:
    """Exact BM25 of all passages, with tantivy's words, k1 and b."""

    def __init__(self, folder: Path, count: int) -> None:
        from tools.language.lexicon import analyzer

        self.analyze, self.count = analyzer().analyze, count
        self._words = [Counter(self.analyze(str(t))) for t in loaded(folder)["texts"]]
        picked = np.concatenate([chosen(folder, n)[0] for n in range(count // BLOCK)], axis=1)
        self._picked = np.sort(picked, axis=0)
        self._once = np.concatenate([np.ones((1, count), bool), np.diff(self._picked, axis=0) != 0])
        self.lengths = self._sum(np.array([sum(w.values()) for w in self._words], np.float32))
        self.weights: dict[str, float] = {}

    def _sum(self, of_sentences: Any) -> Any:
        return (of_sentences[self._picked] * self._once).sum(axis=0)

    def scores(self, question: str) -> Any:
        total, norms = np.zeros(self.count, np.float32), self.norm(self.lengths)
        for word in dict.fromkeys(self.analyze(question)):
            tf = self._sum(np.array([w[word] for w in self._words], np.float32))
            having = int((tf > 0).sum())
            self.weights[word] = float(np.log(1 + (self.count - having + 0.5) / (having + 0.5)))
            total += self.weights[word] * tf * (K1 + 1) / (tf + norms)
        return total

    def norm(self, length: Any) -> Any:
        return K1 * (1 - B + B * length / self.lengths.mean())

    def of(self, question: str, text: str) -> float:
        """The score of one text. The question's words have been weighted before."""
        words = Counter(self.analyze(text))
        norm = self.norm(sum(words.values()))
        asked = dict.fromkeys(self.analyze(question))
        return float(sum(self.weights[w] * words[w] * (K1 + 1) / (words[w] + norm) for w in asked))


_RANKED = """SELECT p.id, p.text FROM passages p JOIN (SELECT id, ts_rank_cd(words, q) AS rank
FROM full_text, websearch_to_tsquery('english', %s) q WHERE words @@ q ORDER BY rank DESC LIMIT %s) w ON w.id = p.id"""


def words(args: argparse.Namespace) -> None:
    import psycopg

    kept, search = opened(args)
    questions, count = [str(q) for q in loaded(args.folder)["questions"]][: args.queries], kept.changes.last()[0]
    exact = Exact(args.folder, count)
    scores = [exact.scores(q) for q in questions]
    with psycopg.connect(args.database.replace("+psycopg", ""), autocommit=True) as db:
        print("full text index:", json.dumps(full_text(db, count)))
        db.execute("SET max_parallel_workers_per_gather = 0")  # other processes' time would not be counted
        server, me = db.info.backend_pid, "self"

        def by_postgres(question: str) -> list[int]:
            asked = " or ".join(w.strip("?.,:;!'\"") for w in question.split())
            found = db.execute(_RANKED, (asked, CANDIDATES)).fetchall()
            return [i for i, _ in sorted(found, key=lambda row: -exact.of(question, row[1]))[:K]]

        def by_tantivy(question: str) -> list[int]:
            return [i for i, _ in search.lexical.search(question, [COLLECTION], K)]

        for name, one, pids in (("tantivy", by_tantivy, [me]), ("Postgres", by_postgres, [me, server])):
            before = megabytes(pids[-1])
            found = timed(name, one, questions, pids)
            right = [np.partition(s, -K)[-K] - 1e-4 for s in scores]
            shares = [sum(s[i - 1] >= r for i in ids) / K for ids, s, r in zip(found, scores, right, strict=True)]
            print(f"  recall@{K} {np.mean(shares):.3f}; memory {before} -> {megabytes(pids[-1])} MB", flush=True)
    size = sum(f.stat().st_size for f in search.lexical.folder.rglob("*") if f.is_file())
    print("tantivy: MB on disk", size // 10**6)


def full_text(db: Any, count: int) -> dict[str, Any]:
    """Builds the table and its index, unless they are there."""
    began = time.monotonic()
    db.execute("CREATE TABLE IF NOT EXISTS full_text (id bigint PRIMARY KEY, words tsvector)")
    if db.execute("SELECT count(*) FROM full_text").fetchone()[0] != count:
        db.execute("TRUNCATE full_text")
        db.execute("INSERT INTO full_text SELECT id, to_tsvector('english', text) FROM passages")
        db.execute("CREATE INDEX IF NOT EXISTS full_text_words ON full_text USING gin (words)")
        db.execute("ANALYZE full_text")
    size = db.execute("SELECT pg_total_relation_size('full_text'), pg_relation_size('full_text_words')").fetchone()
    return {"seconds": round(time.monotonic() - began), "MB": size[0] // 10**6, "MB of GIN": size[1] // 10**6}


def query(args: argparse.Namespace) -> None:
    data, (kept, search) = loaded(args.folder), opened(args)
    asked = list(zip(map(str, data["questions"]), data["asked"], strict=True))[: args.queries]
    with kept._db.read() as db:
        server = db.connection.driver_connection.info.backend_pid
    postmaster = parent(server)
    began = time.perf_counter()
    print("passages:", kept.changes.size()[0], "load:", Path("/proc/loadavg").read_text().split()[0])
    search.search(*asked[-1], ["c"], 24)
    print("first answer:", round(time.perf_counter() - began, 2), "seconds")
    whole = lambda question: search.search(*question, ["c"], 24)  # noqa: E731
    parts = {"Postgres": [*children(postmaster)], "Chroma": [args.chroma_pid] if args.chroma_pid else []}
    timed("hybrid", whole, asked, ["self", *parts["Chroma"], *parts["Postgres"]])
    timed("  dense alone", lambda q: search.dense.search(q[1], [COLLECTION], 24), asked, ["self", *parts["Chroma"]])
    timed("  words alone", lambda q: search.lexical.search(q[0], [COLLECTION], 24), asked, ["self"])
    for name, pids in {"this process": ["self"], **parts, "Postgres's first": [postmaster]}.items():
        print(f"{name}: RSS {sum(map(megabytes, pids))} MB, PSS {sum(map(shared_out, pids))} MB")
    assert kept.changes.position(search._syncs[0]._row).making == "million-0", "the index was rebuilt"


def timed(name: str, one: Callable[[Any], Any], questions: Sequence[Any], pids: Sequence[Any]) -> list[Any]:
    """Asks one at a time, after a first one. Prints wall times and the processor time of the processes."""
    one(questions[-1])
    times, found, used = [], [], sum(map(processor, pids))
    for question in questions:
        began = time.perf_counter()
        found.append(one(question))
        times.append(1000 * (time.perf_counter() - began))
    used = 1000 * (sum(map(processor, pids)) - used) / len(times)
    p50, p95 = np.quantile(times, [0.5, 0.95])
    print(f"{name}: p50 {p50:.1f} ms, p95 {p95:.1f} ms, {used:.1f} ms of processor time a query", flush=True)
    return found


def stat(pid: int | str) -> list[str]:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def processor(pid: int | str) -> float:
    """Seconds of processor time."""
    return (int(stat(pid)[11]) + int(stat(pid)[12])) / 100


def parent(pid: int) -> int:
    return int(stat(pid)[1])


def children(pid: int) -> Iterator[int]:
    for folder in Path("/proc").glob("[0-9]*"):
        if parent(int(folder.name)) == pid:
            yield int(folder.name)


def megabytes(pid: int | str, file: str = "status", key: str = "VmRSS:") -> int:
    lines = map(str.split, Path(f"/proc/{pid}/{file}").read_text().splitlines())
    return next(int(line[1]) // 1024 for line in lines if line[0] == key)


def shared_out(pid: int | str) -> int:
    """Megabytes, where memory that processes share counts in parts."""
    return megabytes(pid, "smaps_rollup", "Pss:")


STEPS = {"prepare": prepare, "vectors": vectors, "store": store, "words": words, "query": query}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("step", choices=STEPS)
    parser.add_argument("--passages", type=int, default=1_000_000, metavar="N")
    parser.add_argument("--queries", type=int, default=QUESTIONS, metavar="N")
    parser.add_argument("--database", metavar="URL")
    parser.add_argument("--chroma", metavar="URL")
    parser.add_argument("--chroma-pid", type=int, metavar="PID", help="to report the Chroma server's memory")
    args = parser.parse_args()
    STEPS[args.step](args)


if __name__ == "__main__":
    main()
