"""The suite `scale`: its queues against theory and by hand, its times from stored runs, its command."""

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from conftest import Suite

from agent.runs.store import RunEvent, RunStore
from evals.metrics.queueing import Load, Question, Simulated, Stage, simulate
from evals.suites.scale import stage_seconds
from tools.store.database import Database

MANY = 1_000_000


def erlang_wait(arrivals: float, served: float, servers: int) -> float:
    """The mean wait in an M/M/c queue (Erlang C). arrivals, served: a second; served by one server."""
    offered, blocked = arrivals / served, 1.0
    for number in range(1, servers + 1):  # Erlang B, by its recursion
        blocked = offered * blocked / (number + offered * blocked)
    waits = servers * blocked / (servers - offered * (1 - blocked))
    return waits / (servers * served - arrivals)


def markov(arrivals: float, stage: str, count: int = 200_000) -> list[Question]:
    """Poisson arrivals and exponential times with a mean of one second."""
    rng = np.random.default_rng(7)
    at, times = np.cumsum(rng.exponential(1 / arrivals, count)), rng.exponential(1.0, count)
    return [Question(float(a), (Stage(stage, (float(t),)),)) for a, t in zip(at, times, strict=True)]  # type: ignore[arg-type]


def mean_wait(found: Simulated) -> float:
    return float(np.mean([one.waited for one in found.answered]))


def test_the_theory_itself_by_hand() -> None:
    assert erlang_wait(0.5, 1.0, 1) == pytest.approx(1.0)  # rho / (mu - lambda) = 0.5 / 0.5
    assert erlang_wait(1.0, 1.0, 2) == pytest.approx(1 / 3)  # C(2, 1) = 1/3, over 2 - 1
    assert erlang_wait(2.0, 1.0, 3) == pytest.approx(4 / 9)  # C(3, 2) = 4/9, over 3 - 2


@pytest.mark.slow
@pytest.mark.parametrize("arrivals", [0.5, 0.8])
def test_one_processor_is_an_mm1_queue(arrivals: float) -> None:
    found = simulate(markov(arrivals, "processor"), processes=1, runs=MANY, slots=1)
    assert mean_wait(found) == pytest.approx(erlang_wait(arrivals, 1.0, 1), rel=0.04)
    assert found.processors.used == pytest.approx(arrivals, rel=0.02)


@pytest.mark.slow
@pytest.mark.parametrize("servers", [2, 4, 8])
def test_slots_are_an_mmc_queue(servers: int) -> None:
    arrivals = 0.8 * servers
    found = simulate(markov(arrivals, "model"), processes=1, runs=MANY, slots=servers)
    assert mean_wait(found) == pytest.approx(erlang_wait(arrivals, 1.0, servers), rel=0.04)
    assert found.model.used == pytest.approx(0.8, rel=0.02)


@pytest.mark.slow
def test_turns_are_an_mmc_queue() -> None:
    found = simulate(markov(3.2, "model"), processes=1, runs=4, slots=MANY)
    assert mean_wait(found) == pytest.approx(erlang_wait(3.2, 1.0, 4), rel=0.04)
    assert found.turns.used == pytest.approx(0.8, rel=0.02)


def mixed(count: int = 5_000) -> list[Question]:
    rng = np.random.default_rng(3)
    at, times = np.cumsum(rng.exponential(0.5, count)), rng.lognormal(-0.3, 0.5, (count, 4))
    return [
        Question(float(a), (Stage("processor", (float(s),)), Stage("model", (float(x), float(y), float(z)))))
        for a, (s, x, y, z) in zip(at, times, strict=True)
    ]


@pytest.mark.parametrize("processes", [2, 3, 5])
def test_no_question_is_lost_or_doubled_and_littles_law_holds(processes: int) -> None:
    asked = mixed()
    found = simulate(asked, processes, runs=4, slots=9)
    assert Counter(one.question.at for one in found.answered) == Counter(question.at for question in asked)
    assert all(one.question.at <= one.began <= one.ended for one in found.answered)
    rate, before = len(asked) / found.seconds, [one.began - one.question.at for one in found.answered]
    assert found.turns.waiting == pytest.approx(rate * np.mean(before))  # Little: L = lambda W, in the queue
    held = np.mean([one.ended - one.began for one in found.answered])
    assert found.turns.used * 4 * processes == pytest.approx(rate * held)  # and in the turns
    calls = sum(sum(question.stages[1].seconds) for question in asked)
    assert found.model.used * 9 * found.seconds == pytest.approx(calls)


def on(*seconds: float) -> tuple[Stage, ...]:
    return tuple(Stage("processor", (s,)) for s in seconds)


def times(found: Simulated) -> dict[float, tuple[float, float]]:
    return {one.question.at: (one.began, one.ended) for one in found.answered}


def test_a_trace_by_hand() -> None:
    """One process, two turns. A arrives at 0 (2 s, 3 s), B at 1 (1 s), C at 2 (1 s).

    The processor: A's first stage to 2, B to 3 (its turn began at 1), A's second stage from 3 to 6. C's turn begins
    when B ends, at 3, and the processor is free for it at 6: C ends at 7.
    """
    found = simulate([Question(0, on(2, 3)), Question(1, on(1)), Question(2, on(1))], processes=1, runs=2, slots=1)
    assert times(found) == {0: (0, 6), 1: (1, 3), 2: (3, 7)}
    assert [one.waited for one in found.answered] == [1, 1, 4]  # B; A, between its stages; C
    # C waits for a turn from 2 to 3. Turns are taken for 6 + 2 + 4 of 2 x 7 seconds.
    assert found.turns == Load(used=12 / 14, waiting=1 / 7, most=1)
    # At the processor B waits from 1 to 2, A from 2 to 3, C from 3 to 6.
    assert found.processors == Load(used=1.0, waiting=5 / 7, most=1)


def test_simultaneous_calls_share_the_slots_by_hand() -> None:
    """Three calls of 2, 2 and 1 s on two slots end at 2, 2 and 3; the next stage ends at 4."""
    stages = Stage("model", (2.0, 2.0, 1.0)), Stage("model", ()), Stage("processor", (1.0,))
    found = simulate([Question(0, stages)], processes=2, runs=1, slots=2)
    assert times(found) == {0: (0, 4)}
    assert (found.answered[0].waited, found.model.used) == (1, 5 / 8)
    assert found.processors.used == 1 / 8  # one of two processes, one of four seconds


def test_first_come_is_first_served() -> None:
    asked = [Question(0, on(2)), Question(0.5, on(3)), Question(1, on(1))]
    for runs in (1, 3):  # the queue for a turn, and the queue for the processor
        assert [one.question.at for one in simulate(asked, processes=1, runs=runs, slots=1).answered] == [0, 0.5, 1]


def test_a_question_goes_to_the_emptiest_process() -> None:
    found = simulate([Question(at / 10, on(1)) for at in range(4)], processes=4, runs=1, slots=1)
    assert [one.waited for one in found.answered] == pytest.approx([0, 0, 0, 0])
    # The second process is empty again at 2; the first works until 5.
    found = simulate([Question(0, on(5)), Question(1, on(1)), Question(3, on(1))], processes=2, runs=1, slots=1)
    assert times(found) == {0: (0, 5), 1: (1, 2), 3: (3, 4)}


def test_a_measured_crowd() -> None:
    """Fifty simultaneous questions of 1.4 s on one process had a median of 38.3 s (decision 0012)."""
    asked = [Question(0, on(0.05, 0.2, 1.05, 0.1)) for _ in range(50)]
    found = simulate(asked, processes=1, runs=4, slots=1)
    assert np.median([one.took for one in found.answered]) == pytest.approx(38.3, rel=0.1)


# Times of runs


def events(*given: tuple[float, str, str]) -> list[RunEvent]:
    return [RunEvent(n, at, kind, {"stage": name} if name else {}) for n, (at, kind, name) in enumerate(given, 1)]


RUN = (
    (10.0, "started", ""),
    (12.0, "stage", "frame"),
    (12.5, "stage", "expand"),
    (13.0, "stage", "retrieve"),
    (13.25, "stage", "retrieve"),
    (14.0, "stage", "judge"),
    (14.5, "judged", ""),
    (15.0, "stage", "select"),
    (15.5, "stage", "write"),
    (18.0, "stage", "verify"),
    (18.25, "done", ""),
)
WAITS, RESUMED = (12.6, "waiting", ""), (12.7, "resumed", "")


def test_the_stages_of_a_run_without_the_wait_for_its_turn() -> None:
    assert stage_seconds(events(*RUN)) == {"search": 2, "judge": 1, "write": 3, "verify": 0.25}


@pytest.mark.parametrize(
    "run", [RUN[:-1], (*RUN[:3], WAITS, *RUN[3:]), (*RUN[:3], RESUMED, *RUN[3:]), ((1.0, "failed", ""),), ()]
)
def test_unfinished_and_interrupted_runs_do_not_count(run: Sequence[tuple[float, str, str]]) -> None:
    assert stage_seconds(events(*run)) == {}


def stored(folder: Path) -> Path:
    """A data folder with one finished run and one that failed."""
    runs = RunStore(Database(folder / "steelman.db"))
    for run_id, status in (("a", "done"), ("b", "failed")):
        runs.create(run_id, run_id, "Should it?", {}, "me")
        for _, kind, name in RUN[:-1]:
            runs.add_event(run_id, "me", kind, {"stage": name} if name else {})
        runs.finish(run_id, "me", status, {})  # type: ignore[arg-type]
    return folder


def test_stored_runs_feed_the_simulation(run_suite: Suite, tmp_path: Path) -> None:
    folder = stored(tmp_path)
    found = json.loads(run_suite("scale", "--from-runs", folder, "--json")[1])
    assert {name: len(values) for name, values in found["seconds"].items()} == dict.fromkeys(found["seconds"], 1)
    assert found["stages"]["all"]["mean"] == pytest.approx(sum(v[0] for v in found["seconds"].values()))
    again = json.loads(run_suite("scale", "--from-runs", folder, "--simulate", "--hours", 1, "--json")[1])
    assert again["seconds"] == found["seconds"]
    assert again["workers"]["1"]["answer_seconds"]["p50"] >= found["stages"]["all"]["mean"] * 0.99


# The command


def rows(run_suite: Suite, *arguments: object) -> dict[str, dict[str, dict[str, float]]]:
    found: dict[str, dict[str, dict[str, float]]] = json.loads(
        run_suite("scale", "--simulate", "--hours", 1, "--json", *arguments)[1]
    )["workers"]
    return found


def test_more_workers_shorten_the_wait_and_a_seed_repeats_it(run_suite: Suite) -> None:
    busy = "--per-hour", 4000, "--workers", "2,1,4"
    found = rows(run_suite, *busy)
    waits = [row["waiting_seconds"]["p95"] for row in found.values()]
    assert list(found) == ["1", "2", "4"]
    assert waits == sorted(waits, reverse=True)
    assert found["1"]["used"]["processors"] > 0.99
    assert found == rows(run_suite, *busy) != rows(run_suite, *busy, "--seed", 2)


def test_a_chat_model_takes_slots_instead_of_the_judge(run_suite: Suite) -> None:
    given = "--per-hour", 60, "--workers", 1, "--call", "3:0"
    row = rows(run_suite, *given, "--chat-share", 1, "--calls", "1,2", "--slots", 8)["1"]
    assert row["answer_seconds"]["p50"] == pytest.approx(6.9, rel=0.03)  # 0.07 + 0.83 + 3 + 3, medians
    assert row["used"]["model"] > 0


def test_the_table_shows_a_queue_that_the_server_would_refuse(run_suite: Suite) -> None:
    shown = run_suite("scale", "--simulate", "--per-hour", 6000, "--hours", 1, "--workers", "1,8")[1]
    assert "With 1 workers the server would refuse questions (429)" in shown
    assert len(shown.splitlines()) == 6


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((), "give --simulate, or --from-runs"),
        (("--from-runs", "."), "is no data folder"),
        (("--simulate", "--chat-share", "2"), "from 0 to 1"),
        (("--simulate", "--per-hour", "0.001", "--hours", "0.001"), "no question arrived"),
    ],
)
def test_what_cannot_be_simulated_is_named(run_suite: Suite, arguments: tuple[str, ...], told: str) -> None:
    status, _, said = run_suite("scale", *arguments)
    assert status
    assert told in said


@pytest.mark.parametrize(
    ("option", "given", "told"),
    [("--call", "0", "above 0"), ("--call", "1:x", "such as 1.2:0.4"), ("--slots", "0", "from 1")],
)
def test_a_number_that_cannot_be_used_is_named(
    run_suite: Suite, capsys: pytest.CaptureFixture[str], option: str, given: str, told: str
) -> None:
    with pytest.raises(SystemExit):
        run_suite("scale", "--simulate", option, given)
    assert told in capsys.readouterr().err
