"""`batch`: many questions from a file, several at once; a second call goes on where the first one stopped."""

import argparse
import asyncio
import json
import sys
from pathlib import Path
from typing import Any, TextIO

from agent.__main__ import FAILED, OK
from agent.commands.session import open_runs, options_of
from agent.options import RunOptions
from agent.runs import Runs
from tools.errors import InputError, SteelmanError


def run(args: argparse.Namespace) -> int:
    """Appends a line for each question that has none yet; exit status 1 when any of them failed."""
    if args.parallel < 1:
        raise InputError(f"--parallel has to be 1 or more, not {args.parallel}.")
    questions = _read_questions(Path(args.questions))
    done = _read_done(Path(args.out))
    waiting = [q for q in questions if q not in done]
    return asyncio.run(_batch(args, waiting, len(questions) - len(waiting)))


async def _batch(args: argparse.Namespace, waiting: list[str], already: int) -> int:
    from tqdm import tqdm

    failed = 0
    async with open_runs() as runs:
        options, turn = options_of(args, runs), asyncio.Semaphore(args.parallel)
        with (
            Path(args.out).open("a", encoding="utf-8") as out,
            tqdm(
                total=len(waiting) + already, initial=already, unit="question", disable=not sys.stderr.isatty()
            ) as bar,
        ):
            for finished in asyncio.as_completed([_one(runs, q, options, turn, out) for q in waiting]):
                failed += not await finished
                bar.update()
    print(
        f"{len(waiting) - failed} answered, {failed} failed, {already} were there already: {args.out}", file=sys.stderr
    )
    return FAILED if failed else OK


async def _one(runs: Runs, question: str, options: RunOptions, turn: asyncio.Semaphore, out: TextIO) -> bool:
    async with turn:
        try:
            line, answered = (await runs.answer(await runs.start(question, options))).model_dump_json(), True
        except SteelmanError as exc:
            line, answered = json.dumps({"question": question, "error": str(exc)}, ensure_ascii=False), False
    out.write(line + "\n")
    out.flush()
    return answered


def _read_questions(path: Path) -> list[str]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as exc:
        raise InputError(f"'{path}' cannot be read ({exc.strerror}).") from exc
    except UnicodeDecodeError as exc:
        raise InputError(f"'{path}' is not UTF-8 text.") from exc
    questions = [_question(line, f"{path}, line {n}") for n, line in enumerate(lines, start=1) if line.strip()]
    if not questions:
        raise InputError(f'\'{path}\' holds no question. A line is an object: {{"question": "…"}}.')
    return list(dict.fromkeys(questions))


def _question(line: str, where: str) -> str:
    row = _object(line)
    question = row.get("question") if row else None
    if not isinstance(question, str):
        raise InputError(f'{where}: no question. A line is an object: {{"question": "…"}}.')
    return question


def _read_done(path: Path) -> set[str]:
    """The questions that have an answer; a line cut short by a kill and lines of failures are asked again."""
    if not path.exists():
        return set()
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    rows = [row for line in lines if (row := _object(line)) is not None]
    kept = [row for row in rows if "schema_version" in row]
    if len(kept) != len(lines):
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in kept)
        scratch = path.with_suffix(path.suffix + ".part")
        scratch.write_text(text, encoding="utf-8")
        scratch.replace(path)
    return {row["question"] for row in kept}


def _object(line: str) -> dict[str, Any] | None:
    try:
        row = json.loads(line)
    except json.JSONDecodeError:
        return None
    return row if isinstance(row, dict) else None
