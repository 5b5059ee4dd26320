"""Finds authors who are named without 'by'. A study's head names authors, institution and year: 'M. Ostrava¹,
T. Lindqvist²'. It may also say 'Summary of a study by M. Ostrava', or refer to the study itself: 'Ostrava, M. (2024).
Parking and trade.' A column ends with a line about its author: 'Una Roe teaches history.' A forum post names its writer
before its words: 'una_b, 3 May 2025: I …'. A head line lists author, publisher and day: 'Dr Ann Lee, Head of Research,
Fell Institute, 3 May 2024'. Commas, full stops, bars or dashes separate its parts, and no part has a finite verb."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tools.dates import WRITTEN_DATE, date_of_cell
from tools.language.lexicon import finite_verb, is_word, pos_tag
from tools.language.person_names import (
    is_handle,
    is_organisation,
    is_surely_person,
    may_be_name,
    name_in_label,
    pattern,
    source,
)
from tools.passages import Block

_HEAD, _SEARCHED = 8, 14  # blocks with authors; blocks with signs of a study
_LONGEST = 400  # characters of a line with authors
_NEAR, _LONGEST_DESCRIPTION = 3, 160  # blocks of the head; characters of a line about the author
_MOST_AUTHORS = 6
_SIGN = re.compile(
    r"(?i)^\W*(?:\d\.? )?abstract\b|^\W*(?:keywords|jel codes?)\b\W|\b(?:working|discussion) paper\b|\bdoi\b|"
    r"\bcorresponding author|(?:^|[;|]) ?(?:received|accepted)\b[^.]{0,40}\b(?:19|20)\d\d"
)
_SURNAME = rf"(?:(?i:{source('PARTICLE')}) ){{0,3}}{source('UPPER')}[\w'’-]+"
_REFERENCE = re.compile(
    rf"(?P<who>(?:{_SURNAME}, (?:[A-Z]\.[ -]?)+(?:(?:,? (?:&|and)|,|;) )?){{1,12}})"
    r" ?\((?P<year>(?:19|20)\d\d)[a-z]?\)"
)
_INVERTED = (
    rf"({_SURNAME}),? ((?:[A-Z]\.[ -]?){{1,4}}|[A-Z]{{1,3}}(?!\w))(?:,? ?(?:&|and) |[,;] ?(?:(?:&|and) )?|(?=\W*$))"
)
_INVERTED_NAMES = re.compile(rf"\W*(?:{_INVERTED}){{1,12}}")  # 'van der Berg, L., and de Souza, M. T.'
_DATE = re.compile(rf"(?i)\b(?:accepted|published(?: online)?|year)\b:? ({WRITTEN_DATE}|(?:19|20)\d\d)")
_ABOUT = re.compile(r"(?:She|He|Her|His)\b")
_STUDY_BY = re.compile(
    r"(?i)\W*(?:(?:an? |the )?(?:[\w-]+ )?(?:summary|abstract|findings|results) of )?(?:an? |the )?"
    rf"(?:study|(?:working |discussion )?paper) by (?P<who>.+?)(?:[,.|]? ?\(?{WRITTEN_DATE}\)?)?\W*"
)
_MARK = re.compile(r"(?<=[^\W\d_])(?:[\d*†‡§¶¹²³⁰-⁹]+(?:, ?[\d*†‡§¶]+)*)|\([^()]{2,90}\)")

_LABEL = re.compile(r"(?i)\W*(?:authors?|by):? (?=[^\W\d_])")
_SCHOLARLY = re.compile(r"\b(?:Universit|Institut|College|School|Facult|Laborator|Department|Centre|Center)")
_METHOD = re.compile(r"(?i)\b(?:stud(?:y|ies)|methods?|findings|review|sample|we (?:compared|measured|followed))\b")

_BODY = re.compile(  # begins in the next line of a page: 'Tom Lindqvist University of Kelby'
    r"(?<=\w) (?=(?:University|School|Institute|Department|Centre|College|Faculty|Laboratory) (?:of|for)\b)"
)


def read_study_head(blocks: Sequence[Block]) -> dict[str, str]:
    """Returns author, publisher and date of a study; {} for other documents."""
    if own := _own_reference(blocks):
        names = re.findall(rf"({_SURNAME}), ((?:[A-Z]\.[ -]?)+)", own["who"])
        return {"author": _listed([f"{first.strip()} {last}" for last, first in names]), "date": own["year"]}
    heads = [_STUDY_BY.fullmatch(block.text) for block in blocks[:_NEAR] if len(block.text) <= _LONGEST]
    for people, bodies in (_authors_of_line(head["who"]) for head in heads if head):
        if people:
            return {"author": _listed(people), "publisher": next(iter(bodies), "")}
    signed = any(_SIGN.search(block.text) for block in blocks[:_SEARCHED])
    told = [day for block in blocks[:_SEARCHED] for day in _DATE.findall(block.text)]
    lines = [line for block in blocks[1:_HEAD] for line in block.text.split("\n") if len(line) <= _LONGEST]
    dated = [line for line in lines if "" in head_parts(line)]
    authors, bodies = next(filter(lambda found: found[0], map(_authors_of_line, lines if signed else dated)), ([], []))
    scholarly = len(authors) > 1 and any(map(_SCHOLARLY.search, bodies))
    if not signed and not (scholarly and any(_METHOD.search(block.text) for block in blocks[:_SEARCHED])):
        return {}
    date = date_of_cell(told[-1][0]) if told else ""
    return {"author": _listed(authors), "publisher": next(iter(bodies), ""), "date": date}


def _own_reference(blocks: Sequence[Block]) -> re.Match[str] | None:
    """Returns the only reference, if it is in the head and repeats each heading above it: else it may be of a work that
    the document reviews."""
    cited = [(place, m) for place, m in enumerate(_REFERENCE.match(block.text) for block in blocks) if m]
    if len(cited) != 1 or cited[0][0] >= _NEAR:
        return None
    place, own = cited[0]
    titles = [block.text.rstrip(".").casefold() for block in blocks[:place] if block.form == "heading"]
    return own if all(title in own.string.casefold() for title in titles) else None


def _authors_of_line(line: str) -> tuple[list[str], list[str]]:
    """Returns the people at a line's start, and the organisations after them; nobody if other words follow."""
    line = _LABEL.sub("", ", ".join(filter(None, head_parts(line))) or line)
    plain = _BODY.sub(", ", _MARK.sub("", line)).replace("  ", " ")
    people: list[str] = []
    if inverted := _INVERTED_NAMES.match(plain):
        named = re.findall(_INVERTED, inverted[0])
        if "." in named[0][1] or (len(named) > 1 and not all(is_word(last.lower()) for last, _ in named)):
            people = [f"{first.strip()} {last}" for last, first in named]
            plain = plain[inverted.end() :]
    while found := re.match(r"\W*([^,;|·•&]+?)(?:,? (?:and|&) |\s*[,;|·•]\s*|\W*$)", plain):
        if not is_author(found[1]):
            break
        people.append(found[1])
        plain = plain[found.end() :]
    bodies = [part.strip() for part in re.split(r"[,;|·•]", plain)]
    return (
        (people, list(filter(is_organisation, bodies))) if all(b[:1].isupper() or not b for b in bodies) else ([], [])
    )


def is_author(name: str) -> bool:
    """Whether a name in a study's head is a person's, also with initials and a word as surname: 'J. P. Marrow'."""
    initial = re.match(r"(?:[A-Z]\. ?)+[A-Z]\w", name) and pattern("PERSON").fullmatch(name)
    return bool(initial or (" " in name and is_surely_person(name))) and not is_organisation(name)


def described_author(blocks: Sequence[Block]) -> str:
    """Returns the person whom a line in the head or foot describes, if no other text names the person."""
    head = [] if any(_ABOUT.match(block.text) for block in blocks) else blocks[1:_NEAR]  # else of a portrait
    lines = {b.text for b in (*head, *blocks[-1:]) if len(b.text) <= _LONGEST_DESCRIPTION}
    named = [m["who"] for m in map(pattern("PRESENTED").match, lines) if m and is_author(m["who"])]
    if len(named) != 1:
        return ""
    mentions = sum(named[0].split()[-1] in block.text for block in blocks)
    return named[0] if mentions == 1 < len(blocks) - 1 else ""


def _listed(people: Sequence[str]) -> str:
    more = len(people) - _MOST_AUTHORS
    return ", ".join([*people[:_MOST_AUTHORS], *([f"{more} others"] if more > 0 else [])])


LONGEST_HEAD_LINE = 200  # characters
_DAY = re.compile(rf"(?i)(?<!\w){WRITTEN_DATE}")
_TITLES = "".join(rf"(?<!\b{title})" for title in ("Dr", "Mr", "Ms", "St", "Mrs", "Rev", "Prof", "Cllr", "Capt"))
_STOP = re.compile(rf"(?:(?<=[^\W\d_]{{2}})|(?<=[\d|*]))[*_]*{_TITLES}\.[*_]*(?:\s+|$)")
_BETWEEN = re.compile(r"[|·•]|[;,](?=\s|\|)|\s[–—-]+\s")
_ASIDE = re.compile(r"\s\([^()]*\)")
_PARTICIPLES = ("held", "made", "sent", "led")
_DAY_MARK = "\0"  # stands for a day
_OTHER = re.compile(  # begins a sentence, or a line about another text, a picture or a recipient
    r"(?i)\W*(?:(?:in|on|at|since|after|before|until|during|when|to)\b|(?:photo|picture|image|illustration|contact)|"
    r"(?:(?:a|an|the|in) )?(?:reply|response|reaction|answer|comment|review) (?:to|on|of)\b)"
)
_EVENT = re.compile(
    r"(?i)(?:an? |the )?(?:public |open )?(?:meeting|hearing|session|debate|talk|lecture|workshop|conference|event)\b"
)
_LABELLED = re.compile(r"(?i)\W*(?:authors?|text|words|written by|by|interview(?:er)?):? [^\W\d_]")
COLUMN = re.compile(r"(?i)opinion|column|comment(?:ary)?|essay|about the authors?\b.*")
_BODY_OF = re.compile(
    r"(?i)(?:(?:newsletter|magazine|journal|bulletin) of|(?:published|broadcast) (?:in|by|on):?) (?:the )?(?=\w)"
)


def head_parts(line: str) -> list[str]:
    """Returns the parts of a head line with a day or a label, an empty part for each day. Returns [] for prose. Prose
    may follow a body and its day: 'Fell Magazine, May 2024. Ann Lee asked.'"""
    text, days = _DAY.subn(f"|{_DAY_MARK}|", _ASIDE.sub("", line))
    if not (days or _LABELLED.match(line)) or len(line) > LONGEST_HEAD_LINE or _OTHER.match(line):
        return []
    found: list[str] = []
    for sentence in filter(None, _STOP.split(text)):
        parts = [part for part in (part.strip(" *_,.") for part in _BETWEEN.split(sentence)) if part]
        if any(map(_has_verb, parts)):
            return found if "" in found and any(map(body_of_part, found)) else []
        found += [part.removeprefix(_DAY_MARK) for part in parts]
    return found


def _has_verb(part: str) -> bool:
    """Whether a part has a finite verb in lower case: a name such as 'Radio Fell' has none."""
    words = [word if word[0].islower() else "Una" for word in part.split()]
    told = words[0] not in _PARTICIPLES and pos_tag(words[0]) in ("VBD", "VBZ") and not words[0].endswith("ed")
    return told or "that" in words or finite_verb(words) is not None


def body_of_part(part: str) -> str:
    """Returns the body that a part names: 'Fell Magazine' for 'Published in Fell Magazine'; else ''."""
    told = pattern("KIND_BY").fullmatch(part)
    name = told["who"] if told else part if is_organisation(part) else _BODY_OF.sub("", part)
    return name if is_organisation(name) else ""


def publisher_of_parts(parts: list[str], first: bool = False) -> str:
    """Returns the newspaper that the parts name, else the first body, else ''. first: only the first part counts,
    because later ones may name a place or an employer. The same holds for lines that announce an event."""
    first = first or any(map(_EVENT.match, parts))
    bodies = list(filter(None, map(body_of_part, parts[:1] if first else parts)))
    return next(filter(pattern("PAPER").search, bodies), next(iter(bodies), ""))


def author_of_parts(parts: list[str]) -> str:
    """Returns the person who begins a line with one day, if a role or body beside the name shows that it is no place's
    name; else ''."""
    who, *others = (parts[1:] if parts and COLUMN.fullmatch(parts[0]) else parts) or [""]
    if others.count("") != 1 or not is_surely_person(who) or is_organisation(who) or pattern("ROLE").fullmatch(who):
        return ""
    titled = pattern("TITLED").match(f"{who} ")
    beside = others if titled else others[:1]
    return who if pattern("ROLE").fullmatch(others[0]) or any(map(is_organisation, beside)) else ""


_LONGEST_LINE = 160  # characters of a line that calls the document a thread
_IN_MARKS, _PATH = re.compile(r"[\"“]([^\"“”]{4,120})[\"”]"), re.compile(r"\s[>»|]\s")
_LEAST_PERSONAL = 0.2  # share of posts that say 'I', 'we' or 'you', or that ask


class Post(NamedTuple):
    """A post's writer, its day as written ('' without one), and its words ('' if they are in the next blocks).
    open: no colon ends the label."""

    who: str
    day: str
    said: str
    open: bool = False


def is_thread(blocks: Sequence[Block]) -> bool:
    """Whether the first lines call the document a thread."""
    return any(pattern("THREAD").search(b.text) for b in blocks[:_NEAR] if len(b.text) <= _LONGEST_LINE)


def thread_title(blocks: Sequence[Block]) -> str:
    """Returns the title in the first line of a thread: 'Tolls?' for 'Kelby Chat: export of thread 7 "Tolls?"' or for
    'Kelby Chat > Roads > Tolls?'; else ''."""
    first = blocks[0].text if is_thread(blocks) else ""
    quoted, path = _IN_MARKS.search(first), _PATH.split(first)
    return quoted[1] if quoted else path[-1] if len(path) > 1 and len(first) <= _LONGEST_LINE else ""


def find_posts(blocks: Sequence[Block]) -> dict[int, Post]:
    """Returns the posts by the indexes of their blocks; {} for a document that is no thread. Without a line that calls
    the document a thread, posts need days, and writers who recur or have surely names."""
    thread = is_thread(blocks)
    found = {i: post for i, block in enumerate(blocks) if (post := _post_of(block, thread))}
    if any(post.open for post in found.values()) and not _are_labels(blocks, found, thread):
        found = {i: post for i, post in found.items() if not post.open}
    if board := {i: post for i, post in found.items() if pattern("POSTED_AS").fullmatch(blocks[i].text)}:
        return board
    writers = Counter(post.who for post in found.values())
    said = [post.said or " ".join(b.text for b in blocks[i + 1 : i + 1 + _NEAR]) for i, post in found.items()]
    personal = sum(bool(pattern("OF_US").search(text)) for text in said)
    opened = any(post.open for post in found.values())
    says = any((told := pattern("POSTED_BY").fullmatch(blocks[i].text)) and told["says"] for i in found)
    sure = thread or opened or says or max(writers.values(), default=0) > 1 or all(map(_is_surely_writer, writers))
    return found if len(writers) > 1 and sure and personal >= _LEAST_PERSONAL * len(found) else {}


def _are_labels(blocks: Sequence[Block], posts: Mapping[int, Post], thread: bool) -> bool:
    """Whether names and days without a colon are above posts. They may also name events ('Harbour Walk (Saturday,
    10:00)') or sign letters, so the document must be a thread, a writer must recur, or posts must quote; and text must
    follow each label, but no text in the first person may be above the first one."""
    if all(blocks[i].quoted for i in posts):
        return True  # comments below an article
    above = [b.text for b in blocks[: min(posts)] if b.form != "heading" and pattern("PROSE").search(b.text)]
    empty = [i for i, post in posts.items() if not post.said and (i + 1 in posts or i + 1 == len(blocks))]
    recurs = len({post.who for post in posts.values()}) < len(posts)
    sure = thread or recurs or any(block.quoted for block in blocks)
    return sure and not empty and not any(map(pattern("OF_SELF").search, above))


def _post_of(block: Block, thread: bool) -> Post | None:
    told = pattern("POSTED_BY").fullmatch(block.text) if block.form in ("paragraph", "item") else None
    if posted := pattern("POSTED_AS").fullmatch(block.text):
        return Post(posted["who"], posted["when"] or "", "")
    if not told or block.speaker or (block.quoted and not block.bold):
        return None
    who, day, said = name_in_label(told["who"]), told["when"] or "", told["said"] or ""
    opened = bool(day and not (told["colon"] or told["says"]))
    if not (said or day) or (opened and said and not len(who) <= block.bold < len(block.text)):
        return None
    known = _is_surely_writer(who) or may_be_name(who) or (" " not in who and not is_word(who.lower()))
    known = known or bool(day and (thread or block.quoted or told["says"]))
    if pattern("NO_SPEAKER").fullmatch(who) or not is_handle(who) or not known:
        return None
    if opened and (who != told["who"].rstrip(",") or is_organisation(who)):  # 'Marsh Forum, 3 May 2025'
        return None
    labelled = thread and (block.bold or pattern("HANDLE").fullmatch(who))
    return Post(who, day, said, opened) if day or labelled else None


def _is_surely_writer(who: str) -> bool:
    return bool(pattern("HANDLE").fullmatch(who)) or is_surely_person(who)
