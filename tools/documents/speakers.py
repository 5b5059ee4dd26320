"""Finds by whom each block of a document is said: minutes, hearings, interviews, plays, letters pages, chats, threads.

A block may begin with a label, or be nothing else. Labels of one shape are the document's speaker tags when they prove
it together: they name people, return, and what stands behind them is spoken.
The words that it goes by are in `tools/language/conventions.toml`.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import NamedTuple

from tools.language.lexicon import is_name, is_word
from tools.language.names import Names, is_entitled, is_handle, is_named, is_numbered, is_person, ordinary_case, pattern
from tools.language.sentences import split_sentences
from tools.language.speech import reporter
from tools.passages import PROBABLY, Block

_SHORT = 140  # characters of a block that may hold a name and a time only
_SEARCHED, _MOST_NAMES = 400_000, 200  # characters and names of a document that are compared
_FREE = ("chat", "stamp", "quoted", "signed", "initials")  # shapes whose labels need not be names of people
_FARTHEST = 3  # blocks that a turn goes on for without a sign of speech
_AROUND = " ~@*#<>•·–—-|,:\u200e"  # signs around a label


class _Tag(NamedTuple):
    """A label, the words behind it in the same block, and its shape."""

    who: str
    said: str
    shape: str


def with_speakers(blocks: Sequence[Block], left_out: Counter[str]) -> list[Block]:
    """The blocks, each with its speaker where the document tells one from another; tags and times are taken off.

    Blocks that have a speaker stay as they are. What a chat's program writes is left out and counted.
    """
    names = Names(b.text for b in blocks)
    blocks = [part for block in blocks for part in _table_turns(block)]
    lettered = _lettered(blocks)
    if lettered == blocks:
        found = _proved(blocks, [_tag(block, after, names) for block, after in zip_longest(blocks, blocks[1:])], names)
        tags = _asked(blocks, found, names)
        lettered = list(_Speech(tags, names, left_out).spoken(blocks)) if any(tags) else blocks
    blocks = _led(lettered)
    minutes = any(pattern("MINUTES").search(b.text) for b in blocks[:12] if len(b.text) < 300)
    return list(_minuted(blocks, names)) if minutes else blocks


def _table_turns(block: Block) -> Iterator[Block]:
    """The rows of a table that is a transcript, each as what its speaker says; any other block as it is."""
    rows = [row.split(" | ") for row in block.text.split("\n")] if block.form == "table" else [[]]
    columns = list(zip(*rows[1:], strict=False)) if len({len(row) for row in rows}) == 1 else []
    said = max(range(len(columns)), key=lambda i: sum(map(len, columns[i])), default=-1)
    prose = columns and all(pattern("PROSE").search(text) for text in columns[said] if text)
    spoken = columns and 4 * sum(bool(pattern("OF_US").search(text)) for text in columns[said]) >= len(rows) - 1
    named = [sum(map(_names_somebody, column)) for column in columns]
    people = (i for i, n in enumerate(named) if i != said and 3 * n >= 2 * len(rows[1:]) and prose)
    who = next((i for i in people if spoken or pattern("SPEAKERS").fullmatch(rows[0][i])), -1)
    if who < 0:
        yield block
        return
    for row in filter(lambda row: row[said], rows[1:]):
        speaker = row[who] if _names_somebody(row[who]) else ""
        yield replace(block, text=row[said], form="paragraph", speaker=speaker)


def _names_somebody(cell: str) -> bool:
    return bool(re.search(r"[^\W\d_]", cell)) and (is_named(who := _label(cell)) or is_handle(who) or is_numbered(who))


def _tag(block: Block, after: Block | None, names: Names) -> _Tag | None:
    """The tag that a block begins with or is; its label may be anything, which `_proved` decides on."""
    text, short = block.text, len(block.text) <= _SHORT
    if block.speaker or block.form in ("table", "caption", "note") or pattern("STAMP").fullmatch(text):
        return None
    if short and after and pattern("STAMP").fullmatch(after.text):
        return _Tag(_label(text), "", "stamp")
    lead, rest = text[: block.bold].strip(), text[block.bold :].strip()
    if lead[-1:].isalnum() and rest[:1].isalnum() and not rest[0].islower() and is_named(who := _label(lead)):
        return _Tag(who, rest, "bold")
    above = ("quoted", "stamp") if short else ()
    for shape in above if block.form == "heading" else ("signed", "chat", *above, "initials", "marked"):
        if (found := pattern(shape).fullmatch(text)) and (tag := _read(found, shape, names)):
            return tag
    alone = short and text[0] not in "—–-" and not pattern("SENTENCE").search(text) and _label(text)
    return _Tag(alone, "", "alone") if alone else None


def _read(found: re.Match[str], shape: str, names: Names) -> _Tag | None:
    """The tag that a shape's pattern finds, if its label is one that the shape can have."""
    told = found.groupdict(default="")
    said, more = told.get("said", ""), told.get("more", "")
    who = _label(next(filter(None, map(told.get, ("who", "nick", "by"))), found[0]))
    if shape == "chat":
        return _Tag((told["who"] or told["nick"]).strip(" ~@+"), said, shape)
    if (shape == "initials" and not _is_explained(who, names)) or (shape == "stamp" and not is_handle(who)):
        return None
    if is_person(more) and not (is_person(who) or is_numbered(who)):
        who = more
    if shape == "marked":
        if is_entitled(_label(said)) and len(said.split()) < 9 and not pattern("SENTENCE").search(said):
            return None  # 'Chair: Una Roe'
        shape = "quoted" if told["who"].endswith(" wrote") else "timed" if told["when"] else told["mark"].strip()
    return _Tag(who, said, shape) if who else None


def _label(text: str) -> str:
    """The name in a label, without what stands around it: signs, roles, times, the number of somebody's posts."""
    who, member = pattern("MEMBER").subn("", text.strip(_AROUND))
    if member and " " in who and not is_name(last := who.split()[-1]) and is_word(last):  # a rank
        who = who.rpartition(" ")[0]
    for _ in range(5):
        who = pattern("AFTER_LABEL").sub("", who).rstrip(_AROUND)
    who = pattern("BEFORE_LABEL").sub("", who)
    first, *rest = pattern("PARTED").split(who, 1)
    return first if is_entitled(first) or (rest and not rest[0][:1].isupper()) else who


def _fits(tag: _Tag, count: int, names: Names) -> bool:
    """Whether the label of a tag can be somebody's name, as tags of its shape have them."""
    who, shape = tag.who, tag.shape
    if shape in _FREE:
        return shape in ("chat", "initials") or (is_person(who) if shape == "signed" else is_handle(who))
    if shape == "." and not (who.isupper() or pattern("TITLED").match(who) or pattern("ROLE").fullmatch(who)):
        return False  # 'Cold War. It began'
    recurs = who.isupper() and (count > 1 or who.startswith("THE "))
    named = shape == "timed" or (is_named(who) and (shape != "alone" or who.isupper()))
    odd = count == 1 and pattern("INITIALS").fullmatch(who)
    return not pattern("NO_SPEAKER").fullmatch(who) and (_is_known(who, names) or (not odd and (named or recurs)))


def _is_known(who: str, names: Names) -> bool:
    """Whether a label is surely somebody, by itself or by what the document says elsewhere."""
    return is_entitled(who) or (who[:1].isupper() and " " not in who and _is_explained(who, names))


def _is_explained(who: str, names: Names) -> bool:
    return not pattern("TITLE").fullmatch(ordinary_case(who)) and is_person(names.full(who))


def _proved(blocks: Sequence[Block], tags: Sequence[_Tag | None], names: Names) -> list[_Tag | None]:
    """The tags that are surely speakers': those of a shape that its labels, and what stands behind them, prove."""
    counts = Counter(tag._replace(said="") for tag in tags if tag)
    fit = {tag for tag, count in counts.items() if _fits(tag, count, names)}
    kept = [tag if tag and tag._replace(said="") in fit else None for tag in tags]
    turns: dict[str, list[tuple[str, str]]] = {}
    for i, tag in enumerate(kept):
        behind = [b.text for b in blocks[i + 1 : i + 4] if not pattern("ASIDE").fullmatch(b.text)]
        if tag and tag.shape == "alone" and not (behind and pattern("PROSE").search(behind[0])):
            kept[i] = None
        elif tag:
            others = zip(blocks[i + 1 : i + 4], kept[i + 1 : i + 4], strict=True)
            said = tag.said or " ".join(b.text for b, other in others if not other)
            turns.setdefault(tag.shape, []).append((tag.who, said))
    text = "\n".join(b.text for b in blocks)[:_SEARCHED]
    sure = {shape for shape, spoken in turns.items() if _is_proved(shape, spoken, text, names)}
    labels = {tag.who for tag in kept if tag and tag.shape in sure} | ({"Q", "A"} if sure else set())
    taken = [tag if tag and (tag.shape in sure or (tag.said and tag.who in labels)) else None for tag in kept]
    ends = [tag._replace(who="") if tag and _ends_turn(tag, sure) else None for tag in tags]
    return [tag or end for tag, end in zip(taken, ends, strict=True)]


def _ends_turn(tag: _Tag, sure: set[str]) -> bool:
    """Whether a label that is nobody's looks like the document's tags, so that nobody is known to go on."""
    words = tag.who.split()
    return tag.shape in sure and bool(tag.said) and (len(words) < 4 or any(word[0].isupper() for word in words[1:]))


def _is_proved(shape: str, turns: Sequence[tuple[str, str]], text: str, names: Names) -> bool:
    """Whether labels of a shape return or are all known, and people speak behind them."""
    labels = Counter(who for who, _ in turns)
    if shape in ("signed", "quoted") or len(turns) < (2 if shape in (*_FREE, "alone") else 3):
        return shape in ("signed", "quoted")
    listed = 1 < len(labels) < _MOST_NAMES and all(text.count(who) > n for who, n in labels.items())
    known = max(labels.values()) > 1 or listed or all(_is_known(who, names) for who in labels)
    personal = sum(bool(pattern("OF_US").search(said)) for _, said in turns) / len(turns)
    about = sum(said.startswith(("He ", "She ", who.split()[0], who.split()[-1])) for who, said in turns)
    if shape in ("chat", "stamp"):
        return shape == "chat" or listed or personal >= 0.3
    telling = shape == "alone" and (about * 3 >= len(turns) or personal < 0.3)  # pieces about people
    return len(labels) > 1 and known and personal >= 0.2 and not telling


class _Speech:
    """Follows the turns of a document through its blocks."""

    def __init__(self, tags: Sequence[_Tag | None], names: Names, left_out: Counter[str]) -> None:
        self._tags, self._names, self._left_out = tags, names, left_out
        self._last = max((i for i, tag in enumerate(tags) if tag), default=-1)
        self._labels = {tag.who for tag in tags if tag and tag.who}
        self._stamped = any(tag.shape in ("chat", "stamp") for tag in tags if tag)
        self._who = self._shape = self._quoting = ""
        self._silent, self._aside, self._far = True, False, 0  # nothing of the turn is said yet; blocks since speech
        self._sides = {"Q": "", "A": ""}  # who examines and who is examined

    def spoken(self, blocks: Sequence[Block]) -> Iterator[Block]:
        """The blocks with their speakers, without what only names them."""
        for i, (block, tag) in enumerate(zip(blocks, self._tags, strict=True)):
            if len(block.text) < _SHORT:
                self._note_sides(block.text)
            if tag and self._sides.get(tag.who, tag.who):
                yield from self._begin(block, tag)
            elif tag:
                self._who = ""
                yield block
            elif not (self._stamped and self._is_system(block.text)):
                yield self._go_on(block, i < self._last)

    def _note_sides(self, text: str) -> None:
        witness = pattern("WITNESS").fullmatch(text) or pattern("INTERVIEW").search(text)
        for side, found in (("Q", pattern("EXAMINER").fullmatch(text)), ("A", witness)):
            if found and is_person(found["who"]):
                self._sides[side] = self._names.full(found["who"])
                if side == "Q" and not self._sides["A"]:
                    self._sides["A"] = "The Witness"

    def _begin(self, block: Block, tag: _Tag) -> Iterator[Block]:
        named = self._sides.get("A" if tag.who.upper() == "THE WITNESS" else tag.who)
        self._quoting = self._who if tag.shape == "quoted" else ""
        self._who = named or (tag.who if tag.shape in ("chat", "stamp") else self._names.full(tag.who))
        self._shape, self._silent, self._aside, self._far = tag.shape, not tag.said, False, 0
        text = pattern("EDITED").sub("", tag.said)
        if tag.shape == "quoted" and tag.said:
            yield replace(block, text=tag.said, speaker=self._who, bold=0)
            self._end_quotation()
            return
        if tag.said and (tag.said[0] == "\u200e" or pattern("SYSTEM").fullmatch(text or "(edited)")):
            self._left_out["system messages"] += 1
        elif tag.said:
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
        text, loose = block.text, self._shape not in ("chat", "stamp", "quoted")
        if block.speaker or block.form in ("table", "caption") or not self._who or self._shape == "signed":
            return block
        self._far = 0 if pattern("OF_US").search(text) or self._silent or not loose else self._far + 1
        about = self._is_about_speaker(text)
        told = about or pattern("LABEL").match(text) or pattern("NARRATION").search(text)
        others = self._shape == "asked" and pattern("OTHERS").search(text)
        narrated = loose and bool(told or others or self._far > _FARTHEST)
        ended = not self._silent and (block.form == "heading" or narrated or about)
        aside = pattern("ASIDE").fullmatch(text)
        if ended or pattern("EXAMINER").fullmatch(text) or (loose and 0 < block.bold < len(text)):
            self._who = ""
        if not self._who or block.form == "heading" or (aside and self._shape != "chat"):
            self._aside = True
            return block
        personal = (not loose and not self._aside) or pattern("OF_SELF").search(text)
        sure = self._silent or self._shape == "chat" or (between and personal)
        found = replace(block, speaker=self._who if sure else PROBABLY + self._who.removeprefix(PROBABLY))
        self._silent = False
        if self._shape == "quoted":
            self._end_quotation()
        return found

    def _end_quotation(self) -> None:
        self._who = PROBABLY + self._quoting.removeprefix(PROBABLY) if self._quoting else ""
        self._shape = "stamp"

    def _is_about_speaker(self, text: str) -> bool:
        """Whether the text tells what one of the speakers does: '@una added a label'."""
        words = text.lstrip("@*").split(" ", 5)
        return any(" ".join(words[:n]) in self._labels and words[n][:1].islower() for n in range(1, len(words) - 1))


def _asked(blocks: Sequence[Block], tags: Sequence[_Tag | None], names: Names) -> Sequence[_Tag | None]:
    """The tags, with one for each question of an interview, which is bold, and one for each answer."""
    plain = [b.form == "paragraph" and not (b.speaker or tag) for b, tag in zip(blocks, tags, strict=True)]
    asked = {i for i, b in enumerate(blocks) if plain[i] and b.bold and b.bold == len(b.text)}
    if not asked and any(pattern("INTERVIEW").search(b.text) for b in blocks[:3]):
        plain = [plain[i] or (b.form == "heading" and not tags[i]) for i, b in enumerate(blocks)]
        asked = {i for i, b in enumerate(blocks) if plain[i] and b.text.endswith("?") and len(b.text) < 200}
    begin = min((i for i in asked if blocks[i].text.endswith("?")), default=len(blocks))
    answered = {i for i in range(begin + 1, len(blocks)) if i - 1 in asked and i not in asked and plain[i]}
    personal = sum(bool(pattern("OF_SELF").search(blocks[i].text)) for i in answered)
    if len(answered) < 2 or personal * 3 < len(answered):
        return tags
    before = [b.text for b in blocks[:begin]]
    told = [pattern("BYLINE").search(text) if len(text) < _SHORT else None for text in before]
    subjects = [pattern("SUBJECT").match(text) for text, by in zip(before, told, strict=True) if not by]
    named = [m["who"] for m in (*map(pattern("INTERVIEW").search, before), *subjects) if m]
    bylines = [m["who"] for m in told if m]
    by, who = (next((names.full(name) for name in found if is_person(name)), "") for found in (bylines, named))
    sides = {**dict.fromkeys(answered, who), **{i: by for i in asked if i >= begin}}
    return [_Tag(sides[i], blocks[i].text, "asked") if i in sides else tag for i, tag in enumerate(tags)]


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
        elif signed and (block.form == "item" or is_entitled(signed["who"])):
            letter = range(start, i) if opens[start] or sum(opens) < 2 else ()
            start = i + 1
            for j in letter:
                if pattern("PROSE").search(text := found[j].text) and found[j].form != "heading":
                    text = pattern("SALUTATION").sub("", text, 1) or text
                    found[j] = replace(found[j], text=text, speaker=ordinary_case(signed["who"]))
                    found[i] = replace(block, speaker=found[j].speaker)
    return found


def _led(blocks: Sequence[Block]) -> list[Block]:
    """The blocks, with the speakers of those whom the one before leads to, or who sign the one after."""
    found = list(blocks)
    for i, (block, after, then) in enumerate(zip(found, found[1:], [*found[2:], None], strict=False)):
        if block.speaker or after.speaker or block.form != "paragraph" or after.form == "heading":
            continue
        item = after.form == "item" and (not then or then.form != "item") and pattern("SENTENCE").search(block.text)
        below = pattern("BELOW").fullmatch(f"— {after.text}" if item else after.text)
        quoted = block.text[0] in '“"«„' and block.text[-1] in '”"»“'
        lead = pattern("LEADING").search(block.text)
        if below and (quoted or is_entitled(below["who"])):
            found[i] = replace(block, speaker=below["who"])
        elif lead and is_person(lead["who"]) and pattern("OF_US").search(after.text) and not reporter(after.text):
            found[i + 1] = replace(after, speaker=PROBABLY + lead["who"])
    return found


def _minuted(blocks: Iterable[Block], names: Names) -> Iterator[Block]:
    """The blocks of minutes, parted where another person begins to be reported."""
    who = subject = ""
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
                now = (who if part else before) or subject
            elif told or pattern("NARRATION").search(sentence) or pattern("LABEL").match(sentence):
                now = names.full(told) if told and not pattern("INDEFINITE").match(told) else ""
            if part and now != who:
                yield replace(block, text=" ".join(part), speaker=who, bold=0)
                part = []
            named = pattern("SUBJECT").match(sentence)
            subject = PROBABLY + names.full(named["who"]) if named and is_entitled(named["who"]) else ""
            part.append(sentence)
            who = now
        if part:
            yield replace(block, text=" ".join(part), speaker=who, bold=0)
