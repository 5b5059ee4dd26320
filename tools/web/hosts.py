"""Addresses told apart: their host, whether a domain pattern covers it, one form for the addresses of one page."""

import re
from functools import lru_cache
from urllib.parse import parse_qsl, unquote_plus, urlencode, urlsplit, urlunsplit

_TRACKING = re.compile(
    r"(?:utm_|hsa_|pk_|mtm_|matomo_|at_(?:medium|campaign)|mc_[ce]id|_hs(?:enc|mi)|vero_|oly_).*"
    r"|gclid|gclsrc|gbraid|wbraid|dclid|fbclid|msclkid|yclid|twclid|ttclid|igshid|igsh|li_fat_id|wickedid"
    r"|s_cid|cmpid|ncid|_ga|_gl|srsltid|ref_src|ref_url|spm|mkt_tok",
    re.IGNORECASE,
)


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


def without_tracking(url: str) -> str:
    """The address without fragment and without the parameters that only tell where a visitor came from."""
    parts = urlsplit(url)
    kept = [p for p in parts.query.split("&") if p and not _TRACKING.fullmatch(unquote_plus(p.partition("=")[0]))]
    return urlunsplit((parts.scheme, parts.netloc, parts.path or "/", "&".join(kept), ""))


def normalise_url(url: str) -> str:
    """One form for the addresses of one page, to compare and not to fetch.

    Without tracking, fragment, `www.`, default port and a slash at the end; https, and parameters sorted. What is no
    address comes back as it is.
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
