"""Past answers as resources: a caller's own, as Markdown and as JSON."""

import re

from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    TextResourceContents,
)

from agent.answer.render.markdown import to_markdown
from api.callers import Caller
from api.hints import stored_answer
from api.mcp.texts import SCHEME
from api.service import Service
from tools.errors import UnknownRunError

LISTED = 50
_ADDRESS = re.compile(rf"{re.escape(SCHEME)}([0-9a-f]{{12}})(/json)?")
_MARKDOWN, _JSON = "text/markdown", "application/json"


def templates() -> ListResourceTemplatesResult:
    """How the address of an answer is made."""
    return ListResourceTemplatesResult(
        resource_templates=[
            ResourceTemplate(
                uri_template=f"{SCHEME}{{run_id}}",
                name="answer",
                title="A past answer",
                description="An earlier answer with its citations. The run id stands at the end of the answer.",
                mime_type=_MARKDOWN,
            ),
            ResourceTemplate(
                uri_template=f"{SCHEME}{{run_id}}/json",
                name="answer_json",
                title="A past answer as JSON",
                description="The same with everything that is known: every side's evidence, providers, timings.",
                mime_type=_JSON,
            ),
        ]
    )


async def listed(service: Service, caller: Caller) -> ListResourcesResult:
    """The caller's last answers, newest first."""
    rows = await service.answered(caller, LISTED)
    return ListResourcesResult(
        resources=[
            Resource(
                uri=f"{SCHEME}{row.id}",
                name=row.id,
                title=row.question,
                description=f"Answered {row.finished_at}",
                mime_type=_MARKDOWN,
            )
            for row in rows
        ]
    )


async def read(service: Service, caller: Caller, uri: str) -> ReadResourceResult:
    """The answer at the address. Raises MCPError for one that is not the caller's, not there, or no address of ours."""
    address = _ADDRESS.fullmatch(uri)
    if address is None:
        raise _no(uri, f"There is no such resource. Resources are {SCHEME} and the twelve characters of a run's id.")
    try:
        row = await service.run(caller, address[1])
    except UnknownRunError:
        raise _no(uri, f"There is no answer of run {address[1]}. List the resources to see your last ones.") from None
    if (answer := stored_answer(row)) is None:
        wait = "Read it again in a few seconds." if row.status == "running" else "Ask again."
        raise _no(uri, f"Run {row.id} has no answer: it is {row.status}. {wait}")
    text, kind = (answer.model_dump_json(), _JSON) if address[2] else (to_markdown(answer, remote=True), _MARKDOWN)
    return ReadResourceResult(contents=[TextResourceContents(uri=uri, text=text, mime_type=kind)])


def _no(uri: str, why: str) -> MCPError:
    return MCPError(code=INVALID_PARAMS, message=why, data={"uri": uri})
