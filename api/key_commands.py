"""`python -m api keys`: make, list, revoke."""

import argparse
import contextlib
import sys

from agent.settings import Settings
from api.keys import Keys
from tools.store.database import Database


def run(args: argparse.Namespace, settings: Settings) -> int:
    """Carries out one of the commands; returns the exit status."""
    with contextlib.closing(Database(settings.database_path)) as database:
        keys = Keys(database)
        if args.action == "make":
            _make(keys, args.name)
        elif args.action == "revoke":
            key = keys.revoke(args.key)
            print(f"Revoked key {key.id} ({key.name}). A running server refuses it within two seconds.")
        else:
            _list(keys)
    return 0


def _make(keys: Keys, name: str) -> None:
    key, text = keys.make(name)
    print(text)  # alone on standard output, so that KEY=$(python -m api keys make NAME) takes it
    print(
        f"This is key {key.id} ({key.name}). It is shown this once: keep it. From now on every call needs a key:\n"
        "Authorization: Bearer sk-steelman-…",
        file=sys.stderr,
    )


def _list(keys: Keys) -> None:
    known = keys.all()
    if not known:
        print("No key was ever made: whoever reaches the server may use it. `python -m api keys make NAME` makes one.")
        return
    width = max(len("NAME"), *(len(k.name) for k in known))
    print(f"{'ID':8}  {'NAME':{width}}  {'MADE':25}  REVOKED")
    for k in known:
        print(f"{k.id:8}  {k.name:{width}}  {k.created_at:25}  {k.revoked_at or ''}".rstrip())
