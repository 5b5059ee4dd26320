"""Lines of a width put together again: what of a chunk of lines is one paragraph, which lines stand for themselves."""

import re
from collections.abc import Sequence

from tools.ingest.line_ends import Vocabulary

_SENTENCE_END = re.compile(r"[.!?:;…][\"'”’)\]]*$")
_WORDS = Vocabulary(())
_FULL = 0.7  # of a wrapped paragraph's lines, those too long for another word
_NARROWEST = 30  # characters; nobody wraps text closer
_LOOSE = 6  # characters by which a line may fall short of the width and still be full: people wrap by eye too
_WORDS_A_LINE = 4  # on average, in what is a sentence over some lines and no list


def paragraphs(lines: Sequence[str], width: int = 0) -> list[str]:
    """The paragraphs that the lines of a chunk make: one where a width broke the lines, or else each line.

    lines: neighbours without an empty line between, as they stand. width: of the text that they are of, if known.
    """
    if len(lines) > 1 and is_wrapped(lines, width):
        return [joined(lines)]
    found: list[list[str]] = []
    words = sum(len(line.split()) for line in lines)
    sentence = words >= _WORDS_A_LINE * len(lines)
    for line in lines:
        if found and sentence and _goes_on(found[-1][-1], line):
            found[-1].append(line)
        else:
            found.append([line])
    return [joined(part) for part in found]


def is_wrapped(lines: Sequence[str], width: int = 0) -> bool:
    """Whether each line ends because the next word had no room.

    Verses and lists may look so too, but each of their lines begins a new thing: with a capital.
    """
    lengths = [len(line.rstrip()) for line in lines]
    margin = max(lengths) if len(lines) > 2 else max(width, *lengths)
    if margin < _NARROWEST:
        return False
    firsts = [line.split()[0] for line in lines[1:]]
    full = [length + 1 + len(first) > margin - _LOOSE for length, first in zip(lengths, firsts, strict=False)]
    going = [not first[:1].isupper() for first in firsts]
    if len(lines) == 2:
        return full[0] and (going[0] or (margin >= 50 and not _SENTENCE_END.search(lines[0].rstrip())))
    # Where a sentence ends with its line, the text may be wrapped or have a sentence a line.
    ends = [bool(_SENTENCE_END.search(line.rstrip())) for line in lines[:-1]]
    return sum(full) >= _FULL * len(full) and sum(going) >= 0.25 * len(going) and sum(ends) <= 0.5 * len(ends)


def joined(lines: Sequence[str]) -> str:
    """On one line; a word that was divided at the end of a line is one again, and a compound keeps its hyphen."""
    return _WORDS.join(" ".join(line.split()) for line in lines)


def _goes_on(line: str, following: str) -> bool:
    return not _SENTENCE_END.search(line.rstrip()) and following.lstrip()[:1].islower()
