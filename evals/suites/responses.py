"""Theses, stances, evidence on labelled data: the parts of a multi-perspective search engine (Chen et al. 2022).

`--data` is a folder of theses.jsonl, stances.jsonl and evidence.jsonl, those that are there:

theses    question, document, thesis: is the sentence chosen as the document's thesis the one that people wrote?
stances   claim, text, label (support or oppose): on which side is the text?
evidence  claim or question, sentence, score (from 0 to 1): how surely is the sentence evidence, for or against?

The published figures are of models trained on the training split of the very data, the thesis written and not quoted.
What fails stays in every denominator as wrong as it can be, and is named.
"""

import argparse
import math
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from evals.answering.theses import ThesisWeights, choose_thesis
from evals.datasets.responses import READERS, Item, read_items
from evals.datasets.rows import digest
from evals.metrics.measure import figures
from evals.metrics.thesis_stance_evidence import MEASURES, rouge2
from evals.models import PairJudge, encoder_and_cache, open_judge
from evals.reports.records import NO_VERDICT, Record, Records
from evals.reports.table import PAPERS, block, percent
from evals.suite import ask_in_parts, common_options, shuffled
from tools.errors import InputError
from tools.language.quotable import stands_alone
from tools.models.encoders.encoder import Encoder
from tools.models.judges.judge import Pair

JUDGES = ("settings", "embedded", "chat", "score")  # those that give probabilities
NOTE = "The embedded judge was trained on rows of Perspectrum, among others: on those its figures flatter."
_TITLES = {
    "theses_rouge2": "ROUGE-2 F1 of the thesis",
    "theses_rouge2_lead": "  of the first sentence",
    "theses_rouge2_best": "  of the best sentence: a ceiling",
    "stance_accuracy": "accuracy of the stance",
    "stance_majority": "  of always the commoner one",
    "stance_f1": "F1, mean of both stances",
    "stance_f1_support": "  of support",
    "stance_f1_oppose": "  of opposition",
    "stance_undecided": "undecided, and so wrong",
    "evidence_mse": "squared error of the evidence",
    "evidence_mse_mean": "  of always the mean score",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--data", type=Path, required=True, metavar="DIR", help="folder of the files, plain or .gz")
    add("--judge", choices=JUDGES, default="settings", help="who judges (default: what is turned on)")
    add("--out", type=Path, metavar="RECORDS", help="keep what the models say here; a killed run goes on")
    common_options(parser, limit="a seeded sample of N rows of each file", seed="of the sample and the intervals")


def measure(args: argparse.Namespace) -> Record:
    """Asks the models what is not known yet, then scores all of it. Raises InputError, SettingsError, ProviderError."""
    files = files_in(args.data)
    items = {part: shuffled(read_items(part, path), args.limit, args.seed) for part, path in files.items()}
    judge, encoder = open_judge(args.judge), encoder_and_cache()[0] if "theses" in files else None
    config: Record = {
        "files": {part: {"name": path.name, "sha256": digest(path)} for part, path in files.items()},
        "judge": judge.name,
        "encoder": encoder and encoder.name,
        "weights": asdict(ThesisWeights()),
        "sample": None if args.limit is None else [args.limit, args.seed],
    }
    with Records(args.out, "responses", config) as records:
        done = ask(items, judge, encoder, records)
    return reported(items, done, config, args.seed)


def files_in(folder: Path) -> dict[str, Path]:
    """Part to its file in the folder, of the parts that are there. Raises InputError for none."""
    names = [(part, folder / f"{part}.jsonl{packed}") for part in READERS for packed in (".gz", "")]
    if not (files := {part: path for part, path in names if path.is_file()}):
        raise InputError(f"{folder} holds no {', '.join(f'{part}.jsonl' for part in READERS)}. Name another folder.")
    return files


def ask(items: dict[str, list[Item]], judge: PairJudge, encoder: Encoder | None, records: Records) -> dict[str, Record]:
    """The record of each item, by its key; items that have none are asked. Theses need an encoder.

    Raises ProviderError where a model is down or gave no usable answer yet; the records up to there remain.
    """
    for part, rows in items.items():
        thesis = part == "theses"
        said = partial(_said, judge, encoder if thesis else None)
        ask_in_parts(rows, said, records, 1 if thesis else max(1, judge.together // 2), desc=part)  # an item: two pairs
    return records.done


def _said(judge: PairJudge, encoder: Encoder | None, batch: Sequence[Item]) -> list[Record]:
    """What the models say of each item, with an encoder its thesis; the judge is told of each side what its contrary
    is."""
    asked = [
        [Pair(s, text, c, form="answer") for s, c in zip(i.sides, i.sides[::-1], strict=True) for text in i.texts]
        for i in batch
    ]
    pairs = [pair for of in asked for pair in of]
    scores = np.asarray(judge.score(pairs) if pairs else [], np.float64)
    each = np.split(scores, np.cumsum([len(of) for of in asked])[:-1])
    support = [some.reshape(len(i.sides), len(i.texts)) for i, some in zip(batch, each, strict=True)]
    return [_verdict(item, of, encoder) for item, of in zip(batch, support, strict=True)]


def _verdict(item: Item, support: NDArray[np.float64], encoder: Encoder | None) -> Record:
    """support: the probabilities that its texts support its sides, shape (sides, texts)."""
    missing = np.isnan(support)
    if (support.size and missing.all()) if encoder else missing.any():
        return {"failed": NO_VERDICT}
    if not encoder:
        return {"support": [float(p) for p in support[:, 0]]}
    alone = np.array([stands_alone(text) for text in item.texts])
    position, side = choose_thesis(encoder.encode(item.texts), encoder.encode_queries([item.group])[0], support, alone)
    return {"thesis": item.texts[position], "side": None if side is None else item.sides[side]}


def reported(items: dict[str, list[Item]], records: dict[str, Record], config: Record, seed: int) -> Record:
    """The report: metrics, intervals, items, what failed, configuration."""
    mine = {part: [records[item.key] for item in rows] for part, rows in items.items()}
    found = {name: m for part, rows in items.items() for name, m in MEASURES[part](rows, mine[part]).items()}
    failed = [(part, r) for part, rows in mine.items() for r in rows if "failed" in r]
    counts = {part: len(rows) for part, rows in items.items()}
    counts |= {f"{part}_failed": sum(part == of for of, _ in failed) for part in items}
    if "theses" in items:
        counts["theses_without_bigrams"] = sum(math.isnan(rouge2(item.gold, "")) for item in items["theses"])
    told = figures(found, seed)
    sizes = {part: len({item.group for item in rows}) for part, rows in items.items()}
    names = ", ".join(file["name"] for file in config["files"].values())
    return {
        "suite": "responses",
        **told,
        "metrics": counts | told["metrics"],
        "notes": [NOTE] if config["judge"].startswith("embedded-judge") else [],
        "failed": [f"{r['key'].replace(' ', ' line ')}: {r['failed']}" for _, r in failed],
        "config": config | {"data": names, "groups": sizes, "seed": seed},
    }


def table(result: Record) -> list[str]:
    """What was read, and the measures in percent, with 95 % intervals by question or claim."""
    metrics, config, lines = result["metrics"], result["config"], list[str]()
    for part, file in config["files"].items():
        failed = f", {metrics[f'{part}_failed']} failed" if metrics[f"{part}_failed"] else ""
        lines.append(f"{file['name']}: {metrics[part]} rows of {config['groups'][part]} questions or claims{failed}")
    told = {name: title for name, title in _TITLES.items() if name in metrics}
    rows = {title: [percent(metrics[name], result["intervals"][name], digits=2)] for name, title in told.items()}
    lines += ["", *block(["%, 95 %"], rows), ""]
    asked = f"judge {config['judge']}" + (f"; encoder {config['encoder']}" if config["encoder"] else "")
    return [*lines, PAPERS, *result["notes"], f"{asked}; seed {config['seed']}"]
