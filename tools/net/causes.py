"""Why a server was not reached, in words, with the setting that helps; whatever library it was asked with."""

import re
from collections.abc import Iterator
from urllib.parse import urlsplit

from tools.net.route import PROXY, Proxy

WANTS_TLS = re.compile(
    # Go, nginx, Apache, Tomcat; these answer in plain http, others break off.
    rb"HTTP request to an HTTPS server|HTTP request was sent to HTTPS port|to an SSL-enabled server port|requires TLS"
)
"""What servers of https say, with status 400, to who speaks http."""
SPEAKS_TLS = "it speaks https, not http: write the address with https://"
_AUTHORITY = (
    "its certificate is signed by an authority that this machine does not know: set SSL_CERT_FILE to that authority's "
    "certificate"
)
# The first pattern that is in what was raised, by Python's libraries or by Rust's, which `ddgs` uses.
_CERTIFICATES = (
    (r"certificate has expired|certificate: ?Expired|certificate expired", "its certificate has expired"),
    (r"not yet valid|NotValidYet|not valid yet", "its certificate is not valid yet: is this machine's clock right?"),
    (
        r"(?:Hostname|IP address) mismatch|NotValidForName|not valid for name",
        "its certificate was made for another name: write the address with the name that it was made for",
    ),
    (
        r"self.signed certificate(?! in)",
        "its certificate is signed by itself: if the server is your own, set SSL_CERT_FILE to that certificate",
    ),
    (r"local issuer|self.signed certificate in|verify the first|UnknownIssuer", _AUTHORITY),
    (r"CertVerificationError|invalid peer certificate", "its certificate does not hold: {said}"),
    (
        r"WRONG_VERSION_NUMBER|HTTP_REQUEST|PACKET_LENGTH_TOO_LONG|RECORD_LAYER_FAILURE|InvalidContentType",
        "it speaks http, not https: write the address with http://",
    ),
    (
        r"(?i)no[_ ]?application[_ ]?protocol",
        "it speaks HTTP/2 only, which cannot be asked: put a server of HTTP/1.1 before it",
    ),
    (r"(?i)certificate_?required|bad_certificate", "it wants a certificate from whoever asks, which is not given here"),
    (r"(?i)ssl\w*error|\btls\b.*(?:alert|handshake)", "no TLS came about ({said}): write http:// if it speaks that"),
)
_CONNECTIONS = (
    (r"Temporary failure|EAI_AGAIN", "the name {host} cannot be looked up now: is this machine online?"),
    (r"gaierror|dns error|DNS error", "the name {host} is unknown"),
    (r"ConnectionRefused|Connection refused", "nothing listens at {place}, is the server on?"),
    (r"unreachable|No route", "no way leads from this machine to {place}: is it online?"),
)
_ANSWERS = (
    (r"cut in the middle", "{said}"),
    (
        r"illegal (?:status|request|header) line|invalid HTTP version",
        "what it answers is no HTTP/1.1, as of a port for HTTP/2 alone, for gRPC or for something else{tls}",
    ),
    (
        r"without sending a response|ConnectionReset|(?i:connection reset)|ReadError|before message completed",
        "it closed the connection without an answer{tls}",
    ),
)


def cause(exc: BaseException, url: str = "", proxy: Proxy | None = None) -> str:
    """Why the address could not be reached; the address and its proxy are those of the request that failed, if any."""
    request = getattr(exc, "_request", None)
    if request is not None:
        url, proxy = str(request.url), request.extensions.get(PROXY)
    raised = "\n".join(f"{type(one).__name__}: {one}" for one in _chain(exc))
    spoken = next((text for one in _chain(exc) if (text := str(one).strip())), type(exc).__name__)
    said = spoken.splitlines()[0].rpartition(" > ")[2].rstrip("').")[:200]
    if type(exc).__name__ == "UnsupportedProtocol":  # what was never sent, for a reason that is told
        return said
    if proxy is not None and (
        refused := re.search(r"(?:ProxyError:|CONNECT failed: HTTP/\S+) (\d{3}[^\r\n\\]*)", raised)
    ):
        return _refusal(proxy, refused[1].strip())
    if words := _first(_CERTIFICATES, raised, url, said):
        return words if proxy is None else f"{words}; it was asked over {proxy}"
    if proxy is None:
        return _first(_CONNECTIONS + _ANSWERS, raised, url, said) or said
    words = _first(_CONNECTIONS, raised, proxy.url, said)
    return f"{proxy} cannot be reached: {words}" if words else f"{said}; it was asked over {proxy}"


def _refusal(proxy: Proxy, answer: str) -> str:
    if not answer.startswith("407"):
        return f"{proxy} answered {answer}"
    if "@" in proxy.url:
        return f"{proxy} refused the name and password (status 407): check them in {proxy.variable}"
    return f"{proxy} wants a name and password (status 407): write {proxy.variable} as http://NAME:PASSWORD@HOST:PORT"


def _first(table: tuple[tuple[str, str], ...], raised: str, url: str, said: str) -> str:
    parts = urlsplit(url)
    place = f"{parts.hostname}:{parts.port}" if parts.port else parts.hostname
    words = next((words for pattern, words in table if re.search(pattern, raised)), "")
    words = words if place else re.sub(r"(?: at| to)? \{(?:host|place)\}", "", words)
    tls = ": write the address with https:// if it speaks TLS" if parts.scheme == "http" else ""
    return words.format(host=parts.hostname, place=place, said=said, tls=tls)


def _chain(exc: BaseException | None) -> Iterator[BaseException]:
    """What was raised, what it came from, and the several attempts at the addresses of one name."""
    while exc is not None:
        yield exc
        for one in exc.exceptions if isinstance(exc, BaseExceptionGroup) else ():
            yield from _chain(one)
        exc = exc.__cause__ or exc.__context__
