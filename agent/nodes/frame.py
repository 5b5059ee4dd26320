"""Frame: the neutral form of the question, or of a follow-up in its thread."""

from langgraph.runtime import Runtime

from agent.nodes.reporting import Stage, in_time, report, timed
from agent.options import RunOptions, options_of
from agent.providers import Providers
from agent.question import check_form
from agent.state import RunState
from tools.allowance import current
from tools.errors import ProviderDownError


def node(providers: Providers) -> Stage[RunState]:
    async def frame(state: RunState, runtime: Runtime[RunOptions]) -> RunState:
        framed = providers.framer.frame(state["question"], state.get("earlier", []))
        framing = await in_time(options_of(runtime), "frame", framed)
        failed = next((said for kind, said in current().notes if kind == "degraded"), "")
        if framing["form"] == "none" and failed:  # the grammar reads English, and not every wording
            raise ProviderDownError(f"{failed} It could not read the question.")
        check_form(framing["form"], state["question"])
        report(runtime, "framed", neutral=framing["neutral"], focus=framing["focus"])
        return RunState(framing=framing)

    return timed("frame", frame)
