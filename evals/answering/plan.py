"""What the agent is asked: the question as it is, with one side's documents left out, and in other wordings.

A side is left out without indexing anything twice: the documents lie in several collections, divided by which
questions leave them out, and a question is asked over all collections but its own.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from evals.datasets.cases import SIDES, Case, Side
from tools.language.grammar import frame, head_noun, is_gerund, is_name, words_of
from tools.passages import SourceDocument

PLAIN, MISSING, NEUTRAL = "plain", "missing", "neutral"
WORDINGS = {"true": "Isn't it true that {}?", "why": "Why should we accept that {}?", "tag": "{}, right?"}
"""Leading questions: each is asked of the claim ('true for') and of its negation ('true against')."""
TOPICAL = {
    "good": ("Why {be} {topic} good?", "Why {be} {topic} bad?"),
    "gains": ("Benefits of {topic}", "Problems with {topic}"),
}
"""Leading questions about the topic alone: another matter than the question, so that only the two are compared."""
FRAMINGS = (NEUTRAL, *(f"{name} {side}" for name in (*WORDINGS, *TOPICAL) for side in ("for", "against")))


@dataclass(frozen=True, slots=True)
class Ask:
    """One question to the agent. `asked` are its words; `left_out` is the side whose gold documents it goes without."""

    case: Case
    variant: str
    asked: str
    left_out: Side | None = None

    @property
    def key(self) -> str:
        return f"{self.case.key} [{self.variant}]"

    @property
    def without(self) -> frozenset[str]:
        """The documents that it is asked without."""
        return self.case.gold[self.left_out] if self.left_out else frozenset()


def plan(cases: Sequence[Case], missing: bool, framings: bool, seed: int) -> list[Ask]:
    """All that is asked, question by question.

    The sides that are left out alternate over the questions that have both, whatever the number of questions; where
    the question may be worded from either pole nobody knows which side would be missing.
    """
    asks: list[Ask] = []
    sided = 0
    for case in cases:
        asks.append(Ask(case, PLAIN, case.question))
        if missing and len(case.sides) == len(SIDES) and not case.either_way:
            asks.append(Ask(case, MISSING, case.question, SIDES[(sided + seed) % len(SIDES)]))
        sided += len(case.sides) == len(SIDES)
        if framings:
            asks += [Ask(case, name, text) for name, text in worded(case.question).items()]
    return asks


def worded(question: str) -> dict[str, str]:
    """The question's other wordings by name, made by the grammar; none where it finds no claim. A neutral one that is
    the question itself is not asked twice."""
    framing = frame(question)
    if framing.form not in ("polar", "claim") or not framing.claim:
        return {}
    texts = {} if framing.neutral == question else {NEUTRAL: framing.neutral}
    for name, template in WORDINGS.items():
        for side, statement in (("for", framing.claim), ("against", framing.negation)):
            texts[f"{name} {side}"] = template.format(_inside(statement))
    return texts | _topical(framing.topic)


def _topical(topic: str) -> dict[str, str]:
    """What is asked about the topic at large; 'Why is …' only of what can be a subject, not of 'towns banning cars'."""
    words = words_of(topic)
    head = head_noun(words)
    clause = any(is_gerund(word.core) for word in words[1:])
    be = "are" if head is not None and head.plural and not is_gerund(words[0].core) else "is"
    return {
        f"{name} {side}": template.format(be=be, topic=topic)
        for name, templates in TOPICAL.items()
        if not (clause and "{be}" in templates[0])
        for side, template in zip(("for", "against"), templates, strict=True)
    }


def _inside(statement: str) -> str:
    """The statement as it stands inside a sentence."""
    first = statement.split()[0]
    words = statement.rstrip(".")
    return words if is_name(first) else words[:1].lower() + words[1:]


@dataclass(frozen=True, slots=True)
class Shelves:
    """The documents divided into collections. `questions` says which asks go without each of them, by key."""

    documents: dict[str, list[SourceDocument]]
    questions: dict[str, frozenset[str]]

    def open_to(self, ask: Ask) -> tuple[str, ...]:
        """The collections that the question is asked over."""
        return tuple(name for name in self.documents if ask.key not in self.questions[name])


def shelve(documents: Sequence[SourceDocument], asks: Sequence[Ask]) -> Shelves:
    """One collection for what every question may use, and one for each set of questions that go without."""
    without: dict[str, set[str]] = {}
    for ask in asks:
        for external_id in ask.without:
            without.setdefault(external_id, set()).add(ask.key)
    shelves: dict[frozenset[str], list[SourceDocument]] = {}
    for document in documents:
        shelves.setdefault(frozenset(without.get(document.external_id, ())), []).append(document)
    names = dict(zip(shelves, _names(), strict=False))
    return Shelves({names[k]: v for k, v in shelves.items()}, {names[k]: k for k in shelves})


def _names() -> Iterator[str]:
    number = 0
    while True:
        number += 1
        yield f"shelf-{number}"
