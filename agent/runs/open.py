"""Where the whole agent is put together: the command line, the page, the API and evals all open it here.

parts.py (store, indexes, providers) ─▶ service.py (`Runs`: start, follow, resume) ─▶ `open_runs` (samples, warm-up)
"""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from agent.runs.parts import BuildProviders
from agent.runs.service import Runs
from agent.seams import Providers
from agent.settings import Settings, load_settings
from tools.inference.judges.judge import Pair
from tools.store.store import SAMPLES

_QUESTION = "Should schools ban smartphones?"


@asynccontextmanager
async def open_runs(
    settings: Settings | None = None,
    *,
    offline: bool = False,
    max_concurrent: int | None = None,
    warm: bool = False,
    build: BuildProviders | None = None,
) -> AsyncIterator[Runs]:
    """The service, with the samples indexed; `offline`: nothing leaves this machine then.

    `warm`: what the first question would wait for is loaded too. `max_concurrent`, `build`: see Runs.
    """
    given = {"build": build} if build else {}
    async with Runs(settings or load_settings(), max_concurrent=max_concurrent, **given) as runs:
        if offline:
            runs.providers.check_offline()
        if sys.stderr.isatty() and not runs.store.has_collection(SAMPLES):
            print("Indexing the sample passages (once) …", file=sys.stderr)
        await asyncio.to_thread(runs.parts.index_samples)
        if warm:
            await warm_up(runs.providers)
        yield runs


async def warm_up(providers: Providers) -> None:
    """Asks each embedded provider that is in force something small, so that the first question waits for no loading;
    no server is asked."""
    models = providers.models
    await providers.framer.frame(_QUESTION, [])  # a plain one, which rules frame even where a chat model is set
    if models.remote_judge is None:
        await models.judge().support([Pair(_QUESTION, _QUESTION)])
        await models.judge().closely([Pair(f"Yes: {_QUESTION}", _QUESTION, f"No: {_QUESTION}", form="answer")])
    if not providers.searched_elsewhere() and providers.store.has_collection(SAMPLES):
        vector = (await models.encode_queries([_QUESTION]))[0]
        await asyncio.to_thread(providers.search.search, _QUESTION, vector, [SAMPLES], 1)
