"""What `judge-train` leaves behind: half-precision weights, their tokenizer and a config, in `RUN/weights`."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evals.training.packing import Reader
from evals.training.weights import load_weights
from tools.errors import InputError

WEIGHTS, TOKENIZER, CONFIG = "model.safetensors", "tokenizer.json", "config.json"


@dataclass(frozen=True, slots=True)
class Trained:
    """A run's weights by name, float32, and the folder that they lie in."""

    folder: Path
    weights: dict[str, NDArray[np.float32]]
    config: dict[str, Any]

    @property
    def closer(self) -> bool:
        """Whether it is the larger model, which reads two statements at once."""
        return "relative.weight" in self.weights

    def reader(self) -> Reader:
        return Reader(self.folder / TOKENIZER, int(self.config["max_length"]), int(self.config["heads"]))


def weights_of(folder: Path) -> Path:
    """Where the weights are: under `weights` in a run's folder, else in the folder itself."""
    return folder / "weights" if (folder / "weights" / WEIGHTS).is_file() else folder


def read_trained(folder: Path) -> Trained:
    """Of a run's folder, or of the weights' own. Raises InputError."""
    from safetensors import SafetensorError

    where = weights_of(folder)
    try:
        config = json.loads((where / CONFIG).read_text(encoding="utf-8"))
        found = Trained(where, load_weights(where / WEIGHTS), config)
        found.reader()
    except (OSError, ValueError, KeyError, TypeError, SafetensorError) as exc:
        raise InputError(f"{folder} holds no weights of judge-train ({exc}).") from exc
    return found
