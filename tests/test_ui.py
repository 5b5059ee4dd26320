"""The page itself over instant providers: ask, watch, edit, stop, follow up, the history and the settings."""

import re
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import streamlit as st
from agent_fixtures import QUESTION
from conftest import ROOT
from page_app import Client, Pages, click, html, open_pages, until
from providers import ScriptedJudge, build
from search_servers import SearchServer
from sqlalchemy import update
from streamlit.runtime.scriptrunner import RerunData, get_script_run_ctx
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import TextInput
from test_rendering import embedded
from toll_run import CLAIMS, toll_answer, toll_run
from toy_sources import ToyServer
from web_fixtures import prose, publish, with_web
from web_server import WebServer
from written_answers import answer, cited, stands

from agent.answer.corrections import Corrections
from agent.answer.followups import CommandReply
from agent.answer.model import Answer, AnswerClaim, AnswerDocument, Quotation, shared_fields
from agent.answer.wording import format_date
from agent.options import RunOptions
from agent.runs import service as session
from agent.runs.service import Runs
from agent.runs.store import RunStore
from agent.settings import Settings
from tools.store.database import Database
from tools.store.schema import runs
from tools.store.store import Store
from ui import progress_view
from ui.service import PageService

UNDO_LAST = "Undo the last move of a quotation"


@pytest.fixture
def page(settings: Settings, shared_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Pages]:
    """Opens the page over instant providers, whose judge takes a moment."""
    (settings.data_dir / "cache").symlink_to(shared_cache)
    with open_pages(settings, monkeypatch) as pages:
        yield pages


def field(app: AppTest) -> TextInput:
    """The question's field, which under an answer stands at the lower edge of the page."""
    return next(f for f in app.text_input if str(f.key).startswith("question"))


def ask(app: AppTest, question: str, *, review: bool = False) -> AppTest:
    field(app).set_value(question)
    if review:
        app.checkbox[0].check()
    return click(app, "Ask")


def shown_run(app: AppTest) -> str:
    """The run in the address."""
    value = app.query_params.get("run", "")
    return value if isinstance(value, str) else value[0]


def labels(app: AppTest) -> list[str]:
    return [b.label for b in app.button]


def answered(app: AppTest) -> bool:
    return "documents on this" in html(app)


def test_ask_watch_and_see_the_sides(page: Callable[..., AppTest]) -> None:
    app = ask(page(), QUESTION)
    assert not app.exception
    assert shown_run(app)
    until(app, answered)
    assert f"<h1>{QUESTION}</h1>" in html(app)
    assert [e.label for e in app.expander] == [
        "More about how this was made",
        "Documents: read 40 documents, quoted 4.",
    ]
    again = page(run=shown_run(app))  # a reload, or the link in another browser
    assert answered(again)
    assert f"<h1>{QUESTION}</h1>" in html(again)


@pytest.mark.slow
def test_yes_stands_before_no_on_the_page_in_its_comparison_and_on_the_sheet_whatever_was_stored(
    page: Callable[..., AppTest], settings: Settings
) -> None:
    page()
    sides = stands("p1", "supports", "It is."), stands("p2", "opposes", "It is not."), stands("p3", "other", "Or so.")
    told = answer("Is it?", *sides, nearest_questions=["Is that near?"], citations=[cited(1)])
    order = ["Yes", "No", "Other ways"]
    for run in "0" * 12, "1" * 12:  # odd and even
        stored = told.model_copy(update={"perspectives": [*reversed(told.perspectives)]})
        store_answer(settings, stored, run)
        shown = page(run=run)
        assert sorted(order, key=lambda side: html(shown).index(f"<b>{side}</b>")) == order
        sheet = html(page(run=run, view="sheet"))
        assert sheet.index("<h2>Yes: It is.") < sheet.index("<h2>No: It is not.")
        assert "Is that near?" in labels(shown)
        compared = html(page(run=run, view="compare"))
        assert sorted(order, key=lambda side: compared.index(f'sm-apart">{side}')) == order
        assert "Is that near?" not in compared


def store_answer(settings: Settings, told: Answer, run: str) -> None:
    with closing(Database(settings.database)) as database:
        runs = RunStore(database)
        runs.create(run, run, told.question, RunOptions.of().to_dict(), "a test")
        runs.finish(run, "a test", "done", {}, told.model_copy(update={"run_id": run}).model_dump_json())


def test_what_stands_under_no_side_is_first_where_no_side_has_a_case(
    page: Callable[..., AppTest], settings: Settings
) -> None:
    page()
    store_answer(settings, embedded(2, 7), "4" * 12)
    app = page(run="4" * 12)
    assert not app.exception
    shown = html(app)
    first, side = shown.index("<h2>On this question</h2>"), shown.index("<b>Answer 1</b>")
    assert first < shown.index("“Sentence 1.”") < shown.index("Ann Lee, The Courier, news, 1 March 2025") < side
    assert first < shown.index("a larger model from Hugging Face as the judge") < side
    assert next(e.label for e in app.expander) == ":small[+ 2 more]"
    assert [m.value for m in app.markdown].count(":small[nothing sure enough to quote for this side]") == 2


def test_where_nothing_is_sure_the_sides_are_listed_without_a_sentence(
    page: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    undecided = build(judge=ScriptedJudge(lambda pair: 0.5 if " not " in pair.statement else 0.65))
    monkeypatch.setattr(session, "Runs", partial(Runs, build=undecided))
    app = until(ask(page(), QUESTION), lambda a: "<b>No</b>" in html(a))
    assert 'class="sm-claim case"' not in html(app)
    assert 'class="sm-claim thesis"' not in html(app)
    assert "one source" in app.markdown[0].help  # what counts is explained where they stand
    assert [e.label for e in app.expander] == [
        "Documents: read 40 documents, quoted 1."
    ]  # no more of a side without a case


def test_all_that_passed_is_on_the_page_and_all_but_four_claims_of_a_side_are_folded(
    page: Callable[..., AppTest], settings: Settings
) -> None:
    page()
    plain = [c | {"reason": ""} if c["perspective"] == "p1" else c for c in CLAIMS]  # one side names no reason: no rows
    store_answer(settings, toll_answer(toll_run(claims=plain)), "3" * 12)
    app = page(run="3" * 12)
    assert not app.exception
    assert "<h4>" not in html(app)
    folded, _, documents = app.expander
    assert folded.label == ":small[+ 5 more]"
    shown = [b.label for b in folded.button if "Wrong side?" not in b.label]
    assert shown == [r"\[6\]", *[r"\[5\]"] * 4]
    assert [b.label for b in app.button if "Ford Gazette" in b.label] == [r"Answered by Ford Gazette \[2\]"]
    assert "reason 9 against a toll" in "".join(e.proto.body for e in folded.get("html")).casefold()
    assert html(app).index("A yearly pass costs") < html(app).index("44 of 46 shops")
    assert ":small[Against it:]" in [m.value for m in app.markdown]
    assert '<span class="sm-reason why">Safety</span> Carters' in html(app)
    assert "(answers&nbsp;[5] ‘Carters would drive through the ford, where two horses …’)</span>" in html(app)
    assert "<h2>Also on this question, not sorted by side</h2>" in html(app)
    assert documents.label == "Documents: read 13 documents (of 14 found), quoted 9."
    assert [b.label for b in documents.button][:2] == ["On the bridge, part 1", r"\[1\]"]
    listed = "".join(e.proto.body for e in documents.get("html"))
    assert listed.startswith('<p class="sm-small">Valley Courier · news · 1 March 2025 · read as Yes · quoted</p>')
    assert "read as No · not quoted: clearer quotations were chosen</p>" in listed
    assert not any("A yearly pass" in c.value for c in app.code)  # what is copied is made once it is asked for
    (copied,) = (c.value for c in opened(app, "copy-p3").code if "A yearly pass" in c.value)
    assert copied.index("Against it:") < copied.index("44 of 46 shops") < copied.index("[8] On the bridge")


def test_reasons_name_rows_in_which_both_sides_stand_and_a_claim_leads_to_its_reply(
    page: Callable[..., AppTest], settings: Settings
) -> None:
    page()
    told = toll_answer(toll_run(claims=[c | {"reason": "costs"} if c is CLAIMS[2] else c for c in CLAIMS]))
    mill = told.citations[2].model_copy(update={"publisher": "[Mill](https://e.example) **:red[O]**"})
    told = told.model_copy(update={"citations": [*told.citations[:2], mill, *told.citations[3:]]})
    store_answer(settings, told, "8" * 12)
    app = page(run="8" * 12)
    assert not app.exception
    rows = under_reasons(app)
    assert [*rows] == ["Cost", "Traffic", "School", "Safety", "Loneliness", "Trade", "Other"], "what both name is first"
    assert any(e.label == ":small[+ 1 more reason]" for e in app.expander)
    yes, no = (f'<p class="sm-small">{side}</p>' for side in ("Yes", "No"))
    places = [rows["Cost"].index(part) for part in (yes, "Those who cross", no, "A toll house would")]
    assert (places, "why" in rows["Cost"]) == (sorted(places), False)  # the row has the reason's name
    assert '<p class="sm-small">No —</p>' in rows["Traffic"]
    reply = app.button(key="answered-p1-0-0")
    assert reply.label.startswith(r"Answered by \[Mill\]")
    assert r"\*\*\:" in reply.label
    assert '"clear": ".st-key-claim-p2-0"' in html(reply.click().run())


MOVED = "A reader moved 1 quotation: ‘A toll would keep heavy carts on the highway.’"


def unscripted(app: AppTest) -> str:
    """The page without the scripts that move the focus."""
    return re.sub("<script>.*?</script>", "", html(app), flags=re.DOTALL)


def test_a_quotation_on_the_wrong_side_is_moved_and_put_back(page: Callable[..., AppTest], settings: Settings) -> None:
    page()
    store_answer(settings, toll_answer(), "7" * 12)
    app, changed = page(run="7" * 12), f"{MOVED} from Yes to No."
    before, carts = unscripted(app), "A toll would keep heavy carts on the highway."
    app.button(key="move-p2-p1-1").click().run()
    assert not app.exception
    assert changed in html(app)
    assert any("10 claims from" in m.value for m in app.markdown)
    places = [
        "Undo",
        "Move it to ‘A yearly pass’",
        "Move it to ‘Also on this question’",
        "Move it to ‘Not on this question’",
    ]
    assert [b.label for b in app.button if str(b.key).startswith("undo-")] == [*places, UNDO_LAST]
    again = page(run="7" * 12)
    assert changed in html(again)
    assert html(page(run="7" * 12, view="compare")).count(changed) == 1
    assert "Wrong side?" in app.button(key="move-p2-p1-0").label
    assert "undo-move" not in {b.key for b in again.button}  # it is shown where the quotation was moved
    assert unscripted(click(again, UNDO_LAST)) == before
    again.button(key="move-p2-p1-1").click().run()
    again.button(key="undo-to-off").click().run()
    claims = re.findall(r'<p class="sm-claim.*?</p>', html(again), re.DOTALL)
    off = f"{MOVED} from Yes to ‘Not on this question’."
    assert (carts in str(claims), off in html(again)) == (False, True)
    assert unscripted(click(click(again, "Undo"), UNDO_LAST)) == before


def test_a_quotation_leaves_its_side_for_any_place_with_one_choice(page: Pages, settings: Settings) -> None:
    page()
    store_answer(settings, toll_answer(), "7" * 12)
    before = unscripted(page(run="7" * 12))
    for place in ("‘Also on this question’", "‘Not on this question’", "‘A yearly pass’"):
        app = follow_up(page(run="7" * 12), "p1-1", f"Move it to {place}")
        assert not app.exception
        assert f"{MOVED} from Yes to {place}." in html(app)
        assert not [w for w in html(app).split("<p ") if "You asked:" in w]
        assert unscripted(click(app, "Undo")) == before
    kept = {*app.menu_button(key="move-on-p1-1").options}
    assert (f"Move it to {place}" in kept, "Move it to ‘No’" in kept) == (True, False)
    others = page(run="7" * 12, shared="1").menu_button
    assert others
    assert not [option for menu in others for option in menu.options if "Move it" in option]


def test_each_moved_quotation_is_put_back_where_it_stands(page: Callable[..., AppTest], settings: Settings) -> None:
    page()
    store_answer(settings, toll_answer(), "7" * 12)
    first, second = (side.claims[1].text for side in toll_answer().perspectives[:2])
    app = page(run="7" * 12)
    before = unscripted(app)
    for words, to in ((first, "p2"), (second, "p1")):
        with closing(Database(settings.database)) as database:
            Corrections(database).add("7" * 12, to, text=words)
    to_yes = "‘Pupils have no other way to school.’ from No to Yes"
    assert f"{MOVED.replace('1 quotation', '2 quotations')} from Yes to No; {to_yes}." in html(app.run())
    backs = [b for b in app.button if str(b.key).startswith("move-back-")]
    assert [str(b.key)[:12] for b in backs] == ["move-back-p1", "move-back-p2"]
    backs[1].click().run()
    with closing(Database(settings.database)) as database:
        told = RunStore(database).get("7" * 12).answer
    assert told
    assert [words in [c.text for c in told.perspectives[0].claims] for words in (first, second)] == [True, True]
    next(b for b in app.button if str(b.key).startswith("move-back-")).click().run()
    assert unscripted(app) == before


def under_reasons(app: AppTest) -> dict[str, str]:
    """What stands below each reason's heading, up to the next one or the end of the rows."""
    return dict(re.findall("<h4>(.*?)</h4>(.*?)(?=<h4>|<h2>)", html(app), re.DOTALL))


@pytest.mark.parametrize("key", ["move-p2-p1-1", "move-p1-p2-2", "move-p1-p2-5"])
def test_a_moved_claim_and_its_way_back_stand_under_its_own_reason(
    page: Callable[..., AppTest], settings: Settings, key: str
) -> None:
    page()
    store_answer(settings, toll_answer(), "7" * 12)
    app = page(run="7" * 12)
    _, _, side, number = key.split("-")
    claim = toll_answer().perspectives[side == "p2"].claims[int(number)]
    app.button(key=key).click().run()
    shown = [reason for reason, words in under_reasons(app).items() if "Moved to" in words]
    assert (shown, f">{claim.text}" in under_reasons(app)[shown[0]]) == ([claim.reason.capitalize()], True)
    app.button(key="undo-to-also").click().run()
    reasons = {reason for reason, words in under_reasons(app).items() if "Moved to" in words}
    assert reasons <= {claim.reason.capitalize()}
    assert labels(app).count("Undo") == 1
    assert html(app).index("Moved to") < html(app).index("<h2>")


def asked_again_after(change: Callable[..., None]) -> Callable[..., None]:
    """The change; while it is being stored the window sends something more, as where the machine is busy."""

    def changed(*args: Any, **named: Any) -> None:
        change(*args, **named)
        context = get_script_run_ctx()
        assert context
        assert context.script_requests
        context.script_requests.request_rerun(RerunData(query_string=context.query_string))

    return changed


def test_the_way_back_is_shown_though_the_page_is_asked_for_again_meanwhile(
    page: Callable[..., AppTest], settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    page()
    store_answer(settings, toll_answer(), "7" * 12)
    app, changed = page(run="7" * 12), f"{MOVED} from Yes to No."
    monkeypatch.setattr(Corrections, "add", asked_again_after(Corrections.add))
    app.button(key="move-p2-p1-1").click().run()
    assert (labels(app).count("Undo"), changed in html(app)) == (1, True)
    monkeypatch.setattr(Corrections, "undo", asked_again_after(Corrections.undo))
    click(app, "Undo")
    assert ([label for label in labels(app) if "ndo" in label], changed in html(app)) == ([], False)


def test_what_is_deleted_can_be_put_back_though_the_page_is_asked_for_again_meanwhile(
    page: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    app = until(ask(page(), QUESTION), answered)
    monkeypatch.setattr(PageService, "remove_thread", asked_again_after(PageService.remove_thread))
    click(menu(app, shown_run(app)), "Delete")
    assert "Undo" in labels(app)


def test_nobody_corrects_what_another_asked(page: Callable[..., AppTest], settings: Settings) -> None:
    page()
    store_answer(settings, toll_answer(), "7" * 12)  # everybody's
    app = page(ANN, run="7" * 12)
    assert "A toll would keep heavy carts on the highway." in html(app)
    assert [sum(str(b.key).startswith("move-") for b in shown.button) for shown in (app, page(run="7" * 12))] == [0, 16]


def test_a_document_opens_at_its_surest_sentence(page: Callable[..., AppTest], settings: Settings) -> None:
    app = until(ask(page(), QUESTION), answered)
    with closing(Database(settings.database)) as database:
        told = RunStore(database).get(shown_run(app)).answer
    assert told
    first, *_, last = told.documents
    assert (first.quoted, last.quoted) == ([1], [])
    for place, mark in ((1, 1), (40, 1)):  # a quoted one, and one whose surest passage the judge's scores tell
        opened = app.button(key=f"open-read-{place}").click().run()
        assert not opened.exception
        assert html(opened).count("<mark>") == mark


def test_many_documents_are_listed_in_parts(page: Callable[..., AppTest], settings: Settings) -> None:
    page()
    told = toll_answer()
    rows = [told.documents[0].model_copy(update={"id": str(n), "file": "bridge.csv", "title": ""}) for n in range(120)]
    store_answer(settings, told.model_copy(update={"documents": [*rows, told.documents[1]]}), "5" * 12)
    app = page(run="5" * 12)

    def titles() -> list[str]:
        return [b.label for b in app.button if (b.key or "").startswith("open-read-")]

    assert "<b>bridge.csv · 120 rows, 120 quoted</b>" in html(app)
    assert (titles()[0], len(titles())) == ("row 0", 50)
    click(app, "More")
    click(app, "More")
    assert (titles()[-1], len(titles())) == ("On the bridge, part 2", 121)
    assert "More" not in labels(app)


def test_the_debate_sheet_has_three_quotations_a_side_and_what_is_not_known(
    page: Callable[..., AppTest], settings: Settings
) -> None:
    page()
    store_answer(settings, toll_answer(), "6" * 12)
    app = click(page(run="6" * 12), "Three arguments for each side")
    assert not app.exception
    shown = html(app)
    heads = ["<h2>Yes</h2>", "<h2>No</h2>", "<h2>A yearly pass: Each household", "<h2>What is not known</h2>"]
    assert sorted(heads, key=shown.index) == heads
    assert shown[shown.index(heads[1]) : shown.index(heads[2])].count("sm-apart") == 3
    assert "“A toll would keep heavy carts on the highway.” Ford Gazette, news, 20 March 2025</p>" in shown
    assert '“Nobody has counted the carts.”</p><p class="sm-small">Reader 13, news, 13 March 2025</p>' in shown
    assert "No clear side in " in shown
    assert len(app.get("download_button")) == 2
    assert f"<h1>{toll_answer().question}</h1>" in html(click(app, "Back to the answer"))


def test_what_cannot_be_asked_is_said_and_nothing_is_lost(page: Callable[..., AppTest]) -> None:
    app = ask(page(), "???")
    assert not app.exception
    assert "There is no word" in html(app)
    assert field(app).value == "???"


@pytest.mark.slow
def test_the_sides_can_be_edited_first(page: Callable[..., AppTest]) -> None:
    app = ask(page(), QUESTION, review=True)
    until(app, lambda a: "Search for these" in labels(a))
    assert [t.value for t in app.text_area if t.label != "Read only these web pages, one address a line"] == [
        "Towns should build bridges.",
        "Towns should not build bridges.",
    ]
    click(app, "Add a side")
    app.text_area[1].set_value("Towns should dig tunnels.")
    app.text_area[2].set_value("Towns should row.")
    app.checkbox(key="kept-1").uncheck()
    click(app, "Search for these")
    until(app, lambda a: "Searched: " in html(a))
    assert "Towns should dig tunnels." in html(app)
    assert "Towns should row." in html(app)
    assert "Towns should build bridges.</p>" not in html(app)


@pytest.mark.slow
def test_a_run_is_stopped_and_goes_on(page: Callable[..., AppTest]) -> None:
    app = ask(page(), QUESTION)
    click(app, "Stop")
    until(app, lambda a: "was stopped" in html(a))
    click(app, "Continue")
    until(app, answered)


def test_a_run_whose_process_was_killed_goes_on(page: Callable[..., AppTest], settings: Settings) -> None:
    with closing(Database(settings.database)) as database:
        RunStore(database).create("a" * 12, "a" * 12, QUESTION, RunOptions.of().to_dict(), "killed")
        with database.write() as db:
            db.execute(update(runs).values(heartbeat=0))
    app = page(run="a" * 12)
    assert "This question was interrupted: the process that worked on it is gone." in html(app)
    until(click(app, "Continue"), answered)


def test_a_follow_up_stands_in_its_thread(page: Callable[..., AppTest]) -> None:
    app = until(ask(page(), QUESTION), answered)
    first = shown_run(app)
    assert field(app).label == "Follow up, or ask something new"
    ask(app, "What about the cost?")
    until(app, lambda a: shown_run(a) != first and "Searched: " in html(a))
    assert "<h1>What about the cost?</h1>" in html(app)
    thread = [b for b in app.button if b.key and b.key.startswith("thread-")]
    assert [(b.label, b.disabled) for b in thread] == [(QUESTION, False), ("What about the cost?", True)]
    thread[0].click().run()
    assert shown_run(app) == first
    assert f"<h1>{QUESTION}</h1>" in html(app)


@pytest.mark.slow
def test_what_goes_on_from_an_answer_searches_where_it_was_searched(
    page: Callable[..., AppTest], settings: Settings
) -> None:
    first = shown_run(until(ask(page(), QUESTION), answered))
    run, there = "a" * 12, RunOptions.of(collections=("letters",), web=False)
    with closing(Database(settings.database)) as database:
        runs, store = RunStore(database), Store(database)
        store.ensure_collection("letters", store.collections()[0].encoder)
        runs.create(run, run, QUESTION, there.to_dict(), "a test")
        answer = runs.get(first).answer
        assert answer
        runs.finish(run, "a test", "done", {}, answer.model_dump_json())
        assert "Searched: ‘letters’." in html(page(run=run))
        for go_on in (
            partial(click, label="Search more for this side"),
            partial(ask, question="Strongest counter-argument to 1?"),
        ):
            went_on = runs.get(shown_run(go_on(page(run=run))))
            assert (went_on.thread, went_on.id == run) == (run, False)
            assert (went_on.options["collections"], went_on.options["web"]) == (["letters"], False)
        app = until(ask(page(run=run), "Strongest counter-argument to 1?"), lambda a: "Searched: ‘letters’." in html(a))
        ask(app, "What about the cost?")  # after the one that was watched as it ran
        assert runs.get(shown_run(app)).options["collections"] == ["letters"]


def test_what_the_answer_tells_stands_below_it_in_order(page: Callable[..., AppTest]) -> None:
    app = until(ask(page(), QUESTION), answered)
    click(app, "Summarise")
    ask(app, "/only 2")
    assert field(app).value == ""
    click(app, "Only newer sources")
    said = html(app)
    told = [
        "You asked: Summarise",
        "<b>In short</b>",
        "You asked: /only 2",
        "You asked: Only newer",
        "<b>Claims that cite source [2]",
    ]
    assert sorted(told[:4], key=said.index) == told[:4]
    assert told[4] in said
    assert "Reloading the page removes these replies" in said
    line = r'Yes: “A bridge with (\d+) arches carries a town.”</p><p class="sm-small">Press \1, \(sample\)</p>'
    assert re.search(line, said.partition("You asked: Summarise")[2]), "with the line below it in the answer"
    ask(app, "/shout")
    assert "there are /summarise, /more" in html(app).casefold()
    assert "You asked" not in html(page(run=shown_run(app)))


def test_a_side_is_argued_against_at_a_click(page: Callable[..., AppTest]) -> None:
    app = until(ask(page(), QUESTION), answered)
    first = shown_run(app)
    click(app, "What speaks against this")
    until(app, lambda a: shown_run(a) != first and "Searched: " in html(a))
    assert "<h1>What speaks against ‘For’?</h1>" in html(app)


def test_the_history_marks_what_is_open_and_what_is_running(page: Callable[..., AppTest]) -> None:
    app, word = ask(page(), QUESTION), '<span class="sm-small">running</span>'
    row = f"open-{shown_run(app)}"
    assert (word in html(app), app.button(key=row).proto.type) == (True, "secondary")
    until(app, answered)
    click(app, "New question")
    assert (word in html(app), app.button(key=row).proto.type) == (False, "tertiary")


def test_the_history_is_opened_and_deleted(page: Callable[..., AppTest]) -> None:
    app = until(ask(page(), QUESTION), answered)
    run_id = shown_run(app)
    home = click(app, "New question")
    assert not shown_run(home)
    click(home, QUESTION)
    assert shown_run(home) == run_id
    menu(home, run_id).text_input(key=f"name-{run_id}").set_value("Bridges").run()
    assert "Bridges" in labels(home)
    home.text_input(key="search").set_value("tunnel").run()
    assert "No question has these words." in html(home)
    home.text_input(key="search").set_value("TOWNS").run()
    click(menu(home, run_id), "Delete")
    assert not shown_run(home)
    assert "Bridges" not in labels(home)
    click(home, "Undo")
    assert "Bridges" in labels(home)
    assert shown_run(home) == run_id  # which was open
    assert answered(home)


def opened(app: AppTest, popover: str) -> AppTest:
    """The page with a popover open, which the harness does not know and closes with the next click."""
    app.session_state[popover] = True
    return app.run()


def menu(app: AppTest, thread: str) -> AppTest:
    return opened(app, f"more-{thread}")


def follow_up(app: AppTest, claim: str, option: str) -> AppTest:
    """Chooses one of the ways to go on from a claim, by the claim's key."""
    return app.menu_button(key=f"move-on-{claim}").click(option).run()


def test_a_source_opens_beside_the_answer_with_the_claims_words_marked(page: Callable[..., AppTest]) -> None:
    app = until(ask(page(), QUESTION), answered)
    cited = next(b for b in app.button if b.key and b.key.startswith("cite-p"))
    cited.click().run()
    shown = html(app)
    assert shown.count("<mark>") == 1
    assert f"<b>[{cited.label.strip(chr(92) + '[]')}]</b>" in shown
    click(app, "Whole document")
    assert html(app).count("<mark>") == 2  # in the document as well
    click(app, "Close")
    assert "<mark>" not in html(app)


def test_what_speaks_against_any_quotation_is_offered(page: Callable[..., AppTest], settings: Settings) -> None:
    page()
    quoted, opposed, other = (AnswerClaim(text=f"Words {n}.", citations=[n]) for n in (1, 2, 3))
    side = stands("p1", "other", "It is.", quoted, objections=[opposed])
    also, sources = [other.model_copy(update={"role": "also"})], [cited(n, quote=f"Words {n}.") for n in (1, 2, 3)]
    store_answer(settings, answer("What is it?", side, also=also, citations=sources), "5" * 12)
    asked = []
    for claim in ("p1-0", "p1-against-0", "also-0"):
        app = follow_up(page(run="5" * 12), claim, "What speaks against this")
        assert field(app)
        with closing(Database(settings.database)) as database:
            asked.append(RunStore(database).get(shown_run(app)).question)
    assert asked == [f"What speaks against “Words {number}.”?" for number in (1, 2, 3)]


def test_each_source_of_a_claim_can_be_looked_at_alone(page: Callable[..., AppTest], settings: Settings) -> None:
    page()
    both = AnswerClaim(text="Ferries stop in winter.", citations=[1, 2], quoted=False, role="case")
    other = AnswerClaim(text="Ferries are cheap.", citations=[1], quoted=False, role="case")
    sides = stands("p1", "supports", "It is.", both), stands("p2", "opposes", "It is not.", other)
    store_answer(settings, answer("Is it?", *sides, citations=[cited(1), cited(2)]), "5" * 12)
    app = page(run="5" * 12)
    every = ["What speaks against this", "More like this", r"Only this source \[1\]", r"Only this source \[2\]"]
    away = ["Move it to ‘Also on this question’", "Move it to ‘Not on this question’"]
    assert app.menu_button(key="move-on-p1-0").options == [*every, *away]
    assert app.menu_button(key="move-on-p2-0").options == [*every[:2], "Only this source", *away]
    told = follow_up(app, "p1-0", every[3])
    reply = html(told).partition("You asked: Only this source [2]")[2]
    assert "Ferries stop in winter." in reply
    assert "Ferries are cheap." not in reply
    assert [b.key for b in told.button if str(b.key).startswith("cite-reply")] == ["cite-reply-1-0-2"]
    assert not {*away} & {*told.menu_button(key="move-on-reply-1-0").options}
    again = follow_up(told, "reply-1-0", "Only this source")  # a reply leads on as well
    assert "You asked: Only this source [2]" in html(again).partition("You asked: ")[2]
    assert not [b.key for b in again.button if "move-p2-reply" in str(b.key)]


def test_a_line_of_a_reply_opens_its_source_at_its_own_sentence(
    page: Callable[..., AppTest], settings: Settings
) -> None:
    page()
    other = Quotation(passage_id=1, quote="Ferries are cheap.", support=0.9)
    sources = [cited(1, quote="Ferries stop in winter.", more=[other])]
    store_answer(settings, answer("Is it?", stands("p1", "other", "It is."), citations=sources), "5" * 12)
    app = page(run="5" * 12)
    line = "“Ferries are cheap.” – Una Roe, Press 1"
    reply = CommandReply("More like this", [(line, [1])], {line: "Ferries are cheap."})
    app.session_state[f"replies-{'5' * 12}"] = [("More like this [1]", reply)]
    app.run().button(key="cite-reply-1-0-1").click().run()
    assert app.session_state["source"][2] == ("Ferries are cheap.",)


def test_a_search_that_finds_nothing_more_says_so(page: Callable[..., AppTest], settings: Settings) -> None:
    nothing, run = "This search found nothing more than the one before.", "6" * 12
    app = page()
    told = answer("What is it?", stands("p1", "other", "It is."), citations=[cited(1, quote="One.")])
    store_answer(settings, told, run)
    assert nothing not in html(page(run=run))
    with closing(Database(settings.database)) as database:
        rows = RunStore(database)
        for again, quotes in (("7" * 12, ["One."]), ("8" * 12, ["One.", "Two."])):
            rows.create(again, run, told.question, RunOptions.of().to_dict(), "a test")
            sources = [cited(n, quote=quote) for n, quote in enumerate(quotes, start=1)]
            found = told.model_copy(update={"run_id": again, "citations": sources})
            rows.finish(again, "a test", "done", {}, found.model_dump_json())
            app = page(run=again)
            assert (nothing in html(app)) == (len(quotes) == 1)


def test_the_answer_lists_its_sources_and_can_be_taken_along(page: Callable[..., AppTest]) -> None:
    app = until(ask(page(), QUESTION), answered)
    listed = [b.key for b in app.button if b.key and b.key.startswith("cite-list-")]
    assert len(listed) >= 2
    assert [b.label for b in app.download_button] == [
        "Word",
        "Web page",
        "Plain text (Markdown)",
        "For programs (JSON)",
    ]
    copied, link = [c.value for c in opened(app, "copy-p1").code]
    assert "[1] " in copied
    assert link.endswith(f"?run={shown_run(app)}")


def compared(app: AppTest) -> bool:
    return "quoted by both answers" in html(app)


def test_the_rows_of_a_table_are_one_document_where_answers_are_compared(
    page: Callable[..., AppTest], settings: Settings
) -> None:
    page()
    rows = [cited(n, document_id=f"survey.csv, row {n}", title="") for n in (1, 2, 3)]
    for run, sources in (("5" * 12, rows), ("6" * 12, [*rows[2:], cited(4, document_id="weir.md")])):
        side = stands("p1", "other", "It is.", AnswerClaim(text="One.", citations=[sources[0].number]))
        read = [
            AnswerDocument(
                **shared_fields(c, AnswerDocument), id=c.document_id, stances=[], quoted=[c.number], not_quoted=""
            )
            for c in sources
        ]
        store_answer(settings, answer("Is it?", side, citations=sources, documents=read), run)
    shown = html(page(run="5" * 12, view="compare", **{"with": "6" * 12}))
    assert "1 document quoted by both answers, 0 by the left one alone, 1 by the right one alone." in shown


def test_the_ranked_list_says_what_it_is_below_its_heading(page: Callable[..., AppTest], settings: Settings) -> None:
    page()
    store_answer(settings, toll_answer(), "7" * 12)
    shown = html(page(run="7" * 12, view="ranked"))
    said = "Beside the answer: the best-matching passages, in the order of a search engine, not by side."
    assert f"<h1>A plain list of search results</h1><p>{said}</p>" in shown


@pytest.mark.slow
def test_an_answer_is_compared_with_another_one_from_the_history(page: Callable[..., AppTest]) -> None:
    first = shown_run(until(ask(page(), QUESTION), answered))
    second = shown_run(until(ask(page(), "Should ferries run at night?"), lambda a: "Compare" in labels(a)))
    app = page(run=first, view="compare")  # the address that showed the ranked passages, which are a click away
    assert "A plain list of search results" in labels(app)
    (choice,) = app.selectbox
    assert [option.partition(" · ")[0] for option in choice.options] == ["Should ferries run at night?"]
    choice.select_index(0).run()
    assert (shown_run(app), app.query_params["with"]) == (first, second)
    assert compared(app)
    assert html(app).index(f"<h2>{QUESTION}</h2>") < html(app).index("<h2>Should ferries run at night?</h2>")


@pytest.mark.slow
def test_the_same_is_asked_again_in_other_places_and_stands_beside(page: Callable[..., AppTest]) -> None:
    first = shown_run(until(ask(page(), QUESTION), answered))
    app = page(run=first, view="compare")
    assert not app.selectbox[0].options
    app.checkbox[0].check()
    until(click(app, "Ask again"), compared)
    assert (shown_run(app), html(app).count(f"<h2>{QUESTION}</h2>")) == (first, 2)
    assert app.query_params["with"] != first
    assert {QUESTION, f"{QUESTION} · without web and chat model"} <= {*labels(app)}  # told apart in the history
    gone = page(run=first, view="compare", **{"with": "f" * 12})
    assert "There is no answer at this address." in html(gone)
    assert len(gone.selectbox) == 1


def test_a_greeting_is_greeted_with_an_example_to_ask(page: Callable[..., AppTest]) -> None:
    app = ask(page(), "Hello there!")
    assert "Hello! Ask something that people disagree on" in html(app)
    assert 'sm-error" role="alert"' not in html(app)
    assert not shown_run(app)
    until(click(app, "Ask: Should schools ban smartphones?"), shown_run)
    assert "<h1>Should schools ban smartphones?</h1>" in html(app)
    below = until(ask(page(), QUESTION), answered)
    assert "You are welcome!" in html(ask(below, "Thank you!"))


def test_a_greeting_names_the_documents_that_a_question_would_search(page: Pages) -> None:
    page()
    titles = "Mend the weir", "Leave the weir", "Sell the weir"
    files = [(f"{number}.md", f"# {title}\n\n{LETTER}".encode()) for number, title in enumerate(titles)]
    service = page.opened[0]
    service.upload(files, [], "letters")
    until(page(), lambda _: (latest := service.latest_upload()) and latest.state.ended)
    told = html(app := ask(page(), "Hello there!")).partition('role="status">')[2].partition("</p>")[0]
    assert told.startswith("Hello! Ask a question that these documents argue about: ‘")
    assert [title for title in titles if f"‘{title}’" not in told] == []
    assert told.endswith(". For example: “Should …?” or “Who should pay for …?”")
    assert not [b for b in app.button if b.label.startswith("Ask: ")]


def test_the_example_of_the_samples_stands_only_where_they_are_searched(page: Pages) -> None:
    example, topics = 'class="sm-sample"', "Or ask the sample texts that come with Steelman, on one of thirty topics:"
    assert example in html(page())
    service = page.opened[0]
    service.upload([("weir.md", LETTER.encode())], [], "letters")
    until(page(), lambda _: (latest := service.latest_upload()) and latest.state.ended)
    own = html(page())
    assert (example in own, topics in own) == (False, True)


def test_a_question_that_was_typed_outlives_a_visit_elsewhere(page: Callable[..., AppTest], settings: Settings) -> None:
    app = page()
    store_answer(settings, answer("Is it?", stands("p1", "supports", "It is.")), "5" * 12)
    field(app).set_value("Should bells ring?")
    for view in ("Settings", "Documents", "New question"):
        click(app, view)
    assert field(app).value == "Should bells ring?"
    field(app).set_value("Should bells toll?")  # it can be changed
    click(click(app.run(), "Settings"), "New question")
    assert field(app).value == "Should bells toll?"
    click(app, "Settings")
    app.button(key=f"open-{'5' * 12}").click().run()
    assert field(app).value == ""  # another run's field
    field(app).set_value("Who pays?")
    click(click(app, "Compare"), "Back to the answer")
    assert field(app).value == "Who pays?"
    app = until(ask(page(), QUESTION), answered)
    click(click(app, "Settings"), "New question")
    assert field(app).value == ""  # what was asked is not kept


def test_a_double_click_is_one_question(page: Callable[..., AppTest], settings: Settings) -> None:
    page()
    service = PageService(settings)
    try:
        runs = {service.start(QUESTION, visitor="one") for _ in range(2)} | {service.start(QUESTION, visitor="two")}
    finally:
        service.close()
    assert len(runs) == 2


def test_a_look_waits_for_the_end_of_a_run_of_this_process_and_is_repeated(
    page: Callable[..., AppTest], settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    page()
    with closing(PageService(settings)) as service:
        run = service.start(QUESTION)
        again: list[tuple[str, str]] = []
        monkeypatch.setattr(st, "rerun", lambda scope="app": again.append((scope, service.rows.get(run).status)))
        monkeypatch.setattr(progress_view, "_EVERY", 30.0)
        look = partial(progress_view._watch, service, service.rows.get(run), on_end=lambda: None, waits=False)
        look()  # with the whole page, which does not wait
        assert again == []
        assert not service.await_end(run, 0)
        monkeypatch.setattr(progress_view, "_is_alone", lambda: True)
        look()
        assert again == [("fragment", "done")]
        assert not service.await_end(run, 30)


def test_what_was_answered_within_a_moment_is_asked_anew(page: Callable[..., AppTest]) -> None:
    app = until(ask(page(), QUESTION), answered)
    first, service = shown_run(app), page.opened[0]  # type: ignore[attr-defined]
    asked = [service.start(QUESTION, visitor="one") for _ in range(2)]
    elsewhere = service.start(QUESTION, "quick", visitor="one")
    until(app, lambda _: all(service.rows.get(run).answer for run in (*asked, elsewhere)))
    again = service.start(QUESTION, visitor="one")
    assert (asked[0] == asked[1], len({first, *asked, elsewhere, again})) == (True, 4)


LETTER = "Our town should build a bridge, since the ferry stops in winter. It would last for a hundred years."


def test_documents_are_added_opened_and_deleted(page: Callable[..., AppTest]) -> None:
    app = page(view="documents")
    click(app, "Add")
    assert "choose a file" in html(app).lower()
    for name, told in ((" samples ", "is Steelman&#x27;s"), ("mine~0123456789ab", "no ~"), ("sam\u200bples", "no ~")):
        app.text_area[0].set_value("http://127.0.0.1:9/nothing")
        app.text_input[0].set_value(name)
        click(app, "Add")
        assert told in html(app)
        assert "stored in" not in html(app)
    sent = {"letter.txt": LETTER.encode(), "empty.md": b"", "table.xlsx": b"PK"}
    app.file_uploader[0].set_value([(name, content, "text/plain") for name, content in sent.items()])
    app.text_area[0].set_value("http://127.0.0.1:9/nothing")
    app.text_input[0].set_value("town hall")
    click(app, "Add")
    until(app, lambda a: "1 text stored in" in html(a))
    assert "empty.md" in html(app)  # what could not be read, and why
    assert "table.xlsx: this kind of file is not read. Save it as CSV" in html(app)
    assert "127.0.0.1" in html(app)
    until(app, lambda a: "letter.txt" in html(a))
    click(app, "Open")
    assert "the ferry stops in winter" in html(app)
    click(app, "Delete for good")
    until(app, lambda a: "0 texts" in html(a))


def shows(words: str, app: AppTest) -> bool:
    return words in html(app)


def test_rows_that_count_as_documents_are_said_to(page: Callable[..., AppTest]) -> None:
    app = page(view="documents")
    counts = "Each row of a table, each message of a mailbox and each quoted mail counts as a text."
    rows = f"text\n{LETTER.replace(',', '')}\n{LETTER.replace(',', '')} Or longer.\n".encode()
    for name, content in (("letter.txt", LETTER.encode()), ("rows.csv", rows)):
        app.file_uploader[0].set_value([(name, content, "text/plain")])
        click(app, "Add")
        until(app, partial(shows, name))
        until(app, partial(shows, "stored in"))
        assert (counts in html(app)) == (name == "rows.csv")
        read = "Read 1 of 1 upload: 2 texts stored in" if name == "rows.csv" else "Read 1 of 1 upload: 1 text stored in"
        assert read in html(app)
    assert "3 texts, 3 passages." in html(app)


def test_settings_are_explained_without_names_of_files(page: Pages) -> None:
    said = html(page(view="settings")).partition("These settings hold")[2].partition("</p>")[0]
    assert "until its server stops" in said
    assert "documentation tells how to keep settings" in said
    assert not re.findall(r"\.env|\.md", said)


def test_what_is_on_is_told_in_plain_words_before_technical_names(page: Callable[..., AppTest]) -> None:
    app = page(view="settings")
    shown, (details,) = html(app), (e for e in app.expander if e.label == "Technical details")
    folded = "".join(e.proto.body for e in details.get("html"))
    for said in (
        "Answers are written by: no model; they consist of quotations",
        "kept: on the machine",
        "not the web (no search",
    ):
        assert said in shown
        assert said not in folded
    for named in ("encoder", "checkpoints", "SQLite in", "tantivy"):
        assert named in folded
        assert shown.count(named) == folded.count(named)
    assert "FAILS" not in shown
    visitor = html(page(ANN, view="settings"))
    assert "Answers are written by: no model" in visitor
    assert "/data" not in visitor


@pytest.mark.slow
def test_settings_are_changed_on_the_page_and_keys_are_not_shown(page: Callable[..., AppTest]) -> None:
    app = page(view="settings")
    fields = {f.label: f for f in app.text_input}
    assert "`OPENAI_API_KEY`" in fields["OpenAI's key"].help
    fields["OpenAI's key"].set_value("sk-secret-of-a-test")
    fields["Address of another server that works like OpenAI's"].set_value("http://127.0.0.1:9/v1")
    fields["Model"].set_value("tiny")
    click(app, "Use these settings")
    assert not app.exception
    assert "Saved." in html(app)
    assert "Saved." not in html(app.run())
    fields = {f.label: f for f in app.text_input}
    assert fields["Model"].value == "tiny"
    assert "127.0.0.1:9" in html(app)
    assert (fields["OpenAI's key"].value, "sk-secret" in html(app)) == ("", False)
    fields["Address of another server that works like OpenAI's"].set_value("no address")
    click(app, "Use these settings")
    assert "OPENAI_BASE_URL cannot be" in html(app)


# Several people


ANN, BOB = ({"is_logged_in": True, "iss": "https://id.example.org", "sub": n, "name": n} for n in ("Ann", "Bob"))


@pytest.fixture
def page_of(page: Callable[..., AppTest]) -> Callable[..., AppTest]:
    """The page as somebody opens it where people log in; nobody yet, where the claims are empty."""
    return page


@pytest.mark.slow
def test_who_is_not_logged_in_sees_a_button_alone(page_of: Callable[..., AppTest]) -> None:
    asked = shown_run(until(ask(page_of(ANN), QUESTION), answered))
    views = [{"view": name} for name in ("documents", "settings", "vote")]
    for query in ({}, {"run": asked}, {"run": asked, "view": "compare"}, *views):
        app = page_of({}, **query)
        assert (labels(app), len(app.text_input)) == (["Log in"], 0)
        assert QUESTION not in html(app)
        assert "Only you and the operator of this page" in html(app)
    app.secrets["auth"] |= {"google": {}, "campus": {}}
    assert labels(app.run()) == ["Log in with google", "Log in with campus"]
    click(app, "Log in with campus")
    assert "nobody can log in as this page is set up" in html(app).lower()  # half of the settings are missing


@pytest.mark.slow
def test_neither_of_two_people_sees_what_the_other_asked(page_of: Callable[..., AppTest], settings: Settings) -> None:
    with closing(Database(settings.database)) as database:
        RunStore(database).create("c" * 12, "c" * 12, "Should everybody swim?", RunOptions.of().to_dict(), "cli")
        RunStore(database).finish("c" * 12, "cli", "failed", {}, error="It failed.")
    ann = until(ask(page_of(ANN), QUESTION), answered)
    asked = shown_run(ann)
    assert "Ann" in html(ann)
    assert "you alone can open it" in html(ann)
    bob = page_of(BOB, run=asked)
    assert "There is no answer at this address." in html(bob)
    assert "There is no answer at this address." in html(page_of(BOB, run=asked, view="compare"))
    assert "There is no answer at this address." in html(page_of(BOB, run=asked[:6]))
    assert [b.key for b in bob.button if str(b.key).startswith(("open-", "delete-"))] == [f"open-{'c' * 12}"]
    assert "Everybody shares it" in html(menu(bob, "c" * 12))
    assert "Delete" not in labels(bob)
    other = until(ask(page_of(BOB), QUESTION), answered)
    assert shown_run(other) != asked
    click(menu(other, shown_run(other)), "Delete")
    assert QUESTION not in labels(other)
    assert QUESTION in labels(page_of(ANN))
    assert answered(page_of(ANN | {"email": "new@example.org", "name": "Ann B."}, run=asked))
    assert "There is no answer at this address." in html(
        page_of(BOB | {"sub": "Ann", "iss": "https://other.example.org"}, run=asked)
    )


def test_documents_are_their_persons_and_settings_nobodys(page_of: Callable[..., AppTest]) -> None:
    app = page_of(ANN, view="documents")
    app.file_uploader[0].set_value([("letter.txt", LETTER.encode(), "text/plain")])
    click(app, "Add")
    until(app, lambda a: "1 text stored in &#x27;mine&#x27;" in html(a))
    assert "Delete the collection for good" in labels(app)
    bob = page_of(BOB, view="documents")
    assert "letter.txt" in html(app)
    assert "letter.txt" not in html(bob)
    assert [[o.content for o in g.proto.options] for g in bob.get("button_group")] == [["samples"]]
    settings = page_of(BOB, view="settings")
    assert (len(settings.text_input), "mine~" in html(settings)) == (0, False)
    assert "the operator of this page sets them" in html(settings)


@pytest.mark.parametrize("written", [b'[auth\nclient_id = "x"', b'[auth]\nclient_id = "caf\xe9"'])
def test_secrets_that_cannot_be_read_open_the_page_to_nobody(
    page: Callable[..., AppTest], tmp_path: Path, written: bytes
) -> None:
    (tmp_path / "secrets.toml").write_bytes(written)
    app = page()
    assert "Nobody can log in: secrets.toml cannot be read, or is no TOML in UTF-8." in html(app)
    assert not app.button
    assert not app.exception


def test_what_a_person_deletes_leaves_what_is_everybodys(page: Callable[..., AppTest], settings: Settings) -> None:
    page()
    service = PageService(settings)
    try:
        ann, shared = service.of("ann"), service.start(QUESTION)
        begun = [shared, ann.start("What about the cost?", thread=shared)]
        while not all(ann.rows.get(run).answer for run in begun):
            time.sleep(0.05)
        ann.remove_thread(shared)
        assert (ann.threads.latest(9), [t.runs for t in service.threads.latest(9)]) == ([], [1])
        service.purge()
        assert [(t.id, t.runs, t.own) for t in ann.threads.latest(9)] == [(shared, 1, 0)]
    finally:
        service.close()


def test_the_history_has_days_and_a_shared_link_does_not_show_it(
    page: Callable[..., AppTest], settings: Settings
) -> None:
    page()
    days = {"4" * 12: 0, "5" * 12: 0, "6" * 12: 1, "7" * 12: 300, "8" * 12: 300}  # of a day the last is the newest
    for run, ago in days.items():
        store_answer(settings, answer(f"Was it {ago} days ago?", stands("p1", "supports", "It was.")), run)
        at = (datetime.now().astimezone() - timedelta(days=ago)).astimezone(UTC).isoformat()
        with closing(Database(settings.database)) as database, database.write() as db:
            db.execute(update(runs).where(runs.c.id == run).values(created_at=at, finished_at=at))
    told, past = html(home := page()), datetime.now().astimezone() - timedelta(days=300)
    shown = ['sm-small">Today<', 'sm-small">Yesterday<', f'sm-small">{format_date(past.date().isoformat())}<']
    assert sorted(shown, key=told.index) == shown
    assert [k for b in home.button if (k := str(b.key)).startswith("open-")] == [f"open-{n * 12}" for n in "54687"]
    assert [told.count(day) for day in shown] == [1, 1, 1]
    assert labels(home).index("Settings") < labels(home).index("Was it 0 days ago?")
    app = AppTest.from_file(str(ROOT / "ui" / "app.py"), default_timeout=20)
    app.query_params["run"] = "5" * 12
    for shared in (app.run(), click(app, "New question")):
        assert "A shared link opened this window, so" in html(shared)
        assert not {"Was it 1 days ago?", "Documents", "Settings"} & {*labels(shared)}
    ours = click(home, "Was it 0 days ago?")
    assert "Was it 1 days ago?" in labels(ours)


@pytest.mark.slow
def test_who_came_by_a_shared_link_asks_in_a_thread_of_their_own_and_sees_no_others(
    page: Callable[..., AppTest], settings: Settings
) -> None:
    first = shown_run(until(ask(page(), QUESTION), answered))
    store_answer(settings, answer("Was it private?", stands("p1", "supports", "It was.")), "5" * 12)
    app = AppTest.from_file(str(ROOT / "ui" / "app.py"), default_timeout=20)
    app.query_params["run"] = first
    app.run()
    assert 'href="/"' not in html(app)
    assert not [b for b in app.button if str(b.key).startswith("move-")]
    compared = click(app, "Compare")
    assert not [box for box in compared.selectbox if box.label == "Another answer"]
    assert "Was it private?" not in "".join(labels(compared))
    click(compared, "Back to the answer")
    asked = shown_run(
        until(ask(app, "and what would it cost?"), lambda a: shown_run(a) != first and "Searched: " in html(a))
    )
    with closing(Database(settings.database)) as database:
        runs = RunStore(database)
        assert (runs.get(asked).thread, [r.id for r in runs.thread(first)]) == (asked, [first])
        own = runs.get(asked).answer
    assert own
    assert (own.neutral_question, own.focus) == (QUESTION, "and what would it cost?")  # the shared answer is known
    again = shown_run(until(ask(app, "and the schools?"), lambda a: shown_run(a) != asked and "Searched: " in html(a)))
    with closing(Database(settings.database)) as database:
        assert [r.id for r in RunStore(database).thread(asked)] == [asked, again]  # the guest's own thread goes on
    assert "A shared link opened this window, so" in html(app)


@pytest.mark.slow
def test_a_question_asked_while_one_runs_has_a_thread_and_a_name_of_its_own(page: Callable[..., AppTest]) -> None:
    app = ask(page(), QUESTION)
    first = shown_run(app)
    assert field(app).label == "Ask something that people disagree on"
    second = shown_run(ask(app, "Should towns dig tunnels?"))
    until(app, lambda a: "Searched: " in html(a))
    opened = {b.key: b.label for b in app.sidebar.button if str(b.key).startswith("open-")}
    assert opened == {f"open-{first}": QUESTION, f"open-{second}": "Should towns dig tunnels?"}
    assert not [b for b in app.button if str(b.key).startswith("thread-")]


@pytest.mark.slow
def test_where_to_look_is_kept_for_the_next_question(page: Pages, settings: Settings) -> None:
    home = page()
    with closing(Database(settings.database)) as database:
        store = Store(database)
        store.ensure_collection("letters", store.collections()[0].encoder)
        runs = RunStore(database)
        home.run().button_group(key="whereNone").set_value(["letters"])
        assert "A question searches: 0 passages in ‘letters’." in html(home.run())
        asked = shown_run(until(ask(home, QUESTION), lambda a: "Searched: ‘letters’." in html(a)))
        app = click(home, "New question")
        assert app.button_group(key="whereNone").value == ["letters"]
        again = shown_run(ask(app, "Should towns dig tunnels?"))
        assert [runs.get(run).options["collections"] for run in (asked, again)] == [["letters"], ["letters"]]
        page.client = Client(cookies=dict(re.findall(r"(steelman_places)=([^;]+);", html(app.run()))))
        assert page().button_group(key="whereNone").value == ["letters"]  # as after a reload
        store.delete_collection("letters")
        assert page().button_group(key="whereNone").value == ["samples"]
        for value in ("x", "[1]", '{"collections": 3, "web": "no"}', '{"collections": [["letters"]]}'):
            page.client = Client(cookies={"steelman_places": value})
            assert page().button_group(key="whereNone").value == ["samples"]
    page.client = Client()
    assert page().button_group(key="whereNone").value == ["samples"]


@pytest.mark.slow
def test_every_option_stays_as_chosen_and_places_do_until_they_are_asked_with(
    page: Callable[..., AppTest], settings: Settings
) -> None:
    home = page()
    with closing(Database(settings.database_path)) as database:
        store = Store(database)
        store.ensure_collection("letters", store.collections()[0].encoder)
        runs = RunStore(database)
        store_answer(settings, toll_answer(), "7" * 12)
        home.run().button_group(key="depth").set_value("quick")
        first = shown_run(until(ask(home, QUESTION), answered))
        app = click(home, "New question")
        assert app.button_group(key="depth").value == "quick"
        app.checkbox(key="review").check().run()
        app.button_group(key="whereNone").set_value(["letters"]).run()
        app = click(app, "Settings")
        app = app.button(key=f"open-{'7' * 12}").click().run()
        assert app.checkbox(key="review").value
        assert app.button_group(key=f"where{'7' * 12}{'7' * 12}").value == ["letters"]
        second = shown_run(ask(click(app, "New question"), "Should towns dig tunnels?"))
        asked = [
            (o["depth"], o["review"], o["collections"]) for o in (runs.get(run).options for run in (first, second))
        ]
        assert asked == [("quick", False, ["samples"]), ("quick", True, ["letters"])]
        app = app.button(key=f"open-{first}").click().run()
        assert app.button_group(key=f"where{first}{first}").value == ["samples"], (
            "as its answer, once they were asked with"
        )
        assert app.checkbox(key="review").value


@pytest.mark.slow
def test_what_was_typed_is_the_title_and_more_like_a_quotation_is_told(page: Callable[..., AppTest]) -> None:
    app = until(ask(page(), QUESTION), answered)
    next(b for b in app.button if b.key and b.key.startswith("cite-p")).click().run()
    marked = html(app).partition("<mark>")[2].partition("</mark>")[0]
    claim = next(str(b.key) for b in app.button if b.key and b.key.startswith("cite-p"))
    follow_up(app, claim.removeprefix("cite-").rpartition("-")[0], "More like this")
    told = html(app).partition("You asked: More like this [")[2]
    assert "“" in told
    assert f"“{marked}" not in told
    assert "Close" not in labels(app)  # the source would lie over the reply
    first = shown_run(app)
    until(ask(app, "/against 1"), lambda a: shown_run(a) != first and "Searched: " in html(a))
    assert "<h1>/against 1</h1>" in html(app)


@pytest.mark.slow
def test_kinds_of_sources_and_pages_are_chosen(
    settings: Settings, shared_cache: Path, engine: SearchServer, site: WebServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    (settings.data_dir / "cache").symlink_to(shared_cache)
    with ToyServer() as toys, closing(Database(settings.database)) as database:
        studies = toys.source("papers", "studies", {"url": "https://doi.example/1", "title": "One", "text": prose(1)})
        made = with_web(engine, engine_seconds=5.0, page_seconds=20.0, beside=(studies,))
        with open_pages(settings, monkeypatch, made) as page:
            app, runs = page(), RunStore(database)
            kinds = app.button_group(key="kindsNone")
            assert (kinds.options, kinds.value) == (["my documents", "the web", "studies"], ["mine", "web", "studies"])
            kinds.set_value(["studies"]).run()
            first = shown_run(until(ask(app, QUESTION), lambda a: "document on this" in html(a)))
            app = click(app, "New question")
            assert app.button_group(key="kindsNone").value == ["studies"]  # the next question keeps them
            address = publish(site, "a.example", "/a", prose(2))
            app.text_area(key="urlsNone").set_value(f"{address}\n").run()
            app = until(ask(app, "Should towns dig tunnels?"), lambda a: "document on this" in html(a))
            second = shown_run(app)
            assert app.text_area(key=f"urls{second}{second}").value == address  # a follow-up reads them again
            assert click(app, "New question").text_area(key="urlsNone").value == ""
        asked = [(o["sources"], o["urls"]) for o in (runs.get(run).options for run in (first, second))]
        assert asked == [(["studies"], []), ([], [address])]
        assert [d.url for d in (runs.get(second).answer or fail()).documents] == [address]
    assert not engine.requests


def fail() -> Any:
    raise AssertionError("there is no answer")
