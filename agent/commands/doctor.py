"""Checks of every configured part, for `doctor` and the page's settings.

`doctor_checks` lists them; `run_check` runs one, in a thread without a running event loop. Models and stores come from
the service that is open in the process, if there is one. Each check builds its own clients of servers, because a client
belongs to one event loop. No message contains a key or a password.
"""

import asyncio
import math
import time
from collections.abc import Callable, Coroutine, Iterable, Iterator
from contextlib import ExitStack, aclosing, closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeVar
from urllib.parse import parse_qs, unquote

from pydantic import SecretStr

from agent.answer.wording import provider_name
from agent.providers import from_settings
from agent.providers.websearch import search_source
from agent.runs.bootstrap import build_own_judge
from agent.settings import Settings
from agent.stage_interfaces import Providers
from tools.errors import ProviderDownError, ProviderReplyError, SteelmanError
from tools.models.judges.judge import Judge, Pair
from tools.net.http import without_login
from tools.net.pool import split_addresses
from tools.store.database import Database
from tools.store.store import Store
from tools.translation import mark, tr

if TYPE_CHECKING:
    from tools.models.chat.model import ChatModel
    from tools.models.encoders import Encoder

T = TypeVar("T")
CheckState = Literal["ok", "fails", "off"]
_SECONDS = 20.0
_SHORTEST_SECRET = 4  # characters; a shorter text is no key and may occur in any word
_PAIR = Pair(
    "Voting should be compulsory.", "Every citizen ought to be obliged to vote.", "Voting should not be compulsory."
)
"""A statement, a text and the opposing statement, to test a judge with."""


@dataclass(frozen=True, slots=True)
class DoctorCheck:
    """A part. check: returns a description or raises; None for a part that is off. turned_on: how to turn it on."""

    name: str
    check: Callable[[], str] | None
    turned_on: str
    secrets: tuple[str, ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class DoctorFinding:
    """The result of a check: a description, a failure with its remedy, or how to turn the part on."""

    name: str
    state: CheckState
    detail: str
    seconds: float = 0.0

    @property
    def word(self) -> str:
        return {"ok": tr("ok"), "off": tr("off"), "fails": tr("FAILS")}[self.state]


def doctor_checks(settings: Settings, *, opened: Providers | None = None) -> list[DoctorCheck]:
    """Returns the checks of the parts that are on, then the checks of the parts that are off.

    opened: the providers of a service that runs in this process. The checks use these providers and load no others.
    No check sends a request that costs something. Raises SettingsError for an unusable judge or search engine.
    """
    parts, secrets = _parts(_Checks(settings, opened)), _secrets(settings)
    made = [DoctorCheck(name, check, tr("on with {settings}", settings=how), secrets) for name, check, how in parts]
    return sorted(made, key=lambda part: part.check is None)


def run_check(part: DoctorCheck) -> DoctorFinding:
    """Runs a check. This takes up to half a minute if a server does not answer."""
    if part.check is None:
        return DoctorFinding(part.name, "off", part.turned_on)
    began = time.monotonic()
    state: CheckState = "ok"
    try:
        detail = part.check()
    except SteelmanError as exc:
        state, detail = "fails", str(exc)
    for secret in part.secrets:
        detail = detail.replace(secret, "…")
    return DoctorFinding(part.name, state, detail, time.monotonic() - began)


def _secrets(settings: Settings) -> tuple[str, ...]:
    """Returns all keys and passwords of the settings, longest first, to remove them from messages."""
    found: set[str] = set()
    for name in Settings.model_fields:
        value = getattr(settings, name)
        if isinstance(value, SecretStr):
            found.add(value.get_secret_value().strip())
        elif isinstance(value, str):
            addresses = settings.mcp_servers.values() if name == "mcp_sources" else [value]
            found.update(*(_passwords(address) for address in addresses if "://" in address))
    return tuple(sorted((s for s in found if len(s) >= _SHORTEST_SECRET), key=len, reverse=True))


def _passwords(address: str) -> set[str]:
    """Returns an address's passwords, for http(s) also logins and the query's values, as written and URL-decoded."""
    scheme, _, rest = address.partition("://")
    login = rest.partition("?")[0].rpartition("@")[0]
    query = parse_qs(address.partition("?")[2])
    written = {login.partition(":")[2], *query.get("password", [])}
    if scheme.startswith("http"):
        written.update([login], *query.values())  # a token may precede the host, a key follow it
    return written | {unquote(w) for w in written}


def _parts(checks: "_Checks") -> Iterator[tuple[str, Callable[[], str] | None, str]]:
    """Yields each part's name, its check if it is on, and the variables that turn it on."""
    settings = checks.settings
    chat, judge = from_settings.uses_chat(settings), from_settings.build_judge(settings)
    yield mark("data"), checks.data, ""
    yield mark("encoder"), checks.encoder, ""
    yield mark("indexes"), checks.indexes, ""
    if not chat:
        yield mark("language"), lambda: tr("built in (English, by rules and verbatim quotation)"), ""
    how = tr(
        "OPENAI_API_KEY, or OPENAI_BASE_URL and STEELMAN_MODEL for your own (`make local-models`), or "
        "STEELMAN_MODEL=anthropic:NAME"
    )
    yield mark("chat model"), checks.chat if chat else None, how
    yield mark("judge"), checks.served_judge if judge else checks.own_judge, ""
    if not judge or from_settings.judges_in_batches(settings):
        yield mark("judge server"), None, tr("STEELMAN_JUDGE_URL and STEELMAN_JUDGE_MODEL; see `make local-models`")
    how = tr("TAVILY_API_KEY, SERPER_API_KEY, or STEELMAN_WEB=ddgs without a key")
    yield mark("web search"), checks.web if from_settings.build_engine(settings) else None, how
    on = from_settings.sources_on(settings)
    for name in on:
        yield tr("source {name}", name=name), partial(checks.source, name), ""
    yield mark("checkpoints"), checks.checkpoints, ""
    if names := ", ".join(name for name in from_settings.installed_sources() if name not in on):
        how = tr("STEELMAN_SOURCES ({names}), or SEMANTIC_SCHOLAR_API_KEY", names=names)
        yield mark("other sources"), None, how
    if not settings.chroma_url:
        yield mark("Chroma server"), None, "CHROMA_URL"
    if not (settings.encoder or settings.embeddings_url):
        how = tr("STEELMAN_ENCODER, or STEELMAN_EMBEDDINGS_URL and STEELMAN_EMBEDDINGS_MODEL")
        yield mark("other encoder"), None, how


@dataclass(frozen=True)
class _Checks:
    """Checks by part: each returns a description or raises."""

    settings: Settings
    _opened: Providers | None

    def data(self) -> str:
        with self._store() as store:
            held = ", ".join(
                tr("{collection} ({number} passages)", collection=c.name, number=c.passages)
                for c in store.collections()
            )
        folder = self.settings.data_dir
        where = tr("Postgres and {folder}", folder=folder) if self.settings.database_url else folder
        return f"{where}: {held or tr('nothing yet; `ask` indexes the samples')}"

    def encoder(self) -> str:
        settings = self.settings
        for alone in _each_server(settings, "embeddings_url"):
            encoder = _Checks(alone, self._opened)._encoder()
            assert encoder.dimensions  # asks the server
        where = without_login(settings.embeddings_url) or (
            "sentence-transformers" if settings.encoder else tr("built in")
        )
        return tr("{name}, {number} dimensions, {where}", name=encoder.name, number=encoder.dimensions, where=where)

    def indexes(self) -> str:
        settings, encoder = self.settings, self._encoder()
        with self._store() as store, ExitStack() as closing_last:
            search = self._opened.search if self._opened else from_settings.build_search(settings, store, encoder)
            if self._opened is None:  # an open service's indexes are updated by searches
                closing_last.callback(search.close)
                search.refresh()
            for collection in store.collections():
                search.search("test", encoder.encode_queries(["test"])[0], [collection.name], 1)
        if not settings.chroma_url:
            return tr("Chroma and tantivy, both in this process, up to date with the store")
        chroma = without_login(settings.chroma_url)
        return tr("Chroma at {address}, tantivy in this process, up to date with the store", address=chroma)

    def chat(self) -> str:
        """Lists the models, which is free and checks address, key and names."""
        offered = _offered(dict.fromkeys(from_settings.build_chat_models(self.settings).values()))
        required = self.settings.provider == "chat"
        return f"{offered}; {tr('fails without it') if required else tr('the built-in one stands in when it fails')}"

    def own_judge(self) -> str:
        judge = self._opened.models.own_judge if self._opened else build_own_judge(self.settings)
        asyncio.run(judge.support([_PAIR]))
        asyncio.run(judge.stances([_PAIR], closely=True))
        name = tr("built in") if judge.name.startswith("embedded") else provider_name(judge.name)
        least = f"{judge.threshold:.2f}"
        return tr("{judge}, accepts a passage from {least} on, in this process", judge=name, least=least)

    def served_judge(self) -> str:
        """Asks each server for one verdict, or for its models if it is a chat model, whose verdicts cost money."""
        judge = from_settings.build_judge(self.settings)
        assert judge is not None  # this check runs only with a remote judge
        where, name = without_login(judge.address), provider_name(judge.name)
        auto = self.settings.judge == "auto"
        instead = tr("the built-in judge stands in when it fails") if auto else tr("fails without it")
        if judge.chat:
            _offered([judge.chat])
            return tr("{name} at {where}, not asked", name=name, where=where) + f"; {instead}"

        async def ask_once(judge: Judge) -> float:
            async with aclosing(judge):
                return float((await judge.support([_PAIR]))[0])

        for alone in _each_server(self.settings, "judge_url" if self.settings.judge_url else "openai_base_url"):
            judge = from_settings.build_judge(alone)
            assert judge is not None
            if math.isnan(_wait(ask_once(judge), judge.address)):
                raise ProviderReplyError(f"{name} at {without_login(judge.address)} gave no verdict.")
        told = {"name": name, "where": where, "least": f"{judge.threshold:.2f}"}
        return tr("{name} at {where}, accepts a passage from {least} on", **told) + f"; {instead}"

    def web(self) -> str:
        engine = from_settings.build_engine(self.settings)
        assert engine is not None  # this check runs only with a search engine
        return tr("{name} at {where}, not asked", name=engine.title, where=engine.address)

    def source(self, name: str) -> str:
        """Asks a source without a price one question."""
        source = from_settings.build_source(self.settings, name)
        found = _wait(search_source(source, "bicycles", 1), source.title)
        told = {"name": source.title, "kind": source.kind, "where": without_login(source.address)}
        if found:
            return tr("{name} ({kind}) at {where}, answers", **told)
        return tr("{name} ({kind}) at {where}, answers, and found nothing for a test", **told)

    def checkpoints(self) -> str:
        from agent.runs.checkpoints import open_checkpointer

        async def opened() -> str:
            async with open_checkpointer(self.settings):
                file = tr("SQLite in {file}", file=self.settings.checkpoint_path)
                return "Postgres" if self.settings.database_url else file

        return asyncio.run(opened())

    @contextmanager
    def _store(self) -> Iterator[Store]:
        if self._opened is not None:
            yield self._opened.store.of("")  # other people may see this: no private collections
            return
        with closing(Database(self.settings.database)) as database:
            yield Store(database)

    def _encoder(self) -> "Encoder":
        """Returns the collections' encoder. Builds a remote encoder anew, so that the check asks its server."""
        from tools.models.encoders import load_encoder

        if self._opened is not None and not self.settings.embeddings_url:
            return self._opened.models.retrieval_encoder
        return from_settings.build_encoder(
            self.settings, self._opened.models.encoder if self._opened else load_encoder()
        )


def _each_server(settings: Settings, name: str) -> list[Settings]:
    """Returns the settings with each address of a list alone."""
    return [settings.model_copy(update={name: address}) for address in split_addresses(getattr(settings, name))]


def _wait(work: Coroutine[Any, Any, T], what: str) -> T:
    """Returns the result of asynchronous work. Raises ProviderDownError after _SECONDS."""
    try:
        return asyncio.run(asyncio.wait_for(work, _SECONDS))
    except TimeoutError as exc:
        raise ProviderDownError(f"{what} did not answer within {_SECONDS:.0f} seconds.") from exc


def _offered(models: "Iterable[ChatModel]") -> str:
    """Returns the models and their addresses. Raises ProviderDownError, ProviderReplyError for a missing model."""
    served: dict[str, list[str]] = {}
    listed: dict[str, dict[str, list[str]]] = {}
    for model in models:
        if model.address not in listed:
            listed[model.address] = _wait(model.list_models(), model.address)
        for address, offered in listed[model.address].items():
            if not model.is_among(offered):
                some = (", ".join(offered[:8]) or "nothing") + " …" * (len(offered) > 8)
                raise ProviderReplyError(f"{address} does not offer {model.name}. It offers: {some}.")
        served.setdefault(model.address, []).append(model.name)
    return ", ".join(f"{', '.join(names)} at {address}" for address, names in served.items())
