"""The calls as a page."""

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse

from api.reference.page import ReferencePage

router = APIRouter(include_in_schema=False)


@router.get("/docs")
async def docs(request: Request) -> HTMLResponse:
    """Whoever reaches the server may read how it is called; a call that needs a key needs it on the page too."""
    state = request.app.state
    if not hasattr(state, "reference"):
        state.reference = ReferencePage(request.app.openapi())
    page: ReferencePage = state.reference
    return HTMLResponse(page.html(str(request.base_url).rstrip("/")), headers=page.headers)
