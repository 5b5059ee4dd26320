"""Whoever can be measured on pairs: the agent's judges, the cosine, and two that look at nothing."""

import argparse
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from agent.settings import Settings, load_settings
from evals.training.trained import is_trained, read_trained
from tools.errors import SettingsError
from tools.inference.encoders.encoder import Encoder, load_encoder
from tools.inference.int8 import Int8Model
from tools.inference.judges.close import as_read, close_logits, load_close_model
from tools.inference.judges.embedded import sigmoid
from tools.inference.judges.judge import CloseJudge, Judge, Pair, StanceJudge, strongest, windowed

CHOICES = ("settings", "embedded", "close", "larger", "chat", "score", "cosine", "random", "no")
JUDGES = f"who judges: {', '.join(CHOICES)}, or the folder of a run of judge-train (default: what is turned on)"
Floats = NDArray[np.float32]


class PairJudge(Protocol):
    """Scores pairs. `threshold` None: it has none of its own. `probabilities`: whether the scores mean such.

    `together`: pairs that are worth asking in one go. `knows`: it takes account of its input, so its speed is reported.
    """

    name: str
    threshold: float | None
    probabilities: bool
    together: int
    knows: bool

    def score(self, pairs: Sequence[Pair]) -> Floats:
        """Shape (n,); NaN for a pair without an answer. Raises ProviderError, ModelError."""
        ...


@dataclass
class Judged:
    """A judge of the agent, without the agent's memory of scores."""

    judge: Judge
    together: int
    probabilities: bool = True
    knows: bool = True

    def __post_init__(self) -> None:
        self.name = self.judge.name
        self.threshold: float | None = self.judge.threshold

    def score(self, pairs: Sequence[Pair]) -> Floats:
        return self.judge.score(pairs)

    def stances(self, pairs: Sequence[Pair]) -> Floats:
        """As the agent asks it: both sides at once where the judge tells them, else one after the other."""
        if isinstance(self.judge, StanceJudge):
            return self.judge.stances(pairs)
        return _both_ways(self.judge.score, pairs)


@dataclass
class Closely(Judged):
    """The embedded judge's closer reading, for every pair, with the threshold of an even chance."""

    def __post_init__(self) -> None:
        self.name = f"{self.judge.name}-closely"
        self.threshold = 0.5

    def stances(self, pairs: Sequence[Pair]) -> Floats:
        assert isinstance(self.judge, CloseJudge)
        return self.judge.closely(pairs)

    def score(self, pairs: Sequence[Pair]) -> Floats:
        return np.ascontiguousarray(self.stances(pairs)[:, 0])


@dataclass
class Larger:
    """The larger of the embedded judge's two models by itself, uncalibrated: the closer reading weighs it with the
    smaller one."""

    model: Int8Model
    threshold: float | None = 0.5
    probabilities: bool = True
    together: int = 64
    knows: bool = True
    name: str = "larger-model"

    def score(self, pairs: Sequence[Pair]) -> Floats:
        return np.ascontiguousarray(self.stances(pairs)[:, 0])

    def stances(self, pairs: Sequence[Pair]) -> Floats:
        """Both sides by one reading."""
        parts, places = windowed(pairs)
        first = [as_read(p) for p in parts]
        scores = sigmoid(close_logits(self.model, first))
        turned = np.array([p.statement != q.statement for p, q in zip(parts, first, strict=True)], bool)
        scores = np.where(turned[:, None], scores[:, ::-1], scores)
        return np.stack([strongest(scores[:, i], places, len(pairs)) for i in (0, 1)], axis=1)


@dataclass
class Cosine:
    """Likeness of statement and passage under the encoder."""

    encoder: Encoder
    threshold: float | None = None
    probabilities: bool = False
    together: int = 64
    knows: bool = True

    def __post_init__(self) -> None:
        self.name = f"cosine-{self.encoder.name}"

    def score(self, pairs: Sequence[Pair]) -> Floats:
        texts = list(dict.fromkeys(text for p in pairs for text in (p.statement, p.text)))
        place = {text: i for i, text in enumerate(texts)}
        vectors = self.encoder.encode(texts)
        first, second = ([place[getattr(p, part)] for p in pairs] for part in ("statement", "text"))
        return np.asarray(np.sum(vectors[first] * vectors[second], axis=1), np.float32)


@dataclass
class Random:
    """Says Yes at a given rate; seeded, and the same for a pair wherever it stands."""

    rate: float
    seed: int
    probabilities: bool = False
    together: int = 1024
    knows: bool = False

    def __post_init__(self) -> None:
        self.name = f"random-by-rate-{self.seed}"
        self.threshold: float | None = 1 - self.rate

    def score(self, pairs: Sequence[Pair]) -> Floats:
        drawn = [random.Random(f"{self.seed}|{p.statement}|{p.text}").random() for p in pairs]
        return np.asarray(drawn, np.float32)


@dataclass
class AlwaysNo:
    name: str = "all-no"
    threshold: float | None = 0.5
    probabilities: bool = False
    together: int = 1024
    knows: bool = False

    def score(self, pairs: Sequence[Pair]) -> Floats:
        return np.zeros(len(pairs), np.float32)


def stances_of(judge: PairJudge, pairs: Sequence[Pair]) -> Floats:
    """Scores of the statement and of its contrary, shape (n, 2). Raises ProviderError, ModelError."""
    return judge.stances(pairs) if isinstance(judge, Judged | Larger) else _both_ways(judge.score, pairs)


def _both_ways(score: Callable[[Sequence[Pair]], Floats], pairs: Sequence[Pair]) -> Floats:
    both = score([*pairs, *(Pair(p.contrary, p.text, p.statement) for p in pairs)])
    return np.ascontiguousarray(both.reshape(2, len(pairs)).T)


def judge_named(given: str) -> str:
    """For a command line: one of CHOICES, or the folder of a run of `judge-train` or `judge-mean`."""
    if given in CHOICES or is_trained(Path(given)):
        return given
    raise argparse.ArgumentTypeError(f"'{given}' is none of {', '.join(CHOICES)}, and no folder of judge-train")


def open_judge(choice: str, rate: float, seed: int) -> PairJudge:
    """The judge of that name, or in that folder; rate: the share of positives, for the random one. Raises
    SettingsError, ModelError, InputError."""
    if choice not in CHOICES:
        return _trained_judge(Path(choice))
    if choice == "random":
        return Random(rate, seed)
    if choice == "no":
        return AlwaysNo()
    own = choice in ("settings", "embedded", "close", "larger", "cosine")
    settings = load_settings() if own else load_settings(judge=choice)
    if choice == "larger":
        return Larger(load_close_model())
    if choice == "cosine":
        return Cosine(load_encoder())
    return _agents_judge(choice, settings)


def _trained_judge(folder: Path) -> PairJudge:
    """A run's model in float32. The larger one speaks by itself; to the smaller one's logits goes the calibration of
    the judge in use."""
    trained = read_trained(folder)
    name = f"{folder.resolve().name}-{trained.fingerprint()}"
    if trained.closer:
        return Larger(trained.model(), name=name)
    from tools.inference.judges.embedded import EmbeddedJudge, read_calibration

    return Judged(EmbeddedJudge(trained.model(), name, read_calibration()), together=64)


def _agents_judge(choice: str, settings: Settings) -> PairJudge:
    from agent.providers.judging import build_judge, build_own_judge
    from tools.inference.judges.embedded import load_judge

    if choice == "close":
        return Closely(load_judge(), together=64)
    remote = None if choice == "embedded" else build_judge(settings)
    if remote is not None:
        return Judged(remote, together=256)  # it asks for many at once itself; a killed run loses no more than these
    if choice in ("chat", "score"):
        raise SettingsError(
            f"no {choice} judge is turned on: STEELMAN_PROVIDER is 'embedded'. Set it to 'auto' or 'chat'."
        )
    own = load_judge() if choice == "embedded" else build_own_judge(settings)
    return Judged(own, together=64)
