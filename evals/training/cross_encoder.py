"""Trains the embedded judge: a BERT cross-encoder over [CLS] statement [SEP] text [SEP] with two yes/no answers.

The base is all-MiniLM-L6-v2, or a larger encoder that is named; its word embeddings stay fixed. The learning rate rises
over the first hundredths of the plan and then falls in a line to nothing at its end; the later part draws from the sets
nearest to the use. Beside the two answers the model learns to tell the cosine of the encoder's vectors of statement and
text, which keeps what the base knows of nearness while it learns what agreeing is. Towards the end it computes with
inputs as coarse as int8, and what is kept is the mean of the weights over the second half.
"""

import json
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evals.suite import progress
from evals.training.data import Corpus
from evals.training.examples import Example
from evals.training.model import build_model, outputs, trained_weights
from evals.training.packing import TOKENIZER, WEIGHTS
from evals.training.sampler import Sampler
from evals.training.train import Plan
from tools.models.encoders.encoder import Encoder, load_encoder
from tools.models.judges.embedded import ANSWERS

_CHUNK = 3072
_AVERAGED = 20  # steps between two weights of which the mean is taken
_SMOOTH = 0.03  # of the targets: labels err
_COSINE = (0.35, 0.2)  # about the mean and spread of the cosines
_PARTS, _COUNTS = ("model", "mean", "optimizer"), ("step", "seconds", "read")
"""What of a run is in its checkpoint, beside what the sampler has drawn."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Pairs of like length; the cosine of each; and the tokens that they take, padding included."""

    examples: list[Example]
    cosines: NDArray[np.float32]
    tokens: int


@dataclass
class Nearness:
    """Cosines of the encoder's vectors; a text is encoded once."""

    encoder: Encoder
    known: dict[str, NDArray[np.float32]] = field(default_factory=dict)

    def cosines(self, drawn: list[Example], batch: int = 64) -> NDArray[np.float32]:
        """float32 of shape (n,), of statement and text."""
        new = sorted({t for e in drawn for t in (e.statement, e.text)} - self.known.keys(), key=len)
        for i in range(0, len(new), batch):
            self.known.update(zip(new[i : i + batch], self.encoder.encode(new[i : i + batch]), strict=True))
        return np.array([self.known[e.statement] @ self.known[e.text] for e in drawn], np.float32)


@dataclass
class Run:
    """The moving parts of a training run. mean: of the weights along the way (torch's AveragedModel). read: tokens so
    far."""

    plan: Plan
    model: Any
    optimizer: Any
    mean: Any
    tokenizer: Any
    nearness: Nearness
    sampler: Sampler
    out: Path
    step: int = 0
    seconds: float = 0.0
    read: int = 0
    queue: list[Batch] = field(default_factory=list)

    @property
    def progress(self) -> float:
        """The share of the plan that is over, 0 to 1."""
        return min(self.read / (self.plan.millions * 1e6), 1.0)

    @property
    def best(self) -> Any:
        """The mean of the weights where there is one, else the weights."""
        return self.mean.module if int(self.mean.n_averaged) else self.model

    @property
    def rate(self) -> float:
        """Up in a line from a fiftieth of the highest, so that the first steps count, then down in a line to 0."""
        done, warm_up = self.progress, self.plan.warm_up
        return self.plan.rate * min(done / warm_up + 0.02, (1 - done) / (1 - warm_up))


def _batches(run: Run) -> Iterator[Batch]:
    """Endless batches of pairs of like length, each of about `plan.tokens` tokens."""
    while True:
        if not run.queue:
            sets, whole = run.plan.drawn(run.progress)
            run.queue = _bucketed(run, run.sampler.draw(sets, _CHUNK, whole, run.plan.told))
        yield run.queue.pop()


def _bucketed(run: Run, drawn: list[Example]) -> list[Batch]:
    lengths = [len(e.ids) for e in run.tokenizer.encode_batch([[e.statement, e.text] for e in drawn])]
    cosines = run.nearness.cosines(drawn) if run.plan.nearness else np.zeros(len(drawn), np.float32)
    parts: list[list[int]] = [[]]
    for i in sorted(range(len(drawn)), key=lengths.__getitem__):
        if parts[-1] and (len(parts[-1]) + 1) * lengths[i] > run.plan.tokens:
            parts.append([])
        parts[-1].append(i)
    batches = [Batch([drawn[i] for i in p], cosines[p], lengths[p[-1]] * len(p)) for p in parts if len(p) > 4]
    random.Random(run.sampler.state["chunk"]).shuffle(batches)
    return batches


def train_step(run: Run, batch: Batch) -> float:
    """One step of AdamW on the answers' cross-entropy to the soft targets, which it returns, and on the cosine."""
    import torch

    for group in run.optimizer.param_groups:
        group["lr"] = run.rate * group["scale"]
    pairs = [(e.statement, e.text) for e in batch.examples]
    found, near = outputs(run.model, run.tokenizer, pairs, run.progress >= run.plan.coarse_from)
    target = torch.tensor([e.target[: len(ANSWERS)] for e in batch.examples], dtype=torch.float32, device=found.device)
    told = (torch.from_numpy(batch.cosines).to(found.device) - _COSINE[0]) / _COSINE[1]
    loss = torch.nn.functional.binary_cross_entropy_with_logits(found, target * (1 - _SMOOTH) + _SMOOTH / 2)
    beside = torch.nn.functional.mse_loss(near, told)
    (loss + run.plan.nearness * beside).backward()
    torch.nn.utils.clip_grad_norm_(run.model.parameters(), 1.0)
    run.optimizer.step()
    run.optimizer.zero_grad()
    run.step += 1
    run.read += batch.tokens
    if run.progress >= run.plan.mean_from and run.step % _AVERAGED == 0:
        run.mean.update_parameters(run.model)
    return float(loss.detach())


def save(run: Run) -> None:
    """Writes a checkpoint; the old one is replaced only when the new one is whole."""
    import torch

    parts = {name: getattr(run, name).state_dict() for name in _PARTS}
    counts = {name: getattr(run, name) for name in _COUNTS}
    state = {**parts, **counts, "sampler": run.sampler.state, "torch_rng": torch.get_rng_state()}
    torch.save(state, run.out / "checkpoint.tmp")
    (run.out / "checkpoint.tmp").replace(run.out / "checkpoint.pt")


def resume(run: Run) -> None:
    """Goes on from the checkpoint where there is one. The rest of the chunk that was being read is not read again."""
    import torch

    path = run.out / "checkpoint.pt"
    if path.exists():
        state = torch.load(path, weights_only=True, map_location=run.model["classifier"].weight.device)
        for name in _PARTS:
            getattr(run, name).load_state_dict(state[name])
        for name in _COUNTS:
            setattr(run, name, state[name])
        run.sampler.state = state["sampler"]
        torch.set_rng_state(state["torch_rng"].cpu())


def export(run: Run, folder: Path) -> None:
    """Half-precision weights named as in BertModel plus `classifier.*`, and the tokenizer."""
    import torch
    from safetensors.torch import save_file

    folder.mkdir(parents=True, exist_ok=True)
    kept = {n: v.to("cpu", torch.float16).contiguous() for n, v in trained_weights(run.best).items()}
    save_file(kept, folder / WEIGHTS)
    run.tokenizer.save(str(folder / TOKENIZER))


def start(plan: Plan, corpus: Corpus, out: Path) -> Run:
    """A run with a fresh model, or with the checkpoint in `out`."""
    import torch

    torch.manual_seed(plan.seed)
    out.mkdir(parents=True, exist_ok=True)
    model, tokenizer = build_model(Path(plan.base) if plan.base else None, plan.frozen)
    model.to("cuda" if torch.cuda.is_available() else "cpu")
    head = [*model["classifier"].parameters(), *model["nearness"].parameters()]
    body = [p for p in model["encoder"].parameters() if p.requires_grad]
    groups = [{"params": body, "scale": 1.0, "weight_decay": 0.01}, {"params": head, "scale": 5.0, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=plan.rate, fused=True)
    mean = torch.optim.swa_utils.AveragedModel(model)
    nearness = Nearness(load_encoder())
    run = Run(plan, model, optimizer, mean, tokenizer, nearness, Sampler(corpus.training, plan.seed), out)
    resume(run)
    model.train()
    return run


def train(run: Run) -> None:
    """Trains to the end of the plan; writes a checkpoint and the weights every few minutes, and a checkpoint when it is
    interrupted."""
    with progress(total=round(run.plan.millions * 1e6), initial=run.read, unit="token", unit_scale=True) as bar:
        try:
            _train(run, bar)
        except KeyboardInterrupt:
            save(run)
            raise
    _keep(run)


def _train(run: Run, bar: Any) -> None:
    losses: list[float] = []
    next_stop, clock = run.seconds / 60 + run.plan.measure_every, time.monotonic()
    for batch in _batches(run):
        if run.progress >= 1:
            return
        losses.append(train_step(run, batch))
        run.seconds, clock = run.seconds + time.monotonic() - clock, time.monotonic()
        bar.update(batch.tokens)
        if run.step % 50 == 0 or run.progress >= 1:
            _log(run, float(np.mean(losses[-50:])))
        if run.seconds / 60 >= next_stop and run.progress < 1:
            next_stop = run.seconds / 60 + run.plan.measure_every
            _keep(run)
            clock = time.monotonic()


def _keep(run: Run) -> None:
    save(run)
    export(run, run.out / "weights")


def _log(run: Run, loss: float) -> None:
    told = {"step": run.step, "minutes": round(run.seconds / 60, 2), "done": round(run.progress, 4)}
    told |= {"rate": round(run.rate, 7), "loss": round(loss, 4)}
    with (run.out / "train.jsonl").open("a", encoding="utf-8") as log:
        log.write(json.dumps(told) + "\n")
