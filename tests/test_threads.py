"""Who wrote each post: pages of discussions, and JSON with replies in replies."""

import json
from pathlib import Path

import pytest

from tools.documents.html import read_html
from tools.documents.readers import read_file
from tools.language.reported_speech import UNNAMED
from tools.passages import SourceDocument

pytestmark = pytest.mark.both_stores

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
    "signers and their reasons": (
        "<h2>Reasons</h2>"
        + "".join(
            f"<div class='comment'><p><b>{who}</b>{home}</p><p>{said}</p></div>"
            for who, home, said in (
                ("Ada Finch", ", Mill Lane", "I swim there."),
                ("Supporter", "", "So do I."),
                ("Corwin Ashby", ", Kelby", "We all do."),
            )
        ),
        [("Ada Finch", "I swim there."), ("", "So do I."), ("Corwin Ashby", "We all do.")],
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
}


@pytest.mark.parametrize(("page", "expected"), PAGES.values(), ids=PAGES)
def test_posts_have_who_wrote_them(page: str, expected: list[tuple[str, str]], tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text(f"<html><body>{page}</body></html>")
    (found,) = read_html(path, "page.html")
    told = [(block.speaker, block.text) for block in found.blocks if block.form != "heading"]
    assert [each for each in told if each[1] in {text for _, text in expected}] == expected
    assert not {"Posts: 9", "Mind the gap", "Reply"} & {text for _, text in told}


def listing(author: str, replies: object = "", **more: str) -> object:
    return {"data": {"children": [{"data": {"author": author, **more, "replies": replies}}]}}


REDDIT = [
    listing("crema", title="Tips?", selftext="Should we &amp; can we?"),
    listing("milk", listing("crema", body="Then when?"), body="No."),
]


QUOTING = (
    "<aside class='quote' data-username='ad'><div>ad:</div><blockquote><p>Stop.</p></blockquote></aside><p>Why?</p>"
)
POSTS = [
    {"username": name, "name": full, "cooked": said}
    for name, full, said in (("ad", "Ada B", "<p>Stop.</p>"), ("bo", "", QUOTING))
]
CHANNEL = [
    {"user": "U01", "text": "Nine pages a night."},
    {"user": "W2ABCD3EF", "text": "Same for me."},
    {"user": "UNA", "text": "Not for me."},
    {"user": "U02ABCD3E", "text": "<@U02ABCD3E> has joined", "subtype": "channel_join"},
]
JSON = {
    "a channel of Slack": (
        CHANNEL,
        [("", "Nine pages a night."), ("", "Same for me."), ("UNA", "Not for me.")],
    ),
    "reddit": (REDDIT, [("crema", "Should we & can we?"), ("milk", "No."), ("crema", "Then when?")]),
    "discourse": ({"title": "T", "post_stream": {"posts": POSTS}}, [("Ada B", "Stop."), ("bo", "Stop.\n\nWhy?")]),
}


def read(path: Path) -> list[SourceDocument]:
    return [each for each in read_file(path, path.name) if isinstance(each, SourceDocument)]


@pytest.mark.parametrize(("said", "expected"), JSON.values(), ids=JSON)
def test_posts_of_json_are_rows(said: object, expected: list[tuple[str, str]], tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text(json.dumps(said))
    found = read(tmp_path / "t.json")
    assert [(each.author, each.text) for each in found] == expected
    assert [b.speaker for each in found for b in each.blocks if b.text == "Stop."] in ([], ["", "ad"])


WALL = "I launch there every week and I think the fence is a mistake."
REPLY = "We have no choice, the wall is falling down."
BOARDS = {
    "phpBB": (
        "Post by petra_q » Sat May 04, 2024 9:12 am\n\n{wall}\n\npetra_q\nPosts: 1,204\n--\nRow\n\n\n"
        "Re: Fence\nPost by Old the Oar » Sat May 04, 2024 10:30 am\n\npetra_q wrote:\n> {wall}\n\n{reply}\n\n"
        "Old the Oar\nPosts: 41\n\nReturn to “Boats”"
    ),
    "phpBB with profiles above": (
        "petra_q\nPosts: 2\nJoined: 12 Mar 2012\n\nFence\nQuote\nPost by petra_q » 04 May 2024, 09:12\n\n{wall}\n\n"
        "Old the Oar\nPosts: 12\n\nRe: Fence\nQuote\nPost by Old the Oar » 04 May 2024, 10:30\n\n"
        "petra_q wrote: ↑04 May 2024, 09:12\n{wall}\n\n{reply}\n"
    ),
    "vBulletin": (
        "05-04-2024, 09:12 AM   #1\npetra_q\nSenior Member\n\nJoin Date: May 2009\nPosts: 14\n{wall}\n"
        "05-04-2024, 10:30 AM   #2\nOld the Oar\nMember\n\nJoin Date: Jan 2016\nPosts: 88\n"
        "Quote:\nOriginally Posted by petra_q\n{wall}\n{reply}\n"
    ),
    "XenForo": (
        "petra_q\nWell-known member\nJoined\nMar 3, 2015\nMessages\n412\nMay 4, 2024\n#1\n{wall}\n\n"
        "Old the Oar\nMember\nJoined\nMar 3, 2019\nMessages\n12\nMay 4, 2024\n#2\n"
        "petra_q said:\n{wall}\nClick to expand...\n{reply}\n"
    ),
    "Reddit": "u/petra_q avatar\npetra_q\nOP\n•\n2y ago\n{wall}\n\nUpvote\n12\n\nold_oar\n•\n2y ago\n{reply}\n\nReply",
    "Reddit's old page": (
        "submitted 2 years ago by petra_q\n\n{wall}\n\n[–]old_oar 12 points 2 years ago\n{reply}\npermalink save\n"
    ),
}


@pytest.mark.parametrize("page", BOARDS.values(), ids=BOARDS)
def test_a_copied_page_of_a_forum_has_its_writers(page: str, tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text("Boats\nFence\n\n" + page.format(wall=WALL, reply=REPLY))
    [found] = read(tmp_path / "t.txt")
    spoken = [(b.speaker, b.text) for b in found.blocks if b.text != "Fence"]
    assert {who for who, text in spoken if text == WALL} == {"petra_q"}
    assert next(who for who, text in spoken if text == REPLY) in ("Old the Oar", "old_oar")
    assert not {"Joined", "Join", "OP", "Posts"} & {b.speaker for b in found.blocks}


def test_comments_quoted_below_a_blogs_post_have_their_writers(tmp_path: Path) -> None:
    (tmp_path / "t.md").write_text(
        "# Hill Life\n\n## Ferries\n\nPosted by **Ann Lee** on Sunday, November 3rd, 2024 in *Boats*\n\nI row.\n\n"
        "> **oar_k** — 4 Nov 2024, 10:15\n> I swim, since you ask.\n\n> **Wm. Moe** — 4 Nov 2024, 22:40\n> Lovely.\n"
    )
    [found] = read(tmp_path / "t.md")
    assert (found.author, found.publisher) == ("Ann Lee", "Hill Life")
    assert [b.speaker for b in found.blocks if b.text.startswith(("I row", "I swim", "Lovely"))] == [
        "",
        "oar_k",
        "Wm. Moe",
    ]
