"""Runs: the caller's own; how far one is, its events, its passages; stop it, go on with it, delete it."""

from typing import Annotated

from fastapi import APIRouter, Header, Path, Query
from pydantic import WithJsonSchema
from starlette.responses import Response

from agent.answer.model import Citation
from agent.answer.retrieved import Retrieved
from agent.runs.store import RunStatus
from api.callers import TheCaller
from api.events import EVENTS, event_stream
from api.problems import LOCATED, ProblemError, responses
from api.schemas import MOST_RUNS, Cancelled, Cursor, InDigits, ResumeRequest, RunDetails, RunId, RunList
from api.service import TheService

_NUMBER = {"type": "integer", "minimum": 0, "maximum": 2**31}
LastEventId = Annotated[
    int | None, Header(ge=0, le=2**31, description="As EventSource sends it."), InDigits, WithJsonSchema(_NUMBER)
]

router = APIRouter(prefix="/v1/runs", tags=["runs"], responses=responses(404, 422))
_PAGE = 20


@router.get("", response_model=RunList, responses=responses(503))
async def list_runs(
    service: TheService,
    caller: TheCaller,
    limit: Annotated[int, Query(ge=1, le=MOST_RUNS), InDigits] = _PAGE,
    after: Annotated[Cursor | None, Query(description="The `next` of the page before.")] = None,
    status: Annotated[RunStatus | None, Query(description="Only those; one that is abandoned is running.")] = None,
    thread: Annotated[RunId | None, Query(description="Only those of this thread.")] = None,
) -> RunList:
    """The caller's own runs, newest first; where no key is needed, all that there are.

    What is begun meanwhile is on no later page, and what is deleted meanwhile moves nothing.
    """
    return await service.listed(caller, limit, status, thread, after)


@router.get("/{run_id}", response_model=RunDetails)
async def read_run(run_id: RunId, service: TheService, caller: TheCaller) -> RunDetails:
    """How far the run is, and its answer once it has one."""
    return await service.state(caller, run_id)


@router.get(
    "/{run_id}/events",
    response_model=None,
    responses={
        200: {"description": "Events as they come", "content": EVENTS},
        204: {"description": "The run has ended, and there is nothing after that event: do not come again"},
    },
)
async def run_events(
    run_id: RunId,
    service: TheService,
    caller: TheCaller,
    last_event_id: LastEventId = None,
    after: Annotated[
        int, Query(ge=0, le=2**31, description="The same, for clients that cannot set headers."), InDigits
    ] = 0,
) -> Response:
    """The run's events after the last one that the caller has seen, until the run ends or waits for its sides."""
    row = await service.run(caller, run_id)
    seen = after if last_event_id is None else last_event_id
    if row.status != "running" and not await service.runs.recent_events(run_id, seen):
        return Response(status_code=204)
    return event_stream(service, run_id, seen)


@router.get("/{run_id}/passages", response_model=Retrieved, responses=responses(409))
async def run_passages(run_id: RunId, service: TheService, caller: TheCaller) -> Retrieved:
    """What a run that has ended found for each side."""
    await _ended(service, caller, run_id)
    return await service.retrieved(run_id)


@router.get("/{run_id}/citations/{number}", response_model=Citation, responses=responses(409))
async def run_citation(
    run_id: RunId, number: Annotated[int, Path(ge=1, le=2**31), InDigits], service: TheService, caller: TheCaller
) -> Citation:
    """A source that the run's answer cites, with the words it stands on."""
    await _ended(service, caller, run_id)
    for found in (await service.answer(run_id)).citations:
        if found.number == number:
            return found
    raise ProblemError(404, "unknown-citation", "No such citation", f"The answer has no citation {number}.")


@router.post("/{run_id}/cancel", response_model=Cancelled)
async def cancel_run(run_id: RunId, service: TheService, caller: TheCaller) -> Cancelled:
    """Stops the run; `resume` goes on from its last finished stage."""
    await service.run(caller, run_id)
    return Cancelled(id=run_id, stopped=await service.runs.cancel(run_id))


@router.post(
    "/{run_id}/resume",
    status_code=202,
    response_model=RunDetails,
    responses={202: LOCATED, **responses(400, 409, 413, 415, 503)},
)
async def resume_run(
    run_id: RunId, service: TheService, caller: TheCaller, response: Response, request: ResumeRequest | None = None
) -> RunDetails:
    """Goes on with a run that was stopped or has failed; `sides` answer one that waits for its sides."""
    await service.resume(caller, run_id, request.sides if request else None)
    response.headers["Location"] = f"/v1/runs/{run_id}"
    return await service.state(caller, run_id)


@router.delete("/{run_id}", status_code=204, responses=responses(409))
async def delete_run(run_id: RunId, service: TheService, caller: TheCaller) -> None:
    """Removes the run, its answer and the pages that it read."""
    await service.run(caller, run_id)
    await service.runs.delete(run_id)


async def _ended(service: TheService, caller: TheCaller, run_id: str) -> None:
    """Raises ProblemError of a run that has no answer."""
    row = await service.run(caller, run_id)
    advice = {
        "running": f"Follow GET /v1/runs/{run_id}/events until it is done.",
        "waiting": f"Send its sides to POST /v1/runs/{run_id}/resume.",
    }.get(row.status, f"POST /v1/runs/{run_id}/resume goes on with it.")
    if row.status != "done":
        detail = f"Run {run_id} is {row.status}. {advice}"
        raise ProblemError(409, "run-not-done", "The run has no answer", detail)
