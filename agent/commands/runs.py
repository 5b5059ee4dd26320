"""`runs`: the last runs, newest first; and the deletion of one."""

import argparse
import asyncio
import contextlib
import sys

from agent.__main__ import OK
from agent.answer.words import plain
from agent.runs.failure import resume_command
from agent.runs.service import delete_runs
from agent.runs.store import RunStore
from agent.settings import Settings, load_settings
from tools.errors import InputError
from tools.store.database import Database


def run(args: argparse.Namespace) -> int:
    """A line a run: id, when, how it ended, question. With --delete one run goes, with all that it read on the web."""
    if args.limit < 1:
        raise InputError(f"--limit has to be 1 or more, not {args.limit}.")
    settings = load_settings()
    with contextlib.closing(Database(settings.database_path)) as database:
        runs = RunStore(database)
        if args.delete:
            row = runs.get(args.delete)
            asyncio.run(_delete(settings, runs, row.id))
            print(f"Run {row.id} is deleted, with its answer and the pages that it read.")
            return OK
        shown = runs.latest(args.limit)
        for row in shown:
            print(f"{row.id}  {row.created_at[:16].replace('T', ' ')}  {row.state:<11}  {plain(row.question)}")
        if stopped := [row.id for row in shown if row.abandoned]:
            print(f"Go on with an interrupted run: {resume_command(stopped[0])}", file=sys.stderr)
    return OK


async def _delete(settings: Settings, runs: RunStore, run_id: str) -> None:
    from agent.runs.checkpoints import open_checkpointer

    async with open_checkpointer(settings) as saver:
        await delete_runs([run_id], runs, saver)
