"""Rows of the contract table: slow, many or hostile callers of the API, and files that are hard to read."""

import zipfile
from collections.abc import Sequence
from pathlib import Path

from api_on_loopback import api
from contract_table import Bench, Outcome, Row
from office_files import odt, packed, word
from raw_http import connected, head, read_to_end

from agent.runs.bootstrap import reading_limits
from agent.settings import Settings
from agent.stages.expand import reviewed_perspectives
from tools.documents.sandbox import read_in_process
from tools.errors import InputError, SourceError
from tools.net import connections

WORDS = "Bridges bring trade to both banks of a town."
JSON, FORM = "Content-Type: application/json", "Content-Type: multipart/form-data; boundary=b"


def _settings(bench: Bench, **changes: object) -> Settings:
    given = {"data_dir": bench.folder / "data", "searxng_url": "", **changes}
    return Settings(_env_file=None, **given)  # type: ignore[call-arg, arg-type]


def slow_sender(given: Sequence[bytes], bench: Bench) -> Outcome:
    """The first part is sent, and then the second one without end, three times a second."""
    bench.patch.setattr(connections, "_TICK", 0.1)
    bench.patch.setattr(connections, "HEAD_SECONDS", 1)
    bench.patch.setattr(connections, "_BODY_SECONDS", 1.0)
    with api(_settings(bench)) as address, connected(address) as connection:
        connection.sendall(given[0])
        connection.settimeout(0.3)
        for _ in range(30):
            try:
                said = connection.recv(65536)
            except TimeoutError:
                connection.sendall(b"".join(given[1:]))
            else:
                connection.settimeout(10)
                said += read_to_end(connection)
                return Outcome(int(said.split(maxsplit=2)[1]), said.decode())
    raise AssertionError("the server waits")


def resume_in_the_graph(given: object, _: Bench) -> Outcome:
    try:
        return Outcome("taken", reviewed_perspectives([given])[0]["id"])
    except InputError as exc:
        return Outcome("refused", str(exc))


def read_file(given: tuple[str, object, dict[str, float]], bench: Bench) -> Outcome:
    """A file; `given`: its name, its text or what writes it, and the settings that are not the usual ones."""
    name, made, settings = given
    path = bench.folder / name
    made(path) if callable(made) else path.write_text(str(made))
    limits = reading_limits(_settings(bench, **settings))
    try:
        found = list(read_in_process(path, name, limits=limits, skip=lambda _: None))
    except SourceError as exc:
        return Outcome("refused", str(exc))
    return Outcome("read", found[-1].text[-2000:] if found else "")


_ID, _ID_DO = "The id of a side has up to 20 letters, digits, - and _; 'rest' is taken.", "Send one, or leave it out."
_SIDE = {"name": "For", "statement": "Towns should build bridges."}
_HALF = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX: "
_UPLOAD = head("POST", "/v1/collections/mine/files", FORM, "Content-Length: 9000000")
_FILE = b'--b\r\nContent-Disposition: form-data; name="files"; filename="a.txt"\r\n\r\n'
_BODIES = {
    "a body that never comes": (head("POST", "/v1/ask", JSON, "Content-Length: 1000"),),
    "chunks that drip": (head("POST", "/mcp", JSON, "Transfer-Encoding: chunked"), b"1\r\nx\r\n"),
    "an upload that drips": (_UPLOAD + _FILE, b"x"),
}
_IDS = ["<script>alert(1)</script>", "x" * 21, "rest"]
_MARKED = "more than 20,000,000 bytes of markup, or 750,000 tags in a part"
_ENTITY = '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]>'


def _with_entity(path: Path) -> None:
    with zipfile.ZipFile(odt(path, f"<text:p>{WORDS}</text:p><text:p>&x; And &x; more.</text:p>")) as made:
        packed(path, {"content.xml": _ENTITY + made.read("content.xml").decode()})


_FILES: list[tuple[str, str, object, str, str, str]] = [
    ("a million empty paragraphs", "a.docx", lambda p: word(p, "<w:p></w:p>" * 1_000_000), "refused", _MARKED, "Split"),
    ("an entity that names a file", "a.odt", _with_entity, "read", f"{WORDS}\n\nAnd more.", ""),
]

ROWS = (
    *(Row(what, slow_sender, sent, 408, "The head of the request did not come", "Send it whole")
      for what, sent in (("half a head", (_HALF,)), ("a head that drips", (_HALF, b"x")))),
    *(Row(what, slow_sender, sent, 408, "The body came too slowly.", "within 1 seconds, or at 4,000 bytes a second.")
      for what, sent in _BODIES.items()),
    *(Row(f"the id {i!r}", resume_in_the_graph, _SIDE | {"id": i}, "refused", _ID, _ID_DO, ("<script",)) for i in _IDS),
    *(Row(f"{what} ({name})", read_file, (name, made, {}), status, cause, remedy)
      for what, name, made, status, cause, remedy in _FILES),
)  # fmt: skip
