"""`batch`: answers the questions of a file in parallel; a second call asks the questions that have no answer yet."""

import argparse
import asyncio
import json
import sys
from functools import partial
from pathlib import Path
from typing import Any, TextIO

from agent.__main__ import DEGRADED, FAILED, OK
from agent.commands.ask import exit_status, options_from_args
from agent.options import RunOptions
from agent.runs.service import Runs, open_runs
from agent.settings import load_settings
from tools.budget import run_within
from tools.documents.document import read_decoded
from tools.errors import InputError, SteelmanError
from tools.models.chat.reply import read_json
from tools.store.database import database_errors
from tools.translation import tr


def batch(args: argparse.Namespace) -> int:
    """Asks each question that has no answer yet, and appends each answer as a line. Returns 1 if
    a question failed, 4 if a provider was replaced."""
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

            async def ask(question: str) -> None:
                statuses.append(await _one(runs, question, options, out))
                bar.update()

            await run_within([partial(ask, question) for question in waiting], args.parallel)
    failed, replaced = statuses.count(FAILED), statuses.count(DEGRADED)
    degraded = f" ({tr('{number} though a provider failed', number=replaced)})" if replaced else ""
    told = {"answered": len(waiting) - failed, "degraded": degraded, "failed": failed, "already": already}
    text = tr("{answered} answered{degraded}, {failed} failed, {already} were there already: {file}")
    print(text.format(**told, file=args.out), file=sys.stderr)
    return FAILED if failed else DEGRADED if replaced else OK


async def _one(runs: Runs, question: str, options: RunOptions, out: TextIO) -> int:
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
