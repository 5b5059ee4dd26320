"""Pages that need JavaScript, in a real Chromium over sites on loopback: those that behave, and those that want out."""

import asyncio
import socket
import sys
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
from web_server import Handler, WebServer, article

from agent.providers import from_settings
from agent.settings import load_settings
from tools.budget import Budget, budget_scope
from tools.errors import SettingsError, SourceError
from tools.limits import BROWSER_BYTES, BROWSER_REQUESTS, LARGEST_PAGE
from tools.passages import SourceDocument
from tools.web import browser as browser_module
from tools.web.browser import BrowserFetcher
from tools.web.domains import DomainLists, read_address
from tools.web.fetch import PageFetcher

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]
STORY = [
    f"The harbour of town {n} was closed in May, because the pier had sunk and nobody would pay for another one."
    for n in range(8)
]
LISTS = DomainLists.load(None)


@pytest.fixture
def other() -> Iterator[WebServer]:
    with WebServer() as site:
        yield site


def limits(*sites: WebServer) -> dict[str, Any]:
    """Loopback, and on it the ports of these sites only."""
    return {"permit": lambda address: address == "127.0.0.1", "ports": {site.port for site in sites}}


@pytest.fixture
async def browser(site: WebServer) -> AsyncIterator[BrowserFetcher]:
    opened = BrowserFetcher(**limits(site))
    yield opened
    await opened.aclose()


def app(script: str, head: str = "") -> str:
    """A page as frameworks make them: without text until its script has run."""
    return f"""<!doctype html><html><head><title>The old harbour</title>{head}</head><body><div id="app"></div>
<noscript>You need to enable JavaScript to run this app.</noscript><script>{script}</script></body></html>"""


TELL = """
function tell(paragraphs) {
    document.getElementById('app').innerHTML =
        '<article><h1>The old harbour</h1>' + paragraphs.map(p => '<p>' + p + '</p>').join('') + '</article>';
}
"""


def told(paragraphs: list[str] = STORY) -> str:
    return f"{TELL} tell({paragraphs!r});"


async def read(fetcher: PageFetcher, url: str) -> SourceDocument:
    return await read_address(url, fetcher, LISTS)


def paths(site: WebServer) -> list[str]:
    return [asked.path for asked in site.requests]


# Pages that behave


async def test_a_page_shows_what_its_scripts_fetch(site: WebServer, browser: BrowserFetcher) -> None:
    script = f"""{TELL} fetch('/api/story?id=1').then(r => r.json()).then(s => {{
        history.pushState(null, '', '/harbour/story'); tell(s.paragraphs); }})"""
    site.page("/app.js", script, content_type="text/javascript")
    site.page("/api/story", f'{{"paragraphs": {STORY!r}}}'.replace("'", '"'), content_type="application/json")
    head = '<script type="module" src="/app.js"></script><link rel="stylesheet" href="/style.css">'
    url = site.page("/harbour", app("", f'{head}<img src="/pier.png">'))
    async with aclosing(PageFetcher(**limits(site))) as plain:
        with pytest.raises(SourceError, match="shows nothing without JavaScript"):
            await read(plain, url)
    site.requests.clear()
    found = await read(browser, url)
    assert all(text in found.text for text in STORY)
    assert (found.title, found.url) == ("The old harbour", f"{site.url}/harbour/story")
    assert paths(site) == ["/harbour", "/app.js", "/api/story?id=1"]  # once each, without picture and style
    assert all("Steelman" in asked.headers["user-agent"] and "cookie" not in asked.headers for asked in site.requests)


async def test_a_page_with_text_needs_no_browser(site: WebServer, browser: BrowserFetcher) -> None:
    found = await read(browser, site.page("/plain", article("The old harbour", STORY)))
    assert STORY[0] in found.text
    with pytest.raises(SourceError, match="a login is asked for"):
        await read(browser, site.login_wall("/login"))
    assert browser._browser is None


async def test_the_browser_serves_many_pages_and_keeps_nothing(site: WebServer, browser: BrowserFetcher) -> None:
    remember = """document.cookie = 'seen=1'; localStorage.seen = 1;"""
    url = site.page(
        "/again", app(f"{TELL} tell([...{STORY!r}, 'Seen ' + localStorage.seen + document.cookie]); {remember}")
    )
    for _ in range(2):
        assert (await read(browser, url)).text.endswith("Seen undefined")
    once = browser._browser
    assert once is not None
    await asyncio.gather(*(read(browser, url) for _ in range(4)))
    await once.close()  # as after a crash
    assert (await read(browser, url)).text.endswith("Seen undefined")


async def test_each_run_has_its_own_budget(site: WebServer, browser: BrowserFetcher) -> None:
    script = f"{TELL} fetch('/text').then(r => r.text()).then(t => tell([t]))"
    site.page("/text", " ".join(STORY), content_type="text/plain")
    url = site.page("/late", app(script))
    with budget_scope(Budget(deadline_at=time.time() + 20)):
        await read(browser, url)
    with budget_scope(Budget(deadline_at=time.time() + 0.3)), pytest.raises(SourceError, match="took too long"):
        await read(browser, url)
    assert STORY[0] in (await read(browser, url)).text


# Pages that want out


def listener() -> tuple[socket.socket, list[bytes]]:
    """A service on this machine that must not be reached; what reached it."""
    heard: list[bytes] = []
    listening = socket.create_server(("127.0.0.1", 0))

    def accept() -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            heard.append(b"connected")
            connection.close()

    threading.Thread(target=accept, daemon=True).start()
    return listening, heard


ESCAPES = """
const no = () => 0, at = 'http://127.0.0.1:PORT';
for (const url of [at + '/fetch', 'http://169.254.169.254/latest/meta-data/', 'http://[::1]:PORT/', 'file:///etc/passwd',
                   'http://localhost:PORT/', '/to-meta', '/to-port', 'http://2130706433:PORT/'])
    fetch(url).then(r => r.text()).then(t => document.body.append('LEAKED ' + t)).catch(no);
fetch(at + '/post', {method: 'POST', body: 'x', mode: 'no-cors'}).catch(no);
navigator.sendBeacon(at + '/beacon', 'x');
try { new WebSocket('ws://127.0.0.1:PORT/socket'); } catch (e) {}
try { new EventSource(at + '/events'); } catch (e) {}
try { new WebTransport('https://127.0.0.1:PORT/'); } catch (e) {}
try { new SharedWorker('/worker.js'); } catch (e) {}
try { new Worker('/worker.js'); } catch (e) {}
try { navigator.serviceWorker.register('/worker.js').catch(no); } catch (e) {}
try {
    const turn = {urls: 'turn:127.0.0.1:PORT?transport=tcp', username: 'x', credential: 'x'};
    const peer = new RTCPeerConnection({iceServers: [{urls: 'stun:127.0.0.1:UDP'}, turn]});
    peer.createDataChannel('x'); peer.createOffer().then(o => peer.setLocalDescription(o)).catch(no);
} catch (e) {}
window.open(at + '/popup');
const sources = ['img', 'iframe', 'script', 'video', 'embed'].map(tag => [tag, 'src']);
const links = ['prefetch', 'preconnect', 'dns-prefetch', 'stylesheet', 'manifest', 'icon', 'modulepreload'];
for (const [tag, key, rel] of [...sources, ['object', 'data'], ...links.map(rel => ['link', 'href', rel])]) {
    const element = document.createElement(tag);
    if (rel) element.rel = rel;
    element[key] = at + '/' + tag + rel;
    document.body.append(element);
}
const form = document.createElement('form');
form.action = at + '/form'; form.method = 'post'; form.target = '_blank'; document.body.append(form); form.submit();
const link = document.createElement('a');
link.href = '/file.bin'; link.download = 'x'; document.body.append(link); link.click();
alert('hello');
"""


async def test_no_request_of_a_page_reaches_another_place(site: WebServer, browser: BrowserFetcher) -> None:
    listening, heard = listener()
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.bind(("127.0.0.1", 0))
    udp.settimeout(0.1)
    port = listening.getsockname()[1]
    site.redirect("/to-meta", "http://169.254.169.254/latest/meta-data/")
    site.redirect("/to-port", f"http://127.0.0.1:{port}/redirected")
    site.page("/worker.js", f"fetch('http://127.0.0.1:{port}/worker').catch(() => 0)", content_type="text/javascript")
    site.page("/file.bin", b"\x00" * 100, content_type="application/octet-stream")
    script = ESCAPES.replace("PORT", str(port)).replace("UDP", str(udp.getsockname()[1]))
    url = site.page("/wants-out", app(f"{told()} {script}"))
    with listening, udp:
        found = await read(browser, url)
        await asyncio.sleep(0.5)
        with pytest.raises(TimeoutError):
            udp.recv(100)
    assert STORY[0] in found.text
    assert "LEAKED" not in found.text
    assert heard == []
    assert {"/to-meta", "/to-port"} <= set(paths(site)), "the page's scripts ran"
    assert "/worker.js" not in paths(site)


@pytest.mark.parametrize(
    "target", ["http://169.254.169.254/", "http://127.0.0.1:PORT/", "file:///etc/passwd", "/there"]
)
async def test_a_page_that_goes_elsewhere(site: WebServer, browser: BrowserFetcher, target: str) -> None:
    listening, heard = listener()
    site.redirect("/there", "http://169.254.169.254/")
    goes = target.replace("PORT", str(listening.getsockname()[1]))
    url = site.page("/goes", app(f"{told()} location.href = '{goes}';"))
    with listening:
        try:
            found = await read(browser, url)
        except SourceError:
            pass
        else:
            assert (STORY[0] in found.text, found.url) == (True, url)
    assert heard == []


async def test_a_page_that_goes_on_to_another_page_of_its_site(site: WebServer, browser: BrowserFetcher) -> None:
    site.redirect("/next", "/last")
    site.page("/last", article("Another harbour", STORY))
    found = await read(browser, site.page("/first", app("location.replace('/next');")))
    assert (found.title, STORY[0] in found.text) == ("Another harbour", True)


async def test_a_name_that_changes_its_address(site: WebServer, other: WebServer) -> None:
    answers = iter(["127.0.0.1", "10.0.0.1", *["127.0.0.2"] * 20])

    async def resolver(host: str) -> list[str]:
        return [next(answers)]

    other.page("/secret", "LEAKED", content_type="text/plain")
    fetcher = BrowserFetcher(**limits(site, other), resolver=resolver)
    script = "fetch('http://rebinds.example:PORT/secret').then(r => r.text()).then(t => document.body.append(t))"
    url = site.page("/rebinds", app(f"{told()} {script.replace('PORT', str(other.port))}"))
    try:
        found = await read(fetcher, url.replace("127.0.0.1", "rebinds.example"))
    finally:
        await fetcher.aclose()
    assert (STORY[0] in found.text, "LEAKED" in found.text, other.requests) == (True, False, [])


# Pages that never end


async def test_a_script_without_end(site: WebServer, browser: BrowserFetcher, monkeypatch: pytest.MonkeyPatch) -> None:
    await read(browser, site.page("/before", app(told())))
    monkeypatch.setattr(browser_module, "BROWSER_SECONDS", 2.0)
    for script in ("while (true) {}", f"{told()} setTimeout(() => {{ while (true) {{}} }}, 100)"):
        began = time.monotonic()
        with pytest.raises(SourceError, match="its scripts took too long"):
            await read(browser, site.page("/endless", app(script)))
        assert time.monotonic() - began < 8
    monkeypatch.undo()
    assert STORY[0] in (await read(browser, site.page("/after", app(told())))).text


async def test_a_cancelled_read_ends_its_page(site: WebServer, browser: BrowserFetcher) -> None:
    await read(browser, site.page("/before", app(told())))
    task = asyncio.create_task(read(browser, site.page("/endless", app("while (true) {}"))))
    await asyncio.sleep(2)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert browser._browser is None or browser._browser.contexts == []


async def test_a_page_that_fills_the_memory(site: WebServer, browser: BrowserFetcher) -> None:
    fill = "const kept = []; while (true) { kept.push(new Uint8Array(16 << 20).fill(1)); }"
    with pytest.raises(SourceError, match=r"failed in the browser|too long|nothing without"):  # the allocation fails
        await read(browser, site.page("/fills", app(fill)))
    assert STORY[0] in (await read(browser, site.page("/after", app(told())))).text


async def test_a_huge_page_is_cut(site: WebServer, browser: BrowserFetcher) -> None:
    script = f"""{told()} for (const p of [String.prototype, Element.prototype]) {{
            Object.defineProperty(p, 'slice', {{value: () => 'LEAKED'}}); }}
        document.body.style.display = 'none';
        for (let i = 0; i < 100; i++) document.body.append('word '.repeat(20000));"""
    page = await browser.fetch(site.page("/huge", app(script)))
    rendered = await browser.render(page)
    assert len(rendered.data) == LARGEST_PAGE // 4
    assert b"LEAKED" not in rendered.data.replace(b"'LEAKED'", b"")
    assert STORY[0].encode() in rendered.data


async def test_many_requests_and_much_data_end_at_a_limit(site: WebServer, browser: BrowserFetcher) -> None:
    def count(handler: Handler) -> None:
        handler.start({"Content-Type": "text/plain", "Content-Length": "1000000"})
        handler.wfile.write(b"x" * 1_000_000)

    site.at("/much", count)
    script = f"{told()} for (let i = 0; i < 400; i++) fetch('/much?' + i).catch(() => 0);"
    found = await read(browser, site.page("/floods", app(script)))
    assert STORY[0] in found.text
    assert len(site.requests) <= BROWSER_REQUESTS
    site.requests.clear()
    one = "const next = i => i < 100 && fetch('/much?' + i).then(r => r.text()).then(() => next(i + 1)).catch(() => 0);"
    await read(browser, site.page("/much-data", app(f"{told()} {one} next(0);")))
    assert 10 < len(site.requests) <= BROWSER_BYTES // 1_000_000 + 2


# A machine without it


async def test_a_machine_without_a_browser_says_what_to_install(
    site: WebServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = BrowserFetcher(str(tmp_path / "none"), **limits(site))
    with pytest.raises(SourceError, match=r"Chromium does not start.*apt-get install chromium"):
        await read(broken, site.page("/app", app(told())))
    await broken.aclose()
    monkeypatch.delitem(sys.modules, "tools.web.browser")
    monkeypatch.setitem(sys.modules, "playwright.async_api", None)
    with pytest.raises(SettingsError, match="needs the extra 'browser'"):
        from_settings.build_fetcher(load_settings(fetch="playwright"))


async def test_the_setting_chooses_the_fetcher() -> None:
    for name, kind in (("plain", PageFetcher), ("playwright", BrowserFetcher)):
        fetcher = from_settings.build_fetcher(load_settings(fetch=name))
        assert type(fetcher) is kind
        await fetcher.aclose()
