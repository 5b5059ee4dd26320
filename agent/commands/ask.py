"""`ask`: one question, one answer."""

import argparse
import asyncio
import json
import shutil
import sys
from pathlib import Path

from agent.__main__ import DEGRADED, NOTHING_FOUND, OK
from agent.answer.model import Answer
from agent.answer.render.files import check_ending, write_answer
from agent.answer.render.terminal import to_terminal
from agent.answer.summary import all_looked_into
from agent.commands.arguments import options_of, settings_of
from agent.commands.progress import TerminalProgress
from agent.runs.failure import RunCrashedError, resume_command
from agent.runs.open import open_runs
from agent.runs.service import Runs
from tools.errors import InputError, RunAbandonedError, RunCancelledError, RunError, SteelmanError


def run(args: argparse.Namespace) -> int:
    """Prints the answer; exit status 3 when nothing was found, 4 when a provider had to be replaced, and when nothing
    was found of which not all could be searched, read or judged."""
    if bool(args.question) == bool(args.resume) and not (args.question == "" and not args.resume):
        raise InputError(
            "give a question in quotation marks, or --resume RUN_ID."
            if not args.resume
            else "give a question or --resume, not both."
        )
    if args.out:
        check_ending(Path(args.out))
    return asyncio.run(_ask(args))


async def _ask(args: argparse.Namespace) -> int:
    async with open_runs(settings_of(args), offline=args.no_web) as runs:
        run_id = await (runs.resume(args.resume) if args.resume else runs.start(args.question, options_of(args, runs)))
        answer = await follow(runs, run_id)
    print_answer(answer, as_json=args.json, explain=args.explain)
    if args.out:
        write_answer(answer, Path(args.out), explain=args.explain)
        if not args.json:
            print(f"Written to {args.out}")
    return exit_status(answer)


def exit_status(answer: Answer) -> int:
    """What the answer amounts to for a script."""
    if answer.outcome == "nothing_found" or (answer.outcome == "no_sides" and not answer.plain):
        return NOTHING_FOUND if all_looked_into(note.kind for note in answer.notes) else DEGRADED
    return DEGRADED if any(note.kind == "degraded" for note in answer.notes) else OK


async def follow(runs: Runs, run_id: str) -> Answer:
    """The run's answer, with its progress shown; Ctrl-C leaves the run resumable and says how."""
    progress = TerminalProgress()
    try:
        async for event in runs.events(run_id):
            progress.show(event)
        return await runs.answer(run_id)
    except (RunCancelledError, RunAbandonedError, RunCrashedError):  # their hint is how to go on
        raise
    except SteelmanError as exc:
        raise RunError(str(exc), hint=f"Then go on: {resume_command(run_id)}") from exc
    except asyncio.CancelledError:
        await runs.cancel(run_id)
        print(f"\nGo on with: {resume_command(run_id)}", file=sys.stderr)
        raise


def _json_for(answer: Answer, encoding: str) -> str:
    text = answer.model_dump_json(indent=2)
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return json.dumps(json.loads(text), indent=2)  # nothing but ASCII
    return text


def print_answer(answer: Answer, *, as_json: bool, explain: bool = False) -> None:
    """The answer on standard output: JSON, or text for a terminal; `explain`: with why each passage was chosen, and all
    that the notes tell."""
    if as_json:
        print(_json_for(answer, sys.stdout.encoding or "utf-8"), flush=True)
        return
    width = shutil.get_terminal_size((88, 24)).columns
    print(to_terminal(answer, width, bold=sys.stdout.isatty(), explain=explain), end="", flush=True)
