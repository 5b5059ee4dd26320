"""A model that does what each prompt asks, and a small library, for whole runs against the scripted server.

`library_template` and `library` are fixtures: the second is the settings' data folder with the library in it, and what
this process would load of weights is replaced by an encoder of words and a judge that answers at once.
Tests import names from here too, which happens before it becomes a plugin: PYTEST_DONT_REWRITE.
"""

import asyncio
import re
import shutil
from collections.abc import AsyncIterator, Sequence
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from model_replies import Body
from model_server import ModelServer, Reply, word_vector
from numpy.typing import NDArray

from agent.answer.model import Answer
from agent.options import RunOptions
from agent.runs.service import Runs
from agent.settings import Settings
from tools.documents.ingest import Ingester
from tools.models.chat.model import ChatModel
from tools.models.judges.judge import LocalJudge, Pair
from tools.passages import SourceDocument
from tools.store.database import Database
from tools.store.hybrid import HybridSearch
from tools.store.store import SAMPLES, Store

NUMBERED = re.compile(r"^(?:<document[^>]*>)?\[(\d+)\] (.*?)(?:</document>)?$", re.MULTILINE)
SIDE = re.compile(r'<side label="(\w+)">(.*?)</side>')
_LINE = re.compile(r"^(?:<document[^>]*>)?\[(P\w+)\] (.*?)(?:</document>)?$", re.MULTILINE)
_SENTENCE = re.compile(r"[^.!?]+[.!?]")

QUESTION = "Should voting be compulsory?"
STAGES = {
    "expand": "list the perspectives",
    "requery": "new queries that could find",
    "judge": "Read each passage for every side",
    "write": "one for each distinct reason",
    "check": "Check every claim",
    "crux": "Find the one point",
}
"""Words of each stage's prompt; 'expand' is the plan, which frames the question too."""
SIDES: dict[str, Any] = {
    "form": "polar",
    "question": "Should voting be compulsory?",
    "language": "English",
    "focus": "",
    "perspectives": [
        {"name": "Make it a duty", "statement": "Voting should be compulsory.", "stance": "supports"},
        {"name": "Leave it free", "statement": "Voting should not be compulsory.", "stance": "opposes"},
        {"name": "Make it easy", "statement": "Voting should be made easier, not compulsory.", "stance": "other"},
    ],
}
"""A plan for the question."""
QUERIES = {"queries": ["turnout law evidence", "fines for absent voters"]}


def answering(server: ModelServer, *, again: bool = False, usage: tuple[int, int] | None = None) -> ModelServer:
    """The server with rules that answer every stage of a question on compulsory voting; `again`: a side needs it.
    usage: tokens given and made that the server names for each call."""
    server.on(STAGES["expand"], Reply(SIDES, usage=usage), times=1)
    if again:
        server.on(STAGES["requery"], Reply(QUERIES, usage=usage))
    server.on(STAGES["write"], lambda body: Reply(case_of(body), usage=usage), times=3)
    server.on(STAGES["check"], lambda body: Reply(said_all(body), usage=usage))
    server.on(STAGES["crux"], Reply({"text": "", "claims": []}, usage=usage))
    return server


def case_of(body: Body) -> dict[str, Any]:
    """A claim for each of the first passages: the longest sentence of it, as a writer would keep to its source."""
    text = body["messages"][-1]["content"]
    claims = []
    for number, passage in NUMBERED.findall(text)[:5]:
        sentence = max(_SENTENCE.findall(unescape(passage)), key=len, default="").strip()
        claims.append({"text": " ".join(sentence.split()), "passages": [int(number)]})
    return {"claims": claims}


def read_request(body: Body) -> tuple[dict[str, str], dict[str, str]]:
    """The labels of the sides, and of the passages, by their text, of a request to judge passages."""
    text = body["messages"][-1]["content"]
    sides, passages = SIDE.findall(text), _LINE.findall(text)
    return {unescape(t): label for label, t in sides}, {unescape(t): label for label, t in passages}


CITED = re.compile(r"^(?:<document[^>]*>)?\[(P\w+)\] (.*?)$", re.MULTILINE)
_CHECKED = re.compile(r'<claim label="(\w+)" cites="([\w ]*)"[^>]*>(.*?)</claim>')


def check_reply(verdicts: Sequence[dict[str, str]]) -> dict[str, Any]:
    """The reply of a model with these verdicts on claims."""
    yes = {"said": "yes", "serves": "yes"}
    hold = [v["claim"] for v in verdicts if yes.items() <= v.items()]
    return {"hold": hold, "others": [{"corrected": "", **v} for v in verdicts if v["claim"] not in hold]}


def said_all(body: Body) -> dict[str, Any]:
    """A check that finds every claim in its passages whose words stand there."""
    text = unescape(body["messages"][-1]["content"])
    passages = {label: set(words.split()) for label, words in CITED.findall(text)}
    said = {
        label: "yes" if {*claim.split()} <= set().union(*map(passages.__getitem__, cites.split())) else "no"
        for label, cites, claim in _CHECKED.findall(text)
    }
    return check_reply([{"claim": label, "said": word, "serves": "yes"} for label, word in said.items()])


async def run(given: Settings, seconds: float = 3.0, question: str = QUESTION, **options: Any) -> Answer:
    """The answer of a whole run with these settings."""
    async with Runs(given) as runs:
        run_id = await runs.start(question, RunOptions.of(deadline_seconds=seconds, **options))
        return await asyncio.wait_for(runs.answer(run_id), seconds + 5)


class WordEncoder:
    """Vectors from the words of a text."""

    name = "words"
    dimensions = 384  # as the weights of the kinds of questions want

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        made = np.asarray([word_vector(t) for t in texts], np.float32).reshape(len(texts), 64)
        return np.pad(made, ((0, 0), (0, self.dimensions - 64)))

    def encode_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self.encode(texts)


class QuickJudge(LocalJudge):
    """Goes by the word 'not', and finds nothing for what the library is silent on."""

    name = "quick"
    threshold = 0.5

    def score(self, pairs: Sequence[Pair]) -> NDArray[np.float32]:
        return np.asarray([self._score(p) for p in pairs], np.float32)

    @staticmethod
    def _score(pair: Pair) -> float:
        if "easier" in pair.statement:
            return 0.1
        denies = " not " in pair.statement or pair.statement.startswith("No: ")
        return 0.9 if denies == (" not " in pair.text) else 0.2


def documents() -> list[SourceDocument]:
    """Sixteen short texts, each of a publisher of its own; half of them for, half against."""
    return [
        SourceDocument(
            town.lower(),
            f"Voting should {'not ' * (n % 2)}be compulsory, said the {who} of {town}. {what}",
            publisher=f"{town} Press",
        )
        for n, (town, who, what) in enumerate(entry.split(" ", 2) for entry in _SAID)
    ]


_SAID = [
    "Arden mayor Queues there reached round the church last May.",
    "Brill sheriff Nobody ought to drive nine miles for a pencil cross.",
    "Corby teacher Pupils count ballots in mock elections every autumn.",
    "Dunmow miller His own mill closes on no day of the year.",
    "Ewell nurse Wards were promised money when patients cast ballots.",
    "Frome printer Spoiled papers filled two bins behind her shop.",
    "Goole pilot Harbour dues fell after dockers turned out in force.",
    "Hythe warden Fines would land on those who can least afford them.",
    "Ilford baker Bread prices were on every leaflet that spring.",
    "Jarrow judge Silence is also speech in the eyes of a court.",
    "Kelso farmer Rural roads got tarmac once crofters were heard.",
    "Ludlow monk An abbey keeps out of contests between princes.",
    "Malton clerk Registers were complete for the first time since 1911.",
    "Nairn sailor Crews at sea cannot walk into any booth.",
    "Oakham doctor Young men came to the clinic and asked about ballots.",
    "Poole painter Canvases tell more about a town than tallies do.",
]


@pytest.fixture(scope="session")
def library_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("library")
    store_library(folder)
    return folder


def store_library(folder: Path) -> None:
    settings = Settings(data_dir=folder)
    database, encoder = Database(settings.database), WordEncoder()
    store = Store(database)
    search = HybridSearch(store, settings.data_dir / "index", encoder)
    Ingester(store, search, encoder).ingest(documents(), SAMPLES)
    search.close()
    database.close()


@pytest.fixture
async def chat_model(server: ModelServer) -> AsyncIterator[ChatModel]:
    """A chat model at the scripted server."""
    made = ChatModel("test-model", url=server.url, silence=5.0)
    yield made
    await made.aclose()


@pytest.fixture
def library(library_template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that STEELMAN_DATA_DIR names, filled."""
    shutil.copytree(library_template, tmp_path / "data")
    stand_in(monkeypatch)
    return tmp_path / "data"


def stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """The encoder of words and the judge that answers at once in the place of the weights."""
    import langchain_openai  # noqa: F401  # what it costs to import is no test's subject

    monkeypatch.setattr("tools.models.encoders.load_encoder", lambda: WordEncoder())
    monkeypatch.setattr("tools.models.judges.embedded.load_judge", lambda: QuickJudge())
    monkeypatch.setattr("agent.runs.bootstrap.index_samples", lambda *_: None)  # the library stands in for them
