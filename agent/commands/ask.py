"""`ask`: one question, one answer; and what other commands share with it: arguments as options, and progress."""

import argparse
import asyncio
import shutil
import sys
import time
from pathlib import Path
from typing import Any, TextIO

from agent.__main__ import DEGRADED, NOTHING_FOUND, OK
from agent.answer.files import check_ending, write_answer
from agent.answer.model import Answer
from agent.answer.outline import to_terminal
from agent.answer.summary import all_looked_into
from agent.answer.words import plain
from agent.options import RunOptions
from agent.runs.executor import RunCrashedError, resume_command
from agent.runs.parts import usual_options
from agent.runs.service import Runs, open_runs
from agent.runs.store import Event
from agent.settings import Settings, load_settings
from tools.errors import InputError, RunAbandonedError, RunCancelledError, RunError, SteelmanError
from tools.web.hosts import host_of


def settings_of(args: argparse.Namespace) -> Settings:
    """The settings in force with what the command line changes of them."""
    return load_settings(**({"judge_prompt": args.judge_prompt} if args.judge_prompt else {}))


def options_of(args: argparse.Namespace, runs: Runs) -> RunOptions:
    """The run's options from the command line."""
    changes: dict[str, Any] = {"web": not args.no_web, "domains": _domains(args)}
    if args.collection:
        changes["collections"] = tuple(args.collection)
    if args.deadline is not None:
        changes["deadline_seconds"] = args.deadline
    if args.selection:
        changes["selection"] = args.selection
    return usual_options(runs, args.depth, **changes)


def _domains(args: argparse.Namespace) -> tuple[str, ...]:
    """The domains to search, of addresses their hosts; raises InputError for what is neither."""
    if args.only and args.no_web:
        raise InputError("--only says where to search the web, and --no-web not to. Leave one out.")
    hosts = [host_of(given if "//" in given else f"https://{given}") for given in args.only or ()]
    if wrong := [given for given, host in zip(args.only or (), hosts, strict=True) if "." not in host or " " in given]:
        raise InputError(f"'{wrong[0]}' is no domain. One looks like gov.uk or example.org.")
    return tuple(dict.fromkeys(hosts))


_STAGES = {"expand": "sides", "lookup": "look up", "verify": "check"}
"""What people read where it is not the stage's own name."""


class TerminalProgress:
    """Prints one line a stage: what it did and how long it took."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._on = self._stream.isatty()
        self._stage, self._began, self._detail = "", time.monotonic(), ""
        self._names: dict[str, str] = {}
        self._parts: dict[str, str] = {}

    def show(self, event: Event) -> None:
        """Takes in one event."""
        if not self._on:
            return
        if event.kind == "stage":
            self._begin(str(event.data["stage"]))
        elif event.kind in ("done", "failed", "cancelled", "waiting"):
            self._finish()
        else:
            self._detail = self._words(event) or self._detail
            self._draw(end="\r")

    def _begin(self, stage: str) -> None:
        if stage != self._stage:
            self._finish()
            self._stage, self._began, self._detail, self._parts = stage, time.monotonic(), "", {}

    def _finish(self) -> None:
        if self._stage:
            self._draw(end="\n")
        self._stage = ""

    def _draw(self, end: str) -> None:
        name = _STAGES.get(self._stage, self._stage)
        detail = plain(self._detail)
        detail = detail if len(detail) <= 78 else detail[:77] + "…"
        self._stream.write(f"\r\x1b[2K  {name:<9}  {detail:<78} {time.monotonic() - self._began:5.1f} s{end}")
        self._stream.flush()

    def _words(self, event: Event) -> str:
        data = event.data
        if event.kind == "framed":
            return str(data["neutral"])
        if event.kind == "sides":
            self._names = {s["id"]: s["name"] for s in data["sides"]}
            return f"{len(self._names)}: " + " · ".join(self._names.values())
        if event.kind in ("found", "judged"):
            pages = f" ({data['pages']} pages)" if data.get("pages") else ""
            self._parts[str(data["side"])] = f"{data['passages']}{pages}"
            return " · ".join(f"{self._names.get(side, side)} {count}" for side, count in self._parts.items())
        if event.kind == "reading":
            return f"{data['characters']:,} characters"
        return ""


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


def print_answer(answer: Answer, *, as_json: bool, explain: bool = False) -> None:
    """The answer on standard output: JSON, or text for a terminal; `explain`: with why each passage was chosen, and all
    that the notes tell."""
    if as_json:
        only_ascii = not (sys.stdout.encoding or "utf-8").lower().startswith("utf")
        print(answer.model_dump_json(indent=2, ensure_ascii=only_ascii), flush=True)
        return
    width = shutil.get_terminal_size((88, 24)).columns
    print(to_terminal(answer, width, bold=sys.stdout.isatty(), explain=explain), end="", flush=True)
