"""Reads subtitles and transcripts with times (WebVTT, SubRip, what YouTube shows): the turns of their speakers."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from html import unescape

from tools.documents.document import document_of_blocks, title_of
from tools.passages import PROBABLY, Block, SourceDocument

_TIME = r"((?:\d{1,3}:)?\d\d?:\d\d?)[.,](\d{1,3})"
# The times of a cue, and what names it in the line above: a number, or anything below an empty line.
_CUE = re.compile(rf"(?:(?<=\n\n)[^\n]{{1,200}}\n|^ *\d+ *\n)?^[ \[]*{_TIME} *--> *{_TIME}(?:\]|[^\n]*)", re.MULTILINE)
_STAMP = re.compile(r"^[\[(]?((?:\d\d?:)?[0-5]?\d:[0-5]\d)(?:[.,]\d{1,3})?(?:[\])]|(?=[ \t]|$))", re.MULTILINE)
_GAP = re.compile(r"\n\n(?!\d[\d:.]* -->|(?:NOTE|STYLE|REGION)\b)")  # inside a cue
_VOICE = re.compile(r"<v(?:\.[^\s<>]{1,40})*\s([^<>\n]{1,100})>\s*")
_TAG = re.compile(r"<[/\w][^<>\n]{0,200}>|\{\\[^{}\n]{0,200}\}")
_NO_SPEECH = re.compile(
    r"^[^\w\n\[(]{0,9}(?:[^\W\d][\w .]{0,40}: {0,3})?[\[(][^\[\]()]{1,80}[\])][^\w\n\[(]{0,9}$|\[(?:music|applause)\]"
    r"|\A(?:subtitle[sd]|caption(?:s|ed)|transcribed|synced)\b[^\n]{0,40}\bby\b[^\n]{0,80}\Z",
    re.IGNORECASE | re.MULTILINE,
)
# The voice that a line is marked with, a dash or arrows for another speaker, and what may be a name.
_TURN = re.compile(
    r"^(?:([^\t]*)\t)?\s*(>{2,3}|[-–—](?=\s|[A-Z\"“‘]))?\s*(?:\[?([^\W\d_][^:<>\[\]\"“”?!\n]{0,60}?)\]?\s?:\s+(?=\S))?"
)
_ENDED = re.compile(r"[.?!…][\"'”’)\]]*$")
_SMALL = frozenset("de der du la of the van von".split())  # words of a name
_SECTION, _ROWS, _NEARLY = 300, 4, 0.9  # seconds below one heading; lines that a cue shows again; of all cues


def subtitles_document(text: str, name: str, left_out: Mapping[str, int]) -> SourceDocument | None:
    """The document that subtitles make; None for any other text."""
    if not (text := text.strip()).startswith("WEBVTT"):
        if not _CUE.match(text):
            shown = [line for line in text.split("\n") if line.strip()]
            times = [line for line in shown if _STAMP.match(line)]
            alone = sum(bool(_STAMP.fullmatch(line)) for line in times)
            if len(times) < 3 or times[0].lstrip("([")[0] != "0" or max(4 * alone, 1.25 * len(times)) < len(shown):
                return None
            text = _STAMP.sub(r"\n\1.0 --> \1.0\n", text)
        text = f"WEBVTT\n\n0:00.0 --> 0:00.0\n{text}"
    from webvtt import WebVTT

    text, cues = _CUE.subn(r"\n\1.\2 --> \3.\4\n", text)
    read = WebVTT.from_string(_GAP.sub("\n", re.sub(r"\n[ \t\n]*\n", "\n\n", text)))
    counts = Counter(left_out) + Counter({"cues that could not be read": cues - len(read.captions)})
    lines = _lines([(caption.start_in_seconds, caption.raw_text) for caption in read.captions], counts)
    title = read.header_text.removeprefix("- ") if read.header_text.startswith("- ") else title_of(name)
    return document_of_blocks(name, _blocks(lines), {"title": title}, counts)


def _lines(cues: Sequence[tuple[int, str]], counts: Counter[str]) -> list[tuple[int, bool, str]]:
    """The lines of speech: when each is shown, whether it begins its cue, and its text, a voice and a tab before it.

    Where captions roll, a cue shows lines of the one before; they are said once.
    """
    said, new = list[tuple[int, list[str], int]](), list[str]()
    for start, raw in cues:
        text = unescape(_TAG.sub("", _VOICE.sub("\n\\1\t", raw.replace("\t", " "))))
        text, sounds = _NO_SPEECH.subn("", text)
        counts["sounds and credits"] += sounds
        before, new = new, [s.strip() for s in text.split("\n") if any(map(str.isalnum, s.rpartition("\t")[2]))]
        said.append((start, new, next((n for n in range(_ROWS, 0, -1) if new and before[-n:] == new[:n]), 0)))
    rolls = 3 * sum(known > 0 for *_, known in said) > len(said)
    return [(at, not n, line) for at, new, known in said for n, line in enumerate(new[known if rolls else 0 :])]


def _blocks(lines: Sequence[tuple[int, bool, str]]) -> Iterator[Block]:
    """A block a turn, in a long recording below headings that tell the time.

    A tag holds until the next one. Where others speak without any, what a later cue begins is probably its speaker's.
    """
    split = [(_TURN.split(line, maxsplit=1)[1:], start, first) for start, first, line in lines]
    names = _names([(first, mark or "", name or "", text) for (_, mark, name, text), _, first in split])
    turns, unnamed = list[tuple[str, bool, int, list[str]]](), False  # speaker, by an earlier tag, start, lines
    for (voice, mark, name, text), start, first in split:
        speaker, held, since, said = turns[-1] if turns else ("", True, 0, [])
        ended = not said or _ENDED.search(said[-1])
        tag = voice or (name if name in names else "")
        who, later = (tag, False) if tag or mark else (speaker, held or bool(first and ended and speaker))
        late = first and start // _SECTION - since // _SECTION > (not ended)
        if not turns or mark or late or (who, later) != (speaker, held):
            turns.append((who, later, start, []))
            unnamed |= bool(voice or (not who and (mark or "")[:1] != ">"))
        turns[-1][3].append(f"{name}: {text}" if name and name not in names else text)
    section = 0
    for who, later, start, said in turns:
        if start // _SECTION > section:
            yield Block(str(timedelta(seconds=start)), "heading", 1)
        section = start // _SECTION
        shown = who.title() if who.isupper() and len(who) > 2 else who
        yield Block(" ".join(said), speaker=f"{PROBABLY}{shown}" if who and later and unnamed else shown)


def _names(lines: Sequence[tuple[bool, str, str, str]]) -> set[str]:
    """What stands before a colon and is a name: by its capitals and how often it does, or as each cue begins so."""
    begun = [name for first, _, name, _ in lines if first]
    tagged = sum(map(bool, begun)) > _NEARLY * len(begun)
    loud = 2 * sum(text.isupper() for *_, text in lines) > len(lines)
    people = [(m, n) for _, m, n, _ in lines if n and all(w in _SMALL or not w[0].islower() for w in n.split())]
    often = Counter(name for _, name in people)
    found = {n for m, n in people if often[n] > 1 or (not loud and (m or " " in n or n.isupper()))}
    return (found | {*begun} if tagged else found) - {""}
