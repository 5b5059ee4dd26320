"""The caller's runs, a page at a time."""

from typing import Annotated, Any

from fastapi import APIRouter, Query

from agent.runs.store import RunStatus
from api.callers import TheCaller
from api.openapi import run_links
from api.problems import responses
from api.schemas import MOST_RUNS, Cursor, RunId, RunList
from api.service import TheService

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
    return await service.listed(caller, limit, status, thread, after)
