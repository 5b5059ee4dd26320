"""Rows of the contract table: what is found for sides that a person wrote, by the embedded providers."""

from agent_fixtures import ingest
from contract_table import Bench, Outcome, Row

from agent.answer.outline import to_terminal
from agent.runs.bootstrap import default_options
from agent.runs.service import Runs
from agent.settings import Settings
from tools.passages import SourceDocument

QUESTION = "Should the market be moved to Sundays?"
STAY = "The market should stay on Saturdays, because families from the villages come to town on that day."
MOVE = "The market should be moved to Sundays, since the square is empty then and traders would sell more."
CLOSE = "The market should be closed for good, since it costs the town more than the stalls pay."


async def own_sides(given: list[dict[str, str]], bench: Bench) -> Outcome:
    """Asks over three letters, replaces the planned sides, and reads the answer on the terminal."""
    async with Runs(Settings(data_dir=bench.folder)) as runs:
        documents = [SourceDocument(f"d{n}", text, publisher=f"P{n}") for n, text in enumerate((STAY, MOVE, CLOSE))]
        ingest(runs, documents, "letters")
        run = await runs.start(QUESTION, default_options(runs, "quick", review=True))
        async for _ in runs.events(run):
            pass
        await runs.resume(run, given)
        answer = await runs.answer(run)
    by_side = [f"{side.statement} > {' '.join(c.text for c in side.claims)};" for side in answer.perspectives]
    return Outcome(answer.outcome, " ".join([*by_side, to_terminal(answer, 104, bold=False)]))


KEEP_IT, MOVE_IT, CLOSE_IT = "Keep the market on Saturdays", "Move it to Sundays", "Close the market for good"
ROWS = [
    Row(
        "three wishes",
        own_sides,
        [{"statement": said} for said in (KEEP_IT, MOVE_IT, CLOSE_IT)],
        "answered",
        f"{KEEP_IT} > {STAY}; {MOVE_IT} > {MOVE}; {CLOSE_IT} > {CLOSE};",
    ),
    Row(
        "nothing is found",
        own_sides,
        [{"statement": said} for said in ("Hold it on Tuesdays", "Let the traders vote", "Ask the villages")],
        "no_sides",
        "Hold it on Tuesdays > ; Let the traders vote > ; Ask the villages > ;",
        "ANSWER 3   Ask the villages",
    ),
]
