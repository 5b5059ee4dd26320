"""What people ask of the answer that they have before them: to summarise it, to explain a claim, to keep some of its
sources, to weigh its sides, to search on. What the answer itself can tell is told at once; the rest becomes a question.

What is wanted is told by the wording that it is nearest to: `requests.toml` has a few dozen for each kind, the names of
sides and publishers and all numbers in them replaced by words that stand for any (a nearest-neighbour classifier on the
encoder's vectors, Cover and Hart 1967). What is named in it is found among the names of the answer.
"""

import re
import tomllib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from statistics import median_low

import numpy as np
from numpy.typing import NDArray

from agent.answer.followups import argued_with, refers
from agent.answer.model import Answer, AnswerClaim, AnswerPerspective, Citation
from agent.answer.words import cased, claim_text, day, line_of, numbers, plain, source_line, strength_of
from agent.answer.words import label as stance_label
from agent.options import Depth
from tools.language.grounding import stems
from tools.language.question import read_question
from tools.language.sentences import split_sentences
from tools.language.words import count

Encode = Callable[[Sequence[str]], Awaitable[NDArray[np.float32]]]

_WORDINGS = Path(__file__).with_name("requests.toml")
_NEAREST = 3  # wordings of a kind that its nearness is the mean of
_LEAST = 0.2  # cosine below which a wording is near to no kind
_RUNS = ("question", "focus", "place")
"""Kinds that a run answers as they stand."""
_MOST_WORDS = 40  # whoever writes more asks a question of their own
_CLAIMS = 2  # of a side, in a summary
CAN = (
    "Of this answer you can ask: summarise it; explain claim 3; which side has more evidence; only newer sources, or "
    "only from one publisher; challenge claim 3; search more for a side; what about the cost; and in Germany?"
)
"""What can be asked, for who asked something else."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What the answer itself tells: a heading, and lines with the numbers of their sources."""

    heading: str
    lines: list[tuple[str, list[int]]] = field(default_factory=list)

    @property
    def text(self) -> str:
        """For a terminal: a line a line."""
        return "\n".join(
            [plain(self.heading), *(f"  • {plain(said)} {numbers(of)}".rstrip() for said, of in self.lines)]
        )


@dataclass(frozen=True, slots=True)
class Question:
    """A question that a run has to answer, with the depth that it needs where that is not the usual."""

    text: str
    depth: Depth | None = None


async def read_request(asked: str, answer: Answer, encode: Encode) -> Reply | Question:
    """What is asked of the answer, or the question as it stands where it is one of its own."""
    asked = " ".join(asked.split())
    if refers(argued_with(asked)) or not any(map(str.isalpha, asked)) or len(asked.split()) > _MOST_WORDS:
        return Question(asked)
    if new := _NEW.match(asked):
        return Question(new["rest"])
    parts = [part for part in split_sentences(asked) if any(map(str.isalpha, part))] or [asked]
    found = [await _nearness(part, answer, encode) for part in parts]
    # Of several sentences the one that is plainest says what is wanted; the others say why.
    part, nearness = max(zip(parts, found, strict=True), key=lambda pair: _lead(pair[1]))
    kind = max(_READERS, key=nearness.__getitem__)
    if _lead(nearness) > 0:
        return _READERS[kind if nearness[kind] >= _LEAST else "other"](asked, answer)
    if read_question(asked).kind == "choice":  # it names its own alternatives
        return Question(asked)
    return _focused(part) if nearness["question"] < max(nearness["focus"], nearness["place"]) else Question(asked)


def _lead(nearness: Mapping[str, float]) -> float:
    """By how much the wording is nearer to what the answer itself can tell than to a question for a run."""
    return max(nearness[kind] for kind in _READERS) - max(nearness[kind] for kind in _RUNS)


_NEW = re.compile(
    r"(?:[\w']+[, ]+){0,4}?(?:different|another|next|new|unrelated) (?:thing|question|topic|subject)\b[,:.]?\s*"
    r"(?P<rest>.{12,})",
    re.I,
)


async def _nearness(asked: str, answer: Answer, encode: Encode) -> dict[str, float]:
    """How near the wording is to each kind: the mean cosine to the nearest of its wordings; to a question of its own it
    is also as near as to the question of the answer."""
    kinds, known = await _known(encode)
    masked, plain, asked_before = await encode([_masked(asked, answer), asked, answer.neutral_question])
    cosines = known @ masked
    nearness = {str(k): float(np.sort(cosines[kinds == k])[-_NEAREST:].mean()) for k in np.unique(kinds)}
    return nearness | {"question": max(nearness["question"], float(plain @ asked_before))}


async def _known(encode: Encode) -> tuple[NDArray[np.str_], NDArray[np.float32]]:
    wordings = _wordings()
    return np.array([kind for kind, _ in wordings]), await encode([text for _, text in wordings])


@cache
def _wordings() -> list[tuple[str, str]]:
    kinds = tomllib.loads(_WORDINGS.read_text(encoding="utf-8"))
    return [(kind, text) for kind, texts in kinds.items() for text in texts]


def _masked(asked: str, answer: Answer) -> str:
    """The words with what they name of the answer replaced by a word for any such: 'only from the Herald' and 'only
    from the Gazette' are one wording."""
    names = [
        (p, "that newspaper") for c in answer.citations for p in (c.publisher, c.publisher.removeprefix("Sample "))
    ]
    names += [(s.name.removesuffix(" …"), "this side") for s in answer.perspectives if len(s.name) > 3]
    for name, stands in sorted(names, key=lambda pair: -len(pair[0])):
        if name:
            asked = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", stands, asked, flags=re.I)
    asked = re.sub(r"(?i)\b(?:yes|no|for|against|pro|con|anti)(?= (?:side|camp|case|people|argument)\b)", "this", asked)
    return re.sub(r"\d+", "2", re.sub(r"\b(?:19|20)\d\d\b", "that year", asked))


# What the answer tells


def _summarised(_: str, answer: Answer) -> Reply:
    lines: list[tuple[str, list[int]]] = [(answer.summary, [])] if answer.summary else []
    for side in answer.perspectives:
        claims = sorted(side.claims, key=lambda claim: claim.tier != "case")[:_CLAIMS]
        lines += [(f"{stance_label(answer, side)}: {claim_text(claim)}", claim.citations) for claim in claims]
    return Reply("In short", lines)


def _weighed(_: str, answer: Answer) -> Reply:
    lines: list[tuple[str, list[int]]] = []
    for side in answer.perspectives:
        name = f" ({side.name})" if side.stance == "other" else ""
        lines.append((f"{stance_label(answer, side)}{name}: {strength_of(line_of(answer, side), cased(side))}", []))
    return Reply("The evidence by side", [*lines, ("How much was found is no measure of who is right.", [])])


def _explained(asked: str, answer: Answer) -> Reply | Question:
    number = _number(asked)
    cited = next((c for c in answer.citations if c.number == number), None)
    if cited is None:
        there = ", ".join(str(c.number) for c in answer.citations) or "none"
        return Reply(f"Which one? The numbers of this answer are {there}.")
    lines = [(f"{stance_label(answer, s)}: {claim_text(c)}", c.citations) for s, c in _claims(answer, {cited.number})]
    lines += [(f"“{words}”", [cited.number]) for words in dict.fromkeys([cited.quote, *(q.quote for q in cited.more)])]
    return Reply(f"[{cited.number}] {source_line(cited)}", lines)


def _newer(asked: str, answer: Answer) -> Reply:
    dated = sorted(c.date for c in answer.citations if c.date)
    if not dated:
        return Reply("None of the sources of this answer has a date.")
    years = re.findall(r"\b(?:19|20)\d\d\b", asked)
    since = years[-1] if years else median_low(dated)
    if years and re.search(rf"\b(?:after|later than|newer than) {since}", asked, re.I):
        since = str(int(since) + 1)
    kept = [c for c in answer.citations if c.date >= since]
    if not kept:
        return Reply(f"No source of this answer is from {day(since)} on; the newest is of {day(dated[-1])}.")
    return _kept(answer, kept, f"from {day(since)} on")


def _from_one(asked: str, answer: Answer) -> Reply:
    words = set(stems(asked.replace("paper", ""))) - set(stems(_SMALL))
    kept = [c for c in answer.citations if words & set(stems(f"{c.publisher} {c.kind} {c.title} {c.url}"))]
    if not kept:
        there = ", ".join(dict.fromkeys(c.publisher or c.title for c in answer.citations))
        return Reply(f"No source of this answer is called so. They are: {there}.")
    return _kept(answer, kept, "from " + ", ".join(dict.fromkeys(c.publisher or c.title for c in kept)))


_SMALL = "only from the just sources keep show what says does say said and please with sample rest leave out trust"


def _kept(answer: Answer, kept: Sequence[Citation], what: str) -> Reply:
    """The claims that stand on these sources."""
    known = {c.number for c in kept}
    lines = [
        (f"{stance_label(answer, side)}: {claim_text(claim)}", [n for n in claim.citations if n in known])
        for side, claim in _claims(answer, known)
    ]
    silent = [stance_label(answer, s) for s in answer.perspectives if s.claims and not _of(s, known)]
    lines += [(f"Nothing of it speaks for: {', '.join(dict.fromkeys(silent))}.", [])] if silent else []
    return Reply(f"What rests on {count(len(known), 'source')} {what}", lines)


def _claims(answer: Answer, known: set[int]) -> list[tuple[AnswerPerspective, AnswerClaim]]:
    return [(side, claim) for side in answer.perspectives for claim in _of(side, known)]


def _of(side: AnswerPerspective, known: set[int]) -> list[AnswerClaim]:
    return [claim for claim in side.claims if known & set(claim.citations)]


# What has to be searched for


def _challenged(asked: str, answer: Answer) -> Reply | Question:
    number = _number(asked)
    if number is None and (side := _side(asked, answer)) is not None:
        return Question(f"Strongest case against {side.name.removesuffix(' …')}?")
    if number is None:
        there = ", ".join(str(c.number) for c in answer.citations)
        return Reply(f"Which claim? Name it by its number: {there}.")
    return Question(f"Strongest counter-argument to {number}?")


def search_more(answer: Answer, side: AnswerPerspective | None) -> Question:
    """More for a side is what speaks against the one that says the opposite; for any other the whole question is
    searched longest."""
    facing = {"supports": "opposes", "opposes": "supports"}.get(side.stance) if side else None
    other = next((s for s in answer.perspectives if s.stance == facing), None)
    if other is not None and any(s.claims for s in answer.perspectives):
        return Question(f"Strongest case against {other.name.removesuffix(' …')}?", "deep")
    return Question(answer.neutral_question, "deep")


_AROUND = frozenset(
    "and how's what's but so ok okay now then or what how would does do did is are was it its this that the same there "
    "say says think more about tell me us much for all again could should will they them here case look looks "
    "please".split()
)


def _focused(asked: str) -> Question:
    """'How is it in France?' and 'what would a teacher say' in the form in which a run reads what to look at."""
    if re.match(r"(?:what|how) about\b", asked, re.I):
        return Question(asked)
    core = re.split(r"\b(?:about|in|for|among|on|to|over)\b", asked.rstrip(" ?.!"), flags=re.I)[-1]
    words = core.strip(" ,;").split() or asked.split()
    while len(words) > 1 and words[0].casefold().strip(",'") in _AROUND:
        del words[0]
    while len(words) > 1 and words[-1].casefold() in _AROUND:
        del words[-1]
    return Question(f"What about {' '.join(words)}?")


_READERS: dict[str, Callable[[str, Answer], Reply | Question]] = {
    "summarise": _summarised,
    "weigh": _weighed,
    "explain": _explained,
    "newer": _newer,
    "from": _from_one,
    "challenge": _challenged,
    "more": lambda asked, answer: search_more(answer, _side(asked, answer)),
    "other": lambda asked, answer: Reply(CAN),
}


def _number(asked: str) -> int | None:
    """The number that is named, '3' or 'the third'."""
    if found := re.search(r"\d{1,3}", asked):
        return int(found.group())
    ordinals = "first second third fourth fifth sixth seventh eighth ninth tenth".split()
    words = asked.casefold().split()
    return next((n for n, word in enumerate(ordinals, start=1) if word in words), None)


_POLES = {
    "supports": r"\bfor$|\b(?:yes|pros?|agree|supporters?|in favou?r|for (?:side|camp|case))\b",
    "opposes": r"\b(?:no|against|con|contra|antis?|disagree|opponents?|critics)\b",
}


def _side(asked: str, answer: Answer) -> AnswerPerspective | None:
    """The side that is named, by its name or by where it stands on the question."""
    said = asked.casefold()
    for side in sorted(answer.perspectives, key=lambda s: -len(s.name)):
        if re.search(rf"(?<!\w){re.escape(side.name.removesuffix(' …').casefold())}(?!\w)", said):
            return side
    last = max(_POLES, key=lambda stance: max((m.start() for m in re.finditer(_POLES[stance], said)), default=-1))
    if not re.search(_POLES[last], said):
        return None
    return next((s for s in answer.perspectives if s.stance == last), None)
