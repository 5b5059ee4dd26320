"""Finds the speaker of a sentence in prose that quotes people, such as news. The patterns are in `conventions.toml`."""

import re
from collections.abc import Sequence

from tools.language.lexicon import is_name, pos_tag
from tools.language.person_names import fullest_form, is_person, is_surely_person, pattern, without_leading_words
from tools.language.sentences import SENTENCE_GAP, split_sentences
from tools.passages import PROBABLY, Passage

_RELATIVE = re.compile(r"(\w+) (?:that|which|whom) $")
UNNAMED = "somebody quoted"
"""The speaker of a quotation that the passage attributes to nobody. This is not the document's author."""
INTERVIEWER = "Interviewer"
"""The speaker of an interview's questions. The word stands alone or follows a name. The questions are no evidence."""

_JOINING = re.compile(r"^(?:And|But|Yet|So) ")
_OF_A_PLACE = re.compile(r"\b(?:at|in|near|runs|owns|keeps)(?: the)? $")  # 'Una Roe, who runs the Kelby Inn'
_WORD = re.compile(r"\w+")
_OPENING = 12  # first words of a sentence, which may reject the previous sentence
_LONGEST_JOINT = 120  # characters of several people's names
_MARKS = " “”«»„\"‘’'"
_FIRST_PERSON = re.compile(r"\b(?:I|[Mm]y|[Mm]e|[Mm]ine|[Ww]e|[Oo]urs?|us)\b")


_RELEASES = ("press release", "news release")
_FIRST_PERSON_SHARE, _LEAST_SPOKEN, _MOST_MEAN_WORDS = 0.2, 5, 19


def people_speak(texts: Sequence[str]) -> bool:
    """Whether people speak for themselves, as in letters and interviews. A fifth of the texts, and at least five, must
    be in the first person. The texts' mean length must be at most 19 words."""
    spoken = sum(bool(_FIRST_PERSON.search(text)) for text in texts)
    words = sum(len(text.split()) for text in texts)
    return spoken >= max(_LEAST_SPOKEN, _FIRST_PERSON_SHARE * len(texts)) and words <= _MOST_MEAN_WORDS * len(texts)


def speaker_in_clause(clause: str, verbs: str = "VERB") -> str:
    """Returns the person whom a clause outside of quotation marks names as a speaker: 'Cllr Faulds', 'the Clerk',
    'she', 'a spokeswoman'; else ''. verbs: the name of the pattern of verbs; 'VERB_IN_MINUTES' has more verbs."""
    clause = pattern("NOT_SHARED").sub("", clause)  # 'whatever the ministry writes'
    if told := pattern("ACCORDING").search(clause):
        who = re.sub("['’]s?$", "", told["who"] or told["whose"])  # 'according to the Chamber's survey'
        return who[:1].upper() + who[1:] if who.startswith("the ") else who
    if (last := pattern("SAID_LAST").search(clause)) and (last["who"] in ("he", "she") or is_person(last["who"])):
        return last["who"]
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
        who = _subject_at_end(pattern("ADVERBS").sub("", before))
        if who and (relative := _RELATIVE.search(before[: before.rfind(who)])) and pos_tag(relative[1])[:2] == "NN":
            continue  # 'the crew that the Trust promises'
        two = before.endswith((" and", " but"))
        first = (pattern("APPOSED").match(clause) or pattern("SUBJECT_OF_TWO").match(clause)) if two else None
        if first and is_person(first["who"]):  # 'Una Roe agreed but added'
            return first["who"]
        if who.endswith((" and", " but")):  # 'The chair opened the item and reminded members'
            who = ""
        role = verbs == "VERB_IN_MINUTES" and pattern("ROLE").fullmatch(who)  # 'The clerk advised'
        if who and (role or not _is_described(who) or pattern("VERB").match(clause, verb.start())):
            return who
    return ""


def _joint_subject(left: str) -> str:
    """Returns 'Una Roe, Idris Pell' for 'Una Roe and Idris Pell' at the end of the words."""
    found = pattern("JOINT").search(left[-_LONGEST_JOINT:])
    if not found:
        return ""
    title = plural[0].strip().removesuffix("s") if (plural := pattern("PLURAL_TITLE").match(found[0])) else ""
    named = re.split(r",? and |, ", pattern("PLURAL_TITLE").sub("", found[0]))
    people = [f"{title} {name}" if title and not pattern("TITLED").match(f"{name} ") else name for name in named]
    return ", ".join(people) if all(map(is_person, people)) else ""


def _is_described(who: str) -> bool:
    return bool(pattern("DESCRIBED").fullmatch(who)) and not pattern("NAME_AT_END").fullmatch(who)


def _subject_at_end(left: str) -> str:
    """Returns the subject at the end of the words: 'Ms J. Birkett' for 'Ms J. Birkett, team leader,'."""
    left = pattern("RELATIVE").sub("", left)
    if pattern("PASSIVE").search(left):
        return ""
    spoken_for = pattern("SPOKEN_FOR").search(left)
    if whole := spoken_for[0] if spoken_for else _joint_subject(left):
        return whole
    if left.endswith(","):
        *chunks, last = [chunk.strip(" “”\"'") for chunk in left[:-1].split(",")]
        last = re.sub(r"^the ", "", last)
        ending = map(without_leading_words, chunks[-1:])
        named = [name for name in ending if pattern("PERSON").fullmatch(name) and is_surely_person(name)]
        named += [last] if chunks and pattern("PERSON").fullmatch(last) else []
        named += [without_leading_words(m[0]) for chunk in chunks if (m := pattern("PERSON").match(chunk))]
        named += [m["who"] for chunk in chunks if (m := pattern("BY_TRADE").match(chunk[:1].lower() + chunk[1:]))]
        if person := next(filter(is_person, named), ""):
            return person
    left = left.removesuffix(",")
    if inside := re.search(r" \(([^()]{1,60})\)$", left):
        left, member = left[: inside.start()], inside[1]
        if pattern("CLUB").search(left) and is_surely_person(member) and not pattern("CLUB").search(member):
            return member  # a person who speaks for a body
    if pattern("PRONOUN").fullmatch(last := left.rpartition(" ")[2]):
        return last
    found = pattern("NAME_AT_END").search(left)
    if found and (place := pattern("PREPOSITION").search(left[: found.start()])):
        return _subject_before(place[0], left[: place.start()].rstrip())
    if found:
        if found[0].lower().startswith("the ") and not pattern("TITLES").search(found[0]):
            return found[0]
        name = without_leading_words(found[0])
        return name if is_person(name) or is_name(name) or pattern("INITIALS").fullmatch(name) else ""
    found = pattern("DESCRIBED").search(left, max(0, len(left) - 80))
    place = pattern("PREPOSITION").search(left[: found.start()]) if found else None
    before = _subject_before(place[0], left[: place.start()].rstrip()) if place else ""  # 'Una Roe of the coast police'
    return before or (found[0] if found else "")


def _subject_before(preposition: str, who: str) -> str:
    """Returns the subject before a place or body: Una Roe in 'Una Roe of Mill Lane', or 'a tenant' in 'a tenant of Mill
    Lane'; else ''."""
    holder = pattern("NAME_AT_END").search(who) if preposition in ("of ", "from ", "for ", "in ", "at ") else None
    name = without_leading_words(holder[0]) if holder else ""
    clear = holder and not pattern("PREPOSITION").search(who[: holder.start()])
    if clear and (is_person(name) or (name == _JOINING.sub("", who) and is_name(name))):
        return name
    one = pattern("DESCRIBED").search(who) if preposition in ("of ", "from ") else None
    return one[0] if one and pattern("INDEFINITE").match(one[0]) else ""


def speaker_of(passage: Passage, quote: str, named: str = "") -> str:
    """Returns the speaker of a quote. If the passage reports another person's words, both are named: 'Una Roe, quoted
    by Ana Pereira'. Otherwise the passage's speaker, else its author. named: the speaker that a model names instead of
    the rules; an uncertain speaker of the passage then gives way."""
    text, own = passage.whole or passage.text, passage.said_by
    if named and not any(pattern(name).fullmatch(named.removeprefix(PROBABLY)) for name in ("WITHHELD", "NOBODY")):
        return _with_named(named, passage)
    reported = reported_speaker(quote, text, spoken=bool(passage.speaker))
    issuer = passage.kind in _RELEASES and reported.startswith("The ") and _is_described(reported)
    if not reported or issuer:  # 'The company points out' in a company's press release
        return own
    words = set(_WORD.findall(reported.casefold()))
    others = [name for name in own.split(", ") if words.isdisjoint(_WORD.findall(name.casefold())[-1:])]
    of_self = not own or len(others) < len(own.split(", "))
    if passage.speaker and (of_self or not words.isdisjoint(_WORD.findall(own.casefold()))):
        return own
    by = " by" if reported == UNNAMED else ", quoted by"
    return reported if of_self else f"{reported}{by} {own}"


def _with_named(named: str, passage: Passage) -> str:
    """Returns the speaker whom a model names. If the passage has another speaker or author, both are named, unless that
    one is uncertain. A doubtful name changes nothing."""
    own, sure = passage.said_by, passage.said_by.removeprefix(PROBABLY)
    body = {*_WORD.findall(passage.publisher.casefold())}
    if named.startswith(PROBABLY) or {*_WORD.findall(named.casefold())} - {"the"} <= body:
        return own
    if same := [name for name in sure.split(", ") if _same_person(named, name)]:
        return sure if sure == same[0] else named  # one of several authors
    return named if not own or own != sure else f"{named}, quoted by {own}"


def _same_person(one: str, other: str) -> bool:
    """Whether all words of one name, apart from titles, are in the other: 'Dr Ann Lee' and 'Lee'."""
    first, second = ({*_WORD.findall(pattern("TITLED").sub("", f"{name} ").casefold())} for name in (one, other))
    unlike = any(pattern(a).search(one) and pattern(b).search(other) for a, b in (("HIS", "HERS"), ("HERS", "HIS")))
    return bool(first and second) and (first <= second or second <= first) and not unlike


def reported_speaker(sentence: str, passage: str, *, spoken: bool = False) -> str:
    """Returns the reported speaker of the sentence: 'Ana Pereira' for '"…", said Ana Pereira'; '' if the passage's
    author says it. An uncertain name begins with `PROBABLY`. Returns `UNNAMED` if the passage names no speaker of a
    quotation, or if several people but not the author say the sentences. sentence: one or more sentences of the
    passage, with `SENTENCE_GAP` between distant ones. spoken: the passage has one speaker, whom 'he' and 'she' mean."""
    text = "\n".join(" ".join(line.split()) for line in passage.splitlines())
    said = " ".join(sentence.split())
    flat = text.replace("\n", " ")
    if said not in flat and SENTENCE_GAP in said:
        parts = [part for part in said.split(SENTENCE_GAP) if part in flat]
        speakers = {reported_speaker(part, passage, spoken=spoken) for part in parts}
        return "" if "" in speakers else UNNAMED if len(speakers) > 1 else "".join(speakers)
    begin = flat.find(said)
    if begin < 0 or not said:
        return ""
    if spoken and (reply := _REPLY.match(said)) and not speaker_in_clause(said[reply.end() :]):
        return ""
    quotations = _quotation_spans(text)
    shares = [max(0, min(end, begin + len(said)) - max(start, begin)) for start, end in quotations]
    opens = said[0] in _MARKS and any(first == begin + 1 and text[last - 1] in ",.!?" for first, last in quotations)
    if sum(shares) * 2 >= len(said) or (opens and any(shares)):
        return _speaker_of_quotation(text, quotations, shares.index(max(shares)), spoken)
    if not spoken and any(not pattern("VERB_IN_MINUTES").match(said, at.end()) for at in _ABOUT.finditer(said)):
        return ""
    return _speaker_of_clause(text, quotations, begin, begin + len(said), spoken)


_REPLY = re.compile(r"[\"“][^\"“”]{3,300}[\"”]\s*(?:[–—-]+|…|\.\.\.)\s*(?=\w)")
"""Begins a sentence that answers a quotation: '"Nobody rows" - then count us.'"""
_ABOUT = re.compile(r"[.!?] (?:She|He) (?:(?:also|then|later|further|\w+ly) )?")
"""Begins a sentence about the reported person: 'Ann Roe says that few come. She forgets the volunteers.'"""


def minutes_sentences(text: str) -> list[str]:
    """Splits a text into sentences. No sentence ends after a title such as 'Bro.' in 'Bro. Tamati'."""
    found: list[str] = []
    for sentence in split_sentences(text):
        if found and pattern("ABBREVIATED").fullmatch(found[-1].rpartition(" ")[2]):
            found[-1] += f" {sentence}"
        else:
            found.append(sentence)
    return found


def _speaker_of_quotation(text: str, quotations: list[tuple[int, int]], index: int, spoken: bool) -> str:
    start, end = quotations[index]
    if spoken and text[:start].strip(_MARKS) == text[end:].strip(_MARKS) == "":  # the whole turn
        return ""
    who, place = _attribution(text, quotations, index)
    if spoken and who.lower() in ("he", "she"):
        return ""
    if not who and (leading := _person_in_lead(text[:place])):
        return PROBABLY + fullest_form(leading, text)
    alone = not who and text[end - 1 : end] != ","
    named = _resolved_name(who, place, text, quotations)
    return named or (alone and _person_of_sentence_before(text, start)) or UNNAMED


def _person_in_lead(text: str) -> str:
    """Returns the only person in the words before a quotation: Una Roe in 'The landlord, Una Roe, was angry:'."""
    led = pattern("LED").search(text.rstrip(_MARKS))
    if led and is_person(led["who"]):
        return led["who"]
    lead = pattern("LEAD").search(text)
    named = {without_leading_words(m[0]) for m in pattern("PERSON").finditer(lead["lead"])} if lead else set[str]()
    people = [name for name in named if is_person(name)]
    return people[0] if len(people) == 1 else ""


def _person_of_sentence_before(text: str, start: int) -> str:
    """Returns `PROBABLY` and the subject of the sentence before an unattributed quotation."""
    *_, before = pattern("SENTENCE_END").split(text[text.rfind("\n", 0, start) + 1 : start].strip(_MARKS))
    person = _person_at_start(before)
    return PROBABLY + fullest_form(person, text) if person else ""


def _person_at_start(sentence: str) -> str:
    """Returns the person at a sentence's start, such as 'Ingrid' in 'His sister Ingrid is less patient'; else ''."""
    about = pattern("ABOUT").match(sentence.strip())
    name = without_leading_words(about["who"]) if about else ""
    return name if about and not name.isupper() and (about["role"] or is_person(name) or is_name(name)) else ""


def _speaker_of_clause(text: str, quotations: list[tuple[int, int]], begin: int, end: int, spoken: bool) -> str:
    """Returns the reported speaker of words that are mostly outside of quotation marks."""
    outside = _blank_quotations(text, quotations)
    clause, quotes = outside[begin:end], any(first < end and last > begin for first, last in quotations)
    paragraph = outside[outside.rfind("\n", 0, begin) + 1 :].partition("\n")[0]
    if spoken and pattern("GENERIC").match(clause):  # the following words are the speaker's
        return "" if pattern("SENTENCE_END").search(clause) else UNNAMED
    who = speaker_in_clause(clause)
    told = clause[max(clause.find(who), 0) :]  # 'I know that Una Roe has said'
    named = who and not pattern("PRONOUN").fullmatch(who) and not pattern("OF_SELF").search(told)
    if not (quotes or named) and pattern("OF_SELF").search(paragraph) and not pattern("IN_DIALOGUE").search(clause):
        return ""  # the author's own words, even if they are about others
    ends = [m.end() for m in pattern("SENTENCE_END").finditer(outside)]  # the whole sentence may name the speaker
    first, last = max((e for e in ends if e <= begin), default=0), min((e for e in ends if e >= end), default=None)
    who = who or speaker_in_clause(outside[first:last])
    if not who and (by := pattern("BY_SURNAME").match(clause)) and is_person(full := fullest_form(by["who"], text)):
        return full
    inside = [start for start, stop in quotations if begin <= start and stop <= end]
    if not who and inside and (led := pattern("FOR_WHOM").search(clause)) and is_person(led["who"]):
        return fullest_form(led["who"], text)
    if not who and inside and (leading := _person_in_lead(text[begin : inside[0]])):
        return PROBABLY + fullest_form(leading, text)
    if spoken and who.lower() in ("he", "she"):
        return ""
    starts = [0, *(m.end() for m in pattern("SENTENCE_END").finditer(clause))]
    place = next((start for start in reversed(starts) if re.search(rf"\b{re.escape(who)}\b", clause[start:])), 0)
    found = _resolved_name(who, begin + place, text, quotations)
    if not found and quotes and _is_described(who) and who.lower().startswith("the "):
        return who[0].upper() + who[1:]
    if not found and pattern("INDEFINITE").match(who) and not pattern("THING").search(who):
        found = UNNAMED if quotes or pattern("ASSERTED").search(clause) else ""
    return "" if found == UNNAMED and pattern("GENERAL").search(clause) else found


def is_foil(sentence: str, after: str, passage: str) -> bool:
    """Whether a sentence gives a view that the author does not share: 'We are told that it is cheap. It is not.' A
    sentence such as 'Some say …' counts only before a 'but' or negation, or if the author says 'I' or 'we'."""
    if not pattern("GENERIC").match(sentence):
        return False
    own = _blank_quotations(passage, _quotation_spans(passage)).replace(sentence, "")
    opening = " ".join(after.split()[:_OPENING])
    return bool(pattern("CONTRARY").search(opening) or _FIRST_PERSON.search(own))


def _quotation_spans(text: str) -> list[tuple[int, int]]:
    """Returns the spans between quotation marks. The next opening mark or the text's end ends an unclosed quotation."""
    begun = pattern("CLOSED").match(text)
    found = pattern("QUOTED").finditer(text, begun.end() if begun else 0)
    return ([(0, begun.end() - 1)] if begun else []) + [match.span(match.lastindex or 0) for match in found]


def _blank_quotations(text: str, quotations: list[tuple[int, int]]) -> str:
    """Blanks out quotations, except the last character of each quotation. The text keeps its length."""
    for start, end in quotations:
        text = f"{text[:start]}{'“' * (end - start - 1)}{text[end - 1 :]}" if end > start else text
    return text


def _attribution(text: str, quotations: list[tuple[int, int]], index: int) -> tuple[str, int]:
    """Returns the words after or before this quotation, or the previous one, that name its speaker, and their place."""
    start, end = quotations[index]
    following = quotations[index + 1][0] - 1 if index + 1 < len(quotations) else len(text)
    after = pattern("SENTENCE_END").split(text[end + 1 : following], 1)[0]
    if coded := pattern("CODED").match(after.lstrip(f" .,{_MARKS}")):  # a participant of a study
        return coded["who"], end
    between = text[quotations[index - 1][1] + 1 if index else 0 : start - 1].strip()
    *others, lead = pattern("SENTENCE_END").split(between)
    led = speaker_in_clause(lead)
    if text[end - 1 : end] not in ".…" and not (led and lead.endswith(":")) and (who := speaker_in_clause(after)):
        return who, end
    if text[end - 1 : end] == ",":  # the following words name a person unknown here
        return "", start
    who = led
    if index and (not between or (who and not others and not lead.endswith((":", ",")))):
        return _attribution(text, quotations, index - 1)
    return who, start


def _resolved_name(who: str, place: int, text: str, quotations: list[tuple[int, int]]) -> str:
    """Returns the name that the words refer to at this place."""
    if pattern("PRONOUN").fullmatch(who):
        return _antecedent(who.lower(), _blank_quotations(text, quotations)[:place])
    if spokesperson := _spokesperson(who, _blank_quotations(text, quotations)[:place]):
        return spokesperson
    if who and _is_described(who):
        named = who[0].upper() + who[1:] if who.lower().startswith("the ") else UNNAMED
        return named if pattern("SOURCE").search(who) else ""
    return fullest_form(who, text)


def _spokesperson(who: str, before: str) -> str:
    """Returns 'A spokeswoman for the Trust' for these words, or for 'the spokeswoman' below them; else ''."""
    if pattern("SPOKEN_FOR").fullmatch(who):
        return who[0].upper() + who[1:]
    earlier = reversed(pattern("SENTENCE_END").split(before) if pattern("SPOKES").fullmatch(who[4:]) else [])
    told = (name for name in map(speaker_in_clause, earlier) if who[4:] in name.split())  # after 'the '
    return next(filter(None, (_spokesperson(name, "") for name in told)), "")


def _antecedent(pronoun: str, before: str) -> str:
    """Returns the person that 'he' or 'she' means: the last one reported, or named in the previous sentences."""
    wrong = pattern({"he": "HERS", "she": "HIS"}.get(pronoun, "EDITED"))
    for distance, sentence in enumerate(reversed(pattern("SENTENCE_END").split(before))):
        told = speaker_in_clause(sentence)
        if told and _is_described(told):
            return _spokesperson(told, before) or UNNAMED
        if told and not (told.isupper() or pattern("PRONOUN").fullmatch(told) or wrong.search(told)):
            return fullest_form(told, before)
        found = (m for m in pattern("PERSON").finditer(sentence) if not _OF_A_PLACE.search(sentence[: m.start()]))
        named = [without_leading_words(m[0]) for m in found]
        people = [p for p in named if is_person(fullest_form(p, before)) and not wrong.search(p)]
        people = people or [p for p in [_person_at_start(sentence)] if p and not wrong.search(p)]
        if people:
            alone = distance < 2 and len({person.split()[-1] for person in people}) == 1
            sure = alone and sentence.find(people[0]) < 30
            return ("" if sure else PROBABLY) + fullest_form(people[0], before)
    return UNNAMED
