"""Chat models behind any OpenAI-compatible address, asked for JSON of a given shape.

A server that lacks JSON schemas is asked for a JSON object, and one that lacks that for plain text; what it can do is
learned from its refusals and remembered. The reply is read as a stream, so that a hostile or endless one is stopped at
a limit, and text that a model thinks aloud is taken out. A reply that is not the shape is asked for once more.
"""

import asyncio
import warnings
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import TYPE_CHECKING, Any, TypeVar, cast

from pydantic import BaseModel

from tools.allowance import current
from tools.chat.forms import Form, described
from tools.chat.prices import Price, cost_of
from tools.chat.replies import read_reply
from tools.errors import DeadlineError, ProviderDownError, ProviderReplyError
from tools.hedging import Patience
from tools.http import (
    CONNECT_SECONDS,
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
    from langchain_core.messages import AIMessageChunk, BaseMessage
    from langchain_openai import ChatOpenAI

OPENAI = "https://api.openai.com/v1"
_SENT = frozenset(
    "host accept accept-encoding connection content-type content-length transfer-encoding authorization".split()
)
_ACCOUNT = frozenset({"openai-organization", "openai-project"})
LARGEST_TEXT = 100_000
"""Characters of one reply at most."""
_AS_JSON = "Answer with one JSON object and nothing else. It has to fit this JSON schema:\n"
_AGAIN = (
    "You were asked this before, and your answer could not be used: {problem}. Answer again, with one JSON object of "
    "the required shape and nothing else."
)

S = TypeVar("S", bound=BaseModel)
_ABOUT_FORM = (400, 415, 422, 501)  # statuses that may be about how it was asked


class _RefusedError(ProviderReplyError):
    """The server takes the request in no form, so that asking once more is of no use."""


class ChatModel:
    """One model at one address. Belongs to the event loop that first uses it."""

    def __init__(
        self,
        model: str,
        *,
        url: str = OPENAI,
        key: str = "",
        price: Price | None = None,
        temperature: float | None = None,
        silence: float = 120.0,
    ) -> None:
        """`silence` is the longest time in seconds that the server may send nothing; the stage's deadline ends a call
        earlier. A model on this machine costs nothing; the price of another one may be unknown (None)."""
        self.name = model
        self.address = without_login(url)
        self.local = is_local(url)
        self._url = url
        self._key = key.strip()
        self._price: Price | None = (0.0, 0.0) if self.local else price
        self._temperature = temperature
        self._silence = silence
        self._patience = None if self.local else Patience(model, self._price)
        self._form = Form()
        self._client: ChatOpenAI | None = None
        self._http: Any = None

    async def ask(self, system: str, user: str, shape: type[S]) -> S:
        """The model's reply as a `shape`.

        Raises ProviderDownError (unreachable, key refused, keeps failing), ProviderReplyError (twice not the shape,
        enormous, empty, refused), BudgetError, DeadlineError.
        """
        check_key(self._key)
        check_address(self._url)
        if self.address in current().down:
            raise ProviderDownError(f"{self.name} was not asked, since {self.address} has failed in this run already.")
        if current().offline and not self.local:
            raise ProviderDownError(f"{self.name} was not asked, since nothing is to leave this machine.")
        asked = f"{user}\n\n{_AS_JSON}{described(shape)}"
        try:
            return read_reply(await self._reply(_told(system, asked), shape), shape)
        except _RefusedError:
            raise
        except ProviderReplyError as exc:
            # In the same turn: some models' templates know no two turns of one speaker in a row.
            asked = f"{asked}\n\n{_AGAIN.format(problem=str(exc).rstrip('.'))}"
        try:
            return read_reply(await self._reply(_told(system, asked), shape), shape)
        except _RefusedError:
            raise
        except ProviderReplyError as exc:
            raise ProviderReplyError(f"{self.name} did not give what it was asked for: {exc}") from exc

    async def aclose(self) -> None:
        if self._http is not None:
            await self._http.aclose()
            self._http = self._client = None

    async def _reply(self, told: Sequence[tuple[str, str]], shape: type[BaseModel]) -> str:
        """The text of one reply, by the best way that the server knows."""
        import openai

        form = self._form
        while True:
            current().begin_call()
            try:
                async with self._failures():
                    text = await self._stream(told, shape, form)
            except openai.APIStatusError as exc:
                lower = form.lower(str(exc)) if exc.status_code in _ABOUT_FORM else None
                if lower is None:
                    raise _RefusedError(f"{self.name} refused the request ({self._said(exc)}).") from exc
                form = lower
            else:
                self._form = form  # what was no use in any form was not refused for its form
                return text

    async def _stream(self, told: Sequence[tuple[str, str]], shape: type[BaseModel], form: Form) -> str:
        import openai

        made, given, written, allowance = "", 0, 0, current()
        served = True
        try:
            async with aclosing(self._chunks(told, form.options(shape))) as chunks:
                async for chunk in chunks:
                    made += _text_of(chunk)
                    if usage := getattr(chunk, "usage_metadata", None):
                        given, written = max(0, usage["input_tokens"]), max(0, usage["output_tokens"])
                    if len(made) > LARGEST_TEXT:
                        raise ProviderReplyError(f"the reply is longer than {LARGEST_TEXT:,} characters.")
                    if allowance.seconds_left() <= 0:
                        raise DeadlineError("the time for it was used up.")
                    allowance.tell(len(made))
        except (openai.APIStatusError, openai.APIConnectionError):
            served = bool(made)
            raise
        finally:
            if served:  # a server that does not count leaves an estimate: about four characters a token
                given, written = given or sum(len(t) for _, t in told) // 4, written or len(made) // 4
                allowance.add_tokens(given, written, cost_of(self._price, given, written))
        return made

    def _chunks(
        self, told: Sequence[tuple[str, str]], options: dict[str, Any]
    ) -> "AsyncGenerator[AIMessageChunk, None]":
        return cast("AsyncGenerator[AIMessageChunk, None]", self._open().astream(list(told), **options))

    def _open(self) -> "ChatOpenAI":
        if self._client is None:
            import openai
            from langchain_openai import ChatOpenAI
            from pydantic import SecretStr

            for known in (".*OpenAI's structured output feature", "Pydantic serializer warnings"):
                warnings.filterwarnings("ignore", known, UserWarning)  # of what is learned from the reply anyhow
            self._http = self._http or open_client(seconds=self._silence, patience=self._patience)
            self._http.event_hooks = {"request": [self._only_ours]}
            self._client = ChatOpenAI(
                model=self.name,
                base_url=self._url,
                api_key=SecretStr(self._key or "none"),  # the client wants one; a server of one's own ignores it
                max_retries=0,  # the transport's own are the only ones
                http_async_client=self._http,
                timeout=openai.Timeout(self._silence, connect=min(self._silence, CONNECT_SECONDS)),
                openai_proxy=None,
                temperature=self._temperature,
                stream_chunk_timeout=None,
                use_responses_api=False,
            )
        return self._client

    async def _only_ours(self, request: "httpx.Request") -> None:
        """Takes out the headers that the client adds of itself: what it knows of this machine, and whatever the
        environment names. OpenAI itself is told the organisation and project that its own variables name."""
        kept = _SENT | (_ACCOUNT if self._url == OPENAI else frozenset())
        for name in [n for n in request.headers if n.lower() not in kept]:
            del request.headers[name]

    @asynccontextmanager
    async def _failures(self) -> AsyncIterator[None]:
        """The client's errors as ours; a request that was refused for what it is is left for the caller to look at."""
        import httpx
        import openai

        here = f"{self.name} at {self.address}"
        try:
            yield
        except (openai.APITimeoutError, httpx.TimeoutException) as exc:
            raise ProviderDownError(f"{here} did not answer in time.") from exc
        except openai.APIStatusError as exc:
            if exc.status_code in (*_ABOUT_FORM, 413):
                raise
            if exc.status_code in (401, 403):
                current().down.add(self.address)
            raise status_error(here, exc.status_code, self._said(exc)) from exc
        except (openai.APIConnectionError, httpx.HTTPError) as exc:
            if cut_short(exc):
                raise ProviderReplyError("the connection was cut in the middle of the reply.") from exc
            current().down.add(self.address)
            raise ProviderDownError(f"{here} cannot be reached. Is the server on?") from exc
        except (openai.OpenAIError, ValueError, TypeError, KeyError, AttributeError, IndexError) as exc:
            # What is not even a chat reply breaks the client in ways of its own.
            raise ProviderReplyError(f"the reply is no chat reply ({self._said(exc)}).") from exc

    def _said(self, exc: Exception) -> str:
        """A server's words, without the key that some say back."""
        body = getattr(exc, "body", None)
        said = str(body["message"] if isinstance(body, dict) and body.get("message") else exc)
        return _short(said.replace(self._key, "…") if self._key else said)


def _told(system: str, user: str) -> list[tuple[str, str]]:
    return [*([("system", system)] if system else []), ("user", user)]


def _text_of(chunk: "BaseMessage") -> str:
    return chunk.content if isinstance(chunk.content, str) else str(chunk.text)


def _short(text: str) -> str:
    return " ".join(text.split())[:200]


async def models_at(url: str, key: str = "") -> list[str]:
    """The names of the models that a server offers. Raises ProviderDownError, ProviderReplyError."""
    headers, here = {"Authorization": f"Bearer {key.strip()}"} if key else {}, without_login(url)
    async with open_client(seconds=10.0) as client:
        try:
            async with asyncio.timeout(15.0):
                listed = await fetch_json(client, "GET", f"{url.rstrip('/')}/models", name=here, headers=headers)
        except TimeoutError as exc:
            raise ProviderDownError(f"{here} did not answer in time.") from exc
    rows = listed.get("data") if isinstance(listed, dict) else None
    if not isinstance(rows, list):
        raise ProviderReplyError(f"{here} does not list its models as an OpenAI-compatible server does.")
    return [str(row["id"]) for row in rows if isinstance(row, dict) and row.get("id")]
