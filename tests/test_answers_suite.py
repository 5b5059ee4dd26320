"""The suite `answers`: runs over small documents, resumed, without a side, and another agent's answers."""

import argparse
import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from providers import Build, ScriptedJudge, build
from pydantic_core import to_json

from agent.models.providers import Brief
from agent.settings import Settings
from agent.state import Claim
from evals.answering.asking import MISSING, PLAIN, plan, plan_collections
from evals.datasets.cases import SIDES, Case, load_cases
from evals.datasets.rows import json_rows
from evals.suites.answers import add_arguments, evaluate, measure
from tools.errors import InputError
from tools.models.judges.judge import Pair
from tools.passages import SourceDocument

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


def arguments(folder: Path, *more: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    return parser.parse_args(
        ["--data", str(folder), "--set", "towns_2way", "--out", str(folder / "out.jsonl"), "--json", *more]
    )


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
    assert (metrics["questions"], metrics["asked"], metrics["failed"], metrics["not_asked"]) == (4, 4, 0, 0)
    assert metrics["answered"] == metrics["all_sides_cited"] == metrics["citations_right"] == 1
    assert metrics["claims_supported"] == 1
    assert metrics["one_sided"] == 0
    assert metrics["alignment_judge"] == pytest.approx(0.9, abs=1e-4)
    assert metrics["alignment_textblob"] is None  # no polarity in these words
    assert found["config"]["versions"]["python"]
    assert (found["failed"], found["spent"]["cost_usd"], found["spent"]["median_seconds"] > 0) == ([], 0, True)
    record = rows(folder)[0]
    assert record["answer"]["question"] == record["asked"] == record["question"]
    assert all(str(c["passage_id"]) in record["passages"] for c in record["answer"]["citations"])


async def test_another_agents_answers_are_measured_like_own_ones(folder: Path, settings: Settings) -> None:
    own = await result(arguments(folder), settings)
    theirs = folder / "theirs.jsonl"
    lines = [json.dumps(row["answer"]) + "\n" for row in rows(folder)]
    theirs.write_text("".join(lines))
    found = await result(arguments(folder, "--answers", str(theirs)), settings)
    assert found["metrics"] == own["metrics"]
    assert found["config"]["answers"] == "theirs.jsonl"
    theirs.write_text("".join(lines[1:]))
    found = await result(arguments(folder, "--answers", str(theirs)), settings)
    assert (found["metrics"]["failed"], found["metrics"]["answered"]) == (1, 0.75), "a question without a line failed"
    other = json.loads(lines[0])
    for change, message in (
        ({"question": "Who?"}, r"theirs\.jsonl line 1: 'question' is not in the set"),
        ({"citations": [other["citations"][0] | {"document_id": "x"}]}, "line 1: 'citations' has 'x'"),
        ({"citations": []}, "line 1: 'citations' has 'number 1'"),
        ({"perspectives": [{"stance": "yes"}]}, "line 1: 'perspectives' item 1"),
    ):
        theirs.write_text(json.dumps(other | change))
        with pytest.raises(InputError, match=message):
            await result(arguments(folder, "--answers", str(theirs)), settings)
    with pytest.raises(InputError, match="Leave out --out, --missing and --score-only"):
        measure(arguments(folder, "--answers", str(theirs)))


async def test_scoring_asks_nobody(folder: Path, settings: Settings) -> None:
    first = await result(arguments(folder, "--limit", "2"), settings)
    kept = (folder / "out.jsonl").read_bytes()
    for more in ([], ["--score-only"]):
        again = await result(arguments(folder, "--limit", "2", *more), settings)
        assert again["metrics"] == first["metrics"]
    fewer = await result(arguments(folder, "--score-only"), settings)
    assert (fewer["metrics"]["asked"], fewer["metrics"]["not_asked"]) == (2, 2)
    assert (folder / "out.jsonl").read_bytes() == kept
    more_asked = await result(arguments(folder), settings)  # a larger limit continues
    assert more_asked["metrics"]["asked"] == 4
    assert (folder / "out.jsonl").read_bytes().startswith(kept)


async def test_a_failed_question_is_repeated_by_the_next_run(folder: Path, settings: Settings) -> None:
    first, path = await result(arguments(folder), settings), folder / "out.jsonl"
    *kept, last = path.read_text().splitlines()
    failed = {k: v for k, v in json.loads(last).items() if k not in ("answer", "passages")} | {"failed": "it was down"}
    path.write_text("".join(line + "\n" for line in (*kept, json.dumps(failed))))
    scored = await result(arguments(folder, "--score-only"), settings)
    assert (scored["metrics"]["failed"], scored["metrics"]["answered"]) == (1, 0.75)
    for more in ([], ["--score-only"]):
        again = await result(arguments(folder, *more), settings)
        assert (again["metrics"], again["failed"]) == (first["metrics"], [])


async def test_without_a_side_its_documents_are_not_found(folder: Path, settings: Settings) -> None:
    found = await result(arguments(folder, "--missing"), settings)
    assert found["metrics"]["asked_without_a_side"] == 4
    assert found["metrics"]["missing_admitted"] == found["metrics"]["missing_admitted_other_kept"] == 1
    assert found["metrics"]["missing_shown"] == 0
    assert found["metrics"]["all_sides_cited"] == 1  # asked as it is, each question has the whole collection
    left_out = [r["left_out"] for r in rows(folder) if r["variant"] == MISSING]
    assert sorted(left_out) == ["opposes", "opposes", "supports", "supports"]
    for record in rows(folder):
        word = {"supports": "-pro-", "opposes": "-con-", None: "nothing"}[record["left_out"]]
        documents = [c["document_id"] for c in record["answer"]["citations"]]
        assert documents
        assert not [d for d in documents if word in d]


def cases(count: int) -> list[Case]:
    gold = [{"supports": frozenset({f"s{i}", "shared"}), "opposes": frozenset({f"o{i}"})} for i in range(count)]
    return [Case(f"q{i}", f"Is barge {i} slow?", {side: g[side] for side in SIDES}) for i, g in enumerate(gold)]


def test_the_excluded_side_does_not_depend_on_the_number_of_questions() -> None:
    few, many = (plan(cases(n), missing=True, seed=1) for n in (3, 9))
    assert few == many[: len(few)]
    assert [a.left_out for a in few if a.variant == MISSING] == ["opposes", "supports", "opposes"]
    one_side = Case("q", "Is it slow?", {"supports": frozenset({"s"}), "opposes": frozenset()})
    assert [a.variant for a in plan([one_side], missing=True, seed=1)] == [PLAIN]


def test_a_question_is_asked_over_all_documents_except_the_excluded_ones() -> None:
    names = [f"{kind}{i}" for i in range(4) for kind in "so"] + ["shared", "other"]
    asks = plan(cases(4), missing=True, seed=0)
    collections = plan_collections([SourceDocument(name, "Text.") for name in names], asks)
    for ask in asks:
        found = {d.external_id for without, of in collections.items() if ask.key not in without for d in of}
        assert found == set(names) - (ask.case.gold[ask.left_out] if ask.left_out else set())
    assert sum(map(len, collections.values())) == len(names)  # nothing is stored twice


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda q: q["perspectives"][1].pop("gold"),
            r"queries.jsonl line 1: 'perspectives' item 2 'gold': Field required",
        ),
        (lambda q: q["perspectives"][0]["gold"].append("lost"), r"line 1: .*'lost', which is not in"),
        (lambda q: [p.pop("side") for p in q["perspectives"]], r"no question with known sides"),
    ],
)
def test_bad_data_is_named_by_file_line_and_field(tmp_path: Path, change: Any, message: str) -> None:
    write_set(tmp_path, TOPICS[:1])
    path = tmp_path / "towns_2way.queries.jsonl"
    question = json.loads(path.read_text())
    change(question)
    path.write_text(json.dumps(question) + "\n")
    with pytest.raises(InputError, match=message):
        load_cases(tmp_path, "towns_2way")
