"""The suite `deeptrace`: statements and citations, the eight measures by hand, whole runs with a played judge."""

import json
import re
from collections.abc import Callable, Sequence
from math import isnan
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from agent_fixtures import QUESTION, door
from model_replies import Body
from model_server import ModelServer, Reply
from written_answers import answer, cited, stands

from agent.answer.model import AnswerClaim
from agent.runs.bootstrap import default_options
from agent.settings import Settings
from evals.__main__ import main
from evals.answering.cited_answers import read_cited_answers, split_statements
from evals.metrics.deeptrace import audit_sides, audit_sources, fewest_sources

FERRY = "Should the ferry be free?"
TEXT = (
    "Here is what was found. Free ferries fill the inn.[1] Carers keep their rounds [1, 2]. "
    "Fares pay for the storm boat. [3] The inn has a red door."
)
SOURCES = ["The inn fills when the ferry is free.", "", "Fares pay for the boat in storms.", "On bees."]
LINE = {"question": FERRY, "answer": TEXT, "sources": [{"text": text} for text in SOURCES]}
STATEMENT = re.compile(r'<statement number="(\d+)">(.*?)</statement>')


def write(path: Path, *rows: Any) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def flags(*rows: Sequence[int]) -> Any:
    return np.array(rows, bool)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One.[1] Two [2][3]. Three.", [("One.", {1}), ("Two.", {2, 3}), ("Three.", set())]),
        ("“Quoted.” [4, 5]\n- A point\n[6]", [("“Quoted.”", {4, 5}), ("- A point", {6})]),
        ("[1] In 2024 [a note] it rose.", [("In 2024 [a note] it rose.", {1})]),
        (" \n", []),
    ],
)
def test_a_citation_belongs_to_the_sentence_before_it(text: str, expected: list[tuple[str, set[int]]]) -> None:
    assert [(said, {*cites}) for said, cites in split_statements(text)] == expected


def test_the_sides_by_hand() -> None:
    assert audit_sides(3, 1, 5) == {"one_sided": 0, "overconfident": 0, "smaller_side_share": 1 / 4}
    assert audit_sides(3, 0, 5) == {"one_sided": 1, "overconfident": 1, "smaller_side_share": 0}
    assert audit_sides(0, 2, 4) == {"one_sided": 1, "overconfident": 0, "smaller_side_share": 0}
    assert audit_sides(0, 0, 5)["one_sided"] == 1


def test_the_sources_by_hand() -> None:
    # Four relevant statements of five, two readable sources of four, one listed source that nobody cites.
    cites = flags([1, 0], [1, 1], [0, 1], [0, 0])
    supports = flags([1, 0], [0, 1], [0, 0], [0, 1])
    assert audit_sources(5, 4, 1, cites, supports) == {
        "relevant_statements": 4 / 5,
        "uncited_sources": 1 / 4,
        "unsupported_statements": 1 / 4,  # the third
        "source_necessity": 2 / 2,
        "citation_accuracy": 2 / 4,  # first to first, second to second
        "citation_thoroughness": 2 / 3,
    }
    without = audit_sources(2, 0, 0, np.zeros((2, 0), bool), np.zeros((2, 0), bool))
    assert without["unsupported_statements"] == 1
    assert all(isnan(without[name]) for name in ("uncited_sources", "source_necessity", "citation_accuracy"))
    unreadable = audit_sources(2, 1, 1, np.zeros((2, 0), bool), np.zeros((2, 0), bool))
    assert isnan(unreadable["unsupported_statements"])
    assert audit_sources(1, 1, 0, flags([1]), flags([0]))["source_necessity"] == 0
    filler = audit_sources(1, 2, 2, np.zeros((0, 2), bool), np.zeros((0, 2), bool))
    assert (filler["relevant_statements"], filler["uncited_sources"]) == (0, 1)
    assert isnan(filler["source_necessity"])


@pytest.mark.parametrize(
    ("supports", "expected"),
    [
        (flags([1, 1, 0], [0, 1, 1], [1, 0, 1]), 2),  # every matching, and so every vertex cover, has three
        # Greedy takes the first source, of four statements, and then both others.
        (flags([1, 1, 0], [1, 1, 0], [1, 0, 1], [1, 0, 1], [0, 1, 0], [0, 0, 1]), 2),
        (flags([0, 0], [0, 0]), 0),
        (flags([0, 1], [0, 0]), 1),
    ],
)
def test_the_fewest_sources_that_support_everything(supports: Any, expected: int) -> None:
    assert fewest_sources(supports) == expected


def reading(**more: Any) -> dict[str, Any]:
    return {"filler": [1, 5], "agree": [2, 3], "disagree": [4], "confidence": 4} | more


def supporting(body: Body) -> dict[str, Any]:
    """A judge that goes by a word of the document."""
    text = body["messages"][-1]["content"]
    word = next((w for w in ("inn", "Fares") if w in text.partition("</document>")[0]), "none")
    return {"full": [int(n) for n, said in STATEMENT.findall(text) if word in said], "partial": []}


Judged = Callable[..., Any]


@pytest.fixture
def judged(
    server: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Judged:
    """Runs the suite on a file with the played server; returns the result, or what is said of bad input."""
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    monkeypatch.setenv("STEELMAN_MODEL", "played")

    def run(file: Path, *arguments: object, status: int = 0) -> Any:
        capsys.readouterr()
        assert main(["deeptrace", "--answers", str(file), *map(str, arguments), "--json"]) == status
        said = capsys.readouterr()
        return said.err if status else json.loads(said.out)

    return run


def test_answers_of_another_system_are_judged_once(server: ModelServer, judged: Judged, tmp_path: Path) -> None:
    server.on("how sure the language", reading(), times=1).on("which statements a document supports", supporting)
    file, out = write(tmp_path / "theirs.jsonl", LINE), tmp_path / "records.jsonl"
    found = judged(file, "--out", out)
    # Relevant: 2 cites 1; 3 cites 1 and 2; 4 cites 3. Readable: 1, 3, 4. Source 1 supports 2, source 3 supports 4.
    assert found["metrics"] == {
        "answers": 1,
        "missing": 0,
        "unjudged": 0,
        "one_sided": 0,
        "overconfident": 0,
        "smaller_side_share": pytest.approx(1 / 3),
        "relevant_statements": 3 / 5,
        "uncited_sources": 1 / 4,
        "unsupported_statements": pytest.approx(1 / 3),
        "source_necessity": pytest.approx(2 / 3),
        "citation_accuracy": pytest.approx(2 / 3),
        "citation_thoroughness": 1,
    }
    first, *others = server.prompts()
    assert f"<question>{FERRY}</question>" in first
    assert STATEMENT.findall(first)[2] == ("3", "Carers keep their rounds.")
    assert [n for n, _ in STATEMENT.findall(others[0])] == ["2", "3", "4"]
    assert len(others) == 3
    assert judged(file, "--out", out)["metrics"] == found["metrics"]
    assert len(server.prompts()) == 4


def test_a_long_source_is_read_in_pieces(server: ModelServer, judged: Judged, tmp_path: Path) -> None:
    server.on("how sure the language", reading()).on("which statements a document supports", supporting)
    sources = [{"text": "x" * 40_000 + SOURCES[0]}]
    found = judged(write(tmp_path / "theirs.jsonl", LINE | {"sources": sources, "debate": False}))["metrics"]
    assert len(server.prompts()) == 3
    assert found["citation_accuracy"] == 1 / 2
    assert "one_sided" not in found


def test_missing_and_unjudged_answers_are_named(server: ModelServer, judged: Judged, tmp_path: Path) -> None:
    server.on(FERRY, reading(filler=[9]))
    bells = LINE | {"question": "Should bells ring?", "answer": "Yes, they should.", "sources": []}
    server.on("bells", reading(filler=[], agree=[1], disagree=[], confidence=5))
    gone = [{"question": "Should it rain?", "error": "down"}, LINE | {"question": "Is it?", "answer": " "}]
    found = judged(write(tmp_path / "theirs.jsonl", LINE, bells, *gone))
    assert [found["metrics"][name] for name in ("answers", "missing", "unjudged")] == [4, 2, 1]
    assert [found["metrics"][name] for name in ("one_sided", "overconfident")] == [1, pytest.approx(1 / 3)]
    assert (found["metrics"]["unsupported_statements"], found["over"]["unsupported_statements"]) == (1, 1)
    assert found["metrics"]["citation_accuracy"] is None
    assert found["over"]["uncited_sources"] == 0
    assert [line.partition("?: ")[2][:25] for line in found["failed"]] == [
        "the judge named statement",
        "it has no answer",
        "it has no answer",
    ]


async def test_own_answers_bring_their_claims_and_whole_documents(settings: Settings, tmp_path: Path) -> None:
    async with door(settings) as runs:
        own = await runs.answer(await runs.start(QUESTION, default_options(runs)))
        first = own.citations[0]
        whole = "\n".join(p.text for p in runs.store.document_passages(first.passage_id))
    file = write(tmp_path / "own.jsonl", json.loads(own.model_dump_json()))
    (found,) = read_cited_answers(file, settings)
    claims = [claim for side in own.perspectives for claim in side.claims]
    assert own.summary == found.statements[0][0]
    assert claims
    assert all(any(c.text in text and cites == {*c.citations} for text, cites in found.statements) for c in claims)
    assert found.sources.keys() == {n for _, cites in found.statements for n in cites}
    assert first.quote in found.sources[first.number] == whole
    (elsewhere,) = read_cited_answers(file, Settings(data_dir=tmp_path / "empty"))
    assert elsewhere.sources[first.number].startswith(first.quote)


def test_only_what_a_reader_is_shown_counts(tmp_path: Path) -> None:
    claim = AnswerClaim(text="Ferries feed towns.", citations=[1])
    sides = stands("a", "supports", "Yes.", claim), stands("b", "opposes", "No.")
    own = answer(FERRY, *sides, citations=[cited(1, quote="Ferries feed towns."), cited(2)])
    file = write(tmp_path / "own.jsonl", json.loads(own.model_dump_json()))
    (found,) = read_cited_answers(file, Settings(data_dir=tmp_path / "data"))
    assert [cites for _, cites in found.statements] == [set(), {1}]
    assert found.sources == {1: "Ferries feed towns."}


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ([], "has no answers. Name another file"),
        ([{"answer": "x", "sources": []}], "line 1: 'question': Field required"),
        ([{"question": FERRY, "answer": "x"}], "line 1: 'sources': Field required"),
        ([{"question": FERRY, "sources": []}], "line 1: 'answer': Field required"),
        ([LINE, LINE], "line 2: 'question' is"),
        ([{"question": FERRY, "perspectives": []}], "line 1: 'run_id': Field required"),
    ],
)
def test_a_bad_file_is_named(judged: Judged, tmp_path: Path, rows: list[Any], says: str) -> None:
    assert says in judged(write(tmp_path / "bad.jsonl", *rows), status=2)


def test_without_a_chat_model_it_says_what_to_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["deeptrace", "--answers", str(write(tmp_path / "theirs.jsonl", LINE))]) == 2
    assert "set STEELMAN_MODEL" in capsys.readouterr().err


def test_a_judge_that_is_down_stops_the_run(server: ModelServer, judged: Judged, tmp_path: Path) -> None:
    server.on("", Reply("wrong key", status=401))
    assert "refused the key" in judged(write(tmp_path / "theirs.jsonl", LINE), status=1)
