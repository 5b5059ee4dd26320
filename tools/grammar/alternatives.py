"""Questions that offer a choice: 'Cats or dogs?', 'Should we use wind or solar power?', 'Does it help or harm?'"""

import re
from dataclasses import replace

from tools.grammar.boundary import head_noun
from tools.grammar.clause import Clause, from_question, lower_first
from tools.grammar.inflect import verb_strength
from tools.grammar.lexicon import Word, join, words_of
from tools.grammar.word_classes import AUXILIARIES, BE

_OR = re.compile(r",?\s+(?:or|vs\.?|v\.?|versus)\s+", re.I)
_COMPARISON = re.compile(
    r"^(?:which|what|who)(?: one)?(?: of the two)? (?:is|are|was|were) "
    r"(?P<how>[\w-]+(?: \w+)?)\s*[,:;–-]\s*(?P<items>.+)$"
    r"|^(?P<items2>.+?)\s*[,:;–-]\s*(?:which|what|who)(?: \w+)? (?:is|are|was|were) (?P<how2>[\w-]+(?: \w+)?)$"
    r"|^(?:which|what|who)(?: one)? (?:is|are|was|were) (?P<how3>better|worse|best|worst)(?: \w+)?,? (?P<items3>.+)$"
    r"|^(?:do|would) you (?:prefer|like|rather have) (?P<items4>.+)$",
    re.I,
)
_PRONOUNS = frozenset("it they he she this that".split())
_DELIBERATING = frozenset("we i you one people society".split())


def comparison(text: str) -> tuple[str, ...]:
    """Statements for a bare choice ('Cats or dogs', 'Which is better: tea or coffee'), or nothing.

    `text` comes without its question mark.
    """
    how, items = "better", text
    if match := _COMPARISON.match(text):
        found = {key.rstrip("234"): value for key, value in match.groupdict().items() if value}
        how, items = found.get("how", "better").lower(), found["items"]
    first = words_of(items)[0].core if items else ""
    parts = [part.strip(" ,;:") for part in re.split(r",\s*(?!or\b)", items) for part in _OR.split(part)]
    several = 1 < len(parts) <= 6 and _OR.search(items) is not None
    if not several or first in AUXILIARIES or any(not part or len(part.split()) > 8 for part in parts):
        return ()
    if not match and any(word.core in AUXILIARIES or word.core in ("that", "whether") for word in words_of(items)):
        return ()
    return tuple(_preferred(part, [other for other in parts if other != part], how) for part in parts)


def _preferred(item: str, others: list[str], how: str) -> str:
    head = head_noun(words_of(item))
    verb = "are" if head is not None and head.plural else "is"
    comparative = re.search(r"(?:er|worse|^more \w+|^less \w+)$", how) is not None
    than = f" than {lower_first(others[0])}" if comparative and len(others) == 1 else ""
    return f"{item[:1].upper()}{item[1:]} {verb} {how}{than}."


def split_clauses(words: list[Word]) -> tuple[Clause, Clause] | None:
    """'Does X harm people or does it help them': two clauses, the second's pronoun replaced by the first's subject."""
    for i in range(2, len(words) - 2):
        if words[i].core == "or" and words[i + 1].core in AUXILIARIES and words[i + 2].core != "not":
            first, second = from_question(words[:i]), from_question(words[i + 1 :])
            if second.subject.lower() in _PRONOUNS:
                second = replace(second, subject=first.subject)
            return first, second
    return None


def choices(clause: Clause) -> tuple[str, ...]:
    """Statements for the alternatives inside one clause, or nothing when its 'or' offers no choice.

    A choice is 'either … or', a copula with nothing but 'A or B', or what 'we' or 'you' should do: A or B.
    """
    if compared := _compared_subjects(clause):
        return compared
    words = words_of(clause.rest)
    at = next((i for i, word in enumerate(words) if word.core == "or"), None)
    if at is None or at == 0 or at == len(words) - 1 or words[at + 1].core in ("not", "less", "more", "other", "so"):
        return ()
    start = _first_choice(clause, words, at)
    if start is None:
        return ()
    before, second = words[:start], words[at + 1 :]
    first = [word for word in words[start:at] if word.core != "either"]
    if not first:
        return ()
    before = [word for word in before if word.core != "either"]
    if len(first) == 1 and len(second) == 2 and second[1].noun and not first[0].plural and not second[0].determiner:
        first = [*first, second[1]]
    if len(first) == 1 and len(second) > 1 and second[1].preposition and clause.aux in BE:
        first = [*first, *second[1:]]
    if start == 0 and clause.aux not in BE and len(first) == 1:
        first = [*first, *second[1:]]
    level = [] if verb_strength(second[0].core) >= 2 and before and verb_strength(before[0].core) else before
    options = [join(part).strip(" ,") for part in _items(first)] + [join(second)]
    return tuple(
        replace(clause, rest=f"{join(before if n < len(options) - 1 else level)} {option}".strip()).statement()
        for n, option in enumerate(options)
    )


def _compared_subjects(clause: Clause) -> tuple[str, ...]:
    """'Is a house or a flat better?' offers its two subjects."""
    parts = _OR.split(clause.subject)
    alone = re.fullmatch(r"(?:\w+er|worse|more \w+|less \w+)\W*", clause.rest) is not None
    if clause.aux not in BE or len(parts) != 2 or not alone:
        return ()
    return tuple(
        _preferred(part, [other], clause.rest.strip(" ?.")) for part, other in zip(parts, parts[::-1], strict=True)
    )


def _items(words: list[Word]) -> list[list[Word]]:
    """'wind, water' as its items."""
    parts: list[list[Word]] = [[]]
    for word in words:
        parts[-1].append(word)
        if word.text.endswith(","):
            parts.append([])
    return [part for part in parts if part]


def _first_choice(clause: Clause, words: list[Word], at: int) -> int | None:
    """Where the first alternative begins in the rest of the clause, or None when the 'or' offers no choice."""
    if (either := next((i for i, word in enumerate(words[:at]) if word.core == "either"), None)) is not None:
        return either
    tail = words[at + 1 :]
    if words[0].core == "be" and at == 2 and len(tail) == 1:
        return 1  # 'should be admired or criticised'
    if len(tail) > 6 or any(word.core in AUXILIARIES for word in words):
        return None
    if clause.aux in BE and clause.subject.lower() != "there":
        plain = not any(word.preposition or word.core in ("to", "that", "and") for word in words[: at + 1])
        return 0 if plain and at <= 4 and len(tail) <= 4 else None
    if at == 1 and verb_strength(words[0].core) >= 1 and verb_strength(tail[0].core) >= 1 and len(tail) > 1:
        return 0
    deliberating = clause.aux in ("should", "shall", "must") and clause.subject.lower() in _DELIBERATING
    plain = not any(word.preposition or word.core in ("to", "that") for word in words[1:at])
    return 1 if deliberating and plain and at <= 4 and verb_strength(words[0].core) else None
