"""Replies as the vendors' own interfaces stream them, for the scripted server: Anthropic's, Gemini's and Ollama's."""

import json
from collections.abc import Callable, Iterator
from typing import Any

from model_server import ModelServer, Reply

Streamed = Callable[[str, int, int], bytes]


def _parts(text: str) -> Iterator[str]:
    return (text[i : i + 12] for i in range(0, len(text), 12))


def anthropic(text: str, given: int, made: int) -> bytes:
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": []}
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": {**message, "usage": {"input_tokens": given, "output_tokens": 1}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "ping"},
        *(
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": part}}
            for part in _parts(text)
        ),
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn", "stop_sequence": None},
            "usage": {"input_tokens": given, "output_tokens": made},
        },
        {"type": "message_stop"},
    ]
    return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events).encode()


def gemini(text: str, given: int, made: int) -> bytes:
    """Each part counts all that has come so far."""
    parts = list(_parts(text)) or [""]
    events = [
        {
            "candidates": [{"content": {"role": "model", "parts": [{"text": part}]}, "index": 0}],
            "usageMetadata": {
                "promptTokenCount": given,
                "candidatesTokenCount": made * (i + 1) // len(parts),
                "totalTokenCount": given + made * (i + 1) // len(parts),
            },
        }
        for i, part in enumerate(parts)
    ]
    events[-1]["candidates"][0]["finishReason"] = "STOP"  # type: ignore[index]
    return "".join(f"data: {json.dumps(event)}\r\n\r\n" for event in events).encode()


def ollama(text: str, given: int, made: int) -> bytes:
    head = {"model": "m", "created_at": "2026-01-01T00:00:00Z"}
    lines: list[dict[str, Any]] = [
        *({**head, "message": {"role": "assistant", "content": part}, "done": False} for part in _parts(text)),
        {
            **head,
            "message": {"role": "assistant", "content": ""},
            "done": True,
            "done_reason": "stop",
            "prompt_eval_count": given,
            "eval_count": made,
        },
    ]
    return "".join(f"{json.dumps(line)}\n" for line in lines).encode()


STREAMED: dict[str, tuple[str, Streamed]] = {
    "anthropic": ("/v1/messages", anthropic),
    "google_genai": (":streamGenerateContent", gemini),
    "ollama": ("/api/chat", ollama),
}
"""The path that each vendor is asked at, and how its reply is written."""


def says(vendor: str, content: Any, usage: tuple[int, int] = (20, 5), **how: Any) -> Reply:
    """The vendor's reply; `how` as for `Reply`."""
    text = content if isinstance(content, str) else json.dumps(content)
    kind = "application/x-ndjson" if vendor == "ollama" else "text/event-stream"
    return Reply(raw=STREAMED[vendor][1](text, *usage), headers={"Content-Type": kind}, **how)


def refuses(status: int, said: str, **how: Any) -> Reply:
    """A refusal in a form that each of them knows."""
    return Reply(raw=json.dumps({"error": {"message": said, "type": "refused"}}).encode(), status=status, **how)


def script(server: ModelServer, vendor: str, *replies: Any, match: Any = "", **how: Any) -> ModelServer:
    return server.on(match, *replies, path=STREAMED[vendor][0], **how)
