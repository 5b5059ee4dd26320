"""A run whose documents are deleted or replaced while a judge or a chat model is at work on them."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from answering_model import (
    QUESTION,
    SIDES,
    STAGES,
    QuickJudge,
    WordEncoder,
    case_of,
    documents,
    stand_in,
    store_library,
)
from model_replies import Body
from model_server import ModelServer
from numpy.typing import NDArray

from agent.options import RunOptions
from agent.runs.service import Runs
from agent.settings import load_settings
from tools.models.judges.judge import Pair
from tools.passages import PassageText
from tools.store.database import Database
from tools.store.store import SAMPLES, PreparedDocument, Store

pytestmark = pytest.mark.both_stores


async def answered_while_documents_change(
    providers: str, change: str, question: str, folder: Path, patch: pytest.MonkeyPatch
) -> str:
    """A run's answer; the documents are deleted or replaced, through another connection, while a judge or a chat model
    is at work."""
    store_library(data := folder / "data")
    stand_in(patch)

    def changed() -> None:
        database = Database(data / "steelman.db")
        store, encoder = Store(database), WordEncoder()
        if change == "delete" and store.has_collection(SAMPLES):
            store.delete_collection(SAMPLES)
        if change == "replace":
            other = (PassageText("Boats leave at noon."),)
            made = [
                PreparedDocument(replace(d, text=other[0].text), other, encoder.encode(["Boats"])) for d in documents()
            ]
            store.put(store.collection(SAMPLES)[0], made)
        database.close()

    class ChangingJudge(QuickJudge):
        def score(self, pairs: Sequence[Pair]) -> NDArray[np.float32]:
            changed()
            return super().score(pairs)

    def written(body: Body) -> Any:
        changed()
        return case_of(body)

    with ModelServer(strict=False) as server:
        server.on(STAGES["expand"], SIDES).on(STAGES["write"], written)
        chat = {"openai_base_url": server.url, "model": "test-model", "openai_api_key": "sk"}
        if providers == "embedded":
            patch.setattr("tools.models.judges.embedded.load_judge", lambda: ChangingJudge())
        settings = load_settings(judge="embedded", **(chat if providers == "chat" else {}))
        async with Runs(settings) as runs:
            options = RunOptions.of(deadline_seconds=30, max_rounds=0, collections=(SAMPLES,))
            answer = await runs.answer(await runs.start(question, options))
    cited = [f"[{bool(c.quote)} {c.publisher}]" for c in answer.citations]
    return "\n".join([answer.outcome, *cited, *(n.text for n in answer.notes)])


@pytest.mark.parametrize(("providers", "change"), [("embedded", "delete"), ("chat", "replace")])
async def test_an_answer_quotes_what_was_there_and_says_so(
    providers: str, change: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = await answered_while_documents_change(providers, change, QUESTION, tmp_path, monkeypatch)
    assert told.startswith("answered\n[True ")
    assert "Replaced or deleted while this was answered" in told
