"""Sentences outside of their text: an opening pronoun is followed by what it stands for, in square brackets.

Decontextualisation (Choi et al. 2021) by form: which word a pronoun stands for is guessed, and only where one word can
be meant.
"""

import re

from tools.language.grammar import antecedent
from tools.language.standalone import leans_back

_PERSONAL = re.compile(r"^[\"'“‘(]?(it|its|they|their|them|he|she|his|her|him)(?=\W)", re.IGNORECASE)
_OPENING = re.compile(r"\w+")
# An 'it' that only prepares a clause stands for nothing.
_PREPARES = re.compile(
    r"^[\"'“‘(]?it(?:'s|’s|\s+(?:is|was|would\s+be|seems))\s+(?:(?:not|also|often)\s+)?(?:no\s+\w+|an?\s+\w+|time|clear|"
    r"true|obvious|(?:un)?likely|(?:im)?possible|important|essential|vital|necessary|easy|easier|hard|harder|difficult|"
    r"good|better|best|bad|worse|right|wrong|(?:un)?fair)\s+(?:to|that|for|whether|if)\b",
    re.IGNORECASE,
)


def antecedent_added(sentence: str, before: str) -> str:
    """The sentence with what its opening pronoun stands for, 'It [the night ferry] costs …', by the sentence before.

    '' where that is not sure, and where the sentence leans on more than its first word.
    """
    pronoun = None if _PREPARES.match(sentence) else _PERSONAL.match(sentence)
    if pronoun is None or not sentence[pronoun.end() :].startswith(" "):
        return ""
    subject = antecedent(pronoun[1].casefold(), before)
    if not subject or leans_back(_OPENING.sub("Towns", sentence, count=1)):
        return ""
    return f"{sentence[: pronoun.end()]} [{subject}]{sentence[pronoun.end() :]}"
