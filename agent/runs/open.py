"""What the commands share: the door, opened with the samples indexed, and options from arguments."""

import argparse
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Protocol

from agent.options import Depth, RunOptions
from agent.runs.service import Runs
from agent.runs.warming import warm_up
from agent.samples import index_samples
from agent.seams import Providers
from agent.settings import Settings, load_settings
from tools.errors import InputError
from tools.ingest.ingest import Ingester
from tools.store.store import SAMPLES, Store
from tools.web.hosts import host_of

REMOTE_PATIENCE = 2.0
"""How much longer than the embedded providers servers may take, where nobody named a deadline."""
OWN = "mine"
"""The collection that `ingest` fills by default, and that is searched beside the samples."""


@asynccontextmanager
async def open_runs(
    settings: Settings | None = None,
    *,
    offline: bool = False,
    at_once: int | None = None,
    warm: bool = False,
    build: Callable[[Settings, Store], Providers] | None = None,
) -> AsyncIterator[Runs]:
    """The door, with the samples indexed; `offline`: nothing leaves this machine then.

    `warm`: what the first question would wait for is loaded too. `at_once`, `build`: see Runs.
    """
    import asyncio

    given = {"build": build} if build else {}
    async with Runs(settings or load_settings(), at_once=at_once, **given) as runs:
        if offline:
            runs.providers.check_offline()
        await asyncio.to_thread(_ensure_samples, runs)
        if warm:
            await warm_up(runs.providers)
        yield runs


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


class Opened(Protocol):
    """What the usual options depend on: of the door, or of a graph that is served without it."""

    @property
    def settings(self) -> Settings: ...
    @property
    def store(self) -> Store: ...
    @property
    def providers(self) -> Providers: ...


def usual_options(opened: Opened, depth: Depth = "normal", **changes: Any) -> RunOptions:
    """The options of a depth with some of them changed: the samples and one's own collection, and time for servers."""
    usual: dict[str, Any] = {"collections": (SAMPLES, OWN) if opened.store.has_collection(OWN) else (SAMPLES,)}
    if opened.settings.deadline:
        usual["deadline_seconds"] = opened.settings.deadline
    elif opened.providers.remotes:
        usual["deadline_seconds"] = REMOTE_PATIENCE * RunOptions.of(depth).deadline_seconds
    return RunOptions.of(depth, **usual | changes)


def _domains(args: argparse.Namespace) -> tuple[str, ...]:
    """The domains to search, of addresses their hosts; raises InputError for what is neither."""
    if args.only and args.no_web:
        raise InputError("--only says where to search the web, and --no-web not to. Leave one out.")
    hosts = [host_of(given if "//" in given else f"https://{given}") for given in args.only or ()]
    if wrong := [given for given, host in zip(args.only or (), hosts, strict=True) if "." not in host or " " in given]:
        raise InputError(f"'{wrong[0]}' is no domain. One looks like gov.uk or example.org.")
    return tuple(dict.fromkeys(hosts))


def _ensure_samples(runs: Runs) -> None:
    encoder = runs.providers.search.encoder
    if sys.stderr.isatty() and not runs.store.has_collection(SAMPLES):
        print("Indexing the sample passages (once) …", file=sys.stderr)
    index_samples(runs.store, Ingester(runs.store, runs.providers.search, encoder), encoder.name)
