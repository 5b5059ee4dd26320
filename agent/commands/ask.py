"""`ask` and `chat`, and functions that `batch` shares with them."""

import argparse
import asyncio
import shutil
import sys
import time
from pathlib import Path
from typing import Any

from agent.__main__ import DEGRADED, NOTHING_FOUND, OK
from agent.answer.files import check_ending, write_answer
from agent.answer.followups import HELP, CommandReply, CommandSearch, run_slash_command
from agent.answer.model import Answer
from agent.answer.outline import to_terminal
from agent.answer.summary import search_completed
from agent.answer.wording import shortened, strip_control_characters
from agent.options import Depth, RunOptions
from agent.runs.bootstrap import default_options
from agent.runs.executor import RunCrashedError, resume_command
from agent.runs.progress import RunProgress
from agent.runs.service import Runs, open_runs
from agent.runs.store import RunEvent
from agent.settings import load_settings, split_list
from tools.errors import GreetingError, InputError, RunAbandonedError, RunCancelledError, RunError, SteelmanError
from tools.translation import tr
from tools.web.addresses import host_of


def options_from_args(args: argparse.Namespace, runs: Runs, depth: Depth | None = None) -> RunOptions:
    """Returns the run's options. depth: replaces the depth of the command line."""
    changes: dict[str, Any] = {"web": not args.no_web, "domains": _domains(args)}
    if args.sources:
        changes["sources"] = tuple(dict.fromkeys(kind for given in args.sources for kind in split_list(given)))
    if args.url and (args.no_web or args.only or args.sources or args.collection):
        raise InputError(tr("--url reads only that page: leave out --no-web, --only, --sources and --collection."))
    if args.url:
        changes["urls"] = tuple(dict.fromkeys(args.url))
    if args.collection:
        changes["collections"] = tuple(args.collection)
    if args.deadline is not None:
        changes["deadline_seconds"] = args.deadline
    return default_options(runs, depth or args.depth, **changes)


def _domains(args: argparse.Namespace) -> tuple[str, ...]:
    """Returns the domains that `--only` names directly or by a web address. Raises InputError for anything else."""
    if args.only and args.no_web:
        raise InputError(tr("--only says where to search the web, and --no-web not to. Leave one out."))
    hosts = [host_of(given if "//" in given else f"https://{given}") for given in args.only or ()]
    if wrong := [given for given, host in zip(args.only or (), hosts, strict=True) if "." not in host or " " in given]:
        raise InputError(tr("'{domain}' is no domain. One looks like gov.uk or example.org.", domain=wrong[0]))
    return tuple(dict.fromkeys(hosts))


class TerminalProgress:
    """Shows one line per stage with its last event and the run's seconds."""

    def __init__(self) -> None:
        self._progress = RunProgress() if sys.stderr.isatty() else None
        self._began = time.monotonic()

    def show(self, event: RunEvent) -> None:
        if self._progress is None:
            return
        if step := self._progress.step(event):
            line = "\n" if event.kind == "stage" else ""
            shown = shortened(step[1], 78)
            sys.stderr.write(f"{line}\r\x1b[2K  {shown:<78} {time.monotonic() - self._began:5.1f} s")
        if event.kind in ("done", "failed", "cancelled", "waiting"):
            sys.stderr.write("\n")
        sys.stderr.flush()


def ask(args: argparse.Namespace) -> int:
    """Prints the answer. Returns 4 if an embedded provider replaced a failed one, or if an incomplete search found
    nothing for any side. Otherwise returns 3 if nothing was found."""
    if (args.question is None) == (args.resume is None):
        raise InputError(tr("give a question in quotation marks, or --resume RUN_ID."))
    if args.out:
        check_ending(Path(args.out))
    return asyncio.run(_ask(args))


async def _ask(args: argparse.Namespace) -> int:
    async with open_runs(load_settings(), offline=args.no_web) as runs:
        run_id = await (
            runs.resume(args.resume) if args.resume else runs.start(args.question, options_from_args(args, runs))
        )
        answer, asked = await follow_run(runs, run_id), (await runs.run(run_id)).created_at
    print_answer(answer, as_json=args.json, explain=args.explain)
    if args.out:
        write_answer(answer, Path(args.out), explain=args.explain, asked=asked)
        if not args.json:
            print(tr("Written to {file}", file=args.out))
    return exit_status(answer)


def exit_status(answer: Answer) -> int:
    """Returns the exit status of an answer."""
    kinds = {note.kind for note in answer.notes}
    if "degraded" in kinds or (answer.outcome in ("nothing_found", "no_sides") and not search_completed(kinds)):
        return DEGRADED
    return NOTHING_FOUND if answer.outcome == "nothing_found" else OK


async def follow_run(runs: Runs, run_id: str) -> Answer:
    """Shows progress and returns the answer. Ctrl-C leaves the run resumable and prints the command."""
    progress = TerminalProgress()
    try:
        return await runs.answer(run_id, progress.show)
    except (RunCancelledError, RunAbandonedError, RunCrashedError):  # their hint says how to continue
        raise
    except SteelmanError as exc:
        raise RunError(str(exc), hint=tr("Then go on: {command}", command=resume_command(run_id))) from exc
    except asyncio.CancelledError:
        await runs.cancel(run_id)
        print("\n" + tr("Go on with: {command}", command=resume_command(run_id)), file=sys.stderr)
        raise


def print_answer(answer: Answer, *, as_json: bool, explain: bool = False) -> None:
    """Prints JSON or text. explain: with documents and all notes."""
    if as_json:
        only_ascii = not (sys.stdout.encoding or "utf-8").lower().startswith("utf")
        print(answer.model_dump_json(indent=2, ensure_ascii=only_ascii), flush=True)
        return
    width = shutil.get_terminal_size((88, 24)).columns
    print(to_terminal(answer, width, bold=sys.stdout.isatty(), explain=explain), end="", flush=True)


def chat(args: argparse.Namespace) -> int:
    """Reads questions from standard input until its end."""
    terminal = sys.stdin.isatty()
    if terminal:
        print(
            tr(
                "Ask a contentious question; what you type after that is searched in the same places. /help lists the "
                "commands, 'new' begins another subject, Ctrl-D ends."
            )
        )
    # The event loop pauses at the prompt, so that Ctrl-C ends the chat at once.
    with asyncio.Runner() as runner:
        opening = open_runs(load_settings(), offline=args.no_web)
        runs = runner.run(opening.__aenter__())
        try:
            _converse(runner, runs, args, terminal)
        finally:
            runner.run(opening.__aexit__(None, None, None))
    return OK


def _converse(runner: asyncio.Runner, runs: Runs, args: argparse.Namespace, terminal: bool) -> None:
    thread: str | None = None
    while line := _read(terminal):
        question = line.strip()
        if question in ("", "new"):
            thread = None if question == "new" else thread
            continue
        try:
            thread = runner.run(_reply(runs, question, args, thread))
        except GreetingError as exc:
            print(exc)
        except SteelmanError as exc:
            print(f"steelman: {strip_control_characters(str(exc))}", file=sys.stderr)


async def _reply(runs: Runs, typed: str, args: argparse.Namespace, thread: str | None) -> str | None:
    """Prints the answer or a command's reply; returns the thread for the next question."""
    asked: CommandReply | CommandSearch = CommandSearch(typed)
    if typed.startswith("/"):
        before = await asyncio.to_thread(runs.run_store.thread_answers, thread) if thread else []
        if not before and typed != "/help":
            raise InputError(
                tr("a command needs an answer to work on. Ask a question first; /help lists the commands.")
            )
        asked = run_slash_command(typed, before[-1]) if before else CommandReply(tr(HELP))
    if isinstance(asked, CommandReply):
        print(asked.text)
        return thread
    run_id = await runs.start(asked.question, options_from_args(args, runs, asked.depth), thread)
    print_answer(await follow_run(runs, run_id), as_json=False)
    return thread or run_id


def _read(terminal: bool) -> str:
    if terminal:
        print("\n> ", end="", flush=True)
    return sys.stdin.readline()
