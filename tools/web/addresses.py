"""Web addresses: their normal form, and the guard against fetches from private networks (SSRF).

The guard checks a URL as text (`check_url`), and its host's IP addresses when connecting (`GuardedBackend`). The
second check is decisive. The connection uses the checked IP address itself, so no notation, redirect or changing DNS
answer can lead elsewhere.
"""

import asyncio
import ipaddress
import re
import socket
from collections.abc import Awaitable, Callable, Container, Iterable, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any
from urllib.parse import SplitResult, parse_qsl, quote, unquote_plus, urlencode, urlsplit, urlunsplit

import httpcore
import idna

from tools.errors import AddressError, SourceError

Permit = Callable[[str], bool]
"""Tests whether connections to an IP address are allowed."""
Resolver = Callable[[str], Awaitable[Sequence[str]]]
"""Resolves a host name to its IP addresses. Raises OSError if there are none."""

WEB_PORTS = frozenset({80, 443, 8080, 8443})
"""Ports of web pages. Other ports of public hosts serve mail, databases and similar services."""
_DEFAULT_PORTS = {"http": 80, "https": 443}
_LONGEST_URL = 4000
_SECONDS_AN_ADDRESS = 4.0
_MOST_ADDRESSES = 4

_HOST = re.compile(r"(?=.{1,253}\Z)(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)+[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
_BRACKETED = re.compile(r"\[[^\[\]]+\](?::\d*)?")
_NUMBER = re.compile(r"\d+|0x[0-9a-f]*")
_PRIVATE_NAMES = ("localhost", "localdomain", "local", "internal", "intranet", "private", "lan", "home.arpa", "onion")
_DOTS = "\u3002\uff0e\uff61"  # some software treats these as a dot in a name

# Special-purpose addresses (RFC 6890 and its successors at IANA) and multicast. Python's `is_global` permits multicast
# and embedded IPv4 addresses, and differs between versions.
_REFUSED = [
    ipaddress.ip_network(block)
    for block in (
        *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"),
        *("192.0.0.0/24", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.168.0.0/16"),
        *("192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4"),
        "168.63.129.16/32",  # a cloud's internal service at an address that looks public
        *("2001::/23", "2001:db8::/32", "2620:4f:8000::/48", "3ffe::/16", "3fff::/20"),
    )
]
_GLOBAL_V6 = ipaddress.IPv6Network("2000::/3")
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")


def is_public(address: str) -> bool:
    """Whether an IP address, in its usual notation, is public.

    If an IPv6 address contains an IPv4 address (mapped, 6to4, NAT64), the IPv4 address decides. Teredo addresses are
    never public.
    """
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return False
    if isinstance(ip, ipaddress.IPv6Address):
        if ip.scope_id:
            return False
        carried = ip.ipv4_mapped or ip.sixtofour or (ipaddress.IPv4Address(ip.packed[-4:]) if ip in _NAT64 else None)
        if carried is not None:
            return is_public(str(carried))
        if ip not in _GLOBAL_V6:
            return False
    return not any(ip in block for block in _REFUSED)


def check_url(url: str, ports: Container[int] = WEB_PORTS) -> str:
    """The URL in normal form: lower-case host, no default port, no fragment, everything else percent-encoded.

    Raises AddressError for schemes other than http(s), credentials, ports that `ports` lacks, missing hosts, private
    names, unusual notations of IP addresses, and characters that parsers interpret differently. Plain IP addresses
    pass. The check when connecting decides whether they are public.
    """
    if len(url) > _LONGEST_URL:
        raise AddressError(f"an address of {len(url)} characters is too long to be fetched.")
    if "\\" in url or any(c.isspace() or not c.isprintable() for c in url):
        raise _refusal(url, "it holds white space, a backslash or an invisible character")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as exc:
        raise _refusal(url, f"it is malformed ({exc})") from exc
    if parts.scheme not in _DEFAULT_PORTS:
        raise _refusal(url, "only http:// and https:// are fetched")
    if "@" in parts.netloc:
        raise _refusal(url, "it holds a user name or a password")
    host = _host(url, parts)
    if port is None:
        port = _DEFAULT_PORTS[parts.scheme]
    if port not in ports:
        raise _refusal(url, f"port {port} is not one that pages are served on")
    place = host if port == _DEFAULT_PORTS[parts.scheme] else f"{host}:{port}"
    return urlunsplit((parts.scheme, place, _encoded(parts.path) or "/", _encoded(parts.query), ""))


def _refusal(url: str, why: str) -> AddressError:
    shown = ascii(url)[1:-1]
    return AddressError(f"{shown[:120]}{'…' if len(shown) > 120 else ''} is not fetched: {why}.")


def _encoded(text: str) -> str:
    return quote(text, safe="%/?:@!$&'()*+,;=~[]|-._")


def _host(url: str, parts: SplitResult) -> str:
    """The host of the normal form. Raises AddressError."""
    given = parts.hostname or ""
    if not given:
        raise _refusal(url, "it names no host")
    if parts.netloc.startswith("["):
        if not _BRACKETED.fullmatch(parts.netloc):
            raise _refusal(url, "its host is not an IP address")
        return f"[{_ipv6(url, given)}]"
    host = _ascii_name(url, given).removesuffix(".")
    if _NUMBER.fullmatch(host.rpartition(".")[2]):
        return _ipv4(url, host)
    if any(host == name or host.endswith(f".{name}") for name in _PRIVATE_NAMES):
        raise _refusal(url, "its host is a name of a private network")
    if not _HOST.fullmatch(host):
        raise _refusal(url, "its host is not the name of a public site")
    return host


def _ipv6(url: str, host: str) -> str:
    try:
        ip = ipaddress.IPv6Address(host)
    except ValueError as exc:
        raise _refusal(url, "its host is not an IP address") from exc
    if ip.scope_id:
        raise _refusal(url, "its address holds for one network only")
    return str(ip)


def _ipv4(url: str, host: str) -> str:
    """Accepts four decimal numbers only. Other software also accepts 127.1, 0177.0.0.1, 0x7f000001 and 2130706433."""
    try:
        return str(ipaddress.IPv4Address(host))
    except ValueError as exc:
        raise _refusal(url, "its host is an IP address in an unusual notation") from exc


def _ascii_name(url: str, host: str) -> str:
    if host.isascii():
        return host
    if any(dot in host for dot in _DOTS):
        raise _refusal(url, "its host is written with look-alikes of a dot")
    try:
        return idna.encode(host).decode()  # refuses full-width letters, circled digits and the like
    except idna.IDNAError as exc:
        raise _refusal(url, "its host is not a valid international name") from exc


async def system_resolver(host: str) -> list[str]:
    """Resolves a name with this machine's resolver."""
    found = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


async def checked_addresses(host: str, permit: Permit, resolver: Resolver) -> list[str]:
    """The host's IP addresses, all of them permitted.

    Raises AddressError if any address is not permitted, because such a name leads into a private network. Raises
    SourceError for a name without addresses.
    """
    try:
        addresses = [str(ipaddress.ip_address(host))]
    except ValueError:
        try:
            addresses = list(await resolver(host))
        except (OSError, UnicodeError) as exc:
            raise SourceError(f"{host}: no address is known for this name.") from exc
    if not addresses:
        raise SourceError(f"{host}: no address is known for this name.")
    if not all(permit(address) for address in addresses):
        raise AddressError(f"{host} is not fetched: it leads to an address that is not public.")
    return addresses


class GuardedBackend(httpcore.AsyncNetworkBackend):
    """The network layer of a connection pool. It connects only to checked addresses, and to no Unix socket.

    TLS and the Host header keep the host's name, so certificates are verified against the name.
    """

    def __init__(self, permit: Permit, resolver: Resolver) -> None:
        self._permit, self._resolver, self._inner = permit, resolver, httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        addresses = (await checked_addresses(host, self._permit, self._resolver))[:_MOST_ADDRESSES]
        seconds = min(timeout or _SECONDS_AN_ADDRESS, _SECONDS_AN_ADDRESS)
        for address in addresses[:-1]:
            with suppress(httpcore.ConnectError, httpcore.ConnectTimeout):  # such as without an IPv6 route
                return await self._inner.connect_tcp(address, port, seconds, local_address, socket_options)
        return await self._inner.connect_tcp(addresses[-1], port, seconds, local_address, socket_options)


_TRACKING = re.compile(
    r"(?:utm_|hsa_|pk_|mtm_|matomo_|at_(?:medium|campaign)|mc_[ce]id|_hs(?:enc|mi)|vero_|oly_).*"
    r"|gclid|gclsrc|gbraid|wbraid|dclid|fbclid|msclkid|yclid|twclid|ttclid|igshid|igsh|li_fat_id|wickedid"
    r"|s_cid|cmpid|ncid|_ga|_gl|srsltid|ref_src|ref_url|spm|mkt_tok",
    re.IGNORECASE,
)


def host_of(url: str) -> str:
    """The host in lower-case ASCII (punycode), without credentials, port, trailing dot and `www.`; empty if invalid.

    The input is a URL or a bare host.
    """
    try:
        host = urlsplit(url if "//" in url else f"//{url}").hostname or ""
    except ValueError:
        return ""
    return ascii_host(host).removeprefix("www.")


@lru_cache(maxsize=4096)
def ascii_host(host: str) -> str:
    """The host in lower-case ASCII, without trailing dot; empty if invalid."""
    host = host.strip().rstrip(".").lower()
    if host.isascii():
        return host
    try:
        return idna.encode(host, uts46=True).decode("ascii")
    except idna.IDNAError:
        return ""


def without_tracking(url: str) -> str:
    """The address without fragment and tracking parameters."""
    parts = urlsplit(url)
    kept = [p for p in parts.query.split("&") if p and not _TRACKING.fullmatch(unquote_plus(p.partition("=")[0]))]
    return urlunsplit((parts.scheme, parts.netloc, parts.path or "/", "&".join(kept), ""))


def normalise_url(url: str) -> str:
    """One form for all addresses of a page, for comparison only.

    The form has no tracking parameters, fragment, `www.`, default port or final slash. Its scheme is https, and its
    parameters are sorted. Invalid addresses are returned unchanged.
    """
    try:
        parts = urlsplit(without_tracking(url.strip()))
        port = parts.port
    except ValueError:
        return url
    if parts.scheme not in ("http", "https") or not parts.hostname:
        return url
    place = host_of(url) if port in (None, 80, 443) else f"{host_of(url)}:{port}"
    query = urlencode(sorted(parse_qsl(parts.query, keep_blank_values=True)))
    return urlunsplit(("https", place, parts.path.rstrip("/") or "/", query, ""))
