"""`chat`: questions and follow-ups, line by line."""

import argparse
import asyncio
import sys

from agent.__main__ import OK
from agent.answer.words import plain
from agent.commands.ask import follow, options_of, print_answer, settings_of
from agent.options import RunOptions
from agent.runs.service import Runs, open_runs
from tools.errors import SteelmanError

_HELLO = "Ask a contentious question; follow up with 'what about the cost?'. 'new' begins another subject, Ctrl-D ends."


def run(args: argparse.Namespace) -> int:
    """Reads questions from standard input until it ends."""
    terminal = sys.stdin.isatty()
    if terminal:
        print(_HELLO)
    # The event loop rests while a line is read, so that Ctrl-C at the prompt ends the chat at once.
    with asyncio.Runner() as runner:
        opening = open_runs(settings_of(args), offline=args.no_web)
        runs = runner.run(opening.__aenter__())
        try:
            _converse(runner, runs, options_of(args, runs), terminal)
        finally:
            runner.run(opening.__aexit__(None, None, None))
    return OK


def _converse(runner: asyncio.Runner, runs: Runs, options: RunOptions, terminal: bool) -> None:
    thread: str | None = None
    while line := _read(terminal):
        question = line.strip()
        if question in ("", "new"):
            thread = None if question == "new" else thread
            continue
        try:
            thread = runner.run(_reply(runs, question, options, thread))
        except SteelmanError as exc:
            print(f"steelman: {plain(str(exc))}", file=sys.stderr)


async def _reply(runs: Runs, question: str, options: RunOptions, thread: str | None) -> str:
    """Prints the answer; returns the id of the thread for what follows."""
    run_id = await runs.start(question, options, thread)
    print_answer(await follow(runs, run_id), as_json=False)
    return thread or run_id


def _read(terminal: bool) -> str:
    if terminal:
        print("\n> ", end="", flush=True)
    return sys.stdin.readline()
