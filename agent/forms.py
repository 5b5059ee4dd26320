"""The forms that the values of settings have; each function gives the value as it is used, or says what it is to be."""

import re
from ipaddress import ip_network

from tools.net.http import is_address

_HOST_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?|[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*")
_ORIGIN = re.compile(r"https?://(?:[a-z0-9.-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?")
_PUBLIC = re.compile(_ORIGIN.pattern + r"(?:/[A-Za-z0-9._~-]+)*", re.IGNORECASE)
_OURS = ("/v1", "/mcp", "/docs")  # what people copy along, from the addresses of calls


def listed(value: str) -> list[str]:
    """The parts of a setting that lists several."""
    return [part.strip() for part in value.split(",") if part.strip()]


def host_names(value: str) -> str:
    return _each(value, _HOST_NAME, "host names without https:// and port, such as api.example.org, other.example")


def origins(value: str) -> str:
    return _each(value, _ORIGIN, "addresses of pages without a path, such as https://app.example.org")


def _each(value: str, form: re.Pattern[str], what: str) -> str:
    if not all(map(form.fullmatch, listed(value))):
        raise ValueError(f"it lists {what}")
    return value


def networks(value: str) -> str:
    try:
        for part in listed(value):
            ip_network(part, strict=False)
    except ValueError:
        raise ValueError("it lists addresses and networks, such as 127.0.0.1, 10.0.0.0/8") from None
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
