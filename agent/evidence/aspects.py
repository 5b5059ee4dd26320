"""The aspects that people ask about next, whatever the question is (its cost, its safety, whom it is fair to), and what
a dispute turns on, in one sentence that stands above the perspectives and cites both.

A chat model writes that sentence from both sides' passages, and it is verified as every written claim is.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import combinations

from agent.state import OTHER_WAYS, Claim, Perspective, RunState, in_case
from tools.language.quotable import stands_alone
from tools.language.sentences import split_sentences

_ENOUGH = 2  # passages that speak of an aspect, so that a follow-up on it has something to add
_FAMILIES = {
    "the cost": r"costs?|costly|expens\w+|cheap\w*|price[sd]?|budgets?|tax(?:es|payers?)?|money|pounds?|"
    r"fund(?:s|ed|ing)|afford\w*|spend(?:ing|s)?|spent|pays?|paid|payments?|bills?|subsid\w+|profits?|dollars?|euros?|(?<=[£$€])\d[\d,.]*",
    "safety": r"safe(?:r|ty|ly|guards?)?|dangers?|dangerous|accidents?|risks?|risky|injur\w+|crash\w*",
    "health": r"health\w*|ill(?:ness\w*)?|disease\w*|doctors?|medical|sleep|diets?|wellbeing|well-being|stress\w*",
    "fairness": r"fair(?:er|ly|ness)?|unfair\w*|equal\w*|inequal\w*|unequal\w*|justice|unjust\w*|poor(?:er|est)?|"
    r"privilege\w*|disadvantage\w*",
    "freedom": r"free(?:ly|dom|doms)|libert\w+|choos\w+|choices?|rights?|autonom\w+|coerc\w+|compuls\w+",
    "the environment": r"environment\w*|climate|carbon|emissions?|pollut\w+|nature|wildlife|land|waste|energy",
    "jobs": r"jobs?|work(?:ers?|places?)?|wages?|employ\w+|unemploy\w+|careers?|labour",
    "privacy": r"privacy|private data|surveil\w+|track(?:ed|ing)|personal data|anonym\w+",
    "children": r"child(?:ren)?|kids?|pupils?|students?|schools?|teen\w*|adolescen\w+|young people|minors?",
    "the evidence": r"evidence|stud(?:y|ies)|trials?|surveys?|statistics|experiments?|data|research\w*|measured",
}
_ASPECTS = {aspect: re.compile(rf"\b(?:{words})\b", re.I) for aspect, words in _FAMILIES.items()}


_WORD = re.compile(r"[^\W\d_]{4,}")
_STOP_WORDS = frozenset(
    "about what with from that this those these have does their there your only more most than".split()
)


def focus_pattern(focus: str) -> re.Pattern[str]:
    """Matches where a text speaks of a focus: any word of an aspect's family, or else a word of the focus itself."""
    families = [words.pattern for words in _ASPECTS.values() if words.search(focus)]
    own = [
        rf"\b{re.escape(w.lower()[: max(4, len(w) - 3)])}\w*"
        for w in _WORD.findall(focus)
        if w.lower() not in _STOP_WORDS
    ]
    return re.compile("|".join(families or own or [re.escape(focus)]), re.I)


def aspects_of(texts: Sequence[str], claims: Sequence[str], known: Sequence[str]) -> list[str]:
    """The aspects that a claim of the answer speaks of, by how many of the found texts do; none that a known question
    is about."""
    found, alone = [split_sentences(text) for text in dict.fromkeys(texts)], cache(stands_alone)
    spoken = {
        aspect: sum(any(words.search(s) and alone(s) for s in sentences) for sentences in found)
        for aspect, words in _ASPECTS.items()
        if any(map(words.search, claims)) and not any(map(words.search, known))
    }
    return sorted((a for a, n in spoken.items() if n >= _ENOUGH), key=lambda a: -spoken[a])


Sides = tuple[tuple[Perspective, Sequence[Claim]], tuple[Perspective, Sequence[Claim]]]
"""Two perspectives that oppose each other, each with the claims of its case."""


def opposed_sides(state: RunState, claims: Sequence[Claim]) -> Sides | None:
    """The two strongest perspectives that oppose each other, each with the claims of its case; None where there are no
    two with a case. They are the contrary ones. Of an open question they are the two that most passages speak for and
    against; among equals those with the most independent sources."""
    planned = (p for p in state.get("perspectives", []) if p["id"] != OTHER_WAYS)
    known, coverage = {p["id"]: p for p in planned}, state.get("coverage", {})
    cases = {p: [c for c in claims if c["perspective"] == p and in_case(c)] for p in known}
    opposition = state.get("opposition", {})
    against = {p: {i for i, s in scores.items() if s >= state["threshold"]} for p, scores in opposition.items()}

    def strength(pair: tuple[str, str]) -> tuple[int, int]:
        both = [against.get(q, set()) & {*coverage[p]["ids"]} for p, q in (pair, pair[::-1]) if p in coverage]
        return sum(map(len, both)), sum(coverage[p]["sources"] for p in pair if p in coverage)

    contrary = ((i, p["contrary"]) for i, p in known.items() if p["contrary"] in known)
    open_pair = max(combinations(filter(cases.get, known), 2), key=strength, default=())
    sides = [(known[p], cases[p]) for p in next(contrary, open_pair) if cases[p]]
    return (sides[0], sides[1]) if len(sides) == 2 else None


def evidence_of(claim: Claim) -> Iterator[tuple[int, str]]:
    """The passages of a claim with the words of each that say it."""
    yield from zip(claim["passages"], claim.get("evidence") or [claim["text"]] * len(claim["passages"]), strict=True)
