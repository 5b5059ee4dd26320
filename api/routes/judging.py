"""The judge by itself: pairs of statement and passage in, probabilities out."""

import math

from fastapi import APIRouter

from api.callers import Caller, TheCaller
from api.problems import responses
from api.schemas import Judged, JudgeRequest
from api.service import Service, TheService
from tools.errors import JudgeError, ended
from tools.inference.judges.judge import Pair

router = APIRouter(tags=["judge"])
_SECONDS = 60.0


@router.post("/v1/judge", response_model=Judged, responses=responses(400, 413, 415, 422, 502, 503, 504))
async def judge(request: JudgeRequest, service: TheService, caller: TheCaller) -> Judged:
    """How likely each passage supports its statement, by the judge in force; the embedded one stands in if it fails."""
    return await judged(request, service, caller)


async def judged(request: JudgeRequest, service: Service, caller: Caller) -> Judged:
    """The verdicts, whoever asks for them. Raises ProblemError while too much of the caller's is at work."""
    with service.beside(caller):
        return await _judged(request, service)


async def _judged(request: JudgeRequest, service: Service) -> Judged:
    models = service.runs.providers.models
    pairs = [Pair(p.statement, p.passage, p.contrary) for p in request.pairs]
    notes: list[str] = []
    chosen = models.judge()
    try:
        scores = await chosen.support(pairs, _SECONDS)
    except JudgeError as exc:
        if models.judge_required:
            raise
        notes.append(f"{ended(str(exc))} The embedded judge stood in for it.")
        chosen = models.judge(models.own_judge.name)
        scores = await chosen.support(pairs, _SECONDS)
    probabilities = [None if math.isnan(s) else round(float(s), 4) for s in scores]
    return Judged(judge=chosen.name, threshold=chosen.threshold, probabilities=probabilities, notes=notes)
