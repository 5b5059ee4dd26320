"""Chat models, asked for JSON of a given shape: behind any OpenAI-compatible address, or of a vendor by its name.

A server that lacks JSON schemas is asked for a JSON object, and one that lacks that for plain text; what a model takes
(a stream, a system turn, a temperature) is learned from its refusals and remembered. The reply is read as a stream, so
that a hostile or endless one is stopped at a limit, and text that a model thinks aloud is taken out. A reply that is
not the shape is asked for once more, unless it is told why there was none.
"""

import asyncio
import math
import warnings
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar, cast
from urllib.parse import urlsplit

from pydantic import BaseModel

from tools.budget import current_budget, current_log
from tools.errors import DeadlineError, PromptTooLongError, ProviderDownError, ProviderError, ProviderReplyError
from tools.models.chat.clients import MARK, refusal_transport, restore_marker
from tools.models.chat.form import Form, schema_as_text
from tools.models.chat.refusals import (
    BrokenOffError,
    DislikedError,
    Refusal,
    RefusedError,
    connection_failure,
    is_of_content,
    is_too_long,
    own_error,
    refusal_of,
    reply_had_begun,
)
from tools.models.chat.replies import Reply
from tools.models.chat.vendors import COMPATIBLE, OPENAI, ClientOptions, Vendor
from tools.models.servers import TURNS, Price, check_prompt_cut, cost_of, models_at
from tools.net.http import check_address, check_key, is_local, open_client, status_error, strip_headers, without_login
from tools.net.retries import is_cut_short
from tools.net.route import cause

if TYPE_CHECKING:
    import httpx
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import BaseMessage

    _Chunks = AsyncGenerator[BaseMessage, None]

_ACCOUNT = frozenset({"openai-organization", "openai-project"})
_AS_JSON = "Answer with one JSON object of this shape and nothing else:\n"
_REPEATED = (
    "You were asked this before, and your answer could not be used: {problem}. Answer again, with one JSON object of "
    "the required shape and nothing else."
)

S = TypeVar("S", bound=BaseModel)
_BROKEN = (ValueError, TypeError, KeyError, AttributeError, IndexError)
"""What a client breaks with on a reply that is none."""
_OF_THE_REQUEST = (400, 413, 415, 422, 501)  # statuses of refusals of one request, which say nothing of the next
_FORMS: dict[tuple[str, str], Form] = {}
"""What each model was found to take, by its address and name, for as long as the process lives."""


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
        lengths: bool = False,
    ) -> None:
        """`silence` is the time in seconds that the server may always send nothing; where the stage has more than that,
        it may take all of it. `lengths`: it is asked first by a schema with the lengths of texts and lists. A model on
        this machine costs nothing; the price of another one may be unknown (None)."""
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
        self.first_form = replace(vendor.form, lengths=lengths, temperature=temperature is not None)
        self._known = self.address, model
        self._learning = asyncio.Lock()  # one call at a time finds out what the model takes
        self._clients: dict[bool, BaseChatModel] = {}  # with and without the temperature
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
        first = asked = f"{user}\n\n{_AS_JSON}{schema_as_text(shape)}"
        while True:
            try:
                return await self._answer(system, asked, shape)
            except (RefusedError, PromptTooLongError):
                raise
            except ProviderReplyError as exc:
                if asked != first:
                    raise ProviderReplyError(
                        f"{self.name} did not give what it was asked for: {str(exc).rstrip('.')}."
                    ) from exc
                # In the same turn: some models' templates know no two turns of one speaker in a row.
                asked = f"{first}\n\n{_REPEATED.format(problem=str(exc).rstrip('.'))}"

    async def _answer(self, system: str, user: str, shape: type[S]) -> S:
        """One reply, read; asked for alone where it was broken off by another call, and from then on."""
        here = TURNS[self.address]
        try:
            async with here.taken() as shared:
                return self._read(await self._reply(system, user, shape), shape)
        except BrokenOffError:
            if not shared():
                raise
            here.alone = True
        return await self._answer(system, user, shape)

    def _read(self, reply: Reply, shape: type[S]) -> S:
        try:
            return reply.read(shape)
        except ProviderReplyError as exc:
            if stopped := reply.stopped():
                raise RefusedError(f"{self.name} {stopped}.") from exc
            whole = reply.text.strip() and reply.text.count("{") <= reply.text.count("}")
            raise exc if reply.ending or whole else BrokenOffError(str(exc)) from exc

    async def aclose(self) -> None:
        if self._http is not None:
            await self._http.aclose()
            self._http = None
            self._clients.clear()

    def load(self) -> None:
        """Imports what the first call would import, which takes a second or more. Raises SettingsError."""
        self._vendor.load()

    async def list_models(self) -> list[str]:
        """The names of the models that its server offers. Raises ProviderDownError, ProviderReplyError."""
        return await models_at(self._url, self._key, self._vendor)

    def is_among(self, listed: list[str]) -> bool:
        """Whether the model is one of those that its server lists."""
        return self._vendor.offers(self._model, listed)

    async def _reply(self, system: str, user: str, shape: type[BaseModel]) -> Reply:
        """One reply, by the best way that the model knows; which that is one call finds out for all."""
        known = self._known
        if known not in _FORMS:
            async with self._learning:
                if known not in _FORMS:
                    reply, _FORMS[known] = await self._in_some_form(self.first_form, system, user, shape)
                    return reply
        begun = _FORMS[known]
        reply, form = await self._in_some_form(begun, system, user, shape)
        if form != begun:
            _FORMS[known] = form
        return reply

    async def _in_some_form(self, form: Form, system: str, user: str, shape: type[BaseModel]) -> tuple[Reply, Form]:
        """A reply, and the form in which it came. A refusal in every form was not about the form: nothing is learned
        of it."""
        while True:
            current_budget().begin_call()
            try:
                async with self._failures():
                    return await self._stream(form.messages(system, user), shape, form), form
            except DislikedError as exc:
                lower = form.lower(exc.refusal)
                if lower is None:
                    raise exc.failure from exc
                form = lower

    async def _stream(self, messages: Sequence[tuple[str, str]], shape: type[BaseModel], form: Form) -> Reply:
        reply, given, written, budget = Reply(), 0, 0, current_budget()
        served = True
        try:
            client, options = self._open(form.temperature), self._vendor.options(form, shape)
            client.disable_streaming = not form.streamed
            async with aclosing(cast("_Chunks", client.astream(list(messages), **options))) as chunks:
                async for chunk in chunks:
                    reply.take(chunk)
                    given, written = self._vendor.count(getattr(chunk, "usage_metadata", None), given, written)
                    reply.check_size()
                    if budget.seconds_left() <= 0:
                        raise DeadlineError("the time for it was used up.")
                    current_log().on_reply(len(reply.text))
        except self._raised() as exc:
            served = bool(reply.text) or reply_had_begun(exc)
            raise
        finally:
            if served:  # a server that does not count leaves an estimate: about four characters a token
                made = len(reply.text) + len(reply.thought)
                given, written = given or sum(len(t) for _, t in messages) // 4, written or made // 4
                budget.add_tokens(given, written, cost_of(self._price, given, written))
        check_prompt_cut(self.name, sum(len(text) for _, text in messages), given)
        return reply

    def _open(self, temperature: bool = True) -> "BaseChatModel":
        if temperature not in self._clients:
            self.load()
            for known in (".*OpenAI's structured output feature", "Pydantic serializer warnings"):
                warnings.filterwarnings("ignore", known, UserWarning)  # of what is learned from the reply anyhow
            self._http = self._http or open_client(seconds=self._silence, around=refusal_transport)
            self._http.event_hooks = {"request": [self._only_ours], "response": [restore_marker]}
            heat = self._temperature if temperature else None
            self._clients[temperature] = self._vendor.build(
                ClientOptions(self._model, self._url, self._key, heat, self._silence, self._http)
            )
        return self._clients[temperature]

    async def _only_ours(self, request: "httpx.Request") -> None:
        """Takes out the headers that the client adds of itself, and the times that it would wait. OpenAI itself is told
        the organisation and project that its own variables name."""
        login = {"authorization"} if "@" in urlsplit(self._url).netloc else frozenset()  # of the address
        request.extensions[MARK] = MARK in request.headers
        strip_headers(request, self._vendor.headers | login | (_ACCOUNT if self._url == OPENAI else frozenset()))
        left = current_budget().seconds_left()
        silence = max(self._silence, left) if math.isfinite(left) else self._silence
        request.extensions["timeout"] = self._http.timeout.as_dict() | {"read": silence}

    def _raised(self) -> tuple[type[Exception], ...]:
        """What the client, or the transport under it, raises where the server or the way to it fails."""
        import httpx

        return *self._vendor.errors(), httpx.HTTPError, ProviderDownError

    @asynccontextmanager
    async def _failures(self) -> AsyncIterator[None]:
        """The client's errors as ours."""
        try:
            yield
        except self._raised() + _BROKEN as exc:
            raise self._failure(exc) from exc

    def _failure(self, exc: Exception) -> ProviderError:
        import httpx

        here, refusal = f"{self.name} at {self.address}", refusal_of(exc)
        said = self._said(refusal.words if refusal else str(exc))
        if refusal is not None:
            if self._vendor.bad_key and self._vendor.bad_key in refusal.words:
                refusal = Refusal(401)
            return DislikedError(refusal, self._refused(refusal, said))
        if own := own_error(exc):
            return ProviderDownError(f"{here} {own}") if isinstance(own, ProviderDownError) else own
        failure = connection_failure(exc)
        if isinstance(failure, httpx.TimeoutException):
            return ProviderDownError(f"{here} did not answer in time.")
        if failure is None:
            return BrokenOffError(f"the reply is no chat reply ({said}).")
        if is_cut_short(exc):
            return ProviderReplyError("the connection was cut in the middle of the reply.")
        current_log().down.add(self.address)
        return ProviderDownError(f"{here} cannot be reached ({cause(failure, self._url)}).")

    def _refused(self, refusal: Refusal, said: str) -> ProviderError:
        """A refusal that the form of the request does not help against."""
        status, here = refusal.status, f"{self.name} at {self.address}"
        if is_too_long(refusal):
            told = (
                f"{self.name} refused the request, which is longer than it reads ({said.rstrip('.')}). Give its server"
            )
            return PromptTooLongError(f"{told} a longer context, or set a model that reads more.")
        if not status:
            return ProviderReplyError(f"the server told of an error in its reply ({said.rstrip('.')}).")
        if status in _OF_THE_REQUEST or (status == 403 and is_of_content(refusal)):
            return RefusedError(f"{self.name} refused the request ({said.rstrip('.')}).")
        if status in (401, 403):
            current_log().down.add(self.address)
        error = status_error(here, status, said, self._vendor.key)
        if status in (404, 405) and not urlsplit(self._url).path.strip("/") and self._vendor is COMPATIBLE:
            return ProviderDownError(f"{error} Most servers want an address that ends in /v1: {self.address}/v1")
        return error

    def _said(self, said: str) -> str:
        """A server's words, without the key that some say back."""
        shown = said.replace(self._key, "…") if self._key else said
        return " ".join(shown.split())[:200]
