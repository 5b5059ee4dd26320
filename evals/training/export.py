"""`python -m evals judge-export DIR`: the embedded judge as a folder that vLLM serves on `/score`.

    python -m evals judge-export models/judge
    make local-models MODEL=models/judge

The weights are the int8 ones, dequantised, in float32. The one score is the calibrated logit of support where no
contrary statement is told: the calibration is linear in both answers' logits, so that their weights add up to one row.
Hugging Face's BERT classifiers have a pooler, tanh(W h + b), where this one has none: W is a multiple of the identity
so small that tanh changes nothing, and the classifier's weights are as many times larger.
"""

import argparse
import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evals.training.graph import HEADS
from evals.training.weights import load_weights
from tools.errors import InputError, ModelError
from tools.inference.judges.embedded import MAX_LENGTH, judge_files, read_calibration

_SMALL = 1e-3
"""Of the pooler's identity: tanh(x) / x is 1 - x² / 3, which for a vector's values (below 10) is 1 within 3e-5."""
_POSITIONS = "embeddings.position_embeddings.weight"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", type=Path, metavar="DIR", help="where to; a new or an empty folder")


def run(args: argparse.Namespace) -> int:
    """Writes the folder and says how it is served."""
    export(args.folder)
    print(f"Written: {args.folder}", file=sys.stderr)
    print(f"Serve it: make local-models MODEL={args.folder}", file=sys.stderr)
    return 0


def export(folder: Path) -> None:
    """Model, configuration and tokenizer. Raises InputError for a folder that holds something, ModelError."""
    from safetensors import SafetensorError
    from safetensors.numpy import save_file

    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"{folder} is not empty. Name a new folder, so that nothing is overwritten.")
    files = judge_files()
    try:
        weights, alone = load_weights(files.folder / "model.onnx"), read_calibration().alone
        folder.parent.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError, TypeError, KeyError, SafetensorError) as exc:
        raise ModelError(f"the judge cannot be exported ({exc}). Restore its files, or name another folder.") from exc
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        made = Path(scratch) / "judge"
        made.mkdir()
        save_file(one_score(weights, alone), made / "model.safetensors", {"format": "pt"})
        _write(made / "config.json", _config(weights, HEADS))
        _write_tokenizer(files.tokenizer, made)
        if folder.exists():
            folder.rmdir()
        shutil.move(made, folder)


def one_score(weights: dict[str, NDArray[np.float32]], alone: tuple[float, ...]) -> dict[str, NDArray[np.float32]]:
    """The weights under the names of `BertForSequenceClassification`; its one logit is the calibrated one."""
    body = {
        f"bert.{name}": value
        for name, value in weights.items()
        if not name.startswith("classifier.") and not name.endswith(".reach")
    }
    body[f"bert.{_POSITIONS}"] = weights[_POSITIONS][:MAX_LENGTH].copy()
    width = weights["classifier.weight"].shape[1]
    answers, offset = np.array(alone[:2], np.float32), np.float32(alone[2])
    return {
        **body,
        "bert.pooler.dense.weight": np.eye(width, dtype=np.float32) * np.float32(_SMALL),
        "bert.pooler.dense.bias": np.zeros(width, np.float32),
        "classifier.weight": ((answers @ weights["classifier.weight"]) / _SMALL).astype(np.float32)[np.newaxis],
        "classifier.bias": np.array([answers @ weights["classifier.bias"] + offset], np.float32),
    }


def _config(weights: dict[str, NDArray[np.float32]], heads: int) -> dict[str, Any]:
    words, width = weights["embeddings.word_embeddings.weight"].shape
    layers = sum(name.endswith("attention.self.query.weight") for name in weights)
    return {
        "architectures": ["BertForSequenceClassification"],
        "model_type": "bert",
        "vocab_size": words,
        "hidden_size": width,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "intermediate_size": weights["encoder.layer.0.intermediate.dense.weight"].shape[0],
        "hidden_act": "gelu",
        "max_position_embeddings": MAX_LENGTH,
        "type_vocab_size": weights["embeddings.token_type_embeddings.weight"].shape[0],
        "layer_norm_eps": 1e-12,
        "hidden_dropout_prob": 0.0,
        "attention_probs_dropout_prob": 0.0,
        "pad_token_id": 0,
        "id2label": {"0": "support"},
        "label2id": {"support": 0},
        "dtype": "float32",
    }


def _write_tokenizer(source: Path, folder: Path) -> None:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(source))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    tokenizer.save(str(folder / "tokenizer.json"))
    names = {
        "pad_token": "[PAD]",
        "cls_token": "[CLS]",
        "sep_token": "[SEP]",
        "unk_token": "[UNK]",
        "mask_token": "[MASK]",
    }
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": MAX_LENGTH, **names}
    settings["model_input_names"] = ["input_ids", "token_type_ids", "attention_mask"]
    _write(folder / "tokenizer_config.json", settings)


def _write(path: Path, value: dict[str, Any]) -> None:
    path.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")
