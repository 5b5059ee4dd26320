"""OpenAI's responses, by OpenAI's own client over the real server."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import httpx
import openai
import pytest
from agent_fixtures import QUESTION
from answering_model import QUESTION as VOTING
from answering_model import STAGES, answering
from api_on_loopback import Door, api
from instant_providers import InstantExpander
from model_server import ModelServer
from openai.types.responses import (
    Response,
    ResponseCompletedEvent,
    ResponseFailedEvent,
    ResponseOutputMessage,
    ResponseReasoningItem,
    ResponseStreamEvent,
)
from providers import build
from pydantic import TypeAdapter
from test_api_completions import client

from agent.runs.build import build_providers
from agent.runs.store import RunStore
from agent.settings import Settings, load_settings
from api import events
from api.callers import Keys
from tools.errors import ProviderError
from tools.store.database import Database

pytest_plugins = ["api_on_loopback"]


@pytest.fixture(scope="module")
def llm(standing: Door) -> Iterator[Any]:
    with client(standing.address) as made:
        yield made


def ask(llm: Any, **changes: Any) -> Any:
    return llm.responses.create(**{"model": "steelman", "input": QUESTION, **changes})


def fits(reply: Response) -> None:
    """OpenAI's client builds its types without a check: here each member is checked."""
    Response.model_validate(reply.model_dump(), strict=True)


def message_of(reply: Response) -> tuple[str, list[Any]]:
    (message,) = [item for item in reply.output if isinstance(item, ResponseOutputMessage)]
    (part,) = message.content
    assert part.type == "output_text"
    return part.text, list(part.annotations)


def about(reply: Any) -> dict[str, Any]:
    return dict(reply.steelman)


def test_openais_client_gets_the_answer_with_its_sources(standing: Door, llm: Any) -> None:
    reply = ask(
        llm, instructions="Answer in rhyme.", temperature=0.2, tools=[{"type": "web_search"}], truncation="auto"
    )
    fits(reply)
    run_id = about(reply)["run_id"]
    assert (reply.id, reply.status, reply.error, reply.model) == (f"resp_{run_id}", "completed", None, "steelman")
    assert (reply.usage.total_tokens, about(reply)["outcome"]) == (0, "answered")
    answer = httpx.get(f"{standing.address}/v1/runs/{run_id}").json()["answer"]
    content, notes = message_of(reply)
    assert content.startswith(f"# {QUESTION}\n")
    assert content == reply.output_text
    cited = [n for s in answer["perspectives"] for c in s["claims"] for n in c["citations"]]
    assert len(notes) == len(cited) > 2
    for note, number in zip(notes, cited, strict=True):
        assert (note.type, content[note.start_index : note.end_index]) == ("url_citation", f"[{number}]")
        source = httpx.get(note.url).json()
        assert (source["number"], source["publisher"]) == (number, note.title)
    (thought,) = [item for item in reply.output if isinstance(item, ResponseReasoningItem)]
    assert all(f"verified: {c['text']}" in thought.summary[0].text for s in answer["perspectives"] for c in s["claims"])

    again = llm.responses.retrieve(reply.id)
    fits(again)
    assert (again.output, again.status, again.usage) == (reply.output, "completed", reply.usage)


def test_a_stream_has_the_events_in_the_official_order(llm: Any) -> None:
    with ask(llm, stream=True) as stream:
        sent = list(stream)
    checked = TypeAdapter(ResponseStreamEvent)
    for event in sent:
        checked.validate_python(event.model_dump(), strict=True)
    assert [event.sequence_number for event in sent] == list(range(len(sent)))
    kinds = [event.type.removeprefix("response.") for event in sent]
    once = [kind for at, kind in enumerate(kinds) if at == 0 or kinds[at - 1] != kind]
    assert once == [
        *("created", "in_progress", "output_item.added", "reasoning_summary_part.added"),
        *("reasoning_summary_text.delta", "reasoning_summary_text.done", "reasoning_summary_part.done"),
        *("output_item.done", "output_item.added", "content_part.added", "output_text.delta"),
        *("output_text.annotation.added", "output_text.done", "content_part.done", "output_item.done", "completed"),
    ]
    last = sent[-1]
    assert isinstance(last, ResponseCompletedEvent)
    fits(last.response)
    text, notes = message_of(last.response)
    assert "".join(e.delta for e in sent if e.type == "response.output_text.delta") == text
    added = [e.annotation for e in sent if e.type == "response.output_text.annotation.added"]
    assert [a.model_dump() for a in added] == [n.model_dump() for n in notes]
    assert llm.responses.retrieve(last.response.id).output_text == text
    with llm.responses.stream(model="steelman-quick", input=QUESTION) as helped:  # the client builds its own snapshot
        assert f"# {QUESTION}" in helped.get_final_response().output_text


def test_a_quiet_stream_gets_empty_deltas(standing: Door, llm: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "QUIET_SECONDS", 0.05)
    with standing.held() as held, ask(llm, stream=True) as stream:
        seen = []
        for event in stream:
            seen.append(event)
            if event.type == "response.reasoning_summary_text.delta" and not event.delta:
                held.open.set()
    assert held.open.is_set()
    assert [event.sequence_number for event in seen] == list(range(len(seen)))
    assert seen[-1].type == "response.completed"


def test_a_response_in_progress_can_be_retrieved(standing: Door, llm: Any) -> None:
    with standing.held() as held, ask(llm, stream=True) as stream:
        begun = next(iter(stream)).response
        assert held.reached.wait(30)
        now = llm.responses.retrieve(begun.id)
        fits(now)
        assert (now.status, now.output, now.usage) == ("in_progress", [], None)
    deadline = time.monotonic() + 30
    while llm.responses.retrieve(begun.id).status != "completed" and time.monotonic() < deadline:
        time.sleep(0.05)
    assert llm.responses.retrieve(begun.id).output_text.startswith(f"# {QUESTION}\n")


# Conversations


@pytest.mark.usefixtures("library")
def test_the_previous_response_is_the_thread() -> None:
    with api(load_settings(), build_providers) as address, client(address) as llm:
        first = ask(llm, input=VOTING)
        second = ask(llm, input="Strongest counter-argument to 2?", previous_response_id=first.id)
        thanks = ask(llm, input="thanks", previous_response_id=second.id)
        third = ask(llm, input="What about the cost?", previous_response_id=thanks.id)
        by_item = [{"type": "item_reference", "id": first.output[-1].id}, {"role": "user", "content": "And the risks?"}]
        fourth = ask(llm, input=by_item)
        sent_back = [{"role": "user", "content": VOTING}, *(item.model_dump() for item in first.output)]
        fifth = ask(llm, input=[*sent_back, {"role": "user", "content": "What about fraud?"}])
        with pytest.raises(openai.BadRequestError, match="'99' to argue against"):
            ask(llm, input="Strongest counter-argument to 99?", previous_response_id=first.id)
        kept, last = llm.responses.retrieve(second.id), llm.responses.retrieve(third.id)
    for followed in (second, third, fourth, fifth):
        assert about(followed)["thread"] == about(first)["run_id"]
        assert f"Follows up on: {VOTING}" in followed.output_text
    assert (second.previous_response_id, third.previous_response_id) == (first.id, thanks.id)
    assert (kept.previous_response_id, first.previous_response_id) == (first.id, None)
    assert (last.previous_response_id, fourth.previous_response_id) == (second.id, third.id)  # a greeting is not kept
    fits(thanks)
    assert (thanks.steelman, thanks.output[0].type) == (None, "message")


def test_a_list_of_messages_gives_the_question_and_its_context(standing: Door, llm: Any) -> None:
    parts = [{"type": "input_text", "text": "What about"}, {"type": "input_text", "text": "the cost?"}]
    said = [{"type": "output_text", "text": "It depends.", "annotations": []}]
    reply = ask(
        llm,
        input=[
            {"role": "developer", "content": "Be brief."},
            {"role": "user", "content": QUESTION},
            {"type": "reasoning", "id": "rs_1", "summary": []},
            {"type": "message", "role": "assistant", "id": "msg_1", "status": "completed", "content": said},
            {"type": "message", "role": "user", "content": parts},
        ],
    )
    run = httpx.get(f"{standing.address}/v1/runs/{about(reply)['run_id']}").json()
    assert (run["question"], run["answer"]["neutral_question"]) == ("What about the cost?", QUESTION)


def test_an_apps_task_starts_no_run(standing: Door, llm: Any) -> None:
    before = standing.http.get("/v1/runs").json()["runs"]
    history = f"<chat_history>\nUSER: {QUESTION}\nASSISTANT: Both have a case.\n</chat_history>"
    reply = ask(llm, input=f'### Task:\nJSON: {{ "title": "..." }}\n### History:\n{history}')
    assert (json.loads(reply.output_text), reply.steelman) == ({"title": ""}, None)
    assert standing.http.get("/v1/runs").json()["runs"] == before
    with pytest.raises(openai.NotFoundError, match="There is no response"):
        llm.responses.retrieve(reply.id)


# What is kept, and for whom


@pytest.mark.parametrize("stream", [False, True])
def test_what_is_not_to_be_stored_is_deleted(standing: Door, llm: Any, stream: bool) -> None:
    if stream:
        with ask(llm, store=False, stream=True) as sent:
            reply = list(sent)[-1].response
    else:
        reply = ask(llm, store=False)
    assert (reply.store, reply.output_text.startswith(f"# {QUESTION}")) == (False, True)
    path, deadline = f"/v1/runs/{about(reply)['run_id']}", time.monotonic() + 20
    while standing.http.get(path).status_code == 200 and time.monotonic() < deadline:
        time.sleep(0.05)
    assert standing.http.get(path).status_code == 404
    for gone in ({"previous_response_id": reply.id}, {"previous_response_id": "resp_from_elsewhere"}):
        with pytest.raises(openai.NotFoundError, match="There is no response") as wrong:
            ask(llm, **gone)
        assert (wrong.value.param, wrong.value.code) == ("previous_response_id", "previous_response_not_found")


def test_an_unstored_run_is_deleted_also_if_the_client_leaves(standing: Door) -> None:
    asked = {"model": "steelman", "input": QUESTION, "store": False, "stream": True}
    with standing.held() as held:
        with standing.http.stream("POST", "/v1/responses", json=asked) as reply:
            path = reply.headers["Content-Location"]
            assert held.reached.wait(30)
        assert standing.http.get(path).json()["status"] == "running"
    deadline = time.monotonic() + 20
    while standing.http.get(path).status_code == 200 and time.monotonic() < deadline:
        time.sleep(0.05)
    assert standing.http.get(path).status_code == 404


def test_anothers_response_is_not_found(settings: Settings) -> None:
    with closing(Database(settings.database)) as database:
        keys = Keys(database)
        (_, mine), (_, theirs) = keys.make("mine"), keys.make("theirs")
    with api(settings) as address, client(address, api_key=mine) as me, client(address, api_key=theirs) as other:
        reply = ask(me)
        assert me.responses.retrieve(reply.id).output_text == reply.output_text
        with pytest.raises(openai.NotFoundError, match="There is no response"):
            other.responses.retrieve(reply.id)
        with pytest.raises(openai.NotFoundError, match="There is no response"):
            ask(other, input="What about the cost?", previous_response_id=reply.id)
        with client(address, api_key="wrong") as nobody, pytest.raises(openai.AuthenticationError):
            nobody.responses.retrieve(reply.id)


def test_a_repeated_request_starts_one_run(llm: Any) -> None:
    first, second = (ask(llm, extra_headers={"Idempotency-Key": "same-again"}) for _ in range(2))
    assert first.id == second.id
    with pytest.raises(openai.ConflictError, match="belongs to run"):
        ask(llm, input="Should towns build bridges at all?", extra_headers={"Idempotency-Key": "same-again"})


# Refusals

IMAGE = [{"type": "input_text", "text": QUESTION}, {"type": "input_image", "image_url": "https://example.org/x.png"}]
REFUSED: list[tuple[dict[str, Any], str | None, str]] = [
    ({"background": True}, "background", "should be False"),
    ({"extra_body": {"background": 0}}, "background", "should be False"),
    ({"tool_choice": "required", "tools": []}, "tool_choice", "should be 'none' or 'auto'"),
    ({"tool_choice": {"type": "web_search"}}, "tool_choice", "should be 'none' or 'auto'"),
    ({"text": {"format": {"type": "json_schema", "name": "x", "schema": {}}}}, "text.format", "POST /v1/ask"),
    ({"top_logprobs": 3}, "top_logprobs", "less than or equal to 0"),
    ({"conversation": "conv_1"}, "conversation", "should be None"),
    ({"prompt": {"id": "pmpt_1"}}, "prompt", "should be None"),
    ({"input": [{"role": "user", "content": IMAGE}]}, "input", "a question is text"),
    ({"input": [{"role": "system", "content": "Hello"}]}, "input", "the role 'user'"),
    ({"input": 5}, "input", r"- body\.input: Input should be text or a list\.$"),
    ({"input": [{"role": "user", "content": 5}]}, "input.0.content", r"- [^:]*: Input should be text or a list\.$"),
    ({"input": [{"role": "user", "content": [{}]}]}, "input.0.content.0.type", r"- [^:]*: Field required\.$"),
    ({"input": []}, "input", "the role 'user'"),
    ({"input": ""}, None, "The question is empty."),
    ({"extra_body": {"steelman": {"colections": ["mine"]}}}, "steelman.colections", "not permitted"),
    ({"extra_body": {"web": False}, "stream": True}, "web", "within 'steelman'"),
]


@pytest.mark.parametrize(("changes", "param", "says"), REFUSED, ids=[f"{r[1]}" for r in REFUSED])
def test_impossible_options_are_refused(llm: Any, changes: dict[str, Any], param: str | None, says: str) -> None:
    with pytest.raises(openai.BadRequestError, match=says) as wrong:
        ask(llm, **changes)
    assert (wrong.value.param, wrong.value.type) == (param, "invalid_request_error")


def test_unknown_names_are_not_found(standing: Door, llm: Any) -> None:
    with pytest.raises(openai.NotFoundError, match="There is no model") as wrong:
        ask(llm, model="gpt-6")
    assert wrong.value.code == "model_not_found"
    with pytest.raises(openai.NotFoundError, match="There is no response"):
        llm.responses.retrieve("resp_0123456789ab")
    passages = standing.http.post("/v1/retrieve", json={"question": QUESTION}).headers["Content-Location"]
    with pytest.raises(openai.NotFoundError, match="There is no response"):
        llm.responses.retrieve(passages.replace("/v1/runs/", "resp_"))
    with pytest.raises(openai.BadRequestError, match="comes whole"):
        llm.responses.retrieve("resp_0123456789ab", stream=True)


@pytest.mark.parametrize("store", [True, False])
def test_a_failed_run_is_the_servers_failure(settings: Settings, store: bool) -> None:
    class Fails(InstantExpander):
        async def expand(self, framing: Any, passages: Any) -> Any:
            raise ProviderError("the planner is out of ideas.", hint="Go on with `python -m agent ask --resume x`.")

    with api(settings, build(expand=Fails().expand)) as address, client(address, max_retries=2) as llm:
        with pytest.raises(openai.InternalServerError, match="out of ideas") as wrong:
            ask(llm, store=store)
        with ask(llm, store=store, stream=True) as stream:
            last = list(stream)[-1]
        assert isinstance(last, ResponseFailedEvent)
        fits(last.response)
        assert (last.response.status, last.response.output_text) == ("failed", "")
        assert last.response.error
        if store:
            kept = llm.responses.retrieve(last.response.id)
            assert (kept.status, kept.error.message) == ("failed", last.response.error.message)
        deadline = time.monotonic() + 20
        with closing(Database(settings.database)) as database:
            while (left := len(RunStore(database).latest(9))) != 2 * store and time.monotonic() < deadline:
                time.sleep(0.05)
    assert left == 2 * store, "no retry began another run"
    for message in (wrong.value.message, last.response.error.message):
        assert "python -m" not in message
        assert ("/resume " in message) == store


def test_a_cancelled_response_says_so(standing: Door, llm: Any) -> None:
    with standing.held() as held, ask(llm, stream=True) as stream:
        begun = next(iter(stream)).response
        assert held.reached.wait(30)
        threading.Thread(target=standing.http.post, args=(f"/v1/runs/{about(begun)['run_id']}/cancel",)).start()
        last = list(stream)[-1]
    assert (last.type, last.response.status) == ("response.failed", "cancelled")
    assert llm.responses.retrieve(begun.id).status == "cancelled"


@pytest.mark.usefixtures("library")
def test_usage_counts_the_models_tokens() -> None:
    with ModelServer(strict=False) as server:
        given = load_settings(openai_base_url=answering(server, usage=(100, 10)).url, model="m", judge="embedded")
        with api(given, build_providers) as address, client(address) as llm:
            reply = ask(llm, input=VOTING)
        calls = len(server.prompts())
        assert any(STAGES["write"] in prompt for prompt in server.prompts())
    fits(reply)
    usage = reply.usage
    assert (usage.input_tokens, usage.output_tokens, usage.total_tokens) == (100 * calls, 10 * calls, 110 * calls)
