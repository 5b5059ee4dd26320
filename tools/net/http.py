"""The one way to a server over HTTP: its client, its JSON or what is told of a failure, and what keys and addresses
are."""

import contextlib
import ipaddress
import json
import re
import unicodedata
from collections.abc import Awaitable, Callable, Iterable, Mapping, Set
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

from tools.errors import ProviderDownError, ProviderReplyError
from tools.net.retries import retry_transport
from tools.net.route import cause, proxy_transport

if TYPE_CHECKING:
    import httpx

CONNECT_SECONDS = 5.0
"""The longest wait for a connection."""


def open_client(
    headers: Mapping[str, str] | None = None,
    seconds: float = 60.0,
    around: "Callable[[httpx.AsyncBaseTransport], httpx.AsyncBaseTransport]" = lambda transport: transport,
) -> "httpx.AsyncClient":
    """A client that retries, follows no redirect and takes no credentials from the environment; a proxy it does.

    seconds: the longest silence of a server; the stage's deadline ends a call earlier. around: what is put around the
    transport and its retries.
    Raises ProviderDownError for headers that cannot be sent, which is what a key copied with too much around it makes.
    """
    import httpx

    for value in (headers or {}).values():
        check_key(value)
    return httpx.AsyncClient(
        transport=around(retry_transport(proxy_transport())),
        headers={"accept-encoding": "identity", **(headers or {})},
        timeout=httpx.Timeout(seconds, connect=min(seconds, CONNECT_SECONDS)),
        trust_env=False,
    )


async def fetch_json(
    client: "httpx.AsyncClient",
    method: str,
    url: str,
    *,
    name: str,
    body: Any = None,
    headers: Mapping[str, str] | None = None,
    key: str = "",
) -> Any:
    """The JSON of one call to the server called `name`. `key`: the variable that holds its key, for what to do next.

    Raises as `reply_json`, and ProviderDownError for what is no address.
    """
    check_address(url)
    call = client.request(method, url, json=body, headers=headers)
    return await reply_json(call, url, name=name, sent=(client.headers, headers), key=key)


async def reply_json(
    call: "Awaitable[httpx.Response]",
    url: str,
    *,
    name: str,
    sent: Iterable[Mapping[str, str] | None],
    key: str = "",
) -> Any:
    """The JSON that a call is answered with. sent: headers whose keys may not be said again.

    Raises ProviderDownError (unreachable, refused, still failing after the retries), ProviderReplyError (no JSON, or
    too much of it).
    """
    import httpx

    try:
        response = await call
        if response.status_code < 300:
            return response.json()
    except httpx.TimeoutException as exc:
        raise ProviderDownError(f"{name} did not answer in time.") from exc
    except (httpx.HTTPError, httpx.InvalidURL) as exc:
        raise ProviderDownError(f"{name} cannot be reached ({without_key(cause(exc, url), *sent)}).") from exc
    except (ValueError, RecursionError) as exc:
        raise ProviderReplyError(f"{name} answered with something that is no JSON.") from exc
    except ProviderReplyError as exc:  # of the transport, which knows no names
        raise ProviderReplyError(str(exc).replace("the server", name, 1)) from exc
    said = without_key(response.content.decode("utf-8", "replace"), *sent)
    refusal = status_error(name, response.status_code, said, key)
    refusal.status, refusal.said = response.status_code, " ".join(said.split())[:200]
    raise refusal


_USUAL = frozenset("host accept accept-encoding connection content-type content-length transfer-encoding".split())


def strip_headers(request: "httpx.Request", kept: Set[str]) -> None:
    """Takes out the headers that a vendor's client adds of itself: all but the usual ones and those that are kept."""
    for name in [n for n in request.headers if n.lower() not in _USUAL | kept]:
        del request.headers[name]


def status_error(name: str, status: int, body: bytes | str = b"", key: str = "") -> ProviderDownError:
    """A refusal in words that say what to do about it. `key`: the variable that holds the key."""
    text = body.decode("utf-8", "replace") if isinstance(body, bytes) else body
    said = refusal_text(text)
    if status < 400:
        return ProviderDownError(f"{name} is at another address now (status {status}). Set the address that it names.")
    if status == 401:  # some say back part of the key
        return ProviderDownError(f"{name} refused the key (status 401). Check {key or 'it'} in .env.")
    because = f": {said}" if said else ""
    if status == 403:
        return ProviderDownError(f"{name} refused the key (status 403{because}). Check {key or 'it'} in .env.")
    if status == 404:
        return ProviderDownError(f"{name} does not know the address or the model (status 404{because}).")
    if status == 429:
        return ProviderDownError(f"{name} allows no more requests now (status 429{because}).")
    return ProviderDownError(f"{name} failed (status {status}{because}).")


def refusal_text(text: str) -> str:
    """What a refusal says, taken out of the JSON in which most servers put it."""
    with contextlib.suppress(ValueError, RecursionError):
        body = json.loads(text)
        while isinstance(body, dict):
            body = next((body[k] for k in ("error", "message", "detail") if body.get(k)), "")
        text = body if isinstance(body, str) else text
    return " ".join(text.split())[:200].rstrip(".")


_KEYS = ("authorization", "x-api-key", "x-goog-api-key", "api-key", "x-chroma-token")


def without_key(text: str, *headers: Mapping[str, str] | None) -> str:
    """The text without the keys that were sent in these headers, for servers that say back what they were sent."""
    for name, value in (item for given in headers for item in (given or {}).items()):
        key = value.removeprefix("Bearer ").strip()
        if name.lower() in _KEYS and key:
            text = text.replace(key, "…")
    return text


def check_key(key: str) -> None:
    """Raises ProviderDownError for a key, or what stands around it in a header, that no header can hold."""
    if fault := fault_of_header(key):
        raise ProviderDownError(f"a key {fault}.")


def is_address(address: str) -> bool:
    """Whether it has a host, and a port if any, that can be asked."""
    try:
        place = urlsplit(address)
        return bool(place.hostname) and place.port != 0 and address.isprintable() and " " not in address
    except ValueError:
        return False


def check_address(address: str) -> None:
    """Raises ProviderDownError for what is no address of a server."""
    if not is_address(address):
        shown = without_login(address)
        raise ProviderDownError(f"'{shown}' is no address of a server. Write it as http://HOST:PORT/v1.")


def without_login(address: str) -> str:
    """The address as it may be shown: without name and password, whatever signs they hold, and without its query."""
    scheme, rest = re.fullmatch(r"([a-z][a-z0-9+.-]*://)?(.*)", address, re.I | re.S).groups("")  # type: ignore[union-attr]
    if re.search(r"[?#].*@", rest, re.S):  # part of a password, or of a key in the query: nobody can tell
        return f"{scheme}…"
    return scheme + re.split(r"[?#]", rest.rpartition("@")[2])[0]


def is_local(address: str) -> bool:
    """Whether the address is on this machine, so that asking it lets nothing leave it."""
    host = ""
    try:
        parts = urlsplit(address if "//" in address else f"//{address}")
        named = parse_qs(parts.query).get("host", [""])[0]  # as Postgres takes it; a path is a socket of this machine
        host = named if named and not named.startswith("/") else parts.hostname or "localhost"
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


# What comes along when a key or an address is copied: names, quotation marks, spaces, what cannot be seen. No fault's
# text holds anything of the value but the one character that does not belong there.

_QUOTES = "“”„‟‘’‚‛«»‹›′″"
_LINE_ENDS = "\r\n\v\f\x85\u2028\u2029"
_AGAIN = "Copy it again"
_ALONG = re.compile(r"""(?:(?:export|set|setx)\s+|\$env:)?["']?\w*(?:key|token|url|host)["']?\s*=\s*[^=\s]""", re.I)
_SCHEME = re.compile(r"(?:authorization:\s*)?(?:bearer|basic|token)\s", re.I)


def fault_of_key(key: str) -> str:
    """What is wrong with a key, as it goes on after its name; empty for one that a header can hold."""
    if _SCHEME.match(key):
        return "begins with 'Bearer' or another word of the header: leave only the key itself"
    return _fault_around(key) or next((_fault(c) for c in key if not "!" <= c <= "~"), "")


def fault_of_header(value: str) -> str:
    """The same of a whole header, in which a space may stand."""
    return next((_fault(c) for c in value if not " " <= c <= "~"), "")


def fault_of_address(address: str) -> str:
    """The same of an address, which may hold letters of all alphabets."""
    return _fault_around(address) or next((_fault(c) for c in address if not c.isprintable() or c in _QUOTES), "")


def fault_of_name(name: str) -> str:
    """The same of a model's name or folder, inside which other quotation marks may stand."""
    return _fault_around(name) or next((_fault(c) for c in name[:1] + name[-1:] if c in _QUOTES), "")


def _fault_around(value: str) -> str:
    if _ALONG.match(value):
        return "holds the name of a variable too: leave only what stands after the last ="
    if value and (value[0] in "\"'`" or value[-1] in "\"'`"):
        return "holds quotation marks that nothing takes away here: leave them out"
    return ""


def _fault(character: str) -> str:
    name = unicodedata.name(character, f"U+{ord(character):04X}").lower()
    kind = unicodedata.category(character)
    if character in _QUOTES:
        return "holds a curly quotation mark: type it with straight quotes or none"
    if character in _LINE_ENDS:
        return f"holds the end of a line. {_AGAIN}, on one line"
    if kind == "Cs":  # how Python stands for a byte of the environment that is no text
        return f"holds a byte that is no UTF-8 text (0x{ord(character) & 0xFF:02X}). {_AGAIN}"
    if kind == "Zs":
        return f"holds a {name}. {_AGAIN}".replace("no-break space", "no-break space, which looks like a plain one")
    if kind in ("Cf", "Cc", "Co", "Cn"):
        return f"holds a character that cannot be seen ({name}). {_AGAIN}, or type it"
    return f"holds a character that no key or address has ({name}). {_AGAIN}"
