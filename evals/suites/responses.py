"""The parts of a multi-perspective search engine on labelled data: theses, stances, evidence.

`--data` is a folder of theses.jsonl, stances.jsonl and evidence.jsonl, those that are there:

theses    question, document, thesis: is the sentence chosen as the document's thesis the one that people wrote?
stances   claim, text, label (support or oppose): on which side is the text?
evidence  claim or question, sentence, score (from 0 to 1): how surely is the sentence evidence, for or against?

The published figures are of models trained on the training split of the very data,
the thesis written and not quoted; these parts are trained on none of them for this, but the embedded judge has read
training rows of Perspectrum, so that its stances on those flatter. What fails stays in every denominator as wrong as
it can be, and is named.
"""

import argparse
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from evals.datasets.responses import READERS, Item, read_items
from evals.judges import PairJudge, open_judge
from evals.metrics.measure import Figure, figures
from evals.metrics.thesis_stance_evidence import Side, evidence_measures, rouge2, stance_measures, thesis_overlap
from evals.reports.records import Record, Records
from evals.reports.table import block, percent
from evals.suite import common_options, digest, open_encoder, progress, sample, show
from tools.errors import InputError, ProviderReplyError
from tools.language.quotable import stands_alone
from tools.models.batching import parts
from tools.models.encoders.encoder import Encoder
from tools.models.judges.judge import Pair
from tools.selection.responses import Weights, choose_thesis

JUDGES = ("settings", "embedded", "chat", "score")  # those that give probabilities
PUBLISHED = {"theses_rouge2": 0.1192, "stance_accuracy": 0.916, "stance_f1": 0.916, "evidence_mse": 0.0397}
SOURCE = (
    "multi-perspective search, table 1: MultiOpEd, Perspectrum and Evidence Sentences, test splits; "
    "91.6 is called accuracy in its text and F1 in the table; compare on the same rows only"
)
NOTE = "The embedded judge was trained on rows of Perspectrum, among others: on those its figures flatter."
_NO_VERDICT = "the judge did not answer with a verdict"
_STANCE: dict[float, Side] = {1.0: "support", -1.0: "oppose"}
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
    """The suite's options."""
    add = parser.add_argument
    add("--data", type=Path, required=True, metavar="DIR", help="folder of the files, plain or .gz")
    add("--judge", choices=JUDGES, default="settings", help="who judges (default: what is turned on)")
    add("--out", type=Path, metavar="RECORDS", help="keep what the models say here; a killed run goes on")
    common_options(parser, limit="a seeded sample of N rows of each file", seed="of the sample and the intervals")


def run(args: argparse.Namespace) -> int:
    """Asks the models what is not known yet, then scores all of it. Raises InputError, SettingsError, ProviderError."""
    files = files_in(args.data)
    items = {part: sample(read_items(part, path), args.limit, args.seed) for part, path in files.items()}
    judge, encoder = open_judge(args.judge), open_encoder() if "theses" in files else None
    config: Record = {
        "files": {part: {"name": path.name, "sha256": digest(path)} for part, path in files.items()},
        "judge": judge.name,
        "encoder": encoder and encoder.name,
        "weights": asdict(Weights()),
        "sample": None if args.limit is None else [args.limit, args.seed],
    }
    with Records(args.out, "responses", config) as records:
        done = ask(items, judge, encoder, records)
    report = reported(items, done, config, args.seed)
    show(args.json, report, lambda: table(report))
    return 0


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
    done = records.done
    for part, rows in items.items():
        missing = [item for item in rows if item.key not in done]
        size = 1 if part == "theses" else max(1, judge.together // 2)  # an item has two pairs
        with progress(total=len(rows), initial=len(rows) - len(missing), desc=part) as bar:
            for batch in parts(missing, size):
                forgiving = any("failed" not in record for record in done.values())
                said = _answers(batch, judge, encoder if part == "theses" else None, forgiving)
                for item, record in zip(batch, said, strict=True):
                    records.add(item.key, record)
                    bar.update()
    return done


def _answers(batch: Sequence[Item], judge: PairJudge, encoder: Encoder | None, forgiving: bool) -> list[Record]:
    """What the models say of each item, with an encoder its thesis. forgiving: an answer of no use fails these items
    only."""
    try:
        return [_verdict(item, support, encoder) for item, support in zip(batch, _support(judge, batch), strict=True)]
    except ProviderReplyError as exc:
        if not forgiving:
            raise
        return [{"failed": str(exc)} for _ in batch]


def _support(judge: PairJudge, batch: Sequence[Item]) -> list[NDArray[np.float64]]:
    """For each item the probabilities that its texts support its sides, shape (sides, texts); the judge is told of
    each side what its contrary is."""
    asked = [
        [Pair(s, text, c, form="answer") for s, c in zip(i.sides, i.sides[::-1], strict=True) for text in i.texts]
        for i in batch
    ]
    pairs = [pair for of in asked for pair in of]
    scores = np.asarray(judge.score(pairs) if pairs else [], np.float64)
    each = np.split(scores, np.cumsum([len(of) for of in asked])[:-1])
    return [some.reshape(len(i.sides), len(i.texts)) for i, some in zip(batch, each, strict=True)]


def _verdict(item: Item, support: NDArray[np.float64], encoder: Encoder | None) -> Record:
    missing = np.isnan(support)
    if (support.size and missing.all()) if encoder else missing.any():
        return {"failed": _NO_VERDICT}
    if not encoder:
        return {"support": [float(p) for p in support[:, 0]]}
    alone = np.array([stands_alone(text) for text in item.texts])
    position, side = choose_thesis(encoder.encode(item.texts), encoder.encode_queries([item.group])[0], support, alone)
    return {"thesis": item.texts[position], "side": None if side is None else item.sides[side]}


def reported(items: dict[str, list[Item]], records: dict[str, Record], config: Record, seed: int) -> Record:
    """The report: metrics, intervals, published figures, items, what failed, configuration."""
    found: dict[str, Figure] = {}
    counts: dict[str, int] = {}
    failed: list[Record] = []
    for part, rows in items.items():
        mine = [records[item.key] for item in rows]
        found |= MEASURES[part](rows, mine)
        counts |= {part: len(rows), f"{part}_failed": sum("failed" in record for record in mine)}
        failed += [{"part": part, "line": int(r["key"].split()[1]), "why": r["failed"]} for r in mine if "failed" in r]
    if "theses" in items:
        counts["theses_without_bigrams"] = sum(math.isnan(rouge2(item.gold, "")) for item in items["theses"])
    told = figures(found, seed)
    sizes = {part: len({item.group for item in rows}) for part, rows in items.items()}
    names = ", ".join(file["name"] for file in config["files"].values())
    return {
        "suite": "responses",
        **told,
        "metrics": counts | told["metrics"],
        "published": {name: value for name, value in PUBLISHED.items() if name in found},
        "published_source": SOURCE,
        "notes": [NOTE] if config["judge"].startswith("embedded-judge") else [],
        "failed": failed,
        "config": config | {"data": names, "groups": sizes, "seed": seed},
    }


def _theses_measures(items: Sequence[Item], records: Sequence[Record]) -> dict[str, Figure]:
    """A document that failed has no thesis, which shares nothing with the gold one."""
    ours = [(item.group, item.gold, record.get("thesis", "")) for item, record in zip(items, records, strict=True)]
    best = [(item.group, item.gold, max(item.texts, key=lambda text: rouge2(item.gold, text))) for item in items]
    return {
        "theses_rouge2": thesis_overlap(ours),
        "theses_rouge2_lead": thesis_overlap((item.group, item.gold, item.texts[0]) for item in items),
        "theses_rouge2_best": thesis_overlap(best),
    }


def _stances_measures(items: Sequence[Item], records: Sequence[Record]) -> dict[str, Figure]:
    """There are two stances, so that the likelier one is said, however close they are; None where it failed."""
    supports, contradicts = _supports(records)
    said = [_STANCE.get(float(sign)) for sign in np.sign(supports - contradicts)]
    golds = [item.stance for item in items]
    return dict(stance_measures([(i.group, gold, one) for i, gold, one in zip(items, golds, said, strict=True)]))


def _evidence_measures(items: Sequence[Item], records: Sequence[Record]) -> dict[str, Figure]:
    """How likely a sentence is evidence is the larger of its probabilities: the paper's regression is not told which
    side it is on either."""
    said = [None if math.isnan(p) else float(p) for p in _supports(records).max(axis=0)]
    return dict(evidence_measures([(i.group, i.score, one) for i, one in zip(items, said, strict=True)]))


MEASURES: dict[str, Callable[[Sequence[Item], Sequence[Record]], dict[str, Figure]]] = {
    "theses": _theses_measures,
    "stances": _stances_measures,
    "evidence": _evidence_measures,
}


def _supports(records: Sequence[Record]) -> NDArray[np.float64]:
    """The probabilities of the claim and of its contrary, shape (2, records); NaN where they failed."""
    return np.array([record.get("support", (math.nan, math.nan)) for record in records], np.float64).T


def table(report: Record) -> str:
    """The report for people to read: a block a part, in percent, with 95 % intervals by question or claim."""
    metrics, config, published = report["metrics"], report["config"], report["published"]
    lines: list[str] = []
    for part, file in config["files"].items():
        failed = f", {metrics[f'{part}_failed']} failed" if metrics[f"{part}_failed"] else ""
        lines.append(f"{file['name']}: {metrics[part]} rows of {config['groups'][part]} questions or claims{failed}")
        prefix = {"theses": "theses_", "stances": "stance_", "evidence": "evidence_"}[part]
        rows = {
            title: [
                percent(metrics[name], report["intervals"][name], digits=2),
                percent(published[name], digits=2) if name in published else "",
            ]
            for name, title in _TITLES.items()
            if name.startswith(prefix)
        }
        lines += [*block(["%, 95 %", "published"], rows), ""]
    lines += [f"failed: {f['part']} line {f['line']}: {f['why']}" for f in report["failed"]]
    asked = f"judge {config['judge']}" + (f"; encoder {config['encoder']}" if config["encoder"] else "")
    lines += [f"Published: {report['published_source']}.", *report["notes"], f"{asked}; seed {config['seed']}"]
    return "\n".join(lines) + "\n"
