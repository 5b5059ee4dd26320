"""Rows of the contract table: arguments of MCP's tools as assistants send them, all as texts for instance."""

import json
from typing import Any

from agent_fixtures import QUESTION
from assistants import words
from contract_table import Bench, Outcome, Row
from mcp import Client

PAIR = {"statement": "Bridges help towns.", "passage": "A bridge brings trade."}
PAIRS = json.dumps([PAIR])


async def assistant(given: tuple[str, dict[str, Any]], bench: Bench) -> Outcome:
    """What a tool replies to these arguments."""
    tool, arguments = given
    usual = {} if tool == "judge" else {"question": QUESTION, "depth": "quick"}
    async with Client(f"{bench.standing()}/mcp") as client:
        reply = await client.call_tool(tool, usual | arguments)
    return Outcome("refused" if reply.is_error else "done", words(reply))


# Each line: situation, tool, arguments
READ: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("false as a text", "ask", {"web": "false"}),
    ("True as a text", "retrieve", {"web": "True"}),
    ("a number as a text", "ask", {"deadline_seconds": "30"}),
    ("a list as a text", "ask", {"collections": '["samples"]'}),
    ("one entry of a list", "retrieve", {"collections": "samples"}),
    ("an empty list as a text", "ask", {"domains": "[]", "collections": "[]"}),
    ("null as texts", "retrieve", dict.fromkeys(("web", "thread", "depth", "domains", "deadline_seconds"), "null")),
    ("pairs as a text", "judge", {"pairs": PAIRS}),
    ("one pair", "judge", {"pairs": PAIR}),
)
# Each line: situation, tool, arguments, cause
REFUSED: tuple[tuple[str, str, dict[str, Any], str], ...] = (
    ("neither true nor false", "ask", {"web": "maybe"}, "web: Input should be a valid boolean"),
    ("no number", "retrieve", {"deadline_seconds": "soon"}, "deadline_seconds: Input should be a valid number"),
    ("an unknown collection", "ask", {"collections": "mine"}, "There is no collection 'mine'. There are: samples."),
    ("no domain", "ask", {"domains": '["not a domain"]'}, "domains.0: "),
    ("a deep list", "ask", {"domains": "[" * 5000}, "domains.0: String should have at most 253 characters"),
    ("an unknown argument", "ask", {"command": "ls"}, "The arguments are: collections, web, domains"),
    ("an unknown run", "retrieve", {"thread": "0" * 12}, "There is no run '000000000000'."),
    ("no question", "ask", {"question": "Write a song about bridges"}, "question was found in"),
)
_HTTP = ("python -m", "GET /", "POST /")
ROWS = [
    *(Row(said, assistant, (tool, sent), "done") for said, tool, sent in READ),
    *(Row(said, assistant, (tool, sent), "refused", cause, "", _HTTP) for said, tool, sent, cause in REFUSED),
]
