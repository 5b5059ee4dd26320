"""`chat`: questions and follow-ups, line by line."""

import argparse
import asyncio
import sys

from agent.__main__ import OK
from agent.commands.ask import follow, print_answer
from agent.commands.session import open_runs, options_of
from tools.errors import SteelmanError

_HELLO = "Ask a contentious question; follow up with 'what about the cost?'. 'new' begins another subject, Ctrl-D ends."


def run(args: argparse.Namespace) -> int:
    """Reads questions from standard input until it ends."""
    return asyncio.run(_chat(args))


async def _chat(args: argparse.Namespace) -> int:
    terminal = sys.stdin.isatty()
    if terminal:
        print(_HELLO)
    thread: str | None = None
    async with open_runs() as runs:
        options = options_of(args, runs)
        while line := await asyncio.to_thread(_read, terminal):
            question = line.strip()
            if question in ("", "new"):
                thread = None if question == "new" else thread
                continue
            try:
                run_id = await runs.start(question, options, thread)
                print_answer(await follow(runs, run_id), as_json=False)
                thread = thread or run_id
            except SteelmanError as exc:
                print(f"steelman: {exc}", file=sys.stderr)
    return OK


def _read(terminal: bool) -> str:
    if terminal:
        print("\n> ", end="", flush=True)
    return sys.stdin.readline()
