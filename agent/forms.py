"""How settings are written: the forms that their values have, where the file `.env` is and how editors, shells and
other programs leave it, and the variables of the way out of this network that other programs read too.
"""

import codecs
import io
import os
import re
from collections.abc import Set
from contextlib import suppress
from pathlib import Path
from typing import Any

from platformdirs import user_data_dir
from pydantic import Field
from pydantic_settings import BaseSettings

from tools.disk import ROOT, is_checkout
from tools.errors import SettingsError
from tools.net.http import is_address

_MARKS = {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
_SAVE = "Save the file as UTF-8."


def find_env_file() -> Path | None:
    """The file that settings are read from: STEELMAN_ENV_FILE, else `.env` of the checkout, else of the data folder.

    Never that of the current folder: an assistant starts the server in any folder, with anybody's `.env`.
    Raises SettingsError where STEELMAN_ENV_FILE names no file.
    """
    if named := os.environ.get("STEELMAN_ENV_FILE"):
        if os.access(named, os.F_OK) and not Path(named).is_dir():
            return Path(named)
        raise SettingsError(f"STEELMAN_ENV_FILE names no file: {named!r}. Correct the path, or unset it.")
    folders = [ROOT] if is_checkout() else []
    with suppress(ValueError, SettingsError):  # the settings say what is wrong with the data folder
        given = os.environ.get("STEELMAN_DATA_DIR")
        folders.append(whole_path(Path(given)) if given else usual_data_folder())
    found = next((folder / ".env" for folder in folders if os.path.lexists(folder / ".env")), None)
    if found and not (found.is_file() or found.is_dir()):  # a folder has an error of its own
        raise SettingsError(f"{found} is no file, or a link to none. Put the file back, or remove it.")
    return found


def usual_data_folder() -> Path:
    """The data folder unless STEELMAN_DATA_DIR names one. Raises SettingsError where this user has no home folder."""
    try:
        return Path(user_data_dir("steelman", appauthor=False))
    except RuntimeError as exc:
        raise SettingsError("this user has no home folder. Set STEELMAN_DATA_DIR to a folder of your own.") from exc


def whole_path(value: Path) -> Path:
    """The path from the root on, with a home folder for `~`. Raises ValueError where there is none."""
    try:
        path = value.expanduser().absolute()
        path.as_posix().encode()
    except RuntimeError as exc:
        raise ValueError("no home folder is known for its '~'; write the path from / on") from exc
    except UnicodeEncodeError as exc:
        raise ValueError("it holds bytes that are no UTF-8; name another folder") from exc
    return path


def encoding_of(file: Path, names: Set[str]) -> str:
    """The encoding in which the file can be read. names: the variables that stand for settings.

    Raises SettingsError that names the line for bytes that are no text in it, and for a line that sets one of these
    variables in a form that nothing reads, since the setting would be left out without a word.
    """
    try:
        if file.is_fifo():  # a secret manager's, to be read once
            return "utf-8-sig"
        data = file.read_bytes()
    except FileNotFoundError:
        return "utf-8-sig"
    except IsADirectoryError as exc:
        raise SettingsError(f"{file.absolute()} is a folder, where the file of settings belongs. Remove it.") from exc
    except OSError as exc:
        why = exc.strerror or exc
        raise SettingsError(f"{file.absolute()} cannot be read ({why}). Let this user read it, or remove it.") from exc
    encoding = next((name for mark, name in _MARKS.items() if data.startswith(mark)), "utf-8-sig")
    text = data.decode(encoding, "replace" if encoding == "utf-16" else "surrogateescape")
    if odd := re.search("[\0\ufffd]" if encoding == "utf-16" else "[\0\udc80-\udcff]", text):
        before = text[: odd.start()]
        name = _named(text.split("\n")[before.count("\n")].replace("\0", ""), names)
        what = (
            "a NUL, as UTF-16 without its mark does"
            if odd[0] == "\0"
            else f"what is no {encoding.removesuffix('-sig').upper()} text"
        )
        raise SettingsError(f"{_at(file, before.count(chr(10)) + 1, name)} holds {what}. {_SAVE}")
    _check_lines(file, text, names)
    return encoding


def _check_lines(file: Path, text: str, names: Set[str]) -> None:
    from dotenv.parser import parse_stream

    for binding in parse_stream(io.StringIO(text)):
        written, key = binding.original.string, binding.key or ""
        line = binding.original.line + written.partition(written.lstrip())[0].count("\n")  # blank ones stand before it
        name = _named(written, names)
        if name and (binding.error or key.upper() != name):
            how = f"Write {name}=VALUE there, the value in straight quotes or none."
            raise SettingsError(f"{_at(file, line, name)} cannot be understood. {how}")
        if binding.value is None and not key.isascii():  # as what was added in another encoding looks like
            raise SettingsError(f"{_at(file, line)} cannot be understood. Write NAME=VALUE there. {_SAVE}")


def _at(file: Path, line: int, name: str = "") -> str:
    return f"{file.absolute()}, line {line}{f' ({name})' if name else ''}"


def _named(line: str, names: Set[str]) -> str:
    """The setting that a line is about; empty for none, and for a comment."""
    words = re.findall(r"[A-Za-z0-9_.-]+", line.partition("=")[0]) if not line.lstrip().startswith("#") else []
    return next((word.upper() for word in words if word.upper() in names), "")


_HOST_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?|[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*")
_ORIGIN = re.compile(r"https?://(?:[a-z0-9.-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?")
_PUBLIC = re.compile(_ORIGIN.pattern + r"(?:/[A-Za-z0-9._~-]+)*", re.IGNORECASE)
_OURS = ("/v1", "/mcp", "/docs")  # what people copy along, from the addresses of calls


def split_list(value: str) -> list[str]:
    """The parts of a setting that lists several."""
    return [part.strip() for part in value.split(",") if part.strip()]


def host_names(value: str) -> str:
    return _each(value, _HOST_NAME, "host names without https:// and port, such as api.example.org, other.example")


def origins(value: str) -> str:
    return _each(value, _ORIGIN, "addresses of pages without a path, such as https://app.example.org")


def judge(value: str) -> str:
    if value not in (known := ("auto", "embedded", "batch", "chat", "score")) and not value.startswith("hub:"):
        raise ValueError(f"it is one of {', '.join(known)}, or hub: and the name or folder of a model")
    return value


def _each(value: str, form: re.Pattern[str], what: str) -> str:
    if not all(map(form.fullmatch, split_list(value))):
        raise ValueError(f"it lists {what}")
    return value


def public_address(value: str) -> str:
    value = value.rstrip("/")
    if value and (not _PUBLIC.fullmatch(value) or not is_address(value) or value.endswith(_OURS)):
        raise ValueError("it is where callers reach the server, with the path before /v1: https://example.org/steelman")
    return value


def address(value: str) -> str:
    if value and not (value.startswith(("http://", "https://")) and is_address(value)):
        raise ValueError("an address is http:// or https:// with a host and, if need be, a port")
    return value.rstrip("/")


def ollama_address(value: str) -> str:
    """As Ollama itself reads it: scheme, host and port may each be left out, and 0.0.0.0 is where it listens."""
    if not value:
        return value
    scheme, rest = value.split("://", 1) if "://" in value else ("", value)
    place, slash, path = rest.partition("/")
    login, at, host = place.rpartition("@")
    host = f"[{host}]" if host.count(":") > 1 and "[" not in host else host.rstrip(":")
    port = "" if scheme or re.search(r"(?:^|[^:]):\d+$", host) else ":11434"
    host = re.sub(r"^(0\.0\.0\.0|\[::\])?(?=:|$)", "127.0.0.1", f"{host}{port}")
    return f"{scheme or 'http'}://{login}{at}{host}{slash}{path}".rstrip("/")


def rates(value: str) -> str:
    from limits import parse_many

    try:
        fine = all(rate.amount > 0 for rate in parse_many(value))
    except ValueError:
        fine = False
    if not fine:
        raise ValueError("a rate is a number of requests and a time, such as 10/second or 10/second; 300/minute")
    return value


def aliased(name: str, description: str, default: object = "") -> Any:
    """A setting under the name that others gave it."""
    return Field(default=default, validation_alias=name, description=description)


class Network(BaseSettings):
    """Proxies and certificates."""

    https_proxy: str = aliased("HTTPS_PROXY", "The proxy to addresses of https://, as http://NAME:PASSWORD@HOST:PORT.")
    http_proxy: str = aliased("HTTP_PROXY", "The proxy to addresses of http:// outside this network.")
    all_proxy: str = aliased("ALL_PROXY", "The proxy to both, where they have none of their own.")
    no_proxy: str = aliased("NO_PROXY", "What is asked straight all the same: example.org, 203.0.113.0/24, ... or *.")
    ssl_cert_file: str = aliased(
        "SSL_CERT_FILE", "Certificates (PEM) of authorities to believe besides the usual ones."
    )
    ssl_cert_dir: str = aliased("SSL_CERT_DIR", "The same as a folder, with the names that `openssl rehash` gives.")
    trust_proxy: bool = Field(
        default=False,
        description="Whether pages whose names this machine cannot look up are asked of the proxy, unchecked.",
    )

    def export_to_environment(self) -> None:
        """Puts what only `.env` says into the environment, where every library looks for it."""
        for name in ("https_proxy", "http_proxy", "all_proxy", "no_proxy", "ssl_cert_file", "ssl_cert_dir"):
            if name not in os.environ and (value := getattr(self, name)):
                os.environ.setdefault(name.upper(), value)
