"""The host of an address, and whether a domain pattern covers it."""

from functools import lru_cache
from urllib.parse import urlsplit


def host_of(url: str) -> str:
    """The host in lower case and ASCII (punycode), without credentials, port, trailing dot and `www.`.

    A bare host is taken as one; empty where there is none.
    """
    try:
        host = urlsplit(url if "//" in url else f"//{url}").hostname or ""
    except ValueError:
        return ""
    return ascii_host(host).removeprefix("www.")


@lru_cache(maxsize=4096)
def ascii_host(host: str) -> str:
    """The host as name servers know it: lower case, ASCII, no trailing dot; empty where it cannot be one."""
    host = host.strip().rstrip(".").lower()
    if host.isascii():
        return host
    import idna

    try:
        return idna.encode(host, uts46=True).decode("ascii")
    except idna.IDNAError:
        return ""


def covers(pattern: str, host: str) -> bool:
    """Whether a domain pattern covers a host (both as `host_of` gives them).

    `who.int` covers itself and its subdomains; `*.gov` everything under `.gov`, but not the name itself; `gov.*` what
    `gov` would cover under any country's two letters, as `ons.gov.uk`.
    """
    if pattern.endswith(".*"):
        rest, _, last = host.rpartition(".")
        return len(last) == 2 and last.isalpha() and covers(pattern[:-2], rest)
    name = pattern.removeprefix("*.")
    return host.endswith(f".{name}") or (host == name and not pattern.startswith("*."))
