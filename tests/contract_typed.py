"""Rows of the contract table: what is typed under an answer, and commands on it."""

import io
import sys
from contextlib import redirect_stderr, redirect_stdout
from functools import partial

import httpx
from agent_fixtures import QUESTION
from contract_table import Bench, Outcome, Row
from providers import build

from agent.__main__ import main as agent_line
from agent.runs import service as session
from agent.runs.service import Runs


def in_chat(given: str, bench: Bench) -> Outcome:
    """What the chat prints for these lines."""
    bench.patch.setenv("STEELMAN_DATA_DIR", str(bench.folder / "data"))
    bench.patch.setattr(session, "Runs", partial(Runs, build=build()))
    bench.patch.setattr("agent.runs.bootstrap.index_samples", lambda *_: None)
    bench.patch.setattr(sys, "stdin", io.StringIO(given))
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err:
        status = agent_line(["chat", "--no-web"])
    return Outcome(status, out.getvalue() + err.getvalue())


def http(given: str, bench: Bench) -> Outcome:
    """What the server replies to this follow-up on an answer."""
    with httpx.Client(base_url=bench.standing(), timeout=60) as client:
        first = client.post("/v1/ask", json={"question": QUESTION, "depth": "quick"}).json()
        reply = client.post("/v1/ask", json={"question": given, "depth": "quick", "thread": first["run_id"]})
    told = reply.json()
    return Outcome(reply.status_code, told.get("detail") or f"{told['question']} / {told['neutral_question']}")


def chat_app(given: str, bench: Bench) -> Outcome:
    """What a chat app shows for a conversation of these messages, without our own replies."""
    messages = [{"role": "user", "content": text} for text in (QUESTION, given)]
    with httpx.Client(base_url=f"{bench.standing()}/v1", timeout=60) as client:
        reply = client.post("/chat/completions", json={"model": "steelman-quick", "messages": messages})
    return Outcome(reply.status_code, reply.json()["choices"][0]["message"]["content"])


FIRST = f"{QUESTION}\n"
LISTED = "/summarise, /more, /against, /newer, /only and /help"
THANKS, TITLE = "You are welcome! Ask something", f"Goes on from: {QUESTION}"
ROWS = [
    Row("an unknown command", in_chat, f"{FIRST}/shout\n", 0, "there is no command /shout", LISTED),
    Row("a command before any answer", in_chat, "/newer\n", 0, "needs an answer to work on", "Ask a question first"),
    Row("a source that the answer lacks", in_chat, f"{FIRST}/only 99\n", 0, "needs the number of a source", "1, 2"),
    Row("a greeting", in_chat, "Hello!\n", 0, "Hello! Ask something that people disagree on", "ban smartphones?"),
    Row("thanks", in_chat, f"{FIRST}thanks\n", 0, THANKS),
    Row("thanks", chat_app, "Thank you!", 200, THANKS),
    Row("the commands, before any answer", in_chat, "/help\n", 0, "/against N", "/only N"),
    Row("a follow-up's title", in_chat, f"{FIRST}and the arches?\n", 0, "\nand the arches?\n", TITLE),
    Row("a follow-up's title", chat_app, "and the arches?", 200, "# and the arches?", TITLE),
    Row("a question of its own", http, "Should ferries run at night?", 200, "at night? / Should ferries run at night?"),
    Row("a claim that does not exist", http, "/against 99", 422, "no '99' to argue against", "1 to "),
    Row("a command of the chat", http, "/newer", 422, "is no question, but a command", "on the page or in the chat"),
]
