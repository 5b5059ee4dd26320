"""A judge of features: does a text support a statement, told from similarity, words, negation and tone?

The baseline for the trained judge; `python -m evals judge-fit` fits and measures it.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from tools.encoders.encoder import Encoder

Floats = NDArray[np.float32]

GROUPS: dict[str, tuple[str, ...]] = {
    "similarity": ("cosine", "best_cosine", "mean_cosine"),
    "contrast": ("denial_margin", "best_denial_margin", "denial_cosine"),
    "words": ("recall", "best_recall", "log_words", "log_statement_words"),
    "negation": ("statement_negators", "text_negators", "parity", "parity_recall"),
    "tone": ("text_tone", "best_tone", "statement_tone", "tone_product"),
    "direction": ("text_lean", "best_lean", "statement_lean", "lean_product", "best_lean_product", "lean_tone"),
}
FEATURES: tuple[str, ...] = tuple(name for names in GROUPS.values() for name in names)

_WORD = re.compile(r"[a-z]+(?:n't)?")
_NEGATORS = frozenset(
    "not no never cannot without nor neither none nobody nothing hardly barely lack lacks fails failed".split()
)
_STOP = frozenset(
    "the a an of to in and or is are be should that for it this on as with by we do does would will can have has "
    "their they than more from at was were which who what if but so its his her our you i not no must may there "
    "these those".split()
)
_LIFTS = (
    "allow keep support legalis legaliz fund promot expand encourag protect adopt benefit good help safe effectiv "
    "worth success improv gain increas strengthen freedom fair right rights healthi valu advantag need necessari "
    "essenti import justifi better best prevent reduc save enabl empow deserv opportun secur trust progress equal "
    "dignifi creat grow growth positiv love cheap reliabl useful enjoy respect"
)
_LOWERS = (
    "ban abolish oppos end restrict prohibit outlaw reject forbid stop abandon remov eliminat harm bad danger "
    "dangerous threat threaten risk wast wors worst fail failur cost costli expens crime violenc abus exploit "
    "unfair unjust wrong cruel suffer destroy damag hurt kill death loss lose useless unnecessari ineffect "
    "undermin problem addict pollut disast poison corrupt burden discrimin immor oppress illegal punish fear sick "
    "disea povert unequ distract lie mislead myth weak"
)
_NEAR = 3  # words before a leaning word in which a negator turns it round


@dataclass(frozen=True, slots=True)
class FeatureModel:
    """A fitted network: z = (x - mean) / scale; p = softmax(tanh(z W1 + b1) W2 + b2)."""

    mean: Floats
    scale: Floats
    hidden: Floats
    hidden_bias: Floats
    output: Floats
    output_bias: Floats

    def classify(self, features: Floats) -> Floats:
        """Probabilities of support, opposition and neither, (n, 3), for features of shape (n, len(FEATURES))."""
        inner = np.tanh((features - self.mean) / self.scale @ self.hidden + self.hidden_bias)
        logits = inner @ self.output + self.output_bias
        powers = np.exp(logits - logits.max(axis=1, keepdims=True))
        return np.asarray(powers / powers.sum(axis=1, keepdims=True), np.float32)


def features(pairs: Sequence[tuple[str, str]], encoder: "Encoder") -> Floats:
    """Features of (statement, text) pairs, shape (n, len(FEATURES))."""
    from tools.grammar import negate
    from tools.text.sentences import split_sentences

    parts = {text: (split_sentences(text) or [text]) for _, text in pairs}
    denials = {statement: negate(statement) for statement, _ in pairs}
    texts = dict.fromkeys([*denials, *denials.values(), *parts, *(s for found in parts.values() for s in found)])
    vectors = dict(zip(texts, encoder.encode(list(texts)), strict=True))
    rows = [_row(statement, denials[statement], text, parts[text], vectors) for statement, text in pairs]
    return np.asarray(rows, np.float32).reshape(len(pairs), len(FEATURES))


def _row(statement: str, denial: str, text: str, parts: list[str], vectors: dict[str, Floats]) -> list[float]:
    stated, denied = vectors[statement], vectors[denial]
    sentences = np.stack([vectors[s] for s in parts])
    near = sentences @ stated
    margins = near - sentences @ denied
    best = parts[int(np.argmax(near))]
    wanted = _stems(statement)
    recalls = [_recall(wanted, s) for s in parts]
    negators, own = _negators(statement), _negators(best)
    parity = 1.0 if (negators + own) % 2 == 0 else -1.0
    tones = [_tone(text), _tone(best), _tone(statement)]
    leans = [_lean(text), _lean(best), _lean(statement)]
    return [
        float(vectors[text] @ stated), float(near.max()), float(near.mean()),
        float(vectors[text] @ (stated - denied)), float(margins[np.argmax(np.abs(margins))]), float(stated @ denied),
        _recall(wanted, text), max(recalls), float(np.log1p(len(text.split()))),
        float(np.log1p(len(statement.split()))),
        float(negators), float(_negators(text)), parity, parity * max(recalls),
        *tones, tones[1] * tones[2],
        *leans, leans[0] * leans[2], leans[1] * leans[2], tones[1] * leans[2],
    ]  # fmt: skip


@cache
def _stemmer() -> Any:
    from snowballstemmer import stemmer  # type: ignore[import-untyped]  # it ships no types

    return stemmer("english")


@lru_cache(maxsize=4096)
def _stems(text: str) -> frozenset[str]:
    return frozenset(_stemmer().stemWords([w for w in _WORD.findall(text.lower()) if w not in _STOP]))


def _recall(wanted: frozenset[str], text: str) -> float:
    return len(wanted & _stems(text)) / max(len(wanted), 1)


def _negators(text: str) -> int:
    return sum(w in _NEGATORS or w.endswith("n't") for w in _WORD.findall(text.lower()))


@lru_cache(maxsize=4096)
def _tone(text: str) -> float:
    """TextBlob's polarity of the adjectives, -1 to 1."""
    from evals.training.english import textblob_en

    return float(textblob_en().sentiment(text)[0])


@cache
def _leaning() -> dict[str, int]:
    return dict.fromkeys(_LIFTS.split(), 1) | dict.fromkeys(_LOWERS.split(), -1)


@lru_cache(maxsize=4096)
def _lean(text: str) -> float:
    """Leaning words for and against, a negator shortly before turning one round; their balance, -1 to 1."""
    words = _WORD.findall(text.lower())
    leaning = _leaning()
    signs = []
    for i, stem in enumerate(_stemmer().stemWords(words)):
        if sign := leaning.get(stem, 0):
            turned = any(w in _NEGATORS or w.endswith("n't") for w in words[max(i - _NEAR, 0) : i])
            signs.append(-sign if turned else sign)
    return sum(signs) / (len(signs) + 1)
