"""The caller's runs, a page at a time."""

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Query

from agent.runs.store import RunRow, RunStatus
from api.callers import TheCaller
from api.openapi import run_links
from api.problems import responses
from api.service import TheService, summary_of
from api.shapes import MOST_RUNS, Cursor, RunId, RunList

router = APIRouter(prefix="/v1/runs", tags=["runs"])
_PAGE = 20
_LINKED: dict[int | str, dict[str, Any]] = {200: {"links": run_links("$response.body#/runs/0/id")}}


@router.get("", response_model=RunList, responses={**_LINKED, **responses(422, 503)})
async def list_runs(
    service: TheService,
    caller: TheCaller,
    limit: Annotated[int, Query(ge=1, le=MOST_RUNS)] = _PAGE,
    after: Annotated[Cursor | None, Query(description="The `next` of the page before.")] = None,
    status: Annotated[RunStatus | None, Query(description="Only those; one that is abandoned is running.")] = None,
    thread: Annotated[RunId | None, Query(description="Only those of this thread.")] = None,
) -> RunList:
    """The caller's own runs, newest first; where no key is needed, all that there are.

    What is begun meanwhile is on no later page, and what is deleted meanwhile moves nothing.
    """
    last = None if after is None else _place_of(after)
    rows = await asyncio.to_thread(service.asked.listed, caller.key_id, limit + 1, status, thread, last)
    page = rows[:limit]
    return RunList(runs=[summary_of(row) for row in page], next=_cursor(page[-1]) if len(rows) > limit else None)


def _cursor(row: RunRow) -> str:
    return f"{row.created_at.removesuffix('+00:00')}Z-{row.id}"


def _place_of(cursor: str) -> tuple[str, str]:
    at, _, run_id = cursor.rpartition("Z-")
    return f"{at}+00:00", run_id
