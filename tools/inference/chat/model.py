"""Chat models, asked for JSON of a given shape: behind any OpenAI-compatible address, or of a vendor by its name.

A server that lacks JSON schemas is asked for a JSON object, and one that lacks that for plain text; what it can do is
learned from its refusals and remembered. The reply is read as a stream, so that a hostile or endless one is stopped at
a limit, and text that a model thinks aloud is taken out. A reply that is not the shape is asked for once more.
"""

import asyncio
import warnings
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, cast

from pydantic import BaseModel

from tools.budget import current_budget, current_log
from tools.errors import DeadlineError, ProviderDownError, ProviderError, ProviderReplyError
from tools.inference.chat.failures import connection_failure, limit_error, reply_had_begun, server_words, status_of
from tools.inference.chat.forms import Form, described
from tools.inference.chat.prices import Price, cost_of
from tools.inference.chat.replies import read_reply
from tools.inference.chat.vendors import COMPATIBLE, OPENAI, ClientOptions, Vendor
from tools.net.causes import cause
from tools.net.hedging import Patience
from tools.net.http import (
    check_address,
    check_key,
    cut_short,
    fetch_json,
    is_local,
    open_client,
    status_error,
    without_login,
)

if TYPE_CHECKING:
    import httpx
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessageChunk, BaseMessage

_SENT = frozenset("host accept accept-encoding connection content-type content-length transfer-encoding".split())
_ACCOUNT = frozenset({"openai-organization", "openai-project"})
LARGEST_TEXT = 100_000
"""Characters of one reply at most."""
_AS_JSON = "Answer with one JSON object and nothing else. It has to fit this JSON schema:\n"
_REPEATED = (
    "You were asked this before, and your answer could not be used: {problem}. Answer again, with one JSON object of "
    "the required shape and nothing else."
)

S = TypeVar("S", bound=BaseModel)
_BROKEN = (ValueError, TypeError, KeyError, AttributeError, IndexError)
"""What a client breaks with on a reply that is none."""
_ABOUT_FORM = (400, 415, 422, 501)  # statuses that may be about how it was asked


class _RefusedError(ProviderReplyError):
    """The server takes the request in no form, so that asking once more is of no use."""


class _DislikedError(ProviderReplyError):
    """The server refused the request for what it is. `words`: all that it said; the text is the short of it."""

    def __init__(self, said: str, words: str, status: int) -> None:
        super().__init__(said)
        self.words, self.status = words, status


class ChatModel:
    """One model at one address. Belongs to the event loop that first uses it."""

    def __init__(
        self,
        model: str,
        *,
        vendor: Vendor = COMPATIBLE,
        url: str = "",
        key: str = "",
        price: Price | None = None,
        temperature: float | None = None,
        silence: float = 120.0,
    ) -> None:
        """`silence` is the longest time in seconds that the server may send nothing; the stage's deadline ends a call
        earlier. A model on this machine costs nothing; the price of another one may be unknown (None)."""
        url = url or vendor.url
        self.name = vendor.named(model)
        self.address = without_login(url)
        self.local = is_local(url)
        self._vendor = vendor
        self._model = model
        self._url = url
        self._key = key.strip()
        self._price: Price | None = (0.0, 0.0) if self.local else price
        self._temperature = temperature
        self._silence = silence
        self._patience = None if self.local else Patience(model, partial(cost_of, self._price))
        self._form = vendor.form
        self._client: BaseChatModel | None = None
        self._http: Any = None

    async def ask(self, system: str, user: str, shape: type[S]) -> S:
        """The model's reply as a `shape`.

        Raises ProviderDownError (unreachable, key refused, keeps failing), ProviderReplyError (twice not the shape,
        enormous, empty, refused), BudgetError, DeadlineError.
        """
        check_key(self._key)
        check_address(self._url)
        if self.address in current_log().down:
            raise ProviderDownError(f"{self.name} was not asked, since {self.address} has failed in this run already.")
        if current_budget().offline and not self.local:
            raise ProviderDownError(f"{self.name} was not asked, since nothing is to leave this machine.")
        first = asked = f"{user}\n\n{_AS_JSON}{described(shape)}"
        while True:
            try:
                return read_reply(await self._reply(_messages(system, asked), shape), shape)
            except _RefusedError:
                raise
            except ProviderReplyError as exc:
                if asked != first:
                    raise ProviderReplyError(f"{self.name} did not give what it was asked for: {exc}") from exc
                # In the same turn: some models' templates know no two turns of one speaker in a row.
                asked = f"{first}\n\n{_REPEATED.format(problem=str(exc).rstrip('.'))}"

    async def aclose(self) -> None:
        if self._http is not None:
            await self._http.aclose()
            self._http = self._client = None

    def load(self) -> None:
        """Imports what the first call would import, which takes a second or more. Raises SettingsError."""
        self._vendor.load()

    async def listed(self) -> list[str]:
        """The names of the models that its server offers. Raises ProviderDownError, ProviderReplyError."""
        return await models_at(self._url, self._key, self._vendor)

    def offered(self, listed: list[str]) -> bool:
        """Whether the model is one of those that its server lists."""
        return self._vendor.offers(self._model, listed)

    async def _reply(self, messages: Sequence[tuple[str, str]], shape: type[BaseModel]) -> str:
        """The text of one reply, by the best way that the server knows."""
        form = self._form
        while True:
            current_budget().begin_call()
            try:
                async with self._failures():
                    text = await self._stream(messages, shape, form)
            except _DislikedError as exc:
                lower = form.lower(exc.words) if exc.status in _ABOUT_FORM else None
                if lower is None:
                    raise _RefusedError(f"{self.name} refused the request ({exc}).") from exc
                form = lower
            else:
                self._form = form  # what was no use in any form was not refused for its form
                return text

    async def _stream(self, messages: Sequence[tuple[str, str]], shape: type[BaseModel], form: Form) -> str:
        made, given, written, budget = "", 0, 0, current_budget()
        served = True
        try:
            async with aclosing(self._chunks(messages, self._vendor.options(form, shape))) as chunks:
                async for chunk in chunks:
                    made += _text_of(chunk)
                    given, written = self._vendor.count(getattr(chunk, "usage_metadata", None), given, written)
                    if len(made) > LARGEST_TEXT:
                        raise ProviderReplyError(f"the reply is longer than {LARGEST_TEXT:,} characters.")
                    if budget.seconds_left() <= 0:
                        raise DeadlineError("the time for it was used up.")
                    current_log().on_reply(len(made))
        except self._raised() as exc:
            served = bool(made) or reply_had_begun(exc)
            raise
        finally:
            if served:  # a server that does not count leaves an estimate: about four characters a token
                given, written = given or sum(len(t) for _, t in messages) // 4, written or len(made) // 4
                budget.add_tokens(given, written, cost_of(self._price, given, written))
        return made

    def _chunks(
        self, messages: Sequence[tuple[str, str]], options: dict[str, Any]
    ) -> "AsyncGenerator[AIMessageChunk, None]":
        return cast("AsyncGenerator[AIMessageChunk, None]", self._open().astream(list(messages), **options))

    def _open(self) -> "BaseChatModel":
        if self._client is None:
            self.load()
            for known in (".*OpenAI's structured output feature", "Pydantic serializer warnings"):
                warnings.filterwarnings("ignore", known, UserWarning)  # of what is learned from the reply anyhow
            self._http = self._http or open_client(seconds=self._silence, patience=self._patience)
            self._http.event_hooks = {"request": [self._only_ours]}
            self._client = self._vendor.build(
                ClientOptions(self._model, self._url, self._key, self._temperature, self._silence, self._http)
            )
        return self._client

    async def _only_ours(self, request: "httpx.Request") -> None:
        """Takes out the headers that the client adds of itself: what it knows of this machine, and whatever the
        environment names; and the times that it would wait. OpenAI itself is told the organisation and project that
        its own variables name."""
        kept = _SENT | self._vendor.headers | (_ACCOUNT if self._url == OPENAI else frozenset())
        if self._url != self.address:
            kept |= {"authorization"}  # the login in the address
        for name in [n for n in request.headers if n.lower() not in kept]:
            del request.headers[name]
        request.extensions["timeout"] = self._http.timeout.as_dict()

    def _raised(self) -> tuple[type[Exception], ...]:
        """What the client raises where the server or the way to it fails."""
        import httpx

        return *self._vendor.errors(), httpx.HTTPError

    @asynccontextmanager
    async def _failures(self) -> AsyncIterator[None]:
        """The client's errors as ours."""
        try:
            yield
        except self._raised() + _BROKEN as exc:
            raise self._failure(exc) from exc

    def _failure(self, exc: Exception) -> ProviderError:
        import httpx

        here, said, status = f"{self.name} at {self.address}", self._said(exc), status_of(exc)
        if status is not None:
            if self._vendor.bad_key and self._vendor.bad_key in said:
                status = 401
            if status in (*_ABOUT_FORM, 413):
                return _DislikedError(said, str(exc), status)
            if status in (401, 403):
                current_log().down.add(self.address)
            return status_error(here, status, said, self._vendor.key)
        if stopped := limit_error(exc):
            return stopped
        failure = connection_failure(exc)
        if isinstance(failure, httpx.TimeoutException):
            return ProviderDownError(f"{here} did not answer in time.")
        if failure is None:
            return ProviderReplyError(f"the reply is no chat reply ({said}).")
        if cut_short(exc):
            return ProviderReplyError("the connection was cut in the middle of the reply.")
        current_log().down.add(self.address)
        return ProviderDownError(f"{here} cannot be reached ({cause(failure, self._url)}).")

    def _said(self, exc: Exception) -> str:
        """A server's words, without the key that some say back."""
        said = server_words(exc)
        shown = said.replace(self._key, "…") if self._key else said
        return " ".join(shown.split())[:200]


def _messages(system: str, user: str) -> list[tuple[str, str]]:
    return [*([("system", system)] if system else []), ("user", user)]


def _text_of(chunk: "BaseMessage") -> str:
    return chunk.content if isinstance(chunk.content, str) else str(chunk.text)


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
