"""Builds the application and serves it.

request ─▶ connection (tools/net/connections.py) ─▶ guard (api/guard.py) ─▶ routes (api/routes/) ─▶ service
        ─▶ the agent's service (agent/runs/service.py)
"""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator
from functools import partial

import uvicorn
from fastapi import FastAPI
from fastapi.staticfiles import StaticFiles

from agent.runs.service import open_runs
from agent.settings import Settings
from api.callers import Keys
from api.guard import Guard
from api.mcp.server import mount
from api.observing import SERVER, Metrics, configure, log_loop_error
from api.problems import HANDLERS, RESPONSES
from api.routes import completions, documents, runs, server
from api.service import OpenRuns, open_service
from tools.documents.sandbox import stop_readers
from tools.errors import InputError
from tools.memory import regular_trims, use_few_heaps
from tools.net.http import is_loopback
from tools.net.listening import Server, config_of, listen
from tools.store.database import Database


def create_app(settings: Settings, opening: OpenRuns) -> FastAPI:
    """Builds the application. The application opens the agent with `opening` when it starts."""

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with regular_trims(), open_service(settings, opening) as service, app.state.mcp.run():
            app.state.service, app.state.metrics = service, Metrics(service)
            yield

    app = FastAPI(
        title="Steelman",
        version="1.0",
        description="Every side's strongest sourced case for a contentious question. Failures are problem documents "
        "(RFC 9457).",
        lifespan=lifespan,
        telemetry={"logs": False, "metrics": False},  # a log record would contain the text of an error
        openapi_url=None,  # without FastAPI's own documents and pages: the routes are in api/routes/server.py
        redirect_slashes=False,
        generate_unique_id_function=lambda route: route.name,
        responses=RESPONSES,
        exception_handlers=HANDLERS,
    )
    for router in (runs.questions, runs.router, documents.router, documents.jobs, completions.router, server.router):
        app.include_router(router)
    app.state.mcp = mount(app, settings)
    app.mount(server.ASSETS, StaticFiles(packages=[("fastapi_offline", "static")]))  # /docs works offline
    app.add_middleware(Guard, settings=settings)
    return app


def serve(settings: Settings) -> int:
    """Serves until a signal. Raises InputError if other machines could call the server without a key, and SteelmanError
    if the server cannot listen or cannot open the agent."""
    use_few_heaps()
    configure(settings)
    if not is_loopback(settings.api_host):
        with contextlib.closing(Database(settings.database)) as database:
            if all(key.revoked_at for key in Keys(database).all()):
                cause = f"other machines can reach the server on {settings.api_host}, and there is no valid key."
                raise InputError(cause, hint="Make one first: `python -m api keys make NAME`.")
    with contextlib.closing(listen(settings.api_host, settings.api_port)) as listening:
        loop = uvicorn.Config("", log_config=None).get_loop_factory()
        with asyncio.Runner(loop_factory=loop) as runner:
            runner.run(_serve(settings, listening))
    return 0


async def _serve(settings: Settings, listening: socket.socket) -> None:
    asyncio.get_running_loop().set_exception_handler(log_loop_error)
    # Opened here, not in the lifespan, so that an error reaches the terminal.
    async with open_runs(settings, max_concurrent=settings.api_runs, warm=True, role=settings.role) as runs:
        app = create_app(settings, lambda: contextlib.nullcontext(runs))
        try:
            say = partial(SERVER.info, "Steelman listens on %s (Ctrl-C stops it; docs/api.md)")
            await Server(config_of(app, ws="none"), say).serve([listening])
        finally:
            stop_readers()
