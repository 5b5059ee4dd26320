"""`judge-pack` of a larger encoder: the files of the judge's closer reading, `tools/weights/close_judge`.

Of the words those are kept that the training texts use most. How the logits of both models become a probability is
fitted on held-out sentences and goes into `tools/weights/judge/calibration.json`.
"""

import json
import random
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from evals.metrics.classification import NONE, OPPOSE, SUPPORT, expected_calibration_error, roc_auc, stance_accuracy
from evals.training.data import Corpus, Example, hard
from evals.training.graph import build_bert, write_int8
from evals.training.packing import Reader, Weights, fit, reaches, reference
from evals.training.text import negated
from tools.inference.int8 import Int8Model, load_model
from tools.inference.judges import close, embedded
from tools.inference.judges.close import FOLDER, MAX_LENGTH, beside, close_files
from tools.inference.judges.embedded import judge_files, read_calibration, sigmoid

VOCABULARY = 15_000
"""Words and parts of words that are kept: the most frequent ones of the training texts."""
_WORDS, _PLACES = "embeddings.word_embeddings.weight", "embeddings.position_embeddings.weight"
_A_SET = 600  # held-out sentences of a data set at most
_WATCHED = 200  # texts on which the reach of the channels is seen
_SETS = ("argkp_topic", "arguana", "arc_stance", "berds", "contrasts", "procon20", "read_sentences", "written")
_STRANGERS = "another question's"
_REFERENCE = (
    (
        "Zoos should be closed. | Zoos should stay open.",
        "Close every zoo: animals suffer behind bars and go mad there.",
    ),
    ("Zoos should be closed. | Zoos should stay open.", "Zoos must stay open, for they have saved many rare species."),
    ("Zoos should be closed. | Zoos should stay open.", "The train leaves from another platform today."),
)


@dataclass(frozen=True, slots=True)
class _Scored:
    """Held-out sentences with what both models say of each side: logits of shape (n, 2), labels as in LABELS."""

    names: NDArray[np.str_]
    groups: list[str]
    labels: NDArray[np.int64]
    small: NDArray[np.float32]
    large: NDArray[np.float32]

    def part(self, chosen: NDArray[np.bool_]) -> "_Scored":
        rows = np.flatnonzero(chosen)
        groups = [self.groups[i] for i in rows]
        return _Scored(self.names[rows], groups, self.labels[rows], self.small[rows], self.large[rows])


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
        reader = Reader(made / "tokenizer.json", MAX_LENGTH, heads)
        watched = [(beside(e.statement, e.contrary), e.text) for _, e in _sentences(corpus)][:_WATCHED]
        write_int8(build_bert({**weights, **reaches(weights, reader, watched)}, heads, "classifier"), made)
        (made / "reference.json").write_text(reference(weights, reader, _REFERENCE), encoding="utf-8")
        model = load_model(close_files(made), lambda _: True, "close-judge")
        small = load_model(judge_files(), lambda _: True, "judge")
        scored = _score(corpus, small, model)
        fitted, figures = calibrate(scored)
        FOLDER.mkdir(parents=True, exist_ok=True)
        for old in FOLDER.glob("model*"):
            old.unlink()
        for file in made.iterdir():
            shutil.move(file, FOLDER / file.name)
            (FOLDER / file.name).chmod(0o644)
        stored = asdict(replace(read_calibration(), close=fitted))
        (embedded.FOLDER / "calibration.json").write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")
    return figures


def packed_figures(corpus: Corpus) -> dict[str, float]:
    """The held-out figures of both models as they stand in the project. Raises ModelError."""
    small = load_model(judge_files(), lambda _: True, "judge")
    return calibrate(_score(corpus, small, close.load_close_model()))[1]


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
    return {**weights, _WORDS: weights[_WORDS][words_kept], _PLACES: weights[_PLACES][:MAX_LENGTH]}


def calibrate(scored: _Scored) -> tuple[tuple[float, ...], dict[str, float]]:
    """The regression of both models' logits for a side, and figures: each half of the questions measured with the
    regression of the other half. Sets count alike."""
    halves = np.array([random.Random(group).random() < 0.5 for group in scored.groups], bool)
    scores = np.zeros((len(scored.labels), 2), np.float32)
    for half in (halves, ~halves):
        scores[half] = _scores(scored.part(half), _fit(scored.part(~half)))
    figures = {
        "close_auc": roc_auc(scored.labels == SUPPORT, scores[:, 0]),
        "close_ece": expected_calibration_error((scored.labels == SUPPORT).astype(int), scores[:, 0]),
    }
    for name, found in (("close", scores), ("small", sigmoid(scored.small)), ("large", sigmoid(scored.large))):
        sides = {one: stance_accuracy(scored.labels[scored.names == one], found[scored.names == one]) for one in _SETS}
        known = {one: value for one, value in sides.items() if not np.isnan(value)}
        figures |= {f"{name}_side_{one}": value for one, value in known.items()}
        figures[f"{name}_side"] = float(np.mean(list(known.values())))
    return _fit(scored), {name: round(value, 4) for name, value in figures.items()}


def _fit(scored: _Scored) -> tuple[float, ...]:
    """How much each model is believed is fitted on which side sided texts take; how far, and the offset, on all."""
    each = np.stack([scored.small, scored.large], axis=2)
    sided = scored.labels < NONE
    weights = np.array(fit(each[sided, 0] - each[sided, 1], scored.labels[sided] == SUPPORT, (1, 1))[:2])
    truth = (scored.labels[:, None] == np.array([SUPPORT, OPPOSE])).reshape(-1)
    scale, offset = fit((each @ weights).reshape(-1, 1), truth, (1,))
    return (*(round(float(w * scale), 5) for w in weights), offset)


def _scores(scored: _Scored, weights: tuple[float, ...]) -> NDArray[np.float32]:
    own, large, offset = weights
    return sigmoid(np.asarray(scored.small * own + scored.large * large + offset, np.float32))


def _sentences(corpus: Corpus) -> Iterator[tuple[str, Example]]:
    """Held-out sentences of each set, with the contrary statement, made where the data give none; each is read in the
    order of the alphabet, as it will be."""
    for name in _SETS:
        known = [e for e in hard(corpus.held_out.get(name, ())) if e.is_sentence and not e.statement.endswith("?")]
        scored = [replace(e, contrary=e.contrary or negated(e.statement)) for e in known]
        first = [e for e in scored if e.statement < e.contrary]
        yield from ((name, e) for e in random.Random(name).sample(first, min(_A_SET, len(first))))


def _with_strangers(rows: Sequence[tuple[str, Example]]) -> list[tuple[str, Example]]:
    """And as many again beside another question's statements, for which they say nothing: most of what is read in a
    search is like that, and the sets have little of it."""
    rng = random.Random(len(rows))
    others = [e for _, e in rng.sample(rows, len(rows))]
    strangers = [replace(e, text=o.text, target=(0, 0, 1)) for (_, e), o in zip(rows, others, strict=True)]
    return [*rows, *((_STRANGERS, e) for e, o in zip(strangers, others, strict=True) if e.group != o.group)]


def _score(corpus: Corpus, small: Int8Model, large: Int8Model) -> _Scored:
    rows = _with_strangers(list(_sentences(corpus)))
    return _Scored(
        names=np.array([name for name, _ in rows]),
        groups=[e.group for _, e in rows],
        labels=np.array([e.label for _, e in rows]),
        small=small.run([(e.statement, e.text) for _, e in rows]).reshape(-1, 2),
        large=large.run([(beside(e.statement, e.contrary), e.text) for _, e in rows]).reshape(-1, 2),
    )
