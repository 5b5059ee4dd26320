"""Commands on an answer: what each holds, what it begins, and what is said to one that cannot be."""

from typing import Any

from test_followups import CON, PRO, answer
from written_answers import cited

from agent.answer.followups import CommandReply, run_slash_command, similar_quotations
from agent.answer.model import Answer, DocumentResponse, ResponseGroup, ResponseSentence
from tools.passages import Passage


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


def test_each_similar_quotation_names_its_source() -> None:
    named: list[dict[str, Any]] = [
        {"title": "A letter", "publisher": "The Courier", "author": "Ann Lee"},
        {"title": "A letter"},
        {"author": "Ann Lee"},
        {},
        {"key": "/data/survey.csv#7"},
        {"url": "https://toll.example/a", "publisher": "Toll Watch", "author": "Toll Watch"},
    ]
    ids = ["letters/a.md", "letters/a.md", "letters/a.md", "letters/a.md", "7", "https://toll.example/a"]
    passages = [
        Passage(n, id_, "c", "Tolls help.", **more) for n, (id_, more) in enumerate(zip(ids, named, strict=True))
    ]
    reply = similar_quotations(GIVEN, [("Tolls help.", p) for p in passages])
    sources = ["Ann Lee, The Courier", "A letter", "Ann Lee, a.md", "a.md", "survey.csv, row 7", "Toll Watch"]
    assert [line for line, _ in reply.lines] == [f"“Tolls help.” – {source}" for source in sources]


def test_a_similar_quotation_has_a_number_only_where_the_answer_quotes_that_very_sentence() -> None:
    text = 'Ida Venn opened the ferry. "Tolls pay for the quay," said Olav Prest. "Tolls close shops," said Mette Hald.'
    passage = Passage(7, "news", "c", text, "The quay", publisher="The Courier", author="Lis Oker")
    sentences = ['"Tolls pay for the quay," said Olav Prest.', '"Tolls close shops," said Mette Hald.']
    news = {"passage_id": 7, "document_id": "news", "publisher": "The Courier"}
    opening = cited(1, **news, quote="Ida Venn opened the ferry.", speaker="Lis Oker")
    prest = cited(2, **news, quote=sentences[0], speaker="Olav Prest, quoted by Lis Oker")
    reply = similar_quotations(answer(PRO, citations=[opening, prest]), [(said, passage) for said in sentences])
    assert [(line.partition(" – ")[2], numbers) for line, numbers in reply.lines] == [
        ("Olav Prest, quoted by Lis Oker, The Courier", [2]),
        ("Mette Hald, quoted by Lis Oker, The Courier", []),
    ]
    assert [reply.quotes[line] for line, _ in reply.lines] == sentences
