"""What of the passages found may speak in an answer."""

from html import unescape
from pathlib import Path
from typing import Any

import pytest
from answering_model import SIDES, STAGES, WordEncoder, case_of, read_request, said_all, stand_in
from model_replies import Body
from model_server import ModelServer

from agent.evidence.coverage import filter_passages
from agent.options import RunOptions
from agent.runs.service import Runs
from agent.settings import load_settings
from tools.documents.ingest import Ingester
from tools.passages import Block, Passage, PassageForm, SourceDocument

ENGLISH = "Should the motorway have a speed limit?"


def passage(number: int, language: str = "", form: PassageForm = "prose") -> Passage:
    return Passage(number, f"{number}.txt", "c", "Text.", title=f"Title {number}", language=language, form=form)


def found(*given: Passage) -> dict[int, Passage]:
    return {p.id: p for p in given}


def test_other_languages_are_left_out_of_english_answers_and_named() -> None:
    passages = found(passage(1, "de"), passage(2, "en"), passage(3))
    assert filter_passages([3, 1, 2, 9], passages, ENGLISH) == ([3, 2], {"Title 1": "de"})


def test_a_question_in_another_language_may_be_answered_from_any() -> None:
    passages = found(passage(1, "de"), passage(2, "en"))
    assert filter_passages([1, 2], passages, "Braucht die Autobahn ein Tempolimit für alle Fahrer?") == ([1, 2], {})


def test_tables_argue_for_nothing_and_answer_questions_of_fact() -> None:
    passages = found(passage(1, form="table"), passage(2, form="caption"), passage(3))
    assert filter_passages([1, 2, 3], passages, ENGLISH) == ([3], {})
    assert filter_passages([1, 2, 3], passages, ENGLISH, tables=True) == ([1, 2, 3], {})


@pytest.mark.parametrize("judge", ["batch", "embedded"])
async def test_a_model_reads_tables_and_the_embedded_judge_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: ModelServer, judge: str
) -> None:
    stand_in(monkeypatch)
    rows = "Lane | Hurt in 2025\nFuller's Lane | 41\nMill Lane | 2"
    blocks = Block("Fuller's Lane should be closed to cars, because children are hurt."), Block(rows, "table")
    report = SourceDocument("report", "\n\n".join(b.text for b in blocks), "Lanes", publisher="Council", blocks=blocks)
    plan = {**SIDES, "question": "Should the lane be closed?", "perspectives": SIDES["perspectives"][:2]}

    def verdicts(body: Body) -> dict[str, Any]:
        sides, passages = read_request(body)
        return {"verdicts": [{"passage": p, "for": [next(iter(sides.values()))]} for p in passages.values()]}

    asked: dict[str, Any] = {"expand": plan, "write": case_of, "check": said_all} | (
        {"judge": verdicts} if judge == "batch" else {}
    )
    for stage, reply in asked.items():
        server.on(STAGES[stage], reply)
    settings = load_settings(data_dir=tmp_path, openai_base_url=server.url, model="m", judge=judge)
    async with Runs(settings) as runs:
        Ingester(runs.store, runs.providers.search, WordEncoder()).ingest([report], "lane")
        options = RunOptions.of(max_rounds=0, collections=("lane",), web=False)
        answer = await runs.answer(await runs.start("Should the lane be closed?", options))
    judged = "\n".join(p for p in server.prompts() if STAGES["judge"] in p)
    assert ("Fuller's Lane | 41 / Mill Lane | 2" in unescape(judged)) == (judge == "batch")
    assert not any("|" in also.text for also in answer.also)
