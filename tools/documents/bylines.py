"""Finds author, publisher and date in a document's first lines ('By A. Name', '*Gazette, 14 March 2025*'), in its
signature ('Yours faithfully,') or in its properties, and the writer of each letter of a letters page. If the author is
doubtful, returns none, because no author is better than a wrong author."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby, pairwise, takewhile

from tools.dates import WRITTEN_DATE, date_of_cell
from tools.documents.author_lines import (
    COLUMN,
    LONGEST_HEAD_LINE,
    author_of_parts,
    described_author,
    find_posts,
    head_parts,
    is_author,
    is_thread,
    publisher_of_parts,
    read_study_head,
)
from tools.language.lexicon import is_word, lexicon_tag
from tools.language.person_names import is_organisation, is_surely_person, ordinary_case, pattern, source
from tools.passages import PROBABLY, Block
from tools.translation import mark

_HEAD, _TOP, _MINUTES_HEAD, _SEARCHED = 3, 8, 12, 500  # blocks
_LONGEST = LONGEST_HEAD_LINE  # characters
_LONGEST_OWNER = 40  # characters
_NO_HEAD = ("table", "note")
_BLOCKS_BELOW_CLOSING, _MOST_SIGNERS = 12, 3  # most blocks below a closing; most signers that are named
_DATED = re.compile(
    r"(?i)(?:^\W*(?:posted|written|published) by [^.\d]{2,60}? |"
    r"^\W*(?:(?:started|launched|submitted|recorded|signed|adopted) )?|(?<=[|·•,;.(])\s*|\s[–—-]+\s|"
    r"\b(?:published|posted|written|dated?|issued|release|broadcast|aired|tx|thread (?:started|opened|begun)|"
    r"(?:held|minutes|meeting|hearing)(?: [^.\d]{0,60} o[nf])?):?\s)"
    rf"(?:(?:on|of|in) )?{WRITTEN_DATE}(?=\W*$|\s?[|·•,;.)]|\s[–—-]|"
    r"\s(?:by|in|at|from|commencing|starting|page|time:)\s)"
)
_OTHER_DATE = re.compile(
    r"(?i)\b(?:next|previous|last meeting|deadline|until|due|clos\w+|expir\w+|born|died|effective|since|before|after|"
    r"between|copyright|accessed|retrieved|updated|changed)\b|©|\d(?: [a-z]+)? ?[–—] ?\d\d? [a-z]"
)
_LATER = re.compile(r"(?i)\b(?:next|previous|last) (?:meeting|hearing|session)|deadline")
_SENTENCE = re.compile(r"\w{2}(?<!\bvol)(?<!\bpp)[.!?][\"'”’)*_]*(?!\S)")
_PART = re.compile(r"\s[–—-]+\s|,\s+|(?<=[^\W\d_]{2})\.\s+")
_BY = re.compile(
    r"(?i)(?:^|[|·•,;.])\W*(?:an?\s)?(?:(?:(?:words|text|story|report|column|opinion|interview|essay|speech|article|letter|remarks|round-?up|feature|review|analysis|address|lecture|sermon|talk|keynote|"
    r"petition|statement|testimony|evidence|submission|dictated|started|created|launched|made|given|"
    r"written|posted|submitted|prepared) ){0,2}by:?|letter (?:to the \w+ )?from|(?:author|text|words|from)s?:|"
    r"(?:written|taken|noted) down for|(?:statement|testimony|evidence) of) +"
    r"([^|·•;(]+)"
)
_ISSUED = re.compile(
    r"(?i)\W*(?:issued|published|released|prepared) by:? (?:the )?(?P<who>[^|·•,;.()]{3,80}?)(?=\W*$|[|·•,;.(]| on \d)"
)
_POSTED_ON = re.compile(rf"\W*(?i:posted|written|published) by (?P<who>{source('PERSON')}),? on (?=[\w, ]{{0,22}}\d)")
_STARTED = re.compile(rf"\W*(?P<who>{source('PERSON')}) (?:has )?(?:started|created|launched) this petition\b")
_SMALL_WORD = re.compile(r"(?<= )(?:Of|And|For|The|In|On|At)(?= )")
_FIELDS = r"(?:publisher|published by|issued by|source|author|date)"
_FIELD = re.compile(rf"(?i)\W*(?P<field>{_FIELDS}):\W*(?P<value>\S.*)")
_NEXT_FIELD = re.compile(rf"(?i)[\s|·•;]+(?={_FIELDS}: )")
_LAST_DATE = re.compile(rf"(?i)[\s,|·•(–—-]+(?:{WRITTEN_DATE}|(?:19|20)\d\d)\W*$")
_SITE = re.compile(r"(?:https?://)?((?:[\w-]+\.)+[a-z]{2,})/?")
_PLACE = re.compile(r"\W*(?:[A-Z][\w'’-]+ ){0,3}[A-Z][\w'’-]+,? ")
_LETTER = re.compile(r"(?i)\b(?:open )?letter\b")
_SPEECH = re.compile(r"(?i)\b(?:speech|remarks|sermon|lecture|testimony|(?:statement|address) (?:to|by|at))\b")
_SALUTED = re.compile(r"(?i)dear \w")
_LABEL = re.compile(
    r"(?i)(?:(?:press|news|media) (?:release|statement)|(?:for )?immediate release|opinion|editorial|comment(?:ary)?):?"
)
_SENT_BY = re.compile(r"(?i)(?:an? |the )?(?:note|memo(?:randum)?|letter|message|statement|remarks) (?:from|by)\b")
_BESIDE_TITLE = re.compile(r"(?i)\W*(?:embargo|dear\b|(?:to|cc|present|contacts?|e-?mail|phone|tel)\s?:)")
_LONGEST_TITLE = 14  # words
_POSTED = re.compile(rf"(?i)\b(?:wrote|posted|commented|replied|said)\b[,:]?(?: on| at)? .{{0,12}}?{WRITTEN_DATE}")
_WRITTEN = re.compile(rf"(?i){WRITTEN_DATE}")
_LEAST_POSTS = 2
_SENT = re.compile(rf"{source('WHEN')}[\s–:—-]+[^\s:<>][^:<>\n]{{0,60}}?:\s")  # '[2024-05-03 9:15] una: I row.'
_UPDATED = re.compile(
    rf"(?i)(?:(?:last|first) )?(?:updated|published|posted|issued|revised|reviewed)(?: on)?:?(?: {WRITTEN_DATE})?$"
)
_UPDATED_ON = re.compile(rf"(?i)(?<!be )\b(?:updated|reviewed|revised|amended)(?: on)?:? {WRITTEN_DATE}\W*$")
_ALONE = re.compile(rf"(?i)\W*{WRITTEN_DATE}\W*")
_FAQ = re.compile(r"(?i)\bFAQs?\b|\bfrequently asked\b|\bquestions and answers\b|\bquestions,? answered\b|\bQ ?& ?A\b")
_MEETING = re.compile(
    r"(?i)(?:(?:annual|general|ordinary|special|monthly|extraordinary|public|full|committee|board|council) ){0,5}"
    r"(?:meeting|minutes|session|hearing|council|committee|board)\W*$"
)
_OUTLET_END = re.compile(r"\s[–—-]+\s|\s?[|·•,:]|\s\d+[.,]\d$")  # also the frequency of a radio station
_ON_AIR = re.compile(r"(?i)\b(?:radio|fm|tv|podcast)\b")
_NO_PUBLISHER = (_UPDATED, _FAQ, _MEETING)
_MINUTED = re.compile(r"(?i)\b(?:minutes|notes by)\b")
_MEETS = re.compile(r"(?i)\b(?:apologies|resolved (?:that|to)|matters arising|next meeting|seconded)\b")
_PETITION = re.compile(  # in a line that is no sentence
    r"(?i)^\W*(?:an? |the |public |online |e-)*petition(?:ers)?\b|\bpetition (?:to|by|from)\b"
)
_PETITIONED = re.compile(r"(?i)\b(?:this|our) petition\b(?!['’]s)|\bwe,? the undersigned\b")
_RELEASE = re.compile(r"(?i)(?:press|news|media) (?:release|statement)")
_TITLED = re.compile(r"[^\W\d_]\. |(?:Dr|Prof|Professor|Mrs?|Ms|Cllr|Councillor|Rev|Dame)\b")
_PARTICLES = frozenset("de van von der den da di la le al bin ap ter dos du y".split())
_NO_AUTHOR = re.compile(
    r"(?i)\d|[:/@]|\b(?:(?:your|author|company) name|user|customer|admin\w*|owner|unknown|anonymous|python|microsoft|"
    r"acrobat|adobe|(?:libre|open)office|root|guest|default|windows|template|staff|reporter|correspondent|editor|our)\b"
)


def properties_byline(properties: Mapping[str, str], blocks: Sequence[Block], publisher: str = "") -> dict[str, str]:
    """Returns 'date' and 'author' from a file's properties. Refuses authors that are programs, accounts, single words,
    or the beginning of the publisher's name. If the properties have no 'date', returns the day of the file's creation
    ('made'), unless the first blocks name a day or another year."""
    parts = re.split(r"\s*[;\n]\s*", properties.get("author", "")[:_LONGEST].strip())
    author = ", ".join(part for part in parts if " " in part and not _NO_AUTHOR.search(part))
    author = "" if publisher.startswith(author) else author
    date, made = (date_of_cell(properties.get(name, "")) for name in ("date", "made"))
    head = " ".join(block.text[:_LONGEST] for block in blocks[:_HEAD])
    years = re.findall(r"\b(?:19|20)\d\d\b", head)
    dated = any(len(date_of_cell(day)) == 10 for day in _WRITTEN.findall(head))
    return {"date": date or ("" if dated or not {made[:4]}.issuperset(years) else made), "author": author}


def read_byline(blocks: Sequence[Block]) -> dict[str, str]:
    """Returns date, author and publisher from the first lines, '' if missing. Returns no date if two dates contradict
    each other. Returns no author if later bylines name other people, because nobody wrote the whole."""
    (date, first), (_, authors) = (_dates_and_authors(blocks[:_TOP]), _dates_and_authors(blocks[:_SEARCHED]))
    study, issued = read_study_head(blocks), _issuer(blocks)
    author = first[0] if first and len(set(authors)) == 1 else study.get("author", "") or _author_in_head(blocks)
    date = date or study.get("date", "") or _later_date(blocks)
    named = (_publisher(blocks[:_TOP]), study.get("publisher", ""), issued.get("publisher", ""), _releasing(blocks))
    told = (*named, _owner(blocks))
    publisher = next(filter(None, told), "")
    if publisher.isupper() and " " in publisher:  # 'THE HILL WEEKLY' is no other source than 'The Hill Weekly'
        publisher = _SMALL_WORD.sub(lambda word: word[0].lower(), ordinary_case(publisher))
    return {"date": date or issued.get("date", ""), "author": author, "publisher": publisher}


def _author_in_head(blocks: Sequence[Block]) -> str:
    """Returns the people whom a line of the head names alone. Returns '' for portraits, which name the people again,
    and for texts without 'I' or 'we'."""
    head = [b.text for b in takewhile(lambda b: b.form not in _NO_HEAD and not _is_prose(b.text), blocks[:_TOP])]
    prose = [block.text for block in blocks[len(head) :]]
    lines = ["", *(line for text in head for line in text.split("\n")), ""]
    kinds = [text for text in (*head, *prose) if COLUMN.fullmatch(text.strip(" *_"))]
    told = (people_alone(lines[i], lines[i - 1], lines[i + 1], *kinds) for i in range(1, len(lines) - 1))
    found = set(filter(None, told))
    other = is_minutes(blocks) or any(map(_SALUTED.match, head)) or not any(map(pattern("OF_US").search, prose))
    one = found.pop() if len(found) == 1 and not other else ""
    rest = [text for text in prose[:-1] if text not in kinds]
    return "" if any(name.split()[-1] in text for name in one.split(", ") if name for text in rest) else one


def people_alone(line: str, *beside: str) -> str:
    """Returns the people whom a line names alone, if a line beside it has only their role, column or body: 'Ann Lee and
    Bo Lind' above 'Hill Institute'; else ''. Beside a body, a single name without a title may be a place."""
    people = [ordinary_case(name) for name in re.split(r",? (?:and|&) |, ", line.strip(" *_"))]
    bodies = [issued["who"] if (issued := _ISSUED.match(text)) else text.strip(" *_") for text in beside]
    about = any(pattern("ROLE").fullmatch(text.split(",")[0]) or COLUMN.search(text) for text in bodies)
    about |= (len(people) > 1 or bool(pattern("TITLED").match(f"{line} "))) and any(map(is_organisation, bodies))
    return ", ".join(people) if about and all(map(is_author, people)) else ""


def blog_line(blocks: Sequence[Block]) -> int:
    """Returns the place of the only line such as 'Posted by Ann on 3 May 2024', if it is in the head; else 0."""
    found = [i for i, block in enumerate(blocks) if _POSTED_ON.match(block.text)]
    return found[0] if len(found) == 1 and found[0] < _TOP else 0


def _issuer(blocks: Sequence[Block]) -> dict[str, str]:
    """Returns publisher and date of a line above or below the text: 'Ann Lee, Hill Coaches Ltd, 3 May 2024', 'Issued by
    Hill Coaches Ltd'. The person is no author, because releases end with a contact. Returns {} if several lines name
    bodies, as on a page of letters."""
    letters = any(pattern("LETTERS").search(block.text) for block in blocks[:_HEAD])
    ends = (*blocks[:_HEAD], *blocks[-_HEAD:]) if len(blocks) > _HEAD and not letters else ()
    found = [told for block in ends if (told := _issuer_of_line(block, blocks))]
    others = [_issuer_of_line(block, blocks) for block in (blocks[:_SEARCHED] if found else ())]
    return found[0] if len({told["publisher"] for told in (*found, *others) if told}) == 1 else {}


def _issuer_of_line(block: Block, blocks: Sequence[Block]) -> dict[str, str]:
    if len(block.text) > _LONGEST or block.form in _NO_HEAD or block.speaker:
        return {}
    who, *parts = (part.strip() for part in _DATED.sub("", block.text).split(","))
    day, issued = _DATED.search(block.text), _ISSUED.match(block.text)
    bodies = [part for part in parts if is_organisation(part)] if day and is_surely_person(who) else []
    firm = issued and " & " in issued["who"] and issued["who"].replace(" & ", " ").istitle()  # 'Roe & Pell'
    if issued and (
        firm or is_organisation(issued["who"]) or (" " not in issued["who"] and _acts(issued["who"], blocks))
    ):
        bodies = [issued["who"]]
    return {"publisher": bodies[0].rstrip("."), "date": date_of_cell(day[1]) if day else ""} if len(bodies) == 1 else {}


def _later_date(blocks: Sequence[Block]) -> str:
    """Returns the only day of an update ('Updated 3 May 2024') in the head or foot. Without updates, returns the day
    below a letter's closing, or in its last block."""
    ends = [b.text for b in (*blocks[:_TOP], *blocks[-_HEAD:]) if len(b.text) <= _LONGEST]
    found = {date_of_cell(told[1]) for told in map(_UPDATED_ON.search, ends) if told}
    below = [b.text for b in below_closing(blocks) if is_dateline(b.text)] if not found else []
    last = blocks[-1].text if blocks and not found and _is_letter(blocks) else ""
    days = [_DATED.search(text) for text in below] or [_ALONE.fullmatch(last)]
    return found.pop() if len(found) == 1 else date_of_cell(days[-1][1]) if days[-1] else ""


def read_signature(blocks: Sequence[Block]) -> dict[str, str]:
    """Returns the author or publisher below the closing of a letter or statement, if it has one closing."""
    below = [block.text for block in below_closing(blocks)]
    signed = [text for text in below if not (has_sentence(text) or is_dateline(text))]
    if not signed and blocks:
        last = pattern("SIGNED_BY").fullmatch(blocks[-1].text)
        signed = [last["who"]] if last else _lines_below_letter(blocks)
    names = [re.split(r"[,(|]| [–—-] ", text.strip(" *_–—-"))[0].strip() for text in signed]
    named = [name for text in signed for name in pattern("SIGNER").findall(text)]
    people = [name for name in named if is_signer(name)]
    if len(people) > _MOST_SIGNERS + 1:
        people = [*people[:_MOST_SIGNERS], f"{len(people) - _MOST_SIGNERS} others"]
    bodies = [name for name in names if is_organisation(name)]
    return {
        "author": ", ".join(people) or described_author(blocks),
        "publisher": "" if people else next(iter(bodies), ""),
    }


def is_signer(name: str) -> bool:
    """Whether a name in a signature is surely a person's."""
    role = pattern("ROLE").fullmatch(name)  # 'Secretary'
    return not role and is_surely_person(name) and not is_organisation(name)


def below_closing(blocks: Sequence[Block]) -> Sequence[Block]:
    """Returns the blocks below the closing, if there is only one closing and few blocks follow. A closing may share its
    block with the name: 'Yours, Una Roe, chair'."""
    closed = [pattern("CLOSED_BY").fullmatch(b.text) if len(b.text) <= _LONGEST else None for b in blocks]
    closings = [i for i, b in enumerate(blocks) if closed[i] or pattern("CLOSING").fullmatch(b.text)]
    signed = blocks[closings[0] + 1 :] if len(closings) == 1 else []
    if len(closings) == 1 and (own := closed[closings[0]]):
        signed = [replace(blocks[closings[0]], text=own["who"]), *signed]
    return signed if len(signed) <= _BLOCKS_BELOW_CLOSING else []


def _lines_below_letter(blocks: Sequence[Block]) -> list[str]:
    """Returns the last lines of a letter or speech without a closing, if these lines begin with people's names."""
    last = list(takewhile(lambda b: b.form in ("paragraph", "item") and not has_sentence(b.text), reversed(blocks)))
    lines = [block.text for block in reversed(last[:_BLOCKS_BELOW_CLOSING])]
    told = [text for text in lines if (name := pattern("SIGNER").match(text)) and is_signer(name[1])]
    speech = any(_SPEECH.search(block.text) and not has_sentence(block.text) for block in blocks[:_HEAD])
    signed = _is_letter(blocks) or (speech and told == lines[:1])
    return told if signed and len(last) < len(blocks) else []


def _is_letter(blocks: Sequence[Block]) -> bool:
    """Whether a document is a single letter: its head says so, or it begins with its only salutation."""
    head = [b.text for b in blocks[:_HEAD] if len(b.text) < _LONGEST]
    return any(map(_LETTER.search, head)) or sum(bool(_SALUTED.match(b.text)) for b in blocks) == 1


def is_masthead(line: str) -> bool:
    """Whether a line has only a kind, or a day and perhaps a body and a page: 'Hill Gazette Saturday 3 May 2024'."""
    if len(line) > _LONGEST:
        return False
    parts = re.sub(r"(?i)[\s|,]*\b(?:page|no\.?) \d+\W*$", "", _WRITTEN.sub("", line)).strip(" |,·•–—-")
    dated = _WRITTEN.search(line) and (not parts or is_organisation(parts))
    return bool(dated or (pattern("KIND").fullmatch(parts) and not pattern("LETTERS").search(parts)))


def is_dateline(line: str) -> bool:
    """Whether a line gives the place and day of a letter: 'Hill Farm, 3 May 2024'."""
    day = _DATED.search(line)
    place = line[: day.start()] if day and len(date_of_cell(day[1])) == 10 else ""
    return bool(
        _PLACE.fullmatch(f"{place.rstrip()} ")
        and not (day and pattern("TIME").search(day[0]))  # a time marks a post
        and not (pattern("MINUTES").search(place) or is_organisation(place.strip(" ,")))
    )


def posts_date(blocks: Sequence[Block]) -> str:
    """Returns the day, month or year that all posts of a thread share; '' for the comments below a blog's post."""
    if blog_line(blocks):
        return ""
    lines = [block.text for block in blocks if len(block.text) <= _LONGEST]
    found = [_POSTED.search(line) or (pattern("stamp").fullmatch(line) and _WRITTEN.search(line)) for line in lines]
    found += [_WRITTEN.search(sent[0]) for block in blocks if (sent := _SENT.match(block.text))]
    written = [match[1] for match in found if match] + [post.day for post in find_posts(blocks).values()]
    days = [day.split("-") for day in map(date_of_cell, written) if day]
    same = takewhile(lambda parts: len(set(parts)) == 1, zip(*days, strict=False))
    return "-".join(parts[0] for parts in same) if len(days) >= _LEAST_POSTS else ""


def is_minutes(blocks: Sequence[Block]) -> bool:
    """Whether the first lines say that the document reports a meeting."""
    return any(pattern("MINUTES").search(block.text) for block in blocks[:_MINUTES_HEAD] if len(block.text) < 300)


_STATED = (
    *(mark("press release"), mark("news release"), mark("opinion"), mark("editorial"), mark("leader")),
    *(mark("letter to the editor"), mark("letters to the editor"), mark("statement"), mark("fact sheet")),
    *(mark("frequently asked questions"), mark("report"), mark("column"), mark("commentary")),
    *(mark("leaflet"), mark("response"), mark("submission")),
)
"""The kinds of the pattern KIND, for their translation."""


def stated_kind(blocks: Sequence[Block]) -> str:
    """Returns the kind that the document states: 'minutes', or a first line such as 'PRESS RELEASE'; else ''."""
    head = [block.text for block in blocks[:_MINUTES_HEAD] if len(block.text) < 300]
    if is_minutes(blocks) and (_MINUTED.search(" ".join(head)) or any(_MEETS.search(b.text) for b in blocks)):
        return mark("minutes")
    first = (re.split(r"[|·•]|, |\s[–—-]+\s", _DATED.sub("|", text))[0] for text in head[:_HEAD])
    if told := next((m["kind"].lower() for m in map(pattern("KIND").fullmatch, first) if m), ""):
        return mark("press release") if told == "for immediate release" or told.startswith("media") else told
    if any(b.form == "heading" and b.text.count(" ") < 3 and pattern("LETTERS").search(b.text) for b in blocks[:_HEAD]):
        return mark("letters to the editor")
    if told := next(filter(None, map(_kind_with_body, blocks[:_HEAD])), ""):
        return told
    if any(_PETITIONED.search(text) or (_PETITION.search(text) and not has_sentence(text)) for text in head[:_HEAD]):
        return mark("petition")
    if read_study_head(blocks).get("author"):
        return mark("study")
    chat = any(_SENT.match(block.text) for block in blocks)
    if (posts_date(blocks) and not chat) or (is_thread(blocks) and (chat or find_posts(blocks))):
        return mark("forum thread")
    lines = [text for text in head[:_HEAD] if len(text) < _LONGEST and not _is_prose(text.rstrip("?"))]
    found = ((mark("interview"), pattern("INTERVIEWED")), (mark("FAQ"), _FAQ))
    if told := next((kind for kind, form in found if any(map(form.search, lines))), ""):
        return told
    if not _is_letter(blocks):
        return ""
    return mark("open letter") if any("open letter" in text.lower() for text in lines) else mark("letter")


def _kind_with_body(block: Block) -> str:
    """Returns the kind in a line such as 'Press release by Hill Coaches' or 'Report of the Hill Police', else ''."""
    told = pattern("KIND_BY").fullmatch(block.text) if len(block.text) <= _LONGEST else None
    if not told or _is_prose(block.text):
        return ""
    sure = is_organisation(told["who"]) or (block.form != "heading" and told["by"].lower() != "of")
    kind = told["kind"].lower()
    kind = "press release" if kind.startswith("media") else "FAQ" if kind == "faq" else kind
    return kind if sure else ""


def is_byline(line: str) -> bool:
    """Whether a line of the head names an author, a date or a publisher."""
    return any(read_byline([Block(line.replace("*", ""))]).values())


def is_head_line(line: str) -> bool:
    """Whether a line names only the document's kind, newspaper, writer or contact: 'PRESS RELEASE – 6 June 2026', 'THE
    HILL HERALD', 'Note from Una Roe, 3 May 2024'. A title may follow."""
    parts = head_parts(line) or [line.strip(" *_:")]
    sent = "" in parts and any(_SENT_BY.match(part) or is_surely_person(part) for part in parts)
    capital = [part for part in parts if part.isupper() or part.startswith("The ")]
    papers = [part for part in capital if pattern("PAPER").search(part) and is_organisation(part)]
    told = [part for part in parts if part]
    named = told and all(part in papers or _LABEL.fullmatch(part) for part in told)
    return bool(sent or named or _BESIDE_TITLE.match(line))


def with_title(title: str, blocks: tuple[Block, ...]) -> tuple[str, tuple[Block, ...]]:
    """Returns the title and the blocks. If the title, or the first block of an untitled document, is a head line, the
    line below the head is the title, as a heading. If prose follows the head, the title loses its day."""
    if not is_head_line(title or "".join(b.text for b in blocks[:1])):
        return title, blocks
    at = len(list(takewhile(lambda b: is_head_line(b.text) or is_byline(b.text), blocks)))
    text = blocks[at].text if at + 1 < len(blocks) and (at or blocks[0].form == "heading") else "."
    if text[-1] in ".:;," or has_sentence(text) or blocks[at].form in _NO_HEAD or len(text.split()) > _LONGEST_TITLE:
        return ", ".join(filter(None, head_parts(title))) or title, blocks
    writer = (b if pattern("HEADED").search(b.text) else replace(b, form="paragraph", level=0) for b in blocks[:at])
    above = tuple(writer)  # a heading with a name says who speaks below
    level = 1 + any(b.form == "heading" for b in above)
    return text, (*above, replace(blocks[at], form="heading", level=level), *blocks[at + 1 :])


def _publisher(blocks: Sequence[Block]) -> str:
    """Returns the organisation that a head line names alone, beside a date, as publisher, or with the document's kind:
    'Press release by Hill Coaches'. A heading with a kind counts last, because it may shorten the name."""
    titled = ""
    for block in blocks:
        if block.form != "heading" and (block.form in _NO_HEAD or _is_prose(block.text)):
            break
        for line in _head_lines(block.text):
            if told := _publisher_field(line):
                return told
            named = pattern("PUBLISHED").search(line)
            if named and (is_organisation(who := named["who"].strip()) or (named["the"] and _is_capitalised(who))):
                return who
            if block.form == "heading":
                titled = titled or _body_of_kind(line)
            if body := _body_of_head(line, block, blocks) or (block.form != "heading" and _body_of_kind(line)):
                return body
    above = [b for b in blocks[: blog_line(blocks)] if b.form == "heading"]  # the names of a blog and its post
    return titled or (above[0].text if len(above) == 2 and above[0] is blocks[0] else "")


def _owner(blocks: Sequence[Block]) -> str:
    """Returns the first line of a copied page, if the foot's copyright names it: 'PetitionBay' for '© PetitionBay'."""
    name = blocks[0].text if blocks and len(blocks[0].text) <= _LONGEST_OWNER else ""
    return name if name and any("©" in b.text and name in b.text for b in blocks[-_HEAD:]) else ""


def _publisher_field(line: str) -> str:
    """Returns the publisher in a line such as 'Publisher: Hill Weekly' or 'Source: The Hill Weekly, 3 May 2024'."""
    told = _FIELD.fullmatch(line)
    if not told or told["field"].lower() in ("author", "date"):
        return ""
    name = _LAST_DATE.sub("", told["value"]).strip(" *_.,")
    if site := _SITE.fullmatch(name):
        return site[1]
    words = [word for word in name.split() if not pattern("JOINING").fullmatch(word)]
    return name if 0 < len(words) < 9 and all(w[0].isupper() or w[0].isdigit() for w in words) else ""


def _body_of_head(line: str, block: Block, blocks: Sequence[Block]) -> str:
    """Returns the organisation that a line names beside a date, or that begins the line; else ''. Beside a person but
    no date, it may be only the person's employer. In minutes, later parts name the place."""
    minutes = is_minutes(blocks)
    if station := pattern("STATION").fullmatch(line):
        return station["who"]
    if block.form == "heading" and not (_FAQ.search(line) or minutes or (_WRITTEN.search(line) and is_masthead(line))):
        name = _OUTLET_END.split(line)[0]
        outlet = block is blocks[0] and is_organisation(name)
        first, *more = blocks[1].text.split(" | ") if len(blocks) > 1 else [""]
        letterhead = len(blocks) > 1 and blocks[1].form == "heading"  # above the title
        return name if outlet and (letterhead or _ON_AIR.search(name) or is_masthead(first) or len(more) > 1) else ""
    dated = "" in (head := head_parts(line))
    parts = head if dated else [part.strip(" *_.") for part in re.split(r"[|·•]|[,:]\s|\s[–—-]+\s", line)]
    parts = [part for part in parts if part and not any(p.match(part) for p in _NO_PUBLISHER)]
    parts = [part for part in parts if not (_BY.match(part) or pattern("KIND").fullmatch(part))] if dated else parts
    if _is_letter(blocks) and len(parts) > 1:  # an address
        return ""
    return publisher_of_parts(parts, first=minutes or not dated)


def _releasing(blocks: Sequence[Block]) -> str:
    """Returns the body of a press release: the line beside 'NEWS RELEASE', or the body that begins both the title and
    the first sentence."""
    lines = [_DATED.sub("|", block.text) for block in blocks[:_HEAD] if not has_sentence(block.text)]
    head = [part.strip(" ,.*_") for line in lines for part in re.split(r"[|·•]|[,:]\s|\s[–—-]+\s", line)]
    for part, other in [*pairwise(filter(None, head)), *pairwise(filter(None, head[::-1]))]:
        if _RELEASE.fullmatch(part) and _acts(other, [block for block in blocks if has_sentence(block.text)]):
            return ordinary_case(other)
    if not any(_RELEASE.search(line) and line.strip(" ,.|") for line in lines):
        return ""
    begun = [next(filter(is_organisation, _starts(block.text)), "") for block in blocks[:_TOP]]
    return max((name for name in begun if name and begun.count(name) > 1), key=len, default="")


def _body_of_kind(line: str) -> str:
    """Returns the publisher in a line such as 'Press release by Hill Coaches, 3 May 2024', else ''."""
    told = pattern("KIND_BY").fullmatch(line)
    who = told["who"].strip() if told else ""
    released = told and told["by"].lower() == "by" and _RELEASE.fullmatch(told["kind"])
    return who if is_organisation(who) or (released and who[:1].isupper()) else ""


def _acts(name: str, blocks: Sequence[Block]) -> bool:
    """Whether a sentence of the text begins with the name: 'Hill Coaches will …'. A place's name rarely does."""
    begun = re.compile(rf"(?i:(?:^|[.!?] )(?:the )?{re.escape(name)}) [a-z]")
    return name[:1].isupper() and any(begun.search(block.text) for block in blocks)


def _is_capitalised(name: str) -> bool:
    words = [word for word in name.split() if not pattern("JOINING").fullmatch(word)]
    return len(words) > 1 and all(word[0].isupper() for word in words)


def has_sentence(text: str) -> bool:
    """Whether the text contains several sentence ends, or ends like a sentence."""
    ends = [end.end() for end in _SENTENCE.finditer(text)]
    return len(ends) > 1 or ends == [len(text)]


def _is_prose(text: str) -> bool:
    return has_sentence(text) and not head_parts(text)


def _starts(text: str) -> list[str]:
    """Returns the first words of a text, without 'The', the most words first."""
    words = re.sub(r"^The ", "", text).split()[:8]
    return [" ".join(words[:n]) for n in range(len(words), 1, -1)]


def _dates_and_authors(blocks: Sequence[Block]) -> tuple[str, list[str]]:
    dates, authors = set[str](), list[str]()
    minutes = is_minutes(blocks)
    begun = False  # below prose, a name beside a date is no byline
    for above, block in pairwise([*blocks[:1], *blocks]):
        heading = above.text if above.form == "heading" else block.text
        for line in _head_lines(block.text) if block.form not in _NO_HEAD else ():
            rest = line if _POSTED_ON.match(line) else _DATED.sub(" | ", line)
            other = _OTHER_DATE.search(line) or _LATER.search(heading)
            if not other and not (_is_prose(line) and re.search(r"\w", rest)):
                dates.update(map(date_of_cell, (_WRITTEN if is_masthead(line) else _DATED).findall(line)))
            signed = "" if begun or minutes or block.form == "heading" else author_of_parts(head_parts(line))
            authors += filter(None, [signed or _author_of_line(rest, block.form == "heading")])
        begun |= block.form != "heading" and _is_prose(block.text)
    finest = max(dates, key=len, default="")
    return finest if all(date and finest.startswith(date) for date in dates) else "", authors


def _head_lines(text: str) -> list[str]:
    """Returns the lines of a head. A text with a sentence counts as one line. Returns nothing if a line is too long."""
    text = _NEXT_FIELD.sub("\n", text) if _FIELD.match(text) else text
    lines = [text] if _SENTENCE.search(text) else text.split("\n")
    return lines if max(map(len, lines)) <= _LONGEST else []


def _author_of_line(line: str, heading: bool) -> str:
    """Returns the author or authors in a line such as 'By A. Name, reporter'."""
    if (named := _STARTED.match(line)) and is_surely_person(named["who"]):
        return named["who"]
    field, posted = _FIELD.fullmatch(line), _POSTED_ON.match(line)
    alone = posted["who"] if posted else field["value"] if field and field["field"].lower() == "author" else ""
    if re.fullmatch(r"[^\W\d_]\w+", alone):
        return "" if is_word(alone.lower()) or _NO_AUTHOR.search(alone) else alone  # a nickname
    line = re.sub(r"(?<=\w) \([^()]{2,80}\)(?=,|$| and | &)", "", line)  # 'A. Name (Hill College), B. Name'
    by = _BY.search(re.sub(r"\b(Dr|Mrs?|Ms|Prof|Cllr|Rev)\. ", r"\1 ", line))
    told = by[1] if by else ""
    strict = heading or bool(by and by[0].casefold().split(told.casefold())[0].strip().endswith(" of"))
    several, first = re.split(r",? (?:and|&) |, ", told.strip()), _PART.split(told)[0]
    found = [_person_name(name, strict) for name in several]
    if all(found) and (re.search(r" (?:and|&) ", told) or re.search("(?i)authors:", line)):
        return ", ".join(found)
    joined = re.search(r" (?:and|&) ", first)  # 'A. Name, Transport and Food Workers'
    return "" if joined else _person_name(first, strict)


def _person_name(text: str, strict: bool) -> str:
    """Returns the text as a person's name without a role, or ''. strict: refuse names with common words, because such
    names may be headings."""
    name = re.split(r" (?:for|in|at|from|on) ", text.strip(" *_.|"))[0]
    words = name.split()
    if not 1 < len(words) < 7 or _NO_AUTHOR.search(name) or not words[-1][0].isupper():
        return ""
    strict |= len(words) > 3  # the name may include a place
    own = [word for word in words if word not in _PARTICLES]
    common = not _TITLED.match(name) and any(lexicon_tag(word.lower()) for word in own)
    return name if all(word[0].isupper() for word in own) and not (strict and common) else ""


# Letters pages

_LONGEST_LINE = 140  # most characters of a title, or of a line of a signature
_SURE = 2  # how sure a name is that needs no certain place


def speakers_of_letters(blocks: Sequence[Block]) -> list[Block]:
    """Assigns each letter of a letters page, from the salutation or title on, to the name below the letter. The short
    lines between two letters are the signature of the first letter and the title of the second."""
    found, begin = list(blocks), -1
    opens = [not b.speaker and bool(pattern("SALUTATION").match(b.text)) for b in [*found, Block("")]]
    lines = [not opens[i] and _is_line(b, opens[i + 1]) for i, b in enumerate(found)]
    titled = any(pattern("LETTERS").search(b.text) for b in found[:_HEAD] if _is_line(b))
    start = opens.index(True) if any(opens) else lines.index(False) if titled and not all(lines) else 0
    above = found[start - 1] if start and lines[start - 1] else None
    first = "" if above is None or pattern("MASTHEAD").search(above.text) else _shape(above)
    begun = titled and not all(lines[:start])  # a letter without a salutation precedes
    names_above = above and first == "plain" and not begun and _name_in(above)[1] == _SURE
    signed = (start or opens[0]) and not names_above
    for is_line, group in groupby(range(len(lines) if signed else 0), lines.__getitem__):
        places = list(group)
        if not is_line:
            begin = max((i for i in places if opens[i]), default=places[0] if begin < 0 else begin)
            continue
        run, after = [found[i] for i in places], places[-1] + 1
        who, at = _writer(run, first, opens[after], after == len(found))
        for i in range(begin, places[0]) if who and begin >= 0 and (titled or opens[begin]) else ():
            if found[i].form != "heading" and not found[i].speaker and pattern("PROSE").search(text := found[i].text):
                found[i] = replace(found[i], text=pattern("SALUTATION").sub("", text) or text, speaker=who)
                found[places[at]] = replace(run[at], form="paragraph", level=0, speaker=who)
        if who or titled or sum(opens) > 1 or any(b.form == "heading" for b in run):
            begin = -1
    return found


def _is_line(block: Block, above_salutation: bool = False) -> bool:
    """Whether a block can be a title or a line of a signature."""
    text = block.text.rstrip("?!") if above_salutation else block.text
    if block.speaker or block.form in (*_NO_HEAD, "caption") or len(text) >= _LONGEST_LINE:
        return False
    told = any(pattern(name).fullmatch(text) for name in ("CLOSING", "WITHHELD")) or _shape(block) != "plain"
    listed = block.form == "item" and not _name_in(block)[0]
    return told or not (has_sentence(text) or text.endswith((":", ";")) or listed)


def _shape(block: Block) -> str:
    return block.form if block.form == "heading" else "bold" if block.bold == len(block.text) else "plain"


def _name_in(line: Block) -> tuple[str, int]:
    """Returns the name of several words that begins a line of a signature, or '', and how sure it is: 0 to _SURE."""
    own = pattern("CLOSED_BY").fullmatch(line.text)
    text = own["who"] if own else line.text[: line.bold] or line.text
    told = pattern("SIGNED").fullmatch(f"– {text}" if line.form == "item" else text)
    if not told or pattern("ROLE").fullmatch(who := told["who"]):
        return "", 0
    sure = told["dash"] or told["initial"] or is_signer(who)
    who = ordinary_case(who) if who.isupper() else who  # keeps 'Hill PTA'
    return who, _SURE if sure else int(bool(told["more"]) and not is_organisation(who))


def _writer(run: Sequence[Block], first: str, opened: bool, last: bool) -> tuple[str, int]:
    """Returns the writer whom a run of lines names, or '' if doubtful, and the number of the line. first: the shape of
    the first letter's title. opened: a salutation follows. last: no letter follows."""
    # In plain text, a name in capitals is read as a heading.
    shapes = ["plain" if first != "heading" and b.text.isupper() else _shape(b) for b in run]
    plain_alone = first != "plain" or _name_in(run[0])[1] == _SURE
    alone = len(run) == 1 and (plain_alone if shapes[0] == "plain" else opened and first != "bold")
    title = shapes.index("heading") if "heading" in shapes else len(run) - 1
    title += "heading" not in shapes and (last or alone or shapes[-1] not in ("bold", first))
    placed = opened or last or title < len(run)
    withheld = any(pattern("WITHHELD").fullmatch(line.text) for line in run)
    for at, line in enumerate(run[: 0 if withheld else title]):
        (who, sure), words = _name_in(line), re.findall(r"\w+", line.text)
        ends = not who and 2 * sum(not word[0].islower() for word in words) < len(words)  # the end of the letter
        if ends or pattern("CLOSING").fullmatch(line.text) or pattern("DATE").search(line.text):
            continue
        likely = PROBABLY + (who or line.text) if placed and (who or shapes[at] == "bold" or not last) else ""
        return who if sure + placed >= _SURE else likely, at
    return "", 0
