"""Weights of a model as they are kept in the repository: int8 rows with a scale a row, a quarter of float32's size.

A matrix W (rows, columns) becomes round(W / s) with s = max|row| / 127 for each row; vectors stay float32.
"""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

_SCALE = ".scale"


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


def unpack(packed: Mapping[str, NDArray[np.generic]]) -> dict[str, NDArray[np.float32]]:
    """The float32 weights of a packed or an ordinary mapping; integer buffers such as position ids are left out."""
    return {
        name: value.astype(np.float32) * packed[name + _SCALE].astype(np.float32)
        if name + _SCALE in packed
        else value.astype(np.float32)
        for name, value in packed.items()
        if not name.endswith(_SCALE) and (value.dtype.kind == "f" or name + _SCALE in packed)
    }


def load_weights(path: Path) -> dict[str, NDArray[np.float32]]:
    """The float32 weights of a safetensors file, packed or not."""
    from safetensors.numpy import load_file

    return unpack(load_file(path))
