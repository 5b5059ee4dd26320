"""How the claims that a model wrote are voted on: who is asked a second time, and how two votes are joined."""

import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from answering_model import WordEncoder
from model_server import ModelServer, Reply
from numpy.typing import NDArray
from test_checker import Asked, asked, saying

from agent.providers.inference import Models
from agent.stages.verify import FOOLED, UNCHECKED, ClaimVerifier
from agent.state import Claim
from tools.budget import Budget, StageLog, budget_scope
from tools.models.cache import VectorCache
from tools.models.chat.model import ChatModel
from tools.models.judges.checker import ClaimChecker
from tools.models.judges.judge import LocalJudge, Pair
from tools.passages import Passage

FOR, AGAINST = "Ferries should be free.", "Ferries should not be free."
LOG: Any = {"title": "The harbour log", "publisher": "Fellside Press", "date": "2024-05-03"}
PASSAGES = {
    p.id: p
    for p in (
        Passage(1, "log", "c", "Ferries carry 40 nurses to work each day.", speaker="Cllr Moen", **LOG),
        Passage(2, "log", "c", "Fellside Hoteliers asked for free ferries.", position=1, **LOG),
        Passage(3, "tales", "c", "Bakers in Arden bake bread before dawn."),
    )
}
PLANTED = "Bakers in Arden bake bread before dawn."


class Turncoat(LocalJudge):
    """Sure that what praises bridges is against ferries, and otherwise of nothing."""

    name, threshold = "turncoat", 0.5

    def score(self, pairs: Sequence[Pair]) -> NDArray[np.float32]:
        return np.array([("not" in p.statement) * 0.999 if "bridges" in p.text else 0.5 for p in pairs], np.float32)


def claim(text: str, *passages: int, **more: Any) -> Claim:
    usual = {"perspective": "for", "text": text, "passages": list(passages), "support": 0.9, "role": "case"}
    return cast(Claim, {**usual, "written": True, **more})


class Bench:
    """A verifier over a scripted model, and what came of it."""

    def __init__(self, models: Models) -> None:
        names: Any = {"for": FOR, "against": AGAINST}
        sides = [{"id": i, "name": i, "statement": s, "stance": "other", "origin": "model"} for i, s in names.items()]
        contrary = ("against", "for")
        asked = {"question": "Should ferries be free?", "form": "polar", "focus": ""}
        faced = [{**s, "contrary": c} for s, c in zip(sides, contrary, strict=True)]
        state: Any = {"framing": asked, "perspectives": faced}
        store = SimpleNamespace(document_passages=self._document)
        providers: Any = SimpleNamespace(store=store, passages=self._passages, models=models, quote=None)
        self.checks = ClaimVerifier(providers, state, models.judge())
        self.log = StageLog()

    async def verify(self, *claims: Claim) -> dict[str, str]:
        """Each claim's text as it is shown, or the check that it failed."""
        with budget_scope(Budget(), self.log):
            held, dropped = await self.checks.verify_claims(claims)
        assert len(held) + len(dropped) == len(claims)
        return {c["text"]: "held" for c in held} | {d["text"]: d["check"] for d in dropped}

    @staticmethod
    def _passages(ids: Any, _: Any) -> dict[int, Passage]:
        return {i: PASSAGES[i] for i in ids if i in PASSAGES}

    @staticmethod
    def _document(passage: int) -> list[Passage]:
        return [p for p in PASSAGES.values() if p.document == PASSAGES[passage].document]


@pytest.fixture
def bench(chat_model: ChatModel, tmp_path: Path) -> Bench:
    checker = ClaimChecker(chat_model)
    return Bench(Models(WordEncoder(), Turncoat(), VectorCache(tmp_path / "cache.db"), checker=checker))


def answering(*words: str) -> list[Callable[[Any], Any]]:
    """A reply for each call that says the word of each claim; of a planted one 'no'."""
    return [saying(partial(_word, said)) for said in words]


def _word(said: str, a: Asked) -> dict[str, str]:
    return {"said": "no" if a.cites == [PLANTED] else said}


SOUND = "Each day forty nurses take the ferry to work."
DOUBTED = "Each day fifty nurses take the ferry to work."


@pytest.mark.parametrize(
    ("text", "votes", "outcome"),
    [
        (SOUND, ["yes"], "held"),
        (SOUND, ["no", "yes"], "held"),
        (SOUND, ["no", "no"], "source"),
        (DOUBTED, ["yes", "yes"], "held"),
        (DOUBTED, ["yes", "no"], "source"),
        ("Nurses prefer bridges to ferries.", ["yes", "no"], "source"),
    ],
)
async def test_a_refused_or_doubted_claim_is_asked_once_more(
    server: ModelServer, bench: Bench, text: str, votes: list[str], outcome: str
) -> None:
    server.on("", *answering(*votes))
    assert await bench.verify(claim(text, 1)) == {text: outcome}
    assert len(server.requests) == len(votes)


async def test_one_call_for_both_sides_and_a_second_for_those_in_question(server: ModelServer, bench: Bench) -> None:
    other = claim("Fellside's hoteliers want free ferries.", 2, perspective="against")

    def says(a: Asked) -> dict[str, str]:
        planted = a.cites == [PLANTED] and "Arden" not in a.text
        return {"said": "no" if planted else "yes", "serves": "no" if a.text == other["text"] else "yes"}

    server.on("", saying(says), saying(says))
    found = await bench.verify(claim(SOUND, 1), other, claim("Bakers bake before dawn in Arden.", 3))
    assert found == {SOUND: "held", other["text"]: "side", "Bakers bake before dawn in Arden.": "held"}
    first, second = (sorted(a.text for a in asked(r.body) if a.text != SOUND) for r in server.requests)
    assert (len(first), second[:1]) == (3, [other["text"]])


async def test_an_objection_that_does_not_argue_against_the_side_is_dropped(server: ModelServer, bench: Bench) -> None:
    server.on("", *[saying(lambda a: {"serves": "no" if "against=" in a.told else "yes"})] * 2)
    assert await bench.verify(claim(SOUND, 1, objection=True)) == {SOUND: "side"}


@pytest.mark.parametrize(
    ("corrected", "outcome"),
    [
        ("Ferries take 40 nurses to work.", {"Ferries take 40 nurses to work.": "held"}),
        ("Ferries take 45 nurses to work.", {"Nurses all take the ferry.": "source"}),
        ("Ferries take 40 nurses to work; see www.ferry.example.", {"Nurses all take the ferry.": "source"}),
    ],
)
async def test_a_correction_needs_its_facts(
    server: ModelServer, bench: Bench, corrected: str, outcome: dict[str, str]
) -> None:
    partly = saying(lambda a: {"said": "partly", "corrected": corrected} if a.cites != [PLANTED] else {"said": "no"})
    server.on("", *[partly] * (1 if "held" in outcome.values() else 2))
    assert await bench.verify(claim("Nurses all take the ferry.", 1)) == outcome


async def test_a_model_that_accepts_the_planted_claim_is_not_trusted(server: ModelServer, bench: Bench) -> None:
    server.on("", *[saying(lambda a: {})] * 2)
    bakers = claim("Bakers in Arden bake early.", 3)
    found = await bench.verify(claim(SOUND, 1), claim(DOUBTED, 1), bakers, claim("Bridges are dear, so bridges go.", 2))
    assert found == {
        SOUND: "held",
        DOUBTED: "source",
        bakers["text"]: "held",
        "Bridges are dear, so bridges go.": "source",
    }
    assert [note for note in bench.log.notes if note[1] == FOOLED] == [("degraded", FOOLED)]
    for request in server.requests:
        texts = [a.text for a in asked(request.body)]
        assert len(texts) == (5 if request is server.requests[0] else 3)


async def test_a_claim_that_does_not_speak_of_what_a_follow_up_asks_is_refused(
    server: ModelServer, bench: Bench
) -> None:
    bakers = claim("Bakers in Arden bake early.", 3)

    def says(body: Any) -> Any:
        told = re.search(
            r"asks only about <focus>(.*?)</focus>. A claim for or against a side serves only if", str(body)
        )
        assert (told and told[1]) == bench.checks.state["framing"]["focus"]
        return saying(lambda a: {} if "nurses" in a.text or not a.told else {"serves": "no"})(body)

    server.on("", *[says] * 2)
    bench.checks.state["framing"] |= {"focus": "the nurses"}
    whole = claim("Nurses and bakers rise early.", 1, 3, perspective="", role="crux")
    assert await bench.verify(claim(SOUND, 1), bakers, whole) == {
        SOUND: "held",
        bakers["text"]: "side",
        whole["text"]: "held",
    }


@pytest.mark.parametrize(("form", "focus"), [("polar", ""), ("counter", "Nurses need ferries.")])
async def test_without_a_topic_the_check_names_none(server: ModelServer, bench: Bench, form: Any, focus: str) -> None:
    server.on("", saying(lambda a: {}))
    bench.checks.state["framing"] |= {"form": form, "focus": focus}
    assert await bench.verify(claim(SOUND, 1)) == {SOUND: "held"}
    assert "asks only about" not in server.prompts()[0]


async def test_an_unchecked_claim_is_left_out(server: ModelServer, bench: Bench) -> None:
    server.on("", Reply("no such model", status=404))
    assert await bench.verify(claim(SOUND, 1)) == {SOUND: "unchecked"}
    assert await bench.verify(claim(DOUBTED, 1)) == {DOUBTED: "unchecked"}
    assert len(server.requests) == 1
    notes = [text for kind, text in bench.log.notes if kind == "degraded"]
    assert (notes[0].startswith("What the model wrote was not checked: "), notes[1]) == (True, UNCHECKED)
