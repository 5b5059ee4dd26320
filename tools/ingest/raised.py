"""How raised digits are written in plain text: as a power (10^6, km^2), or left out where they are the mark of a note.

One rule for every format. Glued to what they stand behind, they would make another figure of it. What is lowered stays
as it is (CO2), and so do the letters of an ordinal (21st) and the charge of an ion (Ca2+).
"""

import re
from typing import Any

from tools.ingest.tidy import drop

RAISED, LOWERED = "\ue000", "\ue001"
"""Around what is raised, in a text whose format tells it; `written` takes them out again."""

NOTE_MARK = re.compile(r"(?:\d{1,3}|[ivx]{1,5}|[*†‡§¶∗]{1,3})(?:\s?,\s?\d{1,3})*")
_RAISED = re.compile(f"{RAISED}([^{RAISED}{LOWERED}]*){LOWERED}")
_POWER = re.compile(r"([+−–-]?)\s?\d{1,3}(?:[.,/]\d{1,3})?|[nxk]")
_NUMBER, _SYMBOL = re.compile(r"\d$"), re.compile(r"(?:^|[\W\d_])[^\W\d_]{1,2}$")
_UNIT = re.compile(
    r"\d\s?(?:in|feet|foot|inch(?:es)?|yards?|miles?|(?:kilo|centi|milli)?met(?:er|re)s?)$", re.IGNORECASE
)
_TERM = r"(?:\d[\d.,]*|[^\W\d_])"
_FORMULA = re.compile(rf"\({_TERM}(?:\s?[+−×*·/]\s?{_TERM}|\s-\s{_TERM})+\)$")
_WORD = re.compile(  # with at least three letters, or one of the shorter ones, which are no units
    r"[^\W\d_]{3}$|(?:^|\W)(?:am|an|as|at|be|by|do|go|he|if|in|is|it|me|my|no|of|on|or|so|to|up|us|we|UK|EU|US|UN)$"
)
_SENTENCE_END = re.compile(r"[.,;:!?%)\]\"'”’»…]$")
_SLASHES = ("/", "\u2044", "\u2215")
_LONGEST, _BEFORE = 12, 40  # characters: of what is raised, and of what is looked at before it
_BLOCKS = frozenset("p div li td th dd dt h1 h2 h3 h4 h5 h6 br hr pre tr table ul ol section article body html".split())


def raised_as(text: str, before: str, after: str = "") -> str | None:
    """What is written for a raised text between these two; None for the mark of a note, which is no text.

    After a number, a unit or a symbol it is a power; after a word or the end of a sentence it is a mark.
    """
    said = text.strip()
    apart = not before or before[-1].isspace()
    if apart and (after[:1].isalpha() or after[:1] in _SLASHES):
        return text  # an isotope or the fraction before a word
    power = _POWER.fullmatch(said)
    if power and not apart:
        if after[:1] in _SLASHES and before[-1].isdigit():
            return f" {said}"  # 1 1/2
        if power[1] or _is_base(before):
            return f"^{said}"
    before = before.rstrip()
    if NOTE_MARK.fullmatch(said) and (_WORD.search(before) or _SENTENCE_END.search(before)):
        return None
    return text


def _is_base(before: str) -> bool:
    if _NUMBER.search(before) or _UNIT.search(before) or _FORMULA.search(before):
        return True
    return bool(_SYMBOL.search(before)) and not _WORD.search(before)


def raised(text: str) -> str:
    """The text with the signs around it that say that it is raised."""
    return f"{RAISED}{text}{LOWERED}" if text.strip() else text


def written(text: str) -> tuple[str, int]:
    """The text with what is raised as it is written, and how many marks of notes were left out."""
    if RAISED not in text:
        return text, 0
    pieces, marks, end = [""], 0, 0
    text = text.replace(f"{LOWERED}{RAISED}", "")  # one raised text in two runs
    for match in _RAISED.finditer(text):
        pieces.append(text[end : match.start()])
        end = match.end()
        shown = raised_as(match[1], "".join(pieces[-4:])[-_BEFORE:], text[end : end + 1])
        marks += shown is None
        pieces.append(shown or "")
    return "".join(pieces) + text[end:], marks


def write_raised(root: Any) -> int:
    """The same for the elements of an HTML tree that are raised; `root` is changed.

    What holds a link, or is one, is left to those who know where it leads.
    """
    marks = 0
    for element in list(root.iter("sup")):
        text = "".join(element.itertext())
        if len(text) > _LONGEST or next(element.iter("a"), None) is not None:
            continue
        if next(element.iterancestors("a"), None) is not None:
            continue
        shown = raised_as(text, _before(element), (element.tail or "")[:1])
        if shown is None:
            marks += 1
            drop(element)
        elif shown != text:
            del element[:]
            element.text = shown
    return marks


def _before(element: Any) -> str:
    """The end of the text that stands right before an element in its paragraph."""
    last = element.getprevious()
    if last is None:
        return ((element.getparent().text if element.getparent() is not None else "") or "")[-_BEFORE:]
    inside = "" if last.tag in _BLOCKS or not isinstance(last.tag, str) else "".join(last.itertext())
    return f"{inside}{last.tail or ''}"[-_BEFORE:]
