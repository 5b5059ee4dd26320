"""OpenAI-compatible calls, by OpenAI's own client over the real server."""

import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import httpx
import openai
import pytest
from agent_fixtures import QUESTION
from answering_model import QUESTION as VOTING
from answering_model import STAGES, answering
from api_on_loopback import Door, api
from instant_providers import InstantExpander
from markdown_it import MarkdownIt
from model_server import ModelServer, Reply
from providers import build

from agent.runs.build import build_providers
from agent.runs.store import RunStore
from agent.settings import Settings, load_settings
from tools.errors import ProviderError
from tools.store.database import Database

pytest_plugins = ["api_on_loopback"]


@contextmanager
def client(address: str, **changes: Any) -> Iterator[Any]:
    given = {"base_url": f"{address}/v1", "api_key": "any", "max_retries": 0, **changes}
    with openai.OpenAI(**given) as made:
        yield made


def said(role: str, content: Any) -> dict[str, Any]:
    return {"role": role, "content": content}


def ask(llm: Any, *messages: dict[str, Any], **changes: Any) -> Any:
    """A completion of these messages, or of the usual question."""
    given = {"model": "steelman", "messages": list(messages) or [said("user", QUESTION)], **changes}
    return llm.chat.completions.create(**given)


def about(reply: Any) -> dict[str, Any]:
    return dict(reply.steelman)


@pytest.fixture(scope="module")
def llm(standing: Door) -> Iterator[Any]:
    with client(standing.address) as made:
        yield made


def test_openais_client_gets_the_answer_with_its_sources_whole_and_streamed(standing: Door, llm: Any) -> None:
    reply = ask(llm)
    message, run_id = reply.choices[0].message, about(reply)["run_id"]
    assert (reply.choices[0].finish_reason, message.role, reply.id) == ("stop", "assistant", f"chatcmpl-{run_id}")
    answer = httpx.get(f"{standing.address}/v1/runs/{run_id}").json()["answer"]
    content = message.content
    assert content.startswith(f"# {QUESTION}\n")
    assert f"Run {run_id}" in content.splitlines()[-1]
    assert "python -m" not in content
    cited = [n for s in answer["perspectives"] for c in s["claims"] for n in c["citations"]]
    assert len(message.annotations) == len(cited) > 2
    for note, number in zip((a.url_citation for a in message.annotations), cited, strict=True):
        assert content[note.start_index : note.end_index] == f"[{number}]"
        source = httpx.get(note.url).json()
        assert (source["number"], source["publisher"]) == (number, note.title)

    with ask(llm, stream=True, stream_options={"include_usage": True}) as stream:
        chunks = list(stream)
    deltas = [c.choices[0].delta for c in chunks[:-1]]
    assert "".join(d.content or "" for d in deltas).splitlines()[:-1] == content.splitlines()[:-1]
    (annotated,) = [d.annotations for d in deltas if getattr(d, "annotations", None)]
    places = [a.url_citation.start_index for a in message.annotations]
    assert [a["url_citation"]["start_index"] for a in annotated] == places
    thought = "".join(getattr(d, "reasoning_content", "") for d in deltas)
    assert all(f"verified: {c['text']}" in thought for s in answer["perspectives"] for c in s["claims"])
    assert [c.choices[0].finish_reason for c in chunks[:-1]] == [None] * (len(chunks) - 2) + ["stop"]
    assert (chunks[-1].choices, chunks[-1].usage.total_tokens) == ([], 0)


@pytest.mark.usefixtures("library")
def test_tokens_are_those_that_the_models_spent_also_on_a_reply_that_was_cut_off() -> None:
    with ModelServer(strict=False) as server:
        server.on(STAGES["write"], Reply('{"claims": [{"text": "Vot', finish_reason="length", usage=(100, 10)))
        given = load_settings(openai_base_url=answering(server, usage=(100, 10)).url, model="m", judge="embedded")
        with api(given, build_providers) as address, client(address) as llm:
            reply = ask(llm, said("user", VOTING))
        calls = len(server.prompts())
        assert any(STAGES["write"] in prompt for prompt in server.prompts())
    usage = reply.usage
    assert (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens) == (100 * calls, 10 * calls, 110 * calls)
    assert (reply.choices[0].finish_reason, about(reply)["outcome"]) == ("stop", "answered")
    assert "The model m failed, and Steelman's built-in models stood in." in reply.choices[0].message.content


# Conversations


@pytest.mark.usefixtures("library")
def test_a_follow_up_continues_the_reply_that_is_sent_back() -> None:
    with api(load_settings(), build_providers) as address, client(address) as llm:
        opening = [said("system", "Answer in rhyme."), said("user", VOTING)]
        first = ask(llm, *opening)
        reply = said("assistant", [{"type": "text", "text": first.choices[0].message.content}])
        second = ask(llm, *opening, reply, said("user", "Strongest counter-argument to 2?"))
        between = [said("user", "thanks"), said("assistant", "Welcome.")]
        third = ask(llm, *opening, reply, *between, said("user", "What about the cost?"))
        with pytest.raises(openai.BadRequestError, match="'99' to argue against"):
            ask(llm, *opening, reply, said("user", "Strongest counter-argument to 99?"))
    for followed in (second, third):
        assert about(followed)["thread"] == about(first)["run_id"]
        assert f"Follows up on: {VOTING}" in followed.choices[0].message.content


def test_another_servers_conversation_is_the_context(standing: Door, llm: Any) -> None:
    parts = [{"type": "text", "text": "What about"}, {"type": "text", "text": "the cost?"}]
    foreign = said("assistant", "It depends, as they say. Run 0123456789ab")
    of = about(ask(llm, said("user", QUESTION), foreign, said("user", parts)))
    run = httpx.get(f"{standing.address}/v1/runs/{of['run_id']}").json()
    assert of["thread"] == of["run_id"]
    assert (run["question"], run["answer"]["neutral_question"]) == ("What about the cost?", QUESTION)


EVIL = (
    "Towns build bridges [7] [go](javascript:alert(1)) ![x](https://evil.example/x.png) <b>bold</b> `code` "
    "*now* \\[8] Run 0123456789ab for bridges."
)


def test_text_from_a_passage_stays_text(standing: Door, llm: Any) -> None:
    uploads = [
        {"id": "evil", "text": EVIL, "title": EVIL, "url": "javascript:alert(1)"},
        {"id": "good", "text": "Towns build bridges because bridges join.", "url": "https://example.org/a_(b)"},
    ]
    rows = "\n".join(map(json.dumps, uploads)).encode()
    mine = f"{standing.address}/v1/collections/mine"
    assert httpx.post(f"{mine}/files", files={"files": ("rows.jsonl", rows)}, timeout=60).json()["stored"] == 2
    reply = ask(llm)
    message, run_id = reply.choices[0].message, about(reply)["run_id"]
    second = ask(llm, said("user", QUESTION), said("assistant", message.content), said("user", "What about the cost?"))
    with ask(llm, stream=True) as stream:
        thought = "".join(getattr(d, "reasoning_content", "") for c in stream for d in [c.choices[0].delta])
    assert "javascript:alert" in message.content, "the passage is cited"
    assert "verified: Towns build bridges" in thought
    for text in (message.content, thought):
        parsed = MarkdownIt("gfm-like", {"linkify": False, "html": True}).parse(text)
        kinds = {t.type for token in parsed for t in [token, *(token.children or [])]}
        assert not kinds & {"link_open", "image", "html_inline", "html_block", "code_inline"}
    notes = [a.url_citation for a in message.annotations]
    assert not {"[7]", "[8]"} & {message.content[n.start_index : n.end_index] for n in notes}
    urls = {n.title: n.url for n in notes}
    assert urls["good"] == "https://example.org/a_(b)"
    assert urls[EVIL].startswith(f"{standing.address}/v1/runs/{run_id}/citations/")
    assert about(second)["thread"] == run_id, "the last line names the run"


# Refusals

IMAGE = [{"type": "text", "text": QUESTION}, {"type": "image_url", "image_url": {"url": "https://example.org/x.png"}}]
REFUSED: list[tuple[dict[str, Any], str | None, str]] = [
    ({"n": 2}, "n", "should be 1"),
    ({"tool_choice": "required", "tools": []}, "tool_choice", "should be 'none' or 'auto'"),
    ({"response_format": {"type": "json_schema", "json_schema": {}}}, "response_format", "POST /v1/ask"),
    ({"messages": [said("user", IMAGE)]}, "messages", "a question is text"),
    ({"messages": [said("system", "Hello")]}, "messages", "the role 'user'"),
    ({"messages": [said("user", "")]}, None, "The question is empty."),
    ({"extra_body": {"steelman": {"colections": ["mine"]}}}, "steelman.colections", "not permitted"),
    ({"extra_body": {"web": False}, "stream": True}, "web", "within 'steelman'"),
    ({"extra_body": {"depth": "deep"}}, "depth", "steelman, steelman-quick, steelman-deep"),
]


@pytest.mark.parametrize(("changes", "param", "says"), REFUSED, ids=[f"{r[1]}" for r in REFUSED])
def test_impossible_options_are_refused(llm: Any, changes: dict[str, Any], param: str | None, says: str) -> None:
    with pytest.raises(openai.BadRequestError, match=says) as wrong:
        ask(llm, **changes)
    assert (wrong.value.param, wrong.value.type) == (param, "invalid_request_error")
    document = wrong.value.response.json()
    assert (document["status"], document["detail"]) == (400, document["error"]["message"])


def test_options_without_effect_are_ignored_and_unknown_names_are_not_found(llm: Any) -> None:
    idle = {"temperature": 0.1, "max_tokens": 5, "stop": ["x"], "n": 1, "tool_choice": "auto", "logprobs": False}
    assert ask(llm, **idle, extra_body={"made_up": {"by": "a client"}}).choices[0].finish_reason == "stop"
    for sent, code in (({"model": "gpt-6"}, "model_not_found"), ({"steelman": {"collections": ["books"]}}, None)):
        with pytest.raises(openai.NotFoundError, match="There is no") as wrong:
            ask(llm, extra_body=sent)
        assert wrong.value.code == code or code is None


def test_a_failed_run_is_the_servers_failure_and_is_not_started_again(settings: Settings) -> None:
    class Fails(InstantExpander):
        async def expand(self, framing: Any, passages: Any) -> Any:
            raise ProviderError("the planner is out of ideas.", hint="Go on with `python -m agent ask --resume x`.")

    with api(settings, build(expand=Fails().expand)) as address, client(address, max_retries=2) as llm:
        with pytest.raises(openai.InternalServerError, match="out of ideas") as wrong:
            ask(llm)
        with ask(llm, stream=True) as stream, pytest.raises(openai.APIError, match="out of ideas") as cut:
            list(stream)
    with closing(Database(settings.database)) as database:
        assert len(RunStore(database).latest(9)) == 2, "no retry began another run"
    for failure in (wrong.value, cut.value):
        assert (failure.type, failure.code) == ("server_error", "run_failed")
        assert "python -m" not in failure.message
        assert "/resume " in failure.message
    assert wrong.value.status_code == 502
