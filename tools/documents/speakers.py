"""Finds by whom each block of a document is said: minutes, hearings, interviews, plays, letters pages, chats, threads.

The conventions that it goes by are in `tools/language/conventions.toml`.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise, zip_longest
from typing import NamedTuple

from tools.language.names import Names, from_title, is_entitled, is_handle, is_named, is_person, ordinary_case, pattern
from tools.language.sentences import split_sentences
from tools.language.speech import reporter
from tools.passages import PROBABLY, Block

_SHORT = 140  # characters of a block that may hold a name and a time only
_SEARCHED, _MOST_NAMES = 400_000, 200  # characters and names of a document that are compared
_FARTHEST = 3  # blocks that a turn goes on for without a sign of speech
_HEADERS = ("posted", "quoted", "line", "alone")
_STAMPED = ("message", "timed", "line")  # with a time


class _Turn(NamedTuple):
    """A block that names who speaks: the label as it stands there, the words behind it, and by which convention."""

    who: str
    said: str
    kind: str


def with_speakers(blocks: Sequence[Block], left_out: Counter[str]) -> list[Block]:
    """The blocks, each with its speaker where the document tells one from another; tags and times are taken off.

    Blocks that have a speaker stay as they are. What a chat's program writes is left out and counted.
    """
    blocks = [part for block in blocks for part in _table_turns(block)]
    turns = [_turn(block, after) for block, after in zip_longest(blocks, blocks[1:])]
    for i, (turn, after) in enumerate(pairwise(turns)):
        if turn and after and turn.kind == after.kind == "alone":  # a list of names
            turns[i] = None
    sure, names = _sure(blocks, turns), Names(b.text for b in blocks)
    if sure:
        turns = [turn if turn and (turn.kind, turn.who) in sure else None for turn in turns]
        blocks = list(_Speech(turns, names, left_out).spoken(blocks))
    blocks = _lettered(list(_interviewed(blocks, names)))
    minutes = any(pattern("MINUTES").search(b.text) for b in blocks[:12] if len(b.text) < 200)
    return list(_minuted(blocks, names)) if minutes else blocks


def _table_turns(block: Block) -> Iterator[Block]:
    """The rows of a table that is a transcript, each as what its speaker says; any other block as it is."""
    rows = [row.split(" | ") for row in block.text.split("\n")] if block.form == "table" else [[]]
    who = next((i for i, cell in enumerate(rows[0]) if pattern("SPEAKERS").fullmatch(cell)), -1)
    said = next((i for i, cell in enumerate(rows[0]) if pattern("SPEECHES").fullmatch(cell)), -1)
    if min(who, said) < 0 or any(len(row) != len(rows[0]) for row in rows):
        yield block
        return
    yield from (replace(block, text=row[said], form="paragraph", speaker=row[who]) for row in rows[1:] if row[said])


def _turn(block: Block, after: Block | None) -> _Turn | None:
    text, lead = block.text, block.text[: block.bold].rstrip()
    short = len(text) <= _SHORT and not pattern("STAMP").fullmatch(text)
    if block.speaker or block.form in ("table", "caption", "note"):
        return None
    if short and after and pattern("STAMP").fullmatch(after.text):
        who = _label(pattern("SAYS").sub("", text))
        return _Turn(who, "", "line") if is_handle(who) else None
    if 0 < block.bold < len(text) and (lead[-1:] in (".", ":") or text[block.bold] == ":"):
        who = re.sub(r"(?<!\b\w)\.$|:$", "", re.sub(r" \([^()]*\)", "", lead).split(",")[0])
        return _Turn(_label(who), text[block.bold :].lstrip(".: "), "lead")
    for kind in ("signed", "message", "timed", *(_HEADERS if short else ()), "tag"):
        if (found := pattern(kind).fullmatch(text)) and (kind in _HEADERS or block.form != "heading"):
            told = found.groupdict(default="")
            who = told["who"] or told.get("nick", "")
            who = who.strip(" ~") if kind == "message" else _label(who)
            said = told.get("said") or told.get("spoken", "")
            if kind == "tag" and is_person(told.get("more", "")) and not is_person(who):
                who = told["more"]
            who = {"I": "Q", "R": "A"}.get(who, who)  # interviewer and respondent
            explains = (name := pattern("NAME_ALONE").fullmatch(said)) and is_person(name["who"])
            odd = explains if kind == "tag" else kind == "quoted" and from_title(who) != who
            if _FITS.get(kind, bool)(who) and not odd:
                return _Turn(who, said, kind)
    return None


def _label(who: str) -> str:
    """The name in a label, without what stands around it: signs, roles, times, the number of somebody's posts."""
    label = pattern("AFTER_LABEL").sub("", pattern("MEMBER").sub("", who).strip(" ~@*#[]<>•·–-|,\u200e"))
    first = label.split(",")[0]
    return first if is_person(first) else label


_FITS = {"signed": is_person, "posted": is_handle, "quoted": is_handle, "line": is_handle, "alone": is_named}
# What turns of a convention prove that they are: how many there are at least, whether more than one name stands there
# and one of them again, and the share of them that speaks as people do.
_PROOF = {
    "message": (2, False, 0.0),
    "line": (2, False, 0.3),
    "posted": (2, False, 0.3),
    "timed": (3, True, 0.0),
    "tag": (3, True, 0.2),
    "alone": (2, True, 0.5),
    "lead": (2, True, 0.4),
}


def _sure(blocks: Sequence[Block], turns: Sequence[_Turn | None]) -> set[tuple[str, str]]:
    """The labels that are surely speakers, each with its convention."""
    counts = Counter((turn.kind, turn.who) for turn in turns if turn)
    found = {key for key in counts if key[0] in ("quoted", "signed")}
    for kind, (least, repeated, share) in _PROOF.items():
        labels = {who: n for (k, who), n in counts.items() if k == kind and _is_label(who, kind, n)}
        spoken = [
            turn.said or " ".join(b.text for b in blocks[i + 1 : i + (3 if kind == "line" else 2)])
            for i, turn in enumerate(turns)
            if turn and turn.kind == kind and turn.who in labels
        ]
        again = len(labels) > 1 and (max(labels.values()) > 1 or (kind == "lead" and all(map(is_entitled, labels))))
        listed = False
        if kind in ("line", "alone") and 1 < len(labels) < _MOST_NAMES:
            text = "\n".join(b.text for b in blocks)[:_SEARCHED]
            listed = all(text.count(who) > n for who, n in labels.items())
            again = (again or listed) and not any(words.startswith(tuple(labels)) for words in spoken)
        own = [words for words in spoken if kind != "alone" or not re.search('[“"]', words)]  # no news about a person
        personal = sum(bool(pattern("OF_SELF" if kind == "alone" else "OF_US").search(words)) for words in own)
        spoke = personal >= share * len(spoken) or (kind == "line" and listed)
        proved = len(spoken) >= least and (again or not repeated) and spoke
        if proved or (kind == "posted" and any(k == "line" for k, _ in found)):
            found |= {(kind, who) for who in labels}
    return found


def _is_label(who: str, kind: str, count: int) -> bool:
    recurs = who.isupper() and (count > 1 or who[:4] == "THE ")
    named = kind == "timed" or is_named(who) or recurs or (kind == "lead" and is_person(who))
    single = kind == "alone" and not (is_entitled(who) or who.isupper())
    return kind in ("message", "line", "posted") or (named and not single and not pattern("NO_SPEAKER").fullmatch(who))


class _Speech:
    """Follows the turns of a document through its blocks."""

    def __init__(self, turns: Sequence[_Turn | None], names: Names, left_out: Counter[str]) -> None:
        self._turns, self._names, self._left_out = turns, names, left_out
        self._last = max((i for i, turn in enumerate(turns) if turn), default=-1)
        self._stamped = any(turn.kind in _STAMPED for turn in turns if turn)
        self._who = self._kind = self._quoting = ""
        self._silent, self._far = True, 0  # nothing of the turn has been said yet; blocks since somebody surely spoke
        self._sides = {"Q": "", "A": ""}  # who examines and who is examined

    def spoken(self, blocks: Sequence[Block]) -> Iterator[Block]:
        """The blocks with their speakers, without what only names them."""
        examined = any(turn.kind in ("tag", "alone") for turn in self._turns if turn)
        for i, (block, turn) in enumerate(zip(blocks, self._turns, strict=True)):
            if examined and len(block.text) < _SHORT:
                self._note_sides(block.text)
            if turn and self._sides.get(turn.who, turn.who):
                yield from self._begin(block, turn)
            elif turn:
                self._who = ""
                yield block
            elif not (self._stamped and self._is_system(block.text)):
                yield self._go_on(block, i < self._last)

    def _note_sides(self, text: str) -> None:
        witness = pattern("WITNESS").fullmatch(text) or pattern("INTERVIEW").search(text)
        for side, found in (("Q", pattern("EXAMINER").fullmatch(text)), ("A", witness)):
            if found:
                self._sides[side] = self._names.full(found["who"])

    def _begin(self, block: Block, turn: _Turn) -> Iterator[Block]:
        named = self._sides.get("A" if turn.who.upper() == "THE WITNESS" else turn.who)
        self._quoting = self._who if turn.kind == "quoted" else ""
        self._who = named or (turn.who if turn.kind in ("message", "line", "posted") else self._names.full(turn.who))
        self._kind, self._silent = turn.kind, not turn.said
        text = pattern("EDITED").sub("", turn.said)
        if turn.said and (turn.said[0] == "\u200e" or pattern("SYSTEM").fullmatch(text or "(edited)")):
            self._left_out["system messages"] += 1
        elif turn.said:
            form = "paragraph" if block.form == "heading" else block.form
            yield replace(block, text=text, speaker=self._who, form=form, level=0, bold=0)

    def _is_system(self, text: str) -> bool:
        """Whether a block is a time, which is dropped, or what a chat's program writes, which is counted too."""
        stamp = pattern("STAMP").fullmatch(text)
        system = pattern("SYSTEM").fullmatch(text) or pattern("SYSTEM_LINE").fullmatch(text)
        self._left_out["system messages"] += bool(system and not stamp)
        return bool(stamp or system)

    def _go_on(self, block: Block, between: bool) -> Block:
        """A block without a tag of its own; between: whether another turn comes after it."""
        text, loose = block.text, self._kind in ("tag", "alone", "timed", "lead")
        if block.speaker or block.form in ("table", "caption") or not self._who or self._kind == "signed":
            return block
        self._far = 0 if pattern("OF_US").search(text) or self._silent or not loose else self._far + 1
        aside = loose and (pattern("LABEL").match(text) or pattern("NARRATION").search(text) or self._far > _FARTHEST)
        ended = not self._silent and (block.form == "heading" or aside)
        ended = ended or (self._silent and self._kind == "alone" and not pattern("PROSE").search(text))
        if ended or pattern("EXAMINER").fullmatch(text) or (self._kind == "lead" and 0 < block.bold < len(text)):
            self._who = ""
        if not self._who or block.form == "heading" or (pattern("ASIDE").fullmatch(text) and self._kind != "message"):
            return block
        personal = self._kind == "line" or pattern("OF_SELF").search(text)
        sure = self._silent or self._kind == "message" or (between and personal)
        found = replace(block, speaker=self._who if sure else PROBABLY + self._who.removeprefix(PROBABLY))
        self._silent = False
        if self._kind == "quoted":
            self._who, self._kind = PROBABLY + self._quoting.removeprefix(PROBABLY) if self._quoting else "", "line"
        return found


def _interviewed(blocks: Sequence[Block], names: Names) -> Iterator[Block]:
    """The blocks of an interview whose questions are bold and whose answers are not, with who asks and who answers."""
    plain = [b.form == "paragraph" and not b.speaker for b in blocks]
    asked = {i for i, b in enumerate(blocks) if plain[i] and b.bold and b.bold == len(b.text)}
    if not asked and any(pattern("INTERVIEW").search(b.text) for b in blocks[:3]):
        plain = [b.form in ("paragraph", "heading") and not b.speaker for b in blocks]
        asked = {i for i, b in enumerate(blocks) if plain[i] and b.text.endswith("?") and len(b.text) < 200}
    questions = [i for i in sorted(asked) if blocks[i].text.endswith("?")]
    answers = [b.text for i, b in enumerate(blocks) if i - 1 in asked and i not in asked and plain[i]]
    personal = sum(bool(pattern("OF_SELF").search(text)) for text in answers)
    if len(questions) < 2 or len(answers) < 2 or personal * 3 < len(answers):
        yield from blocks
        return
    who, by = (
        names.full(name) if name else "" for name in _interview_partners([b.text for b in blocks[: questions[0]]])
    )
    current, first = "", False
    for i, block in enumerate(blocks):
        if i in asked and i >= questions[0]:
            current, first = who, True
            yield replace(block, speaker=by)
            continue
        ended = block.form == "heading" or (plain[i] and not first and pattern("OTHERS").search(block.text))
        current = "" if ended else current
        if current and block.form in ("paragraph", "item") and not pattern("LABEL").match(block.text):
            sure = first or pattern("OF_SELF").search(block.text)
            block, first = replace(block, speaker=current if sure else PROBABLY + current), False
        yield block


def _interview_partners(before: Sequence[str]) -> tuple[str, str]:
    """Who answers and who asks, by what stands before the first question."""
    short = [text for text in before if len(text) < _SHORT]
    by = [m["who"] for text in short if (m := pattern("BYLINE").search(text)) and is_person(m["who"])]
    who = [m["who"] for text in before if (m := pattern("INTERVIEW").search(text))]
    prose = (text for text in before if not (len(text) < _SHORT and pattern("BYLINE").search(text)))
    who += [m["who"] for text in prose if (m := pattern("SUBJECT").match(text)) and is_person(m["who"])]
    return next(iter(who), ""), next(iter(by), "")


def _lettered(blocks: Sequence[Block]) -> list[Block]:
    """The blocks of a page of letters, each letter from its salutation or the name before it to the name below it."""
    found, start = list(blocks), 0
    opens = [not b.speaker and bool(pattern("SALUTATION").match(b.text)) for b in found]
    titled = any(pattern("LETTERS").search(b.text) for b in found[:3] if len(b.text) < _SHORT)
    for i, block in enumerate(found if titled or sum(opens) > 1 else ()):
        name = block.text[: block.bold] or block.text
        signed = pattern("SIGNED").fullmatch(name) if len(block.text) < _SHORT else None
        if block.speaker or block.form == "heading" or opens[i]:
            start = i
        elif signed and not block.text.isupper() and (block.form == "item" or is_person(signed["who"])):
            who = ordinary_case(signed["who"])
            for j in range(start, i) if opens[start] or sum(opens) < 2 else ():
                if pattern("PROSE").search(text := found[j].text) and found[j].form != "heading":
                    found[j] = replace(found[j], text=pattern("SALUTATION").sub("", text, 1) or text, speaker=who)
            start = i + 1
    return found


def _minuted(blocks: Iterable[Block], names: Names) -> Iterator[Block]:
    """The blocks of minutes, parted where another person begins to be reported."""
    who = ""
    for block in blocks:
        if block.speaker or block.form not in ("paragraph", "item"):
            who = "" if block.form == "heading" else who
            yield block
            continue
        before, part = who, list[str]()
        who = ""
        for sentence in split_sentences(block.text):
            told = reporter(sentence, "VERB_IN_MINUTES")
            now = who
            if pattern("PRONOUN").fullmatch(told) or (not told and not part and sentence.startswith(("He ", "She "))):
                now = who if part else before
            elif told or pattern("NARRATION").search(sentence) or pattern("LABEL").match(sentence):
                now = "" if not told or told.lower().startswith(("a ", "an ")) else names.full(told)
            if part and now != who:
                yield replace(block, text=" ".join(part), speaker=who, bold=0)
                part = []
            part.append(sentence)
            who = now
        if part:
            yield replace(block, text=" ".join(part), speaker=who, bold=0)
