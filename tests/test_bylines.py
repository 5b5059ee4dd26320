"""Authors and dates: what the first and last lines tell, what a page or front matter says, and what is in doubt."""

from pathlib import Path

import pytest
from office_files import one, paragraph, word

from tools.documents.bylines import read_byline, stated_kind
from tools.documents.passage_cutting import cut_document
from tools.language.reported_speech import UNNAMED
from tools.passages import Block, BlockForm

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
        ("Petition by Ann Lee", "Ann Lee", ""),
        ("Started by Ann Lee and Bo Lind on behalf of the Sea Friends", "Ann Lee, Bo Lind", ""),
        ("Statement of Ann Lee, dictated to her son", "Ann Lee", ""),
        ("Authors: Ann Lee (Hill College), Bo Lind (Hill College)", "Ann Lee, Bo Lind", ""),
        ("Ann Lee¹², Bo Lind²\n\nReceived 2 May 2023; accepted 3 May 2024", "Ann Lee, Bo Lind", "2024-05-03"),
        ("Ann Lee and Bo Lind\n\nWorking paper 4, May 2024", "Ann Lee, Bo Lind", "2024-05"),
        # In doubt
        ("Statement of Financial Position", "", ""),
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
        assert (found.author, found.date) == (author, date), name
        body = "; publisher: byline" if lines.startswith("Hill Council,") else ""
        assert found.provenance == noted + body, name
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


OURS = "We have let the ferry drift into its last summer, and I think that nobody has asked the islanders about that."


@pytest.mark.parametrize(
    ("text", "author", "publisher", "date"),
    [
        (
            f"# Ferries\n\n**Ann Lee & Bo Lind**\n*Hill Policy Centre*\n\nMay 2024\n\n{OURS}",
            "Ann Lee, Bo Lind",
            1,
            "2024-05",
        ),
        (f"# Ferries\n\nPrepared by the Hill Institute\nAnn Lee and Bo Lind\n\n{OURS}", "Ann Lee, Bo Lind", 1, ""),
        (
            f"Hill Courier    Friday 3 May 2024\n\nANN LEE\nThe Friday column\n\n{OURS}\n\nGo.",
            "Ann Lee",
            1,
            "2024-05-03",
        ),
        (f"THE HILL COURIER\nFriday, May 3, 2024    Page 4\n\n{OURS}", "", 1, "2024-05-03"),
        (f"THE HILL ADVERTISER                Friday, May 3, 2024\n\n{OURS}", "", 1, "2024-05-03"),
        (f"Opinion\n\nThe Hill Advertiser, 3.5.24\n\nANN LEE\nFerries are slow\n\n{OURS}", "Ann Lee", 1, "2024-05-03"),
        (
            f"HILL WHARF\nN E W S   R E L E A S E\n3 May 2024      HW/7\n\nHill Wharf has closed.\n\n{OURS}",
            "",
            1,
            "2024-05-03",
        ),
        (f"HILL SOUND 97.3 FM\n\nTX: Friday 3 May 2024, 08.10\n\n{OURS}", "", 1, "2024-05-03"),
        (f"HillBay\n\nFerries\n\n{OURS}\n\n© 2024 HillBay PBC", "", 1, ""),
        (
            f"# Ferries\n\nAnn Lee and Bo Lind\n\n**About the authors.** Ann Lee rows.\n\n{OURS}",
            "Ann Lee, Bo Lind",
            0,
            "",
        ),
        (f"# HILL FM 96.2\n\nAs broadcast Friday 3 May 2024\n\n{OURS}", "", 1, "2024-05-03"),
        (f"Hill Journal of Ferry Studies, vol. 3 (2), pp. 8–9\n\n# Ferries\n\n{OURS}", "", 1, ""),
        (f"No. 88 Summer 2024\n\nHill Club, 3 May 2024\n\n{OURS}", "", 1, "2024-05-03"),
        (f"---\npublication: Hill Weekly\n---\n{OURS}", "", 1, ""),
        (f"# Ferries\n\nPosted by Gwenna on May 3rd, 2024 in *Boats*\n\n{OURS}", "Gwenna", 0, "2024-05-03"),
        (f"# Hill Life\n\n## Ferries\n\nPosted by Gwenna on 3 May 2024\n\n{OURS}", "Gwenna", 1, "2024-05-03"),
        (f"# Remarks to the board\n\n{OURS}\n\nAnn Lee\nHead Keeper, Hill Fishery", "Ann Lee", 0, ""),
        # In doubt
        (f"# Ferries\n\nKelby Harbour\nHill Parish Council\n\n{OURS}", "", 1, ""),
        (f"# Ferries\n\nAnn Lee\nChair\n\n{OURS}\n\nLee rows. She waits.\n\nGo.", "", 0, ""),
        (f"# Ferries\n\nAnn Lee\nChair\n\n{TEXT}\n\nGo.", "", 0, ""),
        (f"# Remarks to the board\n\n{OURS}\n\nMedia contact\nAnn Lee", "", 0, ""),
        (f"# Ferries\n\nWritten by Staff on 3 May 2024\n\n{OURS}", "", 0, "2024-05-03"),
    ],
)
def test_authors_and_publishers_without_by(tmp_path: Path, text: str, author: str, publisher: int, date: str) -> None:
    plain = ("THE HILL ADVERTISER", "Opinion", "HILL WHARF", "HILL SOUND", "HillBay")
    name = "a.txt" if text.startswith(plain) else "a.md"
    (tmp_path / name).write_text(text)
    found = one(tmp_path / name)
    assert (found.author, found.date) == (author, date)
    assert bool(publisher) == ("hill" in found.publisher.lower()), found.publisher


def test_a_blogs_author_wrote_the_post_and_others_its_comments(tmp_path: Path) -> None:
    posted = f"# Hill Life\n\n## Ferries\n\nPosted by Gwenna on 3 May 2024\n\n{OURS}\n\n**2 comments**"
    said = "**Ann L.** says:\n3 May 2024 at 10:12 am\nI row.\n\n**Anonymous** says:\n4 May 2024 at 9:00 am\nI do not."
    (tmp_path / "a.md").write_text(f"{posted}\n\n{said}")
    found = one(tmp_path / "a.md")
    assert (found.author, found.date, found.kind) == ("Gwenna", "2024-05-03", "unknown")
    assert [b.speaker for b in found.blocks if "row" in b.text or "not." in b.text] == ["Ann L.", UNNAMED]


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
        (
            '<meta name="author" content="Hill Chamber of Trade">',
            "<p>Hill Chamber of Trade, 3 May 2024</p>",
            "",
            "2024-05-03",
        ),
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
        (f"Hill Courier    Friday 3 May 2024\n\nThe ferry\n\n{TEXT}", "The ferry"),
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
        (f"PRESS RELEASE · Hill Trust · 3 May 2024\n\n# The ferry\n\n{TEXT}", "press release", "2024-05-03"),
        (
            f"# The ferry\n\nBy Ann Lee, Hill Post, 2 May 2024\n\nShe had received 63 letters since 2023. {TEXT}",
            "unknown",
            "2024-05-02",
        ),
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
    ("head", "title"),
    [
        ("PRESS RELEASE\n\nMill to grind again", "Mill to grind again"),
        (
            "FOR IMMEDIATE RELEASE\n4 May 2026\n\nContact: Ode Fenn, 01 555\n\nMill to grind again",
            "Mill to grind again",
        ),
        ("Press release\nMill to grind again", "Mill to grind again"),
        ("THE VELLBY HERALD\n4 May 2026\n\nMill to grind again\nBy Ode Fenn", "Mill to grind again"),
        ("Note from the miller, Ode Fenn, 4 May 2026\n\nMill to grind again", "Mill to grind again"),
        # Nothing below is a title.
        ("Note from the miller, Ode Fenn, 4 May 2026", "Note from the miller, Ode Fenn"),
        ("PRESS RELEASE", "a b"),
        ("THE VELLBY HERALD", "THE VELLBY HERALD"),
        ("MILL LANE\n\nA short history", "MILL LANE"),
    ],
)
def test_a_head_line_is_no_title_if_a_title_follows(tmp_path: Path, head: str, title: str) -> None:
    prose = "The mill will grind again this year. The miller has a new stone."
    (tmp_path / "a_b.txt").write_text(f"{head}\n\n{prose}")
    assert one(tmp_path / "a_b.txt").title == title


def test_a_head_line_above_a_title_or_without_its_day_still_says_who_speaks(tmp_path: Path) -> None:
    prose = "I have ground since spring. The stone is new."
    for title, named in (("\n\nMill to grind again", "Mill to grind again"), ("", "Note from the miller, Ines Pell")):
        (tmp_path / "a.txt").write_text(f"Note from the miller, Ines Pell, 4 May 2026{title}\n\n{prose}")
        [passage] = cut_document(found := one(tmp_path / "a.txt"))
        assert (found.title, passage.text, passage.speaker, passage.section) == (named, prose, "Ines Pell", "")


def test_a_heading_that_is_a_head_line_is_no_title_if_a_title_follows(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(f"# The Vellby Herald\n\n4 May 2026\n\n## Mill to grind again\n\n{TEXT}")
    found = one(tmp_path / "a.md")
    assert (found.title, found.publisher, found.blocks[0].form) == (
        "Mill to grind again",
        "The Vellby Herald",
        "paragraph",
    )
    word(tmp_path / "a.docx", "".join(map(paragraph, ("PRESS RELEASE", "Mill to grind again", TEXT))))
    assert one(tmp_path / "a.docx").title == "Mill to grind again"


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


def test_a_byline_with_an_article_names_author_and_publisher() -> None:
    line = "A column by Lotte Brandt, Vessholm Courier, 21 February 2026"
    assert read_byline([Block("The rope", "heading"), Block(line)]) == {
        "date": "2026-02-21",
        "author": "Lotte Brandt",
        "publisher": "Vessholm Courier",
    }
    release = [Block("Free entry", "heading"), Block("Press release, Oskerby Museum Trust, 2 April 2026")]
    assert (read_byline(release)["publisher"], stated_kind(release)) == ("Oskerby Museum Trust", "press release")
    lead = "Dr Ann Lee, Fell Institute, told the council that phones distract."
    assert read_byline([Block("Phones", "heading"), Block(lead)])["author"] == ""


@pytest.mark.parametrize(
    ("head", "kind", "publisher"),
    [
        ("Petition by Ann Lee", "petition", ""),
        ("Ann Lee and Bo Lind, Institute of Ferries\n\nAbstract", "study", "Institute of Ferries"),
        ("Q&A with Ann Lee, head of the port", "interview", ""),
        ("Submitted by Ann Lee on behalf of the Elver Valley Beekeepers", "", "Elver Valley Beekeepers"),
        ("FOR IMMEDIATE RELEASE – 3 May 2024", "press release", ""),
        ("Tarn and Partners, ferry engineers. 3 May 2024", "", "Tarn and Partners"),
        ("Elver Monthly, May 2024. Words: Ann Lee", "", "Elver Monthly"),
    ],
)
def test_kind_and_publisher_of_a_head(head: str, kind: str, publisher: str) -> None:
    blocks = [Block("The ferry", "heading", 1), *map(Block, head.split("\n\n")), Block(TEXT)]
    assert (stated_kind(blocks), read_byline(blocks)["publisher"]) == (kind, publisher)


@pytest.mark.parametrize(("below", "publisher"), [("heading", "Elver Harbour Trust"), ("paragraph", "")])
def test_a_body_above_the_title_is_the_publisher(below: BlockForm, publisher: str) -> None:
    blocks = [Block("Elver Harbour Trust", "heading", 2), Block("What the ferry costs", below), Block(TEXT)]
    assert read_byline(blocks)["publisher"] == publisher


@pytest.mark.parametrize(
    ("line", "author", "publisher", "date", "kind"),
    [
        (
            "Summary of a study by Nora Field and Ole Brandt, Institute of Coastal Ecology, Kelby College, March 2025",
            *("Nora Field, Ole Brandt", "Institute of Coastal Ecology", "2025-03", "study"),
        ),
        ("A study by Nora Field (Kelby University), 12 March 2025", "Nora Field", "", "2025-03-12", "study"),
        ("A study by Nora Field of the harbour, which took years, ended in March 2025.", "", "", "", ""),
        ("Fell Angling Magazine, May 2025.", "", "Fell Angling Magazine", "2025-05", ""),
        ("Fell Angling Magazine, May 2025. Ann Lee asked.", "", "Fell Angling Magazine", "2025-05", ""),
        ("Kelby Harbour Authority, 2 April 2025", "", "Kelby Harbour Authority", "2025-04-02", ""),
        ("In the harbour, May 2025. Few boats came.", "", "", "", ""),
    ],
)
def test_the_first_line_names_authors_institution_and_date(
    line: str, author: str, publisher: str, date: str, kind: str
) -> None:
    blocks = [Block("Eels and tide gates", "heading", 1), Block(line), Block(TEXT)]
    assert read_byline(blocks) == {"author": author, "publisher": publisher, "date": date}
    assert stated_kind(blocks) == kind


def test_a_closing_with_a_name_in_one_line_signs_a_letter(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(f"Dear Minister,\n\n{TEXT}\n\nYours, Ann Lee, Chair of the Ferry League\n")
    assert one(tmp_path / "a.md").author == "Ann Lee"


@pytest.mark.parametrize(("text", "author"), [(TEXT, "Ann Lee"), (f"{TEXT} Ms Lee saw it.", "")])
def test_a_last_line_about_a_person_names_the_author_of_a_column(tmp_path: Path, text: str, author: str) -> None:
    (tmp_path / "a.md").write_text(f"# The ferry\n\n{text}\n\nIt is late.\n\nAnn Lee teaches history in Hill.\n")
    assert one(tmp_path / "a.md").author == author


def test_a_name_and_a_newspaper_beside_a_date_are_author_and_publisher() -> None:
    found = read_byline([Block("The ferry", "heading", 1), Block("Ann Lee, The Sea Gazette, 3 May 2024"), Block(TEXT)])
    assert found == {"author": "Ann Lee", "publisher": "The Sea Gazette", "date": "2024-05-03"}


@pytest.mark.parametrize(
    ("head", "kind", "author"),
    [
        ("Thousands have signed a petition against the ferry, says the port.", "", ""),
        ("The port refuses this petition’s demand.", "", ""),
        ("Lee, A. (2024). The ferry. Journal of Boats.", "study", "A. Lee"),
        ("Lee, A. (2024). Crossing the sea. A book. Hill Press.", "", ""),
    ],
)
def test_what_a_head_only_mentions_is_no_kind_and_no_author(head: str, kind: str, author: str) -> None:
    blocks = [Block("The ferry", "heading", 1), Block(head), Block(TEXT)]
    assert (stated_kind(blocks), read_byline(blocks)["author"]) == (kind, author)


@pytest.mark.parametrize(("second", "author"), [("It was late.", "Ann Lee"), ("She missed the ferry.", "")])
def test_the_person_of_a_portrait_is_not_its_author(tmp_path: Path, second: str, author: str) -> None:
    (tmp_path / "a.md").write_text(f"# The ferry\n\nAnn Lee is a teacher in Hill.\n\n{second}\n\n{TEXT}\n")
    assert one(tmp_path / "a.md").author == author


@pytest.mark.parametrize(
    ("head", "kind", "publisher"),
    [
        ("Press release, Quern Coaches, 2 May 2025", "press release", "Quern Coaches"),
        ("Press release by Quern Coaches, 2 May 2025", "press release", "Quern Coaches"),
        ("Press release, Upper Marsh, 2 May 2025", "press release", ""),
        ("FAQ of the Harbour Office, Marsh District, published 2 May 2025", "FAQ", "Harbour Office"),
        ("Study summary, Institute for Ferries, by Prof. Ann Lee, May 2025", "study", "Institute for Ferries"),
        ("Report of the Marsh Valley Police, by Inspector Ann Lee, 2 May 2025", "report", "Marsh Valley Police"),
        ("Column by Ann Lee, Marsh Weekly, 2 May 2025", "column", "Marsh Weekly"),
        ("Marsh Valley Online, 2 May 2025", "", "Marsh Valley Online"),
        ("Report of the Town Clerk, 2 May 2025", "", ""),
        ("Leader of the opposition, 2 May 2025", "", ""),
    ],
)
def test_a_head_line_states_kind_publisher_and_day(tmp_path: Path, head: str, kind: str, publisher: str) -> None:
    (tmp_path / "a.md").write_text(f"# Six boats\n\n{head}\n\nQuern Coaches will run a boat. {TEXT}\n")
    found = one(tmp_path / "a.md")
    assert (found.kind, found.publisher) == (kind or "unknown", publisher)


def test_a_title_with_kind_and_body_gives_both_unless_a_line_names_the_body_in_full(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(f"# Minutes of the Marsh District Council, 8 April 2025\n\n{TEXT}\n")
    found = one(tmp_path / "a.md")
    assert (found.kind, found.publisher, found.date) == ("minutes", "Marsh District Council", "2025-04-08")
    line = "Sailors' Council of Marsh School, by Ann Lee, 28 April 2025"
    (tmp_path / "a.md").write_text(f"# Statement of the Sailors' Council on boats\n\n{line}\n\n{TEXT}\n")
    found = one(tmp_path / "a.md")
    assert (found.kind, found.publisher) == ("statement", "Sailors' Council of Marsh School")


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("Publisher: Hill Life", ("", "Hill Life", "")),
        ("Published by: The Hill Life, 3 May 2024", ("", "The Hill Life", "2024-05-03")),
        ("Source: ONS", ("", "ONS", "")),
        ("Source: https://hill-life.example/", ("", "hill-life.example", "")),
        ("Author: Ann Lee Publisher: Hill Life Date: 3 May 2024", ("Ann Lee", "Hill Life", "2024-05-03")),
        ("Source: Hill Life | Author: Ann Lee", ("Ann Lee", "Hill Life", "")),
        ("Author: mossgirl", ("mossgirl", "", "")),
        *((line, ("", "", "")) for line in ("Source: own survey", "Source: Photo by Ann Lee", "Author: Admin")),
    ],
)
def test_labels_in_the_head_name_author_publisher_and_date(
    tmp_path: Path, line: str, told: tuple[str, str, str]
) -> None:
    (tmp_path / "a.txt").write_text(f"The ferry\n{line}\n\n{TEXT}\n")
    word(tmp_path / "a.docx", "".join(map(paragraph, ("The ferry", line, TEXT))))
    for found in (one(tmp_path / "a.txt"), one(tmp_path / "a.docx")):
        assert (found.author, found.publisher, found.date) == told


@pytest.mark.parametrize(
    ("line", "publisher"),
    [
        ("Ann Lee, Hill Coaches Ltd, 3 May 2026", "Hill Coaches Ltd"),
        ("Ann Lee, press officer, Hill Coaches Ltd., 3 May 2026", "Hill Coaches Ltd"),
        ("Issued by Hill Coaches Ltd", "Hill Coaches Ltd"),
        ("Issued by Ferryline, 3 May 2026", "Ferryline"),
        ("Ann Lee, secretary, 3 May 2026", ""),
        ("Issued by Ann Lee, press officer", ""),
    ],
)
def test_the_head_or_foot_of_a_release_names_the_company(tmp_path: Path, line: str, publisher: str) -> None:
    text = "Ferryline will stop. Nobody has asked the islanders."
    foot, head = f"{text}\n\n{TEXT}\n\n{line}\n\nContact: a@b.example", f"{line}\n\n{text}\n\n{TEXT}"
    (tmp_path / "foot.txt").write_text(f"Ferries end\n\n{foot}\n")
    (tmp_path / "head.txt").write_text(f"Ferries end\n\n{head}\n")
    assert one(tmp_path / "foot.txt").publisher == publisher
    assert one(tmp_path / "head.txt").publisher == publisher
    assert one(tmp_path / "foot.txt").author == ""


def test_signers_of_several_bodies_name_no_publisher(tmp_path: Path) -> None:
    lines = ("Ann Lee, Hill Bakery Ltd, 3 May 2026", "Bo Lind, Marsh Trust, 4 May 2026")
    (tmp_path / "a.txt").write_text("Ferries\n\n" + "".join(f"I row. {TEXT}\n\n{line}\n\n" for line in lines))
    assert one(tmp_path / "a.txt").publisher == ""


@pytest.mark.parametrize(
    ("line", "author"),
    [
        ("van der Berg, L., and de Souza, M. T.", "L. van der Berg, M. T. de Souza"),
        ("de Souza M. and Hill K. L., University of Hill", "M. de Souza, K. L. Hill"),
        ("van der Berg L, de Souza M", "L van der Berg, M de Souza"),
        ("van der Berg, L. (2024). The ferry. Journal of Boats.", "L. van der Berg"),
        ("Plan B, Option C", ""),
        ("von der Leyen asked for more, and de Souza agreed.", ""),
    ],
)
def test_surnames_with_particles_and_initials_are_a_studys_authors(line: str, author: str) -> None:
    blocks = [Block("The ferry", "heading", 1), Block(line), Block("Abstract"), Block(TEXT)]
    assert read_byline(blocks)["author"] == author


@pytest.mark.parametrize(
    ("line", "author", "publisher", "date"),
    [
        ("Dr Ann Lee, Director of Works, Fell County, 3 May 2024", "Dr Ann Lee", "", "2024-05-03"),
        (
            "Prof. Ann Lee, Senior Botanist, Fell Institute – 3 May 2024",
            "Prof. Ann Lee",
            "Fell Institute",
            "2024-05-03",
        ),
        ("Fell Hikers' Club. Author: Ann Lee, guide. 3 May 2024", "Ann Lee", "Fell Hikers' Club", "2024-05-03"),
        ("Hill, 3 May 2024. Submitted by Ann Lee, clerk, for 40 members.", "Ann Lee", "", "2024-05-03"),
        ("*The Fell Gazette, 3 May 2024, page 8*", "", "The Fell Gazette", "2024-05-03"),
        ("Radio Fell, Night Talk, 3 May 2024. Interviewer: Bo Lind.", "", "Radio Fell", "2024-05-03"),
        ("Fell Town Council, 3 May 2024. For immediate release.", "", "Fell Town Council", "2024-05-03"),
        ("Hill Quarries plc, owner of the pit, 3 May 2024", "", "Hill Quarries plc", "2024-05-03"),
        (
            "Interview with Ann Lee. Published in *Fell Parish News*, 3 May 2024. Bo asked.",
            "",
            "Fell Parish News",
            "2024-05-03",
        ),
        ("Leaflet of the Fell Rowing Club, May 2024. Text: Ann Lee, chair.", "Ann Lee", "Fell Rowing Club", "2024-05"),
        (
            "Opinion – Ann Lee, Ferry Users' Forum – The Fell Herald, 3 May 2024",
            "Ann Lee",
            "The Fell Herald",
            "2024-05-03",
        ),
        ("Centre for Quiet Roads, May 2024", "", "Centre for Quiet Roads", "2024-05"),
        # In doubt
        ("Dr Ann Lee, Fell Town Hall, 3 May 2024, 7 pm", "", "", "2024-05-03"),
        ("A debate, Fell Museum, 3 May 2024", "", "", "2024-05-03"),
        ("Reply to the article by Ann Lee, Fell Gazette, 3 May 2024", "", "", "2024-05-03"),
        ("Photo: Ann Lee, Fell Gazette, 3 May 2024.", "", "", ""),
        ("Sir Bo Lind, engineer, Fell, 2 March 1931 – 4 April 2024", "", "", ""),
        ("Ann Lee, Fell Institute, told the council on 3 May 2024 that it leaks.", "", "", ""),
    ],
)
def test_a_head_line_is_a_list_of_parts(line: str, author: str, publisher: str, date: str) -> None:
    blocks = [Block("The ferry", "heading", 1), Block(line.replace("*", "")), Block(TEXT), Block(TEXT)]
    assert read_byline(blocks) == {"author": author, "publisher": publisher, "date": date}


def test_several_authors_an_institute_and_methods_make_a_study() -> None:
    line = "A. Lee, B. Lind and C. Moe. Institute of Ferries, Hill. Summary for pilots, May 2024."
    head = [Block("The ferry", "heading", 1), Block(line)]
    assert stated_kind([*head, Block("We compared nine ferries.")]) == "study"
    assert read_byline([*head, Block("We compared nine ferries.")])["author"] == "A. Lee, B. Lind, C. Moe"
    assert stated_kind([*head, Block(TEXT)]) == ""


def test_a_letter_s_address_is_no_publisher(tmp_path: Path) -> None:
    address = "Hill Town Council, Market Square, 3 May 2024"
    (tmp_path / "a.md").write_text(f"# Letter to Hill Town Council\n\n{address}\n\nDear members,\n\n{TEXT}\n")
    assert (one(tmp_path / "a.md").publisher, one(tmp_path / "a.md").date) == ("", "2024-05-03")


@pytest.mark.parametrize(("first", "publisher"), [("The Fell Trust", "Fell Trust"), ("The Hill Trust", "")])
def test_a_release_whose_title_and_text_begin_with_one_body_is_its_release(first: str, publisher: str) -> None:
    head = [Block("Fell Trust asks for a ferry", "heading", 1), Block("Press release, 3 May 2024, for immediate use")]
    assert (
        read_byline([*head, Block(f"{first} today asked the town for a ferry."), Block(TEXT)])["publisher"] == publisher
    )


@pytest.mark.parametrize(
    "head", ['Hill Chat - export of thread 5 "Ferry??"', "Hill Chat > Roads > Ferry??\nExported 9 May 2024"]
)
def test_an_exported_thread_has_title_kind_and_the_month_of_its_posts(tmp_path: Path, head: str) -> None:
    posts = "[2024-05-03 08:14] una_b: I row, it takes ten minutes\n[2024-05-04 09:20] Per: I do not."
    (tmp_path / "a.txt").write_text(f"{head}\n\n{posts}\n")
    found = one(tmp_path / "a.txt")
    assert (found.title, found.kind, found.date) == ("Ferry??", "forum thread", "2024-05")


def test_a_publisher_in_capitals_is_the_same_source() -> None:
    head = [Block("THE MILL AND WEIR HERALD"), Block("Letters to the editor, 4 May 2026"), Block("Sir, we object.")]
    assert read_byline(head)["publisher"] == "The Mill and Weir Herald"


def test_a_firm_prepares_a_report() -> None:
    line = "Prepared by Roe & Pell, chartered surveyors, for Hill Town Council. 12 January 2026"
    report = [Block("The mill: three uses", "heading"), Block(line), Block("The council asked us.")]
    assert read_byline([*report, Block("We did not ask residents.")])["publisher"] == "Roe & Pell"
