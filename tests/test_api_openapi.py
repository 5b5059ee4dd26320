"""What the OpenAPI document says is so: schemathesis sends a running server what fits the document and what does not.

All of its checks are on. It runs through its engine, phase by phase: the document's examples, each constraint at its
edges (valid and not), made-up requests, and chains of calls along the document's links.
"""

from collections import Counter
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
import schemathesis
from agent_fixtures import QUESTION
from api_on_loopback import api
from schemathesis import Case, HookContext
from schemathesis.engine import events, from_schema

from agent.settings import Settings

pytestmark = pytest.mark.filterwarnings("ignore:Generating overly large repr")  # hypothesis, of what it makes itself


@dataclass
class Findings:
    """What a run of schemathesis came to: requests by call and status, and what it found wrong."""

    requests: Counter[str] = field(default_factory=Counter)
    statuses: Counter[int] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)


@pytest.fixture(scope="module")
def address(module_settings: Settings) -> Iterator[str]:
    with api(module_settings.model_copy(update={"api_rate": "1000000/minute"})) as running:
        yield running


@pytest.fixture(autouse=True)
def answerable() -> Iterator[None]:
    """Which strings are an English question, and which bytes a text, no schema can say: valid requests get real ones.

    What schemathesis sends to be refused stays as it made it.
    """

    def before_call(context: HookContext, case: Case[Any], kwargs: dict[str, Any]) -> None:
        body: Any = case.body
        if case.meta is None or not case.meta.generation.mode.is_positive or not isinstance(body, dict):
            return
        asked = [{"role": "user", "content": QUESTION}]
        real: dict[str, Any] = {
            "question": QUESTION,
            "messages": asked,
            "input": QUESTION,
            "files": ["Bridges carry towns."],
        }
        case.body = changed = {**deepcopy(body), **{name: value for name, value in real.items() if name in body}}
        if "files" in body:  # nor that a file's name has an ending, without which only a job is accepted
            case.headers["Prefer"] = "respond-async"
        for options in (changed, changed.get("steelman")):  # nor which pages can be read: none of a made-up host
            if isinstance(options, dict):
                options.pop("urls", None)
        for number, side in enumerate(changed.get("sides") or ()):  # nor that each has an id of its own
            side |= {"id": f"{number}"} if side.get("id") else {}

    schemathesis.hook(before_call)
    yield
    schemathesis.hooks.unregister(before_call)


def explore(address: str, examples: int, seed: int, *, edges: bool) -> Findings:
    """edges: with each constraint at its edges, which is most of the requests."""
    wanted = {"max-examples": examples, "deterministic": True, "database": "none"}
    phases = {"coverage": {"enabled": edges}}
    patience = {"request-timeout": 60}  # uploads work at low priority, and another process may hold both cores
    config = schemathesis.Config.from_dict({"seed": seed, "generation": wanted, "phases": phases, **patience})
    schema = schemathesis.openapi.from_url(f"{address}/openapi.json", config=config)
    found = Findings()
    for event in from_schema(schema).execute():
        if isinstance(event, events.NonFatalError):
            found.wrong.append(f"{event.label}: {event.value}")
        elif isinstance(event, events.FatalError):
            found.wrong.append(repr(event.exception))
        elif isinstance(event, events.ScenarioFinished):
            note(event, found)
    return found


def note(event: events.ScenarioFinished, found: Findings) -> None:
    recorded = event.recorder
    for interaction in recorded.interactions.values():
        if interaction.response is not None:
            found.requests[recorded.label] += 1
            found.statuses[interaction.response.status_code] += 1
    for check in (check for checks in recorded.checks.values() for check in checks):
        if (failed := check.failure_info) is not None:
            found.wrong.append(f"{event.phase.name} {check.name}: {failed.failure}\n{failed.code_sample}")


def test_the_server_does_as_the_document_says(address: str) -> None:
    found = explore(address, examples=3, seed=1, edges=False)
    assert found.wrong == [], "\n".join(found.wrong)
    calls = httpx.get(f"{address}/openapi.json").json()["paths"]
    named = {f"{method.upper()} {path}" for path, methods in calls.items() for method in methods}
    assert named <= set(found.requests)
    assert {200, 202, 422} <= set(found.statuses)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_server_does_as_the_document_says_at_length(address: str) -> None:
    found = explore(address, examples=25, seed=2, edges=True)  # 35 s of a processor, minutes beside busy processes
    assert found.wrong == [], "\n".join(found.wrong)
    assert {200, 202, 204, 400, 404, 405, 409, 415, 422} <= set(found.statuses)
