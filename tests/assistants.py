"""What the tests of MCP share: an assistant's session by the official client, and a look at the runs it began."""

import asyncio
import sqlite3
from collections.abc import Callable

import pytest
from agent_fixtures import QUESTION
from mcp import Client
from mcp_types import CallToolResult, TextContent, TextResourceContents

from agent.answer.model import Answer
from agent.answer.retrieved import Retrieved
from agent.settings import Settings
from api.schemas import Judged

ERAS = pytest.mark.parametrize("era", ["legacy", "auto"])
"""With the handshake, as clients of 2025 do it, and as the package's client would have it today."""
TOPIC = "Should cities build tunnels?"


def words(result: CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


def statuses(settings: Settings) -> dict[str, str]:
    """The runs as they stand, oldest first."""
    with sqlite3.connect(settings.database_path) as db:
        found = dict(db.execute("SELECT id, status FROM runs ORDER BY rowid").fetchall())
    db.close()
    return found


async def until(true: Callable[[], bool], seconds: float = 20) -> None:
    async with asyncio.timeout(seconds):
        while not true():
            await asyncio.sleep(0.05)


async def goes_through(client: Client) -> None:
    """An assistant's session: look round, ask, follow up, read again what was answered."""
    tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert set(tools) == {"ask", "retrieve", "judge"}
    for tool in tools.values():
        assert tool.description is not None
        assert "Use it" in tool.description
        assert tool.annotations is not None
        assert tool.annotations.read_only_hint
        assert tool.output_schema is not None
        fields = tool.input_schema["properties"].values()
        assert all(field.get("description") or field.get("items") for field in fields)

    told: list[tuple[float, float | None, str | None]] = []

    async def tell(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, total, message))

    asked = await client.call_tool("ask", {"question": QUESTION}, progress_callback=tell)
    answer = Answer.model_validate(asked.structured_content)
    assert answer.outcome == "answered"
    assert answer.question == QUESTION
    text = words(asked)
    assert all(claim.text in text for s in answer.perspectives for claim in s.claims)
    assert "[1]" in text
    assert f"thread={answer.run_id}" in text
    assert "python -m" not in text
    done = [d for d, _, _ in told]
    assert done == sorted(set(done))
    assert (done[-1], told[-1][1]) == (100.0, 100.0)
    assert "For: 40 passages to read closely." in [m for _, _, m in told]

    followed = await client.call_tool("ask", {"question": "What about the cost?", "thread": answer.run_id})
    assert Answer.model_validate(followed.structured_content).focus == "What about the cost?"

    found = await client.call_tool("retrieve", {"question": TOPIC, "depth": "quick", "web": False})
    retrieved = Retrieved.model_validate(found.structured_content)
    assert [p.stance for p in retrieved.perspectives] == ["supports", "opposes"]
    assert retrieved.perspectives[0].passages[0].text.split(".")[0] in words(found)

    pairs = [{"statement": "Bridges carry towns.", "passage": "A bridge carries a town.", "contrary": "They do not."}]
    judged = await client.call_tool("judge", {"pairs": pairs * 2})
    assert Judged.model_validate(judged.structured_content).probabilities == [0.9, 0.9]
    assert "2. 0.90 supports: Bridges carry towns." in words(judged)

    kept = (await client.list_resources()).resources
    assert [r.title for r in kept[:2]] == ["What about the cost?", QUESTION]
    assert kept[1].uri == f"steelman://answers/{answer.run_id}"
    (page,) = (await client.read_resource(kept[1].uri)).contents
    assert isinstance(page, TextResourceContents)
    assert page.mime_type == "text/markdown"
    assert text.startswith(page.text)
