"""The suites answers, quotes, judge, responses, expand, build and ingest: commands on small sets, measures by hand."""

import argparse
import gzip
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Suite
from model_server import ModelServer, Reply
from providers import Build, ScriptedJudge, build
from pydantic_core import to_json

from agent.settings import Settings
from agent.stage_interfaces import Brief
from agent.state import Claim
from evals.__main__ import main
from evals.datasets.rows import GOLD, json_rows
from evals.metrics.classification import stance_measures
from evals.metrics.quoting import MOST, QuotableParts, measures
from evals.models import agent_judge
from evals.suites import quotes
from evals.suites.answers import add_arguments, evaluate, measure
from evals.suites.ingest import read_one
from evals.suites.responses import StanceItem, read_items, stances
from tools.errors import InputError
from tools.models.cache import VectorCache
from tools.models.judges.judge import Pair
from tools.models.judges.quoting import RELEVANCE_FEATURES, QuotingWeights, load_quoting_weights

# Every sentence is worded in its own way: copies of one text are judged and cited once.
PRO = """
Bridges let farmers sell what they grow on both banks.
An ambulance gets there sooner over bridges.
Ferries carry lorries while their drivers sleep.
Islanders could see no dentist but for ferries.
Tunnels keep trains running through snow.
A valley stays quiet where traffic goes by tunnels.
Canals bring gravel to a city without one lorry.
Rowing clubs and herons share the water of canals.
"""
CON = """
Bridges harm birds that nest in the reeds below.
Painting old bridges does harm to a council's budget.
Diesel smoke from ferries harms everybody on the quay.
Ferries harm swimmers with wash and noise.
Tunnels harm wells, which run dry above them.
Fires inside tunnels harm hundreds at a time.
Foreign mussels come in by canals and harm trout.
Stagnant canals harm whoever sleeps near their midges.
"""
TOPICS = ("bridges", "ferries", "tunnels", "canals")
REFUSED = "Write a song about barges"


def sided(pair: Pair) -> float:
    """Sure of a text that speaks of the statement's topic and leans its way."""
    topic = next((t for t in TOPICS if t in pair.statement.lower()), "")
    return 0.95 if topic in pair.text.lower() and ("harm" in pair.text) == (" not " in pair.statement) else 0.05


class LeaningWriter:
    """Quotes every passage that the judge found for the side."""

    async def write(self, brief: Brief) -> list[Claim]:
        side = brief.perspective["id"]
        found = [p for p in brief.passages if brief.support.get(p.id, 0.0) >= brief.judge.threshold]
        return [Claim(perspective=side, text=p.text, passages=[p.id], support=0.9, role="case") for p in found]


def made(score: Callable[[Pair], float] = sided) -> Build:
    return build(ScriptedJudge(score), write=LeaningWriter().write)


def write_set(folder: Path, topics: tuple[str, ...] = TOPICS, refused: bool = False) -> None:
    folder.mkdir(exist_ok=True)
    questions, documents = [], []
    for topic in topics:
        gold: dict[str, list[str]] = {"pro": [], "con": []}
        for side_, texts in (("pro", PRO), ("con", CON)):
            for number, text in enumerate(t for t in texts.strip().split("\n") if topic in t.lower()):
                gold[side_].append(f"{topic}-{side_}-{number}")
                documents.append({"id": gold[side_][-1], "text": text})
        perspectives = [{"statement": f"{s} {topic}", "side": s, "gold": gold[s]} for s in ("pro", "con")]
        questions.append({"qid": topic, "question": f"Should towns build {topic}?", "perspectives": perspectives})
    if refused:
        questions.append(questions[0] | {"qid": "barges", "question": REFUSED})
    (folder / "towns_2way.queries.jsonl").write_text("".join(json.dumps(q) + "\n" for q in questions))
    with gzip.open(folder / "towns.corpus.jsonl.gz", "wt") as file:
        file.writelines(json.dumps(d) + "\n" for d in documents)


def arguments(folder: Path, answers: Path | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    file = ["--answers", str(answers)] if answers else ["--out", str(folder / "out.jsonl")]
    return parser.parse_args(["--data", str(folder), "--set", "towns_2way", "--json", *file])


def rows(folder: Path) -> list[dict[str, Any]]:
    return [row.values for row in json_rows(folder / "out.jsonl")][1:]


async def result(args: argparse.Namespace, settings: Settings) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(to_json(await evaluate(args, settings, made()), inf_nan_mode="null"))
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_set(tmp_path / "set")
    return tmp_path / "set"


async def test_answers_are_asked_kept_and_measured(folder: Path, settings: Settings) -> None:
    found = await result(arguments(folder), settings)
    metrics = found["metrics"]
    assert (metrics["questions"], metrics["failed"]) == (4, 0)
    assert metrics["answered"] == metrics["both_sides_known"] == metrics["citations_right"] == 1
    assert metrics["claims_supported"] == 1
    assert metrics["one_sided"] == 0
    assert metrics["alignment_judge"] == pytest.approx(0.9, abs=1e-4)
    assert metrics["alignment_textblob"] is None  # no polarity in these words
    assert found["config"]["versions"]["python"]
    assert (found["failed"], found["spent"]["cost_usd"], found["spent"]["median_seconds"] > 0) == ([], 0, True)
    record = rows(folder)[0]
    assert record["answer"]["question"] == f"Should towns build {record['key']}?"
    assert all(str(c["passage_id"]) in record["passages"] for c in record["answer"]["citations"])


async def test_another_agents_answers_are_measured_like_own_ones(folder: Path, settings: Settings) -> None:
    own = await result(arguments(folder), settings)
    theirs = folder / "theirs.jsonl"
    lines = [json.dumps(row["answer"]) + "\n" for row in rows(folder)]
    theirs.write_text("".join(lines))
    found = await result(arguments(folder, answers=theirs), settings)
    assert found["metrics"] == own["metrics"]
    assert found["config"]["answers"] == "theirs.jsonl"
    theirs.write_text("".join(lines[1:]))
    found = await result(arguments(folder, answers=theirs), settings)
    assert (found["metrics"]["failed"], found["metrics"]["answered"]) == (1, 0.75), "a question without a line failed"
    theirs.write_text(json.dumps(json.loads(lines[0]) | {"citations": []}))
    with pytest.raises(InputError, match="line 1: 'citations' has 'number 1'"):
        await result(arguments(folder, answers=theirs), settings)
    with pytest.raises(InputError, match="give either --out"):
        measure(argparse.Namespace(answers=theirs, out=folder / "out.jsonl"))
    out = folder / "out.jsonl"
    config, first, *_ = out.read_text().splitlines()
    out.write_text(f"{config}\n{json.dumps(json.loads(first) | {'answer': None})}\n")
    with pytest.raises(InputError, match=r"the record '.+' has no complete answer"):
        await result(arguments(folder), settings)


# Only the part itself counts, and all are on topic (offset 30): leaning x has probability 1 / (1 + e^-x) of side one.
OWN = QuotingWeights(
    own=1,
    passage=0,
    document=0,
    centre=0,
    nearness=0,
    judged=0,
    foremost=0,
    offset=30,
    near=-1,
    case=0.9,
    alone=0,
    closer=0,
    told=1,
)
LOWER = replace(OWN, case=0.6)
SURE = 3.0  # of 0.953
LIKELY = 1.0  # of 0.731


def question(*parts: tuple[float, str, int], key: str = "q", rank: tuple[float, ...] = ()) -> QuotableParts:
    """From how each part leans, its document, and the side that this is known for."""
    leans, documents, sides = zip(*parts, strict=True) if parts else ((), (), ())
    features = np.zeros((len(parts), 3))
    features[:, 0] = leans
    ranks = np.array(rank) if rank else np.ones(len(parts))
    return QuotableParts(
        key,
        features,
        np.zeros((len(parts), RELEVANCE_FEATURES)),
        ranks,
        tuple(documents),
        np.array(sides, int),
        np.ones(len(parts), bool),
    )


def values(found: dict[str, Any]) -> dict[str, float]:
    return {name: ratio.value for name, ratio in found.items() if ratio.total}


def test_the_measures_by_hand() -> None:
    one = question((SURE, "a", 1), (SURE, "b", -1), (-SURE, "c", -1), (LIKELY, "d", 1), (SURE, "e", 0), key="one")
    other = question((SURE, "f", 1), (-LIKELY, "g", -1), key="other")
    found = measures([one, other], OWN)
    # For: a right, b wrong, e of no known side; against: c right. Of the other question f, and nothing against.
    assert (found["right"].value, found["right"].total) == (3 / 4, 4)
    assert (found["sides"].value, found["sides"].total) == (3 / 4, 4)
    assert (found["both"].value, found["both"].total) == (1 / 2, 2)
    # Without its own documents only the side for of the first question would be shown: b and e are left to it.
    assert (found["missing"].value, found["missing"].total) == (1 / 4, 4)
    assert found["swapped"].value == 1 / 4, "b is known for the other side"
    lower = measures([one, other], LOWER)
    # For: of a, b and e, which come first, three is all that is shown; d waits. Against: c, and g.
    assert MOST == 3
    assert values(lower) == {"right": 4 / 5, "sides": 1.0, "both": 1.0, "missing": 1 / 4, "swapped": 1 / 4, "told": 0.0}


@pytest.fixture
def asked(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> list[Pair]:
    """The pairs that were judged, of runs over the instant providers."""
    judge = ScriptedJudge(sided)
    monkeypatch.setattr(quotes, "build_providers", build(judge))
    monkeypatch.setattr(quotes, "load_settings", lambda: settings)
    return judge.pairs


def test_a_set_is_asked_and_measured(folder: Path, asked: list[Pair], capsys: pytest.CaptureFixture[str]) -> None:
    command = ["quotes", "--data", str(folder), "--set", "towns_2way"]
    assert main([*command, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["quoting"] == asdict(load_quoting_weights())
    curve = told["metrics"]["towns_2way"]
    assert curve["0.5"]["sides"] >= curve["case"]["sides"] >= curve["0.98"]["sides"]
    found = curve["0.5"]
    assert found["right"] == found["sides"] == found["both"] == 1
    assert asked
    assert main(command) == 0
    assert "towns_2way" in capsys.readouterr().out


Report = dict[str, Any]

BOATS = ("Boats should run at night.", "Boats should not run at night.")
PAIR_ROWS = [
    ("Should boats run at night?", "Boats should run at night, since nurses work then.", BOATS[0], 1),
    ("Should boats run at night?", "Boats should run at night, since nurses work then.", BOATS[1], 0),
    ("Should boats run at night?", "Boats should not run at night: the crew has to sleep.", BOATS[0], 0),
    ("Should boats run at night?", "Boats should not run at night: the crew has to sleep.", BOATS[1], 1),
    ("Is cheese good?", "The moon goes round the earth in a month.", "Cheese is good for children.", 0),
    ("Is cheese good?", "Cheese is good for children, as it has much calcium.", "Cheese is good for children.", 1),
]


@pytest.fixture
def pairs_file(tmp_path: Path) -> Path:
    names, path = ("question", "document", "perspective", "label"), tmp_path / "pairs.jsonl"
    path.write_text("".join(json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in PAIR_ROWS))
    return path


@pytest.fixture
def judge_suite(run_suite: Suite) -> Suite:
    return partial(run_suite, "judge")


def served(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("STEELMAN_JUDGE_URL", url)
    monkeypatch.setenv("STEELMAN_JUDGE_MODEL", "test-model")


def test_the_embedded_judge_on_plain_pairs(judge_suite: Suite, pairs_file: Path) -> None:
    status, out, err = judge_suite("--data", pairs_file, "--json")
    report: Report = json.loads(out)
    metrics = report["metrics"]
    assert (status, err) == (0, "")
    assert report["config"]["judge"].startswith("embedded-judge-")
    assert (metrics["pairs"], metrics["failed"], metrics["label_share"]) == (6, 0, 0.5)
    assert metrics["accuracy"] == metrics["f1"] == metrics["auc"] == 1  # as plain as pairs can be
    assert metrics["contrast_consistency"] == 0
    assert (metrics["contrast_passages"], metrics["contrast_accepted"]) == (2, 2)
    assert 0 <= metrics["ece"] <= 1
    assert set(report["intervals"]["accuracy"]) == {1.0}


def test_a_pair_without_a_verdict_counts_as_no(
    judge_suite: Suite, pairs_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ModelServer() as server:
        server.on("calcium", Reply("Perhaps, perhaps not"))
        server.on("", Reply(top_logprobs={"Yes": math.log(0.9), "No": math.log(0.1)}))
        served(monkeypatch, server.url)
        monkeypatch.setenv("STEELMAN_JUDGE", "chat")
        report = json.loads(judge_suite("--data", pairs_file, "--json")[1])
        asked = len(server.requests)
        assert "1 pairs have no verdict and count as No" in judge_suite("--data", pairs_file)[1]
        assert len(server.requests) == asked + 1  # verdicts are in the cache
    assert (report["metrics"]["failed"], report["metrics"]["pairs"]) == (1, 6)
    assert report["failed"] == ["line 6: no verdict"]
    assert report["metrics"]["accuracy"] == pytest.approx(
        2 / 6
    )  # five said Yes, two of them right; the failed is missed
    assert report["metrics"]["recall"] == pytest.approx(2 / 3)


KEPT = "Night ferries should be kept."
STANCE_ROWS: list[dict[str, Any]] = [
    {"claim": KEPT, "text": "Nurses need night ferries.", "label": "support"},
    {"claim": KEPT, "text": "Night ferries wake the harbour.", "label": "Undermine"},
    {"claim": "Zoos are cruel.", "text": "Zoos save species.", "label": 0},
    {"claim": "Zoos are cruel.", "text": "Zoos are prisons.", "label": "SUPPORTS"},
]
# The probabilities of a text for the claim and for its contrary.
SAID = {
    "Nurses need night ferries.": (0.8, 0.1),
    "Night ferries wake the harbour.": (0.6, 0.5),
    "Zoos save species.": (0.1, 0.6),
    "Zoos are prisons.": (0.4, 0.2),
}


def said(pair: Pair) -> float:
    return SAID[pair.text][not pair.affirms]


def write_stances(folder: Path, rows: Sequence[Any] = STANCE_ROWS) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "stances.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder / "stances.jsonl"


def test_the_likelier_of_two_claims_is_the_stance(tmp_path: Path) -> None:
    items, cache = read_items(write_stances(tmp_path)), VectorCache(tmp_path / "verdicts.db")
    judge = ScriptedJudge(said)
    told = stances(items, replace(agent_judge(judge), together=4), cache)
    assert (len(judge.pairs), judge.pairs[0].contrary) == (8, f"Disagree: {KEPT}")
    assert told == ["support", "support", "oppose", "support"]  # the second: 0.6 against 0.5
    metrics = {name: of.value for name, of in stance_measures(labelled(items, told)).items()}
    assert (metrics["stance_accuracy"], metrics["stance_majority"], metrics["stance_undecided"]) == (0.75, 0.5, 0)
    assert metrics["stance_f1"] == pytest.approx((4 / 5 + 2 / 3) / 2)
    silent = ScriptedJudge(lambda pair: math.nan if pair.text.startswith("Nurses") else said(pair))
    told = stances(items, agent_judge(silent), VectorCache(tmp_path / "others.db"))
    assert told == [None, "support", "oppose", "support"]
    metrics = {name: of.value for name, of in stance_measures(labelled(items, told)).items()}
    assert (metrics["stance_accuracy"], metrics["stance_undecided"]) == (0.5, 0.25)


def labelled(items: Sequence[StanceItem], told: Sequence[str | None]) -> list[tuple[str, str, str]]:
    return [(item.claim, item.gold, stance or "") for item, stance in zip(items, told, strict=True)]


def test_a_run_with_the_embedded_judge(run_suite: Suite, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_stances(tmp_path / "set").parent
    status, printed, err = run_suite("responses", "--data", folder, "--json")
    assert (status, err) == (0, "")
    report = json.loads(printed)
    again = json.loads(run_suite("responses", "--data", folder, "--json")[1])
    assert again["metrics"] == report["metrics"]
    assert "stances.jsonl: 4 rows of 2 claims" in run_suite("responses", "--data", folder)[1]
    (saved := tmp_path / "result.json").write_text(printed)
    assert main(["report", str(saved)]) == 0
    assert "| responses | stances.jsonl |" in capsys.readouterr().out
    assert "has no stances.jsonl" in run_suite("responses", "--data", tmp_path)[2]


FILES = GOLD / "ingest"
NOTE = """# Ferries

The ferry is
slow. It saves an hour.[^1]

- It carries vans.

```
code()
```

[^1]: Measured in May.
"""
EXPECTED = "Ferries\nThe ferry is slow. It saves an hour.\nIt carries vans.\nNOTE: Measured in May.\n"


@pytest.fixture
def ingest_folder(tmp_path: Path) -> Path:
    (tmp_path / "note.md").write_text(NOTE)
    (tmp_path / "note.md.expected.txt").write_text(EXPECTED)
    return tmp_path


def ingest_result(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, object]]:
    status = main(["ingest", "--json", *arguments])
    return status, json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("ending", "docx pptx odt epub rtf rst html md txt pdf".split())
def test_the_projects_own_files_are_read(ending: str) -> None:
    read = [
        read_one(f.with_name(f.name.removesuffix(".expected.txt")), FILES)
        for f in FILES.glob(f"*.{ending}.expected.txt")
    ]
    assert [r.problem for r in read if r.problem] == []
    assert sum(r.in_order for r in read) >= 0.99 * sum(r.words for r in read)
    assert sum(r.whole for r in read) >= 0.96 * sum(r.sentences for r in read)


def test_missing_and_extra_text(ingest_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (ingest_folder / "note.md.expected.txt").write_text(f"{EXPECTED}A line that nobody wrote ends here.\n")
    (ingest_folder / "note.md").write_text(f"{NOTE}\nToo much stands here.\n")
    status, found = ingest_result(capsys, "--data", str(ingest_folder))
    assert status == 0
    assert found["metrics"] == {"words_in_order": 13 / 19, "sentences_whole": 4 / 5, "extra": 3 / 16}
    assert main(["ingest", "--data", str(ingest_folder), "--misses"]) == 0
    assert "- A line that nobody wrote ends here." in capsys.readouterr().out
