"""The page in a real browser while runs are stopped, cut off, edited and asked side by side, on the samples and a chat
model."""

import time
from collections.abc import Iterator

import pytest
from answering_model import STAGES
from model_server import ModelServer
from page_models import PHONES, VOTING, speaking
from visitors import AGAIN, FIRST, Serve, Visit, Visitor

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


@pytest.fixture(scope="module")
def weighing(serve: Serve) -> Iterator[PageServer]:
    """A page whose judge takes its time too, so that each state of a side can be seen."""

    def score(statement: str, text: str) -> float:
        time.sleep(0.05)
        return 0.8

    with ModelServer(strict=False, score=score) as server:
        judged = {"STEELMAN_JUDGE_URL": f"{server.root}/score", "STEELMAN_JUDGE_MODEL": "test-model"}
        yield serve(speaking(server, delay=2.0) | judged)


def planned(visitor: Visitor) -> Visitor:
    """Waits until the sides of a run that goes on are there."""
    visitor.page.locator(".sm-side").first.wait_for()
    return visitor


def test_a_chat_models_answer_is_asked_watched_and_followed_up(
    talking: PageServer, slow: ModelServer, visit: Visit
) -> None:
    visitor = visit(talking).arrive()
    visitor.ask(PHONES)
    planned(visitor)
    assert any("Schools should ban smartphones." in side for side in visitor.sides())
    visitor.answered(PHONES)
    visitor.cited.first.click()
    visitor.page.locator(".sm-source mark").first.wait_for()
    visitor.page.keyboard.press("Escape")
    visitor.ask("What about the cost?", AGAIN)
    planned(visitor).answered("What about the cost?")
    assert any("<earlier_question>" in prompt for prompt in slow.prompts())


def test_a_side_is_seen_from_its_search_to_its_coverage(weighing: PageServer, visit: Visit) -> None:
    visitor = visit(weighing).arrive()
    visitor.ask(PHONES)
    seen: list[str] = []

    def ended() -> bool:
        seen.extend(visitor.sides())
        return visitor.field(AGAIN).is_visible()

    visitor.until(ended, "the answer")
    states = [side.rpartition("\n")[2] for side in seen if side.startswith("Schools should ban smartphones.")]
    assert any("passages" in state and "covered" not in state for state in states), states
    assert any("covered" in state for state in states), states


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


def test_a_reload_in_mid_run_on_the_samples(samples_page: PageServer, visit: Visit) -> None:
    visitor = visit(samples_page).arrive()
    visitor.ask(PHONES)
    visitor.running()
    run = visitor.run_id
    visitor.reload()
    visitor.answered(PHONES)
    assert visitor.run_id == run


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


def test_a_run_is_stopped_and_gone_on_with(talking: PageServer, visit: Visit) -> None:
    visitor = visit(talking).arrive()
    visitor.ask(PHONES)
    planned(visitor).button("Stop").click()
    again = visitor.button("Go on with it")
    again.wait_for()
    assert not visitor.field(AGAIN).is_visible()
    visitor.reload()  # stopped it stays
    again.click()
    visitor.answered(PHONES)


def test_the_sides_are_edited_first(talking: PageServer, visit: Visit) -> None:
    visitor = visit(talking).arrive()
    visitor.field(FIRST).fill(PHONES)
    visitor.edit_sides()
    search = visitor.button("Search for these")
    search.wait_for()
    visitor.reload()  # a run that waits is found again, too
    search.wait_for()
    visitor.page.get_by_label("Side 1", exact=True).fill("Schools should ban smartphones in every lesson.")
    search.click()
    visitor.answered(PHONES)
    said = visitor.page.get_by_test_id("stMain").inner_text()
    assert "Schools should ban smartphones in every lesson." in said
    assert "Schools should not ban smartphones." in said


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
