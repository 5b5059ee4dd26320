"""Arguments of the command line that several commands take, as settings and options of a run."""

import argparse
from typing import Any

from agent.options import RunOptions
from agent.runs.admission import usual_options
from agent.runs.service import Runs
from agent.settings import Settings, load_settings
from tools.errors import InputError
from tools.web.hosts import host_of


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


def _domains(args: argparse.Namespace) -> tuple[str, ...]:
    """The domains to search, of addresses their hosts; raises InputError for what is neither."""
    if args.only and args.no_web:
        raise InputError("--only says where to search the web, and --no-web not to. Leave one out.")
    hosts = [host_of(given if "//" in given else f"https://{given}") for given in args.only or ()]
    if wrong := [given for given, host in zip(args.only or (), hosts, strict=True) if "." not in host or " " in given]:
        raise InputError(f"'{wrong[0]}' is no domain. One looks like gov.uk or example.org.")
    return tuple(dict.fromkeys(hosts))
