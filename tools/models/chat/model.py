"""Chat models that answer with JSON of a given shape.

If a server refuses JSON schemas, the request asks for a JSON object, then for plain text. The process remembers the
form that a model accepts. Replies are read as streams, so that an endless reply can be stopped at a limit. If a reply
does not have the required shape, the client asks the model once more, unless the server gives a reason why the model
did not answer.
"""

import asyncio
import math
import warnings
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, cast
from urllib.parse import urlsplit

from pydantic import BaseModel

from tools.budget import current_budget, current_log
from tools.errors import DeadlineError, PromptTooLongError, ProviderDownError, ProviderError, ProviderReplyError
from tools.limits import CHAT_SECONDS, MODEL_REQUESTS
from tools.models.chat import refusals
from tools.models.chat.reply import ChatReply
from tools.models.chat.request_form import RequestForm, schema_as_text
from tools.models.chat.vendors import COMPATIBLE, OPENAI, ClientOptions, Vendor
from tools.models.servers import Price, check_prompt_truncation, cost_of, list_models_at
from tools.net.http import is_local, open_client, status_error, strip_headers, without_login
from tools.net.pool import ServerPool, failed_server
from tools.net.retries import is_cut_short
from tools.net.route import cause

if TYPE_CHECKING:
    import httpx
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import BaseMessage

    _Chunks = AsyncGenerator[BaseMessage, None]

_ACCOUNT = frozenset({"openai-organization", "openai-project"})
_JSON_INSTRUCTION = "Answer with one JSON object of this shape and nothing else:\n"
_RETRY_INSTRUCTION = (
    "You were asked this before, and your answer could not be used: {problem}. Answer again, with one JSON object of "
    "the required shape and nothing else."
)

S = TypeVar("S", bound=BaseModel)
_PARSE_ERRORS = (ValueError, TypeError, KeyError, AttributeError, IndexError)
"""Exceptions of clients on malformed replies."""
_REQUEST_STATUSES = (400, 413, 415, 422, 501)  # statuses of refusals that concern one request only
ACCEPTED_FORMS: dict[tuple[str, str], RequestForm] = {}
"""The form that each model accepts, by address and name, until the process ends."""


class ChatModel:
    """One model at one address. It belongs to the event loop that first uses it."""

    def __init__(
        self,
        model: str,
        *,
        vendor: Vendor = COMPATIBLE,
        url: str = "",
        key: str = "",
        price: Price | None = None,
        temperature: float | None = None,
        silence: float = CHAT_SECONDS,
        lengths: bool = False,
        requests: int = MODEL_REQUESTS,
    ) -> None:
        """`url`: an address, or several of servers of the same model. `requests`: open requests to one server.
        `silence`: longest silence of the server in seconds. If the stage has more time left, the stage's remaining time
        applies. `lengths`: the schema of the first request limits the lengths of texts and lists. `price`: None if
        unknown; a model on this machine costs nothing.
        """
        url = url or vendor.url
        self.name = vendor.named(model)
        self.pool = ServerPool(url, requests)
        self.address = ", ".join(map(without_login, self.pool.urls))
        self.local = is_local(url)
        self._vendor = vendor
        self._model = model
        self._url = self.pool.urls[0]
        self._key = key.strip()
        self._price: Price | None = (0.0, 0.0) if self.local else price
        self._temperature = temperature
        self._silence = silence
        self.first_form = RequestForm(lengths=lengths, temperature=temperature is not None)
        self._key_of_form = self.address, model
        self._learning = asyncio.Lock()  # one call at a time determines the form
        self._clients: dict[bool, BaseChatModel] = {}  # with and without the temperature
        self._http: Any = None

    async def ask(self, system: str, user: str, shape: type[S]) -> S:
        """The model's reply as a `shape`.

        Raises ProviderDownError (unreachable, key refused, or failing), ProviderReplyError (wrong shape twice, too
        large, empty or refused), BudgetError, DeadlineError.
        """
        if self.address in current_log().down:
            raise ProviderDownError(f"{self.name} was not asked, since {self.address} has failed in this run already.")
        if current_budget().offline and not self.local:
            raise ProviderDownError(f"{self.name} was not asked, since nothing is to leave this machine.")
        first = asked = f"{user}\n\n{_JSON_INSTRUCTION}{schema_as_text(shape)}"
        while True:
            try:
                return self._read(await self._reply(system, asked, shape), shape)
            except (refusals.AnswerRefusedError, PromptTooLongError):
                raise
            except ProviderReplyError as exc:
                if asked != first:
                    raise ProviderReplyError(
                        f"{self.name} did not give a usable answer: {str(exc).rstrip('.')}."
                    ) from exc
                # In the same turn: some chat templates reject two user turns in a row.
                asked = f"{first}\n\n{_RETRY_INSTRUCTION.format(problem=str(exc).rstrip('.'))}"

    def _read(self, reply: ChatReply, shape: type[S]) -> S:
        try:
            return reply.read(shape)
        except ProviderReplyError as exc:
            if stop_reason := reply.stop_reason():
                raise refusals.AnswerRefusedError(f"{self.name} {stop_reason}.") from exc
            raise

    async def aclose(self) -> None:
        if self._http is not None:
            await self._http.aclose()
            self._http = None
            self._clients.clear()

    def load(self) -> None:
        """Imports the client, which takes a second or more. Raises SettingsError."""
        self._vendor.load()

    async def list_models(self) -> dict[str, list[str]]:
        """The names of the models of each server, by address. Raises ProviderDownError, ProviderReplyError."""
        return {without_login(url): await list_models_at(url, self._key, self._vendor) for url in self.pool.urls}

    def is_among(self, listed: list[str]) -> bool:
        """Whether the server lists the model, under its plain name or under its name with a date or a tag."""
        begin = f"{self._model.removesuffix('-latest')}-"
        dated = [name for name in listed if self._vendor.prefix == "anthropic" and name.removeprefix(begin).isdigit()]
        return bool(dated or {self._model, f"{self._model}:latest"} & set(listed))

    async def _reply(self, system: str, user: str, shape: type[BaseModel]) -> ChatReply:
        """One reply in the accepted form. The first call determines this form."""
        if self._key_of_form not in ACCEPTED_FORMS:
            async with self._learning:
                if self._key_of_form not in ACCEPTED_FORMS:
                    return await self._reply_beginning_with(self.first_form, system, user, shape)
        return await self._reply_beginning_with(ACCEPTED_FORMS[self._key_of_form], system, user, shape)

    async def _reply_beginning_with(
        self, form: RequestForm, system: str, user: str, shape: type[BaseModel]
    ) -> ChatReply:
        """Tries simpler forms until the server accepts one, and remembers it."""
        while True:
            current_budget().begin_call()
            try:
                reply = await self._stream(form.messages(system, user), shape, form)
            except self._client_errors() + _PARSE_ERRORS as exc:
                refusal = refusals.refusal_of(exc)
                if refusal and self._vendor.bad_key and self._vendor.bad_key in refusal.words:
                    refusal = replace(refusal, status=401)
                lower = form.lower(refusal) if refusal else None
                if lower is None:
                    raise self._failure(exc, refusal) from exc
                if lower.mode == "json_object" and not self._vendor.options(lower, shape):  # would repeat the body
                    lower = replace(lower, mode="text")
                form = lower
            else:
                ACCEPTED_FORMS[self._key_of_form] = form
                return reply

    async def _stream(
        self, messages: Sequence[tuple[str, str]], shape: type[BaseModel], form: RequestForm
    ) -> ChatReply:
        reply, given, written, budget = ChatReply(), 0, 0, current_budget()
        served = True
        try:
            client, options = self._open(form.temperature), self._vendor.options(form, shape)
            client.disable_streaming = not form.streamed
            async with aclosing(cast("_Chunks", client.astream(list(messages), **options))) as chunks:
                async for chunk in chunks:
                    reply.take(chunk)
                    given, written = self._vendor.count(getattr(chunk, "usage_metadata", None), given, written)
                    reply.check_length()
                    if budget.seconds_left() <= 0:
                        raise DeadlineError("the time for it was used up.")
        except self._client_errors() as exc:
            served = bool(reply.text) or refusals.reply_had_begun(exc)
            raise
        finally:
            if served:  # if the server sends no count: about four characters per token
                made = len(reply.text) + len(reply.thought)
                given, written = given or sum(len(t) for _, t in messages) // 4, written or made // 4
                budget.add_tokens(given, written, cost_of(self._price, given, written))
        check_prompt_truncation(self.name, sum(len(text) for _, text in messages), given)
        return reply

    def _open(self, temperature: bool = True) -> "BaseChatModel":
        if temperature not in self._clients:
            self.load()
            for known in (".*OpenAI's structured output feature", "Pydantic serializer warnings"):
                warnings.filterwarnings("ignore", known, UserWarning)  # the reply shows the problem anyway
            around = partial(refusals.refusal_transport, prepare=self._strip_client_headers)
            self._http = self._http or open_client({}, self._silence, around, self.pool)
            heat = self._temperature if temperature else None
            options = ClientOptions(self._model, self._url, self._key, heat, self._silence, self._http)
            self._clients[temperature] = self._vendor.build(options)
        return self._clients[temperature]

    def _strip_client_headers(self, request: "httpx.Request") -> None:
        """Removes the client's own headers and timeouts. Only OpenAI's server gets OpenAI's organisation and
        project."""
        login = {"authorization"} if "@" in urlsplit(self._url).netloc else frozenset()  # a login in the address
        own = frozenset(map(str.lower, self._vendor.headers("key")))
        strip_headers(request, own | login | (_ACCOUNT if self.address == OPENAI else frozenset()))
        left = current_budget().seconds_left()
        silence = max(self._silence, left) if math.isfinite(left) else self._silence
        request.extensions["timeout"] = self._http.timeout.as_dict() | {"read": silence}

    def _client_errors(self) -> tuple[type[Exception], ...]:
        import httpx

        return *self._vendor.errors(), httpx.HTTPError, ProviderDownError

    def _failure(self, exc: Exception, refusal: refusals.Refusal | None) -> ProviderError:
        import httpx

        here = failed_server(f"{self.name} at {self.address}", exc)
        words = refusal.words if refusal else str(exc)
        shown = words.replace(self._key, "…") if self._key else words  # some servers repeat the key
        said = " ".join(shown.split())[:200]
        if refusal is not None:
            return self._refused(refusal, said, here)
        if own := refusals.cause_of_kind(exc, ProviderError):
            return ProviderDownError(f"{here} {own}") if isinstance(own, ProviderDownError) else own
        failure = refusals.cause_of_kind(exc, httpx.HTTPError, httpx.InvalidURL)
        if isinstance(failure, httpx.TimeoutException):
            return ProviderDownError(f"{here} did not answer in time.")
        if failure is None:
            return ProviderReplyError(f"the reply is no chat reply ({said}).")
        if is_cut_short(exc):
            return ProviderReplyError("the connection was cut in the middle of the reply.")
        current_log().down.add(self.address)
        return ProviderDownError(f"{here} cannot be reached ({cause(failure, self._url)}).")

    def _refused(self, refusal: refusals.Refusal, said: str, here: str) -> ProviderError:
        """The error for a refusal that no other form of the request avoids."""
        status = refusal.status
        if refusals.is_too_long(refusal):
            message = f"{self.name} refused the request, which is longer than it reads ({said.rstrip('.')})."
            return PromptTooLongError(f"{message} Give its server a longer context, or set a model that reads more.")
        if not status:
            return ProviderReplyError(f"the server reported an error in its reply ({said.rstrip('.')}).")
        if status in _REQUEST_STATUSES or (status == 403 and refusals.is_about_content(refusal)):
            return refusals.AnswerRefusedError(f"{self.name} refused the request ({said.rstrip('.')}).")
        if status in (401, 403):
            current_log().down.add(self.address)
        error = status_error(here, status, said, self._vendor.key)
        if status in (404, 405) and not urlsplit(self._url).path.strip("/") and self._vendor is COMPATIBLE:
            return ProviderDownError(f"{error} Most servers want an address that ends in /v1: {self.address}/v1")
        return error
