"""What the page is made of: what events amount to, what hostile text becomes, the card of a source."""

import subprocess
import sys
from dataclasses import replace
from types import SimpleNamespace
from typing import cast

from agent_fixtures import QUESTION
from conftest import ROOT
from streamlit.proto.BackMsg_pb2 import BackMsg

from agent.answer.attribution import numbered_source_lines, source_lines
from agent.answer.model import (
    Answer,
    AnswerClaim,
    AnswerPerspective,
    Citation,
    CoverageLine,
    Quotation,
    Usage,
)
from agent.answer.wording import in_quotes
from agent.runs.store import RunRow
from tools.errors import InputError
from tools.passages import Passage
from tools.translation import speaking
from ui import answer_view, escaping, focus, guard, permissions, settings_view, source_view
from ui.escaping import escaped
from ui.service import PageService

HOSTILE = (
    "<script>alert(1)</script><iframe src=//x></iframe><img src=x onerror=alert(1)> ![](http://x/y.png) "
    "[go](javascript:alert(1)) :red[red] :material/delete: $x^2$ \u202eevil\u0007 <b>bold</b>"
)


def test_no_value_ends_the_pages_script() -> None:
    assert focus.now(focus=f"{HOSTILE}</script>").count("<") == focus.now().count("<")


def test_the_page_is_up_before_what_a_run_needs_is_loaded() -> None:
    code = "import sys, ui.server; print({'langgraph', 'langchain_core', 'chromadb', 'onnxruntime'} & {*sys.modules})"
    told = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "set()"


# Hostile text


def test_hostile_text_becomes_text() -> None:
    html = escaping.text(HOSTILE)
    assert "<" not in html
    assert "\u202e" not in html
    assert "\u0007" not in html
    assert "&lt;script&gt;" in html


def test_streamlits_own_markup_is_escaped_in_labels() -> None:
    words = escaped(HOSTILE + " www.evil.example me@evil.example")
    for mark in (":red[", ":material", " $x", "<script>", "[go](", "www.", "me@evil"):
        assert mark not in words
    assert escaped("Is it 5:30?").replace("\u2060", "") == r"Is it 5\:30?"


def test_the_words_behind_a_claim_are_marked_where_they_stand() -> None:
    html = escaping.marked("It lasts.  A bridge <b>carries</b> a town.", ["A bridge <b>carries</b>", "nowhere"])
    assert html.count("<mark") == 1
    assert ">A bridge &lt;b&gt;carries&lt;/b&gt;</mark> a town." in html
    assert escaping.marked("Nothing here.", ["else"]) == "Nothing here."
    apart = escaping.marked("It lasts.\nIt costs … much. It stays.", ["It lasts. … It stays.", "It costs … much."])
    assert apart == "<mark>It lasts.</mark>\n<mark>It costs … much.</mark> <mark>It stays.</mark>"


# The sources


def test_an_answer_names_the_places_that_were_searched() -> None:
    def told(*kinds: str, **options: object) -> str:
        run = SimpleNamespace(options={"collections": ["mine"], **options})
        return answer_view.searched(ANSWER.model_copy(update={"kinds": [*kinds]}), SERVICE, cast(RunRow, run))

    assert told() == told("mine", "web") == "Searched: ‘mine’, the web."
    assert told("studies", "news", sources=["studies", "news"]) == "Searched: studies, news."
    assert told(urls=["https://a.example", "https://b.example"]) == "Searched: 2 web pages."


SERVICE = cast(PageService, SimpleNamespace(called=str))


def passage(number: int, text: str = "It lasts. It carries a town.") -> Passage:
    return Passage(number, f"d{number}", "mine", text, f"Title {number}", "", f"Paper {number}", "news", "2026-03-12")


def side(id_: str, stance: str, name: str, *claims: AnswerClaim) -> AnswerPerspective:
    status = "supported" if claims else "not_found"
    return AnswerPerspective.model_validate(
        {"id": id_, "name": name, "statement": f"{name}.", "stance": stance, "status": status, "claims": list(claims)}
    )


def line(id_: str, passages: int, sources: int, *queries: str) -> CoverageLine:
    return CoverageLine.model_validate(
        {
            "perspective": id_,
            "status": "supported" if passages else "not_found",
            "strength": "some" if passages else "none",
            "passages": passages,
            "sources": sources,
            "strongest": 0.9,
            "queries": queries,
        }
    )


def citation(number: int, *more: int, support: float | None = 0.93) -> Citation:
    return Citation(
        number=number,
        passage_id=number,
        document_id=f"d{number}",
        collection="mine",
        quote="It lasts.",
        title=f"Title {number}",
        url="https://paper.example/1",
        publisher=f"Paper {number}",
        kind="news",
        date="2026-03-12",
        support=support,
        sample=False,
        more=[Quotation(passage_id=m, quote="It carries a town.", support=0.8) for m in more],
    )


ANSWER = Answer(
    run_id="0a",
    question=QUESTION,
    neutral_question=QUESTION,
    outcome="answered",
    summary="",
    perspectives=[
        side("p1", "supports", "For", AnswerClaim(text="It lasts.", citations=[1])),
        side("p2", "opposes", "Against"),
        side("p3", "other", "A tunnel should be dug instead of it all"),
        side("p4", "other", "A tunnel should be dug instead of it all"),
    ],
    citations=[citation(1, 4)],
    coverage=[line("p1", 3, 2), line("p2", 0, 0, "no bridges"), line("p3", 1, 1), line("p4", 0, 0)],
    notes=[],
    providers={},
    timings={"total": 1.0},
    usage=Usage(),
)


def test_below_a_claim_stands_who_says_it_and_where() -> None:
    two = [citation(n).model_copy(update={"speaker": "A. Moen", "page": n, "sample": n == 2}) for n in (1, 2)]
    answer = ANSWER.model_copy(update={"citations": two})
    first, second = (f"A. Moen, Paper {n}, news{' (sample)' * (n - 1)}, 12 March 2026, p. {n}" for n in (1, 2))
    assert source_lines(answer, AnswerClaim(text="It lasts.", citations=[1])) == [(1, first)]
    assert numbered_source_lines(answer, AnswerClaim(text="It lasts.", citations=[1])) == [first]
    both = numbered_source_lines(answer, AnswerClaim(text="Both last.", citations=[1, 2], quoted=False))
    assert both == [f"[1] {first}", f"[2] {second}"]
    loose = AnswerClaim(text="Ferries sink in every winter storm.", citations=[1], quoted=False)
    assert numbered_source_lines(answer, loose) == [first.removeprefix("A. Moen, ")]
    named = AnswerClaim(text="Ferries sink in every winter storm, says A. Moen.", citations=[1], quoted=False)
    assert numbered_source_lines(answer, named) == [first]
    told = loose.model_copy(update={"speaker": "Una; A. Moen"})  # as the model names them
    assert numbered_source_lines(answer, told) == [first]
    posted = [c.model_copy(update={"speaker": "una_b (2026-03-12)"}) for c in two[:1]]
    post = numbered_source_lines(
        ANSWER.model_copy(update={"citations": posted}), AnswerClaim(text="It lasts.", citations=[1])
    )
    assert post == ["una_b, 12 March 2026, Paper 1, news, p. 1"]


def test_the_page_is_that_of_the_words() -> None:
    said = citation(1, 4).model_copy(update={"page": 1})
    said = said.model_copy(update={"more": [q.model_copy(update={"page": 7}) for q in said.more]})
    answer = ANSWER.model_copy(update={"citations": [said]})
    pages = {"It carries a town.": ", p. 7", "It lasts.": ", p. 1", "Bridges last.": "12 March 2026"}
    for words, end in pages.items():  # of what a model wrote, which of the source's words are meant is not known
        assert numbered_source_lines(answer, AnswerClaim(text=words, citations=[1]))[0].endswith(end)


def card(cited: Citation, *passages: Passage) -> str:
    return source_view.card(cited, {p.id: p for p in passages})


def test_the_card_says_where_the_words_stand() -> None:
    html = card(citation(1, 4), passage(1), passage(4))
    assert html.count("<mark>") == 2
    assert "<mark>It lasts.</mark> It carries" in html
    for said in ('href="https://paper.example/1"', ">Paper 1, news, 12 March 2026<"):
        assert said in html
    assert ">Paper 1, survey.csv, news, " in card(citation(1).model_copy(update={"file": "survey.csv"}), passage(1))


def test_a_hostile_source_is_shown_as_text() -> None:
    bad = citation(1).model_copy(
        update={"title": HOSTILE, "publisher": HOSTILE, "date": HOSTILE, "url": "javascript:x"}
    )
    html = card(bad, replace(passage(1, HOSTILE + " It lasts."), section=HOSTILE))
    for tag in ("<script", "<iframe", "<img", "<b>bold", "<a "):
        assert tag not in html


# The settings


def test_each_address_that_can_be_set_names_the_key_that_it_is_sent() -> None:
    shown = {name for names in settings_view._GROUPS.values() for name in names}
    assert {name for name in shown if name.endswith(("_url", "_host"))} - {"searxng_url"} == set(settings_view._KEYS)
    assert set(settings_view._KEYS.values()) <= shown


def test_a_fragments_id_that_would_be_logged_is_no_message_that_the_page_needs() -> None:
    for sent, needed in (("0b5e-f", True), ("", True), ("a\n\x1b]0;b", False), ("a" * 101, False)):
        message = BackMsg()
        message.rerun_script.fragment_id = sent
        assert guard._is_needed(message.SerializeToString()) is needed


def test_a_row_is_named_by_its_table_and_quotations_in_a_quotation_have_single_marks() -> None:
    row = replace(passage(1), document_id="9", key="/a/survey.csv#9", title="")
    assert [p.name for p in (row, replace(row, title="Dogs"), passage(1))] == ["survey.csv, row 9", "Dogs", "Title 1"]
    assert in_quotes('He said: "Buy dogs."') == "“He said: ‘Buy dogs.’”"
    assert in_quotes('"Buy dogs."') == "“Buy dogs.”"


def test_a_visitor_sees_no_hint_of_an_error_too_long_to_translate() -> None:
    hint = "Run `make install`."
    with speaking("de"):
        told = [permissions.cause(InputError(f"{words} failed.", hint=hint)) for words in ("It", "word " * 1_000)]
    assert ["make" in words for words in told] == [False, False]
