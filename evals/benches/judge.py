"""The embedded judge in a process of its own: pairs a second, how long it takes to load, and its memory.

`python -m evals.benches.judge CACHE`; a first call builds the model into CACHE, and only a second one shows what its
use takes.
"""

import itertools
import json
import resource
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tools.judges.embedded import EmbeddedJudge

_ROUNDS = 5
_PASSAGES = 128
_WORDS = 115


def measure(cache: Path) -> dict[str, float]:
    """Rates are medians over rounds. A pair of about 160 tokens is a short statement and a text of 115 words."""
    from agent.samples import sample_documents
    from tools.judges.embedded import load_judge
    from tools.text.sentences import split_sentences

    began = time.perf_counter()
    judge = load_judge(cache)
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
        rates[f"{name}_per_second"] = round(statistics.median(_rate(judge, pairs) for _ in range(_ROUNDS)), 1)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {**rates, "load_seconds": round(loaded, 3), "peak_mb": round(peak)}


def _rate(judge: "EmbeddedJudge", pairs: Sequence[tuple[str, str]]) -> float:
    began = time.perf_counter()
    judge.logits(pairs)
    return len(pairs) / (time.perf_counter() - began)


if __name__ == "__main__":
    print(json.dumps(measure(Path(sys.argv[1]))))
