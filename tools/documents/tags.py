"""Finds the labels by which the blocks of a document name their speakers.

A block may begin with a label, or be nothing else. Labels of one shape are the document's speaker tags when they prove
it together: they name people, return, and what stands behind them is spoken.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise, zip_longest
from typing import NamedTuple

from tools.language.lexicon import is_name, is_word
from tools.language.names import (
    Names,
    from_title,
    is_entitled,
    is_handle,
    is_named,
    is_numbered,
    is_person,
    ordinary_case,
    pattern,
)
from tools.language.speech import UNNAMED
from tools.passages import PROBABLY, Block

SHORT = 140  # characters of a block that may hold a name and a time only
_BLOCKS, _SEARCHED, _MOST_NAMES = 4_000, 400_000, 200  # of a document: blocks, their characters, names compared
_FREE = ("chat", "stamp", "quoted", "signed", "initials")  # shapes whose labels need not be names of people
_AROUND = " ~@*#<>•·–—-|,:\u200e"  # signs around a label


class Tag(NamedTuple):
    """A label, the words behind it in the same block, and its shape."""

    who: str
    said: str
    shape: str


def find_tags(blocks: Sequence[Block], names: Names) -> Sequence[Tag | None]:
    """The tag of each block, if it has one; a tag without a name ends the turn before it."""
    read = [_tag(block, after, names) for block, after in zip_longest(blocks, blocks[1:])]
    return _asked(blocks, read, _proved(blocks, read, names), names)


def table_turns(block: Block, left_out: Counter[str]) -> Iterator[Block]:
    """The rows of a table that is a transcript, each as what its speaker says; any other block as it is."""
    rows = [row.split(" | ") for row in block.text.split("\n")] if block.form == "table" else [[]]
    if lines := _numbered_lines(rows):
        yield from (replace(block, text=text, form="paragraph") for text in lines)
        return
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
    left_out["table cells beside what is said"] += sum(map(bool, rows[0])) + sum(
        bool(cell) for i, column in enumerate(columns) if i not in (who, said) for cell in column
    )
    for row in filter(lambda row: row[said], rows[1:]):
        speaker = row[who] if _names_somebody(row[who]) else ""
        yield replace(block, text=row[said], form="paragraph", speaker=speaker)


def _numbered_lines(rows: Sequence[Sequence[str]]) -> list[str]:
    """The turns of a transcript whose lines are numbered, without the numbers; empty for any other table."""
    numbers = [row[0] if len(row) == 2 else "" for row in rows]
    counted = len(rows) > 2 and all(
        n.isdecimal() and len(n) < 5 and n in ("1", str(int(before) + 1)) for before, n in pairwise(["0", *numbers])
    )
    found: list[str] = []
    for _, line in rows if counted else ():
        said = " ".join(line.split())
        alone = any(pattern(name).fullmatch(text) for name in ("ASIDE", "WITNESS") for text in (said, *found[-1:]))
        if alone or not found or pattern("CAPITALS").match(said):
            found.append(said)
        else:
            found[-1] += f" {said}"
    return (
        found
        if len(found) < len(rows) and sum(bool(pattern("CAPITALS").match(turn)) for turn in found) * 2 > len(found)
        else []
    )


def _names_somebody(cell: str) -> bool:
    return bool(re.search(r"[^\W\d_]", cell)) and (is_named(who := _label(cell)) or is_handle(who) or is_numbered(who))


def _tag(block: Block, after: Block | None, names: Names) -> Tag | None:
    """The tag that a block begins with or is; its label may be anything, which `_proved` decides on."""
    text, short = block.text, len(block.text) <= SHORT
    if block.speaker or block.form in ("table", "caption", "note") or pattern("STAMP").fullmatch(text):
        return None
    if short and after and pattern("STAMP").fullmatch(after.text):
        return Tag(_label(text), "", "stamp")
    lead, rest = text[: block.bold].strip(), text[block.bold :].strip()
    if lead[-1:] not in ".:" and rest[:1].isalnum() and not rest[0].islower() and is_named(who := _label(lead)):
        return Tag(who, pattern("TIMED").sub("", rest), "bold")
    above = ("quoted", "stamp") if short else ()
    for shape in above if block.form == "heading" else ("signed", "chat", *above, "initials", "marked"):
        if (found := pattern(shape).fullmatch(text)) and (tag := _read(found, shape, names)):
            return tag
    alone = short and text[0] not in "—–-" and not pattern("SENTENCE").search(text) and _label(text)
    bearer = pattern("BEARER").search(text) if alone and not is_entitled(alone) else None
    return Tag(bearer["who"] if bearer else alone, "", "alone") if alone else None


def _read(found: re.Match[str], shape: str, names: Names) -> Tag | None:
    """The tag that a shape's pattern finds, if its label is one that the shape can have."""
    told = found.groupdict(default="")
    said, more = told.get("said", ""), told.get("more", "")
    who = _label(next(filter(None, map(told.get, ("who", "nick", "by"))), found[0]))
    if shape == "chat":
        return Tag((told["who"] or told["nick"]).strip(" ~@+"), said, shape)
    if (shape == "initials" and not _is_explained(who, names)) or (shape == "stamp" and not is_handle(who)):
        return None
    if shape == "quoted" and from_title(who) != who:  # 'As Una wrote:'
        return None
    if (is_person(more) and not (is_person(who) or is_numbered(who))) or (is_name(more) and not is_named(who)):
        who = more
    if shape == "marked":
        brief = len(said) <= SHORT and len(said.split()) < 9 and not pattern("SENTENCE").search(said)
        if brief and is_entitled(_label(said)):
            return None  # 'Chair: Una Roe'
        shape = "quoting" if told["who"].endswith(" wrote") else "timed" if told["when"] else told["mark"].strip()
    return Tag(who, said, shape) if who else None


def _label(text: str) -> str:
    """The name in a label, without what stands around it: signs, roles, times, the number of somebody's posts."""
    who, member = pattern("MEMBER").subn("", text.strip(_AROUND))
    if member and " " in who and not is_name(last := who.split()[-1]) and is_word(last):  # a rank
        who = who.rpartition(" ")[0]
    for _ in range(5):
        before, who = who, pattern("AFTER_LABEL").sub("", who).rstrip(_AROUND)
        if who == before:
            break
    who = pattern("BEFORE_LABEL").sub("", who)
    first, *rest = pattern("PARTED").split(who, 1)
    if rest and (first.isdigit() or is_numbered(first)):  # 'Response 3 – Una Roe, pilot'
        first, *rest = pattern("PARTED").split(rest[0], 1)
        who = first
    return first if is_entitled(first) or (rest and not rest[0][:1].isupper()) else who


def _fits(tag: Tag, count: int, names: Names) -> bool:
    """Whether the label of a tag can be somebody's name, as tags of its shape have them."""
    who, shape = tag.who, tag.shape
    if shape in (*_FREE, "quoting"):
        return shape in ("chat", "initials") or (is_person(who) if shape == "signed" else is_handle(who))
    if shape == "." and not (who.isupper() or pattern("TITLED").match(who) or pattern("ROLE").fullmatch(who)):
        return False  # 'Cold War. It began'
    recurs = who.isupper() and (count > 1 or who.startswith("THE "))
    above = shape != "alone" or who.isupper()
    named = (
        shape == "timed"
        or (is_named(who) and above)
        or (not above and count > 1 and bool(pattern("HANDLE").fullmatch(who)))
    )
    odd = count == 1 and pattern("INITIALS").fullmatch(who)
    return not pattern("NO_SPEAKER").fullmatch(who) and (_is_known(who, names) or (not odd and (named or recurs)))


def _is_known(who: str, names: Names) -> bool:
    """Whether a label is surely somebody, by itself or by what the document says elsewhere."""
    return is_entitled(who) or (who[:1].isupper() and " " not in who and _is_explained(who, names))


def _is_explained(who: str, names: Names) -> bool:
    full = names.full(who)
    odd = full.endswith(f" ({who})") and not is_word(full.split()[0].lower())  # a first name that no list has
    return not pattern("TITLE").fullmatch(ordinary_case(who)) and (odd or is_person(full))


def _proved(blocks: Sequence[Block], tags: Sequence[Tag | None], names: Names) -> list[Tag | None]:
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
    text = "\n".join(b.text for b in blocks[:_BLOCKS])[:_SEARCHED]
    sure = {shape for shape, spoken in turns.items() if _is_proved(shape, spoken, text, names)}
    labels = {tag.who for tag in kept if tag and tag.shape in sure} | ({"Q", "A"} if sure else set())
    taken = [tag if tag and (tag.shape in sure or (tag.said and tag.who in labels)) else None for tag in kept]
    capitals = {tag for tag in counts if tag.who.isupper() and " " in tag.who and ordinary_case(tag.who) in text}
    likely = {tag for tag, count in counts.items() if count > 1} | capitals
    ends = [_other(tag, tag._replace(said="") in likely) if tag and tag.shape in sure else None for tag in tags]
    return [tag or end for tag, end in zip(taken, ends, strict=True)]


def _other(tag: Tag, likely: bool) -> Tag | None:
    """A label that is not surely somebody's but looks like the document's tags: it has a doubt where it is likely, or
    else no name, so that nobody is known to go on."""
    words = tag.who.split()
    if not (tag.said or tag.shape == "alone") or (len(words) > 3 and not any(w[0].isupper() for w in words[1:])):
        return None
    named = likely and tag.said and tag.who[:1].isupper() and not pattern("NO_SPEAKER").fullmatch(tag.who)
    return tag._replace(who=PROBABLY + tag.who if named else "")


def _is_proved(shape: str, turns: Sequence[tuple[str, str]], text: str, names: Names) -> bool:
    """Whether labels of a shape return or are all known, and people speak behind them."""
    labels = Counter(who for who, _ in turns)
    if shape == "quoting":  # taken where its label is another's too
        return False
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


def _asked(
    blocks: Sequence[Block], read: Sequence[Tag | None], tags: Sequence[Tag | None], names: Names
) -> Sequence[Tag | None]:
    """The tags, with one for each question of an interview, which is bold, and one for each answer.

    read: the tags of the blocks before they are proved; a label that stands once names its side.
    """
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
    told = [pattern("BYLINE").search(text) if len(text) < SHORT else None for text in before]
    subjects = [pattern("SUBJECT").match(text) for text, by in zip(before, told, strict=True) if not by]
    told_of = [m["who"] or m["told"] for m in map(pattern("INTERVIEW").search, before) if m]
    named = [*told_of, *(m["who"] for m in subjects if m)]
    bylines = [m["who"] for m in told if m]
    by, who = (next((names.full(name) for name in found if is_person(name)), "") for found in (bylines, named))
    labelled = {i: tag for i, tag in enumerate(read) if tag and tag.said and is_named(tag.who)}
    sides = _side(answered, labelled, who or UNNAMED) | _side({i for i in asked if i >= begin}, labelled, by)
    said = {i: labelled[i].said if i in labelled else blocks[i].text for i in sides}
    return [Tag(sides[i], said[i], "asked") if i in sides else tag for i, tag in enumerate(tags)]


def _side(places: set[int], labelled: dict[int, Tag], who: str) -> dict[int, str]:
    """Who asks each question or gives each answer. A label after the first one may tell of somebody more: a doubt."""
    sure = not any(i in labelled for i in sorted(places)[1:])
    found = {}
    for i in sorted(places):
        who = labelled[i].who if i in labelled else who
        found[i] = who if sure or i in labelled or who in ("", UNNAMED) else PROBABLY + who
    return found
