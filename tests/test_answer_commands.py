"""Commands on an answer: what each holds, what it begins, and what is said to one that cannot be."""

import pytest
from test_followups import ANSWER, CON, PRO, answer, claim
from written_answers import cited

from agent.answer.commands import Reply, Search, again, run_command
from agent.answer.model import Answer, DocumentResponse, ResponseGroup, ResponseSentence
from tools.errors import QuestionError


def response(text: str) -> ResponseGroup:
    said = ResponseSentence(text=text, shown="", speaker="", passage_id=4, support=0.9)
    facts = {"title": "A boat", "url": "", "publisher": "Press 3", "collection": "mine", "document_id": "d"}
    made = DocumentResponse.model_validate({**facts, "citation": 3, "thesis": said, "evidence": []})
    return ResponseGroup(sources=1, responses=[made])


OTHERS = CON.model_copy(update={"groups": [response(CON.claims[0].text), response("Boats last longer.")]})
DATED = [cited(n).model_copy(update={"date": date}) for n, date in enumerate(("2019-05-01", "2024", ""), start=1)]
GIVEN = answer(PRO, OTHERS, citations=DATED)


def told(typed: str, given: Answer = GIVEN) -> str:
    reply = run_command(typed, given)
    assert isinstance(reply, Reply)
    return reply.text


def test_each_command_tells_what_the_answer_holds() -> None:
    assert "• Yes: “A bridge joins both halves of a town.” [1]" in told("/summarise")
    assert told("/newer").splitlines() == [
        "What the sources dated 2024 or later say",
        "  • Yes: “Ferries stop when the river freezes.” [2]",
        "  • No: “Piers pollute a harbour.” [2]",
        "  • Left out, having no date: [3]",
    ]
    assert told("/only 1") == "What source [1] says\n  • Yes: “A bridge joins both halves of a town.” [1]"
    for side in ("2", "No", "no"):
        assert told(f"/more {side}") == "What else the sources of ‘No’ say\n  • “Boats last longer.” [3]"
    assert all(word in told("/help") for word in ("/summarise", "/more N", "/against N", "/newer", "/only N"))


def test_sentences_of_no_side_stand_in_for_a_case() -> None:
    looked_up = answer(outcome="no_sides", citations=DATED).model_copy(update={"also": [claim("It was 1924.", 2)]})
    assert "“It was 1924.” [2]" in told("/summarise", looked_up)
    assert "“It was 1924.” [2]" in told("/only 2", looked_up)
    assert told("/newer", answer(PRO, citations=[cited(1)])).startswith("None of the sources")


def test_a_command_that_has_to_search_says_what_for() -> None:
    assert run_command("/against 2", ANSWER) == Search("What speaks against 2?")
    assert run_command("/AGAINST against", ANSWER) == Search("What speaks against ‘Against’?")
    assert run_command("/more 1", GIVEN) == Search(again(GIVEN), "deep")


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        ("/shout", r"no command /shout\. There are /summarise, /more, /against, /newer, /only and /help\."),
        ("/only 9", "needs the number of a source: 1, 2, 3"),
        ("/only", "needs the number of a source"),
        ("/more 7", r"needs the number or the name of a side: 1 \(Yes\), 2 \(No\)"),
        ("/against 17", "no '17'.* 1 to 3"),
        ("/against", "needs the number of a claim"),
    ],
)
def test_a_command_that_cannot_be_is_answered_with_what_can(typed: str, says: str) -> None:
    with pytest.raises(QuestionError, match=says):
        run_command(typed, GIVEN if "17" not in typed else ANSWER)
    with pytest.raises(QuestionError, match="no case"):
        run_command("/against 1", answer(outcome="no_sides"))
