"""Who says each block of a document, and who says a sentence of prose that quotes people."""

import re
import time
from collections import Counter
from dataclasses import replace
from html import unescape
from pathlib import Path

import pytest

from tools.documents.passage_cutting import cut_document
from tools.documents.plain_text import text_document
from tools.documents.readers import read_file
from tools.documents.speakers import with_speakers
from tools.language.person_names import fullest_form
from tools.language.quotable import quotable_parts
from tools.language.reported_speech import UNNAMED, people_speak, reported_speaker
from tools.models.judges.batch import documents_as_data
from tools.passages import Block, Passage, SourceDocument

HEARING = """Hearing on the harbour toll

Present: Mr P. Vane (Chair), Dr Una Marsh; the clerk, Mrs Loy.

THE CHAIR: We begin with the toll. I ask for patience.

DR MARSH: I measured the queue for a month. My figures
are before you.

It was longest on Fridays.

I would end the toll tomorrow.

THE CHAIR: Thank you.

Cost: 40 pounds a boat.

[Laughter.]
"""
DEPOSITION = """Examination by MS ROE

MR TIM HALE (sworn)

Q. Did you lock the gate?

A. I did, and I wrote it down.

MS ROE: Thank you.

MR TIM HALE: I always do.

MS ROE: No more questions.
"""
PHONE_CHAT = """5/4/23, 9:15 PM - Messages and calls are end-to-end encrypted.
5/4/23, 9:16 PM - Rosa Lint: The field floods after school
and nobody drains it.
5/4/23, 9:20 PM - Ben (coach): <Media omitted>
5/4/23, 9:21 PM - Ben (coach): We could use the gym. <This message was edited>
5/4/23, 9:22 PM - Ben (coach) left
"""
PASTED_CHAT = """Priya Vance
  9:04 AM
Three days a week at a desk, from June.
9:05
Questions in the thread please.

Cor Dahl
  9:11 AM
I was promised in writing that I could stay at home.
2 replies
"""
THREAD = """u/tide_table • 2d • 96 points

I swim there every day and the flag is never up.

u/lifeguard9 • 1d • 12 points

tide_table wrote:

I swim there every day and the flag is never up.

You swim before I start.
"""
LETTERS = """LETTERS TO THE EDITOR

Sir, I have burned ash in one grate since 1971. My lungs are still in me.

- J. VANE, Hillcote

Dear Editor, I am a nurse. I should like Mr Vane to see my ward.

Keep the stove cold when the air is still.

Una Marsh
Sallow Green

Letters may be cut.
"""
MINUTES = """Minutes of the harbour board

In attendance: Cllr Ida Pell (Chair), Tom Roe (TR), Mrs Loy (Clerk)

Cllr Pell said that the toll fell on nurses. It would cost a week's wages. TR disagreed; he said that nurses
went by bus. The toll was carried by 5 votes to 2.

In reply to a question, the Clerk stated that the figures were new.

She had checked them twice.

A resident shouted that it was nonsense.
"""
INTERVIEW = """# "I count boats"

Harbour Weekly, June 2020. Interview: Per Roe

Una Marsh, 40, has kept the lock for ten years.

**Do boats still come?**

Fewer. I counted nine in June.

My father counted ninety.

**You want the toll gone?**

I do. I told the board so.

Behind her a boat hoots.
"""
TAGS_IN_LINES = """**Una Marsh:** Do you row?
**Per Roe:** I row when the lock is shut.

**UM:** And in winter?

**PR:** I sleep.

**UM:** I see.

**PR:** I mend my boat.
"""
# One rule reads labels of any shape; the examples below differ in how they set the label off.
SERVER_SLOTS = (
    ("Dr Una Marsh", "I measured the queue for a month."),
    ("Mr Per Roe", "You measured it on a holiday."),
    ("Dr Una Marsh", "I did not, and I have the book here."),
)
SHAPES = [
    "4.{n} {who} (Harbours). {said}",
    "{who} — {said}",
    "{n}2   {who}, for the board: {said}",
    "[00:0{n}:10] {who} (Chair): {said}",
    "{who} (Ind.)\n\n{said}",
    "{who}, pilot\n\n{said}",
    "**{who}, pilot** {said}",
    "@{who} commented on {n} Feb\n\n{said}",
    "{who} Joined: 2011 Posts: 2,20{n}\n\n{said}",
]
POSTS = [  # the line above a post, without any sign of speech in the posts
    "#{n} {who} – 3 days later",
    "#{n} {who} · 5 May 2026",
    "{n}. {who}, 5 May 2026 at 18:40",
    "Posted by {who} on 5 May 2026 at 09:12",
    "Reply from {who} (2 weeks ago)",
    "User: {who}\nDate: 2026-05-05 10:12",
    "{who} said on Monday 5 May 2026:",
]
SAID = {
    "hearing.txt": (
        HEARING,
        "Mr P. Vane (the Chair): We begin|Dr Una Marsh: I measured the queue for a month. My figures are before"
        "|probably Dr Una Marsh: It was|Dr Una Marsh: I would|Mr P. Vane (the Chair): Thank|: Cost|: [Laughter",
    ),
    "deposition.txt": (
        DEPOSITION,
        "Ms Roe: Did you lock|Mr Tim Hale (the Witness): I did|Ms Roe: Thank|Mr Tim Hale: I always|Ms Roe: No more",
    ),
    "chat.txt": (PHONE_CHAT, "Rosa Lint: The field floods after school and|Ben (coach): We could use the gym."),
    "pasted.txt": (PASTED_CHAT, "Priya Vance: Three|Priya Vance: Questions|Cor Dahl: I was promised"),
    "thread.txt": (THREAD, "u/tide_table: I swim there|tide_table: I swim there|probably u/lifeguard9: You swim"),
    "letters.txt": (
        LETTERS,
        "J. Vane: I have burned|J. Vane: J. VANE|Una Marsh: I am a nurse|Una Marsh: Keep|Una Marsh: Una"
        "|: Sallow|: Letters",
    ),
    "minutes.txt": (
        MINUTES,
        "Cllr Ida Pell: Cllr Pell said that the toll fell on nurses. It would|Tom Roe (TR): TR disagreed; he said"
        "|: The toll was carried|Mrs Loy (the Clerk): In reply|Mrs Loy (the Clerk): She had|: A resident",
    ),
    "interview.md": (
        INTERVIEW,
        "Per Roe (the Interviewer): Do boats|Una Marsh: Fewer|Una Marsh: My father"
        "|Per Roe (the Interviewer): You want|Una Marsh: I do|: Behind her",
    ),
    "lines.md": (
        TAGS_IN_LINES,
        "Una Marsh: Do you|Per Roe: I row|Una Marsh (UM): And in|Per Roe (PR): I sleep|Una Marsh (UM): I see"
        "|Per Roe (PR): I mend",
    ),
    "play.txt": (
        "UNA\nI never wanted the lamp.\n\nMAREK\nIt came with the house, like me.\n\nUNA\nThen you go too, my dear.\n",
        "Una: I never|Marek: It came|Una: Then you",
    ),
    "otter.txt": (
        "Una Marsh  00:02\nI was in the dye house.\n\nHe was a decent man.\n\nSpeaker 2  00:20\nI held the tin.\n",
        "Una Marsh: I was|Una Marsh: He was|Speaker 2: I held",
    ),
    "half.md": (
        "# Locks\n\nBy Per Roe\n\n**Per Roe: Who rows?**\n\n**Una Marsh:** I do.\n\n**Why?**\n\nI like it.",
        "Per Roe (the Interviewer): Who rows?|Una Marsh: I do.|Per Roe (the Interviewer): Why?|Una Marsh: I like it.",
    ),
    "more.md": (
        "# Locks\n\nBy Per Roe\n\nUna Marsh rows.\n\n**Who rows?**\n\nI do.\n\n**And Ida?**\n\n**Ida Pell:** I do too."
        "\n\n**Why?**\n\nI like it.",
        "Per Roe (the Interviewer): Who rows?|probably Una Marsh: I do."
        "|Per Roe (the Interviewer): And|Ida Pell: I do too"
        "|Per Roe (the Interviewer): Why|probably Ida Pell",
    ),
    "nobody.md": (
        "# Locks\n\nBy Per Roe\n\n**Who rows?**\n\nI do.\n\n**Why?**\n\nI like it.",
        f"Per Roe (the Interviewer): Who rows?|{UNNAMED}: I do.|Per Roe (the Interviewer): Why?|{UNNAMED}: I like it.",
    ),
    "talk.md": (
        "# Locks\n\n*The Bell, spring. Una Marsh, head of rowing, talks to Per Roe (Year 13).*\n\n**Q. You row?**\n\n"
        "A. I do.\n\n**Q. Why?**\n\nA. I like it.",
        "Per Roe (the Interviewer): You row?|Una Marsh: I do.|Per Roe (the Interviewer): Why?|Una Marsh: I like it.",
    ),
    "asked.txt": (
        "Locks\n\nInterview with Una Marsh\n\nQ: You row? Many say no.\n\nA: I do.\n\nQ: Why?\n\nA: I like it.",
        "Interviewer: You row?|Una Marsh: I do.|Interviewer: Why?|Una Marsh: I like it.",
    ),
    "posts.txt": (
        "Locks?\n\nida_6\nJoined: 2016 Posts: 41\n3 Feb 2025, 08:14\n\nI row.\n\nold_per\nJoined: 2011 Posts: 2,208\n"
        "3 Feb 2025, 08:51\n\nYou do not.",
        "ida_6: I row.|old_per: You do not.",
    ),
    "talk.txt": (
        "Locks\n\nThey leak. --Una (talk) 09:12, 3 March 2025 (UTC)\n\nI row. --old_per 11:40, 3 March 2025 (UTC)",
        "Una: They leak.|old_per: I row.",
    ),
    "reviews.md": (
        "# Locks\n\n### Fine – by Una P., 3 May 2024\nI row.\n\n### No, says Per Roe\nThey leak.\n\n# Notes\n\nTea.",
        "Una P.: I row.|: No|Per Roe: They|: Notes|: Tea",
    ),
    "council.md": (
        "# Tolls\n\n**Question 1 from Mr Per Roe, Hill**\n\nWill you row?\n\n**Answer from Cllr Una Marsh**\n\nI will.",
        "Mr Per Roe: Will|Cllr Una Marsh: I will",
    ),
    "sides.txt": (
        "A toll?\n\nYES - Una Marsh, pilot\n\nI would pay it, as we do.\n\nNO - Per Roe, rower\n\nMy boat is small.",
        "Una Marsh: YES|Una Marsh: I would|Per Roe: NO|Per Roe: My boat",
    ),
    "notes.txt": (
        "Board meeting\n\nNotes by: Per Roe\n\n1. Tolls\nUna Marsh, Mill Farm, was against a toll.\n\nIt is dear.",
        ": |Una Marsh: Una Marsh, Mill Farm|: ",
    ),
    "trial.txt": (
        "UNA MARSH,\n\ncalled as a witness, sworn:\n\nBY MS ROE:\n\nQ. You row?\n\nA. I do.\n\nTHE COURT: I see."
        "\n\nTHE COURT: Go on.\n\nTHE WITNESS: I row at dawn.",
        "Ms Roe: You row?|Una Marsh (the Witness): I do.|The Court: I see.|The Court: Go on.|Una Marsh (the",
    ),
    "zoom.txt": (
        "18:31:07\t From  Una Marsh  to  Everyone:\n\tI row\n"
        "18:32:07\t From  Clerk - Hill TC  to  Una Marsh(Direct Message):"
        "\n\tYou do not.\n18:33:07\t From  Una Marsh  to  Everyone:\n\tI do",
        "Una Marsh: I row|Clerk - Hill TC: You do not.|Una Marsh: I do",
    ),
    "likely.txt": (
        "UNA MARSH: I row.\n\nHill's iPad: I do not.\n\nPER ROE: You sleep.\n\n"
        "Hill's iPad: I read.\n\nUNA MARSH: You do.",
        "Una Marsh: I row|probably Hill's iPad: I do|Per Roe: You|probably Hill's iPad: I read|Una Marsh: You",
    ),
    "printed.txt": (
        "2 messages Una Marsh <una@a.example> 16 Apr 2024 at 08:14 To: Per Roe <per@a.example> I row.\n\nYou sleep."
        "\n\nUna Per Roe <per@a.example> 16 Apr 2024 at 12:40 To: Una Marsh <una@a.example> Cc: b@b.example I read.",
        ": 2 messages|Una Marsh: I row.|Una Marsh: You sleep.|Una Marsh: Una|Per Roe: I read.",
    ),
    "group.md": (
        "# Letters\n\nSir, We baked the hole a cake.\n\n**Year 5, Hill School**\n\nSir, I row.\n\n**Name withheld**",
        "probably Year 5, Hill School: We baked|probably Year 5, Hill School: Year|: Sir, I row.|: Name",
    ),
    "said.txt": ('"It is too fast for my knees." - Una Marsh, 84\n\n214 people replied.', "Una Marsh: It is|: 214"),
    "table.md": (
        "| Time | Speaker | Text |\n|--|--|--|\n| 0:01 | P1 | Take glass. |\n| 0:09 | P2 | No. |",
        "P1: T|P2: N",
    ),
    "panel.txt": (
        "Pilots: Una Marsh (UM), Per Roe (PR)\n\nUM I row at dawn.\n\nPR You row late.\n\nUM I do not.",
        "Una Marsh (UM): |Per Roe (PR): |Una Marsh (UM): ",
    ),
    "signed.txt": (
        "Tolls\n\nI row to work and I pay nothing.\n\n— Una Marsh, pilot\n\nPer Roe sees it otherwise:\n\nI pay.",
        ": |Una Marsh: I row|: |: Per|probably Per Roe: I pay.",
    ),
    "label.txt": (
        "Minutes of the board\n\nMr Roe said no.\n\nDunmere Parish Council: We object to it.",
        "probably Dunmere Parish Council: Dunmere",
    ),
    "tape.txt": (  # another's initials are never the last one's turn
        "Speakers: Harold Goss (HG), Winifred Goss (WG)\n\nHG    I was on it.\n\nWG    You were not.\n\n"
        "HG    I was.\n\nXY    He was not, you know.\n\nHG    I was.",
        "Harold Goss (HG): I was on|Winifred Goss (WG): You|Harold Goss (HG): I was|: XY He|Harold Goss (HG): I was.",
    ),
    "initials.txt": (
        "Minutes\n\nPresent: Ida Roe (IR), Per Pell (PP), Una Vane (UV)\n\nIR: I row.\n\nPP: We do not.\n\n"
        "UV asked whether they could row.\n\nKX said that they could.\n\nIR: I do.",
        "Ida Roe (IR): |Per Pell (PP): |Una Vane (UV): |KX: |Ida Roe (IR): ",
    ),
    "front.md": (
        "---\nauthor: Per Roe\n---\n# Locks\n\n*Dr Una Marsh has kept it for years. Per Roe met her there.*\n\n"
        "**Q: Do boats come?**\n\nA: I count them.\n\n**Q: You row?**\n\nA: I do.",
        "Per Roe (the Interviewer): Do boats|Dr Una Marsh: I count|Per Roe (the Interviewer): You|Dr Una Marsh: I do.",
    ),
    "met.md": (
        "---\nauthor: Per Roe\n---\n# Locks\n\nPilot Dr Una Marsh has kept it for years. She talked to Per Roe.\n\n"
        "**Q.** Do boats come?\n\n**A.** I count them.\n\n**Q.** You row?\n\n**A.** I do.",
        "Per Roe (the Interviewer): Do boats|Dr Una Marsh: I count|Per Roe (the Interviewer): You|Dr Una Marsh: I do.",
    ),
    "unsure.md": (
        "---\nauthor: Per Roe\n---\n# Locks\n\nQ: Do boats come?\n\nA: I count them.\n\nQ: You row?\n\nA: I do.",
        f"Per Roe (the Interviewer): Do boats|{UNNAMED}: I count|Per Roe (the Interviewer): You|{UNNAMED}: I do.",
    ),
    "faq.md": ("# Locks\n\nQ: Come boats?\n\nA: Few do.\n\nQ: Who pays?\n\nA: You do.", ": Come|: Few|: Who|: You"),
    "items.txt": (
        "Minutes of the board\n\nPresent: Cllr Ida Roe (chair), Mr Per Pell\n\n1.1 Mr Pell: I want it.\n\n"
        "1.2 Cllr Roe said that it was dear.\n\n1.3 Mr Pell: We pay. Cllr Roe: We do.\n\n1.4 Ms Lu Vane (Hill): I row.",
        "Mr Per Pell: I want|Cllr Ida Roe: 1.2|Mr Per Pell: We pay.|Cllr Ida Roe: We do."
        "|Ms Lu Vane: 1.4 Ms Lu Vane (Hill)|Ms Lu Vane: I row.",
    ),
    "letter.txt": (
        "Hill, 3 May 2024\n\nDear Board,\n\nWe row to work.\n\nYours, in some haste,\n\n"
        "Una Marsh\n\nPilot, Hill: I row\n\nPer Roe",
        ": We row|: Yours|: Una|: Pilot|: Per",
    ),
    "resolved.txt": (
        "Ann Vane: I want it.\n\nPer Roe: I do not.\n\nAnn Vane: You should.\n\nResolved: That two bins be bought.",
        "Ann Vane: |Per Roe: |Ann Vane: |: ",
    ),
}


def read(folder: Path, name: str, text: str) -> SourceDocument:
    (folder / name).write_text(text)
    return next(d for d in read_file(folder / name, name) if isinstance(d, SourceDocument))


@pytest.mark.parametrize("shape", SHAPES)
def test_labels_of_any_shape_are_tags_when_they_prove_it_together(shape: str, tmp_path: Path) -> None:
    turns = [shape.format(n=n, who=who, said=said) for n, (who, said) in enumerate(SERVER_SLOTS, start=1)]
    document = read(tmp_path, "a.md", "\n\n".join(["# Tolls", "The board met.", *turns, "Order: The toll is ended."]))
    blocks = [b for b in document.blocks if b.form == "paragraph" and (not b.speaker or b.speaker not in b.text)]
    said = [(b.speaker, b.text) for b in blocks]  # without labels such as 'Una Roe, pilot'
    assert said[1:4] == list(SERVER_SLOTS)
    assert said[0][0] == ""
    assert "Joined" in shape or "commented" in shape or said[4][0] == ""


@pytest.mark.parametrize("line", POSTS)
def test_each_post_has_its_writer(line: str, tmp_path: Path) -> None:
    said = [("gullwing", "Boats pay tolls."), ("Una Marsh", "Nobody counts boats."), ("gullwing", "The lock does.")]
    posts = "\n\n".join(f"{line.format(n=n, who=who)}\n{text}" for n, (who, text) in enumerate(said, start=4))
    document = read(tmp_path, "a.txt", f"Hill Talk > Tolls\n\n{posts}\n")
    assert [(b.speaker, b.text) for b in document.blocks if b.speaker] == said
    assert document.date in ("2026-05-05", "")


@pytest.mark.parametrize(
    ("sentence", "who"),
    [
        ("Quill disagreed. He said that the lock leaks.", "Mr Peter Quill"),
        ("Quill thought that the lock leaks.", "Mr Peter Quill"),
        ("PM set out the plan. He said that the lock leaks.", "probably Ada Marr (PM)"),
        ("Residents thought that the lock leaks.", "probably Residents"),
        ("Motion (PM, seconded PQ): That the lock be shut. She said that it leaks.", "Ada Marr (PM)"),
        ("Quill said that it is late. A tenant of Mill Lane asked who pays.", ""),
        ("Quill said that it is late. Members of the public asked who pays.", ""),
        ("The clerk advised that the lock leaks.", "Ida Roe (the clerk)"),
        ("The Chair spoke. The clerk explained that the lock leaks.", "Ida Roe (the clerk)"),
        ("PM doubted that the lock leaks.", "Ada Marr (PM)"),
        ("PM was not convinced that the lock leaks.", "Ada Marr (PM)"),
        ('Moved by Mr Quill, seconded by Ada Marr:\n\n"That the lock be shut."', "Mr Quill"),
    ],
)
def test_minutes_name_those_present_by_surname(sentence: str, who: str, tmp_path: Path) -> None:
    head = "# Minutes\n\nPresent: Mr Peter Quill, Ada Marr (PM)\n\nClerk: Ida Roe\n\n## Lock"
    assert read(tmp_path, "a.md", f"{head}\n\n{sentence}\n").blocks[-1].speaker == who


@pytest.mark.parametrize("mark", ["**", ""])
def test_only_the_answers_of_an_interview_are_quotable(mark: str, tmp_path: Path) -> None:
    turns = [
        *("Who rows here?", "I row here on every day of the week."),
        *("The board says that nobody rows here in winter.", "I row my boat in every month of the year."),
        *("Who pays for it?", "I pay the toll for my own boat."),
    ]
    asked = "\n\n".join(f"{mark}{said}{mark}" if n % 2 == 0 else said for n, said in enumerate(turns))
    text = f"# Locks\n\nBy Per Roe\n\nAn interview with Una Marsh\n\n{asked}\n"
    blocks = [b for b in read(tmp_path, "a.md", text).blocks if b.text in turns]
    passages = [Passage(1, "a", "c", b.text, speaker=b.speaker) for b in blocks]
    whose = {part.text: part.passage.speaker for passage in passages for part in quotable_parts(passage)}
    assert "Una Marsh" in whose[turns[1]]
    assert "Una Marsh" in whose[turns[5]]
    assert "Una Marsh" not in whose.get(turns[2], "")


def test_line_numbers_and_a_table_tell_who_speaks(tmp_path: Path) -> None:
    lines = ["MS ROE: Did you row?", "MR VANE: I rowed.", "(Laughter.)", "MS ROE: I see.", "It was dark."] * 4
    hearing = read(tmp_path, "b.txt", "\n".join(f"{n:>2}   {line}" for n, line in enumerate(lines, start=1)))
    assert hearing.left_out == {"line numbers": 20}
    assert [b.speaker for b in hearing.blocks[:4]] == ["Ms Roe", "Mr Vane", "", "Ms Roe"]
    rows = "| What was said | Heard from |\n|--|--|\n| I row. | Flat 4 (Una) |\n| My boat leaks, I say. | Pilot 2 |"
    assert [b.speaker for b in read(tmp_path, "c.md", rows).blocks] == ["Flat 4 (Una)", "Pilot 2"]


@pytest.mark.parametrize("name", SAID)
def test_each_convention_names_who_speaks(name: str, tmp_path: Path) -> None:
    text, expected = SAID[name]
    blocks = [f"{b.speaker}: {b.text}" for b in read(tmp_path, name, text).blocks]
    begins = expected.split("|")
    assert [b[: len(e)] for b, e in zip(blocks[-len(begins) :], begins, strict=True)] == begins


ROLES = """# Minutes of the harbour board, 4 May 2025

**Cllr Ida Roe (Ratepayers):** We should keep the tide gate, because the lower town floods without it.

**Per Pell, lock keeper:** My gate sticks twice a month, and I mend it alone.

**Mr Lund (Boatmen's Guild):** Our boats wait at the gate for hours, so you should take it out.

**Cllr Roe** replied to Mr Lund: Your boats would float through my kitchen if we took it out.
"""


@pytest.mark.parametrize(
    ("text", "kept"),
    [(ROLES, 4), (ROLES.replace("*", ""), 4), (ROLES.partition("**Cllr Roe**")[0].replace(":**", "**\n\n"), 3)],
)
def test_a_document_keeps_the_words_of_labels_and_no_quotation_begins_with_them(
    text: str, kept: int, tmp_path: Path
) -> None:
    document = read(tmp_path, "board.md", text)
    passages = cut_document(document)
    shown = " ".join(f"{p.text} {p.speaker}" for p in passages)  # as the page's whole document
    asked = documents_as_data({str(n): Passage(n, "a", "c", p.text, speaker=p.speaker) for n, p in enumerate(passages)})
    for words in ("(Ratepayers)", "lock keeper", "(Boatmen's Guild)", "replied to Mr Lund")[:kept]:
        assert words in document.text
        assert words in shown
        assert words in unescape(asked)
    assert [p.speaker for p in passages[:3]] == ["Cllr Ida Roe", "Per Pell", "Mr Lund"]
    quoted = [part.text for p in passages for part in quotable_parts(Passage(1, "a", "c", p.text, speaker=p.speaker))]
    assert {"We", "My", "Our", "Your"} >= {text.split()[0] for text in quoted} >= {"We", "My", "Our"}


def test_a_turn_within_a_paragraph_of_minutes_keeps_the_words_of_its_label() -> None:
    said = "The clerk opened the meeting. Cllr Ida Roe (Ratepayers): We pay for the gate twice."
    blocks = text_document(f"Minutes of the lock board\n\n{said}\n", "a.txt").blocks
    assert [(b.speaker, b.text) for b in blocks[-2:]] == [
        ("Cllr Ida Roe", "Cllr Ida Roe (Ratepayers)"),
        ("Cllr Ida Roe", "We pay for the gate twice."),
    ]


def test_a_label_without_further_words_is_no_text() -> None:
    said = ["MS IDA ROE: We pay.", "PER PELL: You do.", "Ms Roe said: We pay twice.", "PER PELL: I know."]
    blocks = text_document("\n\n".join(said), "a.txt").blocks
    assert [b.text for b in blocks] == ["We pay.", "You do.", "We pay twice.", "I know."]


def test_what_a_chat_program_writes_is_counted_and_tags_are_no_headings(tmp_path: Path) -> None:
    assert read(tmp_path, "chat.txt", PHONE_CHAT).left_out == {"system messages": 3}
    parts = "# Panel|Speakers: Una Marsh, Per Roe|## Una Marsh|I row.|## Per Roe|I mend it.|## End|Tea.".split("|")
    document = read(tmp_path, "panel.md", "\n\n".join(parts))
    assert [(p.speaker, p.section) for p in cut_document(document)[1:]] == [
        ("Una Marsh", ""),
        ("Per Roe", ""),
        ("", "End"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "Germany: It closed its last reactor.\n\nFrance: It runs 56.\n\nGermany: Prices rose.\n\nNote: of 2024.",
        "Pros: Dense.\n\nCons: Dear.\n\nPros: Few deaths.\n\nCons: Waste.\n\nConclusion: I do not know.",
        "Q: Do you charge?\n\nA: No. I never do.\n\nQ: Who calls you?\n\nA: You do.",
        "Marie Curie\n\nMarie Curie was born.\n\nLise Meitner\n\nLise Meitner was not.\n\nMarie Curie\n\nShe left.",
        "2.10 Methods\n\nWe asked you.\n\n2.11 Results\n\nWe found it.\n\n2.12 Methods\n\nWe stop.",
        "Ferry fares · 2 hours ago\n\nGales on Tuesday · 3 hours ago\n\nFerry fares · 4 hours ago",
        "Warning: hot.\n\nMonday: I rest.\n\nWarning: cold.\n\nItem 4: my bus.\n\nMonday: I rest.",
        "The walk takes 40 minutes.\n\nMs Loy said that it was long. She would know.\n\nMr Roe said that it was not.",
    ],
)
def test_what_only_looks_like_speech_has_no_speaker(text: str) -> None:
    assert {b.speaker for b in text_document(text, "a.txt").blocks} == {""}


def test_a_note_in_a_newsletter_is_the_writers_in_its_heading() -> None:
    first = "NOTE FROM THE HARBOUR MASTER, INES PELL, 3 May 2024\n\nI measured the bar. It is shallow."
    text = f"{first}\n\nFROM THE COMMITTEE\n\nWe have no view. Come on Friday."
    assert [b.speaker for b in text_document(text, "a.txt").blocks] == ["", "Ines Pell", "", ""]


def test_blocks_that_have_a_speaker_stay_and_many_names_take_no_time() -> None:
    mail = [Block("Una: I said so.", speaker="Per"), Block("Una: I did.", speaker="Per")]
    assert with_speakers(mail, Counter()) == mail
    names = [f"{'abcdefghij'[n % 10].upper()}{n % 7919:x}lo Vu{n:x}".replace("0", "o") for n in range(3_000)]
    blocks = with_speakers([Block(f"{name}: I say so to you.") for name in (*names, *names)], Counter())
    assert len(blocks) == 6_000


NEWS = """Ferry fares rise

"My father rows to dialysis," said Ana Vane, who runs the bakery. "They talk about a hub. A hub is on a bicycle."

The trust's chief, Martin Roe-Booth, defended the vote. “We have four nurses in three buildings,” he said. According to
Dr Una Marsh, who works there, the figures left out home visits. She said that nobody had asked her.

The Patients' Association told the Herald that it would sue. It had raised nine thousand, a spokeswoman said.

Not everyone was against it. ‘I waited five weeks,’ one man said. "They should be ashamed."

In Mr Roe's view the hub was dear. "It is dear," counters Per Roe, a pilot.

A bus is planned."""


@pytest.mark.parametrize(
    ("sentence", "speaker"),
    [
        ('"My father rows to dialysis," said Ana Vane, who runs the bakery.', "Ana Vane"),
        ("A hub is on a bicycle.", "Ana Vane"),
        ("“We have four nurses in three buildings,” he said.", "Martin Roe-Booth"),
        ("According to Dr Una Marsh, who works there, the figures left out home visits.", "Dr Una Marsh"),
        ("She said that nobody had asked her.", "Dr Una Marsh"),
        ("it would sue", "The Patients' Association"),
        ("The Patients' Association told the Herald that it would sue.", "The Patients' Association"),
        ("It had raised nine thousand, a spokeswoman said.", UNNAMED),
        ("‘I waited five weeks,’ one man said.", UNNAMED),
        ('"They should be ashamed."', UNNAMED),
        ("Not everyone was against it.", ""),
        ("In Mr Roe's view the hub was dear.", "Mr Roe"),
        ('"It is dear," counters Per Roe, a pilot.', "Per Roe"),
        ("A bus is planned.", ""),
        ("It stands elsewhere.", ""),
    ],
)
def test_prose_tells_who_says_a_sentence(sentence: str, speaker: str) -> None:
    assert reported_speaker(sentence, " ".join(NEWS.split())) == speaker


@pytest.mark.parametrize(
    ("name", "full"),
    [("J. Haye", "Jan de la Haye"), ("Jan De La Haye", "Jan de la Haye"), ("Ann Pell", "Ann Pell"), ("Roe", "Roe")],
)
def test_a_name_is_filled_up_from_a_form_with_the_same_first_names(name: str, full: str) -> None:
    assert fullest_form(name, "Jan de la Haye met Alan Rose Pell, Ida Roe and Eva Roe.") == full


def test_who_has_a_role_is_one_source_under_both_names() -> None:
    speakers = "Cllr Ida Pell", "probably Cllr Ida Pell (the Chair)"
    assert len({Passage(1, "d", "c", "I row.", speaker=speaker).source for speaker in speakers}) == 1


def test_a_message_without_a_title_is_its_authors_word() -> None:
    message = SourceDocument("1", "Mr Roe says that sixty are enough.", author="Una Marsh")
    assert [p.speaker for d in (message, replace(message, title="Tolls")) for p in cut_document(d)] == ["Una Marsh", ""]


def test_an_author_who_also_quotes_is_the_speaker_of_both_parts() -> None:
    reply, own = "Mrs Halloran writes that people trip at the patches.", "We treated 61 people last year."
    passage = f"{reply} Our records say otherwise. {own}"
    assert reported_speaker(reply, passage)
    assert reported_speaker(f"{reply} … {own}", passage) == ""


@pytest.mark.parametrize(
    ("sentence", "who"),
    [
        ("They promised us a library in 1998 as well.", ""),
        ("It could, but the corner adds six minutes on foot to the ride.", ""),
        (
            "But Dr Mira Stam, a GP in the street, said the noise was “worse than the fumes of the lorries”.",
            "Dr Mira Stam",
        ),
        ("The council added that the road would close.", "The council"),
    ],
)
def test_what_adds_and_promises_is_no_speaker_and_a_name_begins_with_no_but(sentence: str, who: str) -> None:
    assert reported_speaker(sentence, sentence) == who


def test_a_promise_in_a_relative_clause_is_not_reported() -> None:
    sentence = "With the second crew that the Trust promises there would be always one vehicle in the valley."
    assert reported_speaker(sentence, f"{sentence} I think so.") == ""
    assert reported_speaker("The Trust promises a second crew.", "The Trust promises a second crew. We wait.")


def test_a_number_is_no_respondent(tmp_path: Path) -> None:
    rows = (
        "id,name,role,comment",
        "1,,Resident,Keep the old stones for ever.",
        "2,Una Roe,Visitor,Lay flat slabs now please.",
    )
    (tmp_path / "s.csv").write_text("\n".join(rows))
    assert [d.author for d in read_file(tmp_path / "s.csv", "s.csv") if isinstance(d, SourceDocument)] == [
        "Resident",
        "Una Roe, Visitor",
    ]


def test_a_pronoun_that_two_people_could_be_leaves_a_doubt() -> None:
    passage = 'Cllr Roe met Dr Vane at the lock with Ms Loy. Boats waited. "I will not pay," he said.'
    assert reported_speaker('"I will not pay," he said.', passage).startswith("probably ")


@pytest.mark.parametrize("sentences", range(6, 12))
def test_a_passage_begins_with_no_quotation_whose_speaker_stands_before_it(sentences: int) -> None:
    quoted = 'Its chief, Martin Roe-Booth, defended it. "We have four nurses," he said. "I cannot staff anger."'
    filler = "The vote was held in the hall on that day. " * sentences
    passages = [p.text for p in cut_document(text_document(f"Clinics\n\n{filler}\n\n{quoted} {filler}", "a.txt"))]
    for quote in ('"We have four nurses," he said.', '"I cannot staff anger."'):
        assert {reported_speaker(quote, p) for p in passages if quote in p} == {"Martin Roe-Booth"}


def test_nobody_wrote_what_several_people_say() -> None:
    text = "Panel\n\nBy Ida Pell\n\n" + "\n\n".join(["UNA MARSH: I row.", "PER ROE: You do.", "UNA MARSH: We do."])
    assert text_document(text, "a.txt").author == ""
    assert text_document("Panel\n\nBy Ida Pell\n\nThey row.", "a.txt").author == "Ida Pell"


@pytest.mark.parametrize(
    ("sentence", "who"),
    [
        ("Lea Valley RC (Ann Pell) answered that it rows.", "Ann Pell"),
        ("Ann Pell (Lea Valley RC) answered that it rows.", "Ann Pell"),
        ("Ida Roe, who has rowed here since 1990, called the toll a disgrace.", "Ida Roe"),
        ("Ida Roe called the police after an accident.", ""),
        ("Head cook Ida Roe, 17, said it was late.", "Ida Roe"),
        ("Mr Ida Roe of Mill Lane said it was late.", "Mr Ida Roe"),
        ("Letters from Ida Roe of Shelter said no.", ""),
        ("According to nurse Ida Roe, it is late.", "Ida Roe"),
        ("According to the Trust's survey, it is late.", "The Trust"),
        ("According to official figures Shelter has, it is late.", ""),
        ("According to the Boat Trust of Hale, St Anne's Lock is late.", "The Boat Trust of Hale"),
        ("According to the council's leader, Una Roe, it is late.", "Una Roe"),
        ("Mr Roe feared that the lock would close.", "Mr Roe"),
        ("Mr Ida Roe, Mill Farm, said it was late.", "Mr Ida Roe"),
        ("Ida Roe accused the guild of “hiding”.", "Ida Roe"),
        ("A baker, who asked for no name, warned that it was late.", UNNAMED),
        ('"It is late," the baker chirped in the long dark hall.', UNNAMED),
        ('"It is late," said Guild chair Ida Roe.', "Ida Roe"),
        ("Not so, says the hire firm.", "The hire firm"),
        ("The vet Ida Roe of Mill Lane told the hall that it was late.", "Ida Roe"),
        ("A baker, who asked for no name, replied that it was late.", UNNAMED),
        ("It costs a lot, the mayor's office estimates, and more later.", "The mayor's office"),
        ("The police have told Ida Roe so, Mr Pell added.", "Mr Pell"),
        ("Ida Roe, a cook, rejected both plans: they come too late.", "Ida Roe"),
        ("For Ida Roe, the plan is “much too late”.", "Ida Roe"),
        ("They did not want less; they asked for more.", ""),
        ('Ida Roe, a cook, was angry: "It is late."', "probably Ida Roe"),
        ("Coach Ida Roe agreed with Ann but added that it was late.", "Coach Ida Roe"),
        ('"I was late," said mother of three Ida Roe.', "Ida Roe"),
        ('The operator says that it is "late".', "The operator"),
        ("Despite what the ministry writes, Ida Roe said it was late.", "Ida Roe"),
        *(
            (f"A lock on this bank cannot hold{clause}.", "")
            for clause in (
                ", whatever the ministry writes",
                ", no matter what the ministry says",
                ", despite what Mr. Pell claims",
                ", contrary to what Cllr Pell argues about mud",
                ", unlike what the ministry has promised",
                ", even if Ida Roe says so",
            )
        ),
        ("The lock is not, as the ministry claims, a bargain.", ""),
        ("Ida in Upper Mill says it is late.", "Ida"),
        ("Inspector Ida Roe of the coast police said that it is late.", "Inspector Ida Roe"),
        ("And Ida from Upper Mill has texted to say that it is late.", "Ida"),
        ("Treasurer of the Mill Club, Ida Roe, opened the lock and said it was late.", "Ida Roe"),
        ("Treasurer of the Mill Club, Ida Roe, welcomed the plan.", "Ida Roe"),
        *(
            (claim, "")
            for claim in ("A fine says that the harm was slight.", "The law warns them.", "She says nothing.")
        ),
    ],
)
def test_who_is_reported(sentence: str, who: str) -> None:
    assert reported_speaker(sentence, sentence) == who


@pytest.mark.parametrize(
    ("sentence", "who"),
    [
        (
            'Ferrow Dockers\' Association argued that nine cranes would stand idle. "We call it dismissal," said its '
            "chairman, Owain Teale.",
            "Ferrow Dockers' Association",
        ),
        (
            "Northgate Nurses’ Union says that the ward has lost six beds, and asks who counts.",
            "Northgate Nurses’ Union",
        ),
        ("Yesterday Pell Street Residents' Group complained that nobody had asked it.", "Pell Street Residents' Group"),
        ("Speaking to farmers' wives in Marsh, Lotte Brandt warned that the levy would grow.", "Lotte Brandt"),
        ("The Marsh Farmers' Guild secretary, Una Marr, argued that the valley would empty.", "Una Marr"),
    ],
)
def test_a_body_of_many_people_is_reported(sentence: str, who: str) -> None:
    assert reported_speaker(sentence, sentence) == who


PORTER = 'Ida Roe told us it is early. A porter who did not want to be named said it is not. "It is late," he said.'
MAIL = 'I have not signed. Mr Roe says that sixty are enough. "Sixty will do," Mr Roe told us.'


@pytest.mark.parametrize(
    ("sentence", "passage", "who"),
    [
        ("We vote no.", 'It was put.\n- Miss Ida Pell, for the fund: "We vote no."', "probably Miss Ida Pell"),
        ("Mr Roe says that sixty are enough.", MAIL, "Mr Roe"),
        ("I have not signed.", MAIL, ""),
        ('"It is late,"', 'Ida Roe said no. "It is late," was the verdict of a baker.', UNNAMED),
        ('"He is late."', 'His sister Ingrid, a cook, is angry. "He is late."', "probably Ingrid"),
        ("He was late, he said.", "The police said no. Cllr Roe called it “a bet”. He was late, he said.", "Cllr Roe"),
        ('"Sixty will do," Mr Roe told us.', MAIL, "Mr Roe"),
        ('"Sixty will do," Mr Roe told us. … Elsewhere.', MAIL, "Mr Roe"),
        ('"It is late," he said.', PORTER, UNNAMED),
        ('Ida Roe told us it is early. … "It is late," he said.', PORTER, UNNAMED),  # two speakers
    ],
)
def test_who_is_reported_in_a_passage(sentence: str, passage: str, who: str) -> None:
    assert reported_speaker(sentence, passage) == who


def test_a_speaker_answers_a_view_of_others() -> None:
    turn = "We are told that it is cheap. It is a gesture."
    assert [reported_speaker(s, turn, spoken=True) for s in (turn, turn.partition(".")[0])] == ["", UNNAMED]


def test_the_number_of_a_question_is_no_name() -> None:
    turns = ["Q41 Chair: Why do you row?", "Ida Roe: I like it.", "Q42 Chair: Do you?", "Ida Roe: I do."]
    bold = [3, 8, 3, 8]
    found = with_speakers([Block(t, bold=n) for t, n in zip(turns, bold, strict=True)], Counter())
    assert [b.speaker for b in found] == ["Chair", "Ida Roe"] * 2


def test_the_lines_of_a_deposition_are_numbered() -> None:
    lines = ["MS ROE: Did you row", "on Friday?", "THE WITNESS: I did not", "row.", "MS ROE: Did you swim?"]
    rows = [f"{i} | {line}" for i, line in enumerate([*lines, "THE WITNESS: I swam."], 1)]
    found = with_speakers([Block("\n".join(rows), "table")], Counter())
    assert [b.text for b in found] == ["Did you row on Friday?", "I did not row.", "Did you swim?", "I swam."]
    table = Block("1 | Boats: two\n2 | Oars: four\n3 | Locks: one", "table")
    assert with_speakers([table], Counter()) == [table]


def test_a_numbered_post_that_quotes_another_has_its_own_writer() -> None:
    posts = ["#1 · ida_6 · 3 Apr 2024, 09:12", "I swim there daily.", "#2 · old_per · 3 Apr 2024, 09:40"]
    texts = [*posts, "I swim there daily.", "You do not.", "#3 · ida_6 · 3 Apr 2024, 09:50", "I do."]
    found = with_speakers([Block(t, "heading" if t[0] == "#" else "paragraph") for t in texts], Counter())
    assert [b.speaker for b in found] == ["ida_6", "ida_6", "old_per", "ida_6"]


@pytest.mark.parametrize(
    "who", ["Guest", "Deleted user", "[deleted]", "Anonymous", "Guest_17", "the mill on our hill road"]
)
@pytest.mark.parametrize(
    "head", ["#{n} {who}\n\nPosted: 3 May 2025, 08:1{n}\n\n", "Post {n} | {who} | 3 May 2025, 08:1{n}\n"]
)
def test_a_post_without_a_writer_s_name_is_nobody_s(head: str, who: str, tmp_path: Path) -> None:
    posts = [
        ("una_b", "I row every day."),
        (who, "You take the ferry."),
        ("Capt. Roe", "We all do."),
        ("una_b", "I see."),
    ]
    text = "Mill Forum > Ferry\n\n" + "\n\n".join(
        head.format(n=n, who=w) + said for n, (w, said) in enumerate(posts, 1)
    )
    blocks = [b for b in read(tmp_path, "a.txt", text).blocks if b.text in [said for _, said in posts]]
    assert [b.speaker for b in blocks] == ["una_b", "", "Capt. Roe", "una_b"]


def test_a_telephone_number_is_nobody(tmp_path: Path) -> None:
    text = "".join(
        f"3/5/25, 7:0{n} PM - {who}: I row on day {n}.\n"
        for n, who in enumerate(("Una", "+44 7700 900123", "Per", "+1 (555) 010-0123", "Una"))
    )
    speakers = [b.speaker for b in read(tmp_path, "a.txt", text).blocks]
    assert speakers == ["Una", "", "Per", "", "Una"]
    assert with_speakers([Block("I row.", speaker="Guest")], Counter(), author="Una Roe")[0].speaker == UNNAMED


def test_the_head_of_a_podcast_names_the_guest(tmp_path: Path) -> None:
    turns = "\n\n".join(f"Q: Who rows on day {n}?\n\nA: I row on day {n}." for n in range(3))
    text = f"The Mill Podcast\n\nGuest: Dr Una Marsh, rower\nInterviewer: Per Roe\n\n{turns}\n"
    assert [b.speaker for b in read(tmp_path, "a.txt", text).blocks[-2:]] == [
        "Per Roe (the Interviewer)",
        "Dr Una Marsh",
    ]


def test_names_of_accounts_alone_above_posts_are_their_writers() -> None:
    posts = [
        "ida_56",
        "I swim there daily.",
        "old_per",
        "You do not.",
        "Moderator Roe",
        "Be kind.",
        "ida_56",
        "I do.",
        "old_per",
    ]
    found = with_speakers([Block(t, bold=0 if t[-1] == "." else len(t)) for t in [*posts, "So you say."]], Counter())
    said = {b.text: b.speaker for b in found}
    assert (said["I swim there daily."], said["You do not."], said["I do."]) == ("ida_56", "old_per", "ida_56")
    assert said["Be kind."] in ("", "Moderator Roe")
    functions = ["get_user", "Returns your user.", "set_user", "You can set it.", "del_user", "See get_user, set_user."]
    assert not any(b.speaker for b in with_speakers([Block(t) for t in functions], Counter()))


def test_people_speak_where_short_sentences_are_in_the_first_person() -> None:
    letters = ["I walk to the mill.", "Our ferry is late.", "The bus stops at six.", "It rained."] * 3
    assert people_speak(letters)
    assert not people_speak(
        [f"{text} And so on, in many more words than anybody would say at a meeting of a parish" for text in letters]
    )
    assert not people_speak(["The US has a tax on meat.", "World War I ended then.", *["Cities grow."] * 9])
    assert not people_speak(letters[:4]), "too few to tell"
    assert not people_speak([])


def test_a_sentence_about_a_reported_person_is_not_theirs() -> None:
    attack = "Mrs Pauling writes that closing costs nothing. She counts visitors and forgets the people who dust."
    assert reported_speaker(attack, attack) == ""
    report = "Mrs Pauling writes that closing costs nothing. She adds that nobody comes on Wednesdays."
    assert reported_speaker(report, report) == "Mrs Pauling"


def test_minutes_that_only_list_those_present_name_people_by_first_name_and_together() -> None:
    text = (
        "Hill Council\n\n3 May 2024. Present: Cllr Ann Lee (chair), Bo Lind, Rob Tuck\n\n"
        "Rob thought that a ban was too much.\n\n"
        "Councillors Lee and Lind said that the ferry was late.\n"
    )
    said = {block.text: block.speaker for block in text_document(text, "a.txt").blocks}
    assert said["Rob thought that a ban was too much."] == "Rob Tuck"
    people = said["Councillors Lee and Lind said that the ferry was late."].split(", ")
    assert [name.split()[-1] for name in people] == ["Lee", "Lind"]


def test_people_with_one_title_and_particles_in_their_names_keep_both() -> None:
    said = "Cllrs Roe and van der Pell were against the plan."
    text = f"Minutes\n\nPresent: Cllr Una Roe, Cllr Idris van der Pell\n\n1. Ferry\n\n{said}\n"
    speakers = {block.text: block.speaker for block in text_document(text, "a.txt").blocks}
    assert speakers[said] == "Cllr Una Roe, Cllr Idris van der Pell"


def test_a_rank_behind_a_name_is_no_other_person() -> None:
    assert fullest_form("Ann Lee, MP", "Ann Lee met Bo Lind MP.") == "Ann Lee, MP"
    assert fullest_form("Cllr Lee, Bo Lind", "Cllr Ann Lee met Bo Lind MP.") == "Cllr Ann Lee, Bo Lind"


def test_a_lead_with_a_colon_names_the_speaker_of_a_quotation_before_the_next_sentence() -> None:
    passage = 'Ann Lee said: "Who would steer for fourteen hours?" The company argues that long shifts are usual.'
    assert reported_speaker('Ann Lee said: "Who would steer for fourteen hours?"', passage) == "Ann Lee"


def speakers_of(folder: Path, text: str) -> list[tuple[str, str]]:
    (folder / "a.md").write_text(text)
    [found] = [each for each in read_file(folder / "a.md", "a.md") if isinstance(each, SourceDocument)]
    return [(block.speaker, block.text) for block in found.blocks if block.form != "heading"]


@pytest.mark.parametrize("paper", ["Harbour School Magazine", "The Lantern"])
def test_a_newspaper_that_asks_by_label_is_the_interviewer(paper: str, tmp_path: Path) -> None:
    turns = [
        (paper, "Una Marsh, you run the kiosk. How is trade?"),
        ("Una Marsh", "I sell less tea than my father did."),
        (paper, "Some traders say that the bridge should close."),
        ("Una Marsh", "My customers walk over it. I would lose them."),
        (paper, "Would you pay a toll?"),
        ("Una Marsh", "Only if it keeps me open."),
    ]
    told = "\n\n".join(f"**{who}:** {said}" for who, said in turns)
    found = speakers_of(tmp_path, f"# Tea and tolls: interview with Una Marsh\n\nInterview, 3 May 2025\n\n{told}\n")
    named = {paper: f"{paper} (the Interviewer)", "Una Marsh": "Una Marsh"}
    assert found[1:] == [(named[who], said) for who, said in turns]


def test_labels_that_recur_beside_a_person_but_do_not_ask_are_no_speakers(tmp_path: Path) -> None:
    told = "**Una Marsh:** I sell tea.\n\n**Background:** We opened in May.\n\n" * 3
    assert {who for who, _ in speakers_of(tmp_path, f"# Tea\n\n{told}")} == {""}


POSTS_WITH_DAYS = (
    ("reed_walker", "3 May 2025", "I cross at six and the gate is shut."),
    ("mudlark", "4 May 2025", "@reed_walker Then take your own boat, the gate keeps my cellar dry."),
    ("old_jo", "5 May 2025", "Gates rust, and nobody paints them."),
)


@pytest.mark.parametrize("form", ["**{who}**, {day}: {said}", "**{who}** ({day}): {said}", "{who}, {day}: {said}"])
def test_a_post_names_its_writer_and_day_before_a_colon(form: str, tmp_path: Path) -> None:
    told = "\n\n".join(form.format(who=who, day=day, said=said) for who, day, said in POSTS_WITH_DAYS)
    found = speakers_of(tmp_path, f"# Forum: the gate\n\nMarsh Forum, thread started 3 May 2025\n\n{told}\n")
    assert found[1:] == [(f"{who} ({day})", said) for who, day, said in POSTS_WITH_DAYS]
    [document] = read_file(tmp_path / "a.md", "a.md")
    assert isinstance(document, SourceDocument)
    assert (document.kind, document.date, document.publisher) == ("forum thread", "2025-05", "Marsh Forum")


def test_posts_without_days_need_a_line_that_calls_the_document_a_thread(tmp_path: Path) -> None:
    told = "\n\n".join(f"**{who}:** {said}" for who, _, said in POSTS_WITH_DAYS)
    found = speakers_of(tmp_path, f"# The gate\n\nMarsh Forum, thread started 3 May 2025\n\n{told}\n")
    assert found[1:] == [(who, said) for who, _, said in POSTS_WITH_DAYS]
    settings = "**max_gates:** You set the number here.\n\n**gate_hours:** We open at six.\n\n**dry_run:** I try it."
    assert {who for who, _ in speakers_of(tmp_path, f"# The gate\n\nSettings\n\n{settings}\n")} == {""}


def test_days_of_a_plan_are_no_posts(tmp_path: Path) -> None:
    plan = "Phase one, 3 May 2025: we dig.\n\nPhase two, 4 May 2025: we build.\n\nPhase three, 5 May 2025: we paint."
    assert {who for who, _ in speakers_of(tmp_path, f"# The gate\n\n{plan}\n")} == {""}


EXPORT = """# Should the allotments ban hosepipes?

**mossgirl** (Tuesday, 18:04)
I carry forty cans an evening.

**Digger Dan** (Tuesday, 18:20)
> I carry forty cans an evening.
Then grow fewer marrows. We all pay for your water.

**peat_pete** (Wednesday, 07:11)
> Digger Dan wrote:
>
> We all pay for your water.

The meter says otherwise.

**mossgirl** (Wednesday, 08:30)

> Nobody has ever read a meter here.

You at least read the bill.
"""
SAID_THERE = [
    ("mossgirl", "I carry forty cans an evening."),
    ("mossgirl", "I carry forty cans an evening."),
    ("Digger Dan", "Then grow fewer marrows. We all pay for your water."),
    ("Digger Dan", "We all pay for your water."),
    ("peat_pete", "The meter says otherwise."),
    (UNNAMED, "Nobody has ever read a meter here."),
    ("mossgirl", "You at least read the bill."),
]


@pytest.mark.parametrize("name", ["a.md", "a.txt"])
@pytest.mark.parametrize("day", ["({})", "– {}"])
def test_names_and_days_without_a_colon_are_above_posts_and_quoted_lines_are_others(
    name: str, day: str, tmp_path: Path
) -> None:
    text = re.sub(r"\(([^()]+)\)", lambda told: day.format(told[1]), EXPORT)
    found = read(tmp_path, name, text if name == "a.md" else text.replace("**", "").replace("# ", "Forum: "))
    assert [(b.speaker, b.text) for b in found.blocks if b.form != "heading"][-len(SAID_THERE) :] == SAID_THERE


def test_brackets_around_a_stamped_name_are_no_part_of_it(tmp_path: Path) -> None:
    posts = "\n\n".join(f"[moss_{who}] 2026-05-0{n} 19:02\nI see it." for n, who in enumerate(("girl", "man"), 3))
    found = read(tmp_path, "a.txt", f"Gate talk - forum export\n\n{posts}\n")
    assert [b.speaker.partition(" (")[0] for b in found.blocks if b.speaker] == ["moss_girl", "moss_man"]


def test_wrote_after_a_stamped_name_is_no_part_of_the_name(tmp_path: Path) -> None:
    posts = "\n\n".join(
        f"[2026-05-0{n} 19:02] {who} wrote:\nI see it, and I do not like it."
        for n, who in enumerate(("moss_girl", "OldJo"), 3)
    )
    found = read(tmp_path, "a.txt", f"Gate talk - forum export\n\n{posts}\n")
    assert [b.speaker.partition(" (")[0] for b in found.blocks if b.speaker] == ["moss_girl", "OldJo"]


def test_a_nickname_keeps_its_case() -> None:
    posts = [
        f"{who}, {n} May 2025: You see it, I do not." for n, who in enumerate(("mossgirl", "OLDJO", "mossgirl"), 3)
    ]
    found = with_speakers([Block("Forum: gates", "heading"), *map(Block, posts), Block("mossgirl Pell")], Counter())
    assert [b.speaker.partition(" (")[0] for b in found][1:4] == ["mossgirl", "OLDJO", "mossgirl"]


@pytest.mark.parametrize(
    "text",
    [
        "**Harbour Walk** (Saturday, 10:00)\nJoin us at the slip. You need boots.\n\n"
        "**Pub Quiz** (Sunday, 20:00)\nWe meet in the bar. Bring your friends.\n",
        "I hate it.\n\nAnn Lee, 3 May 2026\n\nI love it.\n\nBo Lind, 4 May 2026\n\nDo you?\n\nAnn Lee, 5 May 2026",
        "> We are all in the gutter.\n\nI think that is wrong.\n",
    ],
)
def test_events_signatures_and_mottoes_are_no_posts(text: str, tmp_path: Path) -> None:
    assert not {who for who, _ in speakers_of(tmp_path, f"# The gate\n\n{text}")} & {
        "Harbour Walk",
        "Pub Quiz",
        UNNAMED,
    }
    found = speakers_of(tmp_path, f"# The gate\n\n{text}")
    assert not {("Ann Lee", "I love it."), ("Bo Lind", "Do you?")} & set(found)


def test_a_wrapped_quotation_goes_on_without_its_mark(tmp_path: Path) -> None:
    found = speakers_of(tmp_path, "# The gate\n\n> We are all in the\ngutter, I say.\n\nI think so.\n")
    assert [said for _, said in found] == ["We are all in the gutter, I say.", "I think so."]


def test_quotation_marks_within_a_word_take_linear_time() -> None:
    begin = time.perf_counter()
    with_speakers([Block("Pears"), Block("'A" * 20_000), Block("Plums")], Counter())
    assert time.perf_counter() - begin < 5  # quadratic: a minute


def test_a_quoted_line_in_an_exported_thread_is_not_the_poster_s() -> None:
    text = (
        'Hill Chat - export of thread 5 "Ferry?"\n\n[2024-05-03 08:14] una_b: I would rather row than pay for it.\n'
        "[2024-05-03 09:00] per: > I would rather row than pay for it\nYou have two arms and I have one.\n"
        '[2024-05-04 09:20] una_b: "I have one" - then take the bus like me.\n'
        "[2024-05-04 09:30] moe: > Nobody said this here\nWho cares?\n"
    )
    blocks = text_document(text, "a.txt").blocks[1:]
    assert [(b.speaker, b.text.split()[0]) for b in blocks] == [
        ("una_b (2024-05-03)", "I"),
        ("una_b (2024-05-03)", "I"),
        ("per (2024-05-03)", "You"),
        ("una_b (2024-05-04)", '"I'),
        (UNNAMED, "Nobody"),
        ("moe (2024-05-04)", "Who"),
    ]


@pytest.mark.parametrize(
    ("said", "who"),
    [
        ('"The ferry is nothing but a joke for the rich" - so hire one.', ""),
        ('"The ferry is a joke", said Una Roe.', "Una Roe"),
    ],
)
def test_a_post_that_answers_quoted_words_is_its_writer_s(said: str, who: str) -> None:
    assert reported_speaker(said, f"I row. {said}", spoken=True) == who


def test_a_person_who_begins_the_sentence_before_is_surely_she() -> None:
    text = 'Una Roe, who runs the Kelby Inn, fears for her trade. "Rowers are all I have before ten," she said.'
    assert reported_speaker('"Rowers are all I have before ten," she said.', text) == "Una Roe"


def test_who_was_asked_nothing_says_nothing() -> None:
    text = "The company named no ferries when the Mercury asked."
    assert reported_speaker(text, text) == ""


def test_letters_without_a_salutation_on_a_page_of_letters_have_their_writers(tmp_path: Path) -> None:
    letters = "Sir, I row.\n\nUna Marsh, pilot\n\n**Oars**\n\nMadam, I do not row.\n\nPer Roe\n\n**Bread**\n\nI bake."
    (tmp_path / "a.md").write_text(f"# Letters to the editor\n\n{letters}\n\nT. Hale\n")
    [found] = read_file(tmp_path / "a.md", "a.md")
    assert isinstance(found, SourceDocument)
    assert [b.speaker for b in found.blocks if b.text == "I bake."] == ["T. Hale"]


RIOT = """Captain Ola Brandt of the harbour police said that nobody was hurt. "Go home by dusk," he said.

A spokesman for the Kelby Rope and Net Trust said: "The pier is our wall. We close without it." Rain fell.

"Nobody asked us," the spokesman added. A spokeswoman for Marsh Foods said the pier was rotten.

"It has had its day," she said. A police spokesman called it a quiet night."""


@pytest.mark.parametrize(
    ("sentence", "speaker"),
    [
        ("Captain Ola Brandt of the harbour police said that nobody was hurt.", "Captain Ola Brandt"),
        ('"Go home by dusk," he said.', "Captain Ola Brandt"),
        ("We close without it.", "A spokesman for the Kelby Rope and Net Trust"),
        ('"Nobody asked us," the spokesman added.', "A spokesman for the Kelby Rope and Net Trust"),
        ("A spokeswoman for Marsh Foods said the pier was rotten.", "A spokeswoman for Marsh Foods"),
        ('"It has had its day," she said.', "A spokeswoman for Marsh Foods"),
        ("A police spokesman called it a quiet night.", UNNAMED),
    ],
)
def test_an_officer_of_a_body_and_its_spokespeople_are_the_speakers(sentence: str, speaker: str) -> None:
    assert reported_speaker(sentence, RIOT) == speaker


SIGNATURES = {  # below a letter: its writer
    "K. Bright (Mrs)": "K. Bright",
    "Peter Quill, Upper Down": "Peter Quill",
    "Dr Owen Leigh\nOrthopaedic surgeon, Valley Hospital": "Dr Owen Leigh",
    "Edith Marlowe\nChurch Row": "Edith Marlowe",
    "Yours etc.,\nTom Pike via email": "Tom Pike",
    "J.R.T.\nLow Quay": "probably J.R.T.",
    "Hill Bowls Club": "probably Hill Bowls Club",
    "Dr Ada Fenn FRCS, Quay Surgery": "Dr Ada Fenn FRCS",
    "Save our lock\n\nUna Marsh": "Una Marsh",
    "A nurse (name and address supplied)": "",
    "": "",
}
LETTER_PAGES = [  # name, title and opening of a letter
    ("a.md", "**{}**", "SIR – "),
    ("a.md", "**{}**", ""),
    ("a.txt", "{}", "To the editor:\n\n"),
    ("a.html", "<b>{}</b>", "Dear Editor,\n\n"),
    ("a.html", "<h2>{}</h2>", ""),
]


@pytest.mark.parametrize(("page", "title", "opening"), LETTER_PAGES)
@pytest.mark.parametrize("signature", SIGNATURES)
def test_a_letter_has_the_writer_below_it_and_not_the_next_title(
    signature: str, page: str, title: str, opening: str, tmp_path: Path
) -> None:
    first = f"{title.format('The lock')}\n\n{opening}I row to work."
    text = f"{first}\n\n{signature}\n\n{title.format('False economy')}\n\n{opening}I do not.\n\nPer Roe\n"
    if page == "a.html":
        text = "".join(f"<p>{part}</p>".replace("\n", "<br>") for part in text.strip().split("\n\n"))
    heading = {"a.md": "# Letters\n\n", "a.txt": "Letters\n\n", "a.html": "<h1>Letters</h1>"}[page]
    said = {b.text.removeprefix("SIR – "): b.speaker for b in read(tmp_path, page, heading + text).blocks}
    assert (said["I row to work."], said["I do not."]) == (SIGNATURES[signature], "Per Roe")


@pytest.mark.parametrize(
    "text",
    [
        "# Letters\n\n**Una Marsh, Hill**\n\nI row to work.\n\n**Per Roe, Quay**\n\nI sleep at home.",
        "Letters\n\nUna Marsh, Hill\n\nI row to work.\n\nPer Roe, Quay\n\nI sleep at home.",
        "# Readers' letters show anger\n\nThe toll rose.\n\n**Una Roe**\n\nShe rows to work.",
        "# News\n\nDear Sir or Madam, we row.\n\n**Ada Marr**\n\nAda rows no more.\n",
        "# To the board\n\nDear Sir,\n\nWe are nine villages.\n\n**What We Saw**\n\nThe river is brown.",
    ],
)
def test_names_and_titles_above_texts_sign_no_letter(text: str, tmp_path: Path) -> None:
    wrong = {("I row to work.", "Per Roe"), ("The toll rose.", "Una Roe"), ("we row.", "Ada Marr")}
    document = read(tmp_path, "a.txt" if text.startswith("Letters") else "a.md", text)
    assert not wrong & {(b.text, b.speaker) for b in document.blocks}
    assert not any(b.speaker.startswith("probably") for b in document.blocks)


def test_a_name_in_capitals_below_a_letter_is_no_heading(tmp_path: Path) -> None:
    letters = "Permits\n\nSIR – I row.\n\nCOLIN MARSH\n\nA tax\n\nSIR – I do not.\n\nGRACE FIELD\n"
    blocks = read(tmp_path, "a.txt", f"YOUR LETTERS\n\n{letters}").blocks
    assert [(b.form, b.speaker) for b in blocks if b.text == "COLIN MARSH"] == [("paragraph", "Colin Marsh")]
    assert [b.speaker for b in blocks if b.text in ("I row.", "I do not.")] == ["Colin Marsh", "probably Grace Field"]


def said_by_whom(folder: Path, name: str, text: str) -> dict[str, str]:
    return {b.text.strip('"'): b.speaker for b in read(folder, name, text).blocks}


def test_each_paragraph_of_a_long_quotation_has_its_speaker(tmp_path: Path) -> None:
    said = '\n\n"The gate is shut.\n\n"It stays so."\n\nThe bus runs.\n\nBo Lind added: "It rains.\n\n"It will stop."'
    found = said_by_whom(tmp_path, "a.txt", f"The gate\n\nUna Roe, head of routes at Hill Rail, said:{said}")
    assert [found[text] for text in ("The gate is shut.", "It stays so.", "The bus runs.")] == [
        "Una Roe",
        "Una Roe",
        "",
    ]
    assert found["It will stop."] == "Bo Lind"


def test_a_participants_code_below_a_quotation_is_its_speaker_and_the_authors_keep_the_rest(tmp_path: Path) -> None:
    long = "We asked nine rowers about the gate, and we found that most of them would rather row than wait for it. " * 3
    text = (
        f"# Gates\n\nBy Una Roe and Bo Lind\n\n{long}\n\nOne said:\n\n> I was tired. (P14)\n\nTwo:\n\n> I slept. (P2)"
    )
    document = read(tmp_path, "a.md", text + f"\n\n{long}")
    assert document.author == "Una Roe, Bo Lind"
    assert [b.speaker for b in document.blocks if b.quoted] == ["P14", "P2"]


def test_a_section_of_a_newsletter_has_its_own_writer(tmp_path: Path) -> None:
    text = (
        "# Hill News\n\nEditor: Una Roe\n\n## From the desk\n\nI row to work.\n\nI sleep.\n\n– U.R.\n\n"
        "## Diary\n\nTea.\n\n"
        "## The address\n\nWe print the words of our president, Bo Lind.\n\nFriends, I row.\n\nIt rains.\n\n"
        "## Subs\n\nPay us."
    )
    found = said_by_whom(tmp_path, "a.md", text)
    assert found["I sleep."].startswith("Una Roe")
    assert {found["Tea."], found["Pay us."]} == {""}
    assert (found["Friends, I row."], found["It rains."]) == ("Bo Lind", "probably Bo Lind")


def test_a_title_that_begins_with_a_verb_names_nobody() -> None:
    text = "PetitionBay\n\nKeep Mill Lane Open\n\nWe need it. Sign!\n\nPetitionBay\n\nI agree. You should too."
    assert "Keep Mill Lane Open" not in {b.speaker for b in text_document(text, "a.txt").blocks}
