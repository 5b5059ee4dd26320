"""What leads up to a question: 'In a democracy, should …', and the title of 'Brexit: was it a mistake?'"""

import re
from itertools import islice

from tools.language.grammar.clause import from_statement
from tools.language.grammar.inflect import is_gerund, verb_strength
from tools.language.grammar.lexicon import words_of
from tools.language.grammar.openers import strip_tail
from tools.language.grammar.word_classes import AUXILIARIES, CONJUNCTIONS, PREPOSITIONS, SUBORDINATORS

WH = re.compile(r"(?:what|which|who|whom|whose|when|where|why|how)(?:'s|'re)?\b", re.I)
_LEADS = PREPOSITIONS | SUBORDINATORS | {"to", "now", "today", "according", "nowadays", "once", "currently", "given"}
_MOST_COMMAS = 6  # a clause that introduces a question has no more


def lead_of(text: str) -> tuple[str, str]:
    """'In a democracy, should …' as its lead (comma included) and the clause that it introduces."""
    opening = words_of(text)
    if not opening or opening[0].core in AUXILIARIES or (WH.match(text) and opening[0].core not in _LEADS):
        return "", text
    introduces = opening[0].core in _LEADS
    for match in islice(re.finditer(r",\s+", text), _MOST_COMMAS):
        rest = text[match.end() :]
        after = words_of(rest)
        inverted = len(after) > 2 and after[0].core in AUXILIARIES and not verb_strength(after[1].core)
        asks = inverted or (introduces and bool(WH.match(rest)))
        begins = bool(after) and after[0].core not in CONJUNCTIONS and not is_gerund(after[0].core)
        states = introduces and begins and from_statement(after) is not None
        if asks or states:
            return text[: match.start() + 1], rest
    return "", text


def after_title(text: str) -> tuple[str, str]:
    """'Brexit: was it a good choice?' as title and question; the title is empty where there is none."""
    match = re.search(r"(?<=\w)(?:: | [–—-] )", text)
    if not match and text.endswith("?") and text.count(",") == 1 and len(text.split()) < 7:
        match = re.search(rf"(?<=\w), (?!(?:or|and|vs|{'|'.join(AUXILIARIES)})\b)", strip_tail(text.rstrip(" ?")))
    if not match:
        return "", text
    title, body = text[: match.start()], text[match.end() :]
    head = words_of(title)
    if not head or len(head) > 8 or not body.strip(" ?.!") or head[0].core in AUXILIARIES or WH.match(title):
        return "", text
    if re.search(r"\b(?:or|vs?\.?|versus)\b", title, re.I) and words_of(body)[0].core not in AUXILIARIES:
        return "", text
    return title.strip(), body.strip()
