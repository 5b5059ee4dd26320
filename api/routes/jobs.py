"""Jobs: how far a large upload of the caller's is; stop it."""

from fastapi import APIRouter

from api.callers import TheCaller
from api.patterns import JobId
from api.problems import responses
from api.schemas import JobCancelled, JobDetails
from api.service import TheService

router = APIRouter(prefix="/v1/jobs/{job_id}", tags=["jobs"], responses=responses(404, 422))


@router.get("", response_model=JobDetails)
async def read_job(job_id: JobId, service: TheService, caller: TheCaller) -> JobDetails:
    """How far the job is, and once it is done what the upload came to."""
    return service.jobs.state(caller, job_id)


@router.post("/cancel", response_model=JobCancelled)
async def cancel_job(job_id: JobId, service: TheService, caller: TheCaller) -> JobCancelled:
    """Stops the job where a document ends. What it stored stays."""
    return JobCancelled(id=job_id, stopped=await service.jobs.cancel(caller, job_id))
