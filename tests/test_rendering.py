"""One answer with hostile text in every field: shown as it is, obeyed by nothing."""

import io
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import written_answers
from lxml import html as lxml_html
from markdown_it import MarkdownIt
from markdown_it.token import Token
from written_answers import cited, covered, stands

from agent.answer.debate_sheet import sheet_file
from agent.answer.files import to_docx, to_html, to_markdown, write_answer
from agent.answer.model import Answer, AnswerClaim, AnswerDocument, Note
from agent.answer.outline import to_terminal
from agent.answer.wording import claim_text, strip_control_characters

HOSTILE = [
    "<script>alert(1)</script><img src=x onerror=alert(1)>",
    "![picture](http://evil.example/x.png) [link](javascript:alert(1)) <http://evil.example>",
    "\x1b[2J\x1b]0;owned\x07red \x9b31m",
    "left \u202eright\u202c \u2066and\u2069 \u200f",
    "nul \x00 bell \x07 back \x08 \x7f",
    "&lt;b&gt; &#60;b&#62; &amp;",
    "# heading\n\n---\n\n> quote\n- item\n1. one\n```\ncode",
    "| a | b |\n|---|---|\n*bold* _soft_ `code` ~~gone~~",
    "word " * 2000,
    "x" * 10_000,
    '" onmouseover="alert(1)',
    "\ufffe\uffff \ue000",
]


def answer_with(text: str, **changes: Any) -> Answer:
    claim = AnswerClaim(text=text, citations=[1], speaker=text, reason=text, answers=[1], answered_by=[text])
    changed = AnswerClaim(text="It lasts.", citations=[1], shown=f"[{text}] It lasts.")
    facts = dict.fromkeys(("id", "collection", "title", "publisher", "url", "date", "file"), text)
    argues = {"stances": [{"perspective": "p1", "argues": "for"}], "quoted": [1], "not_quoted": ""}
    everywhere = dict.fromkeys(("document_id", "quote", "title", "speaker", "publisher", "date"), text)
    citation = cited(1, **everywhere, url=f"https://example.org/{text}")
    sides = [
        stands("p1", "other", text, claim, name=text, status="thin", objections=[claim]),
        stands("p1", "supports", "Another.", claim, _as(claim, role="thesis"), changed, name=text, status="thin"),
    ]
    made = written_answers.answer(
        text,
        *sides,
        run_id="0123456789ab",
        summary=text,
        also=[_as(claim, role="also")] * 7,
        crux=_as(claim, role="crux", quoted=False),
        citations=[citation, citation.model_copy(update={"number": 2, "url": "javascript:alert(1)"})],
        documents=[AnswerDocument.model_validate({**facts, **argues, "kind": "news"})],
        coverage=[covered(sides[0], strength="weak", passages=1, sources=1, queries=[text])],
        notes=[Note(kind="failed", text=text)],
        nearest_questions=[text],
        providers={"all": text},
        timings={"total": 1.0},
    )
    return made.model_copy(update=changes)


def _as(claim: AnswerClaim, **changes: Any) -> AnswerClaim:
    return claim.model_copy(update=changes)


def words(text: str) -> str:
    return re.sub(r"\s+", "", text)


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("width", [20, 400])
def test_the_terminal_is_given_no_escape_sequence_and_its_width_is_kept(text: str, width: int) -> None:
    shown = to_terminal(answer_with(text), width, bold=False, explain=True)
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", shown)
    assert max(map(len, shown.splitlines())) <= min(max(60, width), 104)
    assert words(strip_control_characters(text)) in words(shown)


def obeys_nothing(markdown: str) -> Sequence[Token]:
    """The tokens of the document; foreign text has made no marking."""
    tokens = MarkdownIt("gfm-like", {"linkify": False, "html": True}).parse(markdown)
    kinds = {t.type for token in tokens for t in [token, *(token.children or [])]}
    assert not kinds & {"html_block", "html_inline", "link_open", "image", "fence", "code_block", "hr", "table_open"}
    assert not kinds & {"strong_open", "s_open", "code_inline"}
    return tokens


@pytest.mark.parametrize("text", HOSTILE)
def test_markdown_shows_the_text_and_obeys_nothing_in_it(text: str) -> None:
    tokens = obeys_nothing(to_markdown(answer_with(text)))
    assert [t.tag for t in tokens if t.type == "heading_open"] == ["h1", "h2", "h2", "h2", "h2", "h2"]
    title = next(t for t in tokens if t.type == "inline")
    assert "".join(c.content for c in title.children or []) == strip_control_characters(text)


@pytest.mark.parametrize("text", HOSTILE)
def test_html_shows_the_text_and_obeys_nothing_in_it(text: str) -> None:
    page = to_html(answer_with(text))
    tree = lxml_html.document_fromstring(page.encode())
    tags = {e.tag for e in tree.iter()}
    assert not tags & {"script", "img", "b", "iframe"}
    assert not [k for e in tree.iter() for k in e.attrib if k.startswith("on")]
    links = [e.get("href") for e in tree.iter("a")]
    assert all(link.startswith(("#s", "https://example.org/")) for link in links)
    assert tree.find(".//h1").text_content() == strip_control_characters(text)
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", page)


@pytest.mark.parametrize("text", HOSTILE)
def test_docx_opens_again_and_holds_the_text(text: str) -> None:
    import docx

    document = docx.Document(io.BytesIO(to_docx(answer_with(text))))
    shown = "".join(p.text for p in document.paragraphs)
    expected = re.sub("[\ufffe\uffff]", "", strip_control_characters(text))
    assert words(expected) in words(shown)
    assert document.part.rels
    assert not [r for r in document.part.rels.values() if r.is_external]


def test_plain_keeps_every_script_and_what_joins_its_letters() -> None:
    assert (
        strip_control_characters("  Größe\n中文 \u0627\u0644\u0639 क्\u200dष 👍 ")
        == "Größe 中文 \u0627\u0644\u0639 क्\u200dष 👍"
    )
    assert strip_control_characters("a\u2028b\x85c") == "a b c"


# What stands under no side


def embedded(sides: int, also: int, *claims: AnswerClaim, **changes: Any) -> Answer:
    """An answer of embedded providers: one side with these claims and empty ones, and so many sentences beside them,
    each of a source of its own."""
    plain = answer_with("Bridges")
    one = plain.perspectives[1].model_copy(update={"objections": []})
    made = [one.model_copy(update={"id": f"p{n}", "claims": [] if n else [*claims]}) for n in range(sides)]
    lines = [plain.coverage[0].model_copy(update={"perspective": s.id, "queries": []}) for s in made]
    about = {"publisher": "The Courier", "date": "2025-03-01"}
    sources = [plain.citations[0].model_copy(update={"number": n + 1, "speaker": "", **about}) for n in range(9)]
    beside = [
        AnswerClaim(text=f"Sentence {n}.", citations=[n + 2], role="also", speaker="Ann Lee" if n else "")
        for n in range(also)
    ]
    told = {"perspectives": made, "coverage": lines, "citations": sources[: also + 1], "also": beside, "crux": None}
    return plain.model_copy(update={**told, "providers": {"all": "embedded"}, "nearest_questions": [], **changes})


DOCUMENT = (
    answer_with("Bridges")
    .documents[0]
    .model_copy(update={"stances": [], "quoted": [], "not_quoted": "no_side", "file": ""})
)


# The sheet


@pytest.mark.parametrize("text", HOSTILE)
def test_the_sheet_obeys_nothing_in_it(text: str) -> None:
    import docx

    obeys_nothing(sheet_file(answer_with(text), ".md").decode())
    word = docx.Document(io.BytesIO(sheet_file(answer_with(text), ".docx")))
    assert words(re.sub("[\ufffe\uffff]", "", strip_control_characters(text))) in words(
        "".join(p.text for p in word.paragraphs)
    )


def test_the_sheet_has_the_strongest_quotations_of_each_side() -> None:
    claims = [AnswerClaim(text=f"Reason {n}.", citations=[1], speaker="Ann Lee") for n in range(5)]
    answer = embedded(2, 0, *claims)
    yes, no = answer.perspectives
    sides = [
        s.model_copy(update={"name": n, "statement": f"{n}: Bridges", "stance": t})
        for s, n, t in ((yes, "Yes", "supports"), (no, "No", "opposes"))
    ]
    crux = AnswerClaim(text="All turns on cost.", citations=[1], role="crux", quoted=False)
    unclear = [DOCUMENT.model_copy(update={"title": f"Letter {n}"}) for n in range(4)]
    answer = answer.model_copy(update={"perspectives": sides, "crux": crux, "documents": unclear})
    lines = [line for line in sheet_file(answer, ".md").decode().splitlines() if line]
    told = "  - Ann Lee, The Courier, news, 1 March 2025"
    assert lines[:9] == [
        "# Bridges",
        "What it turns on: All turns on cost.",
        "## Yes",
        *(line for n in range(3) for line in (f"- “Reason {n}.”", told)),
    ]
    assert lines[9:15] == [
        "## No",
        "*nothing sure enough to quote for this side*",
        "## What is not known",
        "- ‘Yes’ rests on 5 quotations from one source alone: The Courier.",
        "- For ‘No’ nothing was sure enough to quote.",
        "- No clear side in 4 documents: ‘Letter 0’, ‘Letter 1’, ‘Letter 2’ and 1 more.",
    ]


def test_the_sheet_has_three_arguments_of_each_of_four_answers_and_names_only_what_it_shows() -> None:
    reply = "The board’s survey of 2024 found that one crossing in nine had carried nobody at all, and none in May."
    met = AnswerClaim(text="Fares 0.", citations=[1], quoted=False, answered_by=[reply, "Boats 3."])
    fares, boats = (
        [AnswerClaim(text=f"{of} {n}.", citations=[1], quoted=False) for n in range(4)] for of in ("Fares", "Boats")
    )
    cases = [[met, *fares[1:]], [fares[0].model_copy(update={"text": reply}), *boats[1:]], fares, boats]
    sides = [stands(f"p{n}", "other", f"Answer {n}.", *claims) for n, claims in enumerate(cases)]
    answer = written_answers.answer("Who should pay?", *sides, citations=[cited(1)])
    shown = sheet_file(answer, ".md").decode()
    heads = [part.count("\n- ") for part in shown.split("\n## ")[1:5]]
    assert heads == [3, 3, 3, 3]
    answered = [line for line in shown.splitlines() if "Answered by" in line]
    assert answered == ["  - Answered by Press 1: ‘The board’s survey of 2024 found that one crossing in nine …’"]


@pytest.mark.parametrize(
    ("quote", "shown"),
    [
        ('"We will lose trade.', "“We will lose trade.”"),
        ("“We will lose trade.", "“We will lose trade.”"),
        ("We will lose the shops' trade.’", "“We will lose the shops' trade.”"),
        ("Reed said: “We will lose trade.", "“Reed said: ‘We will lose trade.’”"),
        ("The shops’ trade isn’t “lost”.", "“The shops’ trade isn’t ‘lost’.”"),
        ("'Lost' is the word of the '90s.", "“'Lost' is the word of the '90s.”"),
    ],
)
def test_a_quotation_mark_without_its_partner_is_not_shown(quote: str, shown: str) -> None:
    claim = AnswerClaim(text=quote, citations=[1])
    assert (claim_text(claim), claim.text) == (shown, quote)


# Files


@pytest.mark.parametrize("ending", [".md", ".html", ".docx", ".json", ".MD"])
def test_the_ending_says_how(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"answer{ending}"
    path.write_text("older")
    write_answer(answer_with("Bridges"), path)
    content = path.read_bytes()
    starts = {".md": b"# Bridges", ".html": b"<!doctype html>", ".docx": b"PK", ".json": b"{"}
    assert content.startswith(starts[ending.lower()])
    assert [p.name for p in tmp_path.iterdir()] == [path.name]
