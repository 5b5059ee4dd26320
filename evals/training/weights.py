"""The float32 weights of a model, from whatever file has them.

Safetensors hold them as they are, or packed as the judges were kept before they shipped as graphs: each row
of a matrix as int8 with its scale under `NAME.scale`, or in 4 bits, two values a byte, with a step for each GROUP under
`NAME.steps`.
"""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

GROUP = 64
_SCALE, _STEPS = ".scale", ".steps"


def load_weights(path: Path) -> dict[str, NDArray[np.float32]]:
    """Of a safetensors file, a folder of such, or a graph that `graph.write_int8` wrote, whose weights come back as
    they are computed with. Raises OSError."""
    from safetensors.numpy import load_file

    if path.suffix == ".onnx":
        return _of_graph(path)
    files = sorted(path.glob("*.safetensors")) if path.is_dir() else [path]
    return _unpacked({name: value for file in files for name, value in load_file(file).items()})


def _unpacked(packed: Mapping[str, NDArray[np.generic]]) -> dict[str, NDArray[np.float32]]:
    """Integer buffers such as position ids are left out."""
    found: dict[str, NDArray[np.float32]] = {}
    for name, value in packed.items():
        if name.endswith((_SCALE, _STEPS)):
            continue
        if name + _STEPS in packed:
            found[name] = _from_4_bits(np.asarray(value, np.uint8), packed[name + _STEPS].astype(np.float32))
        elif name + _SCALE in packed:
            found[name] = value.astype(np.float32) * packed[name + _SCALE].astype(np.float32)
        elif value.dtype.kind == "f":
            found[name] = value.astype(np.float32)
    return found


def _from_4_bits(pairs: NDArray[np.uint8], steps: NDArray[np.float32]) -> NDArray[np.float32]:
    values = np.stack([pairs >> 4, pairs & 15], axis=2).astype(np.float32) - 8
    return np.asarray(values.reshape(*steps.shape, GROUP) * steps[:, :, None]).reshape(len(pairs), -1)


def _of_graph(path: Path) -> dict[str, NDArray[np.float32]]:
    import onnx

    stored = {t.name: onnx.numpy_helper.to_array(t, str(path.parent)) for t in onnx.load(path).graph.initializer}
    found: dict[str, NDArray[np.float32]] = {}
    for name, value in stored.items():
        plain = name.removesuffix("_quantized")
        if not plain.endswith((".weight", ".bias")):
            continue
        if plain != name:
            steps = value.astype(np.float32) - stored[f"{plain}_zero_point"].astype(np.float32)
            value = steps * stored[f"{plain}_scale"].astype(np.float32)
        if (divided := stored.get(f"{plain}.divided")) is not None:
            value = value * divided[:, None]
        if value.ndim == 2 and "embeddings" not in plain:
            value = value.T
        *place, last, kind = plain.split(".")
        for part, rows in zip(last.split("+"), np.split(value, last.count("+") + 1), strict=True):
            found[".".join([*place, part, kind])] = np.ascontiguousarray(rows, np.float32)
    return found
