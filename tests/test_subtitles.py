"""Subtitles and transcripts with times: cues become the turns of their speakers, and what nobody says is left out."""

import time
from pathlib import Path

import pytest
from office_files import one

from tools.documents.readers import read_file


def srt(*cues: str, seconds: int = 4) -> str:
    """SubRip of these cues."""
    starts = [
        (f"{n * seconds // 3600:02}:{n * seconds // 60 % 60:02}:{n * seconds % 60:02}", cue)
        for n, cue in enumerate(cues)
    ]
    return "".join(f"{n}\n{at},000 --> {at},900\n{cue}\n\n" for n, (at, cue) in enumerate(starts, start=1))


def said(path: Path, text: str | bytes, name: str) -> list[str]:
    """'Speaker: words' of each block."""
    file = path / name
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return [f"{block.speaker}: {block.text}" for block in one(file).blocks]


VOICES = """WEBVTT - The weir

STYLE
::cue { color: red }

NOTE checked
twice

f1-1
00:01.000 --> 00:04.000 line:10%
<v Ann Lee>The weir &amp; the <i>mill</i>

f1-2
00:04.000 --> 00:06.000
<v Ann Lee>should stay.
<v.loud Ben>They should not!

00:00:06,000 --> 00:00:08,000
Both are old.
"""


@pytest.mark.parametrize("name", ["a.vtt", "a.txt"])
def test_voices_without_notes_names_of_cues_and_styles(tmp_path: Path, name: str) -> None:
    told = ["Ann Lee: The weir & the mill should stay.", "Ben: They should not!", ": Both are old."]
    assert said(tmp_path, VOICES, name) == told


@pytest.mark.parametrize(
    ("cues", "expected"),
    [
        # A tag holds until the next one, but what a later cue begins may be another's.
        (
            "MARTHA: Where|is he?|I do not know.|MARTHA: Find him.|- Why?\n- So.|TOM: No.|TOM: Yes.",
            "Martha: Where is he?|probably Martha: I do not know.|Martha: Find him.|probably Martha: Why?"
            "|probably Martha: So.|Tom: No.|Tom: Yes.",
        ),
        ("I see|Listen: I know.", ": I see|: Listen: I know."),
        # Marking and empty lines are inside of cues; a number may be text.
        ('{\\an8}<font color="red">In</font>\n\n2024|5 < 6 and 7 > 6.', ": In 2024 5 < 6 and 7 > 6."),
        # Captions that roll show each line twice.
        ("Fish|Fish\npass it|pass it\nnow.|now.\nNo.", ": Fish pass it now.|: No."),
    ],
)
def test_turns(tmp_path: Path, cues: str, expected: str) -> None:
    assert said(tmp_path, srt(*cues.split("|")), "a.srt") == expected.split("|")


@pytest.mark.parametrize(
    "text",
    [
        srt("Fish pass", "it now.").replace("\n\n", "\n"),
        srt("Fish pass", "it now.").replace("\n", "\r\n").encode("utf-16"),
        srt("Fish pass", "it now.").replace("1\n", "").replace("2\n", ""),
        "0:01\nFish\n0:04\npass\n1:00:06\nit now.",
        "[00:00] Fish\n[00:04] pass\n[00:06] it now.",
        "00:01 --> 00:02\nFish pass it now.",
        "[00:00.000 --> 00:04.000]  Fish pass\n[00:04.000 --> 00:08.000]  it now.",
    ],
)
def test_times_of_other_programs(tmp_path: Path, text: str | bytes) -> None:
    assert said(tmp_path, text, "a.txt")[0] == ": Fish pass it now." or "1:00:06" in str(text)
    assert " ".join(b.text for b in one(tmp_path / "a.txt").blocks if b.form != "heading") == "Fish pass it now."


@pytest.mark.parametrize(
    "text",
    [
        "Open day\n\n9:00\nCoffee\n9:30\nTalk\n10:00\nWalk",
        "09:00 Coffee\n09:30 Talk\n10:00 Walk",
        "Notes\nwe made\nof it:\n\n0:00 In\n2:30 Out\n3:10 End\n\nThanks.\nBye.",
    ],
)
def test_other_texts_with_times_stay(tmp_path: Path, text: str) -> None:
    assert [word for block in said(tmp_path, text, "a.txt") for word in block[2:].split()] == text.split()


def test_large_and_hostile_ones_take_little_time(tmp_path: Path) -> None:
    started = time.process_time()
    head = "WEBVTT\n\n00:01.000 --> 00:02.000\n"
    for number, text in enumerate(
        ["<v " * 90_000 + "[" * 90_000, "a\n\n" * 90_000, "00:01.000 --> " * 50_000, "a: " * 90_000]
    ):
        (tmp_path / f"{number}.vtt").write_text(head + text)
        list(read_file(tmp_path / f"{number}.vtt", "a.vtt"))
    assert time.process_time() - started < 10
