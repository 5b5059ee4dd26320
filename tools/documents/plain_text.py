"""Parses plain text: line ends and spaces show paragraphs, headings and list items."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise, takewhile
from pathlib import Path

from tools.dates import date_of_cell
from tools.documents.author_lines import is_author, thread_title
from tools.documents.bylines import has_sentence, is_byline, is_dateline, is_masthead, people_alone, read_byline
from tools.documents.document import document_of_blocks, file_title, read_decoded
from tools.language.lexicon import is_word
from tools.language.person_names import is_organisation, pattern, source
from tools.passages import Block, SourceDocument

LIGATURES = dict(zip(range(0xFB00, 0xFB07), "ff fi fl ffi ffl st st".split(), strict=True))
_BROKEN = re.compile(r"([^\W\d_]{1,100})[-‐\u00ad]$")  # limited to 100 letters, because the search takes quadratic time
_NEXT_WORD = re.compile(r"[^\W\d_]+")
_TAIL_CHARACTERS = 102  # number of last characters that are searched


def join_lines(lines: Iterable[str]) -> str:
    """Joins lines. Joins a word that is divided at a line end, unless the hyphen belongs to the word."""
    text = ""
    for line in lines:
        broken, rest = _BROKEN.search(text[-_TAIL_CHARACTERS:]), _NEXT_WORD.match(line)
        if text.endswith("\u00ad") or (broken and rest and not _has_hyphen(broken[1], rest[0])):
            text = text[:-1] + line
        elif text.endswith(("-", "‐", "/")) and rest and (broken or text.endswith("/")):
            text += line
        else:
            text += f" {line}" if text else line
    return text


def _has_hyphen(first: str, second: str) -> bool:
    """Whether the lexicon has 'first-second', a capital follows, or only the two parts are words."""
    if not second[0].islower() or (first.isupper() and len(first) > 1) or is_word(f"{first}-{second}"):
        return True
    return not is_word(first + second) and min(len(first), len(second)) > 2 and is_word(first) and is_word(second)


_BULLET = re.compile(r"\s*(?:[-*+•·‣◦●▪–—][ \t]+|o[ \t]{2,}|\(?(?:\d{1,3}|[a-z]|[ivx]{2,5})[.)][ \t]+)(?=\S)")
_UNDERLINE = re.compile(r"\s*(={3,}|-{3,}|~{3,}|\*{3,}|#{3,}|\^{3,})\s*$")
_NUMBERED = re.compile(r"(\d{1,2}(?:\.\d{1,2}){0,4})\.?\s{1,4}(?=[A-Z])")
_CHAPTER = re.compile(r"(?:chapter|part|book|section|appendix|act|scene)\s+(?:\d+|[IVXLC]+|[A-Z])\b", re.IGNORECASE)
_SENTENCE_END = re.compile(r"[.!?;:,…][\"'”’)\]]*$")
_GAP = re.compile(r"\S\s{3,}\S")
_COLUMN = re.compile(r"\s?\|\s?|(?<=[^\s.!?:])\s{2,}")
_QUOTED = re.compile(r"\s*(?:>\s?)+")
_QUOTES = re.compile(r"\s*(?:[\[\d][^<>]{5,80}: ?)?>")  # also after a post's time and writer
_LONGEST_TITLE = 14  # words
_LEAST_POSTS = 2
_SPACED = re.compile(
    r"(?m)^(?=(?:[ \t]*[^\W\d_]){4})(?=[^\n]*\w[ \t]{2,}\w)(?:[ \t]*[^\W\d_](?!\S)){4,60}[ \t]*$"
)  # 'N E W S'
_SKIP = re.compile(r"\A\s*Skip to (?:main )?content\n")  # of a copied web page
_HEAD_GAP = re.compile(r"(?<=[^\s:.|][^\s:|])[ \t]{3,}(?=[^\s|])")
_HEAD, _WIDEST = 20, 160  # most lines of a head or signature; most characters of such a line
_SHORTEST_RULE, _SLOPPY = 3, 4  # characters: shortest underline; largest difference to the heading's length
_NARROWEST, _LOOSE = 30, 6  # characters: least width of wrapped text; slack of a full line
_FULL, _GOING = 0.7, 0.25  # least shares in a wrapped paragraph: full lines; lines that begin within a sentence
# Markup of reStructuredText: explicit markup, options, and inline marks.
_RST_MARKUP = (
    (re.compile(r"^ *(?:\.\. +\[[^\]\s]+\] *|\.\.(?:$| .*)|:[\w -]+:(?: .*)?$)", re.MULTILINE), ""),
    (re.compile(r"\s?\[[\w#*.-]{1,40}\]_(?!\w)"), ""),
    (re.compile(r"(?::[\w:.+-]{1,40}:)?`{1,2}[~!]?([^`<>]{1,300}?)(?:\s*<[^<>`]{1,500}>)?`{1,2}_{0,2}"), r"\1"),
    (re.compile(r"(?<![\w*])\*{1,2}(?=\S)([^*]{1,500}?)(?<=\S)\*{1,2}(?![\w*])"), r"\1"),
)
_LINE_NUMBER = re.compile(r"\s*(\d{1,3})(?:\s+|$)")


def read_plain(path: Path, name: str) -> Iterator[SourceDocument]:
    """Parses plain text. Removes the markup of reStructuredText."""
    found = read_decoded(path, name)
    text = found.text
    for marking, kept in _RST_MARKUP if path.suffix.lower() == ".rst" else ():
        text = marking.sub(kept, text)
    yield text_document(text, name, found.left_out)


def text_document(text: str, name: str, left_out: Mapping[str, int] | None = None) -> SourceDocument:
    """Returns a document of plain text."""
    counts = Counter(left_out or {})
    text = _SPACED.sub(_without_spacing, _with_plain_posts(text, counts))
    text = separate_bylines(_SKIP.sub("", text))
    blocks = text_blocks(text, counts)
    above = [*takewhile(lambda b: is_masthead(b.text) or is_dateline(b.text) or is_organisation(b.text), blocks)]
    if title := thread_title(blocks):
        return document_of_blocks(name, blocks, {"title": title}, counts)
    named = above and is_organisation(above[0].text)
    for at in (len(above), 0) if named else (len(above),):  # a body's name may be the title
        if _begins_with_title(re.split(r"\n\s*", text.lstrip(), maxsplit=at)[-1] if at else text, blocks[at:]):
            blocks[at] = replace(blocks[at], form="heading", level=1)
            return document_of_blocks(name, blocks, {"title": blocks[at].text}, counts)
    return document_of_blocks(name, blocks, {"title": file_title(name)}, counts)


def _without_spacing(line: re.Match[str]) -> str:
    return " ".join("".join(word.split()) for word in re.split(r"[ \t]{2,}", line[0].strip()))


def _with_plain_posts(text: str, left_out: Counter[str]) -> str:
    """Writes the heads of a copied forum page as 'Post by una_b » 3 May 2025' and marks its quotations with '>'.
    Removes the writers' profiles and signatures, and the words of buttons."""
    heads = [*pattern("POST_HEAD").finditer(text)]
    if len(heads) < _LEAST_POSTS:
        return text
    named = [{k[:4]: v for k, v in head.groupdict().items() if v} for head in heads]
    writers = "|".join(sorted({re.escape(post["name"].strip()) for post in named}, key=len, reverse=True))
    profile = re.compile(rf"(?m)^(?:{writers})\n+(?:{source('PROFILE')}(?:\n+|$))+")
    quotation = re.compile(
        rf"(?m)^(?:Quote:?\n+)?(?:Originally posted by )?({writers})(?: (?:wrote|said))?:?(?: ?↑.*)?\n+"
        r"((?:[^>\n].*\n+){1,30}?(?=Click to expand)|[^>\n].*)",
        re.IGNORECASE,
    )
    found = profile.sub("", text[: heads[0].start()])
    for head, post, after in zip(heads, named, [*heads[1:], None], strict=True):
        said = profile.sub("", text[head.end() : after and after.start()])
        said = quotation.sub(lambda m: f"\n{m[1]} wrote:\n> " + re.sub(r"\n+(?=.)", "\n> ", m[2]) + "\n", said)
        said, removed = pattern("POST_FURNITURE").subn("", said)
        left_out["system messages"] += removed
        found += f"\n\nPost by {post['name'].strip()} » {post['when']}\n\n{said}\n"
    return found


def separate_bylines(text: str) -> str:
    """Puts empty lines around each byline in the head and each name below a closing, to make them blocks."""
    lines = text.split("\n")
    closing = max((i for i, line in enumerate(lines) if pattern("CLOSING").fullmatch(line)), default=len(lines))
    begun = min(_HEAD, next((i for i, line in enumerate(lines) if has_sentence(line)), len(lines)))
    head = [i for i in range(begun) if 0 < len(lines[i]) <= _WIDEST]
    lines[:begun] = [_HEAD_GAP.sub(" | ", line) for line in lines[:begun]]
    told = [i for i in head if is_byline(lines[i]) or people_alone(lines[i], *lines[max(i - 1, 0) : i + 2])]
    told += [i for i in range(min(told, default=0)) if lines[i + 1][:1].isupper()]  # also the title and subtitle above
    names = (i for i, line in enumerate(lines[closing:], closing) if len(line) <= _WIDEST)
    end = max((i for i, line in enumerate(lines) if line.strip()), default=0)
    foot = list(takewhile(lambda i: lines[i].strip() and not has_sentence(lines[i]), range(end, max(end - 4, 0), -1)))
    signed = foot if foot and is_author(lines[foot[-1]].strip(" *_")) else ()
    apart = {*told, *signed, *(names if len(lines) - closing < _HEAD else ())}
    parted = [f"\n{line}\n" if i in apart and line.strip() else line for i, line in enumerate(lines)]
    return "\n".join(parted)


def _begins_with_title(text: str, blocks: Sequence[Block]) -> bool:
    """Whether the first line is short, no sentence, date or author, and above an empty line or a byline."""
    first, *below = (" ".join(line.split()) for line in text.lstrip().split("\n", 4)[:4])
    if len(blocks) < 2 or blocks[0].text != first or " | " in first or len(first.split()) > _LONGEST_TITLE:
        return False
    named = first[0].isalnum() or (first[0] in '“"' and first[-1] in '”"')
    told = bool(date_of_cell(first) or (len(first.split()) < 7 and read_byline([Block(first)])["author"]))
    headed = not below[0] or pattern("INTERVIEW").search(below[0]) or any(map(is_byline, filter(None, below)))
    return bool(named and headed and not told and not _SENTENCE_END.search(first.rstrip("?")))


def text_blocks(text: str, left_out: Counter[str]) -> list[Block]:
    """Returns the blocks of a text. Counts removed parts in `left_out`."""
    text = part_quotations(separate_records(_without_running_lines(text.expandtabs(8), left_out)))
    lines = _without_line_numbers([line.rstrip() for line in text.split("\n")], left_out)
    return [replace(b, quoted=quoted) for chunk, quoted in _paragraphs(lines) for b in _paragraph_blocks(chunk)]


def _without_line_numbers(lines: list[str], left_out: Counter[str]) -> list[str]:
    """Removes line numbers if most lines have consecutive numbers, as in transcripts."""
    found = [_LINE_NUMBER.match(line) for line in lines]
    numbers = [int(m[1]) for m in found if m]
    following = sum(b in (a + 1, 1) for a, b in pairwise(numbers))
    if following < 10 or following * 4 < sum(map(bool, lines)) * 3:
        return lines
    left_out["line numbers"] += len(numbers)
    return [line[m.end() :] if m else line for line, m in zip(lines, found, strict=True)]


def _without_running_lines(text: str, left_out: Counter[str]) -> str:
    """Removes running headers and footers: lines that recur, or that have a wide gap. If a sentence continues over a
    page end, joins the two parts of its paragraph."""
    pages = [page.strip("\n").split("\n") for page in text.split("\f")]
    shapes = Counter(shape for page in pages for shape in {_line_shape(page[0]), _line_shape(page[-1])})
    found: list[str] = []
    for number, page in enumerate(pages):
        for at, ends_here in ((0, number > 0), (-1, number < len(pages) - 1)):
            if len(page) > 1 and (shapes[_line_shape(page[at])] > 1 or (ends_here and _GAP.search(page[at]))):
                left_out["running headers and footers"] += 1
                del page[at]
        inner = "\n".join(page).strip("\n")
        goes_on = found and found[-1].rstrip()[-1:] not in ".!?:" and inner.lstrip()[:1].islower()
        found.append(inner if goes_on else f"\n{inner}")
    return "\n".join(found)


def separate_records(text: str) -> str:
    """Puts empty lines around each line with a post's number and time, and around each rule that separates records.
    The length shows which rule is a separator: underlines are about as long as their headings, but all separators are
    equally long."""
    lines = text.split("\n")
    above: defaultdict[str, list[int]] = defaultdict(list)  # lengths of the lines above each rule
    for before, line in pairwise(lines):
        if before.strip() and len(line.strip()) > _SHORTEST_RULE and _UNDERLINE.match(line):
            above[line.strip()].append(len(before.strip()))
    rules = {
        rule for rule, lengths in above.items() if max(lengths) - min(lengths) > _SLOPPY or min(lengths) > 2 * len(rule)
    }
    apart = (line.strip() in rules or (len(line) <= _WIDEST and pattern("POST_LINE").fullmatch(line)) for line in lines)
    return "\n".join(f"\n{line}\n" if alone else line for line, alone in zip(lines, apart, strict=True))


def _line_shape(line: str) -> str:
    return re.sub(r"\d+|\b[ivxlc]+\b", "#", " ".join(line.split()))


def part_quotations(text: str) -> str:
    """Puts an empty line between quoted lines ('> …') and others, unless a sentence goes on: mail programs and people
    wrap quoted lines without a mark."""
    lines = text.split("\n")
    found = lines[:1]
    for before, line in pairwise(lines):
        bare, changes = _QUOTED.sub("", line), bool(_QUOTES.match(line)) != bool(_QUOTES.match(before))
        goes_on = bare.lstrip()[:1].islower() and not _SENTENCE_END.search(before)
        found += ["", line] if changes and before.strip() and bare.strip() and not goes_on else [line]
    return "\n".join(found)


def _paragraphs(lines: Sequence[str]) -> Iterator[tuple[list[str], bool]]:
    """Yields paragraphs, the lines between empty lines, without the marks ('>') of quoted lines; and whether the first
    line has a mark."""
    chunk: list[str] = []
    quoted = False
    for line in (*lines, ""):
        marked = line.lstrip().startswith(">")
        bare = _QUOTED.sub("", line) if marked else line
        if bare.strip():
            quoted = quoted if chunk else marked
            chunk.append(bare)
        elif chunk:
            yield chunk, quoted
            chunk = []


def _paragraph_blocks(chunk: list[str]) -> Iterator[Block]:
    """Yields the blocks of adjacent lines. Drops lines without letters and digits, because they are rules."""
    alone = len(chunk) == 1
    part: list[str] = []
    for i, line in enumerate(chunk):
        if not any(map(str.isalnum, line)):
            continue
        mark = _UNDERLINE.match(chunk[i + 1]) if i + 1 < len(chunk) and not part else None
        if mark and any(map(str.isalpha, line)):
            yield Block(" ".join(line.split()), "heading", 1 if mark[1][0] in "=*#" else 2)
        else:
            part.append(line)
    if alone and part and (heading := _heading(" ".join(part[0].split()))):
        yield heading
    elif part:
        yield from _body_blocks(part)


def _heading(text: str) -> Block | None:
    """Returns a heading if a single line is numbered, is called a chapter, or is in capitals."""
    if len(text.split()) > 12 or _SENTENCE_END.search(text) or date_of_cell(text):
        return None
    if numbered := _NUMBERED.match(text):
        return Block(text, "heading", 1 + numbered[1].count("."))
    if _CHAPTER.match(text) or (pattern("DATE").sub("", text).isupper() and sum(map(str.isalpha, text)) > 3):
        return Block(text, "heading", 1)
    return None


def _body_blocks(lines: Sequence[str]) -> Iterator[Block]:
    """Yields a table, the items of a list, a wrapped paragraph, or each line."""
    rows = [[cell for cell in _COLUMN.split(line.strip(" |")) if cell] for line in lines]
    if len(rows) > 1 and len(rows[0]) > 1 and len({len(row) for row in rows}) == 1 and not _BULLET.match(lines[0]):
        yield Block("\n".join(" | ".join(row) for row in rows), "table")
        return
    marks = [_BULLET.match(line) for line in lines]
    listed = marks[0] is not None or sum(mark is not None for mark in marks) > 1
    turns = _turn_starts(lines)
    starts = sorted({0, *turns, *(i for i, mark in enumerate(marks) if i and mark and listed), len(lines)})
    for first, end in pairwise(starts):
        part = lines[first:end]
        if (mark := marks[first]) and _is_heading_of(part, mark.end()):
            yield Block(" ".join(part[0].split()), "heading", 2)
            yield from _body_blocks(part[1:])
        elif mark:
            yield Block(_joined_line([part[0][mark.end() :], *part[1:]]), "item")
        elif _is_wrapped(part) or (turns and all(line.lstrip()[0].islower() for line in part[1:])):
            yield Block(_joined_line(part))
        else:
            yield from (Block(_joined_line([line])) for line in part)


def _is_heading_of(lines: Sequence[str], begin: int) -> bool:
    """Whether a numbered first line is the heading of the lines below. A heading has no sentence end, its line has room
    for another word, and the lines below begin with a capital."""
    title, *below = lines
    room = max(map(len, lines)) - _LOOSE - len(title) if below else 0
    numbered = title[:begin].strip(" (.)").isdigit() and len(title[begin:].split()) <= _LONGEST_TITLE
    first = pattern("ITEM").sub("", below[0].lstrip()) if below else ""
    begins = first[:1].isupper() and len(below[0].split()[0]) + 1 < room
    return numbered and begins and not _SENTENCE_END.search(title)


def _turn_starts(lines: Sequence[str]) -> list[int]:
    """Returns the numbers of the lines that begin a speaker's turn, or that begin the speech below a speaker's name."""
    found: set[int] = set()
    for i, line in enumerate(map(str.strip, lines)):
        ended = i == 0 or i in found or lines[i - 1].rstrip()[-1:] in '.!?…"”’)]:'
        stamped = not line[:1].isalpha() and any(pattern(k).match(line) for k in ("chat", "SYSTEM_LINE"))
        if stamped or (ended and pattern("TURN").match(line)):
            found.add(i)
        elif ended and len(line) <= 140:
            named = any(pattern(kind).fullmatch(line) for kind in ("quoted", "stamp")) or pattern("BEARER").search(line)
            found |= {i, i + 1} if named else set()
    if found:  # also asides between turns
        found |= {i for i, line in enumerate(lines) if pattern("ASIDE").fullmatch(line.strip())}
    return sorted(found & set(range(1, len(lines))))


def _is_wrapped(lines: Sequence[str]) -> bool:
    """Whether most lines end where the next word had no room. Lines of verses and lists begin with capitals."""
    indent = min(len(line) - len(line.lstrip()) for line in lines)
    margin = max(map(len, lines)) - indent
    pairs = list(pairwise(lines))
    full = sum(len(line) - indent + 1 + len(after.split()[0]) > margin - _LOOSE for line, after in pairs)
    going = sum(not after.lstrip()[0].isupper() or not _SENTENCE_END.search(line) for line, after in pairs)
    return margin >= _NARROWEST and full >= _FULL * len(pairs) and going >= _GOING * len(pairs)


def _joined_line(lines: Sequence[str]) -> str:
    return join_lines(" ".join(line.split()) for line in lines)
