"""`judge-pack` of a larger encoder: the files of the judge's closer reading, `tools/weights/close_judge`.

Of the words those are kept that the training texts use most. How the logits of both models become a probability is
fitted on held-out sentences and goes into `tools/weights/judge/calibration.json`.
"""

import json
import random
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from evals.metrics.classification import SUPPORT, expected_calibration_error, roc_auc, stance_accuracy
from evals.training.data import Corpus, Example, hard
from evals.training.graph import build_bert, write_int8
from evals.training.packing import (
    Reader,
    Weights,
    believed,
    crossed,
    put_in_place,
    reaches,
    reference,
    store,
    with_strangers,
)
from evals.training.text import negated
from tools.inference.int8 import Int8Model, load_model
from tools.inference.judges.embedded import (
    CLOSE_FOLDER,
    CLOSE_LENGTH,
    beside,
    close_files,
    judge_files,
    load_close_model,
    sigmoid,
)

VOCABULARY = 15_000
"""Words and parts of words that are kept: the most frequent ones of the training texts."""
_WORDS, _PLACES = "embeddings.word_embeddings.weight", "embeddings.position_embeddings.weight"
_A_SET = 600  # held-out sentences of a data set at most
_WATCHED = 200  # texts on which the reach of the channels is seen
_SETS = ("argkp_topic", "arguana", "arc_stance", "berds", "contrasts", "procon20", "read_sentences", "written")
_REFERENCE = (
    (
        "Zoos should be closed. | Zoos should stay open.",
        "Close every zoo: animals suffer behind bars and go mad there.",
    ),
    ("Zoos should be closed. | Zoos should stay open.", "Zoos must stay open, for they have saved many rare species."),
    ("Zoos should be closed. | Zoos should stay open.", "The train leaves from another platform today."),
)


def pack_close(weights: Weights, tokenizer: Path, corpus: Corpus) -> dict[str, float]:
    """Writes the files and the calibration, and gives the held-out figures; both arguments are what judge-train wrote.

    Raises InputError for weights of another shape. The project's files change only when everything is there.
    """
    heads = weights["relative.weight"].shape[1]
    with tempfile.TemporaryDirectory() as scratch:
        made = Path(scratch) / "close_judge"
        made.mkdir()
        texts = [t for examples in corpus.training.values() for e in examples for t in (e.statement, e.text)]
        weights = trimmed(weights, tokenizer, texts, made)
        reader = Reader(made / "tokenizer.json", CLOSE_LENGTH, heads)
        watched = [(beside(e.statement, e.contrary), e.text) for e in _sentences(corpus)][:_WATCHED]
        write_int8(build_bert({**weights, **reaches(weights, reader, watched)}, heads, "classifier"), made)
        (made / "reference.json").write_text(reference(weights, reader, _REFERENCE), encoding="utf-8")
        model = load_model(close_files(made), lambda _: True, "close-judge")
        small = load_model(judge_files(), lambda _: True, "judge")
        fitted, figures = calibrate(corpus, small, model)
        put_in_place(made, CLOSE_FOLDER)
        store(close=fitted)
    return figures


def packed_figures(corpus: Corpus) -> dict[str, float]:
    """The held-out figures of both models as they stand in the project. Raises ModelError."""
    small = load_model(judge_files(), lambda _: True, "judge")
    return calibrate(corpus, small, load_close_model())[1]


def trimmed(weights: Weights, tokenizer: Path, texts: Iterable[str], made: Path) -> dict[str, NDArray[np.float32]]:
    """The weights with the embeddings of the most frequent words alone, and of the places that are read; the tokenizer
    of these words is written to `made`."""
    from tokenizers import Tokenizer

    whole = Tokenizer.from_file(str(tokenizer))
    whole.no_truncation()
    counts = Counter(i for e in whole.encode_batch_fast(sorted(set(texts)), add_special_tokens=False) for i in e.ids)
    stored = json.loads(tokenizer.read_text(encoding="utf-8"))
    words: dict[str, int] = stored["model"]["vocab"]
    named = {t["content"] for t in stored["added_tokens"]}
    needed = [i for word, i in words.items() if word in named or len(word.removeprefix("##")) == 1]
    frequent = [i for i, _ in counts.most_common() if i not in set(needed)]
    words_kept = sorted([*needed, *frequent[: VOCABULARY - len(needed)]])
    place = {old: new for new, old in enumerate(words_kept)}
    stored["model"]["vocab"] = {word: place[i] for word, i in words.items() if i in place}
    for token in stored["added_tokens"]:
        token["id"] = place[token["id"]]
    ends = stored["post_processor"]
    for end in {"sep", "cls"} & ends.keys():
        ends[end][1] = place[ends[end][1]]
    for token in ends.get("special_tokens", {}).values():  # where they are part of a template
        token["ids"] = [place[i] for i in token["ids"]]
    stored["padding"] = stored["truncation"] = None
    (made / "tokenizer.json").write_text(json.dumps(stored, ensure_ascii=False) + "\n", encoding="utf-8")
    return {**weights, _WORDS: weights[_WORDS][words_kept], _PLACES: weights[_PLACES][:CLOSE_LENGTH]}


def calibrate(corpus: Corpus, small: Int8Model, large: Int8Model) -> tuple[tuple[float, ...], dict[str, float]]:
    """The regression of both models' logits for a side on held-out sentences, and figures: each half of the questions
    measured with the regression of the other half. Sets count alike."""
    rows = with_strangers(list(_sentences(corpus)))
    names, labels = np.array([e.dataset for e in rows]), np.array([e.label for e in rows])
    own = small.run([(e.statement, e.text) for e in rows]).reshape(-1, 2)
    beside_ = large.run([(beside(e.statement, e.contrary), e.text) for e in rows]).reshape(-1, 2)
    both = np.stack([own, beside_], axis=2)
    scores = crossed(both, labels, [e.group for e in rows])
    figures = {
        "close_auc": roc_auc(labels == SUPPORT, scores[:, 0]),
        "close_ece": expected_calibration_error((labels == SUPPORT).astype(int), scores[:, 0]),
    }
    for name, found in (("close", scores), ("small", sigmoid(own)), ("large", sigmoid(beside_))):
        sides = {one: stance_accuracy(labels[names == one], found[names == one]) for one in _SETS}
        known = {one: value for one, value in sides.items() if not np.isnan(value)}
        figures |= {f"{name}_side_{one}": value for one, value in known.items()}
        figures[f"{name}_side"] = float(np.mean(list(known.values())))
    return believed(both, labels), {name: round(value, 4) for name, value in figures.items()}


def _sentences(corpus: Corpus) -> Iterator[Example]:
    """Held-out sentences of each set, with the contrary statement, made where the data give none; each is read in the
    order of the alphabet, as it will be."""
    for name in _SETS:
        known = [e for e in hard(corpus.held_out.get(name, ())) if e.is_sentence and not e.statement.endswith("?")]
        scored = [replace(e, contrary=e.contrary or negated(e.statement)) for e in known]
        first = [e for e in scored if e.statement < e.contrary]
        yield from random.Random(name).sample(first, min(_A_SET, len(first)))
