"""Finds sentences in which a document names a gap in the evidence: what nobody has told, counted or measured."""

import re

from tools.language.quotable import QuotablePart, quotable_parts, short_statements
from tools.language.sentences import split_sentences
from tools.passages import Passage

_NO_ONE = r"(?:nobody|no[ -]one|none of|neither|no)"
_NOT = (
    r"(?:(?:not|\w+n['’]t)(?! (?:everyone|everybody|all|only|just)\b)|yet to|(?:unable|refus\w+|declin\w+|fail\w+) to)"
)
_WORDS = r"(?: (?:(?:seems|able|willing) to|(?!(?:to|that|and|but|because|so|if)\b)[\w'’-]+)){0,6}"  # of a clause
_TOLD = r"(?: (?:to )?(?:us|me|them|you|anyone|anybody))"
_SAY = (
    rf"(?:know[ns]?|sa(?:y|ys|id)|sure|certain|clear|(?:tell|told){_TOLD}|been told|explain(?:ed)?|stated?|shown?|"
    r"record(?:ed)?|publish(?:ed)?|disclosed?|reveal(?:ed)?|released?|specif(?:y|ied)|mention(?:ed)?|set out|"
    r"(?:worked|found) out)"
)
_WHAT = r"(?:how|what|when|where|whether|which|who|whose|why)\b(?! to\b)"
_FIGURE = (
    r"(?:figures?|data|estimates?|statistics|counts?|costings?|breakdowns?|measurements?|surveys?|stud(?:y|ies)|"
    r"assessments?|forecasts?|numbers?)\b(?! (?:that|to)\b)"
)
_MEASURE = (
    "measure|compare|check|examine|cost|estimate|survey|study|studie|assess|calculate|quantify|quantifie|monitor|"
    "investigate"
)
_MEASURED = rf"(?:counted(?! (?:on|as|for|among)\b)|(?:{_MEASURE})e?d)"
_PATTERNS = (
    # Nobody says it, or it can only be guessed: 'The report does not say who would pay'.
    rf"(?:(?:{_NO_ONE}|{_NOT}|cannot(?! know)){_WORDS} {_SAY}(?:{_TOLD}| yet| exactly| for \w+)?|only guess|unclear|"
    rf"leaves? out|(?:nothing|silent) (?:about|on)) (?:{_WHAT}|(?:the|its|their|any|a) (?:\w+ )?(?:costs?|{_FIGURE}))",
    # Nobody measured it: 'Nobody has counted the cars'.
    rf"(?:{_NO_ONE}(?! \w+ (?:is|are)\b)|(?:ha[sd]|have|is|are|was|were)(?: not|n['’]t| never)){_WORDS} {_MEASURED}",
    rf"did(?: not|n['’]t) (?:count(?! on)|{_MEASURE})",
    # There are no figures, or it is not known.
    rf"(?:there|ha[sd]|have|gives?|gave|holds?|contains?|offer(?:s|ed)?)(?: (?:is|are|was|were|been|still|yet)){{0,2}}"
    rf"(?: no| \w+n['’]t any| not any)(?: \w+)? {_FIGURE}",
    rf"no (?:\w+ )?{_FIGURE}{_WORDS} (?:exists?|made|published|available|kept|given|collected|taken|done|carried out)",
    r"(?:is|are|remains?|was|were) (?:\w+ ){0,2}(?:unknown|not known|an open question)",
)
_GAP = re.compile(rf"\b(?:{'|'.join(_PATTERNS)})\b", re.IGNORECASE)
_DOUBTER = re.compile(r"\b(?:I|who)(?: \w+)?\s?$")  # 'I do not know what they see in it'


def names_gap(sentence: str) -> bool:
    """Whether the sentence says that evidence is missing. Decides by form, in English; a question says nothing."""
    found = _GAP.finditer(sentence)
    return not sentence.endswith("?") and any(not _DOUBTER.search(sentence[: m.start()]) for m in found)


def gaps_in(passage: Passage) -> list[QuotablePart]:
    """Returns the quotable parts whose last sentence names a gap."""
    if not _GAP.search(" ".join(passage.text.split())):  # cutting into sentences is slow
        return []
    parts = [*quotable_parts(passage), *short_statements(passage)]
    return [part for part in parts if names_gap(split_sentences(part.text)[-1])]
