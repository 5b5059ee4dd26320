"""What a question asks: its kind, the words that answer it, and the alternatives that it names.

Nothing is made of the words: the question is the statement that passages are judged against, as it was typed
(docs/decisions/0016). The kind only tells which words answer it. Multinomial logistic regression tells it, on the
encoder's vector and hashed word features; `python -m evals.training.artifacts kinds` fits the weights.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Literal, get_args
from zipfile import BadZipFile
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from tools.errors import ModelError
from tools.language.lexicon import AUXILIARIES, PREPOSITIONS, core_of, finite_verb, is_word, tag_of

Kind = Literal["polar", "claim", "topic", "choice", "open", "plain", "none"]
"""'polar' asks for yes or no; 'claim' states something; 'topic' names it, or asks for what speaks for and against it;
'choice' names its alternatives; 'open' has answers that people weigh, 'plain' one to look up; 'none' asks nothing."""
KINDS: tuple[Kind, ...] = get_args(Kind)
FITTED = Path(__file__).parents[1] / "weights" / "kinds.npz"
"""`weights`: (kinds, dimensions of the encoder + buckets); `offsets`: (kinds,)."""
_BUCKETS = 2048  # feature hashing (Weinberger et al. 2009): no vocabulary has to be stored

_SENTENCE_END = re.compile(r"(?<=[.!?])(?<!\bvs\.)[\"'”’)]*\s+(?=\S)", re.I)
_OR = re.compile(r",? (?:or|vs?\.?|versus)(?: (?:rather|just))? |(?<=[^\W\d_]{2}) ?/ ?(?=[^\W\d_])", re.I)
"""What stands between the alternatives of a choice."""
_TOKEN = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?|\d+|[^\w\s]")
_WH_WORDS = frozenset(
    "what what's whats which who who's whos whom whose why how how's hows when where wat wot wich".split()
)
_TYPED = frozenset("ai ain ca wo r wud cud shud shld shuld shoud".split())  # of "can't" and "won't", and in haste

ANSWERS: dict[str, tuple[str, str]] = {
    "polar": ("Yes", "No"),
    "claim": ("Agree", "Disagree"),
    "topic": ("For", "Against"),
}
"""The two words that answer a question of a kind, the affirming one first."""
MOST_OPTIONS = 6
_LONGEST_OPTION = 12  # words
_SHORT = 4  # words of an alternative that is a name or a thing
_SURE = 0.5  # what is refused has to be this likely to ask nothing
_NAMED = 0.5  # by which a fact counts less where the text names alternatives: in doubt a question has sides

_POLITE = re.compile(
    r"^(?:(?:so|but|and|ok|okay|well|please|pls|honestly|hi|hey|hello|also|now|then|um|mate|seriously|"
    r"would you (?:rather|sooner)|do you (?:think|reckon)(?: that)?|in general|these days),? |"
    r"(?:look|listen|right), )+",
    re.I,
)
_WH = re.compile(r"(?:what|which|who|whom|whose|how|where|when)(?:['’]?s|['’]ll)?\b|(?:between|better|if)\b", re.I)
_BETWEEN = re.compile(r"\bbetween ([^,]+) and ([^,?]+)", re.I)
_POLES = re.compile(r"\bor (?:not|no|nay|what|nah|is it not)(?: \w+)?$", re.I)
_REFERS = re.compile(r" (?:it|them)$", re.I)  # of 'should we keep the exams or bin them'
_PRONOUN = re.compile(r"^(?:i|we|you|u|they|he|she|it) ", re.I)
_DOUBT = re.compile(
    rf"(?:{'|'.join(sorted(AUXILIARIES))}|r) (?:it|that|this|they|those|we|i|u|you|he|she|there)\b", re.I
)


@dataclass(frozen=True, slots=True)
class Question:
    """A question as it was typed, with a capital and a mark at its end; `options` are the names that a choice has."""

    kind: Kind
    text: str
    options: tuple[str, ...] = ()


def read_question(typed: str, vector: NDArray[np.float32]) -> Question:
    """The likeliest kind of a question, a claim or a bare topic; never raises for any text. vector: the encoder's, of
    the typed text.

    Only a choice has alternatives, and only what very likely asks nothing is of no kind. Raises ModelError when the
    weights or TextBlob's lexicon are missing.
    """
    text = " ".join(typed.split())
    if not any(c.isalpha() for c in text):
        return Question("none", text)
    chances, options = chances_of_kinds(text, vector), alternatives(text)
    chances[KINDS.index("choice")] *= bool(options)
    chances[KINDS.index("plain")] *= _NAMED if options else 1
    chances[KINDS.index("none")] *= bool(chances[KINDS.index("none")] >= _SURE)
    kind = KINDS[int(np.argmax(chances))]
    text = text[:1].upper() + text[1:]
    if kind in ("polar", "choice", "open", "plain") and not re.search(r"\?[\"'”’)]*(?: [^?]*)?$", text):
        text = text.rstrip(" .,;:") + "?"
    return Question(kind, text, options if kind == "choice" else ())


def alternatives(text: str) -> tuple[str, ...]:
    """What a text names to choose from, as it reads as an answer; nothing where it names less than two."""
    sentences = [s for s in _SENTENCE_END.split(text) if core_of(s)]
    if len(sentences) > 1 and re.match(r"or\b", sentences[-1], re.I):
        sentences[-2:] = [f"{sentences[-2].rstrip(' ?')} {sentences[-1]}"]
    return next(filter(None, map(_named, reversed(sentences))), ())


def _named(sentence: str) -> tuple[str, ...]:
    plain = re.sub(r"\s*\(.*?\)", "", _POLITE.sub("", sentence)).rstrip(" ?.!")
    if _POLES.search(plain):
        return ()
    clauses = [c for c in re.split(r"\s*[:–—]\s*|\s+-\s+", _BETWEEN.sub(r"\1 or \2", plain)) if core_of(c)]
    several = [c for c in clauses if _OR.search(c)]
    parts = _POLITE.sub("", several[-1] if several else "".join(clauses[:1])).split(", ")
    ends = [i + 1 for i, part in enumerate(parts) if _OR.search(f" {part}")] or [len(parts)]
    asks = [i + 1 for i, part in enumerate(parts) if _WH.match(part) and not _OR.search(part) and i + 1 < ends[-1]]
    parts = parts[max(asks, default=0) : ends[-1]]  # without 'Which is better' before and 'which is better' after
    if several:
        return _options(parts)
    short = all(len(p.split()) <= _SHORT and finite_verb(p.split()) is None for p in parts)
    return _distinct(parts) if short else ()


def _options(parts: list[str]) -> tuple[str, ...]:
    """Of 'Should we keep it', 'sell it or give it away' the alternatives: 'keep it', 'sell it', 'give it away'."""
    names = [n for part in _OR.split(", ".join(parts)) for n in part.strip(" ,").split(", ") if core_of(n)]
    if len(names) < 2:
        return ()
    head, last = names[0], names[-1]
    opens = inverts(head.split()[0])
    if inverts(last.split()[0]):  # a question of its own, which may only doubt the first
        return _distinct([f"{head}{'?' * opens}", f"{last}?"]) if len(names) == 2 and not _DOUBT.match(last) else ()
    if opens:
        whole = head.partition(" ")[2]
        rest = _PRONOUN.sub("", whole)
        short = rest if len(rest.split()) <= _LONGEST_OPTION // 2 else ""
        names[0] = (short if _REFERS.search(last) and rest != whole else "") or _like(head, last) or short
        if names[0] == head.partition(" ")[2]:  # both are the subject: 'Should men or women pay?'
            names[-1] = _until(last, lambda before, word: tag_of(before)[:2] == "NN" and tag_of(word)[:2] != "NN")
    elif len(head.split()) <= _SHORT and not PREPOSITIONS & set(head.lower().split()):
        names[-1] = _until(last, lambda _, word: word.lower() in PREPOSITIONS)  # 'Tea or coffee in the morning'
    return _distinct(names) if names[0] else ()


def _until(words: str, ends: Callable[[str, str], bool]) -> str:
    """The words before the first that ends them, by itself and by the one before; 'of' goes on."""
    split = words.split()
    found = (i for i, pair in enumerate(pairwise(split), 1) if "of" not in pair and ends(*pair))
    return " ".join(split[: next(found, None)])


def _like(left: str, right: str) -> str:
    """The end of the words on the left that begins as those on the right do: of 'should we keep the monarchy' and
    'become a republic' from the verb on; empty where nothing is alike."""
    words, others = left.split(), right.split()
    first = next((w for w in others if tag_of(w) != "RB"), others[0])
    alike = [i for i in range(1, len(words)) if _alike(words[i], first)]
    alike = [i for i in alike if not (first[:1].isupper() and words[i - 1][:1].isupper())]  # a name is not cut
    last = tag_of(words[-1])
    if not alike and (last in ("JJ", "VBN", "VB") or (last in ("NN", "NNS") and len(others) < 3)):
        alike = [len(words) - 1]  # 'Is it real or an illusion?'
    start = alike[-1] if alike else len(words)
    return " ".join(words[start - 1 if start > 1 and alike and tag_of(words[start - 1]) == "RB" else start :])


def _alike(one: str, other: str) -> bool:
    tags = tag_of(one), tag_of(other)
    if core_of(one) in AUXILIARIES or "DT" in tags:
        return core_of(one)[:1] == core_of(other)[:1] and tags[0] == tags[1] == "DT"
    return tags[0] == tags[1] or all(t in ("VB", "VBP", "VBN", "VBD") for t in tags)


def _distinct(names: list[str]) -> tuple[str, ...]:
    plain = [re.sub(r"^(?:either|just|whether|or) ", "", n.strip(" ,;:.-–—\"'“”"), flags=re.I) for n in names]
    plain = [n[:1].upper() + n[1:] for n in plain if core_of(n)]
    fits = 1 < len(plain) <= MOST_OPTIONS and all(len(n.split()) <= _LONGEST_OPTION for n in plain)
    return tuple(plain) if fits and len({n.casefold() for n in plain}) == len(plain) else ()


def chances_of_kinds(text: str, vector: NDArray[np.float32]) -> NDArray[np.float32]:
    """The probability of each of KINDS, (7,). vector: the encoder's, of the same text.

    Raises ModelError when the weights or TextBlob's lexicon are missing.
    """
    weights, offsets = _fitted()
    scores = weights @ feature_vector(text, vector) + offsets
    raised = np.exp(scores - scores.max())
    return np.asarray(raised / raised.sum(), np.float32)


@cache
def _fitted() -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    try:
        with FITTED.open("rb") as file, np.load(file) as stored:
            return stored["weights"].astype(np.float32), stored["offsets"].astype(np.float32)
    except (OSError, ValueError, KeyError, BadZipFile) as exc:
        raise ModelError(f"{FITTED} cannot be read ({exc}). Restore it from the project.") from exc


def feature_vector(text: str, vector: NDArray[np.float32]) -> NDArray[np.float32]:
    """The encoder's vector, then the hashed features scaled to unit length."""
    hashed = np.zeros(_BUCKETS, np.float32)
    hashed[[crc32(feature.encode()) % _BUCKETS for feature in _features(text)]] = 1
    return np.concatenate([vector, hashed / np.linalg.norm(hashed)])


def inverts(word: str) -> bool:
    """Whether the word opens a question of yes or no: 'should', "shouldn't", 'isnt'."""
    core = core_of(word)
    negated = core.removesuffix("n't") if core.endswith("n't") else core.removesuffix("nt")
    return bool({core, negated} & (AUXILIARIES | _TYPED))


def asks_yes_or_no(question: str) -> bool:
    """Whether yes or no answers it, by its first word and the mark at its end."""
    words = question.split()
    return bool(words) and words[-1].endswith("?") and inverts(words[0])


def _opening(word: str) -> str:
    return "wh" if word in _WH_WORDS else "aux" if inverts(word) else ""


def _features(text: str) -> set[str]:
    tokens = _TOKEN.findall(text.replace("’", "'"))
    words = [t for t in tokens if t[0].isalpha()]
    low = ["#" if t.isdigit() else t.lower() for t in tokens]
    tags = ["^", *(tag_of(t) if t[0].isalpha() else t for t in tokens), "$"]
    sentences = [s for part in _SENTENCE_END.split(text) if (s := _TOKEN.findall(part.lower().replace("’", "'")))]
    asked = next((s for s in reversed(sentences) if s[-1] == "?"), None) or [*sentences, [""]][0]
    lead, size = _opening(asked[0]), len(words)
    inner = sorted({_opening(w) for w in low[1:]})
    mark = next((m for m in "?!." if text.rstrip("'\"”’) ").endswith(m)), "")
    finite, several = finite_verb(words) is not None, _OR.search(text) is not None
    unknown = sum(not is_word(w) for w in words)
    orders = len(tags) > 2 and tags[1] in ("VB", "VBP")
    return {
        *(f"word {w}" for w in low),
        *(f"tags {a} {b}" for a, b in pairwise(tags)),
        *(f"first {' '.join(low[:n])}" for n in (1, 2)),
        *(f"asked {' '.join(asked[:n])}" for n in (1, 2)),
        *(f"inner {opening}" for opening in inner),
        f"last {' '.join(low[-1:])}",
        f"sentences {min(len(sentences), 3)}",
        f"lead {lead} mark {mark}",
        f"lead {lead} several {several}",
        f"lead {lead} finite {finite} size {min(size, 5)}",
        f"lead {lead} finite {finite} inner {inner}",
        f"orders {orders} finite {finite} mark {mark}",
        f"several {several} finite {finite}",
        f"size {min(size, 6)}",
        f"unknown {3 * unknown // max(1, size)}",
        f"size {min(size, 4)} unknown {unknown > 0}",
    }


_OPENERS = re.compile(r"^(?:(?:and|but|so|ok(?:ay)?|well|then|now|also)\b[,:]? ?)+", re.IGNORECASE)
_LEANS = re.compile(
    # A pronoun among the first words, unless it prepares a clause ('Is it right to eat meat?').
    r"^(?:\W*[\w'’-]+\W+){0,4}?(?:they|them|it(?! (?:[\w'’-]+ ){0,3}(?:to|that|if|when)\b))\b"
    r"|^[\w'’-]+ (?:its|their|his|her|this|that|these|those)\b"
    r"|^(?:is|are|was|were) there\b|^(?:do|does|did|has|have) (?:any|some)"
    r"|\b(?:this|that|these|those|so|too|either|others?)\W*$",
    re.IGNORECASE,
)
_BARE = 3  # words of a yes-or-no question that leave out what is asked about: 'Do teachers agree?'


def asks_alone(question: str, kind: str) -> bool:
    """Whether a question that is typed in a thread has sides, and needs no other question to be understood."""
    asked = _OPENERS.sub("", question)
    if kind not in ("polar", "claim", "choice") and not (kind == "open" and re.search(r"\bshould\b", asked, re.I)):
        return False
    return not _LEANS.search(asked) and (kind != "polar" or len(asked.split()) > _BARE)
