"""The judge's training data share nothing with evaluation data or with held-out data."""

import gzip
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from evals.datasets.overlap import Evaluated, read_evaluated
from evals.training.data import Example, load_corpus
from evals.training.text import key, shingles

PASSAGE = (
    "A ferry that runs every hour through the night keeps the nurses and bakers of an island at home on it, "
    "where a bridge would let the mainland buy their houses within a summer or two."
)
OTHER = (
    "Those who have sat an hour in the fog waiting for a cancelled boat, with a child to be fetched at the other "
    "end, do not need a survey to know what the bridge is for."
)
APART = "Paint on a hull has to be scraped off and put on again each spring before the first guests come aboard."
THIRD = "A toll of four coins a crossing pays for the lamps, the keeper and the salt, and leaves a little for the quay."


def overlaps(training: Mapping[str, Sequence[Example]], evaluated: Iterable[Evaluated]) -> Iterator[str]:
    """A line for each file and data set that share questions, statements or runs of words."""
    for one in evaluated:
        questions, passages = {key(text) for text in one.asked}, runs(one.passages)
        for name, taught in training.items():
            asked = {key(t) for e in taught for t in (e.group, e.statement, *dict(e.wordings))} & questions
            texts = runs(text for e in taught for text in (e.text, e.placed))
            copied = {passages[run] for run in passages.keys() & texts.keys()}
            for what, shared in (("questions or statements", asked), ("passages", copied)):
                if shared:
                    yield f"{one.name} and {name} share {len(shared)} {what}, such as {min(shared)[:80]!r}."


def runs(texts: Iterable[str]) -> dict[int, str]:
    return {run: text for text in set(texts) for run in shingles(text)}


def example(text: str, group: str = "Boats", statement: str = "Boats last.") -> Example:
    return Example(statement, text, (1, 0, 0), "made", group)


def made_up(folder: Path) -> Path:
    """Data whose first four training rows share something with evaluation data."""
    for part in ("judge/train", "retrieval"):
        (folder / part).mkdir(parents=True)
    pair = {"question": "Is a bridge needed?", "document": PASSAGE, "perspective": "A bridge is needed.", "label": 0}
    (folder / "judge/berds_pairs.dev.jsonl").write_text(json.dumps(pair) + "\n")
    (folder / "retrieval/isle.corpus.jsonl").write_text(
        "".join(json.dumps({"id": i, "text": text}) + "\n" for i, text in (("a", OTHER), ("b", THIRD)))
    )
    query = {
        "qid": "1",
        "question": "Should the boats stop?",
        "perspectives": [{"statement": "The boats should stop.", "gold": ["a"]}],
    }
    (folder / "retrieval/isle_1way.queries.jsonl").write_text(json.dumps(query) + "\n")
    rows = [(PASSAGE, "x"), (OTHER, "x"), (APART, "Should the boats stop?"), (f"{APART} No.", "The boats should stop.")]
    rows += [(" ".join(f"{word}{year}" for word in APART.split()), f"Tolls of {year}") for year in range(1900, 1930)]
    with gzip.open(folder / "judge/train/made.jsonl.gz", "wt") as out:
        for passage, group in rows:
            row = {"passage": passage, "group": group, "statement": f"{group} is right.", "label": "support"}
            out.write(json.dumps(row) + "\n")
    return folder


def test_the_loader_leaves_out_evaluation_data(tmp_path: Path) -> None:
    data = made_up(tmp_path)
    unsplit = [example(PASSAGE), example(OTHER), example(APART, "Should the boats stop?")]
    found = list(overlaps({"made": unsplit}, read_evaluated(data)))
    assert [line.split(", such")[0] for line in found] == [
        "berds_pairs.dev and made share 1 passages",
        "isle_1way and made share 1 questions or statements",
        "isle_1way and made share 1 passages",
    ]
    corpus = load_corpus(data)
    assert list(overlaps(corpus.training, read_evaluated(data))) == []
    kept = {e.text for e in corpus.training["made"]}
    assert not kept & {PASSAGE, OTHER, APART, f"{APART} No."}
    assert 15 < len(kept) <= 30  # the others, less those held out


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_no_judge_is_trained_on_evaluation_data_or_held_out_data() -> None:
    folder = Path(os.environ.get("STEELMAN_EVAL_DATA") or Path(__file__).parents[2] / "shared" / "data")
    if not folder.is_dir():
        pytest.skip("needs ../shared/data, or STEELMAN_EVAL_DATA")
    evaluated, corpus = list(read_evaluated(folder)), load_corpus(folder)
    assert all(one.asked and one.passages for one in evaluated)
    held = [e for examples in corpus.held_out.values() for e in examples]
    questions, texts = frozenset(e.group for e in held), frozenset(e.text for e in held)
    assert sum(map(len, corpus.training.values())) > 1000
    assert list(overlaps(corpus.training, [*evaluated, Evaluated("held out", questions, texts)])) == []
