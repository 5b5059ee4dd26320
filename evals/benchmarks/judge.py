"""The embedded judge: pairs a second, how long it takes to load, and its memory; to be run in a process of its own."""

import itertools
import statistics
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from evals.benchmarks.timing import peak_memory, seconds_of

_ROUNDS = 5
_PASSAGES = 128
_WORDS = 115
_CLOSELY = 32  # sentences, as many as an answer asks about


def measure_judge() -> dict[str, float]:
    """Rates are medians over rounds. A pair of about 160 tokens is a short statement and a text of 115 words."""
    from agent.samples import sample_documents
    from tools.language.sentences import split_sentences
    from tools.models.judges.embedded import load_judge
    from tools.models.judges.judge import Pair

    began = time.perf_counter()
    judge = load_judge()
    loaded = time.perf_counter() - began
    statement = "Cities should plant more trees."
    passages = [d.text for d in sample_documents()]
    sentences = [s for text in passages[:64] for s in split_sentences(text)][:256]
    full = [" ".join([*one.split(), *two.split()][:_WORDS]) for one, two in itertools.pairwise(passages)]
    rates = {}
    for name, texts, count in (
        ("pairs_of_160_tokens", full, _PASSAGES),
        ("passages", passages, _PASSAGES),
        ("sentences", sentences, 2 * _PASSAGES),
    ):
        pairs = [(statement, text) for text in texts[:count]]
        rates[f"{name}_per_second"] = _rates(judge.logits, pairs)
    peak = round(peak_memory())
    closer = partial(judge.score_both, closely=True)
    shown = [Pair(statement, text, "Cities should plant fewer trees.") for text in sentences[:_CLOSELY]]
    figures = {"load_closer_seconds": round(seconds_of(lambda: closer(shown[:1])), 3)}
    figures["sentences_closely_per_second"] = _rates(closer, shown)
    figures["peak_mb_closely"] = round(peak_memory())
    return {**rates, "load_seconds": round(loaded, 3), "peak_mb": peak, **figures}


def _rates(read: Callable[[Sequence[Any]], object], pairs: Sequence[object]) -> float:
    """Pairs a second, the median over rounds."""
    return round(statistics.median(len(pairs) / seconds_of(partial(read, pairs)) for _ in range(_ROUNDS)), 1)
