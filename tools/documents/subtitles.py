"""Parses subtitles (WebVTT, SubRip, YouTube transcripts), also in text files, into their speakers' turns."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from html import unescape
from itertools import pairwise

from tools.documents.document import document_of_blocks, file_title
from tools.passages import PROBABLY, Block, SourceDocument

_TIME = r"((?:\d{1,3}:)?\d\d?):\d\d"  # the group holds hours and minutes
# A cue's times, and the cue's name above the times: a number, or any line after an empty line.
_CUE = re.compile(rf"(?:(?<=\n\n).{{1,200}}\n|^ *\d+\n)?^[ \[]*{_TIME}[.,\d]* *--> *\d[\d:.,]+(?:\]|.*)", re.MULTILINE)
_STAMP = re.compile(rf"^\W?{_TIME}[\])]?(?! *-->)\s+", re.MULTILINE)
_CAPTION = re.compile(rf"^\[([^\[\]\n]{{1,60}})\] {_TIME}$", re.MULTILINE)  # as Zoom saves them
_NOT_SHOWN = re.compile(r"(?<=\n\n)(?=(?:NOTE|STYLE|REGION)\s)(?:(?!.*-->).+\n?)+")
_VOICE = re.compile(r"<v(?:\.[^\s<>]{1,40})*\s([^<>\n]{1,100})>\s*")
_TAG = re.compile(r"<[/\w][^<>\n]{0,200}>|\{\\[^{}\n]{0,200}\}")
_NO_SPEECH = re.compile(
    r"^[♪# -]*[\[(][^\[\]()]{1,80}[\])][♪# .-]*$|\[(?:music|applause)\]"
    r"|\A(?:subtitle|caption)[^\n]{0,40} by [^\n]{0,80}\Z",
    re.IGNORECASE | re.MULTILINE,
)
# Groups: the line's voice (the speaker's name); a dash or arrows, which mark a new speaker; the words.
_TURN = re.compile(r"(?:(.*)\t)?\s*(>{2,3}|[-–—](?=\s|[A-Z\"“‘]))?\s*(.*)")
_TAGGED = re.compile(r"[^:?!]{1,60}:\s")  # `tools.documents.speakers` decides which marks are names
_ENDED = re.compile(r"[.?!…][\"'”’)\]]*$")
_SECTION_MINUTES = 5  # minutes between headings with the time

_SpokenLine = tuple[int, bool, str, str, str]  # section, whether the line is its cue's first, groups of `_TURN`


def subtitles_document(text: str, name: str, left_out: Mapping[str, int]) -> SourceDocument | None:
    """Returns the document of a text with subtitles; None for any other text."""
    text = text.strip()
    if re.match(r"\W?0?0:0", text) and 4 * len(_STAMP.findall(text)) > text.count("\n"):
        text = _STAMP.sub(r"\1:00 --> 0:00\n", text)
    if _CAPTION.match(text) and len(_CAPTION.findall(text)) > 1:
        text = _CAPTION.sub(r"\2:00 --> 0:00\n<v \1>", text)
    if not (text.startswith("WEBVTT") or _CUE.match(text)):
        return None
    head, *cues = _CUE.split(_NOT_SHOWN.sub("", "\n".join(map(str.rstrip, text.split("\n")))))
    cues = ["0", re.sub(r"\AWEBVTT.*\n(?:.+\n)*", "", head), *cues]
    counts = Counter(left_out)
    shown = [[], *(_cue_lines(raw, counts) for raw in cues[1::2])]
    rolls = 3 * sum(not {*new}.isdisjoint(before) for before, new in pairwise(shown)) > len(shown)
    lines = list[_SpokenLine]()
    for time, (before, new) in zip(cues[::2], pairwise(shown), strict=True):
        hours, minutes = f"0:{time}".split(":")[-2:]
        section = (60 * int(hours) + int(minutes)) // _SECTION_MINUTES
        said = [line for line in new if not (rolls and line in before)]  # rolling captions repeat the last lines
        lines += [(section, not n, *_TURN.findall(line)[0]) for n, line in enumerate(said)]
    blocks = list(_turn_blocks(lines))
    made = document_of_blocks(name, blocks, {"title": file_title(name)}, counts)
    untagged = {block.text for block in blocks if not (block.speaker or _TAGGED.match(block.text))}
    for i, block in enumerate(found := list(made.blocks)):
        if block.text in untagged and block.speaker:  # a guessed speaker
            found[i] = replace(block, speaker=PROBABLY + block.speaker.removeprefix(PROBABLY))
    return replace(made, blocks=tuple(found))


def _cue_lines(raw: str, counts: Counter[str]) -> list[str]:
    """Returns the spoken lines of a cue, each after its voice and a tab."""
    text = unescape(_TAG.sub("", _VOICE.sub("\n\\1\t", raw.replace("\t", " ")))).strip()
    text, sounds = _NO_SPEECH.subn("", text)
    counts["sounds and credits"] += sounds
    return [line.strip() for line in text.split("\n") if any(map(str.isalnum, line.rpartition("\t")[2]))]


def _turn_blocks(lines: Sequence[_SpokenLine]) -> Iterator[Block]:
    """Yields a block for each turn, else for each sentence. Long recordings get headings with the time."""
    speaker, below, turn = "", 0, list[str]()
    for section, first, voice, mark, text in lines:
        ended = not turn or _ENDED.search(turn[-1])
        before, speaker = speaker, voice or ("" if mark or first else speaker)
        if turn and (mark or speaker != before or _TAGGED.match(text) or (first and ended) or section - below > 1):
            yield Block(" ".join(turn), speaker=before)
            turn = []
        if not turn and section > below:
            yield Block(str(timedelta(minutes=_SECTION_MINUTES * section)), "heading", 1)
            below = section
        turn.append(text)
    yield Block(" ".join(turn), speaker=speaker)
