"""Chat models behind any OpenAI-compatible address, asked for JSON of a given shape.

A server that lacks JSON schemas is asked for a JSON object, and one that lacks that for plain text; what it can do is
learned from its refusals and remembered. The reply is read as a stream, so that a hostile or endless one is stopped at
a limit, and text that a model thinks aloud is taken out. A reply that is not the shape is asked for once more.
"""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from pydantic import BaseModel, ValidationError

from tools.allowance import current
from tools.errors import DeadlineError, ProviderDownError, ProviderError, ProviderReplyError
from tools.http import is_local, open_client, status_error
from tools.prices import Price

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage
    from langchain_openai import ChatOpenAI

OPENAI = "https://api.openai.com/v1"
LARGEST_TEXT = 100_000
"""Characters of one reply at most."""
_THOUGHT = re.compile(r"<(think|thinking|reasoning)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_UNOPENED = re.compile(r"\A.*</(?:think|thinking|reasoning)>", re.DOTALL | re.IGNORECASE)
_AS_JSON = "Answer with one JSON object and nothing else. It has to fit this JSON schema:\n"
_AGAIN = "That cannot be used: {problem}. Answer again, with one JSON object of the required shape and nothing else."

S = TypeVar("S", bound=BaseModel)
Mode = Literal["json_schema", "bare_schema", "json_object", "text"]
_LADDER: tuple[Mode, ...] = ("json_schema", "bare_schema", "json_object", "text")
_LENGTHS = ("minLength", "maxLength", "minItems", "maxItems")  # which not every server that knows schemas knows


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
        self.address = url
        self.local = is_local(url)
        self._key = key
        self._price: Price | None = (0.0, 0.0) if self.local else price
        self._temperature = temperature
        self._silence = silence
        self._mode: Mode = "json_schema"
        self._counts_streams = True
        self._client: ChatOpenAI | None = None
        self._http: Any = None

    async def ask(self, system: str, user: str, shape: type[S]) -> S:
        """The model's reply as a `shape`.

        Raises ProviderDownError (unreachable, key refused, keeps failing), ProviderReplyError (twice not the shape,
        enormous, empty), BudgetError, DeadlineError.
        """
        told: list[tuple[str, str]] = [("system", system)] if system else []
        told.append(("user", f"{user}\n\n{_AS_JSON}{_described(shape)}"))
        try:
            text = await self._reply(told, shape)
            return read_reply(text, shape)
        except ProviderReplyError as exc:
            problem = str(exc)
            again = [*told, ("user", _AGAIN.format(problem=problem))]
        try:
            return read_reply(await self._reply(again, shape), shape)
        except ProviderReplyError as exc:
            raise ProviderReplyError(f"{self.name} did not give what it was asked for: {exc}") from exc

    async def aclose(self) -> None:
        if self._http is not None:
            await self._http.aclose()
            self._http = self._client = None

    async def _reply(self, told: Sequence[tuple[str, str]], shape: type[BaseModel]) -> str:
        """The text of one reply, by the best way that the server knows."""
        import openai

        while True:
            current().begin_call()
            try:
                async with self._failures():
                    return await self._stream(told, shape)
            except openai.BadRequestError as exc:
                if not self._step_down(str(exc)):
                    raise ProviderReplyError(f"{self.name} refused the request ({_short(str(exc))}).") from exc

    def _step_down(self, said: str) -> bool:
        """Asks for less after a refusal; False when there is nothing less to ask for."""
        if self._counts_streams and "stream_options" in said:
            self._counts_streams = False
            return True
        lower = _LADDER.index(self._mode) + 1
        if lower == len(_LADDER) or "context" in said.lower():
            return False
        self._mode = _LADDER[lower]
        return True

    async def _stream(self, told: Sequence[tuple[str, str]], shape: type[BaseModel]) -> str:
        options: dict[str, Any] = {"stream_usage": True} if self._counts_streams else {}
        if self._mode in ("json_schema", "bare_schema"):
            left_out = _LENGTHS if self._mode == "bare_schema" else ()
            schema = {"name": shape.__name__, "schema": _strict(shape.model_json_schema(), left_out), "strict": True}
            options["response_format"] = {"type": "json_schema", "json_schema": schema}
        elif self._mode == "json_object":
            options["response_format"] = {"type": "json_object"}
        made, given, written, allowance = "", 0, 0, current()
        try:
            async for chunk in self._open().astream(list(told), **options):
                made += _text_of(chunk)
                if usage := getattr(chunk, "usage_metadata", None):
                    given, written = usage["input_tokens"], usage["output_tokens"]
                if len(made) > LARGEST_TEXT:
                    raise ProviderReplyError(f"the reply is longer than {LARGEST_TEXT:,} characters.")
                if allowance.seconds_left() <= 0:
                    raise DeadlineError("the time for it was used up.")
                allowance.tell(len(made))
        finally:
            # A server that does not count leaves an estimate: about four characters a token.
            given = given or sum(len(t) for _, t in told) // 4
            allowance.add_tokens(given, written or len(made) // 4, self._cost(given, written or len(made) // 4))
        return made

    def _cost(self, given: int, made: int) -> float | None:
        return None if self._price is None else (given * self._price[0] + made * self._price[1]) / 1e6

    def _open(self) -> "ChatOpenAI":
        if self._client is None:
            from langchain_openai import ChatOpenAI
            from pydantic import SecretStr

            self._http = open_client(seconds=self._silence)
            self._client = ChatOpenAI(
                model=self.name,
                base_url=self.address,
                api_key=SecretStr(self._key or "none"),  # the client wants one; a server of one's own ignores it
                max_retries=0,  # the transport's own are the only ones
                http_async_client=self._http,
                temperature=self._temperature,
                stream_chunk_timeout=None,
                use_responses_api=False,
            )
        return self._client

    @asynccontextmanager
    async def _failures(self) -> AsyncIterator[None]:
        """The client's errors as ours; a refused request (status 400) is left for the caller to look at."""
        import httpx
        import openai

        try:
            yield
        except openai.BadRequestError:
            raise
        except (openai.APITimeoutError, httpx.TimeoutException) as exc:
            raise ProviderDownError(f"{self.name} at {self.address} did not answer in time.") from exc
        except openai.APIStatusError as exc:
            raise self._refusal(exc) from exc
        except (httpx.ReadError, httpx.RemoteProtocolError) as exc:
            raise ProviderReplyError("the connection was cut in the middle of the reply.") from exc
        except (openai.APIConnectionError, httpx.HTTPError) as exc:
            raise ProviderDownError(f"{self.name} at {self.address} cannot be reached. Is the server on?") from exc
        except (openai.OpenAIError, ValueError, TypeError, KeyError, AttributeError, IndexError) as exc:
            # What is not even a chat reply breaks the client in ways of its own.
            if isinstance(exc, ProviderError):
                raise
            raise ProviderReplyError(f"the reply is no chat reply ({_short(str(exc))}).") from exc

    def _refusal(self, exc: Any) -> ProviderError:
        if exc.status_code == 422:
            return ProviderReplyError(f"{self.name} refused the request ({_short(str(exc))}).")
        return status_error(f"{self.name} at {self.address}", exc.status_code, _short(str(exc)))


def read_reply(text: str, shape: type[S]) -> S:
    """The reply's JSON object, wherever in the text it stands. Raises ProviderReplyError."""
    bare = without_thoughts(text).strip()
    if not bare:
        raise ProviderReplyError("the reply is empty")
    try:
        return shape.model_validate(_first_object(bare))
    except ValidationError as exc:
        first = exc.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise ProviderReplyError(f"'{where}' is not as required ({first['msg'].lower()})") from exc


def without_thoughts(text: str) -> str:
    """The text without what a model thought aloud, closed or not, and whether or not the beginning was marked."""
    return _UNOPENED.sub("", _THOUGHT.sub("", text)).lstrip()


def _first_object(text: str) -> Any:
    decoder = json.JSONDecoder()
    for begin in (m.start() for m in re.finditer(r"\{", text)):
        try:
            return decoder.raw_decode(text, begin)[0]
        except (ValueError, RecursionError):
            continue
    raise ProviderReplyError("there is no whole JSON object in the reply")


def _described(shape: type[BaseModel]) -> str:
    """The schema as part of the prompt, for servers that take no notice of one beside it."""
    return json.dumps(_strict(shape.model_json_schema(), _LENGTHS), ensure_ascii=False)


def _strict(schema: Any, left_out: Sequence[str]) -> Any:
    """The schema as strict mode wants it: every object closed, every field required, no defaults."""
    if isinstance(schema, list):
        return [_strict(s, left_out) for s in schema]
    if not isinstance(schema, dict):
        return schema
    dropped = ("default", "title", "description", "properties", *left_out)
    made = {k: _strict(v, left_out) for k, v in schema.items() if k not in dropped}
    if "properties" in schema:  # names of ours, none of which is the schema's own word
        fields = {name: _strict(field, left_out) for name, field in schema["properties"].items()}
        made |= {"properties": fields, "additionalProperties": False, "required": list(fields)}
    return made


def _text_of(chunk: "BaseMessage") -> str:
    return chunk.content if isinstance(chunk.content, str) else str(chunk.text)


def _short(text: str) -> str:
    return " ".join(text.split())[:200]


async def models_at(url: str, key: str = "") -> list[str]:
    """The names of the models that a server offers. Raises ProviderDownError, ProviderReplyError."""
    from tools.http import fetch_json

    headers = {"Authorization": f"Bearer {key}"} if key else {}
    async with open_client(seconds=10.0) as client:
        try:
            async with asyncio.timeout(15.0):
                listed = await fetch_json(client, "GET", f"{url.rstrip('/')}/models", name=url, headers=headers)
        except TimeoutError as exc:
            raise ProviderDownError(f"{url} did not answer in time.") from exc
    rows = listed.get("data") if isinstance(listed, dict) else None
    if not isinstance(rows, list):
        raise ProviderReplyError(f"{url} does not list its models as an OpenAI-compatible server does.")
    return [str(row["id"]) for row in rows if isinstance(row, dict) and row.get("id")]
