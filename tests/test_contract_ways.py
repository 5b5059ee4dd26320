"""What lies on the way to a server: faults × clients, as in `test_contract.py`."""

from functools import partial
from pathlib import Path
from typing import Any

import pytest
from contract import Client, Row
from way_clients import (
    ALL,
    WITHOUT_RUST,
    anthropic,
    chat,
    chroma,
    ddgs,
    embeddings,
    judge,
    page,
    searxng,
    serper,
    tavily,
    trusting_page,
)
from ways import GO, PACKED, Bench, at, bad_day, over, tls
from ways import says as sends

# --- the way to a server ----------------------------------------------------------------------------------------------

OUT, INSIDE = "http://api.public.example", "http://api.inside.example:{port}"
OFF = "http://127.0.0.1:9"
_CAUSES: tuple[tuple[str, tuple[Client, ...], Any, str], ...] = (
    ("unknown authority", ALL, partial(tls, known=False), "set SSL_CERT_FILE to that authority's certificate"),
    ("its own authority", WITHOUT_RUST[:-1], partial(tls, known=False, by_itself=True), "is signed by itself"),
    ("expired", ALL, partial(tls, days=-1), "its certificate has expired"),
    ("another name", ALL, partial(tls, name="a.example"), "write the address with the name that it was made for"),
    ("https to http", ALL, partial(sends, said=b"HTTP/1.1 400 No\r\n\r\n", scheme="https"), "with http://"),
    ("http to https", (*WITHOUT_RUST, ddgs), partial(tls, scheme="http"), "with https://"),
    ("http to Go's https", WITHOUT_RUST[:-1], partial(sends, said=GO), "it speaks https, not http"),
    ("HTTP/2 only", WITHOUT_RUST, partial(sends, said=b"\0\0\x0c\4\0\0\0\0\0"), "a port for HTTP/2 alone"),
    ("HTTP/2 only, by TLS", WITHOUT_RUST, partial(tls, alpn="h2"), "it closed the connection without an answer"),
    ("no such name", WITHOUT_RUST, partial(at, url="http://no.such.example"), "the name no.such.example is unknown"),
    ("a port that refuses", (*ALL, searxng), partial(at, url=OFF), "nothing listens at 127.0.0.1:9"),
    (
        "no such file",
        (chat, judge, chroma, page),
        partial(at, url="https://127.0.0.1:9", SSL_CERT_FILE="/no"),
        "names /no",
    ),
    ("a proxy that is off", ALL, partial(at, url=OUT, ALL_PROXY=OFF), "the proxy at 127.0.0.1:9 (ALL_PROXY) cannot be"),
    ("a proxy with no name", WITHOUT_RUST, partial(over, url=OUT, login="ann:pw"), "wants a name and password"),
    (
        "a wrong password",
        ALL,
        partial(over, url="https://api.public.example", login="ann:pw", given="a:hunter2"),
        "407",
    ),
    ("a proxy's 502", WITHOUT_RUST, partial(over, url=OUT, answer="502 Bad Gateway"), "(ALL_PROXY) answered 502 Bad G"),
    ("a half proxy", (page,), partial(at, url="http://no.example", ALL_PROXY="http://a:hunter2/@h:1"), "no address of"),
    ("socks", ALL, partial(at, url=OUT, all_proxy="socks://127.0.0.1:9"), ".venv/bin/pip install socksio"),
    ("no proxy's address", ALL, partial(at, url=OUT, ALL_PROXY="http://a:hunter2#@h:1"), "holds no address of a proxy"),
)
_ANSWERS: tuple[tuple[str, tuple[Client, ...], Any], ...] = (
    ("an authority that SSL_CERT_FILE names", (chat, judge, embeddings), tls),
    ("compressed unasked", (embeddings,), partial(sends, said=PACKED)),
    ("a proxy for http", (chat, judge, embeddings), partial(over, url=OUT, variable="http_proxy")),
    ("a proxy for https", (chat, judge), partial(over, url="https://api.public.example", variable="HTTPS_PROXY")),
    ("a proxy with a login", (chat,), partial(over, url=OUT, login="ann:p@ss", given="ann:p%40ss")),
    ("this machine is no proxy's", (chat, judge, embeddings), partial(over, url=INSIDE, through=False)),
    ("nor is it by its address", (chat, embeddings), partial(over, url="http://127.0.0.1:{port}", through=False)),
    ("a search engine over a proxy", (serper,), partial(over, url="https://search.public.example")),
    ("pages over a proxy", (page,), partial(over, url="https://page.public.example")),
    ("pages over a proxy, plain", (page,), partial(over, url="http://page.public.example")),
    ("a page of this machine", (page,), partial(over, url="http://page.inside.example:{site}", through=False)),
    ("a name that only the proxy knows", (trusting_page,), partial(over, url="http://page.unknown.example")),
)
_REFUSED: tuple[tuple[str, str, bool, str], ...] = (
    ("a name unknown here", "http://page.unknown.example", False, "STEELMAN_TRUST_PROXY"),
    ("a private name", "http://page.private.example", False, "not public"),
    ("a 502 in a tunnel", "https://page.public.example/down", True, "status 502"),
    ("a redirect into the private network", "http://page.public.example/private", True, "not public"),
)
_POSTING = (chat, anthropic, judge, embeddings, serper, tavily, searxng)
_SEARCHING = (serper, tavily, searxng)
_SILENT = (embeddings, *_SEARCHING, ddgs)
_BAD_DAYS: tuple[tuple[str, tuple[Client, ...], Any, str], ...] = (
    ("it says nothing", _SILENT, partial(bad_day, status="", then="hang"), "did not answer"),
    ("it says nothing", (judge,), partial(bad_day, status="", then="hang"), "an answer: [nan]"),
    ("it says nothing", (page,), partial(bad_day, status="", then="hang"), "took too long"),
    ("it drips", (*_SILENT, chroma), partial(bad_day, body="[1", then="drip"), "did not answer"),
    ("it says too much", _SEARCHING, partial(bad_day, then="flood"), "sent more than 20 MB"),
    ("it hangs up", (*_POSTING, ddgs, chroma), partial(bad_day, status=""), "it closed the connection without an ans"),
    ("it hangs up", (page,), partial(bad_day, status=""), "the connection broke off"),
    ("it is cut off", _POSTING[3:], partial(bad_day, body='{"a', Content_Length=99, met=1), "the connection was cut"),
    (
        "it is cut off",
        (page,),
        partial(bad_day, body="<p>", Content_Type="text/html", Content_Length=99),
        "the connection broke off",
    ),
    ("a wrong key", (*_POSTING, chroma), partial(bad_day, status="401 No", met=1), "refused the key (status 401)"),
    ("a key said back", (anthropic, serper), partial(bad_day, status="403 No", body="a-key?", met=1), "status 403: …?"),
    ("a login", (page,), partial(bad_day, status="401 No", met=1), "a login is asked for"),
    ("not there", _POSTING, partial(bad_day, status="404 No", body="who?"), "does not know the address or the"),
    ("too often", _POSTING, partial(bad_day, status="429 No", met=3), "allows no more requests now (status 429"),
    ("too often", (ddgs,), partial(bad_day, status="429 No", met=1), "answers no program now (status 429)"),
    ("later", _POSTING, partial(bad_day, status="429 No", Retry_After=3600, met=1), "allows no more requests now"),
    ("it fails", _POSTING, partial(bad_day, status="500 No", body="oh dear", met=3), "failed (status 500: oh dear)"),
    ("it moved", (*_POSTING, chroma), partial(bad_day, status="302 No", Location=OFF, met=1), "at another address now"),
    *(
        ("no reply of its kind", clients, partial(bad_day, body=body), said)
        for body in ("\0\1<<<{", "", "null")
        for clients, said in (((*_SEARCHING, ddgs), "with something that is no"), ((chroma,), "is no Chroma server"))
    ),
)
ROWS = (
    *(Row(f, client, day, (said,), ("a-key",)) for f, clients, day, said in _BAD_DAYS for client in clients),
    *(Row(f, client, place, (said,), ("hunter2",)) for f, clients, place, said in _CAUSES for client in clients),
    *(Row(f, client, place, ("an answer: ",)) for f, clients, place in _ANSWERS for client in clients),
    *(
        Row(f, client, partial(over, url=url, through=through), (said,))
        for f, url, through, said in _REFUSED
        for client in ((page,) if "unknown" in url else (page, trusting_page))
    ),
)


@pytest.mark.usefixtures("quick_retries")
@pytest.mark.parametrize("row", ROWS, ids=str)
async def test_what_comes_of_it(row: Row, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    await row.hold(Bench(tmp_path, monkeypatch, str))
