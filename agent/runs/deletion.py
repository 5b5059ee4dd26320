"""Runs are deleted with all that they left: checkpoints, events, answer and the pages that they read."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import Executor
from functools import partial
from typing import TYPE_CHECKING, Any

from agent.runs.owners import new_owner
from agent.runs.store import RunStore

if TYPE_CHECKING:
    from langgraph.checkpoint.base import BaseCheckpointSaver


async def delete_runs(
    run_ids: Sequence[str], runs: RunStore, saver: "BaseCheckpointSaver[Any]", thread: Executor | None = None
) -> None:
    """Removes the runs; their rows go last, so that one whose deletion failed on the way can be deleted again.

    `thread` is where the run tables are read and written, the event loop's own threads without one. Raises
    RunBusyError, before anything is removed, when somebody still works on one of the runs, UnknownRunError when one is
    gone.
    """
    in_thread = partial(asyncio.get_running_loop().run_in_executor, thread)
    holder = new_owner()
    await in_thread(runs.hold, run_ids, holder)
    try:
        for run_id in run_ids:
            await saver.adelete_thread(run_id)
        await in_thread(runs.delete, *run_ids)
    finally:
        await in_thread(runs.release, holder)
