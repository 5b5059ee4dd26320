"""Finds the speaker of each block in minutes, hearings, interviews, plays, chats and threads. A block may begin with a
label or consist of a label. A label's shape is its form, such as 'Name:' or 'NAME'. The labels of one shape are speaker
tags if they name people, recur, and precede spoken text. The patterns are in `tools/language/conventions.toml`."""

import re
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise, zip_longest
from typing import NamedTuple

from tools.documents.author_lines import find_posts, is_thread
from tools.documents.bylines import below_closing, has_sentence, is_dateline, is_minutes, speakers_of_letters
from tools.language.lexicon import is_name, is_word, lexicon_tag
from tools.language.person_names import (
    SpeakerNames,
    is_handle,
    is_numbered,
    is_person,
    is_surely_person,
    may_be_name,
    name_in_label,
    name_with_label,
    ordinary_case,
    pattern,
    people_listed,
    source,
    without_leading_words,
)
from tools.language.reported_speech import INTERVIEWER, UNNAMED, minutes_sentences, reported_speaker, speaker_in_clause
from tools.language.sentences import split_sentences
from tools.passages import PROBABLY, Block

# Speaker tags

SHORT_BLOCK = 140  # most characters of a block that may contain only a name and a time
_BLOCKS, _SEARCHED, _MOST_NAMES = 4_000, 400_000, 200  # most blocks, characters and compared names per document
_MOST_LABEL_WORDS = 9
_GUEST = "Guest"  # writes a post with an unclear name, which therefore ends its neighbour's post
_FREE_SHAPES = ("chat", "stamp", "quoted", "signed", "initials")  # shapes whose labels need not be personal names


class SpeakerTag(NamedTuple):
    """A label, the words after it in the same block, and its shape."""

    who: str
    said: str
    shape: str


Tags = Sequence[SpeakerTag | None]
"""Each block's tag, or None."""


def find_speaker_tags(blocks: Sequence[Block], sides: Mapping[str, str], names: SpeakerNames) -> Tags:
    """Returns each block's tag or None. A tag without a name ends a turn. sides: of `_interview_sides`."""
    signed = below_closing(blocks)
    letter = len(blocks) - (0 if any(has_sentence(b.text) for b in signed) else len(signed))
    read = [_candidate_tag(block, after, names) for block, after in zip_longest(blocks[:letter], blocks[1:letter])]
    read += [None] * (len(blocks) - letter)
    if posts := find_posts(blocks):
        named = {i: SpeakerTag(post.who, post.said, "post" if post.said else "stamp") for i, post in posts.items()}
        return [named.get(i, tag) for i, tag in enumerate(_confirmed(blocks, read, names))]
    return _interview_tags(blocks, read, _confirmed(blocks, read, names), sides)


def transcript_turns(block: Block, left_out: Counter[str]) -> Iterator[Block]:
    """If a table is a transcript, yields each row as a block with its speaker. Yields any other block unchanged."""
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
    """Returns the turns of a transcript with numbered lines, without the numbers; [] for other blocks."""
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
    named = sum(bool(pattern("CAPITALS").match(turn)) for turn in found)
    return found if len(found) < len(rows) and named * 2 > len(found) else []


def _names_somebody(cell: str) -> bool:
    who = name_in_label(cell)
    return any(map(str.isalpha, cell)) and (may_be_name(who) or is_handle(who) or is_numbered(who))


def _candidate_tag(block: Block, after: Block | None, names: SpeakerNames) -> SpeakerTag | None:
    """Returns the tag at a block's start, or the tag that is the whole block. `_confirmed` checks the label later."""
    text, short = block.text, len(block.text) <= SHORT_BLOCK
    unsaid = block.speaker or block.form in ("table", "caption", "note") or is_dateline(text)
    if unsaid or pattern("STAMP").fullmatch(text):
        return None
    if short and after and pattern("STAMP").fullmatch(after.text):
        name = name_in_label(text)
        return SpeakerTag(name if is_handle(name) or not pattern("NUMBERED_POST").match(text) else _GUEST, "", "stamp")
    lead, rest = text[: block.bold].strip(), text[block.bold :].strip()
    if (
        lead[-1:] not in ".:"
        and rest[:1].isalnum()
        and not rest[0].islower()
        and may_be_name(who := name_in_label(lead))
    ):
        return SpeakerTag(who, pattern("TIMED").sub("", rest), "bold")
    above = ("quoted", "stamp") if short else ()
    for shape in above if block.form == "heading" else ("signed", "chat", *above, "initials", "marked"):
        if (found := pattern(shape).fullmatch(text)) and (tag := _tag_of_match(found, shape, names)):
            return tag
    alone = short and text[0] not in "—–-" and not pattern("SENTENCE").search(text) and name_in_label(text)
    bearer = pattern("BEARER").search(text) if alone and not is_surely_person(alone) else None
    return SpeakerTag(bearer["who"] if bearer else alone, "", "alone") if alone else None


def _tag_of_match(found: re.Match[str], shape: str, names: SpeakerNames) -> SpeakerTag | None:
    """Returns the tag for a pattern's match, if the label suits the shape."""
    told = found.groupdict(default="")
    said, more = told.get("said", ""), told.get("more", "")
    label = next(filter(None, map(told.get, ("who", "nick", "by", "field", "numbered"))), found[0])
    label = re.sub(r"^\[([^\[\]]+)\]$", r"\1", label)  # '[una_roe] 3 May, 19:02'
    who = label if pattern("NOBODY").fullmatch(label) else name_in_label(label)
    if shape == "chat":
        who = re.sub(rf" {pattern('POSTED').pattern}$", "", told["who"] or told["nick"])  # '[12:04] una_roe wrote:'
        return SpeakerTag(who.strip(" ~@+"), said, shape)
    if shape == "stamp" and not is_handle(who) and pattern("NUMBERED_POST").match(found[0]):
        who = _GUEST
    if (shape == "initials" and not _is_explained(who, names)) or (shape == "stamp" and not is_handle(who)):
        return None
    if shape == "quoted" and without_leading_words(who) != who:  # 'As Una wrote:'
        return None
    if (is_person(more) and not (is_person(who) or is_numbered(who))) or (is_name(more) and not may_be_name(who)):
        who = more
    if shape == "marked":
        brief = len(said) <= SHORT_BLOCK and len(said.split()) < 9 and not pattern("SENTENCE").search(said)
        if brief and is_surely_person(name_in_label(said)):
            return None  # 'Chair: Una Roe'
        shape = "quoting" if told["who"].endswith(" wrote") else "timed" if told["when"] else told["mark"].strip()
    return SpeakerTag(who, said, shape) if who else None


def _label_fits_shape(tag: SpeakerTag, count: int, names: SpeakerNames) -> bool:
    """Whether a label can be a name in a tag of this shape."""
    who, shape = tag.who, tag.shape
    if shape in (*_FREE_SHAPES, "quoting"):
        return shape in ("chat", "initials") or (is_person(who) if shape == "signed" else is_handle(who))
    if shape == "." and not (who.isupper() or pattern("TITLED").match(who) or pattern("ROLE").fullmatch(who)):
        return False  # 'Cold War. It began'
    recurs = who.isupper() and (count > 1 or who.startswith("THE "))
    above = shape != "alone" or who.isupper()
    handle = not above and count > 1 and bool(pattern("HANDLE").fullmatch(who))
    named = shape == "timed" or (may_be_name(who) and above) or handle
    odd = count == 1 and pattern("INITIALS").fullmatch(who)
    if shape == "alone" and lexicon_tag(who.split()[0]) == "VB":
        return False  # 'Keep Mill Lane Open'
    return not pattern("NO_SPEAKER").fullmatch(who) and (_is_known(who, names) or (not odd and (named or recurs)))


def _askers(tags: Tags, names: SpeakerNames) -> set[SpeakerTag]:
    """Returns labels that ask and alternate with one person's label. Such a label may name a newspaper."""
    asked = Counter(tag._replace(said="") for tag in tags if tag and "?" in tag.said)
    counts = Counter(tag._replace(said="") for tag in tags if tag and tag.said)
    found = set[SpeakerTag]()
    for shape in {tag.shape for tag in asked}:
        pair = [tag for tag, count in counts.items() if count > 1 and tag.shape == shape]
        asks = [tag for tag in pair if asked[tag] * 2 >= counts[tag]]
        if len(pair) == 2 and len(asks) == 1 and all(_is_known(tag.who, names) for tag in pair if tag not in asks):
            found.update(asks)
    return {tag for tag in found if tag.who[:1].isupper() and not pattern("NO_SPEAKER").fullmatch(tag.who)}


def _is_known(who: str, names: SpeakerNames) -> bool:
    """Whether the label itself, or the document's text, shows that the label names a person."""
    return is_surely_person(who) or (who[:1].isupper() and " " not in who and _is_explained(who, names))


def _is_explained(who: str, names: SpeakerNames) -> bool:
    full = names.full(who)
    odd = full.endswith(f" ({who})") and not is_word(full.split()[0].lower())  # the lexicon lacks the first name
    return not pattern("TITLE").fullmatch(ordinary_case(who)) and (odd or is_person(full))


def _confirmed(blocks: Sequence[Block], tags: Tags, names: SpeakerNames) -> list[SpeakerTag | None]:
    """Returns the tags whose shape is confirmed: the labels and the text after them show that people speak."""
    counts = Counter(tag._replace(said="") for tag in tags if tag)
    fit = {tag for tag, count in counts.items() if _label_fits_shape(tag, count, names)}
    fit |= _askers(tags, names)
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
    sure = {shape for shape, spoken in turns.items() if _is_confirmed(shape, spoken, text, names)}
    posts = (tag.who for b, tag in zip(blocks, kept, strict=True) if tag and pattern("POST").match(b.text))
    sure |= {"stamp"} if len(set(posts)) > 1 else set()
    labels = {tag.who for tag in kept if tag and tag.shape in sure and not pattern("NOBODY").fullmatch(tag.who)} | (
        {"Q", "A"} if sure else set()
    )
    taken = [tag if tag and (tag.shape in sure or (tag.said and tag.who in labels)) else None for tag in kept]
    capitals = {tag for tag in counts if tag.who.isupper() and " " in tag.who and ordinary_case(tag.who) in text}
    likely = {tag for tag, count in counts.items() if count > 1} | capitals
    ends = [_doubtful_tag(tag, tag._replace(said="") in likely) if tag and tag.shape in sure else None for tag in tags]
    return [tag or end for tag, end in zip(taken, ends, strict=True)]


def _doubtful_tag(tag: SpeakerTag, likely: bool) -> SpeakerTag | None:
    """Returns a tag for a label that resembles the document's tags. Puts `PROBABLY` before a likely name. Leaves an
    unlikely name empty, so that the tag ends the turn."""
    words = tag.who.split()
    odd = len(words) > _MOST_LABEL_WORDS or (len(words) > 3 and not any(w[0].isupper() for w in words[1:]))
    if odd or not (tag.said or tag.shape == "alone"):
        return None
    named = likely and tag.said and tag.who[:1].isupper() and not pattern("NO_SPEAKER").fullmatch(tag.who)
    return tag._replace(who=PROBABLY + tag.who if named else "")


def _is_confirmed(shape: str, turns: Sequence[tuple[str, str]], text: str, names: SpeakerNames) -> bool:
    """Whether labels of a shape are speaker tags: they recur or all are known names, and speech follows them."""
    labels = Counter(who for who, _ in turns)
    if shape == "quoting":  # confirmed only by other tags with the same label
        return False
    if shape in ("signed", "quoted") or len(turns) < (2 if shape in (*_FREE_SHAPES, "alone") else 3):
        return shape in ("signed", "quoted")
    listed = 1 < len(labels) < _MOST_NAMES and all(text.count(who) > n for who, n in labels.items())
    known = max(labels.values()) > 1 or listed or all(_is_known(who, names) for who in labels)
    personal = sum(bool(pattern("OF_US").search(said)) for _, said in turns) / len(turns)
    about = sum(said.startswith(("He ", "She ", who.split()[0], who.split()[-1])) for who, said in turns)
    if shape in ("chat", "stamp"):
        return shape == "chat" or listed or personal >= 0.3 or max(labels.values()) > 1 < len(labels)
    telling = shape == "alone" and (about * 3 >= len(turns) or personal < 0.3)  # text about the people, not by them
    return len(labels) > 1 and known and personal >= 0.2 and not telling


def _interview_tags(blocks: Sequence[Block], read: Tags, tags: Tags, known: Mapping[str, str]) -> Tags:
    """Adds tags for the bold questions of an interview and for their answers. read: the tags before confirmation. If
    only the first of all questions has a label, the label names the speaker of all questions; the same holds for
    answers. known: the output of `_interview_sides`."""
    plain = [b.form == "paragraph" and not (b.speaker or tag) for b, tag in zip(blocks, tags, strict=True)]
    asked = bold = {i for i, b in enumerate(blocks) if plain[i] and b.bold and b.bold == len(b.text)}
    if not asked and any(pattern(p).search(b.text) for b in blocks[:3] for p in ("INTERVIEW", "INTERVIEWED")):
        plain = [plain[i] or (b.form == "heading" and not tags[i]) for i, b in enumerate(blocks)]
        asked = {i for i, b in enumerate(blocks) if plain[i] and b.text.endswith("?") and len(b.text) < 200}
    begin = min((i for i in asked if blocks[i].text.endswith("?")), default=len(blocks))
    while begin - 2 in asked and begin - 1 not in asked and pattern("OF_SELF").search(blocks[begin - 1].text):
        begin -= 2  # the interviewer may begin with a statement
    answered = {i for i in range(begin + 1, len(blocks)) if i - 1 in asked and i not in asked and plain[i]}
    personal = sum(bool(pattern("OF_SELF").search(blocks[i].text)) for i in answered)
    if len(answered) < 2 or personal * 3 < len(answered):
        return tags
    by, who = known["Q"], known["A"]
    labelled = {i: tag for i, tag in enumerate(read) if tag and tag.said and may_be_name(tag.who)}
    sides = _sides(answered, labelled, who or UNNAMED) | _sides({i for i in asked if i >= begin}, labelled, by)
    for i in set() if bold else {i for i in range(begin, max(asked)) if plain[i]} - sides.keys():
        likely = PROBABLY + who if who and pattern("OF_SELF").search(blocks[i].text) else UNNAMED  # may be a question
        sides[i] = labelled[i].who if i in labelled else likely
    said = {i: labelled[i].said if i in labelled else blocks[i].text for i in sides}
    return [SpeakerTag(sides[i], said[i], "asked") if i in sides else tag for i, tag in enumerate(tags)]


def _interview_sides(title: str, author: str, blocks: Sequence[Block], names: SpeakerNames) -> dict[str, str]:
    """Returns who asks ('Q') and who answers ('A') by title, author and text above the first question, or ''."""
    first = next((i for i, b in enumerate(blocks) if i and b.text.endswith("?")), 0)
    lead = [title, *(b.text for b in blocks[: min(first, _LONGEST_LEAD)])]
    bylines = [pattern("BYLINE").search(text) if len(text) < SHORT_BLOCK else None for text in lead]
    told = [s for text, by in zip(lead, bylines, strict=True) if not by for s in split_sentences(text)]
    of = {name: [m for m in map(pattern(name).search, [*lead, *told]) if m] for name in ("INTERVIEW", "ASKED", "ASKER")}

    def people(found: Iterable[re.Match[str] | None], *groups: str) -> list[str]:
        named = [m[group] for m in found if m for group in groups if m[group]]
        named = [without_leading_words(name) if pattern("TITLES").search(name) else name for name in named]
        return [names.full(name) for name in named if is_person(name)]

    with_whom = people(of["INTERVIEW"], "who")
    wrote = [author] if is_person(author) and "," not in author and not _is_among(author, with_whom) else []
    askers = [*wrote, *people(bylines, "who"), *people(of["ASKED"], "who", "one"), *people(of["ASKER"], "by")]
    met = [m for m in of["ASKED"] if not (m["who"] and pattern("PRONOUN").fullmatch(m["who"]))]
    if len(met) < len(of["ASKED"]) and not askers:  # 'She talked to Una Roe' may be about either side
        return {"Q": "", "A": ""}
    answers = [*with_whom, *people(of["INTERVIEW"], "told"), *people(met, "whom", "other")]
    (answers if askers else askers).extend(people(of["ASKER"], "who"))
    begun = [pattern("SUBJECT").match(s) or pattern("SUBJECT_OF_TWO").match(s) for s in told]
    subjects = people(begun, "who")
    sure = [name for name in answers if not _is_among(name, askers[:1])]
    others = {name.split()[-1]: name for name in subjects if not _is_among(name, askers)}
    only = next(iter(others.values()), "") if len(others) == 1 else ""
    return {"Q": next(iter(askers), ""), "A": next(iter(sure), only)}


def _is_among(name: str, people: Iterable[str]) -> bool:
    """Whether any of the people has this surname."""
    return name.split()[-1] in {other.split()[-1] for other in people}


def _sides(places: set[int], labelled: dict[int, SpeakerTag], who: str) -> dict[int, str]:
    """Returns who speaks each question or answer. It is uncertain without a label if a later one has a label."""
    sure = not any(i in labelled for i in sorted(places)[1:])
    found = {}
    for i in sorted(places):
        who = labelled[i].who if i in labelled else who
        found[i] = who if sure or i in labelled or who in ("", UNNAMED) else PROBABLY + who
    return found


# Turns

_LONGEST_LEAD = 6  # blocks above the first question of an interview
_COMPARED_POSTS, _SHORTEST_QUOTATION = 40, 12  # most earlier blocks compared with a post; shortest quotation
_MOST_ABOVE = 12  # blocks above the first item of minutes
_LEAST_SIGNED = 2  # fewest blocks with their writers' names
_POST_SHAPES = ("chat", "stamp", "quoted", "quoting")  # shapes whose labels give a time
_DETAIL = re.compile(r"[^\W\d_]{2,}")
_MOST_SILENT_BLOCKS = 3  # most blocks of a turn without a sign of speech


def with_speakers(blocks: Sequence[Block], left_out: Counter[str], title: str = "", author: str = "") -> list[Block]:
    """Returns the blocks with their speakers, without tags and times. Keeps speakers that are already set. Counts and
    drops system messages of chats. title, author: the document's title and author. Both may name the people of an
    interview."""
    blocks = _speakers_of_signed_posts(list(_speakers_of_mail_thread(blocks)))
    names = SpeakerNames(b.text for b in blocks)
    blocks = [part for block in blocks for part in transcript_turns(block, left_out)]
    lettered, minutes = speakers_of_letters(blocks), is_minutes(blocks)
    if lettered == blocks:
        sides = _interview_sides(title, author, blocks, names)
        tags = find_speaker_tags(blocks, sides, names)
        asker = next((tag.who for tag in _askers(tags, names)), "")
        sides = sides | {"Q": sides["Q"] or asker} if sides["A"] else sides
        tracker = _TurnTracker(tags, sides, names, left_out, minutes)
        lettered = list(tracker.spoken(blocks)) if any(tags) else blocks
    blocks = _speakers_of_sections(_speakers_of_headings(lettered), names)
    blocks = _speakers_of_quotations(_speakers_of_paragraphs(blocks, names))
    blocks = list(_speakers_of_minutes(blocks, names)) if minutes else blocks
    nobody = UNNAMED if author else ""  # a guest, a deleted user or a telephone number is not the author
    return [replace(b, speaker=nobody) if pattern("NOBODY_SPEAKS").match(b.speaker) else b for b in blocks]


def _speakers_of_mail_thread(blocks: Sequence[Block]) -> Iterator[Block]:
    """Assigns each message of a printed mail thread to the sender named above it."""
    heads = [list(pattern("PRINTED").finditer(b.text)) for b in blocks]
    forms: dict[str, list[str]] = {}  # words before each mail address; the first ones may belong to earlier text
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


def _speakers_of_signed_posts(blocks: list[Block]) -> list[Block]:
    """Gives posts that end with a name and a time, as on a wiki's talk page, to their writers, if several do."""
    found = (pattern("SIGNED_AT").search(b.text) if b.form in ("paragraph", "item") else None for b in blocks)
    ends = [end if end and is_handle(end["who"]) else None for end in found]
    if sum(map(bool, ends)) < _LEAST_SIGNED:
        return blocks
    return [
        replace(block, text=block.text[: end.start()].rstrip(), speaker=end["who"], bold=0)
        if end and end.start() and not block.speaker
        else block
        for block, end in zip(blocks, ends, strict=True)
    ]


def _inline_label(labels: Iterable[str]) -> re.Pattern[str]:
    """Returns a pattern for a known or titled label after a sentence ('We pay. Cllr Roe: We do.')."""
    known = [re.escape(label) for label in sorted(labels, key=len, reverse=True)[:_MOST_NAMES]]
    titled = rf"{source('TITLES')}(?:{source('WORD')} ?){{1,3}}"
    return re.compile(rf"(?<=[.!?”\"’]) ({'|'.join([*known, titled])}): (?=\S)")


def _detailed_label(block: Block, tag: SpeakerTag, speaker: str) -> Iterator[Block]:
    """Yields the label as a line above the turn if it has more words than the speaker's name: 'Una Roe (Greens)'. The
    line has no final mark, because sentences with a final mark may be quoted."""
    if tag.shape in (*_POST_SHAPES, "signed") or not block.text.endswith(tag.said):
        return
    label = block.text.removesuffix(tag.said).strip(" *:.–—-")
    if _has_details(label, tag.who, speaker):
        yield replace(block, text=label, speaker=speaker, form="paragraph", level=0, bold=0)


def _has_details(label: str, *names: str) -> bool:
    """Whether a label has words besides the names, times and verbs such as 'said'."""
    rest = pattern("POSTED").sub(" ", pattern("WEEKDAY").sub(" ", pattern("WHEN").sub(" ", label)))
    words, known = (set(_DETAIL.findall(text.casefold())) for text in (rest, " ".join(names)))
    return not words <= known | {"the"}


def _is_sent(tag: SpeakerTag | None) -> bool:
    """Whether a tag begins with a day or time: '[3 May 2025 9:15] una_b: I row.'"""
    return bool(tag and tag.shape == "chat")


class _TurnTracker:
    """Assigns blocks to turns."""

    def __init__(
        self, tags: Tags, sides: Mapping[str, str], names: SpeakerNames, left_out: Counter[str], reports: bool
    ) -> None:
        self._tags, self._names, self._left_out = tags, names, left_out
        self._last = max((i for i, tag in enumerate(tags) if tag), default=-1)
        self._labels = {tag.who for tag in tags if tag and tag.who}
        self._initialled = any(map(pattern("INITIALS").fullmatch, self._labels))
        self._stamped = any(tag.shape in ("chat", "stamp") for tag in tags if tag)
        self._who = self._shape = self._quoting = self._quoted = ""
        self._posting = False  # within a post, so that quoted blocks are another person's
        self._posted = deque[tuple[str, str]](maxlen=_COMPARED_POSTS)  # the last posts' texts and writers
        self._silent, self._aside, self._far = True, False, 0  # no text yet; after an aside; blocks since speech
        self._reports = reports  # in minutes, a block without a label may report another person
        self._known, self._sides = sides, {**sides}  # who asks or examines, and who answers
        answers = [tag.said for tag in tags if tag and tag.who == "A"]  # in a FAQ, few answers say 'I'
        self._personal = 3 * sum(bool(pattern("OF_SELF").search(said)) for said in answers) >= len(answers) > 0
        self._inline = _inline_label(self._labels)
        self._several_days = False  # posts name their days

    def spoken(self, blocks: Sequence[Block]) -> Iterator[Block]:
        """Yields the blocks with their speakers. Drops blocks that only name a speaker."""
        sent = [pattern("DATE").search(b.text) for b, tag in zip(blocks, self._tags, strict=True) if _is_sent(tag)]
        days = {post.day for post in find_posts(blocks).values()} or {day[0] for day in sent if day}
        self._several_days = len(days) > 1 and (not sent or is_thread(blocks))
        for i, (block, tag) in enumerate(zip(blocks, self._tags, strict=True)):
            if len(block.text) < SHORT_BLOCK:
                self._note_sides(block.text)
                self._note_sides(f"{blocks[i - 1].text} {block.text}" if i and blocks[i - 1].text.endswith(",") else "")
            if block.quoted and self._posting and (self._who or self._quoted):
                yield from self._quotation(block)
            elif tag and tag.who:
                turns = [part for turn in self._turns_of(tag) for part in self._begin(block, turn)]
                yield from _detailed_label(block, tag, turns[0].speaker if turns else self._who)
                yield from turns
            elif tag:
                self._who = ""
                yield block
            elif not (self._stamped and self._is_system(block.text)):
                yield self._go_on(block, i < self._last)

    def _turns_of(self, tag: SpeakerTag) -> Iterator[SpeakerTag]:
        """Yields the block's tag, and the tags of further turns in the same block: 'Cllr Roe: No. Cllr Vane: Yes.'"""
        said = tag.said
        while tag.shape in (":", ".") and (other := self._inline.search(said)):
            yield tag._replace(said=said[: other.start()].rstrip())
            said = said[other.end() :].lstrip()
            tag = tag._replace(who=other[1], said=said)
        yield tag

    def _side(self, label: str) -> str:
        """Returns the person that a label such as 'Q' stands for; `UNNAMED` for an unknown person who answers; '' for
        questions and answers without speakers, as in a FAQ."""
        asked = self._sides["A"]
        if label not in self._sides or self._sides[label] or "Witness" in asked:
            return self._sides.get(label, label)
        spoken = asked or (self._sides["Q"] and self._personal)
        return (INTERVIEWER if label == "Q" else UNNAMED) if spoken else ""

    def _note_sides(self, text: str) -> None:
        sworn, examined = pattern("WITNESS").fullmatch(text), pattern("EXAMINER").fullmatch(text)
        told = {"Q": examined or pattern("ASKER").search(text), "A": sworn or pattern("INTERVIEW").search(text)}
        for side, found in told.items():
            who = next(filter(None, found.groupdict().values()), "") if found else ""
            other = self._known["Q" if side == "A" else "A"]
            sure = self._known[side] or (other and is_person(who) and _is_among(self._names.full(who), [other]))
            if is_person(who) and (sworn or examined or not sure):
                name = self._names.full(who)
                self._sides[side] = name_with_label(name, "The Witness") if side == "A" and sworn else name
                if side == "Q" and examined and not self._sides["A"]:
                    self._sides["A"] = "The Witness"

    def _begin(self, block: Block, tag: SpeakerTag) -> Iterator[Block]:
        side = "A" if tag.who.upper() == "THE WITNESS" else tag.who
        named = self._side(side) if side in self._sides else ""
        unknown = side in self._sides and not named
        self._quoting = self._who if tag.shape in ("quoted", "quoting") else ""
        likely = PROBABLY if tag.who.startswith(PROBABLY) else ""
        full = self._names.full(tag.who.removeprefix(PROBABLY))
        self._who = named or (tag.who if tag.shape in ("chat", "stamp") else likely + full)
        self._who = "" if unknown else self._who
        if tag.shape == "post":
            self._who = self._poster(tag.who, block)
        elif self._several_days and _is_sent(tag) and (day := pattern("DATE").search(block.text)):
            self._who = f"{self._who} ({day[0]})"
        labelled = (side == "Q" or self._known["A"]) and "Witness" not in self._sides["A"]
        if (labelled or tag.shape == "asked") and self._who and self._who.removeprefix(PROBABLY) == self._known["Q"]:
            self._who = name_with_label(self._who, f"The {INTERVIEWER}")
        self._shape, self._silent, self._aside, self._far = tag.shape, not tag.said, False, 0
        self._posting, self._quoted = tag.shape in (*_POST_SHAPES, "post") and not block.quoted, ""
        if self._posting and tag.said.startswith(">"):
            yield from self._quotation(replace(block, text=tag.said.lstrip("> ")))
            return
        text = pattern("EDITED").sub("", tag.said)
        if tag.shape == "quoting":
            yield replace(block, text=tag.said, speaker=self._who, bold=0)
            self._end_quotation()
            return
        if tag.said and (tag.said[0] == "\u200e" or pattern("SYSTEM").fullmatch(text or "(edited)")):
            self._left_out["system messages"] += 1
        elif tag.said:
            form = "paragraph" if block.form == "heading" else block.form
            self._posted.extend([(text, self._who)] if tag.shape in ("post", "chat") else [])
            yield replace(block, text=text, speaker=self._who, form=form, level=0, bold=0)

    def _poster(self, who: str, block: Block) -> str:
        """Returns the writer of a post: 'una_b (3 May 2025)' if the posts have several days."""
        full = self._names.full(who)
        name = who if pattern("HANDLE").fullmatch(who) or who.islower() or full.casefold() == who.casefold() else full
        told = pattern("POSTED_BY").fullmatch(block.text) if self._several_days else None
        return f"{name} ({told['when']})" if told and told["when"] and told["colon"] else name

    def _quotation(self, block: Block) -> Iterator[Block]:
        """Assigns a quoted block of a post to the person it names, or to the writer of an earlier post with its words;
        else to nobody, but never to the post's writer."""
        if self._shape == "quoted":  # 'Una wrote:' above the quoted block
            self._quoted, self._who, self._shape = self._who, self._quoting, "stamp"
        text, told = block.text, pattern("QUOTING").match(block.text)
        if told and is_handle(told["who"]):
            self._quoted, text = told["who"], text[told.end() :]
        known = next((who for said, who in self._posted if len(text) >= _SHORTEST_QUOTATION and text in said), "")
        if text:
            yield replace(block, text=text, speaker=self._quoted or known or UNNAMED, bold=0)

    def _is_system(self, text: str) -> bool:
        """Whether a block is a time or a chat's system message. Counts the system messages."""
        stamp = pattern("STAMP").fullmatch(text)
        system = pattern("SYSTEM").fullmatch(text) or pattern("SYSTEM_LINE").fullmatch(text)
        self._left_out["system messages"] += bool(system and not stamp)
        return bool(stamp or system)

    def _go_on(self, block: Block, between: bool) -> Block:
        """Assigns a block without a tag to the current turn, or to no turn. between: another turn follows."""
        text, loose = block.text, self._shape not in ("chat", "stamp", "quoted", "post")
        if block.speaker or block.form in ("table", "caption") or not self._who or self._shape == "signed":
            return block
        self._far = 0 if pattern("OF_US").search(text) or self._silent or not loose else self._far + 1
        about = self._is_about_speaker(text)
        other = self._initialled and pattern("INITIALS").fullmatch(text.partition(" ")[0])
        told = about or other or pattern("LABEL").match(text) or pattern("NARRATION").search(text)
        others = bool(self._shape == "asked" and pattern("OTHERS").search(text))
        reported = speaker_in_clause(minutes_sentences(text)[0], "VERB_IN_MINUTES") if self._reports else ""
        others |= bool(reported and not pattern("PRONOUN").fullmatch(reported))  # 'Cllr Roe asked who pays.'
        narrated = loose and bool(told or others or self._far > _MOST_SILENT_BLOCKS)
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
        if self._shape == "stamp" and len(text) >= _SHORTEST_QUOTATION:
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
        """Whether the text reports an action of a speaker: '@una added a label'."""
        words = text.lstrip("@*").split(" ", 5)
        return any(" ".join(words[:n]) in self._labels and words[n][:1].islower() for n in range(1, len(words) - 1))


def _speakers_of_headings(blocks: Sequence[Block]) -> list[Block]:
    """Gives blocks to the writer in the heading above ('No, says Una'), if several headings of a level name one. One
    is enough if it also has the writer's role: 'A note from the chair, Una Roe'."""
    named = [pattern("HEADED").search(b.text) if b.form == "heading" else None for b in blocks]
    whose = [_writer_in_heading(m) if m else "" for m in named]
    levels = Counter(b.level for b, who in zip(blocks, whose, strict=True) if who)
    [(level, count)] = levels.most_common(1) or [(0, 0)]
    count += any(m and m["role"] for m in named)
    found, speaker = list(blocks), ""
    for i, (block, who) in enumerate(zip(blocks, whose, strict=True) if count >= _LEAST_SIGNED else ()):
        if block.form == "heading":
            speaker = who if block.level == level else speaker if block.level > level else ""
        elif not block.speaker and block.form in ("paragraph", "item"):
            found[i] = replace(block, speaker=speaker)
    return found


def _speakers_of_sections(blocks: Sequence[Block], names: SpeakerNames) -> list[Block]:
    """Gives a printed speech ('We print the words of our president, Una Roe'), up to the next heading or label, to its
    speaker; and gives a section of a newsletter to the name that ends it above the next title: '– U.R.'."""
    found, begin, who = list(blocks), 0, ""
    for i, (block, after) in enumerate(pairwise(blocks)):
        title = after.form == "heading" or not pattern("PROSE").search(after.text)
        signed = pattern("SECTION_END").fullmatch(f"– {block.text}" if block.form == "item" else block.text)
        name = names.full(signed["who"]) if signed and title and i - begin > 1 else ""
        if block.form == "heading" or pattern("LABEL").match(block.text):
            begin, who = i, ""
        elif is_person(name):
            told = [b.speaker or pattern("BELOW").fullmatch(b.text) for b in found[begin + 1 : i]]
            found[begin + 1 : i] = [b if any(told) else replace(b, speaker=name) for b in found[begin + 1 : i]]
        elif who and not block.speaker:
            found[i] = replace(block, speaker=who if pattern("OF_US").search(block.text) else PROBABLY + who)
        if printed := pattern("PRINTED_SPEECH").search(block.text):
            who = printed["who"]
    return found


def _writer_in_heading(found: re.Match[str]) -> str:
    who = found["who"]
    place = found["role"] and is_word(who.split()[0].lower())  # 'News from the valley, Mill Lane'
    return ordinary_case(who) if is_surely_person(who) or (is_handle(who) and not place) else ""


def _speakers_of_paragraphs(blocks: Sequence[Block], names: SpeakerNames) -> list[Block]:
    """Assigns each paragraph of a long quotation to its speaker. Each opens with a mark, and only the last one closes.
    The first one may be below its speaker: 'Una Roe, chair, said:'."""
    found = list(blocks)
    for i, block in enumerate(blocks[1:], 1):
        before = found[i - 1]
        begun = pattern("UNCLOSED").search(before.text)
        if block.speaker or block.form != "paragraph" or not pattern("ALL_QUOTED").fullmatch(block.text):
            continue
        told = speaker_in_clause(before.text) if before.text.endswith(":") else ""
        who = (before.speaker or reported_speaker(begun["said"], before.text)) if begun else told
        found[i] = replace(block, speaker=names.full(who) if is_person(who) else "")
    return found


def _speakers_of_quotations(blocks: Sequence[Block]) -> list[Block]:
    """Assigns a quotation to the person whom the previous block names, or who signs the quotation in the next block."""
    found = list(blocks)
    for i, (block, after, then) in enumerate(zip(found, found[1:], [*found[2:], None], strict=False)):
        if block.speaker or after.speaker or block.form != "paragraph" or after.form == "heading":
            continue
        item = after.form == "item" and (not then or then.form != "item") and pattern("SENTENCE").search(block.text)
        below = pattern("BELOW").fullmatch(f"— {after.text}" if item else after.text)
        quoted = block.text[0] in '“"«„' and block.text[-1] in '”"»“'
        lead = pattern("LEADING").search(block.text) if block.text.endswith(":") else None
        led = lead and is_person(lead["who"]) and pattern("OF_US").search(after.text)
        moved = pattern("MOVED").search(block.text)
        coded = pattern("CODED_END").search(block.text) or pattern("CODED_END").fullmatch(after.text)
        if coded and (quoted or block.quoted or block.text[0] in '“"' or (i and found[i - 1].text.endswith(":"))):
            found[i] = replace(block, speaker=coded["who"])
        elif below and (quoted or is_surely_person(below["who"])):
            found[i] = replace(block, speaker=below["who"])
        elif moved and is_person(moved["who"]) and pattern("MOTION_TEXT").match(after.text):
            found[i + 1] = replace(after, speaker=moved["who"])
        elif lead and led and not speaker_in_clause(after.text):
            found[i + 1] = replace(after, speaker=PROBABLY + lead["who"])
    return found


def _label_in_minutes(sentence: str, names: SpeakerNames) -> tuple[str, str, str]:
    """Returns the speaker whom a label names ('Cllr Roe (Greens): We pay.'), the words said, and a label with details.
    Returns '', the sentence and '' if there is no label."""
    label, _, rest = sentence.partition(": ")
    named = name_in_label(pattern("ITEM").sub("", label))
    if not (may_be_name(named) and pattern("OF_US").search(rest)):
        return "", sentence, ""
    who = names.full(named)
    if not (pattern("TITLED").match(f"{named} ") or pattern("ROLE").fullmatch(named)):
        return PROBABLY + who, sentence, ""
    return who, rest, label if _has_details(label, named, who) else ""


def _speakers_of_minutes(blocks: Iterable[Block], names: SpeakerNames) -> Iterator[Block]:
    """Splits the blocks of minutes where the reported person changes."""
    who = subject = ""
    blocks = list(blocks)
    listed = people_listed(b.text for b in blocks[:_MOST_ABOVE] if pattern("MINUTES").search(b.text))
    for block in blocks:
        if block.speaker or block.form not in ("paragraph", "item"):
            who = "" if block.form == "heading" else who
            yield block
            continue
        before, part = who, list[str]()
        who = ""
        for sentence in minutes_sentences(block.text):
            begun = pattern("SUBJECT").match(sentence)
            other = (listed.get(begun["who"]) or names.full(begun["who"])) if begun else ""
            known = is_surely_person(other) or other in listed.values()
            alone = begun and not sentence.startswith(" and ", begun.end("who"))
            full = sentence.replace(begun["who"], other, 1) if begun and alone and known else sentence
            motion, several = pattern("MOTION").match(sentence), pattern("SEVERAL").match(sentence)
            told = motion["who"] if motion else "" if several else speaker_in_clause(full, "VERB_IN_MINUTES")
            now = who
            if pattern("PRONOUN").fullmatch(told) or (not told and not part and sentence.startswith(("He ", "She "))):
                now = (who if part else before) or subject
            elif told or several or pattern("NARRATION").search(sentence) or pattern("LABEL").match(sentence):
                now = names.full(told) if told and not pattern("INDEFINITE").match(told) else ""
                now = told if now.casefold() == told.casefold() else now  # keeps 'PTA' in capitals
            by, sentence, details = ("", sentence, "") if told else _label_in_minutes(sentence, names)
            now = by or now
            if not told and known:  # a new person, but an unknown verb
                now = PROBABLY + other if alone and pattern("TELLING").search(sentence) else ""
            if part and (details or now != who):
                yield replace(block, text=" ".join(part), speaker=who, bold=0)
                part = []
            yield from [replace(block, text=details, speaker=now, form="paragraph", bold=0)] if details else []
            subject = PROBABLY + other if is_surely_person(other.partition(" (")[0]) else ""
            part.append(sentence)
            who = now
        if part:
            yield replace(block, text=" ".join(part), speaker=who, bold=0)
