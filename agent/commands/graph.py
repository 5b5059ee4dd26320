"""`graph`: the agent's graph as Mermaid."""

import argparse
from typing import cast

from agent.__main__ import OK
from agent.graph import build_graph
from agent.seams import Providers


def run(args: argparse.Namespace) -> int:
    """Prints the diagram; the wiring needs no provider."""
    print(build_graph(cast(Providers, None)).get_graph().draw_mermaid())
    return OK
