"""Classifies questions, names their options, and decides whether statements agree. The judge compares passages with the
question itself (docs/decisions/0016). The question's kind only selects the two answers, such as Yes and No. A
multinomial logistic regression on the encoder's vector and hashed word features predicts the kind. `python -m
evals.training.artifacts kinds` fits the weights."""

import re
from collections.abc import Callable, Sequence
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
from tools.language.lexicon import (
    AUXILIARIES,
    KEYWORD_STOP_WORDS,
    NEGATORS,
    PREPOSITIONS,
    bare_word,
    finite_verb,
    is_word,
    pos_tag,
)

Kind = Literal["polar", "claim", "topic", "choice", "open", "plain", "none"]
"""'polar' asks for yes or no. 'claim' is a statement. 'topic' names a topic, or asks for arguments for and against.
'choice' names its alternatives. 'open' has several answers to weigh, 'plain' one to look up. 'none' is no question."""
KINDS: tuple[Kind, ...] = get_args(Kind)
# `weights`: (kinds, dimensions + buckets); `offsets`: (kinds,)
KIND_WEIGHTS = Path(__file__).parents[1] / "weights" / "kinds.npz"
_BUCKETS = 2048  # feature hashing (Weinberger et al. 2009): no vocabulary has to be stored

_SENTENCE_END = re.compile(r"(?<=[.!?])(?<!\bvs\.)[\"'”’)]*\s+(?=\S)", re.I)
_OR = re.compile(r",? (?:or|vs?\.?|versus)(?: (?:rather|just))? |(?<=[^\W\d_]{2}) ?/ ?(?=[^\W\d_])", re.I)
_TOKEN = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?|\d+|[^\w\s]")
_WH_WORDS = frozenset(
    "what what's whats which who who's whos whom whose why how how's hows when where wat wot wich".split()
)
_TYPED = frozenset("ai ain ca wo r wud cud shud shld shuld shoud".split())  # "can't" and "won't" cut; hasty spellings

ANSWERS: dict[str, tuple[str, str]] = {
    "polar": ("Yes", "No"),
    "claim": ("Agree", "Disagree"),
    "topic": ("For", "Against"),
}
"""The two answer words of each kind, such as Yes and No. The affirming word comes first."""
MOST_OPTIONS = 6
_LONGEST_OPTION = 12  # words
_SHORT = 4  # most words of an alternative that is a name or a thing
_LEAST_NONE_PROBABILITY = 0.5  # least probability of 'none'
_PLAIN_DISCOUNT = 0.5  # factor of 'plain' if the text names options, because in doubt a question has sides

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
class ParsedQuestion:
    """A typed question, with a capital and a final mark added. options: the alternatives of a choice."""

    kind: Kind
    text: str
    options: tuple[str, ...] = ()


def read_question(typed: str, vector: NDArray[np.float32]) -> ParsedQuestion:
    """Returns the text as a question of its likeliest kind; 'none' needs a high probability. vector: the encoder's
    vector of the typed text. Raises ModelError if the weights or TextBlob's lexicon are missing."""
    text = " ".join(typed.split())
    if not any(c.isalpha() for c in text):
        return ParsedQuestion("none", text)
    weights, offsets = _kind_weights()
    scores = weights @ feature_vector(text, vector) + offsets
    raised, options = np.exp(scores - scores.max()), named_options(text)
    chances = np.asarray(raised / raised.sum(), np.float32)
    chances[KINDS.index("choice")] *= bool(options)
    chances[KINDS.index("plain")] *= _PLAIN_DISCOUNT if options else 1
    chances[KINDS.index("none")] *= bool(chances[KINDS.index("none")] >= _LEAST_NONE_PROBABILITY)
    kind = KINDS[int(np.argmax(chances))]
    text = text[:1].upper() + text[1:]
    if kind in ("polar", "choice", "open", "plain") and not re.search(r"\?[\"'”’)]*(?: [^?]*)?$", text):
        text = text.rstrip(" .,;:") + "?"
    return ParsedQuestion(kind, text, options if kind == "choice" else ())


def named_options(text: str) -> tuple[str, ...]:
    """Returns the options that a text names, worded as answers; empty if the text names fewer than two."""
    sentences = [s for s in _SENTENCE_END.split(text) if bare_word(s)]
    if len(sentences) > 1 and re.match(r"or\b", sentences[-1], re.I):
        sentences[-2:] = [f"{sentences[-2].rstrip(' ?')} {sentences[-1]}"]
    return next(filter(None, map(_options_of_sentence, reversed(sentences))), ())


def _options_of_sentence(sentence: str) -> tuple[str, ...]:
    plain = re.sub(r"\s*\(.*?\)", "", _POLITE.sub("", sentence)).rstrip(" ?.!")
    if _POLES.search(plain):
        return ()
    clauses = [c for c in re.split(r"\s*[:–—]\s*|\s+-\s+", _BETWEEN.sub(r"\1 or \2", plain)) if bare_word(c)]
    several = [c for c in clauses if _OR.search(c)]
    parts = _POLITE.sub("", several[-1] if several else "".join(clauses[:1])).split(", ")
    ends = [i + 1 for i, part in enumerate(parts) if _OR.search(f" {part}")] or [len(parts)]
    asks = [i + 1 for i, part in enumerate(parts) if _WH.match(part) and not _OR.search(part) and i + 1 < ends[-1]]
    parts = parts[max(asks, default=0) : ends[-1]]  # without 'Which is better' before and 'which is better' after
    if several:
        return _options_of_clause(parts)
    short = all(len(p.split()) <= _SHORT and finite_verb(p.split()) is None for p in parts)
    return _distinct_options(parts) if short else ()


def _options_of_clause(parts: list[str]) -> tuple[str, ...]:
    """Returns the options of a clause: 'keep it' and 'give it away' for 'Should we keep it or give it away'."""
    names = [n for part in _OR.split(", ".join(parts)) for n in part.strip(" ,").split(", ") if bare_word(n)]
    if len(names) < 2:
        return ()
    head, last = names[0], names[-1]
    opens = opens_yes_no_question(head.split()[0])
    if opens_yes_no_question(last.split()[0]):  # a second question, which may only doubt the first
        both = len(names) == 2 and not _DOUBT.match(last)
        return _distinct_options([f"{head}{'?' * opens}", f"{last}?"]) if both else ()
    if opens:
        whole = head.partition(" ")[2]
        rest = _PRONOUN.sub("", whole)
        short = rest if len(rest.split()) <= _LONGEST_OPTION // 2 else ""
        named = (short if _REFERS.search(last) and rest != whole else "") or _action(head, last)
        names[0] = named or _matching_end(head, last) or short
        if objects := _words_after_subject_and_verb(names[0]):  # 'Should the street get slabs or sawn setts?'
            names[0] = objects
        elif names[0] == whole:  # both are the subject: 'Should men or women pay?'
            names[-1] = _words_before(
                last, lambda before, word: pos_tag(before)[:2] == "NN" and pos_tag(word)[:2] != "NN"
            )
    elif not _REFERS.search(last) and len(head.split()) <= _SHORT and not PREPOSITIONS & set(head.lower().split()):
        names[-1] = _words_before(last, lambda _, word: word.lower() in PREPOSITIONS)  # 'Tea or coffee in the morning'
    return _distinct_options(names) if names[0] else ()


def _action(head: str, last: str) -> str:
    """Returns 'cap the number of ships' for 'Should the town cap the number of ships' before 'charge a fee': the words
    from the verb on, if a determiner follows the first word of both."""
    words, others = head.split(), last.split()
    verbs = (i for i in range(2, len(words) - 1) if pos_tag(words[i + 1]) == "DT" and pos_tag(words[i]) != "IN")
    return " ".join(words[next(verbs, len(words)) :]) if len(others) > 2 and pos_tag(others[1]) == "DT" else ""


def _words_after_subject_and_verb(words: str) -> str:
    """Returns 'new slabs' for 'the street get new slabs'; '' if the words do not begin with a subject and a verb."""
    verbs = [i for i, word in enumerate(words.split()) if pos_tag(word) in ("VB", "VBP")]
    return " ".join(words.split()[verbs[0] + 1 :]) if verbs and verbs[0] else ""


def _words_before(words: str, ends: Callable[[str, str], bool]) -> str:
    """Returns the words before the first word for which `ends(previous word, word)` holds. A word next to 'of' never
    ends the result."""
    split = words.split()
    found = (i for i, pair in enumerate(pairwise(split), 1) if "of" not in pair and ends(*pair))
    return " ".join(split[: next(found, None)])


def _matching_end(left: str, right: str) -> str:
    """Returns the end of the left words that begins in the same way as the right words. For 'should we keep the
    monarchy' and 'become a republic' the end begins with the verb. Returns '' if nothing matches."""
    words, others = left.split(), right.split()
    first = next((w for w in others if pos_tag(w) != "RB"), others[0])
    alike = [i for i in range(1, len(words)) if _same_word_class(words[i], first)]
    alike = [i for i in alike if not (first[:1].isupper() and words[i - 1][:1].isupper())]  # a name is not cut
    last = pos_tag(words[-1])
    if not alike and (last in ("JJ", "VBN", "VB") or (last in ("NN", "NNS") and len(others) < 3)):
        alike = [len(words) - 1]  # 'Is it real or an illusion?'
    start = alike[-1] if alike else len(words)
    return " ".join(words[start - 1 if start > 1 and alike and pos_tag(words[start - 1]) == "RB" else start :])


def _same_word_class(one: str, other: str) -> bool:
    tags = pos_tag(one), pos_tag(other)
    if bare_word(one) in AUXILIARIES or "DT" in tags:
        return bare_word(one)[:1] == bare_word(other)[:1] and tags[0] == tags[1] == "DT"
    return tags[0] == tags[1] or all(t in ("VB", "VBP", "VBN", "VBD") for t in tags)


def _distinct_options(names: list[str]) -> tuple[str, ...]:
    plain = [re.sub(r"^(?:either|just|whether|or) ", "", n.strip(" ,;:.-–—\"'“”"), flags=re.I) for n in names]
    plain = [n[:1].upper() + n[1:] for n in plain if bare_word(n)]
    fits = 1 < len(plain) <= MOST_OPTIONS and all(len(n.split()) <= _LONGEST_OPTION for n in plain)
    return tuple(plain) if fits and len({n.casefold() for n in plain}) == len(plain) else ()


@cache
def _kind_weights() -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    try:
        with KIND_WEIGHTS.open("rb") as file, np.load(file) as stored:
            return stored["weights"].astype(np.float32), stored["offsets"].astype(np.float32)
    except (OSError, ValueError, KeyError, BadZipFile) as exc:
        raise ModelError(f"{KIND_WEIGHTS} cannot be read ({exc}). Restore it from the project.") from exc


def feature_vector(text: str, vector: NDArray[np.float32]) -> NDArray[np.float32]:
    """Returns the encoder's vector, then the hashed features at unit length."""
    hashed = np.zeros(_BUCKETS, np.float32)
    hashed[[crc32(feature.encode()) % _BUCKETS for feature in _text_features(text)]] = 1
    return np.concatenate([vector, hashed / np.linalg.norm(hashed)])


def opens_yes_no_question(word: str) -> bool:
    """Whether the word opens a yes-or-no question: 'should', "shouldn't", 'isnt'."""
    core = bare_word(word)
    negated = core.removesuffix("n't") if core.endswith("n't") else core.removesuffix("nt")
    return bool({core, negated} & (AUXILIARIES | _TYPED))


def asks_yes_or_no(question: str) -> bool:
    """Whether the first word and the final mark show a yes-or-no question."""
    words = question.split()
    return bool(words) and words[-1].endswith("?") and opens_yes_no_question(words[0])


def _opening_type(word: str) -> str:
    return "wh" if word in _WH_WORDS else "aux" if opens_yes_no_question(word) else ""


def _text_features(text: str) -> set[str]:
    tokens = _TOKEN.findall(text.replace("’", "'"))
    words = [t for t in tokens if t[0].isalpha()]
    low = ["#" if t.isdigit() else t.lower() for t in tokens]
    tags = ["^", *(pos_tag(t) if t[0].isalpha() else t for t in tokens), "$"]
    sentences = [s for part in _SENTENCE_END.split(text) if (s := _TOKEN.findall(part.lower().replace("’", "'")))]
    asked = next((s for s in reversed(sentences) if s[-1] == "?"), None) or [*sentences, [""]][0]
    lead, size = _opening_type(asked[0]), len(words)
    inner = sorted({_opening_type(w) for w in low[1:]})
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
    r"|\b(?:this|that|these|those|so|too|either|others?)\W*$"
    r"|^what speaks against [“\"‘']",  # a sentence of an earlier answer
    re.IGNORECASE,
)
_SHORTEST_FULL_QUESTION = 3  # words of a yes-or-no question without its topic: 'Do teachers agree?'


def is_standalone_question(question: str, kind: str) -> bool:
    """Whether a follow-up question has sides and is clear without the earlier questions of its thread."""
    asked = _OPENERS.sub("", question)
    if kind not in ("polar", "claim", "choice") and not (kind == "open" and re.search(r"\bshould\b", asked, re.I)):
        return False
    return not _LEANS.search(asked) and (kind != "polar" or len(asked.split()) > _SHORTEST_FULL_QUESTION)


# Agreement of statements, by their words

_WORD = re.compile(r"\w+(?:['’]\w+)?")
_NEGATORS = NEGATORS | {"without", "hardly"}
_HARMLESS = ("only", "just", "merely", "doubt", "matter")
_ENDS = re.compile(r"[,;:–—]| (?:because|since|so that|unless|although|though|while|whereas|if) ", re.I)
_DOUBTS = re.compile(r"\b(?:whether|if|says?|said|argues?|claims?|believes?|thinks?|who|should we)\b|\?", re.I)
# 'Isn't it fair?' asks whether it is fair
_RHETORICAL = re.compile(r"^(is|are|was|were|do|does|did|has|have|should|would|could)n['’]?t\b", re.I)
_STEM = 5  # first letters that forms of a word share
_BEYOND, _BEYOND_COMPARED = 5, 15  # most extra words of a clause, compared with the question; in a comparison
_PREFIX = re.compile(r"(?:un|in|im|ir|il|dis|non)(?=[a-z]{4})")


_REPLY = re.compile(r"[\"'“‘]*(?:(?:yes|no)\b(?=[,.!;:–—])(?!\. ?\d)|[^.?!,]{0,40}, (?:yes|no)(?=[.!]))", re.I)
_UNDECIDED = re.compile(
    r"(?:n['’]t|\b(?:not|nobody|no one|cannot|never)) (?:\w+ ){0,2}(?:knows?|known|say|tell|predict|sure|clear)\b"
    r"[^.;]{0,30}\b(?:whether|if)\b"
    r"|\b(?:unclear|unknown|uncertain|undecided|open question)\b[^.;]{0,30}\b(?:whether|if)\b"
    r"|\b(?:takes?|took|has|have|holds?) no (?:view|position|side|stance|opinion)\b"
    r"|\bremains to be seen\b|\btoo (?:early|soon) to (?:say|tell|know|judge)\b",
    re.I,
)
_CONCEDES = re.compile(
    r"[\"'“‘]*(?:I (?:know|grant|admit|concede|accept|understand|can see|do(?: not|n['’]t) (?:deny|doubt))|"
    r"granted(?=,| that\b)|admittedly|to be sure)\b(?!.*\b(?:but|yet|however|still|only|should|must)\b)",
    re.I | re.S,
)


def takes_no_side(text: str) -> bool:
    """Whether a text's words do not show its side. Such a text is a reply to an unseen question ('Of private ones,
    yes.'), a concession without an objection ('I know that they are kind.'), or 'nobody knows'."""
    return bool(_REPLY.match(text) or _CONCEDES.match(text) or _UNDECIDED.search(text))


def same_polarity(first: str, second: str) -> bool:
    """Whether both texts affirm or both texts deny. Compares the parity of their negators: 'not only' does not count,
    'neither … nor' counts once, and 'unfair' counts if the other text says 'fair'."""
    one, other = _words(first), _words(second)
    return (_negators(one) - _negators(other) + _prefixed(one, other) - _prefixed(other, one)) % 2 == 0


def _words(text: str) -> list[str]:
    return [w.replace("’", "'") for w in _WORD.findall(text.casefold())]


def _negators(words: list[str]) -> int:
    followed = zip(words, [*words[1:], ""], strict=False)
    return sum((w in _NEGATORS or w.endswith("n't")) and after not in _HARMLESS for w, after in followed)


def _prefixed(words: list[str], other: list[str]) -> int:
    """Returns how many of the words negate a word of the other text by a prefix: 'unfair' for 'fair'."""
    stems = (_PREFIX.sub("", w, count=1) for w in words if w not in other and _PREFIX.match(w))
    return sum(stem in other for stem in stems)


def yes_or_no_answer(text: str, question: str) -> Literal["yes", "no", ""]:
    """Returns a text's answer, yes or no, if its main clause is the question in another order. For example, 'Zoos
    should not be closed.' answers no to 'Should zoos be closed?'. Returns '' for other texts."""
    question = _RHETORICAL.sub(r"\1", question)
    clause = _ENDS.split(text.strip(), maxsplit=1)[0]
    asked, said = _words(question), _words(clause)
    content = {w[:_STEM] for w in asked if w not in KEYWORD_STOP_WORDS and w not in _NEGATORS}
    most = len(asked) + (_BEYOND_COMPARED if "than" in asked else _BEYOND)
    own_words = content <= {w[:_STEM] for w in said} and len(said) <= most
    if len(content) < 2 or not own_words or _DOUBTS.search(clause):
        return ""
    return "yes" if same_polarity(clause, question) != _swaps_compared(said, asked) else "no"


def _swaps_compared(said: Sequence[str], asked: Sequence[str]) -> bool:
    """Whether the sides of a comparison are swapped: 'tea is better than coffee' for 'is coffee better than tea'."""
    if "than" not in said or "than" not in asked:
        return False
    (first, second), (one, other) = (
        ({*words[: words.index("than")]}, {*words[words.index("than") + 1 :]}) for words in (asked, said)
    )
    first, second = first - second, second - first
    return bool(second & one and first & other)
