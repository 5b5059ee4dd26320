"""What the commands share: the door, opened with the samples indexed, and options from arguments."""

import argparse
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from agent.options import RunOptions
from agent.runs import Runs
from agent.samples import index_samples
from agent.settings import load_settings
from tools.ingest import Ingester, IngestReport
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
    known = {c.name for c in runs.store.collections()}
    default = [SAMPLES, OWN] if OWN in known else [SAMPLES]
    return RunOptions.of(args.depth, collections=tuple(args.collection or default), web=not args.no_web)


def _ensure_samples(runs: Runs) -> None:
    ingester = Ingester(runs.store, runs.providers.search, runs.providers.models.encoder)
    first = SAMPLES not in {c.name for c in runs.store.collections()}
    if first and sys.stderr.isatty():
        print("Indexing the sample passages (once) …", file=sys.stderr)
    index_samples(ingester, _quiet)


def _quiet(_: IngestReport) -> None:
    return None
