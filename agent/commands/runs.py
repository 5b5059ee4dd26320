"""`runs`: the last runs, newest first."""

import argparse

from agent.__main__ import OK
from agent.rendering.words import plain
from agent.run_store import RunStore
from agent.settings import load_settings
from tools.database import Database
from tools.errors import InputError


def run(args: argparse.Namespace) -> int:
    """A line a run: id, when, how it ended, question."""
    if args.limit < 1:
        raise InputError(f"--limit has to be 1 or more, not {args.limit}.")
    for row in RunStore(Database(load_settings().database_path)).latest(args.limit):
        print(f"{row.id}  {row.created_at[:16].replace('T', ' ')}  {row.status:<9}  {plain(row.question)}")
    return OK
