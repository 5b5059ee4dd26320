"""Where the graph goes next, as pure functions; and the options that they read."""

import math
from dataclasses import replace
from typing import Any

import pytest
from langgraph.runtime import Runtime
from providers import side

from agent.graph import after_judge, to_branches
from agent.options import RunOptions, ends_at
from agent.state import Coverage, Form, FramingState, RunState, StageName
from tools.errors import SettingsError


def framing(form: Form) -> FramingState:
    return FramingState(form=form, question="Q?", alternatives=[], focus="")


def coverage(status: Any) -> Coverage:
    return Coverage(status=status, passages=0, sources=0, strongest=0.0, ids=[], copies=0, reworded=0)


def judged(*statuses: str, done_rounds: int = 0) -> RunState:
    sides = [side(i) for i in range(len(statuses))]
    made = {p["id"]: coverage(s) for p, s in zip(sides, statuses, strict=True)}
    return RunState(perspectives=sides, coverage=made, round=done_rounds)


def runtime(**options: Any) -> Runtime[RunOptions]:
    return Runtime(context=RunOptions(**options))


def test_in_its_first_search_a_side_has_what_the_neutral_form_found() -> None:
    asked = RunState(perspectives=[side(1, "One."), side(2, "Two.")], question_results=[5, 3])
    asked["framing"] = framing("polar") | {"focus": "cost"}
    sends = to_branches(asked)
    assert [s.arg["queries"] for s in sends] == [["One. cost", "Q? cost"], ["Two. cost", "Q? cost"]]
    assert [s.arg["known"] for s in sends] == [{"Q? cost": [5, 3]}] * 2
    again = to_branches(RunState(**{**asked, "next_queries": {"p1": ["more"]}}))
    assert [(s.arg["queries"], s.arg["known"]) for s in again] == [(["more"], {})]


def test_searches_again_while_a_side_is_uncovered_and_rounds_are_left() -> None:
    assert after_judge(judged("supported", "thin"), runtime(max_rounds=1)) == "requery"
    assert after_judge(judged("supported", "not_found", done_rounds=1), runtime(max_rounds=1)) == "select"
    assert after_judge(judged("not_found"), runtime(max_rounds=0)) == "select"
    assert after_judge(judged("supported", "supported"), runtime(max_rounds=2)) == "select"
    assert after_judge(RunState(**judged("thin"), to_search="web"), runtime(max_rounds=1)) == "requery"
    assert after_judge(RunState(**judged("thin"), to_search="nothing"), runtime(max_rounds=1)) == "select"


def test_searches_no_more_once_the_time_for_it_is_used_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agent.graph.time.time", lambda: 1000.0)
    late = runtime(max_rounds=1, deadline_seconds=40.0, deadline_at=1009.0)
    early = runtime(max_rounds=1, deadline_seconds=40.0, deadline_at=1011.0)
    assert after_judge(judged("thin"), late) == "select"
    assert after_judge(judged("thin"), early) == "requery"


def test_the_time_that_is_kept() -> None:
    options = RunOptions(deadline_at=1000.0)  # 60 seconds
    assert ends_at(options, "search") == pytest.approx(1000 - 0.25 * 60)
    assert ends_at(RunOptions(), "search") == math.inf
    parts: list[StageName] = ["search", "judge", "write", "verify"]
    ends = [ends_at(options, part) for part in parts]
    assert ends == sorted(set(ends))
    assert ends[-1] == pytest.approx(1000.0)
    later = replace(options, deadline_seconds=600.0)  # than usual: all that it adds is for the calls
    assert [ends_at(later, part) for part in parts] == ends


@pytest.mark.parametrize(
    "changes",
    [{"max_passages": 0}, {"deadline_seconds": math.nan}, {"max_rounds": -1}, {"collections": ()}, {"breadth": 3}],
)
def test_an_option_that_cannot_be_is_refused_by_name(changes: dict[str, Any]) -> None:
    with pytest.raises(SettingsError, match=r"collection|" + next(iter(changes))):
        RunOptions.of(**changes)


def test_stored_options_that_are_gone_are_left_out() -> None:
    assert RunOptions.from_dict({"max_pairs": 60, "selection": "mmr:0.5", "pool": 9}) == RunOptions(pool=9)
