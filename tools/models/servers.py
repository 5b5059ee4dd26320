"""What servers of chat models are like: which models they offer at what price, whose turn it is to ask one, and
whether it read all of a prompt.

Some cut what is longer than their context and say nothing: Ollama does, whose context has 4,096 tokens where nobody set
another one. What such a server counts as read tells it: far fewer tokens than so many characters take. Prose has four
to five characters a token, and for no tokenizer more than six. It is believed sooner where the number is a context's: a
multiple of 512, of which Ollama fills all or half and two.
"""

import asyncio
import math
import tomllib
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

from tools.budget import current_budget, current_log
from tools.errors import PromptTooLongError, ProviderDownError, ProviderReplyError, SettingsError
from tools.models.chat.vendors import COMPATIBLE, Vendor, vendor_of
from tools.net.http import (
    check_address,
    check_key,
    fetch_json,
    is_local,
    open_client,
    reply_json,
    strip_headers,
    without_login,
)

if TYPE_CHECKING:
    import httpx
    from openai import AsyncOpenAI


async def models_at(url: str, key: str = "", vendor: Vendor = COMPATIBLE) -> list[str]:
    """The names of the models that a server offers. Raises ProviderDownError, ProviderReplyError."""
    asked, here = vendor.listing, without_login(url)
    address, headers = f"{url.rstrip('/')}{asked.path}", asked.headers(key.strip())
    async with open_client(seconds=10.0) as client:
        try:
            async with asyncio.timeout(15.0):
                listed = await fetch_json(client, "GET", address, name=here, headers=headers, key=vendor.key)
        except TimeoutError as exc:
            raise ProviderDownError(f"{here} did not answer in time.") from exc
    rows = listed.get(asked.rows) if isinstance(listed, dict) else None
    if not isinstance(rows, list):
        kind = f"{vendor.prefix} does" if vendor.prefix else "an OpenAI-compatible server does"
        raise ProviderReplyError(f"{here} does not list its models as {kind}.")
    names = [str(row[asked.name]) for row in rows if isinstance(row, dict) and row.get(asked.name)]
    return [name.removeprefix("models/") if vendor.prefix == "google_genai" else name for name in names]


class Turns:
    """The calls to one server, of all models that this process asks there.

    alone: it was found to break replies off, and is asked one thing at a time for as long as the process lives.
    """

    def __init__(self) -> None:
        self.alone = False
        self._begun = self._ended = 0  # calls
        self._locks: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()

    @asynccontextmanager
    async def taken(self) -> AsyncIterator[Callable[[], bool]]:
        """A turn; yields what tells whether the server was asked for something else meanwhile."""
        if self.alone:
            async with self._locks.setdefault(asyncio.get_running_loop(), asyncio.Lock()):
                yield lambda: False
            return
        self._begun += 1
        others, begun = self._begun - self._ended > 1, self._begun
        try:
            yield lambda: others or self._begun > begun
        finally:
            self._ended += 1


TURNS = defaultdict[str, Turns](Turns)
"""By the address of the server."""


_LEAST = 500  # tokens; a smaller count is no full context, but one that leaves out what was cached, or a made-up one
_SURE = 8.0  # characters of a token, from which it is plain
_ROUND = 5.0  # the same where the number is near a context's
_FILLED = 3.5  # and where it is a usual context's to the last token, as hardly one whole prompt in a thousand is
_CONTEXTS = frozenset(1024 * 2**n for n in range(8))
_WHOLE: ContextVar[bool] = ContextVar("whole", default=False)


@contextmanager
def refuse_cut_prompts(needed: bool = True) -> Iterator[None]:
    """Inside, a prompt that a server has cut is a PromptTooLongError: for whoever can ask about less at a time."""
    token = _WHOLE.set(needed)
    try:
        yield
    finally:
        _WHOLE.reset(token)


def check_prompt_cut(name: str, characters: int, tokens: int) -> None:
    """Has the answer say, once, that the server of this model cut a prompt. Raises PromptTooLongError inside of
    `refuse_cut_prompts`."""
    a_token = _FILLED if tokens in _CONTEXTS else _ROUND if tokens % 512 in (0, 1, 2, 511) else _SURE
    if tokens < _LEAST or characters <= a_token * tokens:
        return
    told = (
        f"The server of {name} read only the first or last part of what it was sent, and did not say so: its context "
        "is too short. Give it a longer one (Ollama: OLLAMA_CONTEXT_LENGTH=16384 or the model's num_ctx; LM Studio: "
        "the model's context length)."
    )
    current_log().note("scope", told)
    if _WHOLE.get():
        raise PromptTooLongError(told)


Price = tuple[float, float]
"""US dollars for a million tokens given and made."""
_FILE = Path(__file__).parent / "prices.toml"


def price_of(model: str, named: str = "") -> Price | None:
    """The model's price; None when nobody knows it. `named` is 'name=0.5/1.5, other=1/2' and comes first. A name with a
    vendor in front ('anthropic:…') is looked up as it is, and then without.

    Raises SettingsError for a list of prices that cannot be read.
    """
    known, bare = {**_listed(), **read_prices(named)}, vendor_of(model)[1]
    return known.get(model) or known.get(bare)


def read_prices(named: str) -> dict[str, Price]:
    """The prices of a list such as 'name=0.5/1.5, other=1/2'. Raises SettingsError."""
    prices: dict[str, Price] = {}
    for entry in filter(None, (part.strip() for part in named.split(","))):
        name, _, both = entry.rpartition("=")
        given, _, made = both.partition("/")
        try:
            price = float(given), float(made)
        except ValueError:
            price = math.nan, math.nan
        if not name.strip() or not all(0 <= p < math.inf for p in price):
            raise SettingsError(f"'{entry}' in STEELMAN_PRICES is no price. Write it as name=0.5/1.5.")
        prices[name.strip()] = price
    return prices


def cost_of(price: Price | None, given: int, made: int) -> float | None:
    """US dollars for so many tokens given and made; None where the price is not known."""
    return None if price is None else (given * price[0] + made * price[1]) / 1e6


@cache
def _listed() -> dict[str, Price]:
    return {name: (float(p[0]), float(p[1])) for name, p in tomllib.loads(_FILE.read_text(encoding="utf-8")).items()}


_COUNTS = ("prompt_tokens", "completion_tokens", "total_tokens")


class ModelEndpoint:
    """A model at an address, asked by OpenAI's client over the project's own transport, whose retries and limits are
    the only ones; nothing is sent but the key and the body."""

    def __init__(self, url: str, model: str, key: str, seconds: float, price: Price | None = None) -> None:
        """seconds: the longest silence of the server. price: of the model's tokens; one on this machine costs nothing.
        Raises ProviderDownError for what is no address."""
        check_address(url)
        self.address = url.rstrip("/")
        self.model = model
        self.server = f"{model} at {urlsplit(self.address).netloc.rpartition('@')[2] or self.address}"
        self._key = key
        self._seconds = seconds
        self._price: Price | None = (0.0, 0.0) if is_local(url) else price

    @asynccontextmanager
    async def opened(self) -> "AsyncIterator[AsyncOpenAI]":
        """A client of the server, which belongs to an event loop.

        Raises ProviderDownError for a key that can be none, and for an address elsewhere in an offline run.
        """
        if current_budget().offline and not is_local(self.address):
            raise ProviderDownError(
                f"{self.server} is not asked: nothing may leave this machine, and the run stays offline."
            )
        import openai

        login = {"authorization"} if self._key or "@" in urlsplit(self.address).netloc else set()

        async def bare(request: "httpx.Request") -> None:
            strip_headers(request, login)

        check_key(self._key)
        async with open_client(seconds=self._seconds) as http:
            http.event_hooks = {"request": [bare]}
            # Its type says httpx2, which is a fork of httpx; it takes the clients of both.
            given: Any = http
            yield openai.AsyncOpenAI(
                base_url=self.address, api_key=self._key or "none", http_client=given, max_retries=0
            )

    async def post(self, client: "AsyncOpenAI", url: str, body: dict[str, Any]) -> dict[str, Any]:
        """The JSON object of one call, which is counted; a server that does not count leaves an estimate of about four
        characters a token. Raises ProviderDownError, ProviderReplyError, BudgetError."""
        import httpx
        import openai

        async def send() -> "httpx.Response":
            """What the client makes of a failure is undone: it is told alike for all servers."""
            try:
                reply: Any = await client.post(url, body=body, cast_to=httpx.Response)
                return cast("httpx.Response", reply)
            except openai.APIStatusError as exc:
                return cast("httpx.Response", exc.response)
            except openai.APIConnectionError as exc:
                failure = exc.__cause__ or exc
            raise failure  # outside of what was caught, which came from it

        budget = current_budget()
        budget.begin_call()
        reply = await reply_json(send(), url, name=self.server, sent=[{"authorization": self._key}])
        if not isinstance(reply, dict):
            raise ProviderReplyError(f"{self.server} answered with JSON of another kind than was asked for.")
        usage = reply.get("usage")
        counts = [usage.get(k) if isinstance(usage, dict) else None for k in _COUNTS]
        given, made, total = (c if isinstance(c, int) and 0 <= c < 10**9 else 0 for c in counts)
        given = given or total or len(str(body)) // 4
        budget.add_tokens(given, made, cost_of(self._price, given, made))
        return reply
