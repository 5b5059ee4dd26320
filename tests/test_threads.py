"""Who wrote each post: pages of discussions, and JSON with replies in replies."""

import json
from pathlib import Path

import pytest

from tools.documents.html import html_document, read_html
from tools.documents.readers import read_file
from tools.language.speech import UNNAMED
from tools.passages import SourceDocument

ARTICLE = "<article><h1>Lido to close</h1><p class='author'>By Nell Hargood</p><p>The pool leaks, the council says.</p>"
BOARD = "".join(
    f"<div class='post'><div class='userinfo'><a class='username'>{who}</a><br>Joined: 2011<br>Posts: 9</div>"
    f"<div class='body'>{said}</div><div class='signature'>Mind the gap</div><a href='#'>Reply</a></div>"
    for who, said in (
        ("mo_b", "<p>Cut the oak down.</p>"),
        ("Ada", "<blockquote><cite>mo_b wrote:</cite>Cut the oak down.</blockquote><p>It was here first.</p>"),
        ("mo_b", "<blockquote>It was here</blockquote><p>No.</p>"),
    )
)
OAK = [("mo_b", "Cut the oak down."), ("mo_b", "Cut the oak down."), ("Ada", "It was here first.")]
PAGES = {
    "a board": (
        f"{BOARD}<p>Log in to reply.</p>",
        [*OAK, (UNNAMED, "It was here"), ("mo_b", "No."), ("", "Log in to reply.")],
    ),
    "replies in replies, in forms": (
        "<div class='comments'><div class='thing'><div class='entry'><a class='author'>Ada</a><time>3 h</time><form>"
        "<p>A hen is no cow.</p></form></div><div class='child'><div class='thing'><div class='entry'>"
        "<a class='author'>Bo</a><form>"
        "<p>Prove it.</p></form></div></div></div></div></div>",
        [("Ada", "A hen is no cow."), ("Bo", "Prove it.")],
    ),
    "a chat where names are not repeated": (
        "".join(
            f"<div class='message {more}'><div class='date'>18:1{n}</div>{who}<div class='text'>{said}</div></div>"
            for n, (more, who, said) in enumerate(
                (
                    ("default", "<div class='from_name'>Ada</div>", "The van is here."),
                    ("default joined", "", "It blocks the lane."),
                    ("service", "", "Bo joined"),
                    ("default", "<div class='from_name'>Bo</div>", "Let it."),
                )
            )
        ),
        [("Ada", "The van is here."), ("Ada", "It blocks the lane."), ("", "Bo joined"), ("Bo", "Let it.")],
    ),
    "speeches under headings": (
        "".join(
            f"<div class='item'><h2>{who}</h2><div><p>{said}</p></div></div>"
            for who, said in (
                ("<a href='/f'>Ada Finch</a> <i>(Con)</i>", "I beg to move."),
                ("Corwin Ashby", "Why?"),
                ("Ada Finch", "Order."),
            )
        ),
        [("Ada Finch", "I beg to move."), ("Corwin Ashby", "Why?"), ("Ada Finch", "Order.")],
    ),
    "a list of terms": (
        "<dl><dt>Ada Finch (HR)</dt><dd>It is safe.</dd><dt>Bo Lund</dt><dd>Is it?</dd>"
        "<dt>Ada Finch (HR)</dt><dd>Yes.</dd></dl>",
        [("Ada Finch (HR)", "It is safe."), ("Bo Lund", "Is it?"), ("Ada Finch (HR)", "Yes.")],
    ),
    "answers signed below": (
        "".join(
            f"<div class='answer'><p>{said}</p><div class='user-info'>at 9<b itemprop='author'>{who}</b></div></div>"
            for who, said in (("Ada", "Round up."), ("Bo", "Never round."))
        ),
        [("Ada", "Round up."), ("Bo", "Never round.")],
    ),
    "comments below an article": (
        f"{ARTICLE}</article><div id='comments'><div class='comment'><b class='fn'>Bo</b> <i>says:</i>"
        "<p>Shame.</p></div>"
        "<div class='comment'><b class='fn'>Cy</b><p>Good.</p></div></div>",
        [("", "The pool leaks, the council says."), ("Bo", "Shame."), ("Cy", "Good.")],
    ),
    "an article and cards": (
        f"{ARTICLE}</article>"
        + "".join(
            f"<div class='card'><h3><a href='/{n}'>A story</a></h3><i class='author'>{n}</i><p>It is long.</p></div>"
            for n in ("Al Ode", "Bo Poe")
        ),
        [("", "The pool leaks, the council says."), ("", "It is long."), ("", "It is long.")],
    ),
    "people of a house": (
        "".join(f"<div class='member'><h3>{n}</h3><p>Leads it.</p></div>" for n in ("Jane Smith", "Peter Olsen")),
        [("", "Leads it."), ("", "Leads it.")],
    ),
}


@pytest.mark.parametrize(("page", "expected"), PAGES.values(), ids=PAGES)
def test_posts_have_who_wrote_them(page: str, expected: list[tuple[str, str]], tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text(f"<html><body>{page}</body></html>")
    (found,) = read_html(path, "page.html")
    told = [(block.speaker, block.text) for block in found.blocks if block.form != "heading"]
    assert [each for each in told if each[1] in {text for _, text in expected}] == expected
    assert not {"Posts: 9", "Mind the gap", "Reply"} & {text for _, text in told}


def test_a_discussion_of_the_web_is_read_whole() -> None:
    found = html_document(f"<html><body>{BOARD * 9}</body></html>", "https://example.org/t/1")
    assert {block.speaker for block in found.blocks} == {"mo_b", "Ada", UNNAMED}


def listing(author: str, replies: object = "", **more: str) -> object:
    return {"data": {"children": [{"data": {"author": author, **more, "replies": replies}}]}}


REDDIT = [
    listing("crema", title="Tips?", selftext="Should we &amp; can we?"),
    listing("milk", listing("crema", body="Then when?"), body="No."),
]


def rich(*runs: str) -> object:
    texts = [{"type": "text", "text": run} for run in runs]
    return {"type": "doc", "content": [{"type": "paragraph", "content": texts}]}


ISSUE = {
    "summary": "Owls",
    "creator": {"displayName": "Ada B"},
    "created": "2024-06-03T10:15:22.000+0100",
    "description": rich("Owls are ", "not", " pets."),
    "comment": {"comments": [{"author": {"displayName": who}, "body": rich(who, "!")} for who in "XY"]},
}
CHATS = [{"messages": [{"from": who, "text": ["No ", {"type": "bold", "text": who}]}]} for who in "XY"]
RUNS = {"elements": [{"textRun": {"content": run}} for run in ("Owls do n", "ot", " bark.\n")]}
PARTS = {
    "a": {"author": "X", "claim": "Owls do not bark at night."},
    "b": {"creator": "Y", "quip": "They do so by day, too."},
}
QUOTING = (
    "<aside class='quote' data-username='ad'><div>ad:</div><blockquote><p>Stop.</p></blockquote></aside><p>Why?</p>"
)
POSTS = [
    {"username": name, "name": full, "cooked": said}
    for name, full, said in (("ad", "Ada B", "<p>Stop.</p>"), ("bo", "", QUOTING))
]
CONTEXT = {
    side: [{"id": side, "account": {"username": who}, "content": f"<p>{side}</p>"}]
    for side, who in (("ancestors", "ad"), ("descendants", "bo"))
}
SAID = (("U01", "Nine pages a night."), ("U02", "Same for me."))
JOINED = {"user": "U01", "text": "<@U01> has joined", "subtype": "channel_join"}
CHANNEL = {
    "users": [{"id": "U01", "real_name": "Ada B"}],
    "messages": [*({"user": user, "text": text} for user, text in SAID), JOINED],
}
JSON = {
    "an issue": ({"fields": ISSUE}, [("Ada B", "Owls are not pets."), ("X", "X!"), ("Y", "Y!")]),
    "several chats": ({"chats": {"list": CHATS}}, [("X", "No X"), ("Y", "No Y")]),
    "a document of Google": ({"title": "T", "body": {"content": [{"paragraph": RUNS}]}}, [("", "Owls do not bark.")]),
    "Lexical": ({"root": {"type": "root", "children": [rich("Owls do n", "ot bark.")]}}, [("", "Owls do not bark.")]),
    "parts of several people": (PARTS, [("", "Owls do not bark at night.\n\nThey do so by day, too.")]),
    "reddit": (REDDIT, [("crema", "Should we & can we?"), ("milk", "No."), ("crema", "Then when?")]),
    "discourse": ({"title": "T", "post_stream": {"posts": POSTS}}, [("Ada B", "Stop."), ("bo", "Stop.\n\nWhy?")]),
    "a context": (CONTEXT, [("ad", "ancestors"), ("bo", "descendants")]),
    "ids of users": (CHANNEL, [("Ada B", SAID[0][1]), ("", SAID[1][1])]),
}


def read(path: Path) -> list[SourceDocument]:
    return [each for each in read_file(path, path.name) if isinstance(each, SourceDocument)]


@pytest.mark.parametrize(("said", "expected"), JSON.values(), ids=JSON)
def test_posts_of_json_are_rows(said: object, expected: list[tuple[str, str]], tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text(json.dumps(said))
    found = read(tmp_path / "t.json")
    assert [(each.author, each.text) for each in found] == expected
    assert [b.speaker for each in found for b in each.blocks if b.text == "Stop."] in ([], ["", "ad"])


def test_the_text_is_what_differs_and_has_sentences(tmp_path: Path) -> None:
    rows = [
        ("R1", "Clerk", "It suits me.", "Cycling Forum of Cathcart Hill", f"I like number {n} of them.")
        for n in range(4)
    ]
    head = "respondent_id;role;statement;On behalf of;free text"
    (tmp_path / "s.csv").write_text("\n".join([head, *(";".join((f"R{n}", *row[1:])) for n, row in enumerate(rows))]))
    assert [(each.author, each.text) for each in read(tmp_path / "s.csv")][:1] == [
        ("R0, Clerk", "I like number 0 of them.")
    ]
