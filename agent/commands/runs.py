"""`runs`: the last runs, newest first; and the deletion of one."""

import argparse
import asyncio

from agent.__main__ import OK
from agent.rendering.words import plain
from agent.run_store import RunStore
from agent.settings import Settings, load_settings
from tools.errors import InputError
from tools.store.database import Database


def run(args: argparse.Namespace) -> int:
    """A line a run: id, when, how it ended, question. With --delete one run goes, with all that it read on the web."""
    if args.limit < 1:
        raise InputError(f"--limit has to be 1 or more, not {args.limit}.")
    settings = load_settings()
    runs = RunStore(Database(settings.database_path))
    if args.delete:
        row = runs.get(args.delete)
        if row.status == "running" and not row.abandoned:
            raise InputError(f"run {row.id} is still at work. Stop it first.")
        asyncio.run(_forget(settings, row.id))
        runs.delete(row.id)
        print(f"Run {row.id} is deleted, with its answer and the pages that it read.")
        return OK
    for row in runs.latest(args.limit):
        print(f"{row.id}  {row.created_at[:16].replace('T', ' ')}  {row.status:<9}  {plain(row.question)}")
    return OK


async def _forget(settings: Settings, run_id: str) -> None:
    """The graph's checkpoints hold the question too."""
    from agent.checkpoints import open_checkpointer

    async with open_checkpointer(settings) as saver:
        await saver.adelete_thread(run_id)
