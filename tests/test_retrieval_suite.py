"""The suite `retrieval`: data, methods, records, figures by hand."""

import gzip
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from toys import House, ToyEncoder

from evals.__main__ import main
from evals.datasets.retrieval import RetrievalSet, load_sets
from evals.metrics.perspective_coverage import DEEPEST, LEANINGS
from evals.models import PairJudge
from evals.reports.records import Records
from evals.retrievers.corpus_index import CorpusIndex
from evals.retrievers.methods import STANDARD, bm25, dense, hybrid, method, named
from evals.retrievers.ranker import Corpora, Ranker
from evals.suites.retrieval import Rankings, scored
from tools.errors import InputError, ProviderReplyError
from tools.models.cache import VectorCache
from tools.models.judges.judge import Pair
from tools.passages import SourceDocument

SHARED = Path(__file__).parents[2] / "shared" / "data" / "retrieval"

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


@pytest.mark.parametrize(
    ("queries", "message"),
    [
        (changed(1, qid="drinks"), r"line 2: 'qid' is 'drinks', as in line 1"),
        (changed(1, question=QUERIES[0]["question"]), r"line 2: 'question' is '.*', as in line 1\. Remove one"),
        (changed(0, perspectives=view(gold=["t1", "t9"])), r"line 1: 'gold' has 't9', which is not in corpus\.jsonl"),
        ([], r"queries\.jsonl has no questions"),
    ],
)
def test_bad_queries_are_named_by_file_line_and_field(tmp_path: Path, queries: list[Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        load_sets(folder_layout(tmp_path, queries))


def test_a_missing_file_is_named_with_the_known_sets(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"neither `queries\.jsonl` nor"):
        load_sets(tmp_path)
    named_layout(tmp_path)
    with pytest.raises(InputError, match=r"needs the name of a set. It has: small_2way\."):
        load_sets(tmp_path)
    with pytest.raises(InputError, match=r"no 'large_2way\.queries\.jsonl'. It has: small_2way\."):
        load_sets(tmp_path, ["small_2way", "large_2way"])
    (tmp_path / "small.corpus.jsonl.gz").unlink()
    with pytest.raises(InputError, match=r"no 'small\.corpus\.jsonl', with or without '\.gz'"):
        load_sets(tmp_path, ["small_2way"])


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


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("bm52", "no method 'bm52'. There are: steelman; bm25, dense, hybrid, each also with"),
        ("bm25+pap", "only vectors can lean"),
        ("dense+mmr+scs", "too many parts"),
    ],
)
def test_an_unknown_method_is_an_error(name: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        method(name)


METHODS = "hybrid+expansion dense+expansion+mmr dense+dkmips hybrid+scs dense+scs-released dense+greedyplus:0.5"


def test_every_method_ranks_each_passage_once(tmp_path: Path, cache: VectorCache) -> None:
    one = small(tmp_path)
    with CorpusIndex(one.corpus, ToyEncoder(), cache) as index:
        for name in f"{METHODS} hybrid+coverage dense+cast dense+pap:0.5 dense+pap+mmr bm25+gold+coverage".split():
            found, fewer = ([method(name).rank(index, q, k) for q in one.questions] for k in (100, 2))
            assert all(2 < len(set(r)) == len(r) <= len(one.corpus) for r in found), name
            assert [len(set(r)) for r in fewer] == [2, 2], name


def judge_of(asked: list[Pair], name: str = "sides") -> PairJudge:
    """Takes a passage that has the statement's last word for support; notes what it was asked."""

    def score(pairs: Sequence[Pair]) -> NDArray[np.float32]:
        asked.extend(pairs)
        return np.array([0.9 if p.statement.split()[-1].strip(".") in p.text else 0.05 for p in pairs], np.float32)

    return PairJudge(name, score, 0.5)


def test_the_own_method_asks_the_judge_once_about_both_sides(tmp_path: Path, cache: VectorCache) -> None:
    one, pairs = small(tmp_path), list[Pair]()
    with CorpusIndex(one.corpus, ToyEncoder(), cache, judge_of(pairs)) as index:
        found = [method("steelman").rank(index, q, 5) for q in one.questions]
        asked = len(pairs)
        assert [method("steelman").rank(index, q, 5) for q in one.questions] == found
    assert len(pairs) == asked > 0  # the second time all verdicts are remembered
    assert {p.statement for p in pairs} == {p.contrary for p in pairs}
    assert [len(set(r)) for r in found] == [5, 5]


class Failing(ToyEncoder):
    """Fails on texts with this word, and counts the texts."""

    def __init__(self, word: str) -> None:
        super().__init__()
        self.word, self.asked = word, 0

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.asked += len(texts)
        if any(self.word in text for text in texts):
            raise ProviderReplyError("the encoder gave nonsense")
        return super().encode(texts)


def ranked(one: RetrievalSet, encoder: ToyEncoder, cache: VectorCache, path: Path) -> tuple[Rankings, list[str]]:
    """What is found, and what failed."""
    with (
        Records(path, "retrieval", {}) as records,
        Ranker(named(["bm25", "dense"]), encoder, cache, None, records) as r,
    ):
        return r.rank(one.name, one.questions, Corpora(lambda _: one.corpus, shared=True), DEEPEST), r.failed


def test_a_killed_run_resumes_and_a_complete_one_is_only_scored(
    tmp_path: Path, cache: VectorCache, capsys: pytest.CaptureFixture[str]
) -> None:
    path, one = tmp_path / "records.jsonl", small(tmp_path)
    whole = ranked(one, ToyEncoder(), cache, path)
    assert whole[0]["bm25"]["12"][0] in ("7", "8")
    text = path.read_text()
    kept = text.splitlines(keepends=True)
    assert len(kept) == 1 + 4
    path.write_text("".join(kept[:3]) + kept[3][: len(kept[3]) // 2])
    assert ranked(one, ToyEncoder(), cache, path) == whole
    assert path.read_text() == text
    assert "line 4 is incomplete" in capsys.readouterr().err
    never = Failing("")  # cannot encode anything
    assert ranked(one, never, VectorCache(tmp_path / "other.db"), path) == whole
    assert never.asked == 0


def test_a_failed_question_is_a_miss_and_is_repeated(tmp_path: Path, cache: VectorCache) -> None:
    path, one = tmp_path / "records.jsonl", small(tmp_path)
    found, failed = ranked(one, Failing("replace"), cache, path)
    assert failed == ["small_2way dense 12: the encoder gave nonsense"]
    assert found["dense"]["12"] == []
    assert len(found["dense"]["drinks"]) == len(CORPUS)
    report = scored([one], {one.name: found}, [1, 2], seed=1)
    assert report["metrics"]["small_2way"]["dense"]["documents_needed_share"] == 0.5
    with path.open("a") as file:  # as it may stand in records that another suite, or an older one, wrote
        file.write('{"key": "small_2way dense 12", "failed": "the encoder was down"}\n')
    found, failed = ranked(one, ToyEncoder(), cache, path)
    assert (len(found["dense"]["12"]), failed) == (len(CORPUS), [])


def test_the_figures_by_hand(tmp_path: Path) -> None:
    found = {
        "bm25": {"drinks": "t1 c1 x1".split(), "12": "x1 7".split()},  # tea supports, coffee opposes
        "dense": {"drinks": "c1 c2 x1 x2 8 t1".split(), "12": "x1 x2".split()},
    }
    report = scored([small(tmp_path)], {"small_2way": found}, [1, 2], seed=1)
    words, meaning = (report["metrics"]["small_2way"][m] for m in ("bm25", "dense"))
    assert words["mrecall@1"] == 0.5  # m = 2 > k = 1: one distinct perspective is enough
    assert words["mrecall@2"] == 0.5
    assert words["coverage@2"] == (1 + 1 / 2) / 2
    assert words["precision@2"] == (2 / 2 + 1 / 2) / 2
    # 'drinks' is ideal. Of '12' one perspective comes second; ideally both come, first and second.
    half = (1 / math.log2(3)) / (1 + 1 / math.log2(3))
    assert words["alpha_ndcg@2"] == pytest.approx((1 + half) / 2, abs=1e-5)
    assert words["precision@1"] == 0.5
    assert (words["documents_needed"], words["documents_needed_share"]) == (2.0, 0.5)
    assert [words[f"{kind}@5"] for kind in LEANINGS] == [0.5, 0.0, 0.5, 0.0]
    assert words["sycophancy@5"] == (2 - 1) / 2  # t1 and 7 support, c1 opposes
    assert [meaning[f"{kind}@5"] for kind in LEANINGS] == [0.0, 0.5, 0.0, 0.5]
    assert math.isnan(meaning["sycophancy@5"])  # nothing in the top five supports
    union = report["union"]["small_2way"]
    assert (union["covered"], union["coverage"], union["passages"]) == (0.5, 0.75, (6 + 3) / 2)
    assert report["intervals"]["small_2way"]["bm25"]["mrecall@2"] == (0.0, 1.0)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder_layout(tmp_path)
    out, name = tmp_path / "records.jsonl", tmp_path.name
    command = ["retrieval", "--data", str(tmp_path), "--k", "2,50", "--out", str(out), "--seed", "3"]
    assert main([*command, "--json"]) == 0
    report = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert list(report["metrics"][name]) == list(named(STANDARD))
    assert report["metrics"][name]["dense+gold"]["mrecall@50"] == 1.0
    assert "alpha_ndcg@50" not in report["metrics"][name]["dense"]  # ndeval ends at 20
    assert len(out.read_text().splitlines()) == 1 + len(named(STANDARD)) * 2
    assert main(command) == 0
    assert "2 questions (2 with two sides), 2.0 perspectives each, 8 passages" in capsys.readouterr().out
    one_sided = [p | {"stance": "SUPPORT"} for p in view(stance="SUPPORT")]
    folder_layout(tmp_path, changed(0, perspectives=one_sided)[:1])
    assert main(["retrieval", "--data", str(tmp_path), "--methods", "bm25", "--json"]) == 0
    report = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert report["metrics"][name]["bm25"]["sycophancy@5"] is None  # undefined


# Of the whole sets; these are parts of them, of 49 and 113 questions.
KNOWN = {"theperspective_2way": {"mrecall@5": 0.74}, "perspectrum_clusters": {"mrecall@5": 0.25, "coverage@5": 0.49}}


@pytest.mark.skipif(not SHARED.exists(), reason="needs ../shared/data")
def test_bm25_is_near_the_known_figures(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["--data", str(SHARED), "--set", ",".join(KNOWN), "--methods", "bm25", "--k", "5", "--json"]
    assert main(["retrieval", *asked]) == 0
    metrics = json.loads(capsys.readouterr().out)["metrics"]
    for name, figures in KNOWN.items():
        found = {measure: metrics[name]["bm25"][measure] for measure in figures}
        assert found == pytest.approx(figures, abs=0.12), name
