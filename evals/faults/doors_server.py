"""Doors that are fuzzed over HTTP, at a server process whose providers answer at once.

Every reply has to be one that the server's own OpenAPI document names for the call, no reply is a 5xx, and what goes
wrong is a problem document. schemathesis makes requests from the document, valid and not; the others are valid bodies
with a few places changed, which says nothing of whether they ought to be taken.
"""

import contextlib
import json
import random
import tempfile
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from evals.benchmarks.api import INSTANT_SERVER, server_process
from evals.faults.doors_here import changed, here
from evals.faults.fuzz import Door, Findings

DOORS: dict[str, float] = {
    "question": 20,
    "options": 20,
    "commands": 10,
    "follow-up": 10,
    "files": 20,
    "contract": 8,
    "bodies": 6,
    "completions": 3,
    "MCP": 2,
    "event ids": 1,
}
"""The share of inputs that each door gets."""
_QUESTION = "Should towns build bridges?"
_SECONDS = 60.0
_BRIEF = 2.0
_BODIES: dict[str, Any] = {
    "/v1/ask": {"question": _QUESTION, "depth": "quick", "wait_seconds": 0, "web": False, "domains": ["gov.uk"]},
    "/v1/retrieve": {
        "question": _QUESTION,
        "deadline_seconds": _SECONDS,
        "selection": "mmr:0.5",
        "collections": ["samples"],
    },
    "/v1/judge": {"pairs": [{"statement": "Bridges help.", "passage": "A bridge brings trade.", "contrary": "No."}]},
    "/v1/collections/fuzz/documents": {"documents": [{"id": "a", "text": "A bridge.", "date": "2026-03-12"}]},
    "/v1/runs/0123456789ab/resume": {"sides": [{"name": "For", "statement": "Towns should build bridges."}]},
}
_COMPLETION: dict[str, Any] = {
    "model": "steelman-quick",
    "messages": [{"role": "user", "content": _QUESTION}, {"role": "assistant", "content": "Run 0123456789ab"}],
    "n": 1,
    "temperature": 0.5,
    "steelman": {"web": False, "deadline_seconds": _SECONDS},
}
_MESSAGES: tuple[dict[str, Any], ...] = (
    {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}},
    {
        "jsonrpc": "2.0",
        "id": 2,
        "method": "tools/call",
        "params": {"name": "judge", "arguments": {"pairs": [{"statement": "A.", "passage": "B."}]}},
    },
    {"jsonrpc": "2.0", "id": 3, "method": "resources/read", "params": {"uri": "steelman://runs/0123456789ab"}},
)
_ODD: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    1.0,
    1e308,
    "",
    " ",
    "\u202e",
    "a" * 5000,
    [],
    {},
    [[]],
    2**63,
    "2026-13-01",
)


@contextlib.contextmanager
def every_door() -> Iterator[Mapping[str, Door]]:
    """All doors, those of a server among them, while the context is open. Raises InputError, ModelError."""
    import httpx

    with tempfile.TemporaryDirectory() as data, server_process(["-c", INSTANT_SERVER], data) as (address, _):
        log = Path(data) / "server.log"
        with httpx.Client(base_url=address, timeout=_SECONDS) as client:
            documented = _documented(client.get("/openapi.json").json())
            send = partial(_sent, client, documented)
            doors: dict[str, Door] = {
                "contract": partial(_contract, address),
                "bodies": partial(_mutated, send, _BODIES),
                "completions": partial(_mutated, send, {"/v1/chat/completions": _COMPLETION}),
                "MCP": partial(_mutated, send, {f"/mcp#{n}": m for n, m in enumerate(_MESSAGES)}),
                "event ids": partial(_event_ids, client, _run(client)),
            }
            yield {**here(), **{name: partial(_watched, log, door) for name, door in doors.items()}}


def _watched(log: Path, door: Door, inputs: int, seed: int) -> Findings:
    """The door's findings with the tracebacks that the server logged meanwhile."""
    before = log.stat().st_size
    found = door(inputs, seed)
    with log.open(encoding="utf-8", errors="replace") as file:
        file.seek(before)
        if "Traceback" in (said := file.read()):
            found.went_wrong(f"the server logged: {said[said.index('Traceback') :][-600:]}")
    return found


def _run(client: Any) -> str:
    return str(client.post("/v1/ask", json={"question": _QUESTION, "web": False}).json()["run_id"])


def _documented(document: dict[str, Any]) -> dict[str, set[int]]:
    """The statuses of each POST, by its path."""
    return {
        path: {int(status) for status in methods["post"]["responses"] if status.isdecimal()}
        for path, methods in document["paths"].items()
        if "post" in methods
    }


def _statuses(documented: Mapping[str, set[int]], path: str) -> set[int] | None:
    for template, statuses in documented.items():
        parts, given = template.split("/"), path.split("/")
        if len(parts) == len(given) and all(p == g or p.startswith("{") for p, g in zip(parts, given, strict=True)):
            return statuses
    return None  # MCP's, which the document leaves to MCP


def _sent(client: Any, documented: Mapping[str, set[int]], path: str, body: bytes) -> tuple[str, str]:
    """How a request was taken, and what was wrong about the reply."""
    path = path.partition("#")[0]
    accepted = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
    reply = client.post(
        path, content=body, headers=accepted if path == "/mcp" else {"content-type": "application/json"}
    )
    status, wanted = reply.status_code, _statuses(documented, path)
    kind = reply.headers.get("content-type", "").partition(";")[0]
    wrong = ""
    if status >= 500 and not _asked_too_much(body, reply.text):
        wrong = f"{status} {reply.text[:200]}"
    elif wanted is not None and status not in wanted:
        wrong = f"{status}, which the document does not name: {reply.text[:200]}"
    elif status >= 400 and path not in ("/mcp", "/v1/chat/completions") and kind != "application/problem+json":
        wrong = f"{status} as {kind}"
    return str(status), f"POST {path} {body[:300]!r}: {wrong}" if wrong else ""


def _asked_too_much(body: bytes, reply: str) -> bool:
    """Whether the run failed since the request itself left it a second or two, which a busy machine needs to begin."""
    try:
        sent = json.loads(body)
    except ValueError:
        return False
    parts = (sent, sent.get("steelman")) if isinstance(sent, dict) else ()
    given = [part.get("deadline_seconds") for part in parts if isinstance(part, dict)]
    return any(isinstance(g, int | float) and g <= _BRIEF for g in given) and "The time for it was used up" in reply


def _mutated(
    send: Callable[[str, bytes], tuple[str, str]], bodies: Mapping[str, Any], inputs: int, seed: int
) -> Findings:
    rng, found = random.Random(seed), Findings()
    for _ in range(inputs):
        path, body = rng.choice(list(bodies.items()))
        data = json.dumps(_other(body, rng)).encode()
        if rng.random() < 0.3:
            data = changed(data, rng.randrange(2**32))
        outcome, wrong = send(path, data)
        found.took(outcome)
        if wrong:
            found.went_wrong(wrong)
    return found


def _other(value: Any, rng: random.Random) -> Any:
    """The value with something in it replaced, left out, or put in."""
    if isinstance(value, dict) and value:
        made = dict(value)
        name = rng.choice(list(made))
        match rng.randrange(5):
            case 0:
                del made[name]
            case 1:
                made[rng.choice(("extra", "Id", "question ", "\x00"))] = rng.choice(_ODD)
            case _:
                made[name] = _other(made[name], rng)
        return made
    if isinstance(value, list) and value and rng.random() < 0.6:
        place = rng.randrange(len(value))
        return [*value[:place], _other(value[place], rng), *value[place + 1 :]] * rng.choice((1, 1, 1, 300))
    return rng.choice(_ODD)


def _event_ids(client: Any, run_id: str, inputs: int, seed: int) -> Findings:
    """The last event that a caller says it has seen: whole numbers in digits are taken, nothing else is."""
    rng, found = random.Random(seed), Findings()
    odd = ("5.0", "1_0", "+3", "-1", "٣", "1e2", "0x1", "abc", "", "9" * 30, "2147483649", "1 2", "NaN")
    for _ in range(inputs):
        given = rng.choice(odd) if rng.random() < 0.5 else str(rng.randrange(2**31))
        reply = client.get(f"/v1/runs/{run_id}/events", params={"after": given})
        fits = given.isascii() and given.isdigit() and int(given) <= 2**31
        found.took(str(reply.status_code))
        if reply.status_code not in ((200, 204) if fits else (422,)):
            found.went_wrong(f"after={given!r}: {reply.status_code} {reply.text[:100]}")
    return found


def _contract(address: str, inputs: int, seed: int) -> Findings:
    """Requests that schemathesis makes of the document, valid ones and others, with all of its checks."""
    import schemathesis
    from schemathesis.engine import events, from_schema

    calls, phases = 24, 3  # about: of the document, and of the engine that make requests
    examples = max(1, inputs // (calls * phases))
    wanted = {"max-examples": examples, "deterministic": True, "database": "none"}
    config = schemathesis.Config.from_dict({"seed": seed % 2**32, "generation": wanted})
    schema = schemathesis.openapi.from_url(f"{address}/openapi.json", config=config)
    found = Findings()
    with _real_questions():
        for event in from_schema(schema).execute():
            if isinstance(event, events.NonFatalError):
                found.went_wrong(f"{event.label}: {event.value}")
            elif isinstance(event, events.ScenarioFinished):
                _note(event, found)
    return found


@contextlib.contextmanager
def _real_questions() -> Iterator[None]:
    """Valid requests get an English question, and files that are text: which those are, no schema can say."""
    import schemathesis

    def before_call(context: Any, case: Any, kwargs: dict[str, Any]) -> None:
        body = case.body
        if case.meta is None or not case.meta.generation.mode.is_positive or not isinstance(body, dict):
            return
        asked = [{"role": "user", "content": _QUESTION}]
        real: dict[str, Any] = {"question": _QUESTION, "messages": asked, "files": ["Bridges carry towns."]}
        real |= {"deadline_seconds": _SECONDS, "steelman": {"deadline_seconds": _SECONDS}}  # of a busy machine
        case.body = {**body, **{name: value for name, value in real.items() if name in body}}

    schemathesis.hook(before_call)
    try:
        yield
    finally:
        schemathesis.hooks.unregister(before_call)


def _note(event: Any, found: Findings) -> None:
    for interaction in event.recorder.interactions.values():
        if interaction.response is not None:
            found.took(str(interaction.response.status_code))
    for check in (check for checks in event.recorder.checks.values() for check in checks):
        if (failed := check.failure_info) is not None:
            found.went_wrong(f"{check.name}: {failed.failure}\n{failed.code_sample}")
