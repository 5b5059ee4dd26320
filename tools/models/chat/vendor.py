"""What differs from one vendor of chat models to the next; `vendors.py` has the vendors."""

import importlib
import importlib.util
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from tools.errors import ProviderDownError, SettingsError, SteelmanError
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
                proxy.opened()
        except ProviderDownError as wrong:
            return wrong
    why = exc if isinstance(exc, OSError) else type(exc).__name__
    return SettingsError(f"{what} cannot be loaded ({why}). Look at *_PROXY and SSL_CERT_FILE in the environment.")
