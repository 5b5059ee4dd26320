"""Chat models by the name of their vendor: 'anthropic:…', 'google_genai:…', 'ollama:…'; any other name is a model
behind an OpenAI-compatible address.

A vendor is offered where its LangChain integration can be given the project's own HTTP client, so that deadline,
retries, limits and headers are the same for all. `init_chat_model` builds each; where an integration makes its client
by itself, it is built without address and key, and its client replaced: should the integration ever use another, that
one knows neither.
"""

import importlib
import importlib.util
import ssl
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from tools.errors import ProviderDownError, SettingsError, SteelmanError
from tools.models.chat.clients import client_transport, compatible_class
from tools.models.chat.form import Form
from tools.net.route import environment_proxy

if TYPE_CHECKING:
    import httpx
    from langchain_core.language_models import BaseChatModel


@dataclass(frozen=True, slots=True)
class ClientOptions:
    """What a model is built of. `seconds`: the longest silence of its server."""

    model: str
    url: str
    key: str
    temperature: float | None
    seconds: float
    http: "httpx.AsyncClient"


@dataclass(frozen=True, slots=True)
class Listing:
    """Where a vendor lists its models, and how: {rows: [{name: …}]}."""

    path: str
    rows: str
    name: str
    headers: Callable[[str], dict[str, str]]


@dataclass(frozen=True, slots=True)
class Vendor:
    """What differs from vendor to vendor.

    prefix: in front of a model's name; '' for any OpenAI-compatible server. module: LangChain's integration. url: its
    address unless another is set. key, address: the variables that hold its key ('' where it wants none) and its
    address. raises: the names of what its client raises. bad_key: words of a refusal that is about the key, whatever
    its status. adds_counts: whether the parts of a reply count tokens each for themselves.
    """

    prefix: str
    module: str
    url: str
    key: str
    address: str
    listing: Listing
    build: Callable[[ClientOptions], "BaseChatModel"]
    raises: tuple[str, ...]
    options: Callable[[Form, type[BaseModel]], dict[str, Any]] = Form.options
    form: Form = field(default_factory=Form)
    bad_key: str = ""
    adds_counts: bool = False

    def count(self, usage: Mapping[str, Any] | None, given: int, written: int) -> tuple[int, int]:
        """The tokens of a reply so far, after a part that says `usage` of itself (`adds_counts`) or of the whole."""
        if not usage:
            return given, written
        before = (given, written) if self.adds_counts else (0, 0)
        return before[0] + max(0, usage["input_tokens"]), before[1] + max(0, usage["output_tokens"])

    @property
    def headers(self) -> frozenset[str]:
        """The headers that it has to be sent besides the usual."""
        return frozenset(map(str.lower, self.listing.headers("key")))

    @property
    def package(self) -> str:
        """What has to be installed for it."""
        return self.module.replace("_", "-")

    def named(self, model: str) -> str:
        """The model's whole name."""
        return f"{self.prefix}:{model}" if self.prefix else model

    def errors(self) -> tuple[type[Exception], ...]:
        """What its client raises; imports it. Raises SettingsError."""
        self.load()
        return tuple(resolve_name(name) for name in self.raises)

    def check(self) -> None:
        """Raises SettingsError when the integration is not installed. Nothing is imported."""
        with suppress(ImportError):
            if importlib.util.find_spec(self.module) is not None:
                return
        raise self._missing()

    def load(self) -> None:
        """Imports the integration, which takes a second or more. Raises SettingsError when it cannot be."""
        try:
            importlib.import_module("langchain.chat_models")
            importlib.import_module(self.module)
        except ModuleNotFoundError as exc:
            raise self._missing() from exc
        except Exception as exc:  # whatever a library says that reads proxies and certificates when it is loaded
            raise load_error(self.package, exc) from exc

    def _missing(self) -> SettingsError:
        return SettingsError(
            f"models named '{self.prefix or 'openai'}:…' need a package that is not installed: "
            f".venv/bin/pip install {self.package}"
        )

    def offers(self, model: str, listed: list[str]) -> bool:
        """Whether the model is among those listed: by its name, or by one that leaves out a date or a tag."""
        begin = f"{model.removesuffix('-latest')}-"
        dated = [name for name in listed if self.prefix == "anthropic" and name.removeprefix(begin).isdigit()]
        return bool(dated or {model, f"{model}:latest"} & set(listed))


def load_error(what: str, exc: Exception) -> SteelmanError:
    """Why a client cannot be loaded. Its own words may hold a proxy's password, so they are shown of files alone."""
    for scheme in ("http", "https"):
        try:
            if proxy := environment_proxy(f"{scheme}://public.example"):
                proxy.to_httpx()
        except ProviderDownError as wrong:
            return wrong
    why = exc if isinstance(exc, OSError) else type(exc).__name__
    return SettingsError(f"{what} cannot be loaded ({why}). Look at *_PROXY and SSL_CERT_FILE in the environment.")


OPENAI = "https://api.openai.com/v1"
_NOWHERE = "http://127.0.0.1:0"  # the address of whatever is never to be asked
_NO_KEY = "none"  # the clients want one; a server of one's own ignores it


def _init(asked: ClientOptions, provider: str, **options: Any) -> "BaseChatModel":
    from langchain.chat_models import init_chat_model

    if asked.temperature is not None:
        options["temperature"] = asked.temperature
    try:
        built: BaseChatModel = init_chat_model(asked.model, model_provider=provider, **options)
    except OSError as exc:
        raise load_error(provider, exc) from exc
    return built


def _unused() -> dict[str, Any]:
    """Options of the clients that integrations make beside the one that is asked, which read no environment."""
    return {"verify": ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), "trust_env": False}


def _bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"} if key else {}


# --- any OpenAI-compatible server


def _openai(asked: ClientOptions) -> "BaseChatModel":
    import httpx
    import openai
    from pydantic import SecretStr

    from tools.net.http import CONNECT_SECONDS

    built: BaseChatModel = compatible_class()(
        model=asked.model,
        temperature=asked.temperature,
        base_url=asked.url,
        api_key=SecretStr(asked.key or _NO_KEY),
        max_retries=0,  # the transport's own are the only ones
        http_async_client=asked.http,
        http_client=httpx.Client(**_unused()),
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
    listing=Listing("/models", "data", "id", _bearer),
    build=_openai,
    raises=("openai.OpenAIError",),
)

# --- Anthropic


def _anthropic(asked: ClientOptions) -> "BaseChatModel":
    """Its integration has no parameter for the client, but keeps it on the model."""
    import anthropic
    import httpx2

    model = _init(asked, "anthropic", base_url=_NOWHERE, api_key=_NO_KEY, max_retries=0)
    client = httpx2.AsyncClient(transport=client_transport(asked.http, httpx2), trust_env=False)
    vars(model)["_async_client"] = anthropic.AsyncAnthropic(
        api_key=asked.key or _NO_KEY, base_url=asked.url, max_retries=0, http_client=client
    )
    return model


def _anthropic_options(form: Form, shape: type[BaseModel]) -> dict[str, Any]:
    """The integration leaves out of the schema what Anthropic does not know."""
    schema = form.schema(shape)
    return {"response_format": {"type": "json_schema", "json_schema": {"schema": schema}}} if schema else {}


def _anthropic_headers(key: str) -> dict[str, str]:
    return {"anthropic-version": "2026-10-21", **_bearer(key)}  # as its client has them


# --- Ollama


def _ollama(asked: ClientOptions) -> "BaseChatModel":
    import httpx

    own = {"transport": client_transport(asked.http, httpx), "trust_env": False, "follow_redirects": False}
    return _init(asked, "ollama", base_url=asked.url, async_client_kwargs=own, sync_client_kwargs=_unused())


def _ollama_options(form: Form, shape: type[BaseModel]) -> dict[str, Any]:
    asked = form.schema(shape) or ("json" if form.mode == "json_object" else None)
    return {"format": asked} if asked else {}


# --- Google's Gemini


def _google(asked: ClientOptions) -> "BaseChatModel":
    """The client that it makes is replaced by one that was given ours; it is the model's public field."""
    from google import genai
    from google.genai import types

    once = 1  # tries, not retries: 0 would be the client's own five
    tried = {"max_retries": once, "client_args": _unused()}
    model: Any = _init(asked, "google_genai", base_url=_NOWHERE, api_key=_NO_KEY, vertexai=False, **tried)
    options = types.HttpOptions(base_url=asked.url, httpx_async_client=asked.http, client_args=_unused())
    model.client = genai.Client(vertexai=False, api_key=asked.key or _NO_KEY, http_options=options)
    built: BaseChatModel = model
    return built


def _google_options(form: Form, shape: type[BaseModel]) -> dict[str, Any]:
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
        listing=Listing("/v1/models?limit=1000", "data", "id", _anthropic_headers),
        build=_anthropic,
        raises=("anthropic.AnthropicError", "httpx2.HTTPError", "httpx2.StreamError"),
        options=_anthropic_options,
        form=Form(counted=False, ladder=("json_schema", "text")),
    ),
    Vendor(
        prefix="google_genai",
        module="langchain_google_genai",
        url="https://generativelanguage.googleapis.com",
        key="GOOGLE_API_KEY",
        address="GOOGLE_GEMINI_BASE_URL",
        listing=Listing(
            "/v1beta/models?pageSize=1000", "models", "name", lambda key: {"x-goog-api-key": key} if key else {}
        ),
        build=_google,
        raises=(
            "google.genai.errors.APIError",
            "google.genai.errors.UnknownApiResponseError",
            "langchain_google_genai.chat_models.ChatGoogleGenerativeAIError",
        ),
        options=_google_options,
        form=Form(counted=False),
        bad_key="API key",
        adds_counts=True,
    ),
    Vendor(
        prefix="ollama",
        module="langchain_ollama",
        url="http://127.0.0.1:11434",
        key="",
        address="OLLAMA_HOST",
        listing=Listing("/api/tags", "models", "name", lambda _: {}),
        build=_ollama,
        raises=("ollama.ResponseError", "ollama.RequestError", "builtins.ConnectionError"),
        options=_ollama_options,
        form=Form(counted=False),
    ),
)
VENDORS: Mapping[str, Vendor] = {vendor.prefix: vendor for vendor in _VENDORS}
"""The vendors that are offered by name."""


def vendor_of(name: str) -> tuple[Vendor, str]:
    """The vendor that a name speaks of, and the model's name there."""
    prefix, colon, model = name.partition(":")
    if colon and model and prefix in VENDORS:
        return VENDORS[prefix], model
    return COMPATIBLE, name.removeprefix("openai:")
