"""What of the passages found may speak in an answer."""

from agent.evidence.coverage import filter_passages
from tools.passages import Passage, PassageForm

ENGLISH = "Should the motorway have a speed limit?"


def passage(number: int, language: str = "", form: PassageForm = "prose") -> Passage:
    return Passage(number, f"{number}.txt", "c", "Text.", title=f"Title {number}", language=language, form=form)


def found(*given: Passage) -> dict[int, Passage]:
    return {p.id: p for p in given}


def test_other_languages_are_left_out_of_english_answers_and_named() -> None:
    passages = found(passage(1, "de"), passage(2, "en"), passage(3))
    assert filter_passages([3, 1, 2, 9], passages, ENGLISH) == ([3, 2], {"Title 1": "de"})


def test_a_question_in_another_language_may_be_answered_from_any() -> None:
    passages = found(passage(1, "de"), passage(2, "en"))
    assert filter_passages([1, 2], passages, "Braucht die Autobahn ein Tempolimit für alle Fahrer?") == ([1, 2], {})


def test_tables_argue_for_nothing_and_answer_questions_of_fact() -> None:
    passages = found(passage(1, form="table"), passage(2, form="caption"), passage(3))
    assert filter_passages([1, 2, 3], passages, ENGLISH) == ([3], {})
    assert filter_passages([1, 2, 3], passages, ENGLISH, tables=True) == ([1, 2, 3], {})
