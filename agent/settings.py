"""Settings from the environment and a `.env` file: their fields, forms and checks, and `.env.example`."""

import os
import re
import shlex
import textwrap
from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from platformdirs import user_data_dir
from pydantic import AfterValidator, Field, SecretStr, ValidationError, ValidationInfo, field_validator, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from tools.disk import ROOT, is_checkout, provide_home
from tools.errors import SettingsError
from tools.limits import MODEL_REQUESTS
from tools.net.http import is_address, without_login
from tools.net.pool import split_addresses

DEFAULT_MODEL = "gpt-5.4-mini"


def find_env_file() -> Path | None:
    """Returns the settings file: STEELMAN_ENV_FILE, else `.env` of the checkout, else of the data folder.

    The current folder is not searched, because an assistant may start the server in any folder. Raises SettingsError
    if STEELMAN_ENV_FILE names no file.
    """
    if named := os.environ.get("STEELMAN_ENV_FILE"):
        if os.access(named, os.F_OK) and not Path(named).is_dir():
            return Path(named)
        raise SettingsError(f"STEELMAN_ENV_FILE names no file: {named!r}. Correct the path, or unset it.")
    folders = [ROOT] if is_checkout() else []
    with suppress(RuntimeError, SettingsError):  # Settings reports the data folder's fault
        given = os.environ.get("STEELMAN_DATA_DIR")
        folders.append(whole_path(Path(given)) if given else usual_data_folder())
    return next((folder / ".env" for folder in folders if os.path.lexists(folder / ".env")), None)


def usual_data_folder() -> Path:
    """Returns the default data folder. Raises SettingsError if this user has no home folder."""
    try:
        return Path(user_data_dir("steelman", appauthor=False))
    except RuntimeError as exc:
        raise SettingsError("this user has no home folder. Set STEELMAN_DATA_DIR to a folder of your own.") from exc


def whole_path(value: Path) -> Path:
    """Returns the absolute path, with `~` expanded. Raises RuntimeError if no home folder is known."""
    return value.expanduser().absolute()


def split_list(value: str) -> list[str]:
    """Splits a setting at commas."""
    return [part.strip() for part in value.split(",") if part.strip()]


_HOST_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*")
_ORIGIN = re.compile(r"https?://(?:[a-z0-9.-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?")


def checked_host_names(value: str) -> str:
    if not all(map(_HOST_NAME.fullmatch, split_list(value))):
        raise ValueError("it lists host names without https:// and port, such as api.example.org, other.example")
    return value


def checked_origins(value: str) -> str:
    if not all(map(_ORIGIN.fullmatch, split_list(value))):
        raise ValueError("it lists addresses of pages without a path, such as https://app.example.org")
    return value


def checked_judge(value: str) -> str:
    if value not in (known := ("auto", "embedded", "batch", "chat", "score")) and not value.startswith("hub:"):
        raise ValueError(f"it is one of {', '.join(known)}, or hub: and the name or folder of a model")
    return value


def checked_address(value: str) -> str:
    if value and not (value.startswith(("http://", "https://")) and is_address(value)):
        raise ValueError("an address is http:// or https:// with a host and, if need be, a port")
    return value.rstrip("/")


def checked_addresses(value: str) -> str:
    """Returns one address, or several of servers of the same model, with a comma between them."""
    found = list(dict.fromkeys(map(checked_address, split_addresses(value.strip(" ,")))))
    if any("," in address.rpartition("@")[2] for address in found):
        raise ValueError("each address of a list begins with http:// or https://")
    if len(found) > 1 and any("@" in address for address in found):
        raise ValueError("several addresses share one key and hold no name or password")
    if len({urlsplit(address).path for address in found}) > 1:
        raise ValueError("several addresses end in the same path, such as /v1")
    return ",".join(found)


def checked_contact(value: str) -> str:
    if value and not re.fullmatch(r"[!-?A-~]+@[!-?A-~]+", value):
        raise ValueError("it is an e-mail address, such as ann@example.org")
    return value


def checked_source_addresses(value: str) -> str:
    for part in split_list(value):
        name, given, address = part.partition("=")
        if not (name and given and address) or checked_address(address.strip()) != address.strip():
            raise ValueError("it lists names and addresses, such as openalex=http://127.0.0.1:8010")
    return value


def checked_mcp_servers(value: str) -> str:
    for name, server in _pairs(value, ";").items():
        if not (re.fullmatch("[a-z0-9-]+", name) and server) or ("://" in server.split()[0] and not is_address(server)):
            raise ValueError("it lists names with commands or addresses: notes=uvx notes-mcp; wiki=https://HOST/mcp")
        shlex.split(server)  # raises ValueError for an open quotation
    return value


def _pairs(value: str, between: str) -> dict[str, str]:
    parts = (part.partition("=") for part in value.split(between) if part.strip())
    return {name.strip(): given.strip() for name, _, given in parts}


def checked_public_address(value: str) -> str:
    value = checked_address(value)
    if value.endswith(("/v1", "/mcp", "/docs")) or "?" in value:  # people copy these from addresses of calls
        raise ValueError("it is where callers reach the server, with the path before /v1: https://example.org/steelman")
    return value


def checked_ollama_address(value: str) -> str:
    """Returns the address as Ollama reads it: scheme, host and port are optional; 0.0.0.0 is this machine."""
    if not value:
        return value
    parts = urlsplit(value if "://" in value else f"http://{value}")
    host = parts.netloc if parts.port or "://" in value else f"{parts.netloc}:11434"
    return parts._replace(netloc=re.sub(r"^(0\.0\.0\.0|\[::\])?(?=:|$)", "127.0.0.1", host)).geturl().rstrip("/")


def checked_database(value: str) -> str:
    if value and not value.startswith("postgresql+psycopg://"):
        raise ValueError("it begins with postgresql+psycopg://, or is empty for SQLite")
    return value


def checked_rates(value: str) -> str:
    from limits import parse_many

    if not all(rate.amount for rate in parse_many(value)):
        raise ValueError("a rate of 0 would refuse all requests")
    return value


_Address = Annotated[str, AfterValidator(checked_address)]
_Addresses = Annotated[str, AfterValidator(checked_addresses)]
_SENT = ("_key", "_token")  # endings of names of header values
_PLACES = ("_url", "_host")


def _text(description: str) -> Any:
    return Field(default="", description=description)


def _key(description: str) -> Any:
    return Field(default=SecretStr(""), description=description)


_SHARED = frozenset(
    """https_proxy http_proxy all_proxy no_proxy ssl_cert_file openai_api_key openai_base_url anthropic_api_key
    anthropic_base_url google_api_key google_gemini_base_url ollama_host tavily_api_key tavily_base_url searxng_url
    serper_api_key semantic_scholar_api_key openalex_api_key stackexchange_api_key chroma_url chroma_token""".split()
)
"""Settings whose variables other programs read too, and so have no prefix."""


def variable_of(name: str) -> str:
    """Returns the environment variable of a setting."""
    return name.upper() if name in _SHARED else f"STEELMAN_{name.upper()}"


class Settings(BaseSettings):
    """The configuration of this machine. `agent.options` has the options of one run."""

    model_config = SettingsConfigDict(
        alias_generator=variable_of,
        env_ignore_empty=True,
        extra="ignore",
        frozen=True,
        populate_by_name=True,
        protected_namespaces=(),
        hide_input_in_errors=True,  # the input may be a key
    )

    # Proxies and certificates
    https_proxy: str = _text("The proxy to addresses of https://, as http://NAME:PASSWORD@HOST:PORT.")
    http_proxy: str = _text("The proxy to addresses of http:// outside this network.")
    all_proxy: str = _text("The proxy to both, where they have none of their own.")
    no_proxy: str = _text(
        "Addresses that bypass the proxy: example.org, *.example.org, HOST:PORT, an IP address, or *."
    )
    ssl_cert_file: str = _text("Certificates (PEM) of authorities to believe besides the usual ones.")
    trust_proxy: bool = Field(
        default=False,
        description="Whether pages whose names this machine cannot look up are asked of the proxy, unchecked.",
    )

    data_dir: Annotated[Path, AfterValidator(whole_path)] = Field(
        default_factory=usual_data_folder, description="Where documents, indexes, runs and caches are kept."
    )
    database_url: Annotated[str, AfterValidator(checked_database)] = _text(
        "A Postgres database for documents, runs and checkpoints, as postgresql+psycopg://NAME:PASSWORD@HOST/DATABASE; "
        "empty: SQLite files in the data folder. Each data folder keeps its own indexes; see CHROMA_URL."
    )
    workers: bool = Field(
        default=False,
        description="Whether the API and the page leave questions and uploads that are jobs to processes of "
        "`python -m api worker`.",
    )
    deadline: float = Field(default=0.0, ge=0.0, description="Seconds that an answer may take; 0 is the usual.")
    read_seconds: float = Field(default=30.0, gt=0.0, description="Seconds of work that reading one file may take.")
    read_megabytes: int = Field(default=512, ge=256, description="Megabytes of memory that reading one file may take.")
    admins: str = _text(
        "Who may change the page's settings where people log in: ann@example.org, as far as the login provider "
        "verified it, or issuer and subject, https://id.example.org 4711, ..."
    )

    language: Literal["", "en", "de", "fr", "es"] = Field(
        default="",
        description="Language of the page and the command line: en, de, fr or es. Empty: as the visitor or LANG says.",
    )

    # Language: framing, perspectives, queries, claims
    provider: Literal["auto", "embedded", "chat"] = Field(
        default="auto",
        description="'embedded' never uses a model server, whatever else is set; 'auto' uses what is set and "
        "falls back to the embedded one with a note; 'chat' fails where the model fails.",
    )
    openai_api_key: SecretStr = _key("Turns on OpenAI's models, or the key of OPENAI_BASE_URL.")
    openai_base_url: _Addresses = _text(
        "Any OpenAI-compatible server (vLLM, Ollama, llama.cpp), such as http://127.0.0.1:11434/v1, or several that "
        "serve the same model, with commas between them.",
    )
    anthropic_api_key: SecretStr = _key("The key for models named anthropic:…")
    anthropic_base_url: _Address = _text("Another address for models named anthropic:…")
    google_api_key: SecretStr = _key("The key for models named google_genai:…")
    google_gemini_base_url: _Address = _text("Another address for models named google_genai:…")
    ollama_host: Annotated[str, AfterValidator(checked_ollama_address)] = _text(
        "Where models named ollama:… are, if not at http://127.0.0.1:11434."
    )
    model: str = _text(
        "The model of every stage that has none of its own: a name at OPENAI_BASE_URL, or with its vendor "
        "in front: anthropic:NAME, google_genai:NAME, ollama:NAME."
    )
    model_expand: str = _text("The model that reads the question and plans the perspectives.")
    model_queries: str = _text("The model that thinks of queries for uncovered sides.")
    model_write: str = _text("The model that writes the claims.")
    model_requests: int = Field(
        default=MODEL_REQUESTS,
        ge=1,
        description="Open requests of this process to one server of a model, judge or encoder; more wait their turn.",
    )
    temperature: float | None = Field(default=None, ge=0.0, le=2.0, description="Sent where it is set.")
    prices: str = _text("Prices of models, US dollars for a million tokens given/made: name=0.5/1.5, other=1/2.")

    # The judge
    judge: Annotated[str, AfterValidator(checked_judge)] = Field(
        default="auto",
        description="'hub:NAME' is the model NAME from Hugging Face, in this process (extra 'models'); 'batch' asks a "
        "chat model about many passages in one call, 'chat' one with log-probabilities Yes or No, 'score' a "
        "cross-encoder on vLLM's /score, and all fail where their model fails; 'auto' uses STEELMAN_JUDGE_URL if it is "
        "set, else the chat model in batches if one is set, and falls back with a note.",
    )
    judge_url: _Addresses = _text(
        "The judge's server, or several with commas between them; an address that ends in /score is a scorer."
    )
    judge_model: str = _text("The judge's model.")
    judge_api_key: SecretStr = _key("The judge's key, if it wants one.")
    judge_prompt: Path | None = Field(default=None, description="A file with the chat judge's prompt.")
    judge_threshold: float = Field(
        default=0.5, gt=0.0, lt=1.0, description="The probability from which a served judge accepts a passage."
    )

    # The web
    web: Literal["auto", "off", "tavily", "ddgs", "serper", "searxng"] = Field(
        default="auto",
        description="'auto' is Tavily, Serper or SearXNG, whichever is set; 'ddgs' needs no key; 'off' is off.",
    )
    tavily_api_key: SecretStr = _key("Turns on web search by Tavily.")
    tavily_base_url: _Address = _text(
        "Turns on any engine that speaks Tavily's format, at its address, with or without a key."
    )
    searxng_url: _Address = _text("Turns on web search by a SearXNG of your own, at its address.")
    serper_api_key: SecretStr = _key("Turns on web search by Serper.")
    sources: str = _text(
        "Sources without a key that are searched besides the engine, such as openalex, wikipedia, or all. Empty: none. "
        "`python -m agent doctor` lists those that are installed."
    )
    semantic_scholar_api_key: SecretStr = _key("Turns on studies from Semantic Scholar.")
    openalex_api_key: SecretStr = _key("A free key; ten times as many searches a day.")
    stackexchange_api_key: SecretStr = _key("A free key; more searches a day.")
    mcp_sources: Annotated[str, AfterValidator(checked_mcp_servers)] = _text(
        "MCP servers whose search tools are asked, each by a name and its command or address, with semicolons between "
        "them: notes=uvx notes-mcp; wiki=https://mcp.example.org/mcp."
    )
    contact: Annotated[str, AfterValidator(checked_contact)] = _text(
        "Your e-mail address, which sources without a key get with each request, as they ask for."
    )
    source_addresses: Annotated[str, AfterValidator(checked_source_addresses)] = _text(
        "Other addresses of sources, such as a mirror of your own: openalex=http://127.0.0.1:8010, ..."
    )
    fetch: Literal["plain", "playwright"] = Field(
        default="plain",
        description="'playwright' reads pages that show nothing without JavaScript once more, with a headless Chromium "
        "(extra 'browser').",
    )
    chromium: str = _text("The Chromium to use, if not the usual one.")
    domains: Path | None = Field(default=None, description="A file of domain lists: allow, prefer, block, kinds.")

    # Stores and encoders
    chroma_url: _Address = _text("A Chroma server for the dense index, such as http://127.0.0.1:8000.")
    chroma_token: SecretStr = _key("The Chroma server's token, if it wants one.")
    encoder: str = _text("A sentence-transformers model (name or folder) in place of MiniLM; needs the extra 'models'.")
    encoder_languages: str = _text(
        "Languages that the encoder reads, as codes (de, fr) or all. Then questions in them are answered with passages "
        "without sides, if no chat model is set. Empty: the languages of the model's card."
    )
    encoder_query_prompt: str = _text("Text put before every query.")
    encoder_document_prompt: str = _text("Text put before every passage.")
    embeddings_url: _Addresses = _text("An OpenAI-compatible embeddings server as the encoder, or several.")
    embeddings_model: str = _text("The embeddings server's model.")
    embeddings_api_key: SecretStr = _key("The embeddings server's key.")
    embeddings_batch: int = Field(default=64, ge=1, description="Texts in a request; fewer where it refuses them.")

    # The HTTP service
    api_host: str = Field(
        default="127.0.0.1",
        description="Where `python -m api` listens. Any other address than this machine's own wants a key to be made "
        "first: `python -m api keys make NAME`.",
    )
    api_port: int = Field(default=8000, ge=0, le=65535, description="The port; 0 takes a free one and says which.")
    api_hosts: Annotated[str, AfterValidator(checked_host_names)] = _text(
        "Names under which callers reach it, and browsers the page, besides this machine's: api.example.org, ..."
    )
    api_origins: Annotated[str, AfterValidator(checked_origins)] = _text(
        "Web pages that may call it (CORS): https://app.example.org, ...; empty: none."
    )
    public_url: Annotated[str, AfterValidator(checked_public_address)] = _text(
        "Where callers reach it through a proxy, such as https://example.org/steelman; all links begin with it."
    )
    api_runs: int = Field(default=4, ge=1, le=64, description="Runs that are worked on at once.")
    api_waiting: int = Field(default=60, ge=0, description="Runs that may wait their turn; past it callers get 429.")
    api_key_runs: int = Field(default=16, ge=1, description="Runs of one key at work or waiting; past it 429.")
    api_rate: Annotated[str, AfterValidator(checked_rates)] = Field(
        default="600/minute", description="Requests of one key: 600/minute, or several rates: 20/second; 600/minute."
    )
    api_upload: int = Field(default=25, ge=1, le=1000, description="Megabytes of one upload at most, on the page too.")
    api_log_questions: bool = Field(default=False, description="Whether questions stand in the logs.")

    @field_validator("*", mode="before")
    @classmethod
    def _sendable(cls, value: object, info: ValidationInfo) -> object:
        """Strips keys, addresses and model names; refuses characters that cannot be sent."""
        given, name = value.get_secret_value() if isinstance(value, SecretStr) else value, str(info.field_name)
        if not isinstance(given, str) or not (name.endswith(_SENT + _PLACES) or "model" in name):
            return value
        given = given.strip(" \t\r\n")
        if name.endswith(_SENT) and (given != given.strip("\"'`") or not all("!" <= c <= "~" for c in given)):
            raise ValueError("a key is one word of ASCII characters, without quotation marks. Copy it again")
        return given

    @model_validator(mode="after")
    def _whole(self) -> "Settings":
        """Checks settings that depend on each other. The first word of the message is the variable."""
        for fault in (*self._model_faults(), *self._retrieval_faults()):
            raise ValueError(fault)
        return self

    def _model_faults(self) -> Iterator[str]:
        if self.provider == "chat" and not self.chat_is_set:
            yield (
                "STEELMAN_PROVIDER is 'chat': set OPENAI_API_KEY, or OPENAI_BASE_URL for a server of your own, or "
                "STEELMAN_MODEL to a vendor's model, such as anthropic:NAME"
            )
        own_server = self.openai_base_url and "api.openai.com" not in self.openai_base_url
        if own_server and not (self.model or all(self._stages)):
            yield "STEELMAN_MODEL is needed beside OPENAI_BASE_URL: name one of that server's models"
        chat_judge = self.judge in ("batch", "chat") and self.chat_is_set
        if self.judge in ("batch", "chat", "score") and not self.judge_url and not chat_judge:
            yield f"STEELMAN_JUDGE is '{self.judge}': set STEELMAN_JUDGE_URL"
        if self.judge_url and not self.judge_model:
            yield "STEELMAN_JUDGE_MODEL is needed beside STEELMAN_JUDGE_URL"

    def _retrieval_faults(self) -> Iterator[str]:
        keys = {"tavily": self.tavily_api_key, "serper": self.serper_api_key}
        keyless = self.web not in keys or (self.web == "tavily" and self.tavily_base_url)
        if not keyless and not keys[self.web].get_secret_value():
            yield f"STEELMAN_WEB is '{self.web}': set {self.web.upper()}_API_KEY"
        if self.web == "searxng" and not self.searxng_url:
            yield "STEELMAN_WEB is 'searxng': set SEARXNG_URL"
        if bool(self.embeddings_url) != bool(self.embeddings_model):
            yield "STEELMAN_EMBEDDINGS_URL and STEELMAN_EMBEDDINGS_MODEL are needed together"
        if self.embeddings_url and self.encoder:
            yield "STEELMAN_ENCODER and STEELMAN_EMBEDDINGS_URL cannot both be the encoder: unset one"

    @property
    def chat_is_set(self) -> bool:
        """Whether a chat model is configured."""
        vendors = {name.partition(":")[0] for name in (self.model, *self._stages) if ":" in name}
        return bool(self.openai_api_key.get_secret_value() or self.openai_base_url or vendors - {"openai", "ft"})

    @property
    def source_places(self) -> dict[str, str]:
        """The addresses that replace sources' own, by source."""
        return _pairs(self.source_addresses, ",")

    @property
    def mcp_servers(self) -> dict[str, str]:
        """The commands or addresses of MCP servers by name."""
        return _pairs(self.mcp_sources, ";")

    @property
    def _stages(self) -> tuple[str, ...]:
        return self.model_expand, self.model_queries, self.model_write

    @cached_property
    def cache_dir(self) -> Path:
        return self.data_dir / "cache"

    @property
    def database(self) -> Path | str:
        """The database's file, or its address."""
        return self.database_url or self.database_path

    @property
    def role(self) -> Literal["alone", "door"]:
        """How the API and the page work: alone, or as doors of workers."""
        return "door" if self.workers else "alone"

    @cached_property
    def database_path(self) -> Path:
        return self.data_dir / "steelman.db"

    @cached_property
    def checkpoint_path(self) -> Path:
        return self.data_dir / "checkpoints.db"


def load_settings(**changes: object) -> Settings:
    """Returns the settings in force with changes. Raises SettingsError that names the variable and its valid values.

    Also sets proxies, a home and a temporary folder for this process and its children, if the machine lacks them.
    """
    file = find_env_file()
    hint = f"See .env.example; {file} is read." if file else "See .env.example."
    try:
        settings = Settings(_env_file=file, _env_file_encoding="utf-8-sig", **changes)  # type: ignore[arg-type,call-arg]  # checked by the model itself
    except (OSError, UnicodeDecodeError) as exc:
        raise SettingsError(f"{file} cannot be read ({exc}). Save it as UTF-8, readable for this user.") from exc
    except ValidationError as exc:
        error = exc.errors()[0]
        if not error["loc"]:
            raise SettingsError(f"{error['msg'].removeprefix('Value error, ')}. {hint}") from exc
        name, given = str(error["loc"][0]), error["input"]  # a variable, or a field that a caller changes
        name = variable_of(name) if name in Settings.model_fields else name
        given = without_login(str(given)) if "://" in str(given) or name.lower().endswith(_PLACES) else given
        shown = "what it is set to" if any(word in name for word in ("KEY", "TOKEN", "MCP")) else repr(given)
        why = error["msg"].removeprefix("Value error, ")
        raise SettingsError(f"{name} cannot be {shown}: {why}. {hint}") from exc
    for name in ("https_proxy", "http_proxy", "all_proxy", "no_proxy", "ssl_cert_file"):
        if name not in os.environ and (value := getattr(settings, name)):
            os.environ.setdefault(name.upper(), value)  # libraries read them there
    if settings.language:
        os.environ["STEELMAN_LANGUAGE"] = settings.language  # `tools.translation` reads it there
    provide_home(settings.data_dir)
    return settings


_HEADINGS = {
    "https_proxy": "The way out of this network",
    "data_dir": "This machine",
    "provider": "Chat models: follow-ups, perspectives, queries, claims",
    "judge": "The judge: does a passage support a statement?",
    "web": "The web",
    "chroma_url": "Stores and encoders",
    "api_host": "The server for programs: `python -m api`",
}
_OPENING = """\
# Copy to .env beside this file or in the data folder, or name a copy in STEELMAN_ENV_FILE, and uncomment what you want
# to change. Nothing here is needed: the defaults use no key, no server and no network. docs/providers.md says what each
# one turns on, what it costs, and what is sent to whom.
# Made by `python -m agent.settings > .env.example`."""


def env_example() -> str:
    """Returns the text of `.env.example`."""
    lines = [_OPENING]
    for name, field in Settings.model_fields.items():
        if not field.description:
            continue
        if heading := _HEADINGS.get(name):
            lines += ["", f"# --- {heading}"]
        default = "~/.local/share/steelman" if name == "data_dir" else field.default
        shown = "" if default in (None, "", SecretStr("")) else str(default)
        described = textwrap.wrap(str(field.description), 118, initial_indent="# ", subsequent_indent="# ")
        lines += ["", *described, f"# {variable_of(name)}={shown}"]
    return "\n".join(lines)


if __name__ == "__main__":
    print(env_example())
