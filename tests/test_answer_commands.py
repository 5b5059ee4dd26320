"""Commands on an answer: what each holds, what it begins, and what is said to one that cannot be."""

from test_followups import CON, PRO, answer
from written_answers import cited

from agent.answer.followups import CommandReply, run_slash_command
from agent.answer.model import Answer, DocumentResponse, ResponseGroup, ResponseSentence


def response(text: str) -> ResponseGroup:
    said = ResponseSentence(text=text, shown="", speaker="", passage_id=4, support=0.9)
    facts = {"title": "A boat", "url": "", "publisher": "Press 3", "collection": "mine", "document_id": "d"}
    made = DocumentResponse.model_validate({**facts, "citation": 3, "thesis": said, "evidence": []})
    return ResponseGroup(sources=1, responses=[made])


OTHERS = CON.model_copy(update={"groups": [response(CON.claims[0].text), response("Boats last longer.")]})
DATED = [cited(n).model_copy(update={"date": date}) for n, date in enumerate(("2019-05-01", "2024", ""), start=1)]
GIVEN = answer(PRO, OTHERS, citations=DATED)


def told(typed: str, given: Answer = GIVEN) -> str:
    reply = run_slash_command(typed, given)
    assert isinstance(reply, CommandReply)
    return reply.text


def test_each_command_tells_what_the_answer_holds() -> None:
    assert "• Yes: “A bridge joins both halves of a town.” [1]" in told("/summarise")
    assert told("/newer").splitlines() == [
        "Claims that cite sources dated 2024 or later",
        "  • Yes: “Ferries stop when the river freezes.” [2]",
        "  • No: “Piers pollute a harbour.” [2]",
        "  • Left out, having no date: [3]",
    ]
    assert told("/only 1") == "Claims that cite source [1]\n  • Yes: “A bridge joins both halves of a town.” [1]"
    for side in ("2", "No", "no"):
        assert told(f"/more {side}") == "What else the sources of ‘No’ say\n  • “Boats last longer.” [3]"
    assert all(word in told("/help") for word in ("/summarise", "/more N", "/against N", "/newer", "/only N"))
