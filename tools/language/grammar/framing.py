"""The embedded framing of a question: its neutral form, the claim at issue and the claim's denial.

The work is done by rules over parts of speech, without a model: `tidying` and `casing` make the text plain, `reading`
finds what is asked, `openers` takes off what stands around the clause, `subject` finds where the subject ends, `clause`
builds statement, denial and question, and `wellformed` decides whether they can be trusted.
"""

import re
from dataclasses import replace

from tools.language.grammar.alternatives import (
    choices,
    comparison,
    named_choice,
    predicates,
    split_clauses,
    with_article,
)
from tools.language.grammar.asked import answered, quoted, shown
from tools.language.grammar.boundary import copula
from tools.language.grammar.clause import Clause, from_question, from_statement, lower_first
from tools.language.grammar.facts import asks_for_fact
from tools.language.grammar.finite import finite_verb
from tools.language.grammar.framed import Form, Framing, asked_plainly, sentence
from tools.language.grammar.inflect import base_form, is_gerund, verb_strength
from tools.language.grammar.leads import WH, after_title, lead_of
from tools.language.grammar.lexicon import Word, is_noun_by_ending, is_word, join, lookup, words_of
from tools.language.grammar.openers import asks_opinion, denies, inner_claim, rating, strip_tail
from tools.language.grammar.pronouns import referred
from tools.language.grammar.reading import Reading, read
from tools.language.grammar.tidying import tidy, unquoted, without_scare_quotes
from tools.language.grammar.trust import as_typed, trusted
from tools.language.grammar.weighing import is_topic, weighed, worth
from tools.language.grammar.wellformed import coordinated, is_sentence, sound
from tools.language.grammar.word_classes import (
    AUXILIARIES,
    BE,
    DO,
    EFFECTS,
    INTRANSITIVE,
    QUANTIFIERS,
    RATINGS,
    SUBJECT_PRONOUNS,
)

_ASKS_OPENLY = re.compile(r"(?:explain|describe|discuss|compare|list|name|fix|solve)\b", re.I)
_INSTRUCTS = re.compile(
    r"(?:please |can you |could you )*"
    r"(?:write|translate|compose|draw|generate|rewrite|calculate|convert|sing|summari[sz]e|"
    r"(?:give|show|tell|help|make|teach|send) (?:me|us))\b(?! (?:whether|if|about|what|why)\b)",
    re.I,
)
_RATHER = re.compile(r"would you rather\b|would you prefer\b.*\bor\b", re.I)
_POLICY = frozenset("ban end stop tax cap limit cut raise fund scrap axe close open free boycott start let".split())
_VERDICT = re.compile(
    r"(?:yes or no|for or against|good or bad|(?:a )?good (?:thing )?or (?:a )?bad(?: thing)?|worth it|"
    r"pros? (?:or|and|vs\.?) cons?|(?:the )?debate|thoughts|good idea or bad idea)\W*$",
    re.I,
)
_WRITTEN_OUT = re.compile(r"^(Why) (do|does|did|is|are|was|were|has|have|should|would|could) not (?=\w)")
_EMPTY = (
    AUXILIARIES
    | SUBJECT_PRONOUNS
    | frozenset(
        "who what which how why the a right wrong here better point argument think opinion thoughts say to blame fault "
        "in of and not think this that your fair reasons either way".split()
    )
)
"""Of such words alone a question has no matter of its own: 'Who is right here?'"""
_MOST_NAMED = 9  # words of a topic
_POINT = re.compile(r"what (is|are|was|were) the (\w+,? if any,?|point) (of|in|to|for|between)\b", re.I)
_ANYTHING_WRONG = re.compile(
    r"what,? if anything,? (is|are|was|were) (wrong|right|good|bad|special|lost|gained)\b", re.I
)


def frame(question: str) -> Framing:
    """Frame one question, claim or imperative; never raises for any text.

    Raises ModelError when TextBlob's lexicon is not installed.
    """
    text = tidy(question)
    words = words_of(text)
    if not any(any(c.isalpha() for c in word.core) for word in words) or _foreign(words):
        return Framing("none", sentence(text))
    reading = read(text)
    reading = replace(reading, text=without_scare_quotes(reading.text))
    requested, reading = shown(reading)
    if requested:
        return requested
    if not reading.text or _INSTRUCTS.match(reading.text) or (text.endswith("!") and len(words) < 3):
        return Framing("none", sentence(text))
    if _RATHER.match(text):
        return Framing("open", sentence(text))
    found = trusted(_taken(reading, text), question, reading)
    if found.form == "none" and reading.given:  # the last words were no question: 'go'
        found = as_typed(question)
    return Framing("fact", found.neutral, topic=found.topic) if reading.answered and found.form == "polar" else found


def _taken(reading: Reading, text: str) -> Framing:
    """The framing of what was read; where a pronoun has no certain referent, all of the text is asked instead."""
    title, body = after_title(reading.text)
    if title and _VERDICT.match(body):
        return answered(worth(title), "polar")
    if title and (items := named_choice(title, body)):
        return items
    if title and reading.asks and (found := _titled(title, body)):
        return found
    if title and reading.asks and not _asks(body):
        return Framing("polar", sentence(text), topic=title)
    return _in_context(title, body, reading)


def _in_context(title: str, body: str, reading: Reading) -> Framing:
    """The question with its pronouns filled in; where that is not certain, an earlier question or all of the text."""
    heading = title and not reading.text.startswith(f"{title}: ")
    things = (*(() if heading else (title,)), *reading.given)
    if reading.given and WH.match(body) and all(w.core in _EMPTY for w in words_of(body)):
        return Framing("open", sentence(" ".join([*reading.given, body])))
    found = _framed(body, reading)
    if not title and not reading.given:
        return found
    needed = referred(found, things)
    if needed and needed.framing:
        return needed.framing
    earlier = next((after_title(g)[1] for g in reading.given if g.endswith("?")), "")
    if earlier and _opens_polar(earlier):
        found = _framed(earlier, Reading(earlier, asks=True, asked=True))
        needed = referred(found, things)
    if needed:
        before = [*([f"{title}."] if heading else ()), *reading.given]
        parts = [sentence(g.rstrip(" ,;:"), "?" if g.endswith("?") else ".") for g in (*before, body)]
        return _standing_in(" ".join(parts), found, reading)
    return replace(found, topic=found.topic or title)


def _asks(text: str) -> bool:
    """Whether the text is worded as a question or at least as a clause."""
    words = words_of(text)
    return bool(WH.match(text)) or any(word.core in AUXILIARIES for word in words) or finite_verb(words) is not None


def _opens_polar(text: str) -> bool:
    words = words_of(text)
    return bool(words) and words[0].core in AUXILIARIES


def _standing_in(text: str, found: Framing, reading: Reading) -> Framing:
    """The question as it was asked, with what came before it, where no statement can be made of it alone."""
    options = tuple(sentence(statement, "") for statement in found.alternatives)
    return Framing(found.form, asked_plainly(text, asks=reading.asks), options=options, topic=found.topic)


def _framed(text: str, reading: Reading) -> Framing:
    lead, text = lead_of(strip_tail(text.rstrip(" ?.!")))
    if not lead and (thing := weighed(text)):
        return answered(thing, "polar")
    if items := comparison(text):
        return items
    inner = inner_claim(text)
    flip = denies(text)
    inner = _ANYTHING_WRONG.sub(r"\1 there anything \2", inner)
    inner = _POINT.sub(lambda m: f"{m[1]} there any {m[2].split(',')[0].split(' ')[0]} {m[3]}", inner)
    inner = inner.replace(" any point of ", " any point in ")
    if inner[:1] in "\"'" and inner.count(inner[:1]) == 2 and inner.endswith(inner[:1]):
        inner = inner[1:-1]
    words = words_of(inner)
    if not words:
        return Framing("none", sentence(text))
    if len(words) > 3 and _presumes(words):
        words = words[1:]
    imperative = words[0].core == "do" and words[1:2] and words[1].core == "not" and not reading.asks
    if words[0].core in AUXILIARIES and len(words) > 2 and not imperative:
        return _polar(words, lead, flip, reading.how)
    since = words[0].core == "when" and not reading.asks and len(words) > 6 and words[1].core not in AUXILIARIES
    if (WH.match(inner) and not since) or _ASKS_OPENLY.match(inner):
        return _open(f"{lead} {text}".strip(), words)
    own = reading.framed and not reading.quoted and not reading.asks
    polar = (reading.asked and not own) or (inner != text and words_of(text)[0].core in AUXILIARIES)
    return _claimed(words, lead, text, "polar" if polar else "claim", flip, reading)


def _presumes(words: list[Word]) -> bool:
    """'Why is sugar bad' asks for the reasons of what is at issue; 'Why does bread rise' for those of a fact."""
    if words[0].core == "why":
        judges = any(w.core in RATINGS or w.core in ("a", "an", "worth", "not", "never") for w in words[2:])
        rated = words[1].core in BE and words[2].core != "there" and judges
        harms = words[1].core in DO and any(w.core in EFFECTS for w in words[2:])
        return words[1].core in ("should", "must", "ought", "shall") or rated or harms
    return words[0].core == "how" and words[1].core in BE and any(w.core in RATINGS for w in words[3:])


def _polar(words: list[Word], lead: str, flip: bool, how: str) -> Framing:
    words = words[: _second_question(words)]
    asked = sentence(f"{lead} {join(words)}")
    if pair := split_clauses(words):
        return pair
    clause = rating(from_question(words, lead))
    if found := choices(clause, asked):
        return found
    if not sound(clause):
        return Framing("polar", sentence(unquoted(asked)), topic=clause.topic())
    return answered(replace(clause, denied=clause.denied != flip), "polar")


def _second_question(words: list[Word]) -> int:
    """Where another question is joined to the first by 'and' ('… and do we need it?'); the first is at issue."""
    for i in range(3, len(words) - 2):
        joins = words[i].core in ("and", "but") and words[i + 1].core in AUXILIARIES
        if joins and (words[i + 2].core in SUBJECT_PRONOUNS or words[i + 2].determiner):
            return i
    return len(words)


def _open(text: str, words: list[Word]) -> Framing:
    asked = _WRITTEN_OUT.sub(r"\1 \2n't ", sentence(text))
    if _told_why(words) and text[:1].lower() == words[0].core[:1]:
        asked = sentence(f"explain {text[:1].lower()}{text[1:]}", ".")
    elif _ASKS_OPENLY.match(text):
        asked = sentence(text, ".")
    return Framing("fact" if asks_for_fact(asked) else "open", asked, topic=_open_topic(words))


def _may_be_things(words: list[Word]) -> bool:
    """'geoengineering risks', 'flag bans in schools': a verb that is as well a plural, and no object."""
    if 3 < len(words) < _MOST_NAMED and not any(w.core in AUXILIARIES or w.determiner for w in words[:3]):
        return words[1].tag == "NNS" and words[0].noun and not words[0].plural and words[2].preposition
    return len(words) == 2 and words[1].core.endswith("s") and base_form(words[1].core) not in INTRANSITIVE


def _told_why(words: list[Word]) -> bool:
    """'why anyone would oppose it': the order of a statement, not of a question."""
    if (
        len(words) < 4
        or words[0].closes
        or words[0].core not in ("why", "when", "where", "how")
        or words[1].core in AUXILIARIES
    ):
        return False
    measured = words[1].adjective or words[1].adverb or words[1].core in QUANTIFIERS | {"long", "come", "about"}
    if words[1].core in ("not", "to") or (words[0].core == "how" and measured):
        return False
    return finite_verb(words[1:]) is not None or any(w.core in AUXILIARIES for w in words)


def _claimed(words: list[Word], lead: str, text: str, form: Form, flip: bool, reading: Reading) -> Framing:
    """The framing of a statement, an imperative or a bare topic."""
    reported = join(words) != text
    clause = _stated(words, lead, reported)
    if not reported and _may_be_things(words):
        return Framing("polar", f"Is this a good thing: {text}?", topic=join(words))
    if clause is None:
        if is_topic(words):
            return answered(worth(join(words)), "polar")
        if not reading.asks and is_sentence(words):
            return _as_stated(words, lead, form, reading)
        if reading.quoted and len(words) > 3:
            return quoted(words)
        known = sum(is_word(w.core.removesuffix("'s")) or is_noun_by_ending(w.core) for w in words) >= 0.5 * len(words)
        if known and not reading.asks and _names(words):
            return Framing("polar", f"Is this a good thing: {text}?", topic=join(words))
        known = known and len(words) > 2
        fragment: Form = ("polar" if reading.asks else "open") if known else "none"
        return Framing(fragment, sentence(text, "?" if reading.asks else "."), topic=join(words))
    if reading.how:
        clause = replace(clause, rest=f"{reading.how} {clause.rest}")
    if re.search(r"\beither\b", clause.rest) and (offered := choices(clause, clause.question())):
        return offered
    if sound(clause) and not (coordinated(clause) and not clause.denied):
        return answered(replace(clause, denied=clause.denied != flip), form, asks_opinion(text))
    return _as_stated(words, lead, form, reading)


def _names(words: list[Word]) -> bool:
    """Whether the words name one thing, though the lexicon does not know all of them."""
    named = words[-1].noun or words[-1].tag in ("NNP", "NNS", "VBZ")
    several = any(word.core in SUBJECT_PRONOUNS | {"vs", "or"} for word in words)
    return named and not several and words[0].tag != "VB" and len(words) < _MOST_NAMED


def _as_stated(words: list[Word], lead: str, form: Form, reading: Reading) -> Framing:
    """A statement in its own words, where they make a sentence; its denial is that it is not true."""
    text = f"{lead} {join(words)}".strip()
    several = any(mark in text for mark in ("? ", "! ", ". ", "; "))
    if reading.asks or not (several or is_sentence(words)):
        return Framing(form if len(words) > 2 else "none", sentence(text))
    neutral = asked_plainly(text, asks=False)
    if several:
        return Framing(form, neutral)
    denial = f"It is not true that {lower_first(text)}"
    return Framing(form, neutral, sentence(text, "."), sentence(denial, "."))


def _stated(words: list[Word], lead: str, reported: bool) -> Clause | None:
    """The clause of a statement or an imperative."""
    first = words[0]
    if first.core == "do" and len(words) > 2 and words[1].core == "not":
        return Clause("we", "should", join(words[2:]), lead, denied=True)
    clause = from_statement(words, lead)
    if clause is not None:
        return clause if clause.rest else None
    bans = first.core in _POLICY or (verb_strength(first.core) >= 2 and not first.noun)
    if len(words) > 1 and bans and not words[1].preposition and words[1].core != "and":
        text = join(words)
        return Clause("we", "should", text[:1].lower() + text[1:], lead)
    if reported and is_gerund(first.core) and (base := base_form(first.core)):
        return Clause("we", "should", " ".join([base, join(words[1:])]).strip(), lead)
    return Clause(join(words), "should", "be supported", lead) if reported else None


def _titled(title: str, body: str) -> Framing | None:
    """'Open source: the best way to develop software?' asks whether the one is the other."""
    predicate = with_article(body.rstrip(" ?.!"))
    words = words_of(predicate)
    clause = Clause(lower_first(title), copula(title), predicate)
    asks = words[0].core in AUXILIARIES or any(WH.match(word.core) for word in words)
    if asks or not predicates(words) or not sound(clause):
        return None
    return answered(clause, "polar")


def _foreign(words: list[Word]) -> bool:
    """Most small words are none of the English lexicon's."""
    small = [word for word in words if word.text.islower() and word.core.isalpha()]
    unknown = sum(not lookup(word.core) for word in small)
    return len(small) >= 3 and unknown > 0.6 * len(small)


def _open_topic(words: list[Word]) -> str:
    content = [word for word in words if not (WH.match(word.core) or word.core in AUXILIARIES)]
    while content and (content[0].determiner or content[0].adverb or content[0].preposition):
        content.pop(0)
    return join(content).strip(" ?.!,;:")
