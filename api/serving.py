"""The application (routes, problems and what guards them, over one service), served over HTTP until Ctrl-C.

request ─▶ connection (tools/net/connections.py) ─▶ guard (api/guard.py) ─▶ routes (api/routes/) ─▶ service
        ─▶ the agent's service (agent/runs/service.py)
"""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

import uvicorn
from fastapi import FastAPI
from fastapi.staticfiles import StaticFiles

from agent.runs.service import open_runs
from agent.settings import Settings
from api.callers import Keys
from api.guard import Guard
from api.mcp.server import mount
from api.observing import SERVER, Metrics, configure, told_by_loop
from api.problems import RESPONSES, add_handlers
from api.routes import completions, documents, runs, server
from api.service import OpenRuns, Service, open_service
from tools.documents.apart import stop_readers
from tools.errors import InputError
from tools.memory import regular_trims, use_few_heaps
from tools.net.listening import Server, config_of, is_loopback, listen
from tools.store.database import Database

_ABOUT = "Every side's strongest sourced case for a contentious question. Failures are problem documents (RFC 9457)."


def create_app(settings: Settings, opening: OpenRuns | None = None) -> FastAPI:
    """The application, which opens the agent at its start. `opening`: another way to open it."""
    figures = Metrics()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with regular_trims(), open_service(settings, opening) as service, app.state.mcp.run():
            app.state.service = service
            _watch(service, figures)
            yield

    app = FastAPI(
        title="Steelman",
        version="1.0",
        description=_ABOUT,
        lifespan=lifespan,
        telemetry={"logs": False, "metrics": False},  # a log record would hold the text of an error
        openapi_url=None,  # the route is in api/routes/server.py
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        generate_unique_id_function=lambda route: route.name,
        responses=RESPONSES,
    )
    app.state.metrics = figures
    for router in (runs.questions, runs.router, documents.router, documents.jobs, completions.router, server.router):
        app.include_router(router)
    app.state.mcp = mount(app, settings)
    app.mount(server.ASSETS, StaticFiles(packages=[("fastapi_offline", "static")]))  # nothing comes from elsewhere
    app.add_middleware(Guard, settings=settings, metrics=figures)
    add_handlers(app)
    return app


def _watch(service: Service, figures: Metrics) -> None:
    most = service.settings.api_runs
    service.runs.executor.on_end = lambda outcome: figures.runs_ended.labels(outcome).inc()
    service.jobs.on_end = lambda status: figures.jobs_ended.labels(status).inc()
    figures.working.set_function(lambda: min(len(service.runs.at_work), most))
    figures.waiting.set_function(lambda: max(len(service.runs.at_work) - most, 0))
    figures.jobs.set_function(lambda: len(service.jobs))


def serve(settings: Settings) -> int:
    """Listens until it is stopped. Raises InputError if others could reach it without a key, SteelmanError if it cannot
    listen or open the agent."""
    use_few_heaps()
    configure(settings)
    if not is_loopback(settings.api_host):
        with contextlib.closing(Database(settings.database_path)) as database:
            locked = any(key.revoked_at is None for key in Keys(database).all())
        if not locked:
            told = f"on {settings.api_host} other machines reach the server, and no key is in force."
            raise InputError(told, hint="Make one first: `python -m api keys make NAME`.")
    with contextlib.closing(listen(settings.api_host, settings.api_port)) as listening:
        loop = uvicorn.Config("", log_config=None).get_loop_factory()
        with asyncio.Runner(loop_factory=loop) as runner:
            runner.run(_serve(settings, listening))
    return 0


async def _serve(settings: Settings, listening: socket.socket) -> None:
    asyncio.get_running_loop().set_exception_handler(told_by_loop)
    async with open_runs(
        settings, max_concurrent=settings.api_runs, warm=True
    ) as runs:  # opened here, so that what it raises reaches the terminal
        app = create_app(settings, lambda: contextlib.nullcontext(runs))
        try:
            say = partial(SERVER.info, "Steelman listens on %s (Ctrl-C stops it; docs/api.md)")
            await Server(config_of(app, ws="none"), say).serve([listening])
        finally:
            stop_readers()  # whose files nobody waits for any more
