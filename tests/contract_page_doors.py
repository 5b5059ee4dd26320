"""Rows of the contract table: what a visitor of the page may change, cause and learn."""

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from contract_table import Bench, Outcome, Row
from loopback import Silent, serving
from page_app import Client, Pages, click, html, open_pages
from sqlalchemy import select
from written_answers import answer, stands

from agent.answer.model import Note
from agent.options import RunOptions
from agent.runs.store import RunStore
from agent.settings import Settings
from tools.store import schema
from tools.store.database import Database


@dataclass(frozen=True)
class Visit:
    """A visitor's connection, what is known of who logged in (None without logins), and the settings of the page."""

    client: Client = field(default_factory=Client)
    claims: Mapping[str, object] | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    typed: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, Any] = field(default_factory=dict)


@contextmanager
def visited(visit: Visit, bench: Bench) -> Iterator[tuple[Pages, Settings]]:
    settings = Settings(data_dir=bench.folder / "data", **visit.settings)
    bench.patch.setenv("STEELMAN_ADMINS", settings.admins)
    with open_pages(settings, bench.patch) as pages:
        pages.client = visit.client
        yield pages, settings


def settings_view(visit: Visit, bench: Bench) -> Outcome:
    with visited(visit, bench) as (pages, settings):
        app = pages(visit.claims, view="settings")
        assert not app.exception
        status = "may set" if app.text_input else "may look"
        return Outcome(status, html(app).replace(str(settings.data_dir), FOLDER))


class Refusing(Silent):
    """Refuses whatever it is asked, with words of its own, and keeps the headers."""

    heard: ClassVar[list[str]]

    def do_POST(self) -> None:  # noqa: N802
        self.heard.append(str(self.headers))
        self.send_error(418, SAID, SAID)

    do_GET = do_POST  # noqa: N815


def settings_form(visit: Visit, bench: Bench) -> Outcome:
    """Types into the form and presses its button; tells what servers were sent, where the address typed is SERVER."""
    Refusing.heard = []
    with serving(Refusing) as server, visited(visit, bench) as (pages, _):
        app = pages(view="settings")
        for name, value in visit.typed.items():
            field = next(f for f in app.text_input if f"`{name}`" in f.help)
            field.set_value(value.replace("SERVER", server))
        click(app, "Use these settings")
        assert not app.exception
        changed = "changed" if len(pages.opened) > 1 else "unchanged"
        return Outcome(f"{changed}, asked" if Refusing.heard else changed, "\n".join([html(app), *Refusing.heard]))


def answer_page(visit: Visit, bench: Bench) -> Outcome:
    """Reads an answer whose notes tell of failures, and the file that is made of it."""
    notes = [
        Note(kind="degraded", text=f"tiny at {ADDRESS} failed ({SAID}).", brief="The model /srv/models/tiny failed."),
        Note(kind="failed", text=f"What could not be checked was left out: {ADDRESS} says {SAID}."),
        Note(kind="scope", text=f"Nothing was written: {SAID}.", brief="Nothing was written."),
        Note(kind="skipped", text=f"1 web page could not be read: https://a.example ({FOLDER} is full)."),
    ]
    served = {"write": "/srv/models/tiny"}
    with visited(replace(visit, settings={"ssl_cert_file": FOLDER}), bench) as (pages, settings):
        pages(view="documents")
        with closing(Database(settings.database)) as database:
            told = answer("Is it?", stands("p1", "supports", "It is."), notes=notes, providers=served)
            runs = RunStore(database)
            runs.create("a" * 12, "a" * 12, told.question, RunOptions.of().to_dict(), "a test")
            runs.finish("a" * 12, "a test", "done", {}, told.model_copy(update={"run_id": "a" * 12}).model_dump_json())
        app = pages(run="a" * 12)
        return Outcome("failed" if app.exception else "answered", html(app))


def address(visit: Visit, bench: Bench) -> Outcome:
    """Opens an address, as another site's frame can, and looks at what it caused."""
    with visited(visit, bench) as (pages, settings):
        app = pages(**visit.query)
        app.run()
        assert not app.exception
        with closing(Database(settings.database)) as database:
            caused = sum(len(database.rows(select(table))) for table in (schema.runs, schema.votes, schema.events))
        return Outcome(f"{caused} rows", " ".join(field.value or "" for field in app.text_input))


def _client(**named: str) -> Visit:
    return Visit(Client(named=named))


FOLDER, PLACE = "/srv/steelman", "10.0.0.7:8001"
ADDRESS, SAID = f"http://{PLACE}/v1", "relation users is missing"
ISSUER = "https://id.example.org"
ANN = {"is_logged_in": True, "iss": ISSUER, "sub": "4711", "email": "ann@example.org", "email_verified": True}
LAN = Client("10.0.0.9", {"host": "10.0.0.2:8501", "origin": "http://10.0.0.2:8501"})
OFF = "http://127.0.0.1:9/v1"
STORED = {"openai_api_key": "sk-stored", "openai_base_url": OFF, "model": "tiny"}
JUDGE = {"judge": "chat", "judge_url": OFF, "judge_model": "tiny", "judge_api_key": "sk-stored"}
_HERE, _NOT_HERE, _NAMED = "OPENAI_API_KEY, or", "set at the machine that serves it", "can let others set them too"
_OTHER, _TYPE = "names another server, which does not get the stored key", "Type its key into"
_INTERNAL = (FOLDER, PLACE, SAID, "sk-stored")

_ELSEWHERE = {
    "a browser on another machine": Visit(LAN),
    "a name that leads here by a trick": _client(host="evil.example:8501", origin="http://evil.example:8501"),
    "no browser": _client(origin=""),
    **{f"a proxy's {name}": _client(**{name: "127.0.0.1"}) for name in ("x-forwarded-for", "forwarded", "via")},
}
_PEOPLE: tuple[tuple[str, dict[str, object], str, str], ...] = (
    ("nobody is named", {}, "", "may look"),
    ("by e-mail", {}, "bob@example.org, Ann@example.org", "may set"),
    ("by e-mail, not verified", {"email_verified": False}, "ann@example.org", "may look"),
    ("by issuer and subject", {"email_verified": False}, f"{ISSUER} 4711", "may set"),
    ("as a subject of another issuer", {"iss": "https://evil.example"}, f"{ISSUER} 4711", "may look"),
)
_FORMS: tuple[tuple[str, dict[str, str], dict[str, str], str, str], ...] = (
    ("another address for a stored key", STORED, {"OPENAI_BASE_URL": "SERVER"}, "unchanged", _OTHER),
    ("another address of the judge", JUDGE, {"STEELMAN_JUDGE_URL": "SERVER"}, "unchanged", _OTHER),
    ("another address and its key", STORED, {"OPENAI_BASE_URL": "SERVER", "OPENAI_API_KEY": "sk-typed"},
     "changed, asked", "Bearer sk-typed"),
    ("a judge without a key beside a stored one of OpenAI", STORED,
     {"STEELMAN_JUDGE_URL": "SERVER/score", "STEELMAN_JUDGE_MODEL": "tiny"}, "changed, asked", "judge"),
)  # fmt: skip
ROWS: tuple[Row, ...] = (
    Row("a browser at this machine", settings_view, Visit(settings=STORED), "may set", FOLDER, OFF, ("sk-stored",)),
    *(Row(said, settings_view, v, "may look", _NOT_HERE, "", _INTERNAL) for said, v in _ELSEWHERE.items()),
    *(
        Row(said, settings_view, Visit(LAN, ANN | claims, {"admins": admins}), status, *told, hidden)
        for said, claims, admins, status in _PEOPLE
        for told, hidden in [((_HERE, ""), ()) if status == "may set" else ((_NAMED, "the operator of"), _INTERNAL)]
    ),
    *(
        Row(said, settings_form, Visit(settings=stored, typed=typed), status, cause,
            _TYPE if status == "unchanged" else "", ("sk-stored",))
        for said, stored, typed, status, cause in _FORMS
    ),
    *(
        Row(f"{what}, seen by a visitor", door, Visit(LAN), status, cause, remedy, (*_INTERNAL, "/srv"))
        for what, door, status, cause, remedy in (
            ("notes with internals", answer_page, "answered", "The model tiny failed.", ""),
        )
    ),
    *(
        Row("the same, seen at this machine", door, Visit(), status, place, SAID)
        for door, status, place in (
            (answer_page, "answered", ADDRESS),
        )
    ),
    *(
        Row(f"an address with {query}", address, Visit(query=query), "0 rows", query.get("q", ""))
        for query in ({"q": "Are zoos cruel?"}, {"view": "vote", "voter": "voter-1", "n": "1"}, {"run": "a" * 12})
    ),
)  # fmt: skip
