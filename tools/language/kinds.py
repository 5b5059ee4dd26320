"""Tells the kind of a question: multinomial logistic regression on the encoder's vector and hashed word features.

`python -m evals.training.ship kinds` fits the weights.
"""

import re
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Literal, get_args
from zipfile import BadZipFile
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from tools.errors import ModelError
from tools.language.lexicon import AUXILIARIES, core_of, finite_verb, is_word, tag_of

Kind = Literal["polar", "claim", "topic", "choice", "open", "plain", "none"]
"""'polar' asks for yes or no; 'claim' states something; 'topic' names it, or asks for what speaks for and against it;
'choice' names its alternatives; 'open' has answers that people weigh, 'plain' one to look up; 'none' asks nothing."""
KINDS: tuple[Kind, ...] = get_args(Kind)
FITTED = Path(__file__).parents[1] / "weights" / "kinds.npz"
"""`weights`: (kinds, dimensions of the encoder + buckets); `offsets`: (kinds,)."""
_BUCKETS = 2048  # feature hashing (Weinberger et al. 2009): no vocabulary has to be stored

SENTENCE_END = re.compile(r"(?<=[.!?])(?<!\bvs\.)[\"'”’)]*\s+(?=\S)", re.I)
OR = re.compile(r",? (?:or|vs?\.?|versus)(?: (?:rather|just))? |(?<=[^\W\d_]{2}) ?/ ?(?=[^\W\d_])", re.I)
"""What stands between the alternatives of a choice."""
_TOKEN = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?|\d+|[^\w\s]")
_WH = frozenset("what what's whats which who who's whos whom whose why how how's hows when where wat wot wich".split())
_TYPED = frozenset("ai ain ca wo r wud cud shud shld shuld shoud".split())  # of "can't" and "won't", and in haste


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


def _opening(word: str) -> str:
    return "wh" if word in _WH else "aux" if inverts(word) else ""


def _features(text: str) -> set[str]:
    tokens = _TOKEN.findall(text.replace("’", "'"))
    words = [t for t in tokens if t[0].isalpha()]
    low = ["#" if t.isdigit() else t.lower() for t in tokens]
    tags = ["^", *(tag_of(t) if t[0].isalpha() else t for t in tokens), "$"]
    sentences = [s for part in SENTENCE_END.split(text) if (s := _TOKEN.findall(part.lower().replace("’", "'")))]
    asked = next((s for s in reversed(sentences) if s[-1] == "?"), None) or [*sentences, [""]][0]
    lead, size = _opening(asked[0]), len(words)
    inner = sorted({_opening(w) for w in low[1:]})
    mark = next((m for m in "?!." if text.rstrip("'\"”’) ").endswith(m)), "")
    finite, several = finite_verb(words) is not None, OR.search(text) is not None
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
