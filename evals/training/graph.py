"""Builds the ONNX graph of a BERT encoder from its weights, and its int8 file, with `onnx` alone (no torch).

The head "mean" (sentence encoder) returns the mean of the tokens' vectors, with unit length. The head "classifier"
(judges) returns logits of the first token, so the last layer computes only this token. Layers follow Devlin et al. 2019
(post-layer-norm, erf GELU). One product computes query, key and value. Attention is ONNX Runtime's fused operator.
MPNet (Song et al. 2020) is a BERT with an attention bias by relative position, `relative.weight` (buckets, heads).
"""

import math
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import onnx

Weights = Mapping[str, NDArray[np.float32]]
Head = Literal["mean", "classifier"]
REACH = 4.0
"""The largest input that a channel may have without scaling. In BERT a few channels are ten times larger than the rest
(Bondarenko et al. 2021). Without scaling, int8 has few steps left for the other channels."""
HEADS = 12  # attention heads of all three models
PART = 24 * 10**6  # largest file in bytes, below the limits of repositories
EPSILON = 1e-12  # of layer norms
_OPSET = 20
_MASKED = -10_000.0
_LARGE = 1 << 14  # constants of at least this many bytes move into `model-N.bin`
_RUNTIME = "com.microsoft"
_EXACT, _FARTHEST = 8, 128  # below 8, each position has a bucket; beyond 128, all share the last


@dataclass
class _Graph:
    """Collects nodes and constants. Each operator returns the name of its output."""

    weights: Weights
    nodes: "list[onnx.NodeProto]" = field(default_factory=list)
    constants: "list[onnx.TensorProto]" = field(default_factory=list)
    inputs: dict[str, str] = field(default_factory=dict)  # of each dense layer

    def op(self, kind: str, *inputs: str, outputs: int = 1, **attributes: Any) -> Any:
        from onnx import helper

        names = [f"{kind}_{len(self.nodes)}_{i}" for i in range(outputs)]
        domain = _RUNTIME if kind == "MultiHeadAttention" else ""
        self.nodes.append(helper.make_node(kind, list(inputs), names, domain=domain, **attributes))
        return names[0] if outputs == 1 else names

    def constant(self, value: NDArray[Any], name: str = "") -> str:
        from onnx import numpy_helper

        name = name or f"constant_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(value, name))
        return name

    def numbers(self, *values: int) -> str:
        return self.constant(np.array(values, np.int64))

    def weight(self, name: str) -> str:
        return self.constant(self.weights[name], name)

    def dense(self, x: str, prefix: str) -> str:
        """Adds x · W + b. If a channel's known reach exceeds REACH, the graph divides the channel down to REACH and
        multiplies its weights. The product stays the same, and its input uses the 256 steps of int8 better."""
        self.inputs[prefix] = x
        weight = self.weights[f"{prefix}.weight"].T
        if (reach := self.weights.get(f"{prefix}.reach")) is not None:
            scale = np.maximum(reach / REACH, 1).astype(np.float32)
            x = self.op("Mul", x, self.constant(1 / scale, f"{prefix}.weight.divided"))
            weight = weight * scale[:, None]
        product = self.op("MatMul", x, self.constant(weight.copy(), f"{prefix}.weight"))
        return str(self.op("Add", product, self.weight(f"{prefix}.bias")))

    def layer_norm(self, x: str, prefix: str) -> str:
        scale, bias = self.weight(f"{prefix}.weight"), self.weight(f"{prefix}.bias")
        return str(self.op("LayerNormalization", x, scale, bias, axis=-1, epsilon=EPSILON))


def load_weights(file: Path) -> dict[str, NDArray[np.float32]]:
    """Reads the weights of a safetensors file, without integer buffers such as position ids. Raises OSError."""
    from safetensors.numpy import load_file

    return {name: value.astype(np.float32) for name, value in load_file(file).items() if value.dtype.kind == "f"}


def unpacked(file: Path) -> dict[str, NDArray[np.float32]]:
    """Reads a file of `write_int8`. Returns float32 weights in the form that `build_bert` takes."""
    import onnx
    from onnx import numpy_helper

    stored = {t.name: numpy_helper.to_array(t) for t in onnx.load(file).graph.initializer}
    found = {name: value for name, value in stored.items() if name.endswith((".bias", ".weight"))}
    for name in (name.removesuffix("_quantized") for name in stored if name.endswith("_quantized")):
        exact = stored[f"{name}_quantized"].astype(np.float32) - stored[f"{name}_zero_point"]
        value = exact * stored[f"{name}_scale"] * stored.get(f"{name}.divided", np.ones(1, np.float32))[:, None]
        found[name] = value.T if name.startswith(("encoder.", "classifier.")) else value
    for name in [name for name in found if "+" in name]:
        prefix, together, kind = name.rsplit(".", 2)
        parts = np.split(found.pop(name), together.count("+") + 1)
        found |= {f"{prefix}.{one}.{kind}": part for one, part in zip(together.split("+"), parts, strict=True)}
    if tables := [value[0] for value in stored.values() if value.ndim == 4]:  # the expanded bias by relative position
        near = buckets(tables[0].shape[1])
        found["relative.weight"] = np.zeros((2 * 2 * _EXACT, len(tables[0])), np.float32)
        found["relative.weight"][near] = tables[0].transpose(1, 2, 0)
    return found


def build_bert(weights: Weights, heads: int, head: Head, shown: Sequence[str] = ()) -> "onnx.ModelProto":
    """Builds the model as an ONNX graph.

    The inputs are `ids`, `mask` and `types`, each int64 of shape (batch, length). The output for "mean" is `vectors`
    (batch, width), with rows of unit length. The output for "classifier" is `logits` (batch, labels). weights: names
    as in Hugging Face's BertModel, with `classifier.weight` and `classifier.bias`. shown: dense layers whose input is
    a further output, `NAME.input` (batch, length, width).
    """
    from onnx import TensorProto, helper

    graph = _Graph(weights)
    x = _embeddings(graph)
    mask = graph.op("Cast", "mask", to=TensorProto.INT32)
    relative = _relative(graph)
    last = max(int(name.split(".")[2]) for name in weights if name.startswith("encoder.layer."))
    for layer in range(last + 1):
        asking = _first(graph, x) if layer == last and head == "classifier" else x
        bias = relative and _first(graph, relative, axis=2) if asking != x else relative
        x = _layer(graph, asking, x, mask, bias, f"encoder.layer.{layer}", heads)
    if head == "mean":
        name, output = "vectors", _mean_pool(graph, x)
    else:
        name, output = "logits", graph.dense(graph.op("Gather", x, graph.constant(np.array(0)), axis=1), "classifier")
    graph.nodes.append(helper.make_node("Identity", [output], [name]))
    info = helper.make_tensor_value_info
    inputs = [info(n, TensorProto.INT64, ["batch", "length"]) for n in ("ids", "mask", "types")]
    outputs = [info(name, TensorProto.FLOAT, ["batch", "width"])]
    for layer_name in shown:
        graph.nodes.append(helper.make_node("Identity", [graph.inputs[layer_name]], [f"{layer_name}.input"]))
        outputs.append(info(f"{layer_name}.input", TensorProto.FLOAT, None))
    body = helper.make_graph(graph.nodes, "bert", inputs, outputs, graph.constants)
    opsets = [helper.make_opsetid("", _OPSET), helper.make_opsetid(_RUNTIME, 1)]
    return helper.make_model(body, opset_imports=opsets, ir_version=10)  # older runtimes read this version


def buckets(length: int) -> NDArray[np.int64]:
    """Returns the bucket of each relative position of `length` tokens, (length, length). Positions up to 7 have a
    bucket each. Farther positions share buckets in logarithmic steps up to 128 (Raffel et al. 2020; 32 buckets)."""
    place = np.arange(length)
    distance = place[:, None] - place[None, :]
    far = np.log(np.maximum(np.abs(distance), 1) / _EXACT) / math.log(_FARTHEST / _EXACT) * _EXACT
    wide = np.minimum(_EXACT + far.astype(np.int64), 2 * _EXACT - 1)
    near = np.where(np.abs(distance) < _EXACT, np.abs(distance), wide)
    return np.asarray(near + np.where(distance < 0, 2 * _EXACT, 0), np.int64)


def _embeddings(graph: _Graph) -> str:
    words = graph.op("Gather", graph.weight("embeddings.word_embeddings.weight"), "ids")
    types = graph.op("Gather", graph.weight("embeddings.token_type_embeddings.weight"), "types")
    length = graph.op("Shape", "ids", start=1, end=2)
    zero, one = graph.numbers(0), graph.numbers(1)
    positions = graph.op("Slice", graph.weight("embeddings.position_embeddings.weight"), zero, length, zero, one)
    total = graph.op("Add", graph.op("Add", words, types), positions)
    return graph.layer_norm(total, "embeddings.LayerNorm")


def _first(graph: _Graph, x: str, axis: int = 1) -> str:
    """Returns the first token alone, (batch, 1, width), or its rows of the attention bias, (1, heads, 1, length)."""
    zero, one = graph.numbers(0), graph.numbers(1)
    return str(graph.op("Slice", x, zero, one, *((one, one) if axis == 1 else (graph.numbers(axis),))))


def _relative(graph: _Graph) -> str:
    """Returns the attention bias by relative position, (1, heads, length, length), or an empty name for BERT."""
    if "relative.weight" not in graph.weights:
        return ""
    longest = len(graph.weights["embeddings.position_embeddings.weight"])
    table = graph.weights["relative.weight"][buckets(longest)].transpose(2, 0, 1)[None].copy()
    length = graph.op("Shape", "ids", start=1, end=2)
    zero, ends = graph.numbers(0, 0), graph.op("Concat", length, length, axis=0)
    return str(graph.op("Slice", graph.constant(table), zero, ends, graph.numbers(2, 3)))


def _layer(graph: _Graph, asking: str, x: str, mask: str, relative: str, prefix: str, heads: int) -> str:
    """Adds one layer. Queries come from `asking` (`x` or its first token). Keys and values come from `x`."""
    mixed = _attention(graph, asking, x, mask, relative, f"{prefix}.attention.self", heads)
    attended = graph.dense(mixed, f"{prefix}.attention.output.dense")
    y = graph.layer_norm(graph.op("Add", asking, attended), f"{prefix}.attention.output.LayerNorm")
    inner = graph.op("Gelu", graph.dense(y, f"{prefix}.intermediate.dense"))
    outer = graph.dense(inner, f"{prefix}.output.dense")
    return graph.layer_norm(graph.op("Add", y, outer), f"{prefix}.output.LayerNorm")


def _attention(graph: _Graph, asking: str, x: str, mask: str, relative: str, prefix: str, heads: int) -> str:
    names = ("query", "key", "value")
    weight = {n: graph.weights[f"{prefix}.{n}.weight"].T for n in names}
    biases = np.concatenate([graph.weights[f"{prefix}.{n}.bias"] for n in names])
    bias = graph.constant(biases, f"{prefix}.{'+'.join(names)}.bias")
    apart, together = (names[:1], names[1:]) if asking != x else ((), names)
    beside = np.concatenate([weight[n] for n in together], axis=1)
    joined = graph.op("MatMul", x, graph.constant(beside, f"{prefix}.{'+'.join(together)}.weight"))
    parts: list[str] = graph.op("Split", joined, outputs=len(together), axis=2, num_outputs=len(together))
    first = [graph.op("MatMul", asking, graph.constant(weight[n].copy(), f"{prefix}.{n}.weight")) for n in apart]
    q, k, v = first + parts
    more = (mask, relative) if relative else (mask,)
    return str(graph.op("MultiHeadAttention", q, k, v, bias, *more, num_heads=heads, mask_filter_value=_MASKED))


def _mean_pool(graph: _Graph, x: str) -> str:
    from onnx import TensorProto

    mask = graph.op("Cast", "mask", to=TensorProto.FLOAT)
    weighted = graph.op("Mul", x, graph.op("Unsqueeze", mask, graph.numbers(2)))
    # The sum is enough: the mean's divisor cancels out in the normalisation.
    total = graph.op("ReduceSum", weighted, graph.numbers(1), keepdims=0)
    return str(graph.op("LpNormalization", total, axis=-1, p=2))


def write_int8(model: "onnx.ModelProto", folder: Path, bits: int = 8) -> None:
    """Writes `model.onnx` with int8 weights, one scale per channel, and dynamic quantisation of activations. A model
    larger than PART stores its constants in `model-1.bin` and so on.

    7 bits (`reduce_range`) prevent overflow on processors without VNNI instructions.
    """
    import logging

    import onnx
    from onnxruntime.quantization import QuantType, quantize_dynamic

    folder.mkdir(parents=True, exist_ok=True)
    logging.getLogger().disabled, before = True, logging.getLogger().disabled
    try:
        with tempfile.TemporaryDirectory() as scratch:
            whole = Path(scratch) / "model.onnx"
            quantize_dynamic(
                model,
                whole,
                per_channel=True,
                reduce_range=bits < 8,
                weight_type=QuantType.QInt8,
                extra_options={"DefaultTensorType": onnx.TensorProto.FLOAT},  # for the runtime's own operators
            )
            made = onnx.load(whole)
            if whole.stat().st_size > PART:
                _set_apart(made, folder)
            onnx.save(made, folder / "model.onnx")
    finally:
        logging.getLogger().disabled = before


def _set_apart(model: "onnx.ModelProto", folder: Path) -> None:
    """Moves the large constants into files of at most PART bytes."""
    from onnx import external_data_helper

    number, offset = 1, 0
    for tensor in model.graph.initializer:
        data = tensor.raw_data
        if len(data) < _LARGE:
            continue
        if offset + len(data) > PART:
            number, offset = number + 1, 0
        name = f"model-{number}.bin"
        with (folder / name).open("ab" if offset else "wb") as file:
            file.write(data)
        external_data_helper.set_external_data(tensor, name, offset, len(data))
        tensor.ClearField("raw_data")
        offset += len(data)
