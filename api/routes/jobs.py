"""Jobs: the caller's own large uploads; how far one is; stop it, go on with it, delete it."""

from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.responses import Response

from api.callers import TheCaller
from api.openapi import JOB_LOCATED, job_links
from api.patterns import AnyCollection, InDigits, JobCursor, JobId
from api.problems import responses
from api.schemas import MOST_RUNS, JobCancelled, JobDetails, JobList, JobStatus
from api.service import TheService

listing = APIRouter(prefix="/v1/jobs", tags=["jobs"])
router = APIRouter(prefix="/v1/jobs/{job_id}", tags=["jobs"], responses=responses(404, 422))
_PAGE = 20
_LINKED: dict[int | str, dict[str, Any]] = {200: {"links": job_links("$response.body#/jobs/0/id")}}


@listing.get("", response_model=JobList, responses={**_LINKED, **responses(422, 503)})
async def list_jobs(
    service: TheService,
    caller: TheCaller,
    limit: Annotated[int, Query(ge=1, le=MOST_RUNS), InDigits] = _PAGE,
    after: Annotated[JobCursor | None, Query(description="The `next` of the page before.")] = None,
    status: Annotated[JobStatus | None, Query(description="Only those.")] = None,
    collection: Annotated[AnyCollection | None, Query(description="Only those that store into this one.")] = None,
) -> JobList:
    """The caller's own jobs, newest first; where no key is needed, all that there are."""
    return await service.jobs.listed(caller, limit, status, collection, after)


@router.get("", response_model=JobDetails)
async def read_job(job_id: JobId, service: TheService, caller: TheCaller) -> JobDetails:
    """How far the job is, and once it is done what the upload came to."""
    return await service.jobs.state(caller, job_id)


@router.post("/cancel", response_model=JobCancelled)
async def cancel_job(job_id: JobId, service: TheService, caller: TheCaller) -> JobCancelled:
    """Stops the job where a document ends. What it stored stays, and `resume` goes on with the rest."""
    return JobCancelled(id=job_id, stopped=await service.jobs.cancel(caller, job_id))


@router.post("/resume", status_code=202, response_model=JobDetails, responses={202: JOB_LOCATED, **responses(409, 503)})
async def resume_job(job_id: JobId, service: TheService, caller: TheCaller, response: Response) -> JobDetails:
    """Goes on with a job that was stopped, interrupted, or has failed; what is stored already is not stored again."""
    await service.jobs.resume(caller, job_id)
    response.headers["Location"] = f"/v1/jobs/{job_id}"
    return await service.jobs.state(caller, job_id)


@router.delete("", status_code=204, responses=responses(409))
async def delete_job(job_id: JobId, service: TheService, caller: TheCaller) -> None:
    """Removes the job and what is kept of its upload. The documents that it stored stay."""
    await service.jobs.delete(caller, job_id)
