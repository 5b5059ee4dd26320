"""`python -m evals ablate`: a copy of the grammar whose rules go out one at a time, and what is counted of it."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from evals.__main__ import main
from evals.suites import ablate
from evals.suites.ablate import changes, questions_of
from evals.switched_grammar import SwitchedGrammar
from tools.errors import InputError
from tools.language.grammar import evened, frame, negate
from tools.language.grammar.width import narrowed

TYPED = ("are barges slow", "Why is sugar bad?", "Ferries cut pollution.", "how do locks work")


@pytest.fixture(scope="module")
def grammar() -> SwitchedGrammar:
    return SwitchedGrammar()


@pytest.mark.parametrize("typed", TYPED)
def test_with_every_rule_the_copy_frames_as_the_grammar_does(grammar: SwitchedGrammar, typed: str) -> None:
    found = frame(typed)
    wider = (narrowed(found.claim), negate(found.claim)) if found.claim else ()
    assert grammar.outcome(typed) == repr((found, evened(found), wider))


def test_the_grammar_itself_stays_as_it_was(grammar: SwitchedGrammar) -> None:
    import tools.language.grammar.framing as framing

    assert sys.modules["tools.language.grammar.framing"] is framing
    assert framing.frame is frame
    assert not hasattr(framing, "_holds_for")
    assert not [finder for finder in sys.meta_path if type(finder).__module__ == "evals.switched_grammar"]


def test_every_if_of_a_function_is_a_rule(grammar: SwitchedGrammar) -> None:
    written = {(rule.module, rule.function, rule.test) for rule in grammar.rules}
    assert ("poles", "evened", "len(framing.alternatives) == 2") in written
    assert ("poles", "_turned", "asked and (match := _NEGATIVE.fullmatch(rest))") in written  # an elif with a name
    rule = next(rule for rule in grammar.rules if rule.function == "evened")
    source = Path(sys.modules["tools.language.grammar.poles"].__file__ or "").read_text().splitlines()
    assert rule.test in source[rule.line - 1]


def test_only_a_rule_that_held_can_change_a_framing(grammar: SwitchedGrammar) -> None:
    typed = "Why is sugar bad?"
    before = grammar.outcome(typed)
    held, changed = changes(grammar, typed)
    everything = [n for n in range(len(grammar.rules)) if grammar.outcome(typed, n) != before]
    assert changed == everything
    assert set(changed) < set(held)
    assert grammar.outcome(typed) == before  # and nothing stays switched off


def test_a_framing_that_never_ends_without_its_rule_is_another_one(
    grammar: SwitchedGrammar, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evals.switched_grammar._ENDLESS", 3)
    assert grammar.outcome("are barges slow", 0) == "RuntimeError"


@pytest.fixture
def gold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A gold folder of three questions."""
    folder = tmp_path / "gold"
    folder.mkdir()
    rows: list[dict[str, Any]] = [{"question": TYPED[0], "text": "long " * 50}, {"wordings": list(TYPED[1:3])}]
    (folder / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    monkeypatch.setattr(ablate, "GOLD", folder)
    return folder


def measured(capsys: pytest.CaptureFixture[str], *options: str) -> dict[str, Any]:
    capsys.readouterr()
    assert main(["ablate", *options, "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_what_changes_is_counted_rule_by_rule(
    gold: Path, grammar: SwitchedGrammar, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    more = tmp_path / "more.jsonl"
    more.write_text(json.dumps({"claim": TYPED[3]}) + "\n" + json.dumps({"query": TYPED[0]}) + "\n")
    found = measured(capsys, "--data", str(more), "--parallel", "1")
    expected = [changes(grammar, typed)[1] for typed in TYPED]  # the one that comes twice counts once
    assert found["metrics"] == {
        "questions": 4,
        "rules": len(grammar.rules),
        "unchanged": len(grammar.rules) - len({number for changed in expected for number in changed}),
    }
    assert sum(item["changed"] for item in found["items"]) == sum(map(len, expected))
    assert all(item["held"] >= item["changed"] for item in found["items"])
    assert measured(capsys, "--data", str(more), "--parallel", "2")["items"] == found["items"]
    assert measured(capsys, "--limit", "1", "--parallel", "1")["metrics"]["questions"] == 1


def test_what_is_known_when_it_is_stopped_is_printed(
    gold: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[str] = []

    def stopped(grammar: SwitchedGrammar, question: str) -> ablate.Result:
        asked.append(question)
        if len(asked) == 2:
            raise KeyboardInterrupt
        return [0], [0]

    monkeypatch.setattr(ablate, "changes", stopped)
    assert main(["ablate", "--parallel", "1"]) == 130
    told = capsys.readouterr()
    assert told.out.startswith("questions 1 of 3, rules ")
    assert len(told.out.splitlines()) == len(SwitchedGrammar().rules)  # all but one, and the line above them
    assert "Stopped." in told.err


def test_data_without_questions_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.jsonl").write_text('{"name": "x"}\n')
    with pytest.raises(InputError, match=r"no \*\.jsonl rows"):
        questions_of(tmp_path)
    assert main(["ablate", "--limit", "0"]) == 1
    assert "--limit has to be 1 or more" in capsys.readouterr().err
