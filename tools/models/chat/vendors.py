"""Vendors of chat models, such as 'anthropic:…', 'google_genai:…' and 'ollama:…'. Names without a vendor's prefix are
models of an OpenAI-compatible server.

A vendor is supported if its LangChain integration accepts the project's HTTP client. So deadlines, retries, limits and
headers are the same for all vendors. `init_chat_model` builds each model. If an integration creates its own client,
that client gets neither address nor key, and the project's client replaces it.
"""

import importlib
import importlib.util
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pkgutil import resolve_name
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

from pydantic import BaseModel

from tools.errors import SettingsError
from tools.limits import CONNECT_SECONDS
from tools.models.chat.request_form import RequestForm

if TYPE_CHECKING:
    import httpx
    from langchain_core.language_models import BaseChatModel


@dataclass(frozen=True, slots=True)
class ClientOptions:
    """Arguments of a chat client. `seconds`: longest silence of its server."""

    model: str
    url: str
    key: str
    temperature: float | None
    seconds: float
    http: "httpx.AsyncClient"


@dataclass(frozen=True, slots=True)
class Vendor:
    """The differences between vendors.

    prefix: the prefix of a model's name; '' for an OpenAI-compatible server. module: LangChain's integration. url: the
    default address. key, address: the environment variables of the vendor's key ('' if no key is needed) and address.
    models: the path of the list of models. headers: returns the headers for a key. raises: names of the client's
    exceptions. bad_key: words that show that a refusal is about the key, whatever the HTTP status. adds_counts: each
    part of a reply counts only its own tokens.
    """

    prefix: str
    module: str
    url: str
    key: str
    address: str
    models: str
    headers: Callable[[str], dict[str, str]]
    build: Callable[[ClientOptions], "BaseChatModel"]
    raises: tuple[str, ...]
    options: Callable[[RequestForm, type[BaseModel]], dict[str, Any]] = RequestForm.options
    bad_key: str = ""
    adds_counts: bool = False

    def count(self, usage: Mapping[str, Any] | None, given: int, written: int) -> tuple[int, int]:
        """The tokens of a reply so far, from a part's `usage`."""
        if not usage:
            return given, written
        before = (given, written) if self.adds_counts else (0, 0)
        return before[0] + max(0, usage["input_tokens"]), before[1] + max(0, usage["output_tokens"])

    def named(self, model: str) -> str:
        """The model's name with the vendor's prefix."""
        return f"{self.prefix}:{model}" if self.prefix else model

    def errors(self) -> tuple[type[Exception], ...]:
        """Imports the vendor's client and returns its exceptions. Raises SettingsError."""
        self.load()
        return tuple(resolve_name(name) for name in self.raises)

    def check(self) -> None:
        """Raises SettingsError if the integration is not installed. Imports nothing."""
        if importlib.util.find_spec(self.module) is None:
            raise SettingsError(
                f"models named '{self.prefix or 'openai'}:…' need a package that is not installed: "
                f".venv/bin/pip install {self.module.replace('_', '-')}"
            )

    def load(self) -> None:
        """Imports the integration, which takes a second or more. Raises SettingsError."""
        self.check()
        try:
            importlib.import_module("langchain.chat_models")
            importlib.import_module(self.module)
        except Exception as exc:  # libraries read proxies and certificates at import
            raise load_error(self.module, exc) from exc


def load_error(what: str, exc: Exception) -> SettingsError:
    """The error for a client that cannot be loaded. The client's own message may contain a proxy's password, so only
    messages about files and modules are shown."""
    why = exc if isinstance(exc, OSError | ImportError) else type(exc).__name__
    advice = "" if isinstance(exc, ImportError) else " Look at *_PROXY and SSL_CERT_FILE in the environment."
    return SettingsError(f"{what} cannot be loaded ({why}).{advice}")


_OWN_HEADERS = (b"accept-encoding", b"user-agent", b"host", b"content-length", b"transfer-encoding")


def client_transport(client: "httpx.AsyncClient", library: ModuleType) -> Any:
    """A transport for clients of `library` (httpx, or its fork httpx2) that forwards each request to `client`.

    The transport raises the same errors as `client`. Closing the transport does not close `client`.
    """

    class Body(library.AsyncByteStream):  # type: ignore[misc, name-defined]  # the library is only known here
        def __init__(self, response: "httpx.Response") -> None:
            self._response = response

        async def __aiter__(self) -> AsyncIterator[bytes]:
            async for part in self._response.aiter_raw():
                yield part

        async def aclose(self) -> None:
            await self._response.aclose()

    class Through(library.AsyncBaseTransport):  # type: ignore[misc, name-defined]
        async def handle_async_request(self, request: Any) -> Any:
            headers = [(name, value) for name, value in request.headers.raw if name.lower() not in _OWN_HEADERS]
            content = await request.aread() or None
            sent = client.build_request(request.method, str(request.url), headers=headers, content=content)
            sent.extensions = request.extensions  # shared object: a mark on one request appears on both
            response = await client.send(sent, stream=True)
            return library.Response(response.status_code, headers=response.headers.raw, stream=Body(response))

    return Through()


@cache
def compatible_class() -> Any:
    """LangChain's OpenAI client. Replies keep reasoning and refusals; streams raise errors inside them."""
    import openai
    from langchain_openai import ChatOpenAI

    class Compatible(ChatOpenAI):
        def _convert_chunk_to_generation_chunk(self, chunk: dict[str, Any], *args: Any) -> Any:
            if chunk.get("object") == "error":
                raise openai.APIError(str(chunk.get("message")), cast("Any", None), body=chunk)
            made = super()._convert_chunk_to_generation_chunk(chunk, *args)
            return _with_reasoning(made, (chunk.get("choices") or [{}])[0].get("delta"))

        def _create_chat_result(self, response: Any, *args: Any) -> Any:
            made = super()._create_chat_result(response, *args)
            _with_reasoning(made.generations[0], response.model_dump()["choices"][0]["message"])
            return made

    return Compatible


def _with_reasoning(made: Any, said: Any) -> Any:
    for name in ("reasoning_content", "reasoning", "refusal"):
        if made is not None and said and isinstance(said.get(name), str) and said[name]:
            made.message.additional_kwargs["refusal" if name == "refusal" else "reasoning_content"] = said[name]
    return made


OPENAI = "https://api.openai.com/v1"
_NO_ADDRESS = "http://127.0.0.1:0"  # for clients that are never used
_NO_KEY = "none"  # required by the clients; local servers ignore it


def _init_chat_model(asked: ClientOptions, provider: str, **options: Any) -> "BaseChatModel":
    from langchain.chat_models import init_chat_model

    if asked.temperature is not None:
        options["temperature"] = asked.temperature
    try:
        built: BaseChatModel = init_chat_model(asked.model, model_provider=provider, **options)
    except OSError as exc:
        raise load_error(provider, exc) from exc
    return built


def _unused_client_options() -> dict[str, Any]:
    """Options of clients that integrations create but never use. Such clients read no environment variables."""
    return {"verify": ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), "trust_env": False}


def _bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"} if key else {}


# --- any OpenAI-compatible server


def _openai(asked: ClientOptions) -> "BaseChatModel":
    import httpx
    import openai
    from pydantic import SecretStr

    built: BaseChatModel = compatible_class()(
        model=asked.model,
        temperature=asked.temperature,
        base_url=asked.url,
        api_key=SecretStr(asked.key or _NO_KEY),
        max_retries=0,  # the transport retries
        http_async_client=asked.http,
        http_client=httpx.Client(**_unused_client_options()),
        http_socket_options=(),
        timeout=openai.Timeout(asked.seconds, connect=min(asked.seconds, CONNECT_SECONDS)),
        openai_proxy=None,
        stream_chunk_timeout=None,
        use_responses_api=False,
    )
    return built


COMPATIBLE = Vendor(
    prefix="",
    module="langchain_openai",
    url=OPENAI,
    key="",
    address="OPENAI_BASE_URL",
    models="/models",
    headers=_bearer,
    build=_openai,
    raises=("openai.OpenAIError",),
)

# --- Anthropic


def _anthropic(asked: ClientOptions) -> "BaseChatModel":
    """The integration has no parameter for a client, but it stores its client on the model."""
    import anthropic
    import httpx2

    model = _init_chat_model(asked, "anthropic", base_url=_NO_ADDRESS, api_key=_NO_KEY, max_retries=0)
    client = httpx2.AsyncClient(transport=client_transport(asked.http, httpx2), trust_env=False)
    vars(model)["_async_client"] = anthropic.AsyncAnthropic(
        api_key=asked.key or _NO_KEY, base_url=asked.url, max_retries=0, http_client=client
    )
    return model


def _anthropic_options(form: RequestForm, shape: type[BaseModel]) -> dict[str, Any]:
    """The integration removes unsupported keywords from the schema."""
    schema = form.schema(shape)
    return {"response_format": {"type": "json_schema", "json_schema": {"schema": schema}}} if schema else {}


def _anthropic_headers(key: str) -> dict[str, str]:
    return {"anthropic-version": "2026-10-21", **_bearer(key)}  # the same as in its client


# --- Ollama


def _ollama(asked: ClientOptions) -> "BaseChatModel":
    import httpx

    own = {"transport": client_transport(asked.http, httpx), "trust_env": False, "follow_redirects": False}
    return _init_chat_model(
        asked, "ollama", base_url=asked.url, async_client_kwargs=own, sync_client_kwargs=_unused_client_options()
    )


def _ollama_options(form: RequestForm, shape: type[BaseModel]) -> dict[str, Any]:
    asked = form.schema(shape) or ("json" if form.mode == "json_object" else None)
    return {"format": asked} if asked else {}


# --- Google's Gemini


def _google(asked: ClientOptions) -> "BaseChatModel":
    """The model's public field `client` gets a client that sends over the project's client."""
    from google import genai
    from google.genai import types

    own = {"max_retries": 1, "client_args": _unused_client_options()}  # 1 attempt; 0 means the client's default of 5
    model: Any = _init_chat_model(asked, "google_genai", base_url=_NO_ADDRESS, api_key=_NO_KEY, vertexai=False, **own)
    options = types.HttpOptions(base_url=asked.url, httpx_async_client=asked.http, client_args=_unused_client_options())
    model.client = genai.Client(vertexai=False, api_key=asked.key or _NO_KEY, http_options=options)
    return cast("BaseChatModel", model)


def _google_options(form: RequestForm, shape: type[BaseModel]) -> dict[str, Any]:
    schema = form.schema(shape)
    asked = {"response_json_schema": schema} if schema else {}
    return {"response_mime_type": "application/json", **asked} if form.mode != "text" else {}


_VENDORS = (
    Vendor(
        prefix="anthropic",
        module="langchain_anthropic",
        url="https://api.anthropic.com",
        key="ANTHROPIC_API_KEY",
        address="ANTHROPIC_BASE_URL",
        models="/v1/models?limit=1000",
        headers=_anthropic_headers,
        build=_anthropic,
        raises=("anthropic.AnthropicError", "httpx2.HTTPError", "httpx2.StreamError"),
        options=_anthropic_options,
    ),
    Vendor(
        prefix="google_genai",
        module="langchain_google_genai",
        url="https://generativelanguage.googleapis.com",
        key="GOOGLE_API_KEY",
        address="GOOGLE_GEMINI_BASE_URL",
        models="/v1beta/models?pageSize=1000",
        headers=lambda key: {"x-goog-api-key": key} if key else {},
        build=_google,
        raises=(
            "google.genai.errors.APIError",
            "google.genai.errors.UnknownApiResponseError",
            "langchain_google_genai.chat_models.ChatGoogleGenerativeAIError",
        ),
        options=_google_options,
        bad_key="API key",
        adds_counts=True,
    ),
    Vendor(
        prefix="ollama",
        module="langchain_ollama",
        url="http://127.0.0.1:11434",
        key="",
        address="OLLAMA_HOST",
        models="/api/tags",
        headers=lambda _: {},
        build=_ollama,
        raises=("ollama.ResponseError", "ollama.RequestError", "builtins.ConnectionError"),
        options=_ollama_options,
    ),
)
VENDORS: Mapping[str, Vendor] = {vendor.prefix: vendor for vendor in _VENDORS}
"""All vendors, by the prefix of their models' names."""


def vendor_of(name: str) -> tuple[Vendor, str]:
    """The vendor of a model's name, and the name without its prefix."""
    prefix, colon, model = name.partition(":")
    if colon and model and prefix in VENDORS:
        return VENDORS[prefix], model
    return COMPATIBLE, name.removeprefix("openai:")
