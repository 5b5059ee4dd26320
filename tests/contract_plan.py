"""Rows of the contract table: how a chat model plans a run, and what the answer tells of it."""

import asyncio
from collections.abc import Sequence
from typing import Any

from answering_model import QUESTION, SIDES, STAGES, answering, run, stand_in, store_library
from contract_table import Bench, Outcome, Row
from model_server import ModelServer, Reply

import agent.answer.followups
from agent.answer.model import Answer
from agent.answer.outline import to_terminal
from agent.options import RunOptions
from agent.runs.service import Runs
from agent.settings import Settings, load_settings
from tools.errors import RunError


def prepared(server: ModelServer, bench: Bench) -> Settings:
    """The settings of a chat model over the library on compulsory voting."""
    store_library(bench.folder / "data")
    stand_in(bench.patch)
    return load_settings(
        openai_base_url=answering(server, again=True).url, model="m", judge="embedded", data_dir=bench.folder / "data"
    )


async def ask(given: tuple[str, Sequence[str], dict[str, Any]], bench: Bench) -> Outcome:
    """Asks a question after earlier ones; `given` also has what the plan says.

    The text is the answer, what it looked for and how often a plan was asked for."""
    question, earlier, said = given
    with ModelServer(strict=False) as server:
        server.on(STAGES["expand"], SIDES | said)
        answer = await run(prepared(server, bench), 20, question, earlier=tuple(earlier), web=False)
        plans = sum(STAGES["expand"] in prompt for prompt in server.prompts())
    told = " ".join(to_terminal(answer, 100, bold=False).split())
    more = [n.text for n in answer.notes if n.kind == "not_found"]
    return Outcome(answer.outcome, f"{told} {' '.join(more)} PLANS {plans}")


async def ask_failing(given: str, bench: Bench) -> Outcome:
    """Asks where the model's server fails."""
    with ModelServer(strict=False) as server:
        server.on(STAGES["expand"], Reply("oh dear", status=500))
        try:
            answer = await run(prepared(server, bench), 20, given, web=False)
        except RunError as exc:
            return Outcome("failed", str(exc))
    return Outcome(answer.outcome, " ".join(n.text for n in answer.notes if n.kind == "degraded"))


async def resume_of_older(given: None, bench: Bench) -> Outcome:
    """Stops a run that an older version began, and goes on with it."""
    with ModelServer(strict=False) as server:
        server.on(STAGES["expand"], SIDES)
        async with Runs(prepared(server, bench)) as runs:
            with bench.patch.context() as patch:
                patch.setattr(agent.answer.followups, "STATE_VERSION", 1)
                run_id = await runs.start(QUESTION, RunOptions.of(review=True))
                async for _ in runs.events(run_id):
                    pass
            await runs.resume(run_id, [{"name": "Old", "statement": "Voting should be compulsory."}])
            async for _ in runs.events(run_id):
                pass
            planned = [s["name"] for s in (await runs.state(run_id))["perspectives"]]
            await runs.resume(run_id, [{"name": n, "statement": f"{n}: {QUESTION}"} for n in ("Yes", "No")])
            answer: Answer = await asyncio.wait_for(runs.answer(run_id), 20)
    return Outcome(answer.outcome, " ".join([*planned, *(n.text for n in answer.notes)]))


GERMAN = "Sollte man wählen müssen?"
COST = "Does compulsory voting cost any money?"
FACT = {"form": "plain", "question": "How many people voted in 1924?", "perspectives": []}
ROWS = (
    Row("a question in German", ask, (GERMAN, (), {"language": "German"}), "answered", "from German, and is answered"),
    Row("a focus that the question names", ask, ("And money?", (COST,), {"question": COST, "focus": "money"}),
        "answered", "On money, of", hidden=("money? money",)),
    Row("a question of fact", ask, ("How many people voted in 1924?", (), FACT), "no_sides", "What the sources say",
        "PLANS 1"),
    Row("a failing model", ask_failing, QUESTION, "answered", "failed (status 500", "stood in for it (frame)."),
    Row("a run that an older version began", resume_of_older, None, "answered", "Make it easy",
        "An older version of Steelman began this run. It was started again from the beginning."),
)  # fmt: skip
