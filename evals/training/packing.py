"""What packing a judge's weights takes, whichever model it is: reaches, reference, and the regression of its logits;
and `judge-pack` of the closer reading's model, `tools/weights/close_judge`. How the logits of both models become a
probability is fitted on held-out texts and goes into `tools/weights/judge/calibration.json`.
"""

import json
import random
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evals.metrics.classification import NONE, OPPOSE, SUPPORT, expected_calibration_error, stance_accuracy
from evals.training.data import Corpus
from evals.training.examples import Example, hard
from evals.training.graph import HEADS, REACH, Weights, build_bert, load_weights, unpacked, write_int8
from evals.training.text import negated
from tools.errors import InputError
from tools.models.int8 import Int8Model, load_model
from tools.models.judges import embedded
from tools.models.judges.judge import Pair, in_context

WEIGHTS, TOKENIZER = "model.safetensors", "tokenizer.json"
"""What `judge-train` leaves in `RUN/weights`: half-precision weights and their tokenizer."""
Texts = Sequence[tuple[str, str]]
"""What the model reads: statement and text."""


@dataclass(frozen=True, slots=True)
class Reader:
    """What a model has beside its weights: its tokenizer, how many tokens it reads, and its heads of attention."""

    tokenizer: Path
    max_length: int
    heads: int = HEADS


def read_trained(folders: Sequence[Path]) -> tuple[dict[str, NDArray[np.float32]], Path]:
    """The mean of the weights that `judge-train` left in these folders, or in their `weights`, and their tokenizer. A
    folder of the closer reading as it ships counts too. Raises InputError."""
    from safetensors import SafetensorError

    found = []
    for folder in folders:
        where = folder / "weights" if (folder / "weights" / WEIGHTS).is_file() else folder
        packed = where / "model.onnx"
        try:
            found.append(unpacked(packed) if packed.is_file() else load_weights(where / WEIGHTS))
        except (OSError, SafetensorError) as exc:
            raise InputError(f"{folder} holds no weights of judge-train ({exc}).") from exc
    mean = {name: np.asarray(sum(one[name] for one in found) / len(found), np.float32) for name in found[-1]}
    return mean, where / TOKENIZER


def fit(logits: NDArray[np.float32], truth: NDArray[np.bool_], signs: tuple[int, ...]) -> tuple[float, ...]:
    """The weights of a logistic regression and its offset, each weight of its sign (1, -1) or 0.

    Left free, the weight of 'opposes' comes out positive, for what opposes is at least on the topic; a passage that
    argues for the other side would then count for this one.
    """
    from scipy.optimize import minimize

    x = np.hstack([logits.astype(float), np.ones((len(logits), 1))])
    side = np.where(truth, 1.0, -1.0)

    def loss(weights: NDArray[np.float64]) -> float:
        return float(np.logaddexp(0, -side * (x @ weights)).sum() + 0.5 * weights[:-1] @ weights[:-1])

    def slope(weights: NDArray[np.float64]) -> NDArray[np.float64]:
        missed = -side / (1 + np.exp(side * (x @ weights)))
        return np.asarray(x.T @ missed + np.append(weights[:-1], 0.0))

    bounds = [(0, None) if sign > 0 else (None, 0) for sign in signs] + [(None, None)]
    found = minimize(loss, np.zeros(x.shape[1]), jac=slope, bounds=bounds, method="L-BFGS-B")
    return tuple(round(float(w), 5) for w in found.x)


def believed(logits: NDArray[np.float32], labels: NDArray[np.int64]) -> tuple[float, ...]:
    """A weight a model and an offset: how much each model is believed is fitted on which side sided texts take; how
    far, and the offset, on all. logits: of both sides, shape (n, 2, models)."""
    sided = labels < NONE
    signs = (1,) * logits.shape[2]
    weights = np.array(fit(logits[sided, 0] - logits[sided, 1], labels[sided] == SUPPORT, signs)[:-1])
    truth = (labels[:, None] == np.array([SUPPORT, OPPOSE])).reshape(-1)
    scale, offset = fit((logits @ weights).reshape(-1, 1), truth, (1,))
    return (*(round(float(w * scale), 5) for w in weights), offset)


def crossed(logits: NDArray[np.float32], labels: NDArray[np.int64], groups: Sequence[str]) -> NDArray[np.float32]:
    """Probabilities of both sides, (n, 2): each half of the questions by the weights of the other half."""
    halves = np.array([random.Random(group).random() < 0.5 for group in groups], bool)
    scores = np.zeros((len(labels), 2), np.float32)
    for half in (halves, ~halves):
        weights = np.array(believed(logits[~half], labels[~half]))
        scores[half] = embedded.sigmoid(np.asarray(logits[half] @ weights[:-1] + weights[-1], np.float32))
    return scores


def with_strangers(rows: Sequence[Example]) -> list[Example]:
    """And as many again with another question's text, which says nothing there: most of what is read in a search is
    like that, and the sets have little of it."""
    others = random.Random(len(rows)).sample(list(rows), len(rows))
    pairs = zip(rows, others, strict=True)
    apart = [replace(e, text=o.text, placed=o.placed) for e, o in pairs if e.group != o.group]
    return [*rows, *(replace(e, target=(0, 0, 1), dataset="another question's") for e in apart)]


def drawn(name: str, examples: Sequence[Example], most: int) -> list[Example]:
    """At most so many of a data set's examples, always the same."""
    return random.Random(name).sample(examples, min(most, len(examples)))


def rounded(figures: dict[str, float]) -> dict[str, float]:
    return {name: round(value, 4) for name, value in figures.items()}


def store(**fitted: tuple[float, ...]) -> None:
    """Writes these regressions into the calibration of the judge."""
    stored = asdict(embedded.read_calibration()) | fitted
    (embedded.FOLDER / "calibration.json").write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")


def put_in_place(made: Path, folder: Path) -> None:
    """Moves the files of a model to where it ships, in the place of the former ones."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("model*"):
        old.unlink()
    for file in made.iterdir():
        shutil.move(file, folder / file.name)
        (folder / file.name).chmod(0o644)


def reaches(weights: Weights, reader: Reader, texts: Texts) -> dict[str, NDArray[np.float32]]:
    """How far each channel reaches at the inputs of feed-forward layers, as `NAME.reach`, where one is beyond REACH."""
    layers = sum(name.endswith("intermediate.dense.weight") for name in weights)
    layer_inputs = [f"encoder.layer.{n}.{part}.dense" for n in range(layers) for part in ("intermediate", "output")]
    session, tokenizer = as_float(weights, reader, layer_inputs)
    found: dict[str, NDArray[np.float32]] = {}
    for statement, text in texts:
        one = tokenizer.encode(statement, text)
        fed = {"ids": [one.ids], "mask": [one.attention_mask], "types": [one.type_ids]}
        for name, x in zip(layer_inputs, session.run([f"{t}.input" for t in layer_inputs], fed), strict=True):
            found[name] = np.maximum(found.get(name, 0), np.abs(x).max(axis=(0, 1)))
    return {f"{name}.reach": reach for name, reach in found.items() if reach.max() > REACH}


def as_float(weights: Weights, reader: Reader, shown_inputs: Sequence[str] = ()) -> tuple[Any, Any]:
    """The model in float32 as a session of ONNX Runtime, and its tokenizer."""
    import onnxruntime
    from tokenizers import Tokenizer

    graph = build_bert(weights, reader.heads, "classifier", shown_inputs)
    session = onnxruntime.InferenceSession(graph.SerializeToString())
    tokenizer = Tokenizer.from_file(str(reader.tokenizer))
    tokenizer.enable_truncation(reader.max_length, strategy="longest_first")
    tokenizer.no_padding()
    return session, tokenizer


def reference(weights: Weights, reader: Reader, texts: Texts) -> str:
    """Probabilities of the float model as JSON, with which every load compares the int8 one."""
    session, tokenizer = as_float(weights, reader)
    rows = embedded.sigmoid(Int8Model(session, tokenizer, reader.max_length).run(list(texts)))
    stored = [
        {"statement": s, "text": t, "probabilities": [round(float(p), 4) for p in row]}
        for (s, t), row in zip(texts, rows, strict=True)
    ]
    return json.dumps(stored, indent=1) + "\n"


# The closer reading's model

A_SET = 600  # held-out examples of a data set at most
_WATCHED = 200  # texts on which the reach of the channels is seen
_SETS = "argkp_topic arguana arc_stance berds contrasts disputes procon20 read_sentences written".split()
_ASKED_SETS = ("berds", "contrasts", "disputes", "procon20")
_ANSWER_WORDS = 100  # of a text that is read under a question
_ZOOS = "Zoos should be closed. | Zoos should stay open."
_SAVED = "Zoos must stay open, for they have saved many rare species."
_REFERENCE = (
    (_ZOOS, "Close every zoo: animals suffer behind bars and go mad there."),
    (_ZOOS, _SAVED),
    (_ZOOS, "The train leaves from another platform today."),
    (
        "Should zoos be closed?",
        in_context("A keeper writes", "They say we do harm.", _SAVED, "I fed the last of them."),
    ),
)


def pack_close(weights: Weights, tokenizer: Path, corpus: Corpus) -> dict[str, float]:
    """Writes the files and the calibration, and gives the held-out figures; both arguments are what judge-train wrote.

    Raises InputError for weights of another shape. The project's files change only when everything is there.
    """
    heads = weights["relative.weight"].shape[1]
    with tempfile.TemporaryDirectory() as scratch:
        made = Path(scratch) / "close_judge"
        made.mkdir()
        words = json.loads(tokenizer.read_text(encoding="utf-8")) | {"padding": None, "truncation": None}
        (made / "tokenizer.json").write_text(json.dumps(words, ensure_ascii=False) + "\n", encoding="utf-8")
        reader = Reader(made / "tokenizer.json", embedded.LARGER_LENGTH, heads)
        seen = [*_sentences(corpus)][:_WATCHED]
        watched = [(embedded.joint_statement(e.statement, e.contrary), e.placed or e.text) for e in seen]
        write_int8(build_bert({**weights, **reaches(weights, reader, watched)}, heads, "classifier"), made)
        (made / "reference.json").write_text(reference(weights, reader, _REFERENCE), encoding="utf-8")
        model = load_model(embedded.larger_model_files(made), lambda _: True, "close-judge")
        fitted, figures = calibrate_close(corpus, model)
        put_in_place(made, embedded.LARGER_FOLDER)
        store(**fitted)
    return figures


def calibrate_close(corpus: Corpus, large: Int8Model) -> tuple[dict[str, tuple[float, ...]], dict[str, float]]:
    """Regressions of the logits for a side on held-out texts, and figures: each half of the questions measured with the
    regression of the other half. Sets count alike.

    close: both models', of a statement beside its contrary. answer_close: the same of a question, whose support is
    'Yes' and whose opposition is 'No'; answer: the small model's alone. The larger model reads a text in its place.
    """
    fitted: dict[str, tuple[float, ...]] = {}
    figures: dict[str, float] = {}
    small = load_model(embedded.judge_files(), lambda _: True, "judge")
    for name, chosen in (("close", _sentences(corpus)), ("answer_close", _answers(corpus))):
        rows = with_strangers(list(chosen))
        labels, sets = np.array([e.label for e in rows]), np.array([e.dataset for e in rows])
        own = small.run([(e.statement, e.text) for e in rows]).reshape(-1, 2)
        pairs = [Pair(e.statement, e.text, e.contrary, placed=e.placed) for e in rows]
        larger = embedded.larger_model_logits(large, pairs)
        both = np.stack([own, larger], axis=2)
        scores = crossed(both, labels, [e.group for e in rows])
        figures[f"{name}_ece"] = expected_calibration_error(labels == SUPPORT, scores[:, 0])
        figures |= sides_told(name, labels, sets, scores)
        figures |= sides_told(f"{name}_small", labels, sets, own) | sides_told(f"{name}_large", labels, sets, larger)
        fitted[name] = believed(both, labels)
    weight, offset = believed(both[:, :, :1], labels)
    return {**fitted, "answer": (weight, 0.0, offset)}, rounded(figures)


def sides_told(
    name: str, labels: NDArray[np.int64], sets: NDArray[np.str_], scores: NDArray[np.float32]
) -> dict[str, float]:
    """How often the side is told, in each set and in their mean, and of the surest quarter of local disputes."""
    sided = labels < NONE
    found = {f"{name}_side_{s}": stance_accuracy(labels[sets == s], scores[sets == s]) for s in np.unique(sets[sided])}
    lead = np.where(sided & (sets == "disputes"), np.abs(scores[:, 0] - scores[:, 1]), -1)
    surest = np.argsort(-lead)[: int((lead >= 0).sum()) // 4]
    quarter = {f"{name}_side_disputes_surest": stance_accuracy(labels[surest], scores[surest])} if len(surest) else {}
    return found | {f"{name}_side": float(np.mean(list(found.values())))} | quarter


def _sentences(corpus: Corpus) -> Iterator[Example]:
    """Held-out sentences of each set, with the contrary statement, made where the data give none; each is read in the
    order of the alphabet, as it will be."""
    for name in _SETS:
        known = [e for e in hard(corpus.held_out.get(name, ())) if e.is_sentence and not e.statement.endswith("?")]
        scored = [replace(e, contrary=e.contrary or negated(e.statement)) for e in known]
        first = [e for e in scored if e.statement < e.contrary]
        yield from drawn(name, first, A_SET)


def _answers(corpus: Corpus) -> Iterator[Example]:
    """Held-out examples that name their question, which takes the statement's place."""
    for name in _ASKED_SETS:
        known = [e for e in hard(corpus.held_out.get(name, ())) if e.question]
        for e in drawn(name, known, A_SET):
            text = " ".join(e.text.split()[:_ANSWER_WORDS])
            yield replace(e, statement=e.question, contrary="", text=text, placed=e.placed if text == e.text else "")
