"""Whether a written claim says what the passages that it cites say.

Whatever a judge says, every fact that can be looked up has to be there (`missing_facts`), nothing may stand in the
claim that has no place in one (`intrusions`), and no clause may be added of which the passages know nothing
(`added_clauses`). Beyond that a judge that checks claims decides, about those that are somewhat like their passages.
Where there is none, the claim has to be near a sentence and nothing in its wording may go beyond the passage
(`objections`): stronger, denied, turned round, from another speaker, or a view that the passage only reports. Each of
these is a rule over word lists, precise rather than complete; none of them finds out what a sentence means.
`python -m evals model --grounding` measures it with the embedded encoder; others want thresholds of their own.
"""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache

from tools.language.facts import intrusions, missing_facts
from tools.language.sentences import clean, split_sentences
from tools.language.words import LIGHT_WORDS, NEGATORS

_ABSOLUTE = (
    "all every everyone everybody everywhere each always whole entire entirely complete completely total totally any "
    "anywhere ever forever perfect invariably",
    "never nobody none nothing",
    "prove proves proved proven proof guarantee guarantees guaranteed certain certainly undoubtedly definitely "
    "inevitably impossible",
)
_NOT_ONE = re.compile(r"\bnot a single\b|\bno \w+ ever\b|\bat all\b")
_NEGATORS = NEGATORS | frozenset(
    "nor hardly rarely seldom few little barely stop stops stopped fail fails failed refuse refuses refused".split()
)
_A_CLAUSE = 3  # stems; a shorter clause is too little to be denied
_AUXILIARIES = frozenset(
    "can do doe did would could should will have ha had be is ar so veri more most one ani even ever onli".split()
)
_CLAUSE_END = re.compile(
    r"[,;:]|\b(?:because|since|but|yet|whereas|while|although|though|so|and|which|who|unless|if|when|than|rather)\b"
)
_REMEMBERED = 4096  # texts
_VERB_WITHIN = 5  # words after the speaker: 'opponents of the tax also say'
_SAME_CLAUSE = 0.7  # share of one clause's words that are in the other
_SAID = (
    "say says said argue argues argued claim claims claimed insist insists insisted complain complains warn warns "
    "warned believe believes agree agrees maintain maintains"
)
_SAID_THAT = "report reports reported admit admits find finds found note notes concede concedes explain explains"
_REPORTING = frozenset(
    f"{_SAID} {_SAID_THAT} hold holds reply replies object objects call calls praise worry worries dispute disputes "
    "demand show shows think thinks suggest conclude concludes add point".split()
)
_SPEAKER = re.compile(
    rf"((?:[\w'-]+ ){{1,6}}?)(?:(?:{_SAID.replace(' ', '|')})\b"
    rf"|(?:have |has )?(?:{_SAID_THAT.replace(' ', '|')}) that\b)"
)
_CAMP = r"\b(?:critics|opponents|supporters|defenders|advocates|sceptics|skeptics)\b"
_REPORTED = [
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"(?:{_CAMP}|\bpeople\b)[^.;]*?\b(?:say|call|reply|worry|praise|claim|object|warn|insist|argue|hold|think)\b"
        r"(?P<view>[^.;]*?),? (?:yet|but|though|and nobody)\b.*",
        r"\bthose who (?:say|claim|think|believe|picture)\b(?P<view>.*)",
        r"^(?:it is|people|some|many)\b(?: \w+)? (?:say|said|claim|claimed|argued|think|believe)\b(?P<view>.*)",
        rf"{_CAMP} (?:reply|object|worry|say)\b(?P<view>.*)",
        r"\bdisputes?\b(?P<view>.*)",
        r"\b(?:was|were) (?:once |often )?(?:said|thought|called) (?:to be )?(?P<view>.*)",
    )
]
_ATTRIBUTED = re.compile(rf"{_CAMP}|\b(?:according|some|argue|claim|say|says|view)\b", re.IGNORECASE)
_BECAUSE = re.compile(r"(?P<effect>.+?),? (?:because|since)\b (?!of\b)(?P<cause>.+)", re.IGNORECASE)
_BECAUSE_FIRST = re.compile(r"(?:because|since) (?P<cause>[^,]+), (?P<effect>.+)", re.IGNORECASE)
_THEREFORE = re.compile(
    r"(?P<cause>.+?),? (?:(?:and )?(?:so|therefore|that is why)|which is why) (?!that\b|as\b|many\b|much\b)"
    r"(?P<effect>.+)",
    re.IGNORECASE,
)


def objections(claim: str, passage: str, evidence: Sequence[str]) -> list[str]:
    """What in its wording speaks against a claim; empty when nothing does.

    `evidence` are the passage's sentences nearest to the claim, best first. 'stronger': all, never or proves without
    any such word in the evidence; 'speaker': somebody says it who says nothing in the passage; 'reported': the passage
    tells it as what others hold; 'denied': a clause with the same words is negated in one of the two; 'reversed': the
    cause is the passage's effect.
    """
    claim, sentences = claim.replace("’", "'"), [s.replace("’", "'") for s in split_sentences(passage)]
    found: dict[str, Callable[[], bool]] = {
        "stronger": lambda: _stronger(claim.lower(), " ".join(evidence).lower()),
        "speaker": lambda: _other_speaker(claim, sentences),
        "reported": lambda: bool(evidence) and not _ATTRIBUTED.search(claim) and _only_reported(claim, evidence[0]),
        "denied": lambda: _denied(claim, sentences),
        "reversed": lambda: any(_reversed(claim, s) for s in sentences),
    }
    return [name for name, holds in found.items() if holds()]


def denied_plainly(claim: str, passage: str, evidence: Sequence[str]) -> bool:
    """Whether a whole clause of the passage stands in a clause of the claim that negates it, or the other way round.

    Not where the passage has such a clause as the claim has it, and not where a claim negates and so does the best of
    its evidence: what is negated in both may be put in another way.
    """
    known = [c for s in split_sentences(passage.replace("’", "'")) for c in _clauses(s) if len(c[0]) >= _A_CLAUSE]
    for words, negative in _clauses(claim.replace("’", "'")):
        within = {polarity for clause, polarity in known if clause <= words}
        if within == {not negative} and not (negative and _negates(" ".join(evidence[:1]))):
            return True
    return False


def _negates(text: str) -> bool:
    return bool((_NEGATORS | {"without"}) & set(re.findall(r"[a-z']+", _written_out(text.replace("’", "'")))))


def _written_out(text: str) -> str:
    """In lower case, each negator a word of its own."""
    return re.sub(r"n't\b", " not", text.lower().replace("no one", "nobody"))


@lru_cache(maxsize=_REMEMBERED)
def stems(text: str) -> tuple[str, ...]:
    """The stems of a text's words in order, without stop words; the lexical index's own."""
    from tools.language.words import analyzer

    return tuple(analyzer().analyze(clean(text)))


def _stronger(claim: str, evidence: str) -> bool:
    ours, theirs = (set(re.findall(r"[a-z]+", t.replace("no one", "nobody"))) for t in (claim, evidence))
    groups = (set(group.split()) for group in _ABSOLUTE)
    return any(group & ours and not group & theirs for group in groups) or bool(
        _NOT_ONE.search(claim) and not _NOT_ONE.search(evidence)
    )


def _other_speaker(claim: str, sentences: Sequence[str]) -> bool:
    """Whether the claim lets somebody say something who is not followed by a verb of saying anywhere in the passage."""
    match = _SPEAKER.match(claim)
    if match is None:
        return False
    speaker = stems(match.group(1))
    return bool(speaker) and not any(_speaks(speaker, s) for s in sentences)


def _speaks(speaker: Sequence[str], sentence: str) -> bool:
    if not set(speaker) <= set(stems(sentence)):
        return False
    for phrase in re.split(r"[,;:]", sentence.lower()):
        words = re.findall(r"[a-z']+", phrase)
        named = [i for i, word in enumerate(words) if speaker[-1] in stems(word)]
        if any(_REPORTING & set(words[i + 1 : i + 1 + _VERB_WITHIN]) for i in named):
            return True
    return False


def _only_reported(claim: str, sentence: str) -> bool:
    """Whether the claim is rather the view that the sentence reports than what the sentence itself says."""
    ours = set(stems(claim))
    for pattern in _REPORTED:
        if match := pattern.search(sentence):
            view = match.group("view")
            shared = len(ours & set(stems(view)))
            if shared and shared >= len(ours & set(stems(sentence.replace(view, " ")))):
                return True
    return False


def _denied(claim: str, sentences: Sequence[str]) -> bool:
    theirs = [clause for s in sentences for clause in _clauses(s)]
    for words, negative in _clauses(claim):
        alike = [(len(words & w) / len(words | w), n) for w, n in theirs if _alike(words, w)]
        if alike and max(alike, key=lambda a: a[0])[1] != negative:
            return True
    return False


def _alike(words: frozenset[str], others: frozenset[str]) -> bool:
    shared = len(words & others)
    return shared >= 2 and shared >= _SAME_CLAUSE * min(len(words), len(others))


@lru_cache(maxsize=_REMEMBERED)
def _clauses(sentence: str) -> tuple[tuple[frozenset[str], bool], ...]:
    """Each clause's stems with whether an odd number of words negates it."""
    found = []
    for clause in _CLAUSE_END.split(_written_out(sentence).replace("not only", "")):
        words = re.findall(r"[a-z']+", clause)
        kept = frozenset(stems(" ".join(w for w in words if w not in _NEGATORS))) - _AUXILIARIES
        if kept:
            found.append((kept, sum(w in _NEGATORS for w in words) % 2 == 1))
    return tuple(found)


def _reversed(claim: str, sentence: str) -> bool:
    ours, theirs = _causal(claim), _causal(sentence)
    if ours is None or theirs is None:
        return False
    straight = len(ours[0] & theirs[0]) + len(ours[1] & theirs[1])
    crossed = len(ours[0] & theirs[1]) + len(ours[1] & theirs[0])
    return crossed > max(straight, 1)


@lru_cache(maxsize=_REMEMBERED)
def _causal(sentence: str) -> tuple[frozenset[str], frozenset[str]] | None:
    """The stems of the effect and of the cause, where the sentence names both."""
    for pattern in (_BECAUSE_FIRST, _BECAUSE, _THEREFORE):
        if match := pattern.match(sentence.strip(" .")):
            effect, cause = (frozenset(stems(match.group(part))) - _AUXILIARIES for part in ("effect", "cause"))
            return effect, cause
    return None


__all__ = [
    "EVIDENCE",
    "added_clauses",
    "content_overlap",
    "evidence_sentences",
    "is_grounded",
    "likeness",
    "missing_facts",
    "unfounded",
]

EVIDENCE = 2
"""How many sentences of a passage are shown and judged as the evidence of a claim."""
NEAREST = 0.64
"""The cosine to the nearest sentence from which a claim is accepted that no judge checks."""
ALIKE = 1.0
"""The likeness that it has to have besides."""
ALIKE_AND_SAID = 0.9
"""The same of one that a judge finds in its passages."""
SAID = 0.5
"""The judge's probability from which it finds the claim in its passages."""

_FURTHER = re.compile(
    r"(?:[,;:]\s+|\s+[\u2013\u2014]\s+)"
    r"(?=(?:and|which|who|so|but|making|leaving|meaning|allowing|causing|forcing)\b)|;\s+|(?<=[.!?])\s+",
    re.IGNORECASE,
)
_AN_ADDED_CLAUSE = 3  # content words; a shorter one says too little to be looked for
_KNOWN = 0.4  # share of a clause's content words that the passage has


def content_overlap(claim: str, passage: str) -> float:
    """Share of the claim's different content words whose stems occur in the passage, 0 to 1; 0 when it has none."""
    asked = _content(claim)
    return len(asked & _content(passage)) / len(asked) if asked else 0.0


def evidence_sentences(
    claim: str, passage: str, limit: int = EVIDENCE, nearness: Sequence[float] | None = None
) -> list[str]:
    """The sentences of the passage that carry the claim, best first.

    They are ranked by shared content words, or by the mean of that and `nearness`, the cosine to the claim of each of
    `split_sentences(passage)` in their order.
    """
    sentences = split_sentences(passage)
    scores = [content_overlap(claim, s) for s in sentences]
    if nearness is not None:
        scores = [(overlap + near) / 2 for overlap, near in zip(scores, nearness, strict=True)]
    order = sorted(range(len(sentences)), key=lambda i: -scores[i])
    return [sentences[i] for i in order[:limit]]


def likeness(claim: str, passage: str, nearness: Sequence[float]) -> float:
    """How alike claim and passage are, 0 to 2: the highest of the cosines of its sentences, and `content_overlap`."""
    return max(nearness, default=0.0) + content_overlap(claim, passage)


def added_clauses(claim: str, passage: str, title: str = "") -> list[str]:
    """The further clauses of a claim (', which makes …', ', and it would …') whose words the passage mostly lacks."""
    known = _content(f"{title}. {passage}")
    asked = ((clause, _content(clause)) for clause in _FURTHER.split(claim)[1:])
    return [c for c, words in asked if len(words) >= _AN_ADDED_CLAUSE and len(words & known) < _KNOWN * len(words)]


def unfounded(claim: str, passage: str, title: str = "") -> list[str]:
    """Why a claim cannot stand whatever anybody says: its facts that are missing, what has no place in it, and what it
    adds."""
    return [
        *missing_facts(claim, [f"{title}. {passage}"]),
        *intrusions(claim),
        *added_clauses(claim, passage, title),
    ]


def is_grounded(
    claim: str, passage: str, nearness: Sequence[float], title: str = "", said: float | None = None
) -> bool:
    """Whether the passage says the claim; several passages that are cited together are given as one text.

    nearness: the cosines of the claim to each of `split_sentences(passage)`. said: how surely a judge that checks
    claims finds it there; None without one.
    """
    if unfounded(claim, passage, title):
        return False
    alike, evidence = likeness(claim, passage, nearness), evidence_sentences(claim, passage, nearness=nearness)
    if said is None:
        near = max(nearness, default=0.0) >= NEAREST and alike >= ALIKE
        return near and not objections(claim, passage, evidence)
    return said >= SAID and alike >= ALIKE_AND_SAID and not denied_plainly(claim, passage, evidence)


def _content(text: str) -> frozenset[str]:
    return frozenset(stems(" ".join(w for w in text.split() if w.lower() not in LIGHT_WORDS)))
