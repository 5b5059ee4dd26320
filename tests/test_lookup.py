"""What has no sides: which sentences answer a question of fact, and what is typed under an answer."""

from pathlib import Path
from typing import get_args

import pytest
from agent_fixtures import ingest
from instant_providers import framer

from agent.answer.model import Answer
from agent.answer.wording import claim_text
from agent.options import RunOptions
from agent.runs.service import Runs
from agent.stages.lookup import more_like
from agent.state import Perspective, Stance
from tools.documents.files import find_files
from tools.documents.ingest import IngestReport, read_all
from tools.passages import SourceDocument

QUESTION = "Should the village pool be closed?"
FILES = {
    "minutes.md": "# Parish council\n\nCllr Odd Vik moved that the village pool be closed in spring. Heating the "
    "village pool costs 412,000 crowns a year. Cllr Berit Moe opposed the motion, as the school has no other water.",
    "doctor.md": "# From the surgery\n\nThe village pool is where children learn to swim. I treated nineteen children "
    "for near-drowning before the village pool was built, and two since.",
    "figures.csv": "year,note\n2022,The pool had 14300 visitors in the year of the heat wave\n"
    "2023,The pool had 9100 visitors and one long repair\n",
    "opening.html": "<h1>Village pool</h1><table><tr><th>Day</th><th>Opens</th><th>Closes</th></tr>"
    "<tr><td>Monday</td><td>9.30</td><td>18.00</td></tr><tr><td>Saturday</td><td>7.15</td><td>21.45</td></tr></table>"
    "<p>Swimmers are asked to shower before they enter the village pool.</p>",
    "questions.md": "# The pool: questions\n\n## How many lockers will be added?\n\nForty-six lockers. The hall is "
    "to be painted as well, in the colours of the parish.",
    "bakery.md": "# The bakery\n\nBread at the village bakery costs 48 crowns a loaf since March.",
}


@pytest.fixture
def runs(own_runs: Runs, tmp_path: Path) -> Runs:
    (notes := tmp_path / "notes").mkdir()
    for name, text in FILES.items():
        (notes / name).write_text(text)
    ingest(own_runs, read_all(find_files([str(notes)]), IngestReport()), "pool")
    return own_runs


async def asked(runs: Runs, *questions: str) -> Answer:
    """The last question's answer, all of them in one thread."""
    options, thread = RunOptions.of("quick", collections=("pool",), web=False), None
    for question in questions:
        thread = await runs.start(question, options, thread)
        answer = await runs.answer(thread)
    return answer


@pytest.mark.parametrize(
    ("typed", "holds"),
    [
        ("What do doctors say about children?", "nineteen children"),
        ("and what would it cost?", "412,000"),
        ("who was against the motion?", "Berit Moe opposed"),
        ("visitors?", "visitors"),
    ],
)
async def test_what_is_typed_under_an_answer_is_looked_up_on_its_subject(runs: Runs, typed: str, holds: str) -> None:
    answer = await asked(runs, QUESTION, typed)
    assert (answer.question, answer.neutral_question, answer.perspectives) == (typed, QUESTION, [])
    assert holds in answer.also[0].text


@pytest.mark.parametrize(
    ("question", "holds"),
    [
        ("How many visitors did the pool have in the heat wave?", "14300"),
        ("How many crowns does the heating of the village pool cost?", "412,000"),
        ("When does the pool close on Saturday?", "Saturday | 7.15 | 21.45"),
        ("How many lockers will be added?", "Forty-six lockers."),
    ],
)
async def test_a_question_of_fact_gets_figures_and_rows_of_tables(runs: Runs, question: str, holds: str) -> None:
    answer = await asked(runs, question)
    assert (answer.outcome, answer.question) == ("no_sides", question)
    assert any(holds in c.text for c in answer.also[:3])


async def test_a_quotation_without_its_salutation_begins_with_a_capital(own_runs: Runs, tmp_path: Path) -> None:
    head = "# Give us the pool\n\nLetter to the editor, Gazette, 14 March 2025\n\n"
    letter = "Sir, in eleven years on the pool's night shift I have counted 41 swimmers.\n\nAnn Roe, Hill\n"
    (tmp_path / "letter.md").write_text(head + letter)
    ingest(own_runs, read_all(find_files([str(tmp_path / "letter.md")]), IngestReport()), "pool")
    quoted = (await asked(own_runs, "How many swimmers were on the pool's night shift?")).also[0]
    assert quoted.text.startswith("in eleven years")
    assert claim_text(quoted, "").startswith("“[I]n eleven years")


async def test_what_speaks_against_a_quotation_is_never_the_quotation(own_runs: Runs) -> None:
    said = {
        "a": "I have swum in the village pool since I was six, and I am for keeping the village pool.",
        "b": "My sister calls the village pool cold. I never learned to swim in the village pool. Why heat it?",
        "c": "I have lived by the village pool for years, and the village pool should be closed.",
        "d": "We were never asked about the village pool. My children swim in the village pool each summer.",
    }
    ingest(own_runs, [SourceDocument(name, text) for name, text in said.items()], "pool")
    quoted = (await asked(own_runs, QUESTION)).also
    for claim in quoted:
        reply = await asked(own_runs, QUESTION, f"What speaks against “{claim.text}”?")
        others = [c.text for c in reply.also]
        assert (reply.perspectives, [t for t in others if t in claim.text or claim.text in t]) == ([], [])
        assert others
    assert len(quoted) > 2


async def test_what_the_documents_do_not_speak_of_gets_nothing(runs: Runs) -> None:
    assert (await asked(runs, "How many moons has Jupiter?")).also == []
    assert (await asked(runs, QUESTION, "what do economists say about tariffs?")).also == []


@pytest.mark.parametrize(
    ("typed", "form", "question"),
    [
        ("Should parents vaccinate their children?", "polar", "Should parents vaccinate their children?"),
        ("Is it right to eat meat at school?", "polar", "Is it right to eat meat at school?"),
        ("Is it safe?", "plain", QUESTION),
        ("But are their claims true?", "plain", QUESTION),
        ("Do teachers agree?", "plain", QUESTION),
        ("Are there exceptions for clubs?", "plain", QUESTION),
        ("the cost", "plain", QUESTION),
        ("What speaks against “I am glad, and the village pool should be closed.”?", "plain", QUESTION),
        ("how should the council decide?", "open", "How should the council decide?"),
    ],
)
async def test_only_what_needs_its_thread_is_read_with_it(typed: str, form: str, question: str, tmp_path: Path) -> None:
    frame = framer(tmp_path)
    for earlier in ([QUESTION], [QUESTION, "and the cost?"]):
        framing = await frame(typed, earlier)
        assert (framing["form"], framing["question"]) == (form, question)
        assert framing["focus"] == (typed if question == QUESTION else "")
    assert (await frame(QUESTION, [QUESTION]))["form"] == "polar"


SAID = {
    "supports": "Schools should ban smartphones because a mind that is half elsewhere cannot follow an explanation.",
    "opposes": "Schools should not ban smartphones, because pupils who never have a phone within reach never learn to "
    "leave it alone.",
}


async def test_more_like_a_quotation_is_on_its_side(own_runs: Runs) -> None:
    words = "Removing smartphones from the school day protects the whole class and not only the phones' owners."
    ingest(own_runs, [SourceDocument(name, text) for name, text in {**SAID, "own": words}.items()], "phones")
    question, options = "Should schools ban smartphones?", RunOptions.of(collections=("phones",))

    async def found(stance: Stance | None) -> list[str]:
        name, other = ("Yes", "No") if stance == "supports" else ("No", "Yes")
        said, contrary = f"{name}: {question}", f"{other}: {question}"
        side = Perspective(id="p1", name=name, statement=said, stance=stance or "other", contrary="", origin="question")
        asked = question, words, options, (side, contrary) if stance else None, None
        return [text for text, _ in await more_like(own_runs.providers, *asked)]

    assert {*await found(None)} == {*SAID.values()}
    for stance in get_args(Stance)[:2]:
        assert await found(stance) == [SAID[stance]]
