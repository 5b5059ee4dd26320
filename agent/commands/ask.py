"""The commands that answer questions: `ask`, `chat`, and `batch` for a file of questions."""

import argparse
import asyncio
import json
import shutil
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TextIO

from agent.__main__ import DEGRADED, FAILED, NOTHING_FOUND, OK
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
from tools.budget import run_within
from tools.documents.document import read_decoded
from tools.errors import GreetingError, InputError, RunAbandonedError, RunCancelledError, RunError, SteelmanError
from tools.models.chat.reply import read_json
from tools.store.database import database_errors
from tools.translation import tr, translated
from tools.web.addresses import host_of


def options_from_args(args: argparse.Namespace, runs: Runs, depth: Depth | None = None) -> RunOptions:
    """Returns the run's options. depth: replaces the depth of the command line."""
    changes: dict[str, Any] = {"web": not args.no_web, "domains": _domains(args)}
    if args.sources:
        changes["sources"] = tuple(dict.fromkeys(kind for given in args.sources for kind in split_list(given)))
    if args.url and (args.no_web or args.only or args.sources or args.collection):
        raise InputError(tr("--url reads only that page: leave out --no-web, --only, --sources and --collection."))
    if args.since:
        changes["since"] = args.since
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


def terminal_progress() -> Callable[[RunEvent], None]:
    """Returns a function that shows one line per stage with its last event and the run's seconds."""
    progress, began = RunProgress(), time.monotonic()

    def show(event: RunEvent) -> None:
        if step := progress.step(event):
            line = "\n" if event.kind == "stage" else ""
            shown = shortened(step[1], 78)
            sys.stderr.write(f"{line}\r\x1b[2K  {shown:<78} {time.monotonic() - began:5.1f} s")
        if event.kind in ("done", "failed", "cancelled", "waiting"):
            sys.stderr.write("\n")
        sys.stderr.flush()

    return show if sys.stderr.isatty() else lambda _: None


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
    try:
        return await runs.answer(run_id, terminal_progress())
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
            print(f"steelman: {strip_control_characters(translated(str(exc)))}", file=sys.stderr)


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


def batch(args: argparse.Namespace) -> int:
    """Answers the open questions of a file, a line each. Returns 1 if one failed, 4 if a provider was replaced."""
    if args.parallel < 1:
        raise InputError(f"--parallel has to be 1 or more, not {args.parallel}.")
    questions = _read_questions(Path(args.questions))
    if not Path(args.out).absolute().parent.is_dir():
        raise InputError(f"there is no folder '{Path(args.out).parent}' to write the answers into. Make it first.")
    done = _read_done(Path(args.out))
    waiting = [q for q in questions if q not in done]
    return asyncio.run(_batch(args, waiting, len(questions) - len(waiting)))


async def _batch(args: argparse.Namespace, waiting: list[str], already: int) -> int:
    from tqdm import tqdm

    path, total = Path(args.out), len(waiting) + already
    async with open_runs(load_settings(), offline=args.no_web) as runs:
        options, statuses = options_from_args(args, runs), list[int]()
        with (
            database_errors(path),
            path.open("a", encoding="utf-8", errors="backslashreplace") as out,
            tqdm(total=total, initial=already, unit="question", disable=not sys.stderr.isatty()) as bar,
        ):

            async def one(question: str) -> None:
                statuses.append(await _answer_line(runs, question, options, out))
                bar.update()

            await run_within([partial(one, question) for question in waiting], args.parallel)
    failed, replaced = statuses.count(FAILED), statuses.count(DEGRADED)
    degraded = f" ({tr('{number} though a provider failed', number=replaced)})" if replaced else ""
    told = {"answered": len(waiting) - failed, "degraded": degraded, "failed": failed, "already": already}
    text = tr("{answered} answered{degraded}, {failed} failed, {already} were there already: {file}")
    print(text.format(**told, file=args.out), file=sys.stderr)
    return FAILED if failed else DEGRADED if replaced else OK


async def _answer_line(runs: Runs, question: str, options: RunOptions, out: TextIO) -> int:
    try:
        answer = await runs.answer(await runs.start(question, options))
        line, status = answer.model_dump_json(), exit_status(answer)
    except SteelmanError as exc:
        line, status = json.dumps({"question": question, "error": str(exc)}, ensure_ascii=False), FAILED
    out.write(line + "\n")
    out.flush()
    return status


def _read_questions(path: Path) -> list[str]:
    try:
        lines = read_decoded(path, str(path)).text.split("\n")
    except OSError as exc:
        raise InputError(f"'{path}' cannot be read ({exc.strerror}).") from exc
    questions = [_question(line, f"{path}, line {n}") for n, line in enumerate(lines, start=1) if line.strip()]
    if not questions:
        raise InputError(f'\'{path}\' holds no question. A line is an object: {{"question": "…"}}.')
    return list(dict.fromkeys(questions))


def _question(line: str, where: str) -> str:
    row = _object(line)
    question = row.get("question") if row else None
    if not isinstance(question, str):
        raise InputError(f'{where}: no question. A line is an object: {{"question": "…"}}.')
    return " ".join(question.split())  # as in the answer


def _read_done(path: Path) -> set[str]:
    """Returns the answered questions. Failures and a truncated last line are asked again.

    Raises InputError if the file has other content than answers, because rewriting the file would delete that content.
    """
    if not path.exists():
        return set()
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
    except OSError as exc:
        raise InputError(f"'{path}' cannot be read ({exc.strerror}).") from exc
    rows = [_object(line) for line in lines if line.strip()]
    if rows and rows[-1] is None:
        rows.pop()
    if not all(row and "question" in row and ("schema_version" in row or "error" in row) for row in rows):
        raise InputError(f"'{path}' does not hold answers alone. Give --out a file of its own.")
    answered = [row for row in rows if row and "schema_version" in row]
    scratch = path.with_suffix(path.suffix + ".part")
    scratch.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in answered), encoding="utf-8")
    scratch.replace(path)
    return {row["question"] for row in answered}


def _object(line: str) -> dict[str, Any] | None:
    row = read_json(line)
    return row if isinstance(row, dict) else None
