"""What every request passes, whatever answers it:

observed (id, log line, crash) ─▶ places (host, page) ─▶ bearer (key, rate) ─▶ bodies (size) ─▶ routes
"""

from starlette.types import ASGIApp, Receive, Scope, Send

from agent.settings import Settings
from api.guard.bearer import Bearer
from api.guard.bodies import Bodies
from api.guard.places import Places
from api.guard.rates import Rates
from api.loopback import is_loopback
from api.observing.metrics import Metrics
from api.observing.requests import Observed


class Guard:
    """Lets a request in with its caller, or answers it with a problem document."""

    def __init__(self, app: ASGIApp, settings: Settings, metrics: Metrics) -> None:
        bearer = Bearer(Bodies(app, settings), Rates(settings.api_rate), required=not is_loopback(settings.api_host))
        self._guarded = Observed(Places(bearer, settings), metrics, settings.api_log_questions)
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await self._guarded(scope, receive, send)
        elif scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        else:  # nothing here speaks WebSocket
            await send({"type": "websocket.close", "code": 1008})
