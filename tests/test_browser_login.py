"""Two people at one page, each logged in at an OpenID Connect provider: neither sees or deletes what is the other's;
both see what the command line made.
"""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from conftest import ROOT
from oidc_server import Provider, serving
from page_server import PageServer
from test_browser import PHONES
from visitors import FIRST, Visit, Visitor

pytest_plugins = ["visitors"]
pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

VOTING, PIER = "Should voting be compulsory?", "Should our town sell the old pier?"
LETTER = (
    "Our town should sell the old pier, since repairs cost more each year than all the fees bring in. "
    "The town should not sell the old pier, because whoever owns the pier decides who may fish from it."
)
LogIn = Callable[[str], Visitor]


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    people = {
        "ann-7": {"name": "Ann Archer", "email": "desk@example.org"},
        "bob-9": {"email": "desk@example.org"},
        "cyd-5": {"name": "Cyd Carter", "email": "cyd@example.org"},  # has no documents, so that the samples are asked
    }
    with serving(Provider(people)) as running:
        yield running


@pytest.fixture(scope="module")
def shared_page(filled: Path, provider: Provider, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PageServer]:
    server = PageServer(tmp_path_factory.mktemp("shared"))
    shutil.copytree(filled, server.data)
    secrets = provider.secrets(f"{server.url}/oauth2callback")
    (server.data / "secrets.toml").write_text(secrets)
    with server:
        yield server


@pytest.fixture
def log_in(shared_page: PageServer, provider: Provider, visit: Visit) -> LogIn:
    """Somebody in a browser of their own, who has logged in."""

    def logged_in(subject: str) -> Visitor:
        visitor = visit(shared_page)
        visitor.may_ask += (f"{provider.url}/",)
        visitor.go().button("Log in").click()
        visitor.page.get_by_role("link", name=subject).click()
        visitor.button("Log out").wait_for()
        return visitor

    return logged_in


def ask(visitor: Visitor, question: str) -> str:
    """The address of the answer."""
    visitor.arrive().ask(question)
    visitor.answered(question)
    return f"/?run={visitor.run_id}"


def unknown(visitor: Visitor, address: str) -> None:
    visitor.go(address).text("There is no answer at this address.").wait_for()
    visitor.button("Log out").wait_for()  # all of the page is there


def test_two_people_share_a_page_and_nothing_of_theirs(shared_page: PageServer, log_in: LogIn) -> None:
    told = subprocess.run(
        [sys.executable, "-m", "agent", "ask", PHONES, "--json"],
        cwd=ROOT,
        env={"PATH": "", "STEELMAN_DATA_DIR": str(shared_page.data)},
        capture_output=True,
        text=True,
        check=True,
    )
    everybodys = f"/?run={json.loads(told.stdout)['run_id']}"
    ann, bob = log_in("ann-7"), log_in("bob-9")
    ann.text("Ann Archer").wait_for()
    bob.text("desk@example.org").wait_for()  # a name is not told; the address is Ann's, too
    hers = ask(ann, VOTING)
    for visitor in (ann, bob):
        visitor.go(everybodys).answered(PHONES)
        visitor.button(PHONES).wait_for()
    assert bob.button(VOTING).count() == 0
    for address in (hers, f"{hers}&view=compare", hers[:12]):
        unknown(bob, address)
    bob.field("Search what was asked").fill("voting")
    bob.page.keyboard.press("Enter")
    bob.text("Nothing that was asked has these words.").wait_for()
    bob.field("Search what was asked").fill("")
    bob.page.keyboard.press("Enter")
    bob.button(re.compile("Rename or delete")).first.click()
    bob.text("It is everybody's, and stays.").wait_for()
    assert bob.button("Delete").count() == 0

    bob.go(everybodys).answered(PHONES)
    bob.page.locator(".st-key-suggested").get_by_role("button").last.click()
    bob.until(lambda: bob.run_id not in ("", everybodys[6:]), "a follow-up")
    bob.ended()
    assert bob.page.locator(".st-key-thread").get_by_role("button").count() == 2
    unknown(ann, f"/?run={bob.run_id}")
    ann.go(everybodys).answered(PHONES)
    assert ann.page.locator(".st-key-thread").count() == 0
    bob.button(re.compile("Rename or delete")).first.click()
    bob.button("Delete").click()
    bob.button("Undo").wait_for()
    ann.go(everybodys).answered(PHONES)
    ann.go(hers).answered(VOTING)


def test_documents_are_searched_by_whose_they_are(log_in: LogIn, tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text(LETTER)
    ann, bob = log_in("ann-7"), log_in("bob-9")
    ann.go("/?view=documents").page.locator("input[type=file]").first.set_input_files(tmp_path / "letter.txt")
    ann.text("letter.txt").wait_for()
    ann.button("Add").click()
    ann.text("1 document stored in 'mine'").wait_for()
    bob.go("/?view=documents").text("Steelman's own; they stay as they are.").wait_for()
    assert bob.page.get_by_test_id("stButtonGroup").inner_text().split() == ["Collection", "samples"]
    assert "letter.txt" not in bob.page.inner_text("body")
    ask(ann, PIER)
    assert "repairs cost more each year" in ann.page.inner_text("body")
    bob.arrive().ask(PIER)
    bob.ended()
    assert "repairs cost more each year" not in bob.page.inner_text("body")


def test_who_logs_out_is_out_and_comes_back_to_what_is_theirs(
    shared_page: PageServer, provider: Provider, log_in: LogIn, visit: Visit
) -> None:
    cyd = log_in("cyd-5")
    hers = ask(cyd, VOTING)
    cyd.button("Log out").click()
    for visitor in (cyd, visit(shared_page)):
        visitor.button("Log in").wait_for() if visitor is cyd else visitor.go().button("Log in").wait_for()
        visitor.go(hers).button("Log in").wait_for()
        assert "voting age" not in visitor.page.inner_text("body")
        assert visitor.field(FIRST).count() == 0
    provider.people["cyd-5"].update(name="Cyd Baker", email="cyd.baker@example.org")
    again = log_in("cyd-5")
    again.text("Cyd Baker").wait_for()
    again.go(hers).answered(VOTING)
