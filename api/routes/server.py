"""The server itself: whether it lives and can work, its figures, and its calls as a page."""

import asyncio

from fastapi import APIRouter, Request
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.responses import HTMLResponse, Response

from api.problems import responses
from api.reference.page import ReferencePage
from api.schemas import Health
from api.service import TheService

router = APIRouter(tags=["health"])


@router.get("/healthz", response_model=Health)
async def healthz() -> Health:
    """The process answers."""
    return Health(status="ok")


@router.get("/readyz", response_model=Health, responses=responses(503))
async def readyz(service: TheService) -> Health:
    """The store can be read, so that questions can be answered; whether its indexes are whole."""
    await asyncio.to_thread(service.runs.store.encoders)
    notes = await asyncio.to_thread(service.runs.providers.search.condition)
    return Health(status="degraded" if notes else "ready", notes=notes)


@router.get(
    "/metrics",
    response_model=None,
    responses={200: {"content": {CONTENT_TYPE_LATEST: {"schema": {"type": "string"}}}}},
    response_class=Response,
)
async def metrics(request: Request) -> Response:
    """Requests, runs and this process in Prometheus' text format."""
    return Response(request.app.state.metrics.text(), media_type=CONTENT_TYPE_LATEST)


@router.get("/docs", include_in_schema=False)
async def docs(request: Request) -> HTMLResponse:
    """Whoever reaches the server may read how it is called; a call that needs a key needs it on the page too."""
    state = request.app.state
    if not hasattr(state, "reference"):
        state.reference = ReferencePage(request.app.openapi())
    page: ReferencePage = state.reference
    return HTMLResponse(page.html(str(request.base_url).rstrip("/")), headers=page.headers)
