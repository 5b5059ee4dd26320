"""The addresses that pages may be fetched from: a table of tries to reach what is not public, and what is refused."""

from collections.abc import Sequence

import pytest
from web_server import WebServer, article, open_fetcher

from tools.errors import AddressError
from tools.web.addresses import check_url, is_public
from tools.web.fetch import PageFetcher

# What is not the public internet, as an IP address that a name may resolve to.
FORBIDDEN = [
    *"""
        0.0.0.0 0.1.2.3 10.0.0.1 100.64.0.1 100.100.100.200 127.0.0.1 127.255.255.254 169.254.169.254 169.254.170.2
        172.16.0.1 172.31.255.255 192.0.0.192 192.0.2.1 192.88.99.1 192.168.0.1 198.18.0.1 198.51.100.7 203.0.113.9
        224.0.0.1 239.255.255.250 240.0.0.1 255.255.255.255 168.63.129.16 :: ::1 fe80::1 fe80::1%eth0
        2606:4700:4700::1111%eth0 fec0::1 fc00::1 fd00:ec2::254 ff02::1 ff0e::1 100::1 2001::1 2001:2::1 2001:10::1
        2001:db8::1 3fff::1 5f00::1 4000::1 ::ffff:127.0.0.1 ::ffff:169.254.169.254 ::ffff:7f00:1 ::127.0.0.1 ::8.8.8.8
        ::ffff:0:127.0.0.1 64:ff9b::7f00:1 64:ff9b::10.0.0.1 64:ff9b:1::8.8.8.8 2002:7f00:1:: 2002:c0a8:1::1
        2002:a9fe:a9fe:: 2001:0:4136:e378:8000:63bf:3fff:fdd2 2001:0:7f00:1:: 2130706433 0177.0.0.1 0x7f000001 127.1
        127.0.0.1. 127.0.0.1/8 localhost
    """.split(),
    " 127.0.0.1",
    "",
]
PUBLIC = """
    8.8.8.8 1.1.1.1 93.184.216.34 100.63.255.255 100.128.0.1 172.15.0.1 172.32.0.1 192.0.1.1 198.17.255.255
    198.20.0.1 223.255.255.255 169.253.0.1 11.0.0.1 126.0.0.1 128.0.0.1 2606:4700:4700::1111
    2a00:1450:4001:82a::200e 2001:4860:4860::8888 2400:cb00::1 ::ffff:8.8.8.8 64:ff9b::8.8.8.8 2002:808:808::1
""".split()


@pytest.mark.parametrize("address", FORBIDDEN)
def test_an_address_that_is_not_public(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("address", PUBLIC)
def test_a_public_address(address: str) -> None:
    assert is_public(address)


# URLs that are refused as text, before any name is looked up.
REFUSED_URLS = [
    *"""
        file:///etc/passwd ftp://a.example/x gopher://a.example:70/_x data:text/html,hi javascript:alert(1)
        //a.example/x a.example/x http:/a.example http:a.example about:blank jar:http://a.example!/x
        view-source:http://a.example ws://a.example/ dict://a.example:11211/stat unix:/var/run/x.sock http:// http:///x
        http://:80/ http://?x http://#x http://./ http://../ http://a.example@127.0.0.1/ http://user:pass@a.example/
        http://127.0.0.1:80@a.example/ http://@a.example/ http://2130706433/ http://0177.0.0.1/ http://0x7f000001/
        http://0x7f.0x0.0x0.0x1/ http://127.1/ http://127.0.1/ http://017700000001/ http://0x7f.1/ http://127.0.0.01/
        http://127.0.0.1.1/ http://00000177.0.0.1/ http://0/ http://256.256.256.256/ http://a.example.0x1/
        http://4294967297/ http://[::1%25eth0]/ http://[fe80::1%eth0]/ http://[::1/ http://::1/ http://[127.0.0.1]/
        http://[::1]a.example/ http://[v1.x]/ http://[]/ http://localhost/ http://LOCALHOST/ http://localhost./
        http://a.localhost/ http://intranet/ http://localhost.localdomain/ http://printer.local/
        http://metadata.google.internal/ http://nas.lan/ http://router.home.arpa/ http://x.onion/ http://metadata/
        http://１２７.0.0.1/ http://127。0。0。1/ http://①②⑦.⓪.⓪.①/ http://ｌocalhost/ http://a.example／@x/
        http://127.0.0.1%00.a.example/ http://127%2e0.0.1/ http://%31%32%37.0.0.1/ http://a%20b.example/ http://a..b/
        http://-a.example/ http://a-.example/
        http://aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.example/
        http://a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.example/
        http://a.example,b.example/ http://a.example;b/ http://a.example&b/ http://a.example*/ http://ex!.example/
        http://a.example:22/ http://a.example:25/ http://a.example:6379/ http://a.example:0/ https://a.example:1/
        http://a.example:99999/ http://a.example:-1/ http://a.example:８０/ http://a.example:80:80/ http://a.example:x/
    """.split(),
    "",
    "http://a.example\\@127.0.0.1/",
    "http://127.0.0.1\\.a.example/",
    "http:\\\\a.example\\x",
    "http://a.example\r\nHost: 127.0.0.1/",
    "http://a.example/x\r\nX: y",
    "http://a.exam\nple/",
    " http://a.example/",
    "http://a.example/a b",
    "\x00http://a.example/",
    "http://a.example/\u200b",
    "http://a.example/\u202e",
    "http://a.example/" + "x" * 5000,
]


@pytest.mark.parametrize("url", REFUSED_URLS, ids=lambda url: ascii(url)[:60])
def test_a_url_that_is_refused_as_text(url: str) -> None:
    with pytest.raises(AddressError) as caught:
        check_url(url)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 250


@pytest.mark.parametrize(
    ("url", "plain"),
    [
        ("https://a.example", "https://a.example/"),
        ("HTTP://A.Example:80/Path?Q=1#part", "http://a.example/Path?Q=1"),
        ("http://a.example:8080/x;y=1?z=[1]|2", "http://a.example:8080/x;y=1?z=[1]|2"),
        ("https://bücher.example/straße?q=ü", "https://xn--bcher-kva.example/stra%C3%9Fe?q=%C3%BC"),
        ("https://a.example/a%20b/%e4%bd%a0", "https://a.example/a%20b/%e4%bd%a0"),
        ("http://93.184.216.34/", "http://93.184.216.34/"),
        ("https://[2606:4700:4700:0:0:0:0:1111]:8443/x", "https://[2606:4700:4700::1111]:8443/x"),
        ("https://3com.example/1.2.3.4", "https://3com.example/1.2.3.4"),
    ],
)
def test_a_url_in_its_plain_form(url: str, plain: str) -> None:
    assert check_url(url) == plain
    assert check_url(plain) == plain


# What a name resolves to


class Answers:
    """A name server that gives one answer after the other, the last one for good."""

    def __init__(self, *rounds: Sequence[str]) -> None:
        self._rounds = list(rounds)
        self.asked: list[str] = []

    async def __call__(self, host: str) -> Sequence[str]:
        self.asked.append(host)
        found = self._rounds.pop(0) if len(self._rounds) > 1 else self._rounds[0]
        if not found:
            raise OSError("no such host")
        return found


@pytest.mark.parametrize(
    "found",
    [
        ["127.0.0.1"],
        ["169.254.169.254"],
        ["fd00:ec2::254"],
        ["93.184.216.34", "10.0.0.7"],
        ["10.0.0.7", "93.184.216.34"],
        ["2606:4700:4700::1111", "::1"],
        ["::ffff:10.0.0.7"],
        ["fe80::1%eth0"],
        ["2002:7f00:1::"],
        ["not an address"],
    ],
)
@pytest.mark.parametrize("name", ["10.0.0.7.nip.example", "a.example"])
async def test_a_name_that_leads_into_a_private_network(name: str, found: list[str]) -> None:
    fetcher = PageFetcher(resolver=Answers(found))
    with pytest.raises(AddressError, match=rf"{name} is not fetched: it leads to an address that is not public"):
        await fetcher.fetch(f"http://{name}/")
    await fetcher.aclose()


def only_loopback(address: str) -> bool:
    return address == "127.0.0.1"


async def test_the_address_that_was_checked_is_the_one_connected_to() -> None:
    resolver = Answers(["127.0.0.1"], ["10.0.0.7"])
    with WebServer() as site:
        site.page("/a", article("A", ["One."]))
        fetcher = open_fetcher(resolver=resolver)
        page = await fetcher.fetch(f"http://rebinding.example:{site.port}/a")
        assert resolver.asked == ["rebinding.example"]
        assert page.url == f"http://rebinding.example:{site.port}/a"
        assert site.requests[0].headers["host"] == f"rebinding.example:{site.port}"
        await fetcher.aclose()
        with pytest.raises(AddressError, match="not public"):
            await fetcher.fetch(f"http://rebinding.example:{site.port}/a")
        await fetcher.aclose()
    assert len(site.requests) == 1


REDIRECTS = [
    *"""
        http://169.254.169.254/latest/meta-data/ http://10.0.0.1/ http://[::1]/ http://[fd00:ec2::254]/
        http://[::ffff:127.0.0.1]/ http://2130706433/ http://0x7f000001/ http://127.1/ http://localhost/
        http://metadata.google.internal/ //192.168.0.1/ file:///etc/passwd ftp://a.example/ data:text/html,x
        javascript:alert(1) http://user@10.0.0.1/ gopher://10.0.0.1/ http://private.example/ http://[::]/
        http://127.0.0.2/ http://１２７.0.0.1/ http://[64:ff9b::a00:1]/
    """.split(),
    "\\\\10.0.0.1\\x",
]


@pytest.mark.parametrize("to", REDIRECTS, ids=ascii)
async def test_a_redirect_to_what_is_not_public(to: str) -> None:
    def permit(address: str) -> bool:
        return only_loopback(address) or is_public(address)

    with WebServer() as site:
        site.redirect("/out", to.encode().decode("latin-1"))
        start = site.redirect("/start", "/out")
        fetcher = open_fetcher(permit=permit, resolver=Answers(["10.9.8.7"]))
        with pytest.raises(AddressError):
            await fetcher.fetch(start)
        await fetcher.aclose()
    assert [asked.path for asked in site.requests] == ["/start", "/out"]


async def test_the_environment_cannot_switch_it_off(monkeypatch: pytest.MonkeyPatch) -> None:
    with WebServer() as site:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, site.url)
        monkeypatch.setenv("NO_PROXY", "*")
        fetcher = PageFetcher(ports=range(1, 65536))
        with pytest.raises(AddressError, match="not public"):
            await fetcher.fetch(site.page("/a", "<html></html>"))
        with pytest.raises(AddressError, match="not public"):
            await fetcher.fetch("http://10.0.0.1/")
        await fetcher.aclose()
    assert site.requests == []
