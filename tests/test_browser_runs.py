"""The page in a real browser while runs go on: reloaded in the middle, and by two people at once."""

import pytest
from visitors import Visit

from evals.benchmarks.browser import PageServer

pytest_plugins = ["visitors"]
pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

PHONES, VOTING = "Should schools ban smartphones?", "Should voting be compulsory?"


def test_a_reload_in_mid_run_finds_the_run_again(samples_page: PageServer, visit: Visit) -> None:
    visitor = visit(samples_page).arrive()
    visitor.ask(PHONES)
    visitor.running()
    run = visitor.run_id
    assert run
    visitor.reload()
    visitor.answered(PHONES)
    assert visitor.run_id == run


def test_two_people_at_once_each_get_their_own_answer(samples_page: PageServer, visit: Visit) -> None:
    first, second = visit(samples_page).arrive(), visit(samples_page).arrive()
    first.ask(PHONES)
    second.ask(VOTING)
    first.answered(PHONES)
    second.answered(VOTING)
    assert first.run_id != second.run_id
    theirs = [v.page.get_by_test_id("stMain").inner_text() for v in (first, second)]
    assert ("smartphones" in theirs[0], "compulsory" in theirs[0]) == (True, False)
    assert ("smartphones" in theirs[1], "compulsory" in theirs[1]) == (False, True)
