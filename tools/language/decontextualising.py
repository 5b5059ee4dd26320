"""Sentences outside of their text: an opening pronoun is followed by what it stands for, in square brackets.

Which word a pronoun stands for is a guess by form; where it is not sure, the sentence before or the title is put in
front (decontextualisation, Choi et al. 2021).
"""

import re
from dataclasses import dataclass

from tools.language.grammar import antecedent
from tools.language.standalone import leans_back, stands_alone

_PERSONAL = re.compile(r"^[\"'“‘(]?(it|its|they|their|them|he|she|his|her|him)(?=\W)", re.IGNORECASE)
_POINTING = re.compile(
    r"^[\"'“‘(]?(?:this(?!\s+(?:year|month|week|time|morning|evening|summer|winter|century)\b)|"
    r"these(?!\s+days\b)|those(?!\s+who\b)|"
    r"that(?=(?:'s|’s)|\s+(?:is|was|has|means|makes|would|could|can|will|should|may|might)\b))(?!\w)",
    re.IGNORECASE,
)
_OPENING = re.compile(r"\w+")
# An 'it' that only prepares a clause stands for nothing.
_PREPARES = re.compile(
    r"^[\"'“‘(]?it(?:'s|’s|\s+(?:is|was|would\s+be|seems))\s+(?:(?:not|also|often)\s+)?(?:no\s+\w+|an?\s+\w+|time|clear|"
    r"true|obvious|(?:un)?likely|(?:im)?possible|important|essential|vital|necessary|easy|easier|hard|harder|difficult|"
    r"good|better|best|bad|worse|right|wrong|(?:un)?fair)\s+(?:to|that|for|whether|if)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Shown:
    """A sentence as it is shown. `added` is what stands in its square brackets and is not of the sentence, or empty."""

    text: str
    added: str = ""


def decontextualised(sentence: str, before: str = "", title: str = "") -> Shown:
    """The sentence with what its opening word refers to, where it opens with a pronoun or with 'this' or 'these'.

    before: the sentence before it, or empty. title: of the document, or empty. A personal pronoun is followed by the
    subject of the sentence before, 'It [the night ferry] costs …', where that agrees with it and nothing else there
    does. Else the sentence before is put in front, where it stands alone itself, and else the title. Where there is
    none of these the sentence stays as it is.
    """
    if (resolved := _resolved(sentence, before)).added:
        return resolved
    if not _POINTING.match(sentence) and (_PREPARES.match(sentence) or not _PERSONAL.match(sentence)):
        return resolved
    context = before if stands_alone(before) else title.strip()
    return Shown(f"[{context}] {sentence}", context) if context else resolved


def antecedent_added(sentence: str, before: str) -> str:
    """The sentence with what its opening pronoun stands for in square brackets, or '' where that is not sure, or where
    it leans on more than its first word."""
    resolved = _resolved(sentence, before)
    return "" if not resolved.added or leans_back(_OPENING.sub("Towns", sentence, count=1)) else resolved.text


def _resolved(sentence: str, before: str) -> Shown:
    """The sentence with the antecedent of its opening personal pronoun; unchanged where that is not sure."""
    personal = None if _PREPARES.match(sentence) else _PERSONAL.match(sentence)
    if personal is None or not sentence[personal.end() :].startswith(" "):
        return Shown(sentence)
    subject = antecedent(personal[1].casefold(), before)
    text = f"{sentence[: personal.end()]} [{subject}]{sentence[personal.end() :]}"
    return Shown(text, subject) if subject else Shown(sentence)
