"""Questions that offer a choice: 'Cats or dogs?', 'Should we use wind or solar power?', 'Does it help or harm?'

Each alternative becomes a statement where that can be made with certainty; where not, it is named as it was written.
"""

import re
from collections.abc import Sequence
from dataclasses import replace

from tools.language.grammar.boundary import copula, head_noun, takes_are
from tools.language.grammar.clause import Clause, from_question, is_counted, lower_first
from tools.language.grammar.framed import Framing, sentence
from tools.language.grammar.inflect import is_gerund, is_participle, verb_strength
from tools.language.grammar.lexicon import Word, join, lookup, words_of
from tools.language.grammar.wellformed import sound
from tools.language.grammar.word_classes import AUXILIARIES, BE, DEGREES, SUBJECT_PRONOUNS

_OR = re.compile(r",?\s+(?:or|vs\.?|v\.?|versus)\s+", re.I)
_BETTER = re.compile(
    r"^(?:which|what|who)(?: one)?(?: of the two)? (?:is|are|was|were) "
    r"(?P<how>better|worse|more [\w-]+|\w+er|preferable)(?: for [^,:;?]+(?=[,:;?])| (?!for\b)\w+)?"
    r"\s*[,:;?–-]?\s+(?P<items>.+)$"
    r"|^(?P<items2>.+?)\s*[,:;?–-]\s*(?:which|what|who)(?: one)?(?: \w+)? (?:is|are|was|were) "
    r"(?P<how2>[\w-]+(?: \w+)?)$"
    r"|^(?:do you prefer|(?:do|would) you like) (?P<items4>.+)$",
    re.I,
)
_NAMED_AFTER = re.compile(
    r"^(?P<asked>(?:which|what|who|when|where|"
    r"how)\b.+?)\s*[,:;?–-]+\s+(?P<items>[^,].*)$",
    re.I,
)
_NAMED_BEFORE = re.compile(
    r"^(?P<items>[^:?]+ (?:or|vs\.?|versus) [^:?]+?)\s*[:;,–-]\s+(?P<asked>(?:which|what|who|where)\b.+)$", re.I
)
_WHO = re.compile(
    r"^(?P<asked>(?:which|who|what) (?:\w+ ){1,4}?)(?P<items>(?:the |an? )?[\w-]+ (?:or|vs\.?|versus) .+)$", re.I
)
_PRONOUNS = frozenset("it they he she this that these those".split())
_DELIBERATING = frozenset("we i you one people society".split())
_MORE = re.compile(r"(?:better|worse|\w+er|more|less)\b.*", re.I)
_NO_CHOICE = frozenset("not less more other so otherwise both even any all anything whatever another".split())


def comparison(text: str) -> Framing | None:
    """The framing of a bare choice ('Cats or dogs', 'Which is better: tea or coffee'). `text` has no question mark."""
    how, items, match = "better", text, _BETTER.match(text)
    if match:
        found = {key.rstrip("234"): value for key, value in match.groupdict().items() if value}
        how, items = found.get("how", "better").lower(), found["items"]
    elif named := _NAMED_AFTER.match(text) or _NAMED_BEFORE.match(text) or _WHO.match(text):
        parts = _parts(named["items"])
        return Framing("choice", sentence(text), options=_capitals(parts)) if parts else None
    parts = _parts(items)
    loose = not match and any(w.core in ("that", "whether", "if") or w.core in AUXILIARIES for w in words_of(items))
    against = re.search(r"\b(?:vs?|versus)\b", items) is not None
    if not parts or loose or (not match and not against and any(_verbal(part) for part in parts)):
        return None
    if len(set(parts)) < len(parts) or not all(_nominal(words_of(part)) for part in parts):
        return Framing("choice", sentence(text), options=_capitals(parts))
    statements = tuple(_preferred(part, [other for other in parts if other != part], how) for part in parts)
    return Framing("choice", sentence(text), alternatives=statements, topic=" or ".join(parts))


def named_choice(title: str, body: str) -> Framing | None:
    """'Zoos: cruel or useful?' asks which of the two the title is."""
    parts = _parts(body.rstrip(" ?.!"))
    if not parts or any(words_of(part)[0].core in AUXILIARIES for part in parts) or re.match(r"wh|how", body, re.I):
        return None
    be = copula(title)
    thing = lower_first(title)
    clauses = [Clause(thing, be, with_article(part)) for part in parts]
    neutral = sentence(f"{be} {thing} {' or '.join(c.rest for c in clauses)}")
    fit = all(predicates(words_of(c.rest)) for c in clauses)
    if fit and all(sound(c) for c in clauses):
        return Framing("choice", neutral, alternatives=tuple(c.statement() for c in clauses), topic=title)
    return Framing("choice", sentence(f"{title}: {lower_first(body)}"), options=_capitals(parts), topic=title)


_OF_THE_FIRST = re.compile(r"\b(?:it|them|him|her)\b")
_OF_ITSELF = re.compile(r"(?:not )?(?:time|high time|up to|right|wrong|ok|okay|fair|better|best|true)\b", re.I)
"""What follows an 'it' that stands for nothing."""


def split_clauses(words: list[Word]) -> Framing | None:
    """'Does X harm people or does it help them': two clauses, the second's pronoun replaced by the first's subject."""
    for i in range(2, len(words) - 2):
        if words[i].core == "or" and words[i + 1].core in AUXILIARIES:
            first, then = from_question(words[:i]), from_question(words[i + 1 :])
            second = _named(then, first.subject)
            if second is None:
                return Framing("polar", sentence(join(words)), topic=first.topic())
            if not (sound(first) and sound(second)):
                return Framing("polar", sentence(join(words[:i])), topic=first.topic())
            if then.subject.lower() in ("he", "she") and _OF_THE_FIRST.search(then.rest):
                options = tuple(clause.statement().rstrip(".") for clause in (first, second))
                return Framing("choice", sentence(join(words)), options=options, topic=first.topic())
            return _offered([first, second], sentence(join(words)), [words[1:i], words[i + 2 :]])
    return None


def _named(clause: Clause, subject: str) -> Clause | None:
    """The clause with the subject of the one before it for its pronoun, or None where that is not certain."""
    said, words = clause.subject.lower(), words_of(subject)
    if said not in _PRONOUNS or said == subject.lower() or (said == "it" and _OF_ITSELF.match(clause.rest)):
        return clause
    head = (head_noun(words) or words[-1]).core
    plural = head.endswith("s") and not head.endswith(("is", "us", "ss"))
    guessed = not lookup(head) and not (said == "it" and plural)
    thing = said in ("it", "they") and (guessed or takes_are(words) == (said == "they"))
    person = said in ("he", "she") and subject[:1].isupper()
    return replace(clause, subject=subject) if (thing or person) and head not in SUBJECT_PRONOUNS else None


def choices(clause: Clause, asked: str) -> Framing | None:
    """The alternatives inside one clause, or nothing when its 'or' offers no choice.

    A choice is 'either … or', a copula with nothing but 'A or B', a comparison of 'A or B', a second verb after a
    comma, or what 'we' or 'you' should do: A or B.
    """
    if compared := _compared_subjects(clause):
        return Framing("choice", asked, alternatives=compared, topic=clause.topic())
    words = words_of(clause.rest)
    at = next((i for i, word in enumerate(words) if word.core == "or"), None)
    if not at or at == len(words) - 1 or words[at + 1].core in _NO_CHOICE or words[at - 1].core == "either":
        return None
    start = _first_choice(clause, words, at)
    if start is None:
        return None
    before = [word for word in words[:start] if word.core != "either"]
    first, second = [word for word in words[start:at] if word.core != "either"], words[at + 1 :]
    options = [join(part).strip(" ,") for part in _completed(clause, first, second, start)]
    clauses = [replace(clause, rest=f"{join(before)} {option}".strip()) for option in options]
    return _offered(clauses, asked, [words_of(option) for option in options])


def _offered(clauses: Sequence[Clause], asked: str, named: Sequence[Sequence[Word]]) -> Framing:
    topic = clauses[0].topic()
    if all(sound(clause) for clause in clauses):
        return Framing("choice", asked, alternatives=tuple(c.statement() for c in clauses), topic=topic)
    return Framing("choice", asked, options=_capitals([join(list(words)) for words in named]), topic=topic)


def _parts(items: str) -> list[str]:
    """The items of 'A, B or C', or nothing where that is not what the text is."""
    if not _OR.search(items):
        return []
    parts = [part.strip(" ,;:?.") for part in re.split(r",\s*(?!or\b)", items) for part in _OR.split(part)]
    parts = [part for part in parts if not re.match(r"(?:and|no|be|just|please|go)\b", part, re.I)]
    first = words_of(items)[0].core
    fits = 1 < len(parts) <= 6 and first not in AUXILIARIES and all(0 < len(part.split()) <= 8 for part in parts)
    return parts if fits and all(words_of(part)[0].core not in _NO_CHOICE for part in parts) else []


def _capitals(parts: Sequence[str]) -> tuple[str, ...]:
    return tuple(sentence(part, "") for part in parts)


def _verbal(part: str) -> bool:
    first, *others = words_of(part)
    return verb_strength(first.core) >= 3 and not first.noun and not any(w.text[0].isupper() for w in others)


def _nominal(words: Sequence[Word]) -> bool:
    """Whether the words can be the subject of a comparison."""
    head = head_noun(words)
    named = len(words) > 1 and all(w.text[:1].isupper() for w in words)
    if named and head is not None and head.plural:
        return False  # of a name, such as that of a film, the number is not known
    return head is not None and (head.noun or is_gerund(words[0].core)) and not words[-1].preposition


def predicates(words: Sequence[Word]) -> bool:
    """Whether the words can follow 'is': an adjective, a participle, a noun phrase with its article or a plural."""
    first, last = words[0], words[-1]
    if first.determiner:
        return last.noun or len(words) > 2
    alone = len(words) == 1 or words[1].preposition or words[1].core == "to"
    if first.core == "worth":
        return len(words) > 1
    described = (first.adjective or is_participle(first.core)) and alone
    return described or last.plural


def with_article(part: str, always: bool = False) -> str:
    """'blessing' as 'a blessing', where the noun is one that is counted."""
    part = lower_first(part)
    words = words_of(part)
    last = words[-1]
    plain = len(words) == 1 or (len(words) == 2 and words[0].adjective)
    if always or (last.tag == "NN" and is_counted(last.core) and plain):
        return ("an " if part[0] in "aeiou" else "a ") + part
    return part


def _preferred(item: str, others: list[str], how: str) -> str:
    comparative = re.search(r"(?:er|worse|preferable|^more \w+|^less \w+)$", how) is not None
    names = all(re.search(r"(?:^|\s)[A-Z]", one) for one in (item, *others))
    other = others[0] if names else lower_first(others[0])
    than = f" {'to' if how == 'preferable' else 'than'} {other}" if comparative and len(others) == 1 else ""
    return f"{item[:1].upper()}{item[1:]} {copula(item)} {how}{than}."


def _compared_subjects(clause: Clause) -> tuple[str, ...]:
    """'Is a house or a flat better?' offers its two subjects."""
    parts, rest = _OR.split(clause.subject), clause.rest.strip(" ?.")
    if clause.aux not in BE or len(parts) != 2 or not _MORE.fullmatch(rest):
        return ()
    return tuple(sentence(f"{part} {copula(part)} {rest}", ".") for part in parts)


def _completed(clause: Clause, first: list[Word], second: list[Word], start: int) -> tuple[list[Word], list[Word]]:
    """The two alternatives with what they share: the noun of 'wind or solar power', the article of 'a blessing or
    curse', the end of 'good or bad for us'."""
    if first[0].core in ("a", "an") and len(second) <= 3 and not second[0].determiner and second[-1].tag == "NN":
        if not first[-1].noun:
            first = [*first, second[-1]]
        return first, words_of(with_article(join(second), always=True))
    return _with_end(clause, first, second, start), second


def _with_end(clause: Clause, first: list[Word], second: list[Word], start: int) -> list[Word]:
    if len(first) == 1 and len(second) == 2 and second[1].noun and not first[0].plural and not second[0].determiner:
        return [*first, second[1]]
    shared = len(first) == 1 and len(second) > 1 and (second[0].adjective or verb_strength(second[0].core) >= 1)
    if shared and second[1].preposition and clause.aux in BE:
        return [*first, *second[1:]]
    if start == 0 and clause.aux not in BE and len(first) == 1:
        return [*first, *second[1:]]
    return first


def _first_choice(clause: Clause, words: list[Word], at: int) -> int | None:
    """Where the first alternative begins in the rest of the clause, or None when the 'or' offers no choice."""
    if (either := next((i for i, word in enumerate(words[:at]) if word.core == "either"), None)) is not None:
        return either
    tail = words[at + 1 :]
    if words[0].core == "be" and at == 2 and len(tail) == 1:
        return 1  # 'should be admired or criticised'
    if clause.aux not in BE and (words[at - 1].closes or tail[0].adverb):
        verb = next((word for word in tail if not word.adverb), tail[0])
        return 0 if verb_strength(verb.core) >= 1 and len(tail) > 1 and not verb.plural else None
    if clause.aux in BE and clause.subject.lower() != "there":
        return _predicates(words, at)
    if at == 1 and verb_strength(words[0].core) >= 1 and verb_strength(tail[0].core) >= 1:
        return 0
    again = verb_strength(tail[0].core) >= (1 if clause.subject.lower() in _DELIBERATING else 3) and not tail[0].plural
    if again and len(tail) > 1 and not tail[1].noun and verb_strength(words[0].core):
        return 0
    deliberating = clause.aux in ("should", "shall", "must") and clause.subject.lower() in _DELIBERATING
    begin = 2 if words[1].preposition and at > 2 else 1  # 'depend on wind or coal'
    plain = not any(word.preposition or word.core in ("to", "that") for word in words[begin:at])
    return begin if deliberating and plain and at <= 5 and verb_strength(words[0].core) else None


def _predicates(words: list[Word], at: int) -> int | None:
    """'is justified or an infringement': two predicates, each of which could stand alone."""
    first, second = words[:at], words[at + 1 :]
    gerunds = is_gerund(first[0].core) and is_gerund(second[0].core)
    nouns = first[0].determiner and (second[0].determiner or second[0].adjective)
    plain = not any(word.preposition or word.core == "to" for word in first)
    mixed = plain and len(first) <= 4 and (second[0].determiner or len(second) <= 4)
    makes = is_gerund(first[0].core) and not gerunds  # 'making us safer or just more afraid'
    if not makes and (gerunds or nouns or mixed):
        return 0
    described = [first[-1], second[-1]]
    bare = all(word.adverb or word.core in DEGREES for word in second[:-1]) and (makes or len(second) == 1)
    alike = bare and all(w.adjective or is_participle(w.core) or w.core == "together" for w in described)
    return at - 1 if alike else None
