"""Trains the embedded judge: a BERT cross-encoder over [CLS] statement [SEP] text [SEP] with three labels.

Needs torch, transformers and safetensors (the extra `models`):
`python -m evals.training.train --data DIR --out DIR --minutes 70`. A stopped run goes on from its last checkpoint.
The base is all-MiniLM-L6-v2; its word embeddings stay fixed. The learning rate rises over the first few hundredths of
the planned time and then falls in a line to nothing at its end; the last third draws from the sets nearest to the use.
"""

import argparse
import json
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np

from evals.training.data import LABELS, Corpus, Example, Sampler, hard, load_corpus
from evals.training.metrics import best_f1, roc_auc, stance_accuracy
from evals.training.model import MAX_LENGTH, build_model, logits, predict, softmax

_CHUNK = 3072
_BROAD = {
    "synthetic": 12.0, "argkp_topic": 14, "argkp21": 7, "berds": 13,
    "arguana": 6, "arc_stance": 6, "procon20": 8, "read_labels": 8,
    "ibm_gpr_sentence": 3, "ibm_ce_emnlp15": 4, "arc_gist": 2, "debatepedia": 4, "climate_fever": 4, "healthver": 3,
    "perspectrum_support": 5, "theperspective": 3, "fnc_arc": 2, "iam_window": 3, "vast_sentswap": 0.5, "wice": 0.5,
    "control": 1, "claimdiff": 1, "perspectrum_amt_pilot": 0.2,
}  # fmt: skip
_NEAR = {
    "read_labels": 20.0, "berds": 20, "argkp_topic": 16, "procon20": 10, "arguana": 8, "synthetic": 7, "arc_stance": 5,
    "perspectrum_support": 4, "theperspective": 3, "argkp21": 4, "iam_window": 2, "debatepedia": 1,
}  # fmt: skip
_WHOLE = (0.15, 0.4)  # how often a passage stays whole, in the broad and in the near part


@dataclass
class Plan:
    """Settings of a run. `steps`, when given, fixes the length; else `minutes` of work do."""

    minutes: float = 70.0
    steps: int = 0
    rate: float = 2e-4
    tokens: int = 3072
    warm_up: float = 0.04
    near_from: float = 0.55
    seed: int = 7
    threads: int = 2
    measure_every: float = 8.0
    """Minutes of training between checkpoints, each with a measurement."""


@dataclass
class Run:
    """The moving parts of a training run."""

    plan: Plan
    model: Any
    optimizer: Any
    tokenizer: Any
    sampler: Sampler
    out: Path
    step: int = 0
    seconds: float = 0.0
    queue: list[list[Example]] = field(default_factory=list)

    @property
    def progress(self) -> float:
        done = self.step / self.plan.steps if self.plan.steps else self.seconds / 60 / self.plan.minutes
        return min(done, 1.0)

    @property
    def rate(self) -> float:
        """Linear warm-up, then linear decay to 0."""
        p, warm = self.progress, self.plan.warm_up
        return self.plan.rate * min(p / warm + 0.02, (1 - p) / (1 - warm))


def _batches(run: Run) -> Iterator[list[Example]]:
    """Endless batches of pairs of like length, each of about `plan.tokens` tokens."""
    while True:
        if not run.queue:
            near = run.progress >= run.plan.near_from
            drawn = run.sampler.draw(_NEAR if near else _BROAD, _CHUNK, _WHOLE[near])
            run.queue = _bucketed(run, drawn)
        yield run.queue.pop()


def _bucketed(run: Run, drawn: list[Example]) -> list[list[Example]]:
    lengths = [len(e.ids) for e in run.tokenizer.encode_batch([[e.statement, e.text] for e in drawn])]
    batches: list[list[Example]] = []
    current: list[Example] = []
    for i in sorted(range(len(drawn)), key=lengths.__getitem__):
        if current and (len(current) + 1) * lengths[i] > run.plan.tokens:
            batches.append(current)
            current = []
        current.append(drawn[i])
    random.Random(run.sampler.state["chunk"]).shuffle(batches)
    return [*batches, current] if len(current) > 4 else batches


@dataclass
class Pace:
    """Chooses the number of threads again and again: where others use the processor, fewer threads are often faster."""

    most: int
    threads: int = 1
    spent: dict[int, list[float]] = field(default_factory=dict)

    @contextmanager
    def timed(self, step: int) -> Iterator[None]:
        """Sets the threads for a step and takes its time; in every 32 two try each number, for all cost the same."""
        import torch

        turn = step % 32
        if turn >= 2 * self.most:
            self.threads = min(self.spent or {self.most: [0.0]}, key=lambda n: min(self.spent.get(n, [0.0])[-2:]))
        else:
            self.threads = 1 + turn // 2
        torch.set_num_threads(self.threads)
        started = time.monotonic()
        yield
        if turn < 2 * self.most:
            self.spent.setdefault(self.threads, []).append(time.monotonic() - started)


def train_step(run: Run, batch: list[Example]) -> float:
    """One step of AdamW on the cross-entropy to the soft targets; returns the loss."""
    import torch

    for group in run.optimizer.param_groups:
        group["lr"] = run.rate * group["scale"]
    output = logits(run.model, run.tokenizer, [(e.statement, e.text) for e in batch])
    target = torch.tensor([e.target for e in batch], dtype=torch.float32)
    loss = torch.nn.functional.cross_entropy(output, target, label_smoothing=0.03)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(run.model.parameters(), 1.0)
    run.optimizer.step()
    run.optimizer.zero_grad()
    run.step += 1
    return float(loss.detach())


def measure(run: Run, corpus: Corpus, limit: int = 120) -> dict[str, float]:
    """The development pairs' AUC and F1, and support against oppose on held-out questions by data set."""
    found = {}
    pairs = [(s, t) for s, t, _ in corpus.development]
    truth = np.array([y for _, _, y in corpus.development], bool)
    score = softmax(predict(run.model, run.tokenizer, pairs))[:, 0]
    found["dev_auc"], (found["dev_f1"], _, found["dev_accuracy"]) = roc_auc(truth, score), best_f1(truth, score)
    for name in ("argkp_topic", "berds", "arc_stance", "procon20", "arguana", "read_labels"):
        held = hard(corpus.held_out[name])
        chosen = random.Random(name).sample(held, min(limit, len(held)))
        labels = np.array([e.label for e in chosen])
        p = softmax(predict(run.model, run.tokenizer, [(e.statement, e.text) for e in chosen]))
        found[name] = stance_accuracy(labels, p)
        found[f"{name}_50"] = stance_accuracy(labels, p, 0.5)
        if name == "read_labels":
            found["read_auc"] = roc_auc(labels == 0, p[:, 0])
    return {k: round(v, 3) for k, v in found.items()}


def save(run: Run) -> None:
    """Writes a checkpoint that `resume` reads; the old one is replaced only when the new one is whole."""
    import torch

    state = {
        "model": run.model.state_dict(), "optimizer": run.optimizer.state_dict(), "step": run.step,
        "seconds": run.seconds, "sampler": run.sampler.state, "torch_rng": torch.get_rng_state(),
    }  # fmt: skip
    torch.save(state, run.out / "checkpoint.tmp")
    (run.out / "checkpoint.tmp").replace(run.out / "checkpoint.pt")


def resume(run: Run) -> bool:
    """Goes on from the checkpoint where there is one. The rest of the chunk that was being read is not read again."""
    import torch

    path = run.out / "checkpoint.pt"
    if not path.exists():
        return False
    state = torch.load(path, weights_only=True)
    run.model.load_state_dict(state["model"])
    run.optimizer.load_state_dict(state["optimizer"])
    run.step, run.seconds, run.sampler.state = state["step"], state["seconds"], state["sampler"]
    torch.set_rng_state(state["torch_rng"])
    return True


def export(run: Run, folder: Path) -> None:
    """Half-precision weights named as in BertModel plus `classifier.*`, the tokenizer and a small config."""
    import torch
    from safetensors.torch import save_file

    folder.mkdir(parents=True, exist_ok=True)
    names = {n.removeprefix("bert."): v.to(torch.float16).contiguous() for n, v in run.model.state_dict().items()}
    save_file(names, folder / "model.safetensors")
    run.tokenizer.save(str(folder / "tokenizer.json"))
    settings = run.model["bert"].config
    config = {
        "labels": list(LABELS), "max_length": MAX_LENGTH, "layers": settings.num_hidden_layers,
        "heads": settings.num_attention_heads,
        "width": settings.hidden_size, "inner": settings.intermediate_size, "base": "all-MiniLM-L6-v2",
        "steps": run.step, "seconds": round(run.seconds), "plan": vars(run.plan),
    }  # fmt: skip
    (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n", encoding="utf-8")


def start(plan: Plan, corpus: Corpus, out: Path) -> Run:
    """A run with a fresh model, or with the checkpoint in `out`."""
    import torch

    torch.set_num_threads(plan.threads)
    torch.manual_seed(plan.seed)
    out.mkdir(parents=True, exist_ok=True)
    model, tokenizer = build_model()
    head = list(model["classifier"].parameters())
    body = [p for p in model["bert"].parameters() if p.requires_grad]
    groups = [{"params": body, "scale": 1.0, "weight_decay": 0.01}, {"params": head, "scale": 5.0, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=plan.rate, fused=True)
    run = Run(plan, model, optimizer, tokenizer, Sampler(corpus.training, plan.seed), out)
    resume(run)
    model.train()
    return run


def train(run: Run, corpus: Corpus) -> None:
    """Trains to the end of the plan, with a log line, a checkpoint and an export at every measurement."""
    losses: list[float] = []
    pace = Pace(run.plan.threads)
    seen, next_stop, clock = 0, run.seconds / 60 + run.plan.measure_every, time.monotonic()
    for batch in _batches(run):
        with pace.timed(run.step):
            losses.append(train_step(run, batch))
        seen += len(batch)
        run.seconds, clock = run.seconds + time.monotonic() - clock, time.monotonic()
        if run.step % 50 == 0:
            _log(run, {"loss": round(float(np.mean(losses[-50:])), 4), "pairs": seen, "threads": pace.threads})
        if run.progress >= 1 or run.seconds / 60 >= next_stop:
            next_stop = run.seconds / 60 + run.plan.measure_every
            save(run)
            export(run, run.out / "weights")
            _log(run, measure(run, corpus))
        if run.progress >= 1:
            return


def _log(run: Run, values: dict[str, float]) -> None:
    line = {"step": run.step, "minutes": round(run.seconds / 60, 2), "rate": round(run.rate, 7), **values}
    with (run.out / "train.jsonl").open("a", encoding="utf-8") as log:
        log.write(json.dumps(line) + "\n")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--data", type=Path, required=True, metavar="DIR", help="the folder that holds judge/ and berds/"
    )
    parser.add_argument(
        "--out", type=Path, required=True, metavar="DIR", help="checkpoints, log and weights; resumed if there"
    )
    for name, kind in (
        ("minutes", float), ("steps", int), ("rate", float), ("tokens", int), ("seed", int), ("threads", int),
        ("measure-every", float),
    ):  # fmt: skip
        parser.add_argument(f"--{name}", type=kind, default=getattr(Plan, name.replace("-", "_")))


def run(args: argparse.Namespace) -> int:
    """Trains until the plan is done; needs the extra 'models'."""
    names = [f.name for f in fields(Plan) if hasattr(args, f.name)]
    plan = Plan(**{name: getattr(args, name) for name in names})
    corpus = load_corpus(args.data, plan.seed)
    train(start(plan, corpus, args.out), corpus)
    return 0
