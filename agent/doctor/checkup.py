"""What is on, whether it works, and how to turn on the rest: what the doctor prints and the page's settings show.

`parts` lists what there is to look at, `examine` tries one of them. Whatever is said holds no key and no password.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Literal
from urllib.parse import parse_qs, unquote

from pydantic import SecretStr

from agent.doctor import checks
from agent.doctor.checks import Tools
from agent.providers.chats import uses_chat
from agent.providers.judging import build_judge, judges_in_batches
from agent.providers.retrieval import build_engine
from agent.seams import Providers
from agent.settings import Settings
from tools.errors import SteelmanError

CheckState = Literal["ok", "fails", "off"]
_SHORTEST_SECRET = 4  # characters; what is shorter is no key, and would be found in any word


@dataclass(frozen=True, slots=True)
class Part:
    """Something to look at. `serves` says what it is for; `check` tries it and returns what it is, None for what is
    off, which `turned_on` says how to change."""

    name: str
    serves: str
    check: Callable[[], str] | None = None
    turned_on: str = ""
    secrets: tuple[str, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class Finding:
    """What came of trying a part: what it is, what failed and what to do next, or how it is turned on."""

    name: str
    serves: str
    state: CheckState
    detail: str
    seconds: float = 0.0


def parts(settings: Settings, *, ask: bool = False, opened: Providers | None = None) -> list[Part]:
    """What is on, and then what is off. Nothing is tried yet.

    `ask`: what costs something is to be tried too. `opened`: the providers of a service that is open in this process;
    its store, indexes and models are looked at, so that none of them is opened or loaded a second time.
    Raises what building the judge or the search engine raises for settings that cannot be used.
    """
    tools, secrets = Tools(settings, opened), _secrets(settings)
    on = [Part(name, serves, partial(check, tools), secrets=secrets) for name, serves, check in _on(settings, ask=ask)]
    off = [Part(name, serves, turned_on=f"on with {how}") for name, serves, how in _off(settings)]
    return [*on, *off]


def examine(part: Part) -> Finding:
    """Tries the part, which may take up to half a minute where a server is silent.

    For a thread without a running event loop; several may be examined at once, in threads of their own.
    """
    if part.check is None:
        return Finding(part.name, part.serves, "off", part.turned_on)
    began = time.monotonic()
    state: CheckState = "ok"
    try:
        detail = part.check()
    except SteelmanError as exc:
        state, detail = "fails", str(exc)
    for secret in part.secrets:
        detail = detail.replace(secret, "…")
    return Finding(part.name, part.serves, state, detail, time.monotonic() - began)


def _secrets(settings: Settings) -> tuple[str, ...]:
    """Every key and password of the settings, longest first, for what servers and libraries say back."""
    found: set[str] = set()
    for name in Settings.model_fields:
        value = getattr(settings, name)
        if isinstance(value, SecretStr):
            found.add(value.get_secret_value().strip())
        elif isinstance(value, str) and "://" in value:
            found |= _passwords(value)
    return tuple(sorted((s for s in found if len(s) >= _SHORTEST_SECRET), key=len, reverse=True))


def _passwords(address: str) -> set[str]:
    """What an address holds of logins, as it is written there and as it is meant; of a database only the password."""
    scheme, _, rest = address.partition("://")
    login = rest.partition("?")[0].rpartition("@")[0]
    written = {login.partition(":")[2], *parse_qs(address.partition("?")[2]).get("password", [])}
    if scheme.startswith("http"):
        written.add(login)  # a token may stand alone in front of the host
    return written | {unquote(w) for w in written}


Check = Callable[[Tools], str]


def _on(settings: Settings, *, ask: bool) -> Iterator[tuple[str, str, Check]]:

    speaks = "follow-ups, the sides, further queries and the claims"
    yield "data", "what was ingested, and the runs", checks.data
    yield "encoder", "search by meaning", checks.encoder
    yield "indexes", "search by meaning and by words", checks.indexes
    if uses_chat(settings):
        yield "chat model", speaks, checks.chat_asked if ask else checks.chat
    else:
        yield "language", speaks, checks.language
    judge = checks.served_judge if build_judge(settings) else checks.own_judge
    if judges_in_batches(settings) and not ask:
        judge = checks.batch_judge
    yield "judge", "what supports which side, and whether a claim holds", judge
    if build_engine(settings):
        yield "web search", "pages from the web", checks.web_asked if ask else checks.web
    if settings.reranker:
        yield "re-ranker", "the order of what was found", checks.reranker
    yield "checkpoints", "going on with a run that was stopped", checks.checkpoints


def _off(settings: Settings) -> list[tuple[str, str, str]]:
    """What is not on: its name, what it would serve, and the variables for `.env` that turn it on."""

    speaks, other = "questions in any language, and sides, queries and claims of a model", "another model's search"
    encoder = settings.encoder or settings.embeddings_url
    lines: tuple[tuple[object, str, str, str], ...] = (
        (
            uses_chat(settings),
            "chat model",
            speaks,
            "OPENAI_API_KEY, or OPENAI_BASE_URL and STEELMAN_MODEL for your own (`make local-models`), or "
            "STEELMAN_MODEL=anthropic:NAME",
        ),
        (
            build_judge(settings) and not judges_in_batches(settings),
            "judge server",
            "a larger judge",
            "STEELMAN_JUDGE_URL and STEELMAN_JUDGE_MODEL; see `make local-models`",
        ),
        (
            build_engine(settings),
            "web search",
            "pages from the web",
            "TAVILY_API_KEY, SERPER_API_KEY, or STEELMAN_WEB=ddgs without a key",
        ),
        (settings.chroma_url, "Chroma server", "the dense index outside this process", "CHROMA_URL"),
        (
            encoder,
            "other encoder",
            other,
            "STEELMAN_ENCODER, or STEELMAN_EMBEDDINGS_URL and STEELMAN_EMBEDDINGS_MODEL",
        ),
        (settings.reranker, "re-ranker", "the order of what was found", "STEELMAN_RERANKER"),
    )
    return [(name, serves, how) for on, name, serves, how in lines if not on]
