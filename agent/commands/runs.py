"""`runs`: the last runs, newest first."""

import argparse

from agent.__main__ import OK
from agent.run_store import RunStore
from agent.settings import load_settings
from tools.database import Database


def run(args: argparse.Namespace) -> int:
    """A line a run: id, when, how it ended, question."""
    for row in RunStore(Database(load_settings().database_path)).latest(args.limit):
        print(f"{row.id}  {row.created_at[:16].replace('T', ' ')}  {row.status:<9}  {row.question}")
    return OK
