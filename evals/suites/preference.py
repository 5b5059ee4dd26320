"""Do people prefer the answer, or a ranked list of its run's passages? (Chen et al. 2022, the user study.)

python -m evals preference --prepare               asks the agent 30 questions, stores a ballot (the two pages) for each
make ui, then /?view=vote                          people vote there, under random names
python -m evals preference                         counts the votes

The store has ballots and votes (STEELMAN_DATA_DIR), so a stopped --prepare continues. For each criterion the suite
counts the votes for the answer, for 'the same' and for the list. The share for the answer ('the same' counts half) has
a 95 % interval clustered by voter, which is too narrow below about ten voters. The suite adds the published z and p.
"""

import argparse
import asyncio
import math
from collections.abc import Sequence
from contextlib import closing
from functools import partial
from pathlib import Path

import numpy as np

from agent.answer.ballots import CRITERIA, Ballots, Vote
from agent.answer.retrieved import search_order
from agent.runs.bootstrap import default_options
from agent.runs.service import open_runs
from agent.settings import Settings, load_settings
from evals.answering.asking import DEADLINE
from evals.datasets.rows import GOLD, read_questions
from evals.metrics.measure import ROUNDS, Ratio, figures
from evals.reports.records import Record, Records
from evals.reports.table import block, number, percent
from evals.suite import FIRST, ask_each, common_options, shuffled
from tools.errors import InputError, SteelmanError
from tools.store.database import Database

_OWN = GOLD / "preference.jsonl"
_EVEN = 0.5  # a vote for 'the same', and the mean without a preference; a vote for the answer is 1, for the list 0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--prepare", action="store_true", help="ask the agent and store the ballots")
    add(
        "--questions",
        type=Path,
        default=_OWN,
        metavar="FILE",
        help='{"question": …} a line (default: 30 of this project)',
    )
    seed = "of left and right, kept with the ballots; of the shuffle, the resamples, the intervals"
    common_options(parser, FIRST, seed, parallel="simultaneous questions")


def measure(args: argparse.Namespace) -> Record:
    """Prepares ballots or counts votes. Raises InputError, and errors of the agent or the chat model."""
    failed, settings = list[str](), load_settings()
    if args.prepare:
        questions = shuffled(read_questions(args.questions), args.limit, args.seed)
        failed = asyncio.run(prepare(questions, settings, args.seed, args.parallel))
    with closing(Database(settings.database)) as database:
        ballots = Ballots(database)
        if not (drawn := ballots.drawn_for("")):
            raise InputError(f"{settings.data_dir} has no ballots: `python -m evals preference --prepare` makes them.")
        votes = ballots.votes()
    config = {"data": settings.data_dir.name, "ballots": len(drawn), "seed": args.seed}
    config["providers"] = sorted({ballot.providers for ballot in drawn})
    return {"suite": "preference", **counted(votes, args.seed), "config": config, "failed": failed}


async def prepare(questions: Sequence[str], settings: Settings, seed: int, parallel: int) -> list[str]:
    """Asks the questions without a ballot, in the page's data folder. Returns the failed questions with reasons."""
    async with open_runs(settings) as runs:
        ballots = Ballots(runs.database)

        async def ask(question: str) -> Record:
            options = default_options(runs, deadline_seconds=runs.settings.deadline or DEADLINE)
            answer = await runs.answer(await runs.start(question, options))
            ids = search_order(await runs.state(answer.run_id))
            found = await asyncio.to_thread(runs.providers.passages, ids)
            await runs.delete(answer.run_id)  # the page's history would show voters the answer
            if not answer.citations:
                raise InputError("the answer has no citation to compare.")
            await asyncio.to_thread(ballots.add, question, answer, [found[i] for i in ids if i in found], seed)
            return {}

        there = {ballot.question for ballot in ballots.drawn_for("")}
        asked = {question: partial(ask, question) for question in questions if question not in there}
        done = await ask_each(asked, Records(None, "preference", {}), parallel, "question", SteelmanError)
    return [f"{question}: {record['failed']}" for question, record in done.items() if "failed" in record]


def counted(votes: Sequence[Vote], seed: int) -> Record:
    """Returns the figures of the votes. Incomplete votes are counted, but do not change the figures."""
    whole = [vote for vote in votes if vote.complete]
    told: Record = figures({c: Ratio.of((v.voter, v.for_answer(c), 1) for v in whole) for c in CRITERIA}, seed)
    if (voters := len({vote.voter for vote in whole})) < 2:  # one voter has no interval
        told["intervals"] = dict.fromkeys(CRITERIA, (math.nan, math.nan))
    values = {c: [vote.for_answer(c) for vote in whole] for c in CRITERIA}
    worth = {"answer": 1.0, "same": _EVEN, "list": 0.0}
    told["said"] = {c: {name: v.count(of) for name, of in worth.items()} for c, v in values.items()}
    told["z"] = {c: published_z(v, seed) for c, v in values.items()}
    told["left"] = sum(vote.choices["preference"] == "left" for vote in whole)
    told["reasons"] = [{"ballot": v.ballot, "voter": v.voter, "reason": v.reason} for v in whole if v.reason]
    return told | {"voters": voters, "votes": len(whole), "unfinished": len(votes) - len(whole)}


def published_z(votes: Sequence[float], seed: int = 1) -> tuple[float, float]:
    """Returns (z, p) of Chen et al. 2022, appendix A: z = (mean − 0.5) / (sd / √n). The mean and the standard deviation
    are averages over 1,000 resamples. p is one-sided. NaN if all votes are equal. z assumes independent votes; the
    intervals by voter do not."""
    if len(set(votes)) < 2:
        return math.nan, math.nan
    n = len(votes)
    drawn = np.random.default_rng(seed).choice(np.asarray(votes, float), (ROUNDS, n))
    z = float((drawn.mean() - _EVEN) / (drawn.std(axis=1, ddof=1).mean() / math.sqrt(n)))
    return z, 0.5 * math.erfc(z / math.sqrt(2))


def table(result: Record) -> list[str]:
    """Returns the counts and a row for each criterion."""
    lines = [f"{result['config']['ballots']} ballots; answers by {'; '.join(result['config']['providers'])}"]
    lines += ["", f"{result['votes']} votes of {result['voters']} people, {result['unfinished']} unfinished"]
    rows = {}
    for criterion, said in result["said"].items():
        (z, p), share = result["z"][criterion], percent(result["metrics"][criterion], result["intervals"][criterion])
        rows[criterion] = [*map(str, said.values()), share, number(z, digits=2), number(p, digits=4)]
    if result["votes"]:
        titles = ["answer", "same", "list", "% for the answer, 95 % by voter", "published z", "p"]
        left, reasons = result["left"], len(result["reasons"])
        lines += [*block(titles, rows), f"left preferred {left} times; {reasons} reasons (--json)"]
    return lines
