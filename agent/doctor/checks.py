"""What a checkup tries: each check says in words what its part is, or raises what is wrong with it.

Checks are for threads without a running event loop. What holds weights or files is taken from a service that is open
in the process; clients of servers are made anew, since they belong to one event loop.
"""

import asyncio
from collections.abc import Coroutine, Iterable, Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from agent.providers.chats import build_chats
from agent.providers.judging import build_judge, build_own_judge
from agent.providers.retrieval import build_encoder, build_engine, build_search
from agent.seams import Providers
from agent.settings import Settings
from tools.errors import ProviderDownError, ProviderReplyError
from tools.inference.judges.judge import CloseJudge, Pair
from tools.net.http import without_login
from tools.store.database import Database
from tools.store.store import Store

if TYPE_CHECKING:
    from tools.inference.chat.model import ChatModel
    from tools.inference.encoders.encoder import Encoder

T = TypeVar("T")
_SECONDS = 20.0


class Tools:
    """What the checks work with: what is open already, else what they open for themselves."""

    def __init__(self, settings: Settings, opened: Providers | None) -> None:
        self.settings = settings
        self.opened = opened

    @contextmanager
    def store(self) -> Iterator[Store]:
        if self.opened is not None:
            yield self.opened.store
            return
        with closing(Database(self.settings.database_path)) as database:
            yield Store(database)

    def encoder(self) -> "Encoder":
        """What the collections are indexed with; one behind an address is made anew, so that its server is asked."""
        from tools.inference.encoders.encoder import load_encoder

        if self.opened is not None and not self.settings.embeddings_url:
            return self.opened.models.retrieval_encoder
        embedded = self.opened.models.encoder if self.opened else load_encoder()
        return build_encoder(self.settings, embedded)


def _wait(work: Coroutine[Any, Any, T], what: str) -> T:
    """The result of asynchronous work; raises ProviderDownError when it takes too long."""

    async def limited() -> T:
        try:
            async with asyncio.timeout(_SECONDS):
                return await work
        except TimeoutError as exc:
            raise ProviderDownError(f"{what} did not answer within {_SECONDS:.0f} seconds.") from exc

    return asyncio.run(limited())


def data(tools: Tools) -> str:
    with tools.store() as store:
        held = ", ".join(f"{c.name} ({c.passages} passages)" for c in store.collections())
    return f"{tools.settings.data_dir}: {held or 'nothing yet; `ask` indexes the samples'}"


def encoder(tools: Tools) -> str:
    settings, encoder = tools.settings, tools.encoder()
    where = without_login(settings.embeddings_url) or ("sentence-transformers" if settings.encoder else "embedded")
    return f"{encoder.name}, {encoder.dimensions} dimensions, {where}"


def indexes(tools: Tools) -> str:

    settings, encoder = tools.settings, tools.encoder()
    with tools.store() as store:
        search = tools.opened.search if tools.opened else build_search(settings, store, encoder)
        before = search.condition()
        try:
            if tools.opened is None:  # an open one is brought up to date by its searches, where it has to be
                search.refresh()
            for collection in store.collections():
                search.search("test", encoder.encode_queries(["test"])[0], [collection.name], 1)
        finally:
            if tools.opened is None:
                search.close()
    where = f"Chroma at {without_login(settings.chroma_url)}, tantivy in this process" if settings.chroma_url else ""
    mended = f"; before this check: {' '.join(before)}" if before else ""
    return f"{where or 'Chroma and tantivy, both in this process'}, up to date with the store{mended}"


def language(tools: Tools) -> str:
    return "frame, sides, queries and claims are embedded (English, by rules and verbatim quotation)"


def chat(tools: Tools) -> str:
    """Asks for the lists of models, which costs nothing and tells whether address, key and names are right."""
    insisted = "fails without it" if tools.settings.provider == "chat" else "the embedded one stands in when it fails"
    return f"{_offered({m.name: m for m in build_chats(tools.settings).values()}.values())}; {insisted}"


def _offered(models: "Iterable[ChatModel]") -> str:
    """Which models are offered where. Raises ProviderDownError, ProviderReplyError where one is not."""
    served: dict[str, list[str]] = {}
    listed: dict[str, list[str]] = {}
    for model in models:
        if model.address not in listed:
            listed[model.address] = _wait(model.listed(), model.address)
        offered = listed[model.address]
        if not model.offered(offered):
            some = ", ".join(offered[:8]) + (" …" if len(offered) > 8 else "")
            raise ProviderReplyError(f"{model.address} does not offer {model.name}. It offers: {some or 'nothing'}.")
        served.setdefault(model.address, []).append(model.name)
    return ", ".join(f"{', '.join(names)} at {address}" for address, names in served.items())


def chat_asked(tools: Tools) -> str:
    """Asks each model for the framing of one question."""
    from agent.providers.chat.framing import ChatFramer

    async def ask_once() -> None:
        for model in {m.name: m for m in build_chats(tools.settings).values()}.values():
            try:
                await ChatFramer(model).frame("Should voting be compulsory?", [])
            finally:
                await model.aclose()

    _wait(ask_once(), "the chat model")
    return f"{chat(tools)}; answered a question"


def own_judge(tools: Tools) -> str:
    judge = tools.opened.models.own_judge if tools.opened else build_own_judge(tools.settings)
    judge.score([_pair()])
    if isinstance(judge, CloseJudge):
        judge.closely([_pair()])
    return f"{judge.name}, accepts a passage from {judge.threshold:.2f} on, embedded"


def served_judge(tools: Tools) -> str:

    judge = build_judge(tools.settings)
    assert judge is not None  # this check is only made where there is one
    where = without_login(judge.address)

    async def ask_once() -> float:
        try:
            return float((await judge.support([_pair()], _SECONDS))[0])
        finally:
            if close := getattr(judge, "aclose", None):  # of a client that belongs to this event loop
                await close()

    score = _wait(ask_once(), where)
    if score != score:
        raise ProviderReplyError(f"{judge.name} at {where} gave no verdict.")
    insisted = "fails without it" if tools.settings.judge != "auto" else "the embedded judge stands in when it fails"
    return f"{judge.name} at {where}, accepts a passage from {judge.threshold:.2f} on; {insisted}"


def batch_judge(tools: Tools) -> str:
    """A chat model that judges is not asked, since that costs; whether it is offered is, which does not."""
    from tools.inference.judges.batch import BatchJudge

    judge = build_judge(tools.settings)
    assert isinstance(judge, BatchJudge)  # this check is only made where there is one
    _offered([judge.model])
    insisted = "fails without it" if tools.settings.judge != "auto" else "the embedded judge stands in when it fails"
    return f"{judge.name} at {without_login(judge.address)}, not asked (`doctor --ask` asks it); {insisted}"


def _pair() -> Pair:
    """What every judge is tried with."""
    text, contrary = "Every citizen ought to be obliged by law to vote.", "Voting should not be compulsory."
    return Pair("Voting should be compulsory.", text, contrary)


def web(tools: Tools) -> str:
    from tools.web.domains import DomainLists

    engine = build_engine(tools.settings)
    assert engine is not None  # this check is only made where there is one
    lists = DomainLists.load(tools.settings.domains)
    listed = f"{len(lists.prefer)} preferred, {len(lists.block)} blocked, {len(lists.allow) or 'all'} allowed domains"
    return f"{engine.name} at {engine.address}, not asked (`doctor --ask` asks it); {listed}"


def web_asked(tools: Tools) -> str:

    engine = build_engine(tools.settings)
    assert engine is not None  # this check is only made where there is one
    results = _wait(engine.search("arguments for and against compulsory voting", 5), engine.name)
    return f"{engine.name} at {engine.address}: {len(results)} results"


def reranker(tools: Tools) -> str:
    from tools.inference.encoders.reranker import Reranker

    reranker = (tools.opened and tools.opened.reranker) or Reranker(tools.settings.reranker)
    reranker.scores("test", ["a test"])
    return tools.settings.reranker


def checkpoints(tools: Tools) -> str:
    from agent.runs.checkpoints import open_checkpointer

    async def opened() -> str:
        async with open_checkpointer(tools.settings):
            return "Postgres" if tools.settings.checkpoint_url else f"SQLite in {tools.settings.checkpoint_path}"

    return asyncio.run(opened())
