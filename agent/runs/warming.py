"""Loads what the first question of a process would otherwise wait for."""

import asyncio

from agent.seams import Providers
from tools.inference.judges.judge import Pair
from tools.store.store import SAMPLES

_QUESTION = "Should schools ban smartphones?"


async def warm_up(providers: Providers) -> None:
    """Asks each embedded provider that is in force something small; no server is asked."""
    models = providers.models
    if providers.english_only:
        await providers.framer.frame(_QUESTION, [])
    if models.remote_judge is None:
        await models.judge().support([Pair(_QUESTION, _QUESTION)])
        await models.judge().closely([Pair(_QUESTION, _QUESTION, f"No: {_QUESTION}")])
    if not providers.searched_elsewhere() and providers.store.has_collection(SAMPLES):
        vector = (await models.encode_queries([_QUESTION]))[0]
        await asyncio.to_thread(providers.search.search, _QUESTION, vector, [SAMPLES], 1)
