"""Fetches pages from public addresses, with limits on size, time, type and redirects."""

import asyncio
import re
from collections.abc import Container
from dataclasses import dataclass
from urllib.parse import urljoin, urlsplit

import httpcore

from tools.budget import current_budget
from tools.errors import AddressError, ProviderDownError, SourceError
from tools.limits import LARGEST_PAGE, PAGE_SECONDS
from tools.net.retries import decompressor
from tools.net.route import Proxy, cause, environment_proxy, is_proxy, tls_context
from tools.web import addresses

USER_AGENT = "Mozilla/5.0 (compatible; Steelman/0.1; research assistant, fetches single pages for a reader)"
_HEADERS: dict[str | bytes, str | bytes] = {
    "User-Agent": USER_AGENT,
    "Accept": "text/html,application/xhtml+xml,application/pdf,text/plain;q=0.9,text/markdown;q=0.9,*/*;q=0.1",
    "Accept-Language": "en",
    "Accept-Encoding": "gzip, deflate",
}
HTML = frozenset({"text/html", "application/xhtml+xml"})
_TEXT = frozenset({"text/plain", "text/markdown", "text/x-markdown", "text/xml", "application/xml"})
_UNDECLARED = frozenset(
    {"", "application/octet-stream", "binary/octet-stream", "application/x-download", "unknown/unknown"}
)
_PDF = "application/pdf"
READABLE = HTML | _TEXT | {_PDF}
"""The supported content types."""
_CONTENT_TYPE = re.compile(r"\s*([\w.+-]+/[\w.+-]+)?[^;]*(?:;.*?\bcharset\s*=\s*[\"']?([\w.:+-]+))?", re.IGNORECASE)
# Each character before the element can match in one way only, so mismatches are fast.
_HTML_START = re.compile(
    rb"(?:\s|<!--(?:[^-]|-(?!->))*-->|<\?xml[^>]*>)*<(?:!doctype\s+html|html|head|body|title|meta|article|div|p|h1)\b",
    re.IGNORECASE,
)
_XML_START = re.compile(rb"\s*<\?xml\b")
_SNIFFED = 2048
_MOST_REDIRECTS = 5
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_STATUSES = {
    401: "a login is asked for",
    402: "payment is asked for",
    403: "the site refuses access (status 403)",
    429: "the site allows no more requests now (status 429)",
    451: "the site withholds it for legal reasons (status 451)",
}


@dataclass(frozen=True, slots=True)
class FetchedPage:
    """A page as received.

    url: the final address, in normal form. content_type: one of READABLE, guessed from the data if the server's type is
    wrong. charset: the charset that the server states, in lower case, or empty.
    """

    url: str
    content_type: str
    data: bytes
    charset: str = ""


class PageFetcher:
    """Fetches pages without cookies. Works only in the event loop of its first fetch.

    permit: tests whether an IP address is permitted. resolver: resolves names. ports: permitted ports. seconds: time
    for a page with its redirects. trust_proxy: whether the environment's proxy may resolve names that this machine
    cannot resolve. any_type: fetch files of any type, with the server's type.
    """

    def __init__(
        self,
        *,
        permit: addresses.Permit = addresses.is_public,
        resolver: addresses.Resolver = addresses.system_resolver,
        ports: Container[int] = addresses.WEB_PORTS,
        seconds: float = PAGE_SECONDS,
        concurrency: int = 8,
        trust_proxy: bool = False,
        any_type: bool = False,
    ) -> None:
        self._permit, self._resolver, self._ports = permit, resolver, ports
        self._seconds = seconds
        self._concurrency = concurrency
        self._slots = asyncio.Semaphore(concurrency)
        self._trust_proxy, self._any_type = trust_proxy, any_type
        self._pools: dict[Proxy | None, httpcore.AsyncConnectionPool] = {}

    async def fetch(self, url: str) -> FetchedPage:
        """The page at an address, after redirects.

        Raises AddressError for an address that is never fetched. Raises SourceError with the reason for a page that
        cannot be fetched, or if the stage's time is used up or the run is offline.
        """
        address = addresses.check_url(url, self._ports)
        if current_budget().offline:
            raise failure(address, "the run does not leave this machine")
        try:
            async with asyncio.timeout(current_budget().seconds_left()), self._slots:
                async with asyncio.timeout(self._seconds):
                    return await self._followed(address)
        except TimeoutError as exc:
            raise failure(address, "took too long") from exc

    async def render(self, page: FetchedPage) -> FetchedPage | None:
        """The page with what its scripts show; None if this fetcher runs no scripts."""
        return None

    async def aclose(self) -> None:
        pools, self._pools = self._pools, {}
        for pool in pools.values():
            await pool.aclose()

    async def _followed(self, address: str) -> FetchedPage:
        seen: list[str] = []
        while len(seen) <= _MOST_REDIRECTS:
            if address in seen:
                raise failure(address, "redirects in a loop")
            seen.append(address)
            answer = await self._ask(address)
            if isinstance(answer, FetchedPage):
                return answer
            address = addresses.check_url(urljoin(address, answer.strip()), self._ports)
        raise failure(seen[0], f"redirects more than {_MOST_REDIRECTS} times")

    async def _ask(self, address: str) -> FetchedPage | str:
        proxy = await self._proxy(address)
        try:
            async with self._open_pool(proxy).stream(
                "GET", _target(address), headers={"Host": urlsplit(address).netloc, **_HEADERS}
            ) as response:
                headers = {k.decode("latin-1").lower(): v.decode("latin-1") for k, v in response.headers}
                if response.status in _REDIRECTS and headers.get("location"):
                    return _redirect(headers["location"])
                return await self._read(address, response, headers)
        except httpcore.TimeoutException as exc:
            raise failure(address, "took too long") from exc
        except httpcore.ConnectError as exc:
            raise failure(address, f"the site cannot be reached ({cause(exc, address, proxy)})") from exc
        except httpcore.ProxyError as exc:
            raise failure(address, cause(exc, address, proxy)) from exc
        except ProviderDownError as exc:
            raise SourceError(f"{address}: {exc}") from exc
        except (httpcore.NetworkError, httpcore.ProtocolError) as exc:
            raise failure(address, "the connection broke off") from exc

    async def _proxy(self, address: str) -> Proxy | None:
        if (proxy := environment_proxy(address)) is None:
            return None
        try:
            await addresses.checked_addresses(urlsplit(address).hostname or "", self._permit, self._resolver)
        except AddressError:
            raise
        except SourceError as exc:
            if self._trust_proxy or not is_proxy(proxy.url):  # using an invalid proxy raises an error
                return proxy
            hint = f"If {proxy} may be trusted to look names up, set STEELMAN_TRUST_PROXY=true."
            raise SourceError(f"{exc} {hint}", hint=hint) from exc
        return proxy

    def _open_pool(self, proxy: Proxy | None) -> httpcore.AsyncConnectionPool:
        if proxy not in self._pools:
            over = proxy.to_httpx() if proxy else None
            self._pools[proxy] = httpcore.AsyncConnectionPool(
                ssl_context=tls_context(),
                max_connections=self._concurrency,
                max_keepalive_connections=self._concurrency,
                keepalive_expiry=5.0,
                network_backend=None if over else addresses.GuardedBackend(self._permit, self._resolver),
                proxy=httpcore.Proxy(str(over.url), over.raw_auth, ssl_context=over.ssl_context) if over else None,
            )
        return self._pools[proxy]

    async def _read(self, address: str, response: httpcore.Response, headers: dict[str, str]) -> FetchedPage:
        if not 200 <= response.status < 300:
            raise failure(address, _STATUSES.get(response.status, f"status {response.status}"))
        match = _CONTENT_TYPE.match(headers.get("content-type", "")[:300])
        declared, charset = ((match[1] or "").lower(), (match[2] or "").lower()) if match else ("", "")
        if not self._any_type:
            _check_type(address, declared)
        length = headers.get("content-length", "")
        too_large = f"too large (over {LARGEST_PAGE / 1e6:g} MB)"
        if length.isdecimal() and len(length) < 20 and int(length) > LARGEST_PAGE:
            raise failure(address, too_large)
        data = bytearray()
        try:
            unpack = decompressor(headers.get("content-encoding", ""))
            async for part in response.aiter_stream():
                for piece in unpack(part):
                    data += piece
                    if len(data) > LARGEST_PAGE:
                        raise failure(address, too_large)
        except ValueError as exc:
            raise failure(address, str(exc)) from exc
        if self._any_type:
            return FetchedPage(address, declared, bytes(data), charset)
        if not data:
            raise failure(address, "empty")
        return FetchedPage(address, _real_type(address, declared, data), bytes(data), charset)


def failure(address: str, why: str) -> SourceError:
    return SourceError(f"{address if len(address) <= 120 else address[:119] + '…'}: {why}.")


def _target(address: str) -> httpcore.URL:
    # httpcore would parse a string again and drop the part after a semicolon.
    parts = urlsplit(address)
    target = parts.path + (f"?{parts.query}" if parts.query else "")
    return httpcore.URL(scheme=parts.scheme, host=parts.hostname or "", port=parts.port, target=target)


def _redirect(location: str) -> str:
    """The address in a redirect. Headers are bytes, and many servers use UTF-8."""
    try:
        return location.encode("latin-1").decode("utf-8")
    except UnicodeDecodeError:
        return location


def _check_type(address: str, declared: str) -> None:
    """Refuses unreadable media types before the download."""
    if declared in READABLE or declared in _UNDECLARED:
        return
    kinds = {"video": "a video", "audio": "a sound recording", "image": "an image"}
    raise failure(address, f"is {kinds.get(declared.partition('/')[0], f'no page but {declared}')}")


def _real_type(address: str, declared: str, data: bytes | bytearray) -> str:
    """The type that the data's first bytes show, else the declared type."""
    start = bytes(data[:_SNIFFED]).removeprefix(b"\xef\xbb\xbf")
    if start.lstrip().startswith(b"%PDF-") or (declared == _PDF and b"%PDF-" in start):
        return _PDF
    wide = start.startswith((b"\xff\xfe", b"\xfe\xff"))
    if b"\x00" in start and not wide:
        raise failure(address, "is no page but binary data")
    if declared in HTML:
        return declared
    if _HTML_START.match(start):
        return "text/html"
    if declared == _PDF:
        raise failure(address, "is declared as a PDF and is none")
    if declared in _TEXT:
        return declared
    return "application/xml" if _XML_START.match(start) else "text/plain"
