"""Frame: the neutral form of the question, or of a follow-up in its thread."""

from langgraph.runtime import Runtime

from agent.nodes.reporting import Stage, report, timed
from agent.options import RunOptions
from agent.providers import Providers
from agent.state import RunState


def node(providers: Providers) -> Stage[RunState]:
    async def frame(state: RunState, runtime: Runtime[RunOptions]) -> RunState:
        framing = await providers.framer.frame(state["question"], state.get("earlier", []))
        report(runtime, "framed", neutral=framing["neutral"], focus=framing["focus"])
        return RunState(framing=framing)

    return timed("frame", frame)
