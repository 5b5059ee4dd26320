"""`doctor`: what is on, what answers, and how to turn on the rest."""

import argparse

from agent.__main__ import FAILED, OK
from agent.doctor import examine, parts
from agent.settings import load_settings

_SHOWN = {"ok": "ok", "fails": "FAILS", "off": "off"}


def run(args: argparse.Namespace) -> int:
    """Tries each part; exit status 1 when one that is on does not work."""
    failed = False
    for part in parts(load_settings(), ask=args.ask):
        found = examine(part)
        failed = failed or found.state == "fails"
        took = "" if found.state == "off" else f"  ({found.seconds:.1f} s)"
        print(f"{_SHOWN[found.state]:<6} {found.name:<14} {found.detail}{took}", flush=True)
    print("How to turn each on, what it costs and what is sent to whom: docs/providers.md")
    return FAILED if failed else OK
