"""Framings that are made in one step: of a certain clause, of a request, of a maxim."""

import re
from dataclasses import replace

from tools.language.grammar.clause import Clause
from tools.language.grammar.framed import Form, Framing, sentence
from tools.language.grammar.leads import WH
from tools.language.grammar.lexicon import Word, join
from tools.language.grammar.openers import person_swapped
from tools.language.grammar.reading import Reading
from tools.language.grammar.requests import of_both_sides, requested
from tools.language.grammar.weighing import weighed

_ORDERED = re.compile(r"(?:give|list|show|lay|outline|present|summari[sz]e)\b(?! (?:me|us)\b)", re.I)
"""What opens an order to show something, and no claim."""


def answered(clause: Clause, form: Form, opinion: bool = False) -> Framing:
    spoken = person_swapped(clause, opinion)
    return Framing(form, clause.question(), spoken.statement(), spoken.denial(), topic=clause.topic())


def shown(reading: Reading) -> tuple[Framing | None, Reading]:
    """The framing of a request to be shown what speaks for a thing and against it; or what another request asks."""
    text = reading.text.rstrip(" ?.!")
    asked = requested(text)
    ordered = Framing("open", sentence(text, "."), topic=asked) if _ORDERED.match(text) else None
    if not asked:
        return ordered, reading
    for thing in (re.sub(r"^(?:about|of|on) ", "", asked), of_both_sides(asked)):
        if clause := weighed(thing, requested=True):
            return answered(clause, "polar"), reading
    if not re.search(r"\b(?:me|us|I|you)\b", text):
        return ordered, reading
    if WH.match(asked) or re.match(r"(?:whether|if)\b", asked):
        asked = re.sub(r"^if\b", "whether", asked)
        return None, replace(reading, text=asked, asked=True)
    return (Framing("open", sentence(text), topic=asked) if text[:1] in "iI" else ordered), reading


def quoted(words: list[Word]) -> Framing:
    text = sentence(join(words), "").strip('"')
    return Framing("polar", f'Is this true: "{text}"?', topic=join(words))
