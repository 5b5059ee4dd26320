"""Rows of the contract table: how a chat model plans a run, and what the answer tells of it."""

import asyncio
from collections.abc import Sequence
from typing import Any

from agent_fixtures import ingest
from answering_model import QUESTION, SIDES, STAGES, answering, run, stand_in, store_library
from contract_table import Bench, Outcome, Row
from model_server import ModelServer

import agent.answer.followups
from agent.answer.model import Answer
from agent.answer.outline import to_terminal
from agent.options import RunOptions
from agent.runs.bootstrap import default_options
from agent.runs.service import Runs
from agent.settings import Settings, load_settings
from tools.passages import SourceDocument


def prepared(server: ModelServer, bench: Bench) -> Settings:
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


async def resume_of_older(given: None, bench: Bench) -> Outcome:
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
PLANNED = (
    Row("a question in German", ask, (GERMAN, (), {"language": "German"}), "answered", "16 Dokumente hierzu: 8"),
    Row("a run that an older version began", resume_of_older, None, "answered", "Make it easy"),
)  # fmt: skip


MARKET = "Should the market be moved to Sundays?"
STAY = "The market should stay on Saturdays, because families from the villages come to town on that day."
MOVE = "The market should be moved to Sundays, since the square is empty then and traders would sell more."
CLOSE = "The market should be closed for good, since it costs the town more than the stalls pay."


async def own_sides(given: list[dict[str, str]], bench: Bench) -> Outcome:
    """Asks over three letters, replaces the planned sides, and reads the answer on the terminal."""
    async with Runs(Settings(data_dir=bench.folder)) as runs:
        documents = [SourceDocument(f"d{n}", text, publisher=f"P{n}") for n, text in enumerate((STAY, MOVE, CLOSE))]
        ingest(runs, documents, "letters")
        run = await runs.start(MARKET, default_options(runs, "quick", review=True))
        async for _ in runs.events(run):
            pass
        await runs.resume(run, given)
        answer = await runs.answer(run)
    by_side = [f"{side.statement} > {' '.join(c.text for c in side.claims)};" for side in answer.perspectives]
    return Outcome(answer.outcome, " ".join([*by_side, to_terminal(answer, 104, bold=False)]))


KEEP_IT, MOVE_IT, CLOSE_IT = "Keep the market on Saturdays", "Move it to Sundays", "Close the market for good"
OWN_SIDES = (
    Row(
        "three wishes",
        own_sides,
        [{"statement": said} for said in (KEEP_IT, MOVE_IT, CLOSE_IT)],
        "answered",
        f"{KEEP_IT} > {STAY}; {MOVE_IT} > {MOVE}; {CLOSE_IT} > {CLOSE};",
    ),
)

ROWS = (*PLANNED, *OWN_SIDES)
