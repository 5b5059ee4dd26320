"""OpenAI-compatible calls, by the clients that programs have: OpenAI's own and LangChain's, over the real server."""

import json
import re
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import httpx
import openai
import pytest
from agent_fixtures import QUESTION
from answering_model import QUESTION as VOTING
from answering_model import answering
from api_on_loopback import Door, api
from conftest import ROOT
from instant_providers import InstantExpander
from markdown_it import MarkdownIt
from model_server import ModelServer
from providers import ScriptedJudge, build

from agent.runs.build import build_providers
from agent.runs.store import RunStore
from agent.settings import Settings, load_settings
from tools.errors import ProviderError
from tools.models.judges.judge import Pair
from tools.store.database import Database


@contextmanager
def client(address: str, **changes: Any) -> Iterator[Any]:
    given = {"base_url": f"{address}/v1", "api_key": "any", "max_retries": 0, **changes}
    with openai.OpenAI(**given) as made:
        yield made


def ask(llm: Any, *messages: dict[str, Any], **changes: Any) -> Any:
    """A completion of these messages, or of the usual question."""
    given = {"model": "steelman", "messages": list(messages) or [said("user", QUESTION)], **changes}
    return llm.chat.completions.create(**given)


def said(role: str, content: Any) -> dict[str, Any]:
    return {"role": role, "content": content}


def of(reply: Any) -> dict[str, Any]:
    """What stands beside OpenAI's members."""
    return dict(reply.steelman)


pytest_plugins = ["api_on_loopback"]


@pytest.fixture(scope="module")
def llm(standing: Door) -> Iterator[Any]:
    with client(standing.address) as made:
        yield made


class Fails(InstantExpander):
    async def expand(self, framing: Any, passages: Any) -> Any:
        raise ProviderError("the planner is out of ideas.", hint="Go on with `python -m agent ask --resume x`.")


# --- OpenAI's client --------------------------------------------------------------------------------------------------


def test_openais_client_gets_the_answer_with_its_sources(standing: Door, llm: Any) -> None:
    address = standing.address
    reply = ask(llm)
    choice, about = reply.choices[0], of(reply)
    assert (choice.finish_reason, choice.message.role) == ("stop", "assistant")
    assert (reply.id, about["outcome"]) == (f"chatcmpl-{about['run_id']}", "answered")
    assert abs(reply.created - time.time()) < 60
    run = httpx.get(f"{address}/v1/runs/{about['run_id']}").json()
    assert about["thread"] == run["thread"]
    content = choice.message.content or ""
    assert content.startswith(f"# {QUESTION}\n")
    assert f"Run {about['run_id']}" in content.splitlines()[-1]
    assert "python -m" not in content
    annotations = choice.message.annotations or []
    cited = [n for s in run["answer"]["perspectives"] for c in s["claims"] for n in c["citations"]]
    assert len(annotations) == len(cited) > 2
    for note, number in zip((a.url_citation for a in annotations), cited, strict=True):
        assert content[note.start_index : note.end_index] == f"[{number}]"
        source = httpx.get(note.url).json()
        assert (source["number"], source["publisher"]) == (number, note.title)


def test_a_stream_is_the_same_document(standing: Door, llm: Any) -> None:
    address = standing.address
    usage = {"include_usage": True}
    with ask(llm, model="steelman-quick", stream=True, stream_options=usage) as stream:
        chunks = list(stream)
    whole = ask(llm, model="steelman-quick")
    run_id = of(chunks[0])["run_id"]
    again = httpx.get(f"{address}/v1/runs/{run_id}").json()["answer"]
    assert {c.id for c in chunks} == {f"chatcmpl-{run_id}"}
    assert chunks[0].choices[0].delta.role == "assistant"
    deltas = [c.choices[0].delta for c in chunks[:-1]]
    content = "".join(d.content or "" for d in deltas)
    assert content.splitlines()[:-1] == whole.choices[0].message.content.splitlines()[:-1]
    assert f"Run {run_id}" in content.splitlines()[-1]
    (annotated,) = [d.annotations for d in deltas if getattr(d, "annotations", None)]
    assert [a["url_citation"]["start_index"] for a in annotated] == [
        a.url_citation.start_index for a in whole.choices[0].message.annotations
    ]
    told = "".join(getattr(d, "reasoning_content", "") for d in deltas)
    assert all(f"verified: {c['text']}" in told for s in again["perspectives"] for c in s["claims"])
    assert [c.choices[0].finish_reason for c in chunks[:-1]] == [None] * (len(chunks) - 2) + ["stop"]
    assert (chunks[-1].choices, chunks[-1].usage.total_tokens) == ([], 0)
    assert [of(c)["outcome"] for c in (chunks[0], chunks[-1])] == [None, "answered"]


@pytest.mark.usefixtures("library")
def test_tokens_are_those_that_the_models_spent() -> None:
    with ModelServer() as server:
        answering(server, usage=(100, 10))
        given = load_settings(
            openai_base_url=server.url, model="test-model", openai_api_key="sk-of-the-test", judge="embedded"
        )
        with api(given, build_providers) as address, client(address) as llm:
            reply = ask(llm, said("user", VOTING))
        calls = len([r for r in server.requests if r.path.endswith("/chat/completions")])
    usage = reply.usage
    assert usage is not None
    assert (usage.prompt_tokens, usage.completion_tokens) == (100 * calls, 10 * calls)
    assert usage.total_tokens == 110 * calls > 0


CHOICES: list[tuple[dict[str, Any], str, str]] = [
    ({"steelman": {"colections": ["mine"]}}, "steelman.colections", "no such field; /openapi.json lists them"),
    ({"steelman": {"collections": []}}, "steelman.collections", "at least 1 item"),
    ({"steelman": {"review": True}}, "steelman.review", "no such field"),
    ({"steelman": ["mine"]}, "steelman", "a valid dictionary or object"),
    ({"web": False}, "web", r"within 'steelman', as in \{"),
    ({"depth": "deep"}, "depth", "the model says how much is searched: steelman, steelman-quick, steelman-deep"),
]


def test_a_choice_that_cannot_be_is_never_passed_over(llm: Any) -> None:
    for body, param, message in CHOICES:
        with pytest.raises(openai.BadRequestError, match=message) as wrong:
            ask(llm, stream=True, extra_body=body)
        assert (wrong.value.param, wrong.value.type) == (param, "invalid_request_error")
    with pytest.raises(openai.NotFoundError, match=r"no collection 'books'\. There are: .* GET /v1/collections"):
        ask(llm, extra_body={"steelman": {"collections": ["books"]}})


# --- Conversations ----------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("library")
def test_a_follow_up_goes_on_from_the_reply_that_is_sent_back() -> None:
    with api(load_settings(), build_providers) as address, client(address) as llm:
        opening = [said("system", "Answer in rhyme."), said("user", VOTING)]
        first = ask(llm, *opening)
        reply = said("assistant", [{"type": "text", "text": first.choices[0].message.content}])
        second = ask(llm, *opening, reply, said("user", "Strongest counter-argument to 2?"))
        between = [said("user", "thanks"), said("assistant", "Welcome.")]
        third = ask(llm, *opening, reply, *between, said("user", "What about the cost?"))
        with pytest.raises(openai.BadRequestError, match="last answer has no '99' to argue against"):
            ask(llm, *opening, reply, said("user", "Strongest counter-argument to 99?"))
    assert of(second)["thread"] == of(third)["thread"] == of(first)["run_id"]
    assert f"Goes on from: {VOTING}" in second.choices[0].message.content
    assert f"Goes on from: {VOTING}" in third.choices[0].message.content
    assert "rhyme" not in first.choices[0].message.content


def test_an_app_that_wants_what_comes_next_gets_the_answers_follow_ups(settings: Settings) -> None:
    def sided(pair: Pair) -> float:  # each passage speaks for one side, by the number of its bridge's arches
        return 0.9 if ("not" in pair.statement) == any(even in pair.text for even in "2468") else 0.1

    with api(settings, build(judge=ScriptedJudge(sided))) as address, client(address) as llm:
        answer = ask(llm).choices[0].message.content
        history = f"<chat_history>\nUSER: {QUESTION}\nASSISTANT: {answer}\n</chat_history>"
        reply = ask(llm, said("user", f'### Xxx:\nJSON: {{ "follow_ups": ["?"] }}\n### Xxx:\n{history}'))
    assert "What speaks against 1?" in json.loads(reply.choices[0].message.content)["follow_ups"]


def test_a_conversation_that_is_not_ours_is_the_context(standing: Door, llm: Any) -> None:
    address = standing.address
    parts = [{"type": "text", "text": "What about"}, {"type": "text", "text": "the cost?"}]
    foreign = said("assistant", "It depends, as they say. Run 0123456789ab")
    reply = ask(llm, said("user", QUESTION), foreign, said("user", parts))
    run = httpx.get(f"{address}/v1/runs/{of(reply)['run_id']}").json()
    assert of(reply)["thread"] == of(reply)["run_id"]
    assert (run["question"], run["answer"]["neutral_question"]) == ("What about the cost?", QUESTION)


# --- Text from sources ------------------------------------------------------------------------------------------------

EVIL = (
    "Towns build bridges [7] [go](javascript:alert(1)) ![x](https://evil.example/x.png) <b>bold</b> `code` "
    "*now* \\[8] Run 0123456789ab for bridges."
)


def test_what_a_passage_says_is_shown_and_obeyed_by_nothing(standing: Door, llm: Any) -> None:
    uploads = [
        {"id": "evil", "text": EVIL, "title": EVIL, "url": "javascript:alert(1)"},
        {"id": "good", "text": "Towns build bridges because bridges join.", "url": "https://example.org/a_(b)"},
    ]
    rows = "\n".join(map(json.dumps, uploads)).encode()
    address = standing.address
    httpx.delete(f"{address}/v1/collections/mine")
    stored = httpx.post(f"{address}/v1/collections/mine/files", files={"files": ("rows.jsonl", rows)})
    assert stored.json()["stored"] == 2
    reply = ask(llm)
    message = reply.choices[0].message
    sent_back = [said("user", QUESTION), said("assistant", message.content)]
    second = ask(llm, *sent_back, said("user", "What about the cost?"))
    with ask(llm, stream=True) as stream:
        told = "".join(getattr(d, "reasoning_content", "") for c in stream for d in [c.choices[0].delta])
    content = message.content or ""
    assert "javascript:alert" in content, "the passage is cited"
    assert "verified: Towns build bridges" in told
    for text in (content, told):
        parsed = MarkdownIt("gfm-like", {"linkify": False, "html": True}).parse(text)
        kinds = {t.type for token in parsed for t in [token, *(token.children or [])]}
        assert not kinds & {"link_open", "image", "html_inline", "html_block", "code_inline"}
    notes = [a.url_citation for a in message.annotations or []]
    numbers = [content[n.start_index : n.end_index] for n in notes]
    assert len(numbers) > 1
    assert not {"[7]", "[8]"} & set(numbers)
    urls = {n.title: n.url for n in notes}
    assert urls["good"] == "https://example.org/a_(b)"
    assert urls[EVIL].startswith(f"{address}/v1/runs/{of(reply)['run_id']}/citations/")
    assert of(second)["thread"] == of(reply)["run_id"], "the run is the one of the last line"


# --- What cannot be honoured ------------------------------------------------------------------------------------------

IMAGE = [{"type": "text", "text": QUESTION}, {"type": "image_url", "image_url": {"url": "https://example.org/x.png"}}]


REFUSED: list[tuple[dict[str, Any], str | None, str]] = [
    ({"n": 2}, "n", "gets one answer"),
    ({"tool_choice": "required", "tools": []}, "tool_choice", "calls no tools"),
    ({"tool_choice": {"type": "function", "function": {"name": "f"}}}, "tool_choice", "calls no tools"),
    ({"function_call": {"name": "f"}}, "function_call", "calls no tools"),
    ({"response_format": {"type": "json_schema", "json_schema": {}}}, "response_format", "POST /v1/ask"),
    ({"logprobs": True}, "logprobs", "no log-probabilities"),
    ({"modalities": ["text", "audio"]}, "modalities", "is text"),
    ({"audio": {"voice": "alloy", "format": "mp3"}}, "audio", "is text"),
    ({"messages": [said("user", IMAGE)]}, "messages.0.content.1", "of the type 'image_url'"),
    ({"messages": [said("system", "Hello")]}, "messages", "no message has the role 'user'"),
    ({"messages": [said("user", 5)]}, "messages.0.content.text", "valid string"),
    ({"stream": "yes"}, "stream", "valid boolean"),
    ({"messages": [said("user", "")]}, None, "The question is empty."),
]


def test_what_cannot_be_is_refused_in_so_many_words(llm: Any) -> None:
    for changes, param, message in REFUSED:
        with pytest.raises(openai.BadRequestError, match=message) as wrong:
            ask(llm, **changes)
        assert (wrong.value.param, wrong.value.type) == (param, "invalid_request_error")
        document = wrong.value.response.json()
        assert document["status"] == 400
        assert document["detail"] == document["error"]["message"]
        assert wrong.value.response.headers["content-type"] == "application/problem+json"
    idle = {"temperature": 0.1, "max_tokens": 5, "stop": ["x"], "n": 1.0, "tool_choice": "auto", "logprobs": False}
    assert ask(llm, **idle, extra_body={"made_up": {"by": "a client"}}).choices[0].finish_reason == "stop"


def test_an_unknown_model_and_an_unknown_call_are_not_found(llm: Any) -> None:
    with pytest.raises(openai.NotFoundError, match="no model 'gpt-6'") as wrong:
        ask(llm, model="gpt-6")
    assert wrong.value.code == "model_not_found"
    with pytest.raises(openai.NotFoundError, match="There is nothing at /v1/responses"):
        llm.responses.create(model="steelman", input=QUESTION)


def test_a_failed_run_is_the_servers_failure_and_is_not_asked_for_again(settings: Settings) -> None:
    with api(settings, build(expand=Fails().expand)) as address, client(address, max_retries=2) as llm:
        with pytest.raises(openai.InternalServerError, match="out of ideas") as wrong:
            ask(llm)
        with ask(llm, stream=True) as stream:
            run_id = of(next(stream))["run_id"]
            with pytest.raises(openai.APIError, match="out of ideas") as cut:
                list(stream)
        assert httpx.get(f"{address}/v1/runs/{run_id}").json()["status"] == "failed"
    with closing(Database(settings.database_path)) as database:
        assert len(RunStore(database).latest(9)) == 2, "no request began a second run"
    for failure in (wrong.value, cut.value):
        assert (failure.type, failure.code) == ("server_error", "run_failed")
        assert "python -m" not in failure.message
        assert "/resume goes on with it." in failure.message
    assert wrong.value.status_code == 502


# --- As documented ----------------------------------------------------------------------------------------------------


def test_the_documented_lines_work(standing: Door, capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "openai.md").read_text(), re.DOTALL)
    address = standing.address
    for block in blocks:
        exec(compile(block.replace("http://127.0.0.1:8000", address), "docs/openai.md", "exec"), {})
        assert capsys.readouterr().out.startswith("# Should schools ban smartphones?\n")
    assert len(blocks) == 3
