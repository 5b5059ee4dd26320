"""A near-copy with a sentence of its own is read for that sentence; what it repeats stays the original's."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from agent_fixtures import ingest
from answering_model import SIDES, STAGES, WordEncoder, case_of, read_request, said_all, stand_in
from model_replies import Body
from model_server import ModelServer

from agent.answer.model import Answer
from agent.evidence.coverage import originals_of, own_sentences_of
from agent.options import RunOptions
from agent.runs.service import Runs
from agent.settings import load_settings
from tools.documents.ingest import Ingester
from tools.language.near_duplicates import repeats
from tools.passages import Passage, SourceDocument, shortened
from tools.store.store import SAMPLES

SENTENCES = (
    "The council wants to close Fuller's Lane to cars from May.",
    "The lane should be closed to cars because two children were hurt there last year.",
    "Councillor Mary Finch said that a lane without cars would be safer for everyone who walks to the school.",
    "A trial in the summer showed that the air was cleaner on the days without cars.",
    "Signs and a gate will be put up at both ends of the lane.",
)
RELEASE = " ".join(SENTENCES)
OWN = "Shopkeeper Ana Reed said the lane needs the parking, as half her customers come by car."
PAPER = " ".join([*SENTENCES[:4], OWN, SENTENCES[4]])


def of(*texts: str) -> dict[int, Passage]:
    return {i: Passage(i, f"{i}.md", "lane", text, date=f"2025-03-0{i}") for i, text in enumerate(texts, 1)}


NOISY = RELEASE.replace("children", "chi1drcn").replace("council", "counci1").replace("everyone", "evcryonc")


@pytest.mark.parametrize(
    "copy",
    [
        RELEASE,
        RELEASE.replace("'", "’").replace(" a gate", " a\ngate"),
        f"HARBOURTON, Thursday 6 March 2025 – {RELEASE}",
        f"{RELEASE}\n\nYours faithfully, Iris Holt, Secretary of the Fuller's Lane Society, Harbourton",
        RELEASE.replace("wants to close", "intends to close").replace("cleaner", "not cleaner"),
        NOISY.replace("summer", "surnmer").replace("Signs and", "5igns arid"),
        " ".join(SENTENCES[1:4]),
        f"{RELEASE} So say we all here.",
    ],
    ids=["same", "typography", "date line", "signature", "words changed", "text recognition", "shortened", "brief"],
)
def test_a_copy_with_other_details_has_no_words_of_its_own(copy: str) -> None:
    passages = of(RELEASE, copy)
    assert originals_of(passages) == {1: 1, 2: 1}
    assert own_sentences_of(passages) == {}


def test_a_sentence_that_only_one_copy_has_is_its_own() -> None:
    assert own_sentences_of(of(RELEASE, PAPER)) == {2: OWN}
    assert own_sentences_of(of(RELEASE, PAPER, PAPER)) == {2: OWN}, "the third repeats the second"
    two = f"{OWN} {RELEASE} Her neighbour Tom Bell would rather sweep the pavement than look for a parking space."
    assert own_sentences_of(of(RELEASE, two)) == {2: f"{OWN}\n…\n{two.split('. ')[-1]}"}


def test_a_passage_that_is_cut_elsewhere_repeats_two_passages_of_its_original() -> None:
    parts = " ".join(SENTENCES[:3]), " ".join(SENTENCES[3:])
    passages = {i: Passage(i, "release.md", "lane", text, date="2025-03-01") for i, text in enumerate(parts, 1)}
    passages[3] = Passage(3, "paper.md", "lane", f"{' '.join(SENTENCES[1:4])} {OWN}", date="2025-03-02")
    assert own_sentences_of(passages) == {3: OWN}


def test_the_earlier_of_two_texts_keeps_what_the_longer_one_lacks() -> None:
    long = " ".join([*SENTENCES[1:], OWN, "Half of the shops on the lane have signed a letter to the mayor about it."])
    assert own_sentences_of(of(" ".join(SENTENCES[:3]), long)) == {1: SENTENCES[0]}


def test_another_reason_for_the_same_thesis_is_new() -> None:
    new = "The lane should be closed to cars because the noise of engines wakes families at night."
    assert repeats(SENTENCES[1].replace("hurt", "injured"), RELEASE)
    assert not repeats(new, RELEASE)
    assert not repeats("Councillor Hale said that the council should not close the lane from May.", RELEASE)


def test_a_shortened_passage_is_the_original_of_no_copy() -> None:
    passages = of(PAPER, RELEASE, PAPER)
    passages[1] = shortened(passages[1], OWN)
    assert originals_of(passages) == {1: 1, 2: 2, 3: 2}


DOCUMENTS = [
    SourceDocument("release", RELEASE, "Cars", publisher="Council", date="2025-03-01"),
    SourceDocument("paper", PAPER, "Lane", publisher="Gazette", date="2025-03-02"),
    SourceDocument("reprint", RELEASE, "Closure", publisher="Herald", date="2025-03-03"),
    SourceDocument("credit", f"{RELEASE} Readers may send their photographs of spring to us.", publisher="Star"),
]


def listed(answer: Answer) -> dict[str, str]:
    return {d.id: d.not_quoted for d in answer.documents}


async def test_an_answer_quotes_a_near_copy_for_its_own_sentence_alone(own_runs: Runs) -> None:
    ingest(own_runs, DOCUMENTS, "lane")
    options = RunOptions.of(collections=("lane",), web=False)
    answer = await own_runs.answer(run := await own_runs.start("Should Fuller's Lane be closed to cars?", options))
    quoted = {(c.document_id, q.quote) for c in answer.citations for q in c.quotations}
    assert {quote for document, quote in quoted if document == "paper"} == {OWN}
    assert {document for document, _ in quoted} == {"release", "paper"}
    assert listed(answer) == {"release": "", "paper": "", "reprint": "repeats", "credit": "repeats"}
    assert next(c.speaker for c in answer.citations if c.document_id == "paper") == "Ana Reed"
    assert [line.sources for line in answer.coverage if line.passages] == [1]
    assert {e.passage.text for e in await own_runs.evidence(run) if e.passage.document_id == "paper"} == {OWN}


async def test_judge_and_writer_are_shown_only_what_a_near_copy_adds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: ModelServer
) -> None:
    stand_in(monkeypatch)
    plan = {**SIDES, "question": "Should the lane be closed?", "perspectives": SIDES["perspectives"][:2]}

    def verdicts(body: Body) -> dict[str, Any]:
        sides, passages = read_request(body)
        return {"verdicts": [{"passage": p, "for": [next(iter(sides.values()))]} for p in passages.values()]}

    answers: dict[str, Callable[[Body], Any] | Any] = {
        "expand": plan,
        "judge": verdicts,
        "write": case_of,
        "check": said_all,
    }
    for stage, reply in answers.items():
        server.on(STAGES[stage], reply)
    async with Runs(load_settings(data_dir=tmp_path, openai_base_url=server.url, model="m", judge="batch")) as runs:
        Ingester(runs.store, runs.providers.search, WordEncoder()).ingest(DOCUMENTS, SAMPLES)
        options = RunOptions.of(max_rounds=0, collections=(SAMPLES,), web=False)
        await runs.answer(await runs.start("Should the lane be closed?", options))
    for stage in ("judge", "write"):
        asked = next(p for p in server.prompts() if STAGES[stage] in p)
        assert (asked.count(SENTENCES[1].split("because")[1]), asked.count(OWN)) == (1, 1)
