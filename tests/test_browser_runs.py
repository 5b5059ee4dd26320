"""The page in a real browser while runs are stopped, cut off, edited and asked side by side, on the samples and a chat
model."""

from collections.abc import Iterator

import pytest
from answering_model import STAGES
from model_server import ModelServer
from page_models import PHONES, VOTING, speaking
from visitors import Serve, Visit, Visitor

from evals.benchmarks.browser import PageServer

pytest_plugins = ["visitors"]
pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]


@pytest.fixture(scope="module")
def slow() -> Iterator[ModelServer]:
    """A chat model that takes its time, so that there is a middle of the run."""
    with ModelServer(strict=False) as server:
        yield server


@pytest.fixture(scope="module")
def talking(serve: Serve, slow: ModelServer) -> PageServer:
    """A page whose words are a chat model's."""
    return serve(speaking(slow, delay=1.0))


def planned(visitor: Visitor) -> Visitor:
    """Waits until the sides of a run that goes on are there."""
    visitor.page.locator(".sm-side").first.wait_for()
    return visitor


def test_a_reload_in_mid_run_finds_the_run_again(talking: PageServer, slow: ModelServer, visit: Visit) -> None:
    visitor = visit(talking).arrive()
    before = plannings(slow)
    visitor.ask(PHONES)
    visitor.running()
    run = visitor.run_id
    assert run
    visitor.reload()
    planned(visitor).answered(PHONES)
    assert visitor.run_id == run
    assert plannings(slow) == before + 1  # it was not begun again


def plannings(server: ModelServer) -> int:
    """How often the model was asked which sides there are."""
    return len([p for p in server.prompts() if STAGES["expand"] in p])


def test_a_page_that_was_killed_goes_on_with_the_run(talking: PageServer, visit: Visit) -> None:
    left_open, reloaded = visit(talking).arrive(), visit(talking)
    left_open.ask(PHONES)
    planned(left_open)
    run = left_open.run_id
    talking.kill()
    talking.start()
    reloaded.go(f"/?run={run}")
    for visitor in (left_open, reloaded):  # the one connects again by itself
        visitor.button("Go on with it").wait_for()
    reloaded.button("Go on with it").click()
    for visitor in (left_open, reloaded):
        visitor.answered(PHONES)
        assert visitor.run_id == run


def test_two_people_at_once_each_get_their_own_answer(talking: PageServer, visit: Visit) -> None:
    first, second = visit(talking).arrive(), visit(talking).arrive()
    first.ask(PHONES)
    second.ask(VOTING)
    planned(first)
    planned(second)
    first.answered(PHONES)
    second.answered(VOTING)
    assert first.run_id != second.run_id
    theirs = [v.page.get_by_test_id("stMain").inner_text() for v in (first, second)]
    assert "Schools should ban smartphones." in theirs[0]
    assert "Voting should be compulsory." in theirs[1]
    assert "Voting should" not in theirs[0]
    assert "smartphones" not in theirs[1]
