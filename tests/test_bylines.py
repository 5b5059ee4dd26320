"""Authors and dates: what the first and last lines tell, what a page or front matter says, and what is in doubt."""

from pathlib import Path

import pytest
from office_files import one

LINKED = (
    '{"@context": "https://schema.org", "@type": "Article", "datePublished": "2024-05-03", '
    '"author": {"@type": "Person", "name": "Ann Lee"}}'
)
TEXT = "The council has let the ferry drift into its last summer, and nobody has asked the islanders about that."


@pytest.mark.parametrize(
    ("lines", "author", "date"),
    [
        ("*Gazette, 14 March 2025*\n\nBy Ann Lee", "Ann Lee", "2025-03-14"),
        ("By Ann Lee, Political Correspondent", "Ann Lee", ""),
        ("Ann Lee | 3 May 2024", "", "2024-05-03"),
        ("Published 3 May 2024 by Ann Lee", "Ann Lee", "2024-05-03"),
        ("Posted on Friday, May 3rd, 2024 at 10:15 by Ann Lee", "Ann Lee", "2024-05-03"),
        ("By Ann Lee, Bo Lind and Cy Moe | March 2024", "Ann Lee, Bo Lind, Cy Moe", "2024-03"),
        ("Letter from Ann Lee", "Ann Lee", ""),
        ("By Ann Lee, Transport and Food Workers' Union", "Ann Lee", ""),
        ("Author: Ann Lee\n\nDate: 13/04/2025", "Ann Lee", "2025-04-13"),
        ("Column by Professor Aled Pryce, The Economist, 9 May 2025", "Professor Aled Pryce", "2025-05-09"),
        ("9 January 2024, by Marijke de Vries for the Sea Review", "Marijke de Vries", "2024-01-09"),
        ("Gazette, spring 2024", "", "2024"),
        ("## Minutes of the meeting held on 6 March 2025", "", "2025-03-06"),
        ("Updated 5 May 2024\n\nPublished 3 May 2024", "", "2024-05-03"),
        ("Page last updated on 3 May 2024", "", "2024-05-03"),
        ("Minutes of the meeting held in the hall on Friday 3 May 2024 at 7 pm", "", "2024-05-03"),
        ("Minutes, held on 3 May 2024 commencing at 7.30pm", "", "2024-05-03"),
        ("Date: 3 May 2024 Time: 17:30", "", "2024-05-03"),
        ("Meeting of the harbour board of 3 May 2024", "", "2024-05-03"),
        ("Minutes\n\nHeld on 3 May 2024 at the inn, San Remo. Minutes taken by Ann Lee, clerk.", "", "2024-05-03"),
        # In doubt
        ("Held on 3 May 2024 at the inn. It was a feast for all of us.", "", ""),
        *((line, "", "") for line in ("By 2030 we must have a bridge", "By the river", "By Staff Reporter")),
        *((line, "", "") for line in ("Next meeting: 3 May 2025", "3 May – 5 June 2024", "© 3 May 2024", "03/04/2025")),
        ("To be reviewed 3 May 2025", "", ""),
        *((line, "", "") for line in ("On Monday, 3 May 2024, they voted.", "Edited by Ann Lee", "By Land and Sea")),
        ("## 3 May 2024\n\nRain.\n\n## 4 May 2024", "", ""),
        ("Letter from Ann Lee\n\nWe agree.\n\nLetter from Bo Lind", "", ""),
        ("San Remo, 3 May 2024", "", "2024-05-03"),
        ("Hill Council, Highways Department. Report of the engineer, Ann Lee. 3 May 2024", "", "2024-05-03"),
    ],
)
def test_the_first_lines(tmp_path: Path, lines: str, author: str, date: str) -> None:
    (tmp_path / "a.md").write_text(f"# The ferry\n\n{lines}\n\n{TEXT}\n")
    (tmp_path / "a.txt").write_text(f"The ferry\n\n{lines.replace('*', '').replace('#', '')}\n\n{TEXT}\n")
    noted = "; ".join(f"{field}: byline" for field, value in (("date", date), ("author", author)) if value)
    for name in ("a.md", "a.txt"):
        found = one(tmp_path / name)
        assert (found.author, found.date, found.provenance) == (author, date, noted), name
        assert found.title == "The ferry"


@pytest.mark.parametrize(
    ("text", "author", "publisher"),
    [
        (f"Ferries: answers\nHill Students' Union, October 2025\n\n{TEXT}", "", "Hill Students' Union"),
        (f"Hill Parish Council\nMinutes of 3 May 2024\n\n{TEXT}", "", "Hill Parish Council"),
        (f"Ferries\nOpinion\nBy Ann Lee\nThe Hill Courier, 2 May 2024\n\n{TEXT}", "Ann Lee", "The Hill Courier"),
        (f"Ferries\n\n{TEXT}\n\nIssued by the Sailors' Federation. Contact: a@b.example", "", "Sailors' Federation"),
        (f"Ferries\n\n{TEXT}\n\nSincerely,\nAnn Lee, pilot\nDr Bo Lind, Hill Clinic", "Ann Lee, Dr Bo Lind", ""),
        (f"Ferries\n\n{TEXT}\n\nYours faithfully,\n\nHill Residents' Association", "", "Hill Residents' Association"),
        (f"Ferries\n\n{TEXT}\n\nWith respect, and little patience,\n\nAnn Lee, pilot\nBo Lind", "Ann Lee, Bo Lind", ""),
        (f"Ferries: a letter\n\n{TEXT}\n\nAnn Lee, pilot, Hill, and Bo Lind, cook", "Ann Lee, Bo Lind", ""),
        (f"Ferries\n\n{TEXT}\n\nYours,\n\nAnn Lee\nSecretary, Hill branch", "Ann Lee", ""),
        (f"Ferries\nHill Parents' Council · updated 2 May 2024\n\n{TEXT}", "", "Hill Parents' Council"),
        (f"Ferries\n\n3 May 2024, San Remo\n\n{TEXT}\n\nThe Report of the Board", "", ""),
    ],
)
def test_publishers_and_signers(tmp_path: Path, text: str, author: str, publisher: str) -> None:
    for name in ("a.txt", "a.md"):
        (tmp_path / name).write_text(text if name == "a.txt" else f"---\nkind: FAQ\n---\n{text}")
        found = one(tmp_path / name)
        assert (found.author, found.publisher) == (author, publisher), name
        kinds = {"Minutes": "minutes", "Opinion": "opinion", "a letter": "letter"}
        written = next((kind for word, kind in kinds.items() if word in text), "unknown")
        assert found.kind == ("FAQ" if name == "a.md" else written)
        assert "Ferries" in found.title or name == "a.md" or found.title == "Minutes of 3 May 2024"


@pytest.mark.parametrize("place", ["San Remo", "Upper Marsh"])
def test_a_letter_ends_with_its_place_and_day(tmp_path: Path, place: str) -> None:
    (tmp_path / "a.txt").write_text(f"Sir,\n\n{TEXT}\n\nYours faithfully,\n\nAnn Lee\n{place}, 9 May 2025\n")
    found = one(tmp_path / "a.txt")
    assert (found.author, found.date) == ("Ann Lee", "2025-05-09")


def test_a_faq_names_its_publisher_in_its_title_and_its_day_at_its_end(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(f"# Hill Trust – FAQ on ferries\n\n{TEXT}\n\nLast updated: 2 May 2024\n")
    found = one(tmp_path / "a.md")
    assert (found.publisher, found.kind, found.date) == ("Hill Trust", "FAQ", "2024-05-02")


def test_posts_share_a_month(tmp_path: Path) -> None:
    posts = "\n\n".join(f"**From:** {who}\n**Posted:** {n} May 2024\n\n{TEXT}" for n, who in ((3, "Ann"), (4, "Bo")))
    (tmp_path / "a.md").write_text(f"# Ferries\n\n{posts}\n\n{posts[:-9]}\n")
    found = one(tmp_path / "a.md")
    assert (found.kind, found.date) == ("forum thread", "2024-05")


def test_the_lines_of_one_head_are_read_each(tmp_path: Path) -> None:
    head = "Open letter to the council\nBy Ann Lee, secretary, Food and Transport Workers' Union\n14 April 2025"
    (tmp_path / "a.txt").write_text(f"{head}\n\n{TEXT}\n")
    found = one(tmp_path / "a.txt")
    assert (found.author, found.date) == ("Ann Lee", "2025-04-14")


@pytest.mark.parametrize(
    ("front", "author"),
    [
        ("author: Ann Lee", "Ann Lee"),
        ("Authors:\n  - Ann Lee\n  - name: Bo Lind", "Ann Lee, Bo Lind"),
        ("author: [[Ann Lee]]", "Ann Lee"),
    ],
)
def test_front_matter_goes_before_the_text(tmp_path: Path, front: str, author: str) -> None:
    (tmp_path / "a.md").write_text(
        f"---\n{front}\npublished: 2024-05-03T08:00:00Z\n---\nBy Cy Moe, 1 May 2024\n\n{TEXT}\n"
    )
    found = one(tmp_path / "a.md")
    assert (found.author, found.date) == (author, "2024-05-03")
    assert found.provenance == "author: front matter; date: front matter"
    assert found.left_out == {}


@pytest.mark.parametrize(
    ("head", "body", "author", "date"),
    [
        ("", "<p>Magazine, spring 2024</p>", "", "2024"),
        ("", "<p>In 2023 it was called 122 times, as was said on 2024-05-03.</p>", "", ""),
        ('<meta property="article:published_time" content="2024-05-03T08:00Z">', "", "", "2024-05-03"),
        ('<meta name="author" content="Ann Lee"><meta name="date" content="2024-05">', "", "Ann Lee", ""),
        ('<meta name="date" content="03/04/2024">', "", "", ""),
        ("", '<p><time datetime="2024-05-03">Friday</time></p>', "", "2024-05-03"),
        (f"<script type='application/ld+json'>{LINKED}</script>", "", "Ann Lee", "2024-05-03"),
        ('<meta name="date" content="2024-05-09">', "<p>By Bo Lind, 3 May 2024</p>", "Bo Lind", "2024-05-03"),
    ],
)
def test_pages(tmp_path: Path, head: str, body: str, author: str, date: str) -> None:
    (tmp_path / "a.html").write_text(f"<html><head>{head}</head><body>{body}<p>{TEXT}</p></body></html>")
    found = one(tmp_path / "a.html")
    assert (found.author, found.date) == (author, date)


@pytest.mark.parametrize(
    ("text", "title"),
    [
        (f"Who will miss the ferry?\n\n{TEXT}", "Who will miss the ferry?"),
        (f"The ferry\nBy Ann Lee\n\n{TEXT}", "The ferry"),
        (f"{TEXT}\n\nMore.", "a b"),
        (f"Dear Sir,\n\n{TEXT}", "a b"),
        (f"3 May 2024\n\n{TEXT}", "a b"),
        (f"Hill Farm, 3 May 2024\n\nOpen letter to the board\n\n{TEXT}", "Open letter to the board"),
        (f"Hill Farm, 3 May 2024\n\n{TEXT}", "a b"),
        (f"Minutes of the meeting held on 3 May 2024\n\n{TEXT}", "Minutes of the meeting held on 3 May 2024"),
        ("The ferry", "a b"),
    ],
)
def test_a_first_line_of_plain_text_may_be_its_title(tmp_path: Path, text: str, title: str) -> None:
    (tmp_path / "a_b.txt").write_text(text)
    assert one(tmp_path / "a_b.txt").title == title


@pytest.mark.parametrize(
    ("text", "kind", "date"),
    [
        (f"# An open letter to the board\n\nHill, 3 May 2024\n\n{TEXT}", "open letter", "2024-05-03"),
        (f"# To the board\n\nDear members of the board,\n\n{TEXT}", "letter", ""),
        (f"# The ferry: questions and answers\n\n{TEXT}", "FAQ", ""),
        (f"# The ferry\n\nInterview: Ann Lee\n\n{TEXT}", "interview", ""),
        (
            "una_m wrote on 3 May 2024, 9:15\n\nI row.\n\nper wrote on 9 May 2024, 9:20\n\nI do not.",
            "forum thread",
            "2024-05",
        ),
        ("una_m wrote on 3 May 2024, 9:15\n\nI row.\n\nper wrote on 9 May 2025, 9:20\n\nI do not.", "unknown", ""),
    ],
)
def test_a_document_tells_its_kind_and_a_thread_the_month_of_its_posts(
    tmp_path: Path, text: str, kind: str, date: str
) -> None:
    (tmp_path / "a.md").write_text(text)
    assert (one(tmp_path / "a.md").kind, one(tmp_path / "a.md").date) == (kind, date)


@pytest.mark.parametrize(
    ("title", "author", "publisher"),
    [("Ferry ends | Hill Farmer", "", "Hill Farmer"), ("Ferry | Cy Moe", "Hill Farmer", "")],
)
def test_the_name_of_a_site_is_no_author(tmp_path: Path, title: str, author: str, publisher: str) -> None:
    head = f'<title>{title}</title><meta name="author" content="Hill Farmer">'
    (tmp_path / "a.html").write_text(f"<html><head>{head}</head><body><p>{TEXT}</p></body></html>")
    assert (one(tmp_path / "a.html").author, one(tmp_path / "a.html").publisher) == (author, publisher)


def test_the_editors_of_a_printed_letter_are_not_its_signers(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(f"# Ferries\n\nWe print their letter in full.\n\n{TEXT}\n\nYours,\n\nAnn Lee")
    found = one(tmp_path / "a.md")
    assert (found.author, [b.speaker for b in found.blocks[:3]]) == ("Ann Lee", ["", "The editors", ""])
