"""Finds by whom each block of a document is said: minutes, hearings, interviews, plays, letters pages, chats, threads.

The words that it goes by are in `tools/language/conventions.toml`.
"""

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from tools.documents.bylines import is_minuted
from tools.documents.tags import SHORT, Tag, find_tags, table_turns
from tools.language.names import Names, is_entitled, is_handle, is_named, is_person, labelled, ordinary_case, pattern
from tools.language.sentences import split_sentences
from tools.language.speech import UNNAMED, reporter
from tools.passages import PROBABLY, Block

_COMPARED, _QUOTED = 40, 12  # blocks that a post may quote, and characters of a quotation
_LEAST_SIGNED = 2  # blocks that end with their writers' names
_FARTHEST = 3  # blocks that a turn goes on for without a sign of speech


def with_speakers(blocks: Sequence[Block], left_out: Counter[str]) -> list[Block]:
    """The blocks, each with its speaker where the document tells one from another; tags and times are taken off.

    Blocks that have a speaker stay as they are. What a chat's program writes is left out and counted.
    """
    blocks = _signed_below(list(_mailed(blocks)))
    names = Names(b.text for b in blocks)
    blocks = [part for block in blocks for part in table_turns(block, left_out)]
    lettered = _lettered(blocks)
    if lettered == blocks:
        tags = find_tags(blocks, names)
        lettered = list(_Speech(tags, names, left_out).spoken(blocks)) if any(tags) else blocks
    blocks = _led(_headed(lettered))
    return list(_minuted(blocks, names)) if is_minuted(blocks) else blocks


def _mailed(blocks: Sequence[Block]) -> Iterator[Block]:
    """The blocks of a printed mail thread, each message from the address and time of its sender to the next one's."""
    heads = [list(pattern("PRINTED").finditer(b.text)) for b in blocks]
    forms: dict[str, list[str]] = {}  # the words before each address, which may begin with the end of the text before
    for block in blocks if any(heads) else ():
        for form in pattern("ADDRESSED").finditer(block.text):
            forms.setdefault(form["mail"], []).append(form["who"])
    who = ""
    for block, found in zip(blocks, heads, strict=True):
        if not (who or found) or block.speaker or block.form not in ("paragraph", "item"):
            yield block
            continue
        begin = 0
        for head in (*found, None):
            known = forms.get(head["mail"], [""]) if head else [""]
            name = min(known, key=len)
            said = block.text[begin : head.start() if head else None].rstrip().removesuffix(name).strip()
            if said:
                yield replace(block, text=said, speaker=who, bold=0)
            if head:
                who = name if len(known) > 1 or name.count(" ") < 2 else PROBABLY + name
                begin = head.end()


def _signed_below(blocks: list[Block]) -> list[Block]:
    """The blocks, each of several that end with a name and a time said by that one, as on a wiki's talk page."""
    ends = [pattern("SIGNED_AT").search(b.text) if b.form in ("paragraph", "item") else None for b in blocks]
    if sum(bool(end and is_handle(end["who"])) for end in ends) < _LEAST_SIGNED:
        return blocks
    return [
        replace(block, text=block.text[: end.start()].rstrip(), speaker=end["who"], bold=0)
        if end and is_handle(end["who"]) and end.start() and not block.speaker
        else block
        for block, end in zip(blocks, ends, strict=True)
    ]


class _Speech:
    """Follows the turns of a document through its blocks."""

    def __init__(self, tags: Sequence[Tag | None], names: Names, left_out: Counter[str]) -> None:
        self._tags, self._names, self._left_out = tags, names, left_out
        self._last = max((i for i, tag in enumerate(tags) if tag), default=-1)
        self._labels = {tag.who for tag in tags if tag and tag.who}
        self._initialled = any(map(pattern("INITIALS").fullmatch, self._labels))
        self._stamped = any(tag.shape in ("chat", "stamp") for tag in tags if tag)
        self._who = self._shape = self._quoting = ""
        self._posted = deque[tuple[str, str]](maxlen=_COMPARED)  # what is said last, and by whom
        self._silent, self._aside, self._far = True, False, 0  # nothing of the turn is said yet; blocks since speech
        self._sides = {"Q": "", "A": ""}  # who examines and who is examined

    def spoken(self, blocks: Sequence[Block]) -> Iterator[Block]:
        """The blocks with their speakers, without what only names them."""
        for i, (block, tag) in enumerate(zip(blocks, self._tags, strict=True)):
            if len(block.text) < SHORT:
                self._note_sides(block.text)
                self._note_sides(f"{blocks[i - 1].text} {block.text}" if i and blocks[i - 1].text.endswith(",") else "")
            if tag and self._side(tag.who):
                yield from self._begin(block, tag)
            elif tag:
                self._who = ""
                yield block
            elif not (self._stamped and self._is_system(block.text)):
                yield self._go_on(block, i < self._last)

    def _side(self, label: str) -> str:
        """Who a label stands for: 'Q' in an interview that names only whom it asks for the interviewer."""
        asked = self._sides["A"]
        unnamed = "Interviewer" if label == "Q" and asked and "Witness" not in asked else ""
        return self._sides.get(label, label) or unnamed

    def _note_sides(self, text: str) -> None:
        sworn, examined = pattern("WITNESS").fullmatch(text), pattern("EXAMINER").fullmatch(text)
        for side, found in (
            ("Q", examined or pattern("ASKER").search(text)),
            ("A", sworn or pattern("INTERVIEW").search(text)),
        ):
            who = next(filter(None, found.groupdict().values()), "") if found else ""
            if is_person(who):
                name = self._names.full(who)
                self._sides[side] = labelled(name, "The Witness") if side == "A" and sworn else name
                if side == "Q" and examined and not self._sides["A"]:
                    self._sides["A"] = "The Witness"

    def _begin(self, block: Block, tag: Tag) -> Iterator[Block]:
        side = "A" if tag.who.upper() == "THE WITNESS" else tag.who
        named = self._side(side) if side in self._sides else ""
        self._quoting = self._who if tag.shape in ("quoted", "quoting") else ""
        likely = PROBABLY if tag.who.startswith(PROBABLY) else ""
        full = self._names.full(tag.who.removeprefix(PROBABLY))
        self._who = named or (tag.who if tag.shape in ("chat", "stamp") else likely + full)
        self._shape, self._silent, self._aside, self._far = tag.shape, not tag.said, False, 0
        text = pattern("EDITED").sub("", tag.said)
        if tag.shape == "quoting":
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
        other = self._initialled and pattern("INITIALS").fullmatch(text.partition(" ")[0])
        told = about or other or pattern("LABEL").match(text) or pattern("NARRATION").search(text)
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
        sure = self._silent or self._who == UNNAMED or self._shape == "chat" or (between and personal)
        who = self._who if sure else PROBABLY + self._who.removeprefix(PROBABLY)
        if self._shape == "stamp" and len(text) >= _QUOTED:
            who = next((other for said, other in self._posted if other and text in said), who)  # a post quotes another
            self._posted.append((text, "" if who.startswith(PROBABLY) else who))
        found = replace(block, speaker=who)
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


def _lettered(blocks: Sequence[Block]) -> list[Block]:
    """The blocks of a page of letters, each letter from its salutation or the name before it to the name below it."""
    found, start = list(blocks), 0
    opens = [not b.speaker and bool(pattern("SALUTATION").match(b.text)) for b in found]
    titled = any(pattern("LETTERS").search(b.text) for b in found[:3] if len(b.text) < SHORT)
    for i, block in enumerate(found if titled or any(opens) else ()):
        name = block.text[: block.bold] or block.text
        signed = pattern("SIGNED").fullmatch(name) if len(block.text) < SHORT else None
        if block.speaker or block.form == "heading" or opens[i]:
            start = i
            continue
        person = signed["who"] if signed and (block.form == "item" or is_entitled(signed["who"])) else ""
        others = opens[start] and block.bold == len(block.text) < SHORT and not pattern("WITHHELD").search(name)
        if who := ordinary_case(person) or (PROBABLY + name if others else ""):
            letter = range(start, i) if opens[start] or sum(opens) < 2 else ()
            start = i + 1
            for j in letter:
                if pattern("PROSE").search(text := found[j].text) and found[j].form != "heading":
                    text = pattern("SALUTATION").sub("", text, 1) or text
                    found[j] = replace(found[j], text=text, speaker=who)
                    found[i] = replace(block, speaker=who)
    return found


def _headed(blocks: Sequence[Block]) -> list[Block]:
    """The blocks, those below each of several headings of one level that name a writer by that one: 'No, says Una'."""
    named = [pattern("HEADED").search(b.text) if b.form == "heading" else None for b in blocks]
    whose = [who if m and (is_entitled(who := m["who"]) or is_handle(who)) else "" for m in named]
    level, count = next(
        iter(Counter(b.level for b, who in zip(blocks, whose, strict=True) if who).most_common(1)), (0, 0)
    )
    found, speaker = list(blocks), ""
    for i, (block, who) in enumerate(zip(blocks, whose, strict=True) if count >= _LEAST_SIGNED else ()):
        if block.form == "heading":
            speaker = who if block.level == level else speaker if block.level > level else ""
        elif not block.speaker and block.form in ("paragraph", "item"):
            found[i] = replace(block, speaker=speaker)
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
        lead = pattern("LEADING").search(block.text) if block.text.endswith(":") else None
        if below and (quoted or is_entitled(below["who"])):
            found[i] = replace(block, speaker=below["who"])
        elif lead and is_person(lead["who"]) and pattern("OF_US").search(after.text) and not reporter(after.text):
            found[i + 1] = replace(after, speaker=PROBABLY + lead["who"])
    return found


def _sentences(text: str) -> list[str]:
    """The sentences of minutes, which do not end behind a title: 'Bro. Tamati'."""
    found: list[str] = []
    for sentence in split_sentences(text):
        if found and pattern("ABBREVIATED").fullmatch(found[-1].rpartition(" ")[2]):
            found[-1] += f" {sentence}"
        else:
            found.append(sentence)
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
        for sentence in _sentences(block.text):
            told = reporter(sentence, "VERB_IN_MINUTES")
            now = who
            if pattern("PRONOUN").fullmatch(told) or (not told and not part and sentence.startswith(("He ", "She "))):
                now = (who if part else before) or subject
            elif told or pattern("NARRATION").search(sentence) or pattern("LABEL").match(sentence):
                now = names.full(told) if told and not pattern("INDEFINITE").match(told) else ""
                now = told if now.casefold() == told.casefold() else now  # 'PTA'
            label, _, rest = sentence.partition(": ")
            if not told and is_named(label) and pattern("OF_US").search(rest):
                now = PROBABLY + names.full(label)
            begun = pattern("SUBJECT").match(sentence)
            other = names.full(begun["who"]) if begun else ""
            if not told and is_entitled(other):  # somebody else, by a verb that is not known
                now = PROBABLY + other if pattern("TELLING").search(sentence) else ""
            if part and now != who:
                yield replace(block, text=" ".join(part), speaker=who, bold=0)
                part = []
            subject = PROBABLY + other if begun and is_entitled(begun["who"]) else ""
            part.append(sentence)
            who = now
        if part:
            yield replace(block, text=" ".join(part), speaker=who, bold=0)
