"""Vectors of passages and of their sentences, made together."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tools.inference.encoders.encoder import Encoder


def encode_with_sentences(
    encoder: Encoder, texts: Sequence[str], sentences: Sequence[Sequence[str]]
) -> tuple[NDArray[np.float32], list[NDArray[np.float32]]]:
    """Vectors of the texts, (texts, dimensions), and for each list of sentences theirs, (sentences, dimensions).

    One call, so that the encoder batches all of them by length; what occurs several times is encoded once.
    """
    chosen = list(dict.fromkeys([*texts, *(s for own in sentences for s in own)]))
    row = {text: i for i, text in enumerate(chosen)}
    vectors = encoder.encode(chosen)
    return vectors[[row[t] for t in texts]], [vectors[[row[s] for s in own]] for own in sentences]
