"""The suite `retrieval`: data, methods, records, figures by hand."""

import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from toys import House

from evals.__main__ import main
from evals.datasets.retrieval import RetrievalSet, load_sets
from evals.retrievers.corpus_index import CorpusIndex
from evals.retrievers.methods import STANDARD, bm25, dense, hybrid, named
from tools.models.cache import VectorCache
from tools.passages import SourceDocument

CORPUS: list[dict[str, Any]] = [
    {"id": "t1", "text": "Tea calms the drinker and keeps an office quiet."},
    {"id": "t2", "text": "A pot of tea costs less than a cup of coffee.", "title": "Prices"},
    {"id": "c1", "text": "Coffee wakes the whole office up before the first meeting."},
    {"id": "c2", "text": "Good coffee brings colleagues together at the machine."},
    {"id": "x1", "text": "The harbour froze over and the ferries stayed in port."},
    {"id": "x2", "text": "Snails eat lettuce at night."},
    {"id": 7, "text": "Night trains carry sleepers across borders."},
    {"id": 8, "text": "Planes cross borders in an hour, trains in a night."},
]
QUERIES: list[dict[str, Any]] = [
    {
        "qid": "drinks",
        "question": "Should the office serve tea or coffee?",
        "perspectives": [
            {"statement": "Coffee wakes people up.", "gold": ["c1", "c2"], "side": "con"},
            {"statement": "Tea keeps people calm.", "gold": ["t1", "t2"], "side": "pro"},
        ],
    },
    {
        "qid": 12,
        "question": "Should night trains replace planes?",
        "perspectives": [
            {"statement": "Night trains are comfortable.", "gold": [7], "stance": "SUPPORT"},
            {"statement": "Planes are quicker.", "gold": ["8"], "stance": "UNDERMINE"},
        ],
    },
]


def lines(rows: Sequence[Any]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def named_layout(folder: Path, queries: Sequence[Any] = QUERIES, corpus: Sequence[Any] = CORPUS) -> Path:
    (folder / "small_2way.queries.jsonl").write_text(lines(queries))
    packed = gzip.compress(lines(corpus).encode(), mtime=0)  # else the file is another one a second later
    (folder / "small.corpus.jsonl.gz").write_bytes(packed)
    return folder


def folder_layout(folder: Path, queries: Sequence[Any] = QUERIES, corpus: Sequence[Any] = CORPUS) -> Path:
    (folder / "queries.jsonl").write_text(lines(queries))
    (folder / "corpus.jsonl").write_text(lines(corpus))
    return folder


def small(tmp_path: Path) -> RetrievalSet:
    return load_sets(named_layout(tmp_path), ["small_2way"])[0]


@pytest.fixture
def cache(tmp_path: Path) -> VectorCache:
    return VectorCache(tmp_path / "vectors.db")


def changed(row: int = 0, **fields: Any) -> list[dict[str, Any]]:
    rows = [dict(q) for q in QUERIES]
    rows[row] |= fields
    return [{k: v for k, v in r.items() if v is not None} for r in rows]


def view(**fields: Any) -> list[dict[str, Any]]:
    whole = {"statement": "Yes.", "gold": ["t1"]} | fields
    return [{"statement": "No.", "gold": ["c1"]}, {k: v for k, v in whole.items() if v is not None}]


def test_the_methods_find_what_the_agent_finds(tmp_path: Path, cache: VectorCache) -> None:
    house = House(tmp_path / "house")
    corpus = [SourceDocument(f"p{i}", row["text"]) for i, row in enumerate(CORPUS)]
    house.put("here", **{p.external_id: p.text for p in corpus})
    house.search.refresh()
    collection = [house.store.collection("here")[0]]
    documents = {i: p.document_id for i, p in house.store.passages(range(1, 20)).items()}
    question = "Is coffee or tea better for an office at night?"
    vector = house.encoder.encode_queries([question])[0]
    theirs = {
        "bm25": [i for i, _ in house.search.lexical.search(question, collection, 5)],
        "dense": [i for i, _ in house.search.dense.search(vector, collection, 5)],
        "hybrid": [h.passage_id for h in house.search.search(question, vector, ["here"], 5)],
    }
    with CorpusIndex(corpus, house.encoder, cache) as index:
        for name, search in {"bm25": bm25, "dense": dense, "hybrid": hybrid}.items():
            ours = [corpus[i].external_id for i in search(index, question, 5)]
            assert len(ours) > 1
            assert ours == [documents[i] for i in theirs[name]], name
    house.search.close()
    house.database.close()


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder_layout(tmp_path)
    name = tmp_path.name
    command = ["retrieval", "--data", str(tmp_path), "--k", "2,50", "--seed", "3"]
    assert main([*command, "--json"]) == 0
    report = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert list(report["metrics"][name]) == list(named(STANDARD))
    assert report["metrics"][name]["dense+gold"]["mrecall@50"] == 1.0
    assert "alpha_ndcg@50" not in report["metrics"][name]["dense"]  # ndeval ends at 20
    assert main(command) == 0
    assert "2 questions (2 with two sides), 2.0 perspectives each, 8 passages" in capsys.readouterr().out
    one_sided = [p | {"stance": "SUPPORT"} for p in view(stance="SUPPORT")]
    folder_layout(tmp_path, changed(0, perspectives=one_sided)[:1])
    assert main(["retrieval", "--data", str(tmp_path), "--methods", "bm25", "--json"]) == 0
    report = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert report["metrics"][name]["bm25"]["sycophancy@5"] is None  # undefined
