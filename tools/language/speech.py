"""Reported speech: who says a sentence of prose that quotes people, such as a news report or minutes.

The words and conventions that it goes by are in `conventions.toml`.
"""

import re
from collections.abc import Sequence

from tools.language.lexicon import is_name
from tools.language.names import from_title, fullest, is_entitled, is_person, pattern
from tools.language.sentences import GAP
from tools.passages import PROBABLY, Passage

UNNAMED = "somebody quoted"
"""The speaker of a sentence inside quotation marks whose speaker the passage does not name. The document's author must
not stand for it."""


_WORD = re.compile(r"\w+")
_MARKS = " “”«»„\"‘’'"
_FIRST_PERSON = re.compile(r"\b(?:I|[Mm]y|[Mm]e|[Mm]ine|[Ww]e|[Oo]urs?|us)\b")


_OFTEN, _LEAST, _SHORT = 0.2, 5, 19


def people_speak(texts: Sequence[str]) -> bool:
    """Whether people speak for themselves in the texts, as in letters, interviews and minutes: a fifth of the texts,
    and five at least, are in the first person, and the texts have 19 words or fewer in the mean."""
    spoken = sum(bool(_FIRST_PERSON.search(text)) for text in texts)
    words = sum(len(text.split()) for text in texts)
    return spoken >= max(_LEAST, _OFTEN * len(texts)) and words <= _SHORT * len(texts)


def reporter(clause: str, verbs: str = "VERB") -> str:
    """Who says something by the words of this clause, outside of quotation marks: 'Cllr Faulds', 'the Clerk', 'she', 'a
    spokeswoman'; empty where nobody does. verbs: 'VERB_IN_MINUTES' are more."""
    if told := pattern("ACCORDING").search(clause):
        return told["who"] or told["whose"]
    if inverted := pattern("INVERTED").match(clause):
        who, after = inverted["who"].strip(), (inverted["next"] or "").strip()
        if not is_person(who) and pattern("PERSON").fullmatch(after) and is_person(after):
            return after
        if (trade := pattern("BY_TRADE").match(who) or pattern("BY_ROLE").match(who)) and is_person(trade["who"]):
            return trade["who"]
        found = next((m for name in ("PERSON", "DESCRIBED", "PRONOUN") if (m := pattern(name).match(who))), None)
        return found[0] if found else ""
    for verb in pattern(verbs).finditer(clause):
        before = clause[: verb.start()].rstrip()[-240:]
        if before.endswith(",") and (said_by := pattern("SAID_BY").match(clause, verb.start())):
            return said_by["who"]
        who = _subject(pattern("ADVERBS").sub("", before))
        first = pattern("SUBJECT_OF_TWO").match(clause) if before.endswith((" and", " but")) else None
        if first and is_person(first["who"]):  # 'Una Roe agreed but added'
            return first["who"]
        if who and (not _is_described(who) or pattern("VERB").match(clause, verb.start())):
            return who
    return ""


def _is_described(who: str) -> bool:
    return bool(pattern("DESCRIBED").fullmatch(who)) and not pattern("NAME_AT_END").fullmatch(who)


def _subject(left: str) -> str:
    """The subject that ends there: 'Ms J. Birkett' of 'Ms J. Birkett, team leader,'."""
    left = pattern("RELATIVE").sub("", left)
    if pattern("PASSIVE").search(left):
        return ""
    if left.endswith(","):
        *chunks, last = [chunk.strip(" “”\"'") for chunk in left[:-1].split(",")]
        last = re.sub(r"^the ", "", last)
        named = [name for name in chunks[-1:] if pattern("PERSON").fullmatch(name) and is_entitled(name)]
        named += [last] if chunks and pattern("PERSON").fullmatch(last) else []
        named += [from_title(m[0]) for chunk in chunks if (m := pattern("PERSON").match(chunk))]
        named += [m["who"] for chunk in chunks if (m := pattern("BY_TRADE").match(chunk[:1].lower() + chunk[1:]))]
        if person := next(filter(is_person, named), ""):
            return person
    left = left.removesuffix(",")
    if inside := re.search(r" \(([^()]{1,60})\)$", left):
        left, member = left[: inside.start()], inside[1]
        if pattern("CLUB").search(left) and is_entitled(member) and not pattern("CLUB").search(member):
            return member  # who speaks for a body
    if pattern("PRONOUN").fullmatch(last := left.rpartition(" ")[2]):
        return last
    found = pattern("NAME_AT_END").search(left)
    if found and (place := pattern("PREPOSITION").search(left[: found.start()])):
        who = left[: place.start()].rstrip() if place[0] in ("of ", "from ", "for ") else ""
        return (
            who if pattern("NAME_AT_END").fullmatch(who) and (is_person(who) or is_name(who)) else ""
        )  # 'Una Roe of Mill Lane'
    if found:
        if found[0].lower().startswith("the ") and not pattern("TITLES").search(found[0]):
            return found[0]
        name = from_title(found[0])
        return name if is_person(name) or is_name(name) or pattern("INITIALS").fullmatch(name) else ""
    return found[0] if (found := pattern("DESCRIBED").search(left[-80:])) else ""


def speaker_of(passage: Passage, quote: str) -> str:
    """Who says the quote: whom the passage reports to say it, by whose word, else its speaker, else its author."""
    own, reported = passage.said_by, reported_speaker(quote, passage.text, spoken=bool(passage.speaker))
    if not reported:
        return own
    words = set(_WORD.findall(reported.casefold()))
    others = [name for name in own.split(", ") if words.isdisjoint(_WORD.findall(name.casefold())[-1:])]
    of_self = not own or len(others) < len(own.split(", "))
    if passage.speaker and (of_self or not words.isdisjoint(_WORD.findall(own.casefold()))):
        return own
    by = " by" if reported == UNNAMED else ", quoted by"
    return reported if of_self else f"{reported}{by} {own}"


def reported_speaker(sentence: str, passage: str, *, spoken: bool = False) -> str:
    """The person or body that the passage reports to say the sentence: 'Ana Pereira' of '"…", said Ana Pereira'.

    sentence: one or two sentences of the passage, word for word but for spaces; of two that stand apart (`GAP`) the
    first tells it. Empty where the passage speaks for
    itself, so that its author says it; `UNNAMED` where it stands inside quotation marks of somebody whom the passage
    does not name. A name that is not certain begins with `tools.passages.PROBABLY`.

    spoken: the passage has one speaker; 'he' and 'she' are that one, as in minutes, and 'they say' is nobody's word.
    """
    text = "\n".join(" ".join(line.split()) for line in passage.splitlines())
    said = " ".join(sentence.split())
    if said not in text.replace("\n", " "):
        said = said.partition(GAP)[0]
    begin = text.replace("\n", " ").find(said)
    if begin < 0 or not said:
        return ""
    quotations = _quotations(text)
    shares = [max(0, min(end, begin + len(said)) - max(start, begin)) for start, end in quotations]
    opens = said[0] in _MARKS and any(first == begin + 1 and text[last - 1] in ",.!?" for first, last in quotations)
    if sum(shares) * 2 >= len(said) or (opens and any(shares)):
        return _of_quotation(text, quotations, shares.index(max(shares)), spoken)
    return _of_clause(text, quotations, begin, begin + len(said), spoken)


def _of_quotation(text: str, quotations: list[tuple[int, int]], index: int, spoken: bool) -> str:
    """Who says what stands inside quotation marks."""
    start, end = quotations[index]
    if spoken and text[:start].strip(_MARKS) == text[end:].strip(_MARKS) == "":  # all of the turn
        return ""
    who, place = _attribution(text, quotations, index)
    if spoken and _is_one(who):
        return ""
    if not who and (leading := _leading(text[:place])):
        return PROBABLY + fullest(leading, text)
    alone = not who and text[end - 1 : end] != ","
    return _named(who, place, text, quotations) or (alone and _of_the_one_before(text, start)) or UNNAMED


def _leading(text: str) -> str:
    """The one person whom the words that lead to a quotation name: 'The landlord, Una Roe, was angry:'."""
    led = pattern("LED").search(text.rstrip(_MARKS))
    if led and is_person(led["who"]):
        return led["who"]
    lead = pattern("LEAD").search(text)
    named = {from_title(m[0]) for m in pattern("PERSON").finditer(lead["lead"])} if lead else set[str]()
    people = [name for name in named if is_person(name)]
    return people[0] if len(people) == 1 else ""


def _of_the_one_before(text: str, start: int) -> str:
    """The one person whom the sentence before a quotation that names nobody is about, with a doubt."""
    *_, before = pattern("SENTENCE_END").split(text[text.rfind("\n", 0, start) + 1 : start].strip(_MARKS))
    person = _subject_of(before)
    return PROBABLY + fullest(person, text) if person else ""


def _subject_of(sentence: str) -> str:
    """The person whom a sentence begins with: 'Ingrid' of 'His sister Ingrid is less patient'; empty for others."""
    about = pattern("ABOUT").match(sentence.strip())
    name = from_title(about["who"]) if about else ""
    return name if about and not name.isupper() and (about["role"] or is_person(name) or is_name(name)) else ""


def _of_clause(text: str, quotations: list[tuple[int, int]], begin: int, end: int, spoken: bool) -> str:
    """Whom the words from begin to end, which are not a quotation for the most part, report."""
    outside = _outside(text, quotations)
    clause, quotes = outside[begin:end], any(first < end and last > begin for first, last in quotations)
    paragraph = outside[outside.rfind("\n", 0, begin) + 1 :].partition("\n")[0]
    if spoken and pattern("GENERIC").match(clause):
        return UNNAMED
    who = reporter(clause)
    named = who and not pattern("PRONOUN").fullmatch(who) and not pattern("OF_SELF").search(clause)
    if not (quotes or named) and pattern("OF_SELF").search(paragraph) and not pattern("IN_DIALOGUE").search(clause):
        return ""  # its author speaks, of what others say too
    ends = [m.end() for m in pattern("SENTENCE_END").finditer(outside)]  # of a part the whole sentence may tell it
    first, last = max((e for e in ends if e <= begin), default=0), min((e for e in ends if e >= end), default=None)
    who = who or reporter(outside[first:last])
    if not who and (by := pattern("BY_SURNAME").match(clause)) and is_person(full := fullest(by["who"], text)):
        return full
    inside = [start for start, stop in quotations if begin <= start and stop <= end]
    if not who and inside and (leading := _leading(text[begin : inside[0]])):
        return PROBABLY + fullest(leading, text)
    if spoken and _is_one(who):
        return ""
    starts = [0, *(m.end() for m in pattern("SENTENCE_END").finditer(clause))]
    place = next((start for start in reversed(starts) if re.search(rf"\b{re.escape(who)}\b", clause[start:])), 0)
    if quotes and _is_described(who) and who.lower().startswith("the "):
        return who[0].upper() + who[1:]
    found = _named(who, begin + place, text, quotations)
    if not found and pattern("INDEFINITE").match(who) and not pattern("THING").search(who):
        found = UNNAMED if quotes or pattern("ASSERTED").search(clause) else ""
    return "" if found == UNNAMED and pattern("GENERAL").search(clause) else found


def _is_one(who: str) -> bool:
    return who.lower() in ("he", "she")


def said_of_others(sentence: str, after: str) -> bool:
    """Whether a sentence gives the view of nobody in particular, which the one after it denies: 'They say it is cheap.
    It is not.'"""
    return bool(pattern("GENERIC").match(sentence) and pattern("DENIED").fullmatch(after))


def _quotations(text: str) -> list[tuple[int, int]]:
    """The places between quotation marks; one that is not closed goes on to the next that opens, or to the end."""
    begun = pattern("CLOSED").match(text)
    found = pattern("QUOTED").finditer(text, begun.end() if begun else 0)
    return ([(0, begun.end() - 1)] if begun else []) + [match.span(match.lastindex or 0) for match in found]


def _outside(text: str, quotations: list[tuple[int, int]]) -> str:
    """The text with the quotations blanked but for their last signs, of the same length."""
    for start, end in quotations:
        text = f"{text[:start]}{'“' * (end - start - 1)}{text[end - 1 :]}" if end > start else text
    return text


def _attribution(text: str, quotations: list[tuple[int, int]], index: int) -> tuple[str, int]:
    """The words that name the speaker of a quotation, after or before it or the one before, and their place."""
    start, end = quotations[index]
    following = quotations[index + 1][0] - 1 if index + 1 < len(quotations) else len(text)
    after = pattern("SENTENCE_END").split(text[end + 1 : following], 1)[0]
    if text[end - 1 : end] not in ".…" and (who := reporter(after)):
        return who, end
    if text[end - 1 : end] == ",":  # what follows names somebody by words that are not known
        return "", start
    between = text[quotations[index - 1][1] + 1 if index else 0 : start - 1].strip()
    *others, lead = pattern("SENTENCE_END").split(between)
    who = reporter(lead)
    if index and (not between or (who and not others and not lead.endswith((":", ",")))):
        return _attribution(text, quotations, index - 1)
    return who, start


def _named(who: str, place: int, text: str, quotations: list[tuple[int, int]]) -> str:
    """The name that the words stand for there."""
    if pattern("PRONOUN").fullmatch(who):
        return _antecedent(who.lower(), _outside(text, quotations)[:place])
    if who and _is_described(who):
        named = who[0].upper() + who[1:] if who.lower().startswith("the ") else UNNAMED
        return named if pattern("SOURCE").search(who) else ""
    return fullest(who, text)


def _antecedent(pronoun: str, before: str) -> str:
    """The person whom 'he' or 'she' stands for: who is reported last, or is named in the sentences before."""
    wrong = pattern({"he": "HERS", "she": "HIS"}.get(pronoun, "EDITED"))
    for distance, sentence in enumerate(reversed(pattern("SENTENCE_END").split(before))):
        told = reporter(sentence)
        if told and _is_described(told):
            return UNNAMED
        if told and not (told.isupper() or pattern("PRONOUN").fullmatch(told) or wrong.search(told)):
            return fullest(told, before)
        named = [from_title(m[0]) for m in pattern("PERSON").finditer(sentence)]
        people = [p for p in named if is_person(fullest(p, before)) and not wrong.search(p)]
        people = people or [p for p in [_subject_of(sentence)] if p and not wrong.search(p)]
        if people:
            alone = distance < 2 and len({person.split()[-1] for person in people}) == 1
            sure = alone and sentence.find(people[0]) < 30
            return ("" if sure else PROBABLY) + fullest(people[0], before)
    return UNNAMED
