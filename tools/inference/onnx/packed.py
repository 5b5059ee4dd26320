"""Weights of a model as they are kept in the repository, in a quarter or a seventh of float32's size.

8 bits: a matrix W (rows, columns) becomes round(W / s) with s = max|row| / 127 for each row. 4 bits: each GROUP of
values in a row gets a step of its own, so that the value farthest from 0 is -8 of them, and two values share a byte.
Vectors stay float32.
"""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

GROUP = 64
_SCALE, _STEPS = ".scale", ".steps"
_LARGE = 1 << 18  # values of a matrix that is worth 4 bits


def pack(weights: Mapping[str, NDArray[np.float32]]) -> dict[str, NDArray[np.generic]]:
    """Each matrix as int8 with its scales (rows, 1) under `NAME.scale`; everything else as it is."""
    packed: dict[str, NDArray[np.generic]] = {}
    for name, value in weights.items():
        if value.ndim != 2:
            packed[name] = value.astype(np.float32)
            continue
        largest = np.abs(value).max(axis=1, keepdims=True)
        scale = np.where(largest > 0, largest / 127.0, 1.0).astype(np.float32)
        packed[name] = np.round(value / scale).astype(np.int8)
        packed[name + _SCALE] = scale
    return packed


def pack_small(weights: Mapping[str, NDArray[np.float32]]) -> dict[str, NDArray[np.generic]]:
    """Each large matrix in 4 bits, uint8 of shape (rows, columns / 2) with its steps, float16 of shape (rows, columns /
    GROUP), under `NAME.steps`; everything else as `pack` has it."""
    large = {n for n, value in weights.items() if value.ndim == 2 and value.size >= _LARGE}
    packed = pack({n: value for n, value in weights.items() if n not in large})
    for name in large:
        groups = weights[name].reshape(len(weights[name]), -1, GROUP)
        farthest = np.take_along_axis(groups, np.abs(groups).argmax(axis=2, keepdims=True), axis=2)
        steps = (-farthest / 8).astype(np.float16)
        steps[steps == 0] = 1  # nothing but zeros, or as good as
        values = (np.clip(np.round(groups / steps.astype(np.float32)), -8, 7) + 8).astype(np.uint8)
        pairs = values.reshape(len(groups), -1, 2)
        packed[name] = pairs[:, :, 0] << 4 | pairs[:, :, 1]
        packed[name + _STEPS] = steps[:, :, 0]
    return packed


def unpack(packed: Mapping[str, NDArray[np.generic]]) -> dict[str, NDArray[np.float32]]:
    """The float32 weights of a packed or an ordinary mapping; integer buffers such as position ids are left out."""
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


def files_of(path: Path) -> list[Path]:
    """The safetensors files at `path`: itself, or those of a folder by their names."""
    return sorted(path.glob("*.safetensors")) if path.is_dir() else [path]


def load_weights(path: Path) -> dict[str, NDArray[np.float32]]:
    """The float32 weights of a safetensors file, or of a folder of such, packed or not. Raises OSError."""
    from safetensors.numpy import load_file

    return unpack({name: value for file in files_of(path) for name, value in load_file(file).items()})
