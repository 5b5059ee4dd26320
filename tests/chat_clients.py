"""Clients of the contract table that ask a chat model: each meets a scripted server, and tells what came of it."""

import asyncio
import time
from collections.abc import Callable
from contextlib import aclosing
from typing import Any

from model_replies import Body
from model_server import ModelServer, Reply
from vendor_replies import STREAMED, says

from agent.stages.expand import PlannedSides
from tools.budget import Budget, budget_scope
from tools.errors import ProviderError
from tools.models.chat.model import ChatModel
from tools.models.chat.vendors import COMPATIBLE, VENDORS

Script = Callable[[Body], Reply | None]
GOOD = {"perspectives": [{"name": "Aye", "statement": "It is so.", "stance": "supports"}]}


async def chat_model(given: "Reply | Script | tuple[Reply | Script, dict[str, Any]]", bench: Any) -> str:
    """Asks twice for perspectives; `given` answers each request that it has an answer for, and GOOD the others. With
    options of the model: vendor, name, path (in the place of /v1), temperature."""
    script, options = given if isinstance(given, tuple) else (given, {})
    vendor = VENDORS.get(options.get("vendor", ""), COMPATIBLE)

    def answers(body: Body) -> Reply:
        reply = script if isinstance(script, Reply) else script(body)
        return reply or (says(vendor.prefix, GOOD) if vendor.prefix else Reply(GOOD))

    with ModelServer(strict=False) as server:
        server.on(lambda body: True, answers, path=STREAMED[vendor.prefix][0] if vendor.prefix else "/completions")
        url = server.root + options.get("path", "" if vendor.prefix else "/v1")
        name, heat = options.get("name", "m-1"), options.get("temperature")
        model = ChatModel(name, vendor=vendor, url=url, key="k", temperature=heat, silence=5.0)
        came = []
        for _ in range(2):
            try:
                planned = await model.ask("Be brief.", "Which sides?", PlannedSides)
                came.append(", ".join(side.name for side in planned.perspectives))
            except ProviderError as exc:
                came.append(f"{type(exc).__name__.strip('_')}: {exc}")
        await model.aclose()
        asked = [str((r.body.get("response_format") or {}).get("type", "text")) for r in server.requests]
        streams = [r.body.get("stream") for r in server.requests]
        return f"{came[0]} | {came[1]} | {len(asked)} requests, at last as {asked[-1]}, streamed {streams[-1]}"


async def one_after_the_other(given: Callable[[int], Reply], bench: Any) -> str:
    """Three calls of two models at once; `given` answers each, told how many requests are under way when it does."""
    with ModelServer(strict=False) as server:

        def answers(body: Body) -> Reply:
            time.sleep(0.2)
            return given(server.at_once)

        server.on("", answers)
        one, other = (ChatModel(name, url=server.url, silence=5.0) for name in ("m", "n"))
        async with aclosing(one), aclosing(other):
            asks = (model.ask("", f"Sides, {i}?", PlannedSides) for i, model in enumerate((one, other, one)))
            asked = await asyncio.gather(*asks)
        return f"{[side.name for sides in asked for side in sides.perspectives]}"


async def slow_chat(given: tuple[float, float, float], bench: Any) -> str:
    """given: seconds until the server answers, seconds of silence that are always borne, and those that the run has."""
    answers_after, silence, left = given
    with ModelServer() as server, budget_scope(Budget(deadline_at=time.time() + left)):
        server.on("", Reply(GOOD, delay=answers_after))
        async with aclosing(ChatModel("m", url=server.url, silence=silence)) as model:
            return str(await model.ask("", "Which sides?", PlannedSides))
