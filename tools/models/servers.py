"""Servers of models: model lists, truncated prompts, prices, and JSON calls to judges and encoders.

Some servers truncate a prompt silently, such as Ollama with its default context of 4,096 tokens. Their token count
reveals the truncation, because prose has four to five characters per token, and at most six with any tokenizer. If the
count is near a multiple of 512, a lower ratio of characters to tokens already proves a truncation: Ollama fills the
whole context, or half of the context and two tokens.
"""

import math
import re
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from tools.budget import current_budget, current_log
from tools.errors import PromptTooLongError, ProviderDownError, ProviderReplyError, SettingsError
from tools.limits import ENDPOINT_SECONDS, MODEL_REQUESTS
from tools.models.chat.vendors import Vendor, vendor_of
from tools.net.http import fetch_json, is_local, open_client, without_login
from tools.net.pool import ServerPool
from tools.net.retries import is_cut_short

if TYPE_CHECKING:
    import httpx


async def list_models_at(url: str, key: str, vendor: Vendor) -> list[str]:
    """The names of a server's models. Raises ProviderDownError, ProviderReplyError."""
    here, address, headers = without_login(url), f"{url.rstrip('/')}{vendor.models}", vendor.headers(key.strip())
    async with open_client(seconds=10.0) as client:
        listed = await fetch_json(client, "GET", address, name=here, headers=headers, key=vendor.key)
    try:
        rows = listed["data"] if "data" in listed else listed["models"]
        names = [str(row["id"] if "id" in row else row["name"]) for row in rows]
    except (KeyError, TypeError) as exc:
        kind = vendor.prefix or "an OpenAI-compatible server"
        raise ProviderReplyError(f"{here} does not list its models as {kind} does.") from exc
    return [name.removeprefix("models/") if vendor.prefix == "google_genai" else name for name in names]


_FEWEST_TOKENS = 500  # smaller counts are not credible: some servers omit cached tokens or invent counts
_CHARACTERS_CERTAIN = 8.0  # characters per token that prove truncation
_CHARACTERS_NEAR_CONTEXT = 5.0  # if the count is near a multiple of 512
_CHARACTERS_AT_CONTEXT = 3.5  # if the count is exactly a usual context
_USUAL_CONTEXTS = frozenset(1024 * 2**n for n in range(8))
_TRUNCATION_IS_ERROR: ContextVar[bool] = ContextVar("whole", default=False)


@contextmanager
def refuse_truncated_prompts(needed: bool = True) -> Iterator[None]:
    """Inside this context a truncated prompt raises PromptTooLongError. Callers that can split their request use it."""
    token = _TRUNCATION_IS_ERROR.set(needed)
    try:
        yield
    finally:
        _TRUNCATION_IS_ERROR.reset(token)


def check_prompt_truncation(name: str, characters: int, tokens: int) -> None:
    """Notes that a server truncated a prompt. Raises PromptTooLongError inside `refuse_truncated_prompts`."""
    a_token = _CHARACTERS_NEAR_CONTEXT if tokens % 512 in (0, 1, 2, 511) else _CHARACTERS_CERTAIN
    a_token = _CHARACTERS_AT_CONTEXT if tokens in _USUAL_CONTEXTS else a_token
    if tokens < _FEWEST_TOKENS or characters <= a_token * tokens:
        return
    message = (
        f"The server of {name} truncated the prompt silently: its context is too short. "
        "Give it a longer one (Ollama: OLLAMA_CONTEXT_LENGTH=16384 or the model's num_ctx; LM Studio: "
        "the model's context length)."
    )
    current_log().note("scope", message)
    if _TRUNCATION_IS_ERROR.get():
        raise PromptTooLongError(message)


Price = tuple[float, float]
"""US dollars for a million input tokens and for a million output tokens."""
_FILE = Path(__file__).parent / "prices.toml"


def price_of(model: str, named: str = "") -> Price | None:
    """The model's price; None if unknown. `named`, such as 'name=0.5/1.5, other=1/2', takes precedence over the shipped
    prices. A name with a vendor's prefix ('anthropic:…') is looked up with the prefix, then without.

    Raises SettingsError for an invalid price list.
    """
    known, bare = {**_shipped_prices(), **read_prices(named)}, vendor_of(model)[1]
    return known.get(model) or known.get(bare)


def read_prices(named: str) -> dict[str, Price]:
    """The prices in a list such as 'name=0.5/1.5, other=1/2'. Raises SettingsError."""
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
    """US dollars for the tokens; None if the price is unknown."""
    return None if price is None else (given * price[0] + made * price[1]) / 1e6


@cache
def _shipped_prices() -> dict[str, Price]:
    return {name: (float(p[0]), float(p[1])) for name, p in tomllib.loads(_FILE.read_text(encoding="utf-8")).items()}


_TOKEN_COUNTS = ("prompt_tokens", "completion_tokens", "total_tokens")


class ModelEndpoint:
    """A judge or an encoder on a server, called with JSON over the project's HTTP client."""

    def __init__(
        self,
        url: str,
        model: str,
        key: str,
        seconds: float = ENDPOINT_SECONDS,
        price: Price | None = None,
        requests: int = MODEL_REQUESTS,
    ) -> None:
        """url: an address, or several of servers of the same model, with or without /score or /embeddings at the end.
        seconds: longest silence of a server. price: of tokens; a model on this machine costs nothing. requests: open
        requests to one server."""
        self._pool = ServerPool(re.sub("/(?:score|embeddings)?/*(?=,|$)", "", url), requests)
        urls = self._pool.urls
        self.address, self.base = ", ".join(urls), urls[0]
        self.model = model
        self.server = f"{model} at {', '.join(urlsplit(each).netloc.rpartition('@')[2] for each in urls)}"
        self._key = key
        self._seconds = seconds
        self._price: Price | None = (0.0, 0.0) if is_local(url) else price

    def open_client(self) -> "httpx.AsyncClient":
        """A client of the server. The client sends only the key and the body.

        Raises ProviderDownError in an offline run for an address on another machine.
        """
        if current_budget().offline and not is_local(self.address):
            raise ProviderDownError(f"{self.server} is on another machine, and this run stays offline.")
        headers = {"authorization": f"Bearer {self._key}"} if self._key else {}
        client = open_client(headers, self._seconds, pool=self._pool)
        del client.headers["user-agent"]
        return client

    async def post(self, client: "httpx.AsyncClient", url: str, body: dict[str, Any]) -> dict[str, Any]:
        """The JSON object of one call. Tokens that the server does not count are estimated at four characters each.
        Raises ProviderDownError, ProviderReplyError, BudgetError."""
        budget = current_budget()
        budget.begin_call()
        try:
            reply = await fetch_json(client, "POST", url, name=self.server, body=body)
        except ProviderDownError as exc:
            if self.address == self.base or not is_cut_short(exc):
                raise
            reply = await fetch_json(client, "POST", url, name=self.server, body=body)  # another server's turn
        if not isinstance(reply, dict):
            raise ProviderReplyError(f"{self.server} answered with JSON that is no object.")
        usage = reply.get("usage")
        counts = [usage.get(k) if isinstance(usage, dict) else None for k in _TOKEN_COUNTS]
        given, made, total = (c if isinstance(c, int) and 0 <= c < 10**9 else 0 for c in counts)
        given = given or total or len(str(body)) // 4
        budget.add_tokens(given, made, cost_of(self._price, given, made))
        return reply
