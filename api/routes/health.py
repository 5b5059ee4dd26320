"""Whether the server lives, and whether it can work."""

import asyncio

from fastapi import APIRouter

from api.problems import responses
from api.schemas import Health
from api.service import TheService

router = APIRouter(tags=["health"])


@router.get("/healthz", response_model=Health)
async def healthz() -> Health:
    """The process answers."""
    return Health(status="ok")


@router.get("/readyz", response_model=Health, responses=responses(503))
async def readyz(service: TheService) -> Health:
    """The store can be read, so that questions can be answered."""
    await asyncio.to_thread(service.runs.store.encoders)
    return Health(status="ready")
