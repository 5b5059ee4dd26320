"""What stands around the clause of a question: openers, tag questions, the person asked."""

import re
from dataclasses import replace

from tools.language.grammar.boundary import copula
from tools.language.grammar.clause import Clause
from tools.language.grammar.lexicon import join, words_of

_AUX = r"(?:is|are|was|were|am|do|does|did|has|have|had|should|would|will|can|could|may|might|must|shall|ought)"
_PRONOUN = r"(?:it|they|he|she|we|you|i|this|that|there|one)"
ECHO = re.compile(rf"(?:and |but )?{_AUX}(?: not)? {_PRONOUN}(?: not)?(?: all| really)?\W*", re.I)
"""'Is it?', 'Do they?': asks whether what was said is so."""
_TAIL = re.compile(
    rf"\s*,\s*{_AUX}(?: not)? {_PRONOUN}(?: not)?(?: think| agree)?$|"
    r"\s*,\s*(?:right|no|correct|yes or no|agree|true|true or (?:false|nah|not)|agree or disagree|am i right|eh)$",
    re.I,
)
_THINK = (
    r"(?:(?:really|honestly|truly|generally|personally|also|still) )?(?:think|believe|feel|agree|say|expect|reckon)"
)
_VIEW = (
    r"(?:(?:with|on|about) )?(?:the |this )?(?:view|idea|claim|statement|proposition|argument|suggestion|assertion|"
    r"notion|contention|opinion|belief|thesis)s?,?:?"
)
_OPENERS: tuple[str, ...] = (
    r"(?:to what extent|how far|how strongly) (?:do|would|can|should) (?:you|we|one) (?:dis)?agree "
    rf"(?:{_VIEW} )?(?:that )?",
    rf"(?:to what extent|how far|in what sense|in what ways)(?:,? if at all,?)? (?={_AUX}\b)",
    r"(?:critically )?(?:discuss|assess|evaluate|examine|consider|debate|defend|attack|test)(?: critically)? "
    rf"(?:{_VIEW} that|whether|if) ",
    r"(?:unpopular opinion|hot take|cmv|change my view|change my mind|serious question|genuine question|question)"
    r"\W* (?:that |but )?",
    r"(?:play devil's advocate\W+)?(?:convince|persuade) me (?:that )?(?!to\b|of\b|about\b)",
    r"(?:do|would|can|should) (?:you|we) (?:dis)?agree with (?:[\w.'-]+ ){1,4}that ",
    r"can we (?:all )?agree (?:that )?",
    r"why (?:do|does|did|would) (?:so )?(?:many |some |most )?(?:people|ppl|folks|everyone|everybody|they) "
    r"(?:all |always |still |keep )?(?:say|says|saying|think|thinks|claim|claims|believe|insist) (?:that )?",
    r"why (?=[\w-]+(?: [\w-]+){0,3} (?:should|must|is|are|will|cannot|can|ought|needs?|do not|does not)\b)",
    rf"(?:do|did|would|could|can)(?: not)? (?:you|we|people)(?: not)? {_THINK}(?: like)?"
    r"(?: with the (?:view|idea|claim|statement))?"
    r",? (?:that |(?!that\b|about\b|of\b|so\b|to\b|with\b))",
    r"(?:is|was|is not) it (?:not )?(?:really |actually )?"
    r"(?:true|correct|the case|a fact|right to say|fair to say|accurate)(?: to say)? (?:that )?(?!to\b|for\b)",
    r"is not it (?:true|correct|the case|a fact) that ",
    r"why (?:should|must|do|would|ought) (?:we|people|anybody|anyone|one|you|i) (?:not )?(?:to )?"
    r"(?:(?:accept|admit|concede|grant|agree|believe|think) that |(?:believe|think) (?!in\b|that\b|so\b|of\b|"
    r"about\b))",
    r"are you (?:not )?(?:strongly )?(?:in favou?r of|for|against|opposed to) ",
    r"this house (?:believes?|holds|is of the opinion|thinks?) (?:that )?",
    rf"(?:i|we|they|some|many|people|others|(?:some|many|most) people|(?!{_AUX}\b)(?:(?:some|many|most|several) )?"
    r"(?:[\w-]+ )?[\w-]+s) (?:firmly |strongly |often |do |sometimes )?"
    r"(?:think|believe|say|argue|claim|feel|reckon|am convinced|contend|insist|keep (?:on )?saying|are saying) "
    r"(?:that )?",
    r"in my (?:opinion|view),? ",
    r"(?:resolved|motion|debate|question|claim|topic|discuss)[:,] (?:that )?",
    r"(?:can|could|would) (?:you|we) (?:please )?(?:tell me|explain|say|discuss|know) (?:whether|if) ",
    r"(?:i wonder|i was wondering|i want to know|i would like to know|tell me|do you know|please discuss|discuss|"
    r"i (?:cannot|do not|am not|could not) (?:really )?(?:decide|know|sure|tell|work out|make up my mind)) "
    r"(?:whether|if) ",
    r"whether (?:or not )?",
    r"that (?=(?:[\w'-]+ ){1,8}(?:should|must|is|are|will|ought)\b)",
    r"(?:hi|hello|hey|so|well|ok|okay|please|honestly|seriously)[,!]? (?=\w+ \w+)",
    r"(?:so )?(?:surely|clearly|obviously|of course|undoubtedly|apparently),? ",
    r"(?:but|and|so) (?=(?:is|are|should|do|does|can|will|would)\b)",
)
_OPENER = re.compile("|".join(f"(?:{opener})" for opener in _OPENERS), re.I)
_HOUSE = re.compile(r"^this house (would|should|will|supports?|opposes?|regrets?|welcomes?|rejects?) ", re.I)
_ASKS_YOU = re.compile(r"^(?:do|did|would) you\b", re.I)
_FIRST_PERSON = {"you are": "I am", "yourself": "myself", "yours": "mine", "your": "my", "Your": "My"}
_RATED = re.compile(r"(?:describe|rate|consider|regard|see|view|call) (?P<what>.+?) (?:as|to be) (?P<how>.+)", re.I)
_AGAINST = re.compile(r"^are you (?:not )?(?:strongly )?(?:against|opposed to) ", re.I)


def strip_tail(text: str) -> str:
    """The text without 'or not' and tag questions."""
    return _TAIL.sub("", text)


def inner_claim(text: str) -> str:
    """The clause that an opener ('Do you think that', 'This house believes that') introduces."""
    text = _house(text)
    for _ in range(3):
        match = _OPENER.match(text)
        if not match:
            break
        text = text[match.end() :]
    return text


def denies(text: str) -> bool:
    """Whether the opener turns the claim round: 'Are you against …'."""
    return bool(_AGAINST.match(text))


def asks_opinion(text: str) -> bool:
    """Whether the text asks what 'you' think."""
    return bool(_ASKS_YOU.match(text))


def rating(clause: Clause) -> Clause:
    """'Would you describe the economy as good?' asks whether the economy is good."""
    match = _RATED.match(clause.rest) if clause.subject.lower() == "you" else None
    if not match:
        return clause
    return replace(clause, subject=match["what"], aux=copula(match["what"]), rest=match["how"])


def _house(text: str) -> str:
    match = _HOUSE.match(text)
    if not match:
        return text
    verb, rest = match[1].lower().removesuffix("s"), text[match.end() :]
    return f"we should {rest}" if verb in ("would", "should", "will") else f"we should {verb} {rest}"


def person_swapped(clause: Clause, asked_opinion: bool = False) -> Clause:
    """What is asked of 'you' is answered by 'I'; a general 'you' ('Should you tip?') stays."""
    rest, subject, aux = clause.rest, clause.subject, clause.aux
    asked = subject.lower() == "you" and aux not in ("should", "can", "could", "must", "may", "ought")
    owned = re.match(r"your\b", subject, re.I) is not None
    if not asked and not owned and not asked_opinion:
        swap = re.compile(r"\b(people|someone|persons?|those|families|citizens) like you\b", re.I)
        return replace(clause, rest=swap.sub(r"\1 like me", rest), subject=swap.sub(r"\1 like me", subject))
    if asked:
        subject, aux = "I", {"are": "am", "were": "was"}.get(aux, aux)
    return replace(clause, subject=_first_person(subject), aux=aux, rest=_first_person(rest))


def _first_person(text: str) -> str:
    for yours, mine in _FIRST_PERSON.items():
        text = re.sub(rf"\b{yours}\b", mine, text)
    words = words_of(text)
    for i, word in enumerate(words):
        acts = i + 1 < len(words) and (words[i + 1].tag.startswith(("VB", "MD")) or words[i + 1].adverb)
        if word.core == "you":
            words[i] = replace(word, text=word.text.replace("you", "I" if acts else "me"))
    return join(words)
