"""Are passages that say the same in other words found, and different arguments left apart?

The gold are short arguments, two a view, and of each three rewritings with other words; it is divided by views, and
'last' was written before anything was fitted. copies-sentences.jsonl, by another hand, has arguments of one sentence:
twelve wordings of one, and eight others for the same side. With --data the pairs of arguments that people found to make
one key point (ArgKP: DIR/judge/train/argkp21.jsonl.gz) are looked at too: they differ, but for what the crowd wrote
twice.

found            pairs of one argument's wordings that are taken for the same
taken wrongly    pairs of two arguments for one view that are
key points       pairs of arguments for one key point that are
Intervals: 95 %, from 1,000 seeded resamples of whole views or key points.
"""

import argparse
import gzip
import json
import random
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path

import numpy as np

from evals.datasets.rows import json_rows
from evals.metrics.ratio import Ratio
from evals.suite import (
    GOLD,
    HALVES,
    common_options,
    interval_table,
    open_encoder,
    show,
    show_docstring,
    with_intervals,
)
from tools.errors import InputError
from tools.language.copies import copy_groups
from tools.language.reasons import reason_of
from tools.language.rewordings import Vectors, margin
from tools.language.sentences import split_sentences

COPIES = GOLD / "copies.jsonl"
_KEY_POINTS = Path("judge/train/argkp21.jsonl.gz")
_A_POINT = 40  # pairs of a key point at most

Labelled = tuple[str, str, str, str]
"""The measure that a pair is for, its view or key point, and the two texts."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The suite's options."""
    show_docstring(parser, __doc__)
    add = parser.add_argument
    add("--data", type=Path, metavar="DIR", help="folder with the arguments for key points")
    add("--texts", type=Path, default=COPIES, metavar="FILE", help="the rewritings as jsonl")
    add("--half", choices=HALVES, default="dev", help="which half of the rewritings (default: dev)")
    common_options(parser, limit="only N key points of a seeded shuffle", seed="of the sample and the intervals")


def run(args: argparse.Namespace) -> int:
    """Encodes the texts and prints. Raises InputError."""
    pairs = [*rewritten(args.texts, args.half), *(key_points(args.data, args.limit, args.seed) if args.data else ())]
    texts = sorted({text for pair in pairs for text in pair[2:]})
    vectors, why = _sentence_vectors(texts), _reason_vectors(texts)
    rows = [
        (name, group, float(margin(vectors[one], vectors[other], (why.get(one), why.get(other))) >= 0))
        for name, group, one, other in pairs
    ]
    names = dict.fromkeys(name for name, _, _ in rows)
    measures = {n: Ratio.of((group, taken, 1.0) for name, group, taken in rows if name == n) for n in names}
    config = {"half": args.half, "texts": args.texts.name, "data": str(args.data or ""), "limit": args.limit}
    result = {"suite": "copies", "metrics": with_intervals(measures, args.seed), "config": config}
    show(args.json, result, lambda: interval_table(measures, args.seed, 15))
    return 0


def rewritten(path: Path, half: str) -> Iterator[Labelled]:
    """Pairs of wordings of one argument, and of two arguments for one view."""
    views: dict[str, list[tuple[str, str]]] = {}
    for row in json_rows(path):
        if row.text("half") == half:
            views.setdefault(row.text("topic"), []).append((row.text("argument"), row.text("text")))
    for view, texts in views.items():
        for (one, text), (other, second) in combinations(texts, 2):
            yield "found" if one == other else "taken wrongly", view, text, second


def key_points(folder: Path, limit: int | None, seed: int) -> Iterator[Labelled]:
    """Pairs of arguments for one key point that are no copies word for word, a limited number a point. Raises
    InputError where there are none."""
    try:
        with gzip.open(folder / _KEY_POINTS, "rt", encoding="utf-8") as lines:
            rows = [json.loads(line) for line in lines]
    except OSError as exc:
        raise InputError(
            f"{folder / _KEY_POINTS} cannot be read ({exc.strerror or exc}). Give another --data."
        ) from exc
    points: dict[str, set[str]] = {}
    for row in rows:
        if row["label"] == "support":
            points.setdefault(f"{row['group']}: {row['statement']}", set()).add(row["passage"])
    chance = random.Random(seed)
    chosen = sorted(points)
    chance.shuffle(chosen)
    for point in chosen[:limit]:
        pairs = list(combinations(sorted(points[point]), 2))
        for one, other in chance.sample(pairs, min(_A_POINT, len(pairs))):
            if copy_groups([one, other]) == [0, 1]:
                yield "key points", point, one, other


def _sentence_vectors(texts: Sequence[str]) -> dict[str, Vectors]:
    """Each text's vectors of its sentences."""
    sentences = [split_sentences(text) for text in texts]
    vectors = open_encoder().encode([s for mine in sentences for s in mine])
    ends = np.cumsum([len(mine) for mine in sentences])
    return {text: vectors[end - len(mine) : end] for text, mine, end in zip(texts, sentences, ends, strict=True)}


def _reason_vectors(texts: Sequence[str]) -> dict[str, Vectors]:
    """The vector of the reason of each text that is one sentence and gives one."""
    why = {text: reason for text in texts if len(split_sentences(text)) == 1 and (reason := reason_of(text))}
    return dict(zip(why, open_encoder().encode(list(why.values())), strict=True)) if why else {}
