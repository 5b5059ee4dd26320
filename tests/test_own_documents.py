"""Somebody's own folder, from the files to the answer: where words stand, what is left out and why."""

from pathlib import Path

import pytest
from agent_fixtures import ingest
from web_server import pdf

from agent.answer.outline import to_terminal
from agent.options import RunOptions
from agent.runs.service import Runs
from tools.documents.files import find_files
from tools.documents.ingest import IngestReport, read_all
from tools.errors import QuestionError

QUESTION = "Should schools ban smartphones?"
FOR = (
    "Schools should ban smartphones, because pupils learn more in lessons without them. A ban on smartphones helps "
    "schools, since every lesson is calmer and the weakest pupils gain the most from it."
)
AGAINST = (
    "Schools should not ban smartphones. A ban on smartphones harms pupils, because they learn to use them well only "
    "with a teacher beside them. Banning smartphones in schools punishes everyone for the faults of a few."
)
GERMAN = (
    "Schulen sollten Smartphones verbieten, weil die Kinder ohne sie besser lernen. Viele Eltern sind dagegen, denn "
    "sie wollen ihre Kinder auf dem Weg zur Schule erreichen können."
)


async def test_a_folder_of_ones_own(own_runs: Runs, tmp_path: Path) -> None:
    notes, report = tmp_path / "notes", IngestReport()
    notes.mkdir()
    (notes / "report.pdf").write_bytes(pdf(["A page about something else entirely, namely boats.", FOR]))
    (notes / "essay.md").write_text(f"# An essay\n\nBoats are painted.\n\n## What bans do\n\n{AGAINST}\n")
    (notes / "schule.txt").write_text(GERMAN)
    ingest(own_runs, read_all(find_files([str(notes)]), report), "mine", report)
    answer = await own_runs.answer(await own_runs.start(QUESTION, RunOptions.of(collections=("mine",), web=False)))
    assert (report.problems, report.languages) == ([], {"en": 2, "de": 1})
    places = {Path(c.document_id).name: (c.page, c.section) for c in answer.citations}
    assert places == {"report.pdf": (2, ""), "essay.md": (0, "What bans do")}
    assert "report.pdf, p. 2" in " ".join(to_terminal(answer, 200, bold=False).split())  # however long its path is
    assert any("“schule” (German)" in note.text for note in answer.notes)
    assert not any("What bans do" in c.quote for c in answer.citations)


async def test_a_few_misspelt_words_are_read_as_the_documents_spell_them(own_runs: Runs, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("The hospital tram should stop at Gull Hill. The hospital needs the tram stop.")
    ingest(own_runs, read_all(find_files([str(tmp_path / "a.txt")]), IngestReport()), "mine", IngestReport())
    options = RunOptions.of(collections=("mine",), web=False)
    answer = await own_runs.answer(await own_runs.start("hospittal tarm stop?", options))
    assert (answer.question, answer.neutral_question) == ("hospittal tarm stop?", "Hospital tram stop?")
    with pytest.raises(QuestionError, match="no question was found"):
        await own_runs.start("hello wrold", options)
