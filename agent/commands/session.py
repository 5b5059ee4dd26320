"""What the commands share: the door, opened with the samples indexed, and options from arguments."""

import argparse
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from agent.options import RunOptions
from agent.runs import Runs
from agent.samples import index_samples
from agent.settings import load_settings
from tools.ingest import Ingester
from tools.store import SAMPLES

OWN = "mine"
"""The collection that `ingest` fills by default, and that is searched beside the samples."""


@asynccontextmanager
async def open_runs() -> AsyncIterator[Runs]:
    """The door, with the samples indexed."""
    import asyncio

    async with Runs(load_settings()) as runs:
        await asyncio.to_thread(_ensure_samples, runs)
        yield runs


def options_of(args: argparse.Namespace, runs: Runs) -> RunOptions:
    """The run's options from the command line."""
    default = [SAMPLES, OWN] if runs.store.has_collection(OWN) else [SAMPLES]
    return RunOptions.of(args.depth, collections=tuple(args.collection or default), web=not args.no_web)


def _ensure_samples(runs: Runs) -> None:
    encoder = runs.providers.models.encoder
    if sys.stderr.isatty() and not runs.store.has_collection(SAMPLES):
        print("Indexing the sample passages (once) …", file=sys.stderr)
    index_samples(runs.store, Ingester(runs.store, runs.providers.search, encoder), encoder.name)
