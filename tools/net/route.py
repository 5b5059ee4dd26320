"""How a request reaches a server: directly or through the environment's proxy; the trusted certificates; why it failed.

HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY are read in upper or lower case. Private IP addresses and this machine
are always reached directly.
"""

import ipaddress
import os
import re
import ssl
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import getproxies_environment, proxy_bypass_environment  # type: ignore[attr-defined]  # undocumented

import certifi
import httpx

from tools.errors import ProviderDownError

PROXY = "steelman.proxy"  # the request extension that holds the request's proxy
_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Proxy:
    """A proxy, and the environment variable that names the proxy. `str` omits the address's password."""

    url: str = field(repr=False)
    variable: str

    def __str__(self) -> str:
        place = urlsplit(self.url).netloc.rpartition("@")[2] if is_proxy(self.url) else "?"
        return f"the proxy at {place} ({self.variable})"

    def to_httpx(self) -> httpx.Proxy:
        """The proxy for httpx. Raises ProviderDownError for an invalid address or an unsupported scheme."""
        scheme = self.url.partition("://")[0]
        try:
            given = httpx.Proxy(self.url) if is_proxy(self.url) else None
        except (ValueError, httpx.InvalidURL):
            given = None
        if given is None:
            raise ProviderDownError(
                f"{self.variable} holds no address of a proxy. Write it as http://HOST:PORT, http://NAME:PASSWORD@HOST:"
                "PORT or socks5://HOST:PORT. Encode special characters in a password, such as %40 for @."
            )
        if scheme.startswith("socks") and find_spec("socksio") is None:
            raise ProviderDownError(f"{self} needs a package that is not installed: .venv/bin/pip install socksio")
        if scheme == "https":
            given.ssl_context = tls_context()
        return given


def is_proxy(url: str) -> bool:
    """Whether the text is a proxy's address. An unencoded special character in the password makes the address
    invalid."""
    try:
        parts = urlsplit(url)
        usable = bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
    whole = "@" not in parts.path + parts.query + parts.fragment
    return usable and whole and parts.scheme in ("http", "https", "socks5", "socks5h")


def environment_proxy(url: str) -> Proxy | None:
    """The environment's proxy for an address. Does not resolve names."""
    parts, named = urlsplit(url), getproxies_environment()
    kind = parts.scheme if named.get(parts.scheme) else "all"
    host, given = (parts.hostname or "").rstrip("."), named.get(kind, "")
    if not given or is_private_host(host) or _is_exempt(f"{host}:{parts.port or _PORTS.get(parts.scheme, 0)}", named):
        return None
    variables = f"{kind}_proxy", f"{kind}_proxy".upper()
    variable = next((name for name in variables if os.environ.get(name) == given), variables[1])
    address = given if "://" in given else f"http://{given}"
    return Proxy(re.sub(r"^socks://", "socks5://", address), variable)


def _is_exempt(place: str, named: dict[str, str]) -> bool:
    """Whether an entry of NO_PROXY covers HOST:PORT. Entries are a domain (with its subdomains), `*.DOMAIN`, HOST:PORT
    or *, separated by commas or spaces."""
    entries = re.split(r"[\s,]+", named.get("no", ""))
    no = ",".join(entry.lstrip("*") for entry in entries)
    return "*" in entries or bool(proxy_bypass_environment(place, {"no": no}))


def is_private_host(host: str) -> bool:
    """Whether a host name or IP address belongs to this machine or its private network. Does not resolve names."""
    try:
        ip = ipaddress.ip_address(host)
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
    return not (getattr(ip, "ipv4_mapped", None) or ip).is_global


def tls_context() -> ssl.SSLContext:
    """Trusts the certificate authorities that browsers trust, and those in SSL_CERT_FILE and SSL_CERT_DIR. Without
    these variables, also trusts this machine's authorities. Raises ProviderDownError if these variables name nothing
    usable."""
    return _tls_context(os.environ.get("SSL_CERT_FILE", ""), os.environ.get("SSL_CERT_DIR", ""))


@lru_cache(maxsize=4)
def _tls_context(file: str, folders: str) -> ssl.SSLContext:
    tls = ssl.create_default_context(cafile=certifi.where())
    tls.load_default_certs()  # OpenSSL reads the variables too, but ignores unreadable files silently
    try:
        if file:
            tls.load_verify_locations(cafile=file)
    except (OSError, ssl.SSLError) as exc:
        why = exc.strerror if isinstance(exc, FileNotFoundError | PermissionError) else "it is no PEM file"
        raise ProviderDownError(f"SSL_CERT_FILE names {file}, which holds no certificate ({why}). Correct it.") from exc
    for folder in filter(None, folders.split(os.pathsep)):
        if not Path(folder).is_dir():
            raise ProviderDownError(f"SSL_CERT_DIR names {folder}, which is no folder. Correct it.")
    return tls


class ProxyTransport(httpx.AsyncBaseTransport):
    """Chooses the route of each request and records the proxy in the request's extensions."""

    def __init__(self) -> None:
        self._ways: dict[tuple[bool, Proxy | None], httpx.AsyncHTTPTransport] = {}

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        tls, proxy = request.url.scheme == "https", environment_proxy(str(request.url))
        try:
            way = self._ways.get((tls, proxy)) or httpx.AsyncHTTPTransport(
                verify=tls_context() if tls else False,
                proxy=proxy.to_httpx() if proxy else None,
                trust_env=False,
                limits=httpx.Limits(),  # callers limit their requests
            )
        except ProviderDownError as exc:
            raise httpx.UnsupportedProtocol(str(exc).rstrip("."), request=request) from exc
        self._ways[tls, proxy], request.extensions[PROXY] = way, proxy
        return await way.handle_async_request(request)

    async def aclose(self) -> None:
        for way in self._ways.values():
            await way.aclose()


# (pattern in an exception's text, message). `ddgs` raises exceptions of Rust libraries. The first match counts.
_CERTIFICATES = (
    (
        r"local issuer|self.signed certificate|verify the first|UnknownIssuer",
        "its certificate is signed by an authority that this machine does not know: set SSL_CERT_FILE to that "
        "authority's certificate",
    ),
    (r"CertVerificationError|invalid peer certificate", "its certificate is not valid: {said}"),
    (
        r"WRONG_VERSION_NUMBER|HTTP_REQUEST|PACKET_LENGTH_TOO_LONG|RECORD_LAYER_FAILURE|InvalidContentType",
        "it speaks http, not https: write the address with http://",
    ),
    (r"(?i)ssl\w*error|\btls\b.*(?:alert|handshake)", "the TLS handshake failed ({said})"),
)
_CONNECTIONS = (
    (r"Temporary failure|EAI_AGAIN", "the name {host} cannot be looked up now: is this machine online?"),
    (r"gaierror|dns error|DNS error", "the name {host} is unknown"),
    (r"ConnectionRefused|Connection refused", "nothing listens at {place}, is the server on?"),
    (r"unreachable|No route", "no route leads from this machine to {place}: is it online?"),
)
_ANSWERS = (
    (r"cut in the middle", "{said}"),
    (
        r"without sending a response|ConnectionReset|(?i:connection reset)|ReadError|before message completed",
        "it closed the connection without an answer{tls}",
    ),
)


def cause(exc: BaseException, url: str = "", proxy: Proxy | None = None) -> str:
    """Why a server could not be reached, with the setting that helps. If the exception holds the failed request, the
    request's address and proxy replace `url` and `proxy`."""
    request = getattr(exc, "_request", None)
    if request is not None:
        url, proxy = str(request.url), request.extensions.get(PROXY)
    raised = "\n".join(f"{type(one).__name__}: {one}" for one in _chain(exc))
    spoken = next((text for one in _chain(exc) if (text := str(one).strip())), type(exc).__name__)
    said = spoken.splitlines()[0].rpartition(" > ")[2].rstrip("').")[:200]
    if type(exc).__name__ == "UnsupportedProtocol":  # the request was never sent; the text says why
        return said
    refused = re.search(r"(?:ProxyError:|CONNECT failed: HTTP/\S+) (\d{3}[^\r\n\\]*)", raised)
    if proxy is not None and refused:
        return _refusal(proxy, refused[1].strip())
    if words := _first(_CERTIFICATES, raised, url, said):
        return words if proxy is None else f"{words}; the request went through {proxy}"
    if proxy is None:
        return _first(_CONNECTIONS + _ANSWERS, raised, url, said) or said
    words = _first(_CONNECTIONS, raised, proxy.url, said)
    return f"{proxy} cannot be reached: {words}" if words else f"{said}; the request went through {proxy}"


def _refusal(proxy: Proxy, answer: str) -> str:
    if not answer.startswith("407"):
        return f"{proxy} answered {answer}"
    if "@" in proxy.url:
        return f"{proxy} refused the name and password (status 407): check them in {proxy.variable}"
    return (
        f"{proxy} requires a name and password (status 407): write {proxy.variable} as http://NAME:PASSWORD@HOST:PORT"
    )


def _first(table: tuple[tuple[str, str], ...], raised: str, url: str, said: str) -> str:
    parts = urlsplit(url)
    place = f"{parts.hostname}:{parts.port}" if parts.port else parts.hostname
    words = next((words for pattern, words in table if re.search(pattern, raised)), "")
    words = words if place else re.sub(r"(?: at| to)? \{(?:host|place)\}", "", words)
    tls = ": write the address with https:// if it speaks TLS" if parts.scheme == "http" else ""
    return words.format(host=parts.hostname, place=place, said=said, tls=tls)


def _chain(exc: BaseException | None) -> Iterator[BaseException]:
    """The exception, its causes, and the members of exception groups (attempts at several addresses of one name)."""
    while exc is not None:
        yield exc
        for one in exc.exceptions if isinstance(exc, BaseExceptionGroup) else ():
            yield from _chain(one)
        exc = exc.__cause__ or exc.__context__
