"""What people ask of the answer that they have before them: to summarise it, to explain a claim, to keep some of its
sources, to weigh its sides, to search on. What the answer itself can tell is told at once; the rest becomes a question.

What is wanted is told by `agent.answer.intents`; what is named is found among the names of the answer.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import median_high

import numpy as np

from agent.answer.followups import argued_with, refers
from agent.answer.intents import LIKE_FACTS, Encode, asks_for_fact, intent_of
from agent.answer.model import Answer, AnswerClaim, AnswerPerspective, Citation
from agent.answer.named import number_in, quoted_in, side_in, sources_in
from agent.answer.words import called, claim_text, day, numbers, plain, source_line, strength_of
from agent.options import Depth
from tools.language.question import read_question
from tools.language.sentences import split_sentences
from tools.language.words import count

_MOST_WORDS = 40  # whoever writes more asks a question of their own
_UNSURE = 0.4  # chance of a kind below which half of the readings are wrong, in five folds over the wordings
_CLAIMS = 2  # of a side, in a summary
_PHRASE, _BARE = 4, 2  # words; what is longer is a clause, or more than a name
CAN = (
    "Of this answer you can ask: summarise it; explain claim 3; what do critics say; which side has more evidence; "
    "only newer sources, or only from one publisher; challenge claim 3; search more for a side; what about the cost; "
    "and in Germany?"
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
    if (new := _NEW.match(asked)) and read_question(new["rest"]).kind in ("polar", "choice"):
        return Question(new["rest"])
    split = [part for sentence in split_sentences(asked) for part in re.split(r"(?<=[?!]) ", sentence)]
    parts = [part for part in split if any(map(str.isalpha, part))]
    kind, chances = await intent_of([asked, *parts], answer, encode)
    if kind in ("focus", "place") and len(asked.split()) <= _BARE and side_in(asked, answer):
        return _of_side(asked, answer)  # 'the downsides?'
    unsure = chances.mean() < _UNSURE
    if (unsure or kind in LIKE_FACTS) and asks_for_fact(asked) and not sources_in(asked, answer):
        return Question(asked)
    if reader := _READERS.get(kind):
        return _told(reader(asked, answer), float(chances.mean()))
    if unsure and not _ABOUT.search(asked):
        return Reply(CAN)
    likeliest = [parts[i] for i in np.argsort(-chances[1:], kind="stable")]
    if kind == "question" or read_question(asked).kind == "choice":  # a choice names its own alternatives
        alone = read_question(likeliest[0]).kind in ("polar", "choice")
        return Question(likeliest[0] if alone else asked)
    return _focused(asked, likeliest)


def _told(said: Reply | Question, chance: float) -> Reply | Question:
    """With what else can be asked, where that was a guess."""
    if chance >= _UNSURE:
        return said
    if isinstance(said, Question) or said.heading == CAN:  # a guess begins no run
        return Reply(CAN)
    return Reply(said.heading, [*said.lines, (f"If that was not meant: {CAN[0].lower()}{CAN[1:]}", [])])


_NEW = re.compile(
    r"(?:(?:[\w']+,? ){0,5}[\w']+ ?:|(?:[\w']+,? ){0,4}(?:thing|question|topic|matter|subject)(?: \w+)? ?[–.,-]) ?"
    r"(?P<rest>.+)",
    re.I,
)
"""'Another thing: should …', 'next: …'."""


# What the answer tells


def _summarised(_: str, answer: Answer) -> Reply:
    lines: list[tuple[str, list[int]]] = [(answer.summary, [])] if answer.summary else []
    for side in answer.perspectives:
        claims = side.claims[:_CLAIMS]
        lines += [(_said(answer, side, claim), claim.citations) for claim in claims]
    return Reply("In short", lines)


def _said(answer: Answer, side: AnswerPerspective, claim: AnswerClaim) -> str:
    """The claim after whose it is, and with the doubt where it is of no case."""
    doubt = "Against " if claim in side.objections else ""
    return f"{doubt}{called(answer, side)}: {claim_text(claim)}"


def _weighed(_: str, answer: Answer) -> Reply:
    told = [f"{called(answer, side)}: {strength_of(answer, side)}" for side in answer.perspectives]
    told.append("How much was found is no measure of who is right.")
    return Reply("The evidence by side", [(line, []) for line in told])


def _explained(asked: str, answer: Answer) -> Reply | Question:
    number = number_in(asked, answer) or quoted_in(asked, answer)
    cited = next((c for c in answer.citations if c.number == number), None)
    if cited is None:
        there = ", ".join(str(c.number) for c in answer.citations) or "none"
        return Reply(f"Which one? The numbers of this answer are {there}.")
    claims = _claims(answer, {cited.number})
    lines = [(_said(answer, s, c), c.citations) for s, c in claims]
    more = {cited.quote: None, **{q.quote: None for q in cited.more}}.keys() - {c.text for _, c in claims}
    lines += [(f"“{words}”", [cited.number]) for words in more]
    return Reply(f"[{cited.number}] {source_line(cited)}", lines)


_LATER = (
    r"\b(?:after|since|newer|newest|later|latest|recent\w*|fresh\w*|current|up[ -]to[ -]date|past|last \w+ years?)\b"
)
_EARLIER = r"\b(?:before|older|old|until|till|up to|earlier|prior|outdated)\b"
_NONE_OF = (
    r"\b(?:no|nothing|none|not|without|skip|drop|ignor\w+|exclud\w+|remov\w+|hide|bin|ditch|lose|forget|"
    r"leav\w+ out|throw out|rid of|don'?t (?:want|need|show|use|give))\b(?: [\w']+){0,4}? "
)


def _dated(asked: str, answer: Answer) -> Reply:
    """The newer of the sources or the older ones, from the year that is named or from the middle of their dates."""
    dated = sorted(c.date for c in answer.citations if c.date)
    if not dated:
        return Reply("None of the sources of this answer has a date.")
    without = re.search(f"{_NONE_OF}(?:(?P<earlier>{_EARLIER})|{_LATER})", asked, re.I)
    earlier, later = (re.search(words, asked, re.I) for words in (_EARLIER, _LATER))
    older = not without["earlier"] if without else bool(earlier and not later)
    years = re.findall(r"\b(?:19|20)\d\d\b", asked)
    if not without and (of := re.search(rf"{_NONE_OF}(?P<year>(?:19|20)\d\d)\b", asked, re.I)):
        kept = [c for c in answer.citations if c.date and not c.date.startswith(of["year"])]
        return _kept(answer, kept, f"not from {of['year']}") if kept else Reply(f"All sources are from {of['year']}.")
    limit = years[-1] if years else median_high(dated)
    if years and re.search(rf"\b(?:after|past|later than|newer than|until|till|up to) {limit}", asked, re.I):
        limit = str(int(limit) + 1)
    kept = [c for c in answer.citations if c.date and (c.date < limit if older else c.date >= limit)]
    what = f"from before {day(limit)}" if older else f"from {day(limit)} on"
    if not kept:
        there = f"the oldest is of {day(dated[0])}" if older else f"the newest is of {day(dated[-1])}"
        return Reply(f"No source of this answer is {what}; {there}.")
    undated = [c.number for c in answer.citations if not c.date]
    left = [("Left out, since their dates are not known:", undated)] if undated else []
    told = _kept(answer, kept, what)
    return Reply(told.heading, [*told.lines, *left])


_LEFT_OUT = re.compile(
    r"\b(?:leav(?:e|ing) out|without|no|not|skip|drop|exclud\w+|except|bin|ignor\w+|hide|minus|remove)\b"
    r"((?:(?! and (?:look|show|keep|give|use|take|only|just|stick)\b)[^,.;:!?])*)|"
    r"\b(?:take|leave|throw|kick|cut|keep)\b([^,.;:!?]*)\bout\b",
    re.I,
)


def _from_one(asked: str, answer: Answer) -> Reply:
    out = sources_in(" ".join(map(" ".join, _LEFT_OUT.findall(asked))), answer)
    wanted = sources_in(_LEFT_OUT.sub(" ", asked), answer)
    kept = [c for c in answer.citations if c.number in wanted or (not wanted and out)]
    kept = [c for c in kept if c.number not in out]
    if not kept:
        there = ", ".join(dict.fromkeys(c.speaker or c.publisher or c.title for c in answer.citations))
        return Reply(f"No source of this answer is called so. They are: {there}.")
    return _kept(answer, kept, "from " + ", ".join(dict.fromkeys(c.speaker or c.publisher or c.title for c in kept)))


def _kept(answer: Answer, kept: Sequence[Citation], what: str) -> Reply:
    """The claims that stand on these sources."""
    known = {c.number for c in kept}
    lines = [
        (_said(answer, side, claim), [n for n in claim.citations if n in known])
        for side, claim in _claims(answer, known)
    ]
    silent = [called(answer, s) for s in answer.perspectives if s.claims and not _of(s, known)]
    lines += [(f"Nothing of it speaks for: {', '.join(dict.fromkeys(silent))}.", [])] if silent else []
    return Reply(f"What rests on {count(len(known), 'source')} {what}", lines)


def _claims(answer: Answer, known: set[int]) -> list[tuple[AnswerPerspective, AnswerClaim]]:
    return [(side, claim) for side in answer.perspectives for claim in _of(side, known)]


def _of(side: AnswerPerspective, known: set[int]) -> list[AnswerClaim]:
    return [claim for claim in side.all_claims if known & set(claim.citations)]


def _of_side(asked: str, answer: Answer) -> Reply | Question:
    side = side_in(asked, answer, speaking=True)
    if side is None:
        return _focused(asked, [asked])  # 'what would a nurse say' is nobody's side
    name = called(answer, side)
    if not side.claims:
        return Reply(f"Nothing that was found speaks for {name}. Ask: search more for this side.")
    told = map(claim_text, side.claims)
    return Reply(f"What speaks for {name}", [*zip(told, (c.citations for c in side.claims), strict=True)])


# What has to be searched for


def again(answer: Answer) -> str:
    """The question that the answer is to, as it can be asked once more in its thread."""
    if answer.against:
        return f"Strongest case against {answer.against.side}?"
    return f"What about {answer.focus}?" if answer.focus else answer.neutral_question


def _challenged(asked: str, answer: Answer) -> Reply | Question:
    number = number_in(asked, answer)
    if number is None and (side := side_in(asked, answer)) is not None:
        return Question(f"Strongest case against {side.name.removesuffix(' …')}?")
    if number is None and (number := quoted_in(asked, answer)) is None:
        there = ", ".join(str(c.number) for c in answer.citations)
        return Reply(f"Which claim? Name it by its number: {there}.")
    return Question(f"Strongest counter-argument to {number}?")


_AROUND = frozenset(
    "who when where why which and how's what's but so ok okay now then or what how would does do did is are was it "
    "its this that the same there say says think more about tell me us much for all again could should will they "
    "them here case look looks please deal land handle thing things never mind rest even just only really stuff a "
    "an any of anything everything help helps affect affects harm change matter mean go whats see view feel find judge "
    "take react reckon argue believe mind might".split()
)
_ABOUT = re.compile(r"\b(?:what|how) about ([^,.;?!]+)", re.I)
_PLACE = re.compile(r"\b(?:in|for|to|of|from|at) ((?:the )?[A-Z][\w'-]+(?: (?:and )?[A-Z][\w'-]+)*)")


def _focused(asked: str, parts: Sequence[str]) -> Question:
    """'How is it in France?' and 'what would a teacher say' in the form in which a run reads what to look at. parts:
    the sentences, the likeliest to name it first."""
    if about := _ABOUT.search(asked) or _PLACE.search(asked):
        return Question(f"What about {about[1].strip()}?")
    core = next(filter(None, map(_core, parts)), "") or asked.rstrip(" ?.!")
    clause = re.match(r"(?:who|whom|whose|why|when|where|which)\b", parts[0], re.I) or len(core.split()) > _PHRASE
    if clause or read_question(parts[0]).kind == "fact":  # is itself what to look at
        return Question(f"And {parts[0][:1].lower()}{parts[0][1:].rstrip(' ?.!')}?")
    return Question(f"What about {core}?")


def _core(part: str) -> str:
    """What a sentence asks about, without the words around it; empty where it has nothing else."""
    for said in reversed(re.split(r"\b(?:about|in|for|among|on|to|over|of)\b|[?!.,;]", part, flags=re.I)):
        words = said.split()
        if kept := [i for i, word in enumerate(words) if word.casefold() not in _AROUND]:
            start = kept[0] - (kept[0] > 0 and words[kept[0] - 1].casefold() in ("the", "a", "an"))
            return " ".join(words[start : kept[-1] + 1])
    return ""


_READERS: dict[str, Callable[[str, Answer], Reply | Question]] = {
    "summarise": _summarised,
    "weigh": _weighed,
    "explain": _explained,
    "newer": _dated,
    "side": _of_side,
    "from": _from_one,
    "challenge": _challenged,
    "more": lambda _, answer: Question(again(answer), "deep"),
    "other": lambda asked, answer: Reply(CAN),
}
