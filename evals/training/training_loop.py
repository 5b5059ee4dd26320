"""The training loop of the judges: AdamW on pairs from a mixture of data sets, with checkpoints.

The learning rate rises over the first 3 % of the plan, then falls linearly to 0. As a second task, the small judge
learns to predict the cosine of the encoder's vectors of statement and text. This task keeps the topical knowledge of
the base model. Towards the end of training, inputs are rounded as int8 rounds them. The exported weights are the mean
of the last steps.
"""

import json
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import save_file
from torch.nn import functional

from evals.suite import progress
from evals.training.data import Corpus, Example
from evals.training.model import build_model, outputs, trained_weights
from evals.training.pack import TOKENIZER, WEIGHTS
from evals.training.sampler import Sampler
from evals.training.train import TrainingPlan
from tools.models.encoders import Encoder, load_encoder
from tools.models.judges.embedded import ANSWERS

_CHUNK = 3072  # pairs that the sampler draws at once
_AVERAGED = 20  # steps between two weights in the mean
_SMOOTH = 0.03  # label smoothing
_WARM_UP = 0.03
_SECONDS = 600.0  # between checkpoints
_COSINE = (0.35, 0.2)  # approximate mean and standard deviation of the cosines
_PARTS = ("model", "mean", "optimizer")


@dataclass(frozen=True, slots=True)
class Batch:
    """Pairs of similar length, their cosines, and the number of tokens with padding."""

    examples: list[Example]
    cosines: NDArray[np.float32]
    tokens: int


@dataclass
class TrainingRun:
    """State of a training run. mean: torch's AveragedModel. read: number of tokens read so far."""

    plan: TrainingPlan
    model: Any
    optimizer: Any
    mean: Any
    tokenizer: Any
    encoder: Encoder
    sampler: Sampler
    out: Path
    step: int = 0
    read: int = 0
    vectors: dict[str, NDArray[np.float32]] = field(default_factory=dict)

    @property
    def progress(self) -> float:
        """Returns the completed share of the plan, 0 to 1."""
        return min(self.read / (self.plan.millions * 1e6), 1.0)

    @property
    def best(self) -> Any:
        """Returns the mean of the weights, or the current weights before averaging starts."""
        return self.mean.module if int(self.mean.n_averaged) else self.model

    @property
    def rate(self) -> float:
        """Returns the current learning rate. The rate starts at a fiftieth of the highest rate."""
        return self.plan.rate * min(self.progress / _WARM_UP + 0.02, (1 - self.progress) / (1 - _WARM_UP))


def _batches(run: TrainingRun) -> Iterator[Batch]:
    """Yields endless batches of about `plan.tokens` tokens."""
    while True:
        sets, whole = run.plan.mixture(run.progress)
        yield from _bucketed(run, run.sampler.draw(sets, _CHUNK, whole, run.plan.joint))


def _bucketed(run: TrainingRun, drawn: list[Example]) -> list[Batch]:
    lengths = [len(e.ids) for e in run.tokenizer.encode_batch([[e.statement, e.text] for e in drawn])]
    cosines = _cosines(run, drawn) if run.plan.nearness else np.zeros(len(drawn), np.float32)
    parts: list[list[int]] = [[]]
    for i in sorted(range(len(drawn)), key=lengths.__getitem__):
        if parts[-1] and (len(parts[-1]) + 1) * lengths[i] > run.plan.tokens:
            parts.append([])
        parts[-1].append(i)
    batches = [Batch([drawn[i] for i in p], cosines[p], lengths[p[-1]] * len(p)) for p in parts if len(p) > 4]
    random.Random(run.sampler.state["chunk"]).shuffle(batches)
    return batches[::-1]


def _cosines(run: TrainingRun, drawn: list[Example]) -> NDArray[np.float32]:
    new = sorted({t for e in drawn for t in (e.statement, e.text)} - run.vectors.keys())
    run.vectors.update(zip(new, run.encoder.encode(new), strict=True))
    return np.array([run.vectors[e.statement] @ run.vectors[e.text] for e in drawn], np.float32)


def train_step(run: TrainingRun, batch: Batch) -> float:
    """One step of AdamW. Returns the cross-entropy to the soft targets."""
    for group in run.optimizer.param_groups:
        group["lr"] = run.rate * group["scale"]
    pairs = [(e.statement, e.text) for e in batch.examples]
    logits, near = outputs(run.model, run.tokenizer, pairs, run.progress >= run.plan.coarse_from)
    device = logits.device
    target = torch.tensor([e.target[: len(ANSWERS)] for e in batch.examples], dtype=torch.float32, device=device)
    cosines = (torch.from_numpy(batch.cosines).to(device) - _COSINE[0]) / _COSINE[1]
    loss = functional.binary_cross_entropy_with_logits(logits, target * (1 - _SMOOTH) + _SMOOTH / 2)
    (loss + run.plan.nearness * functional.mse_loss(near, cosines)).backward()
    torch.nn.utils.clip_grad_norm_(run.model.parameters(), 1.0)
    run.optimizer.step()
    run.optimizer.zero_grad()
    run.step += 1
    run.read += batch.tokens
    if run.progress >= run.plan.mean_from and run.step % _AVERAGED == 0:
        run.mean.update_parameters(run.model)
    return float(loss.detach())


def _save(run: TrainingRun) -> None:
    """Writes a checkpoint. The previous one stays until the new one is complete."""
    state: dict[str, Any] = {name: getattr(run, name).state_dict() for name in _PARTS}
    state |= {"step": run.step, "read": run.read, "sampler": run.sampler.state, "torch_rng": torch.get_rng_state()}
    torch.save(state, run.out / "checkpoint.tmp")
    (run.out / "checkpoint.tmp").replace(run.out / "checkpoint.pt")


def _resume(run: TrainingRun) -> None:
    """Loads the checkpoint, if one exists. Training skips the rest of the interrupted chunk."""
    path = run.out / "checkpoint.pt"
    if path.exists():
        state = torch.load(path, weights_only=True, map_location=run.model["classifier"].weight.device)
        for name in _PARTS:
            getattr(run, name).load_state_dict(state[name])
        run.step, run.read, run.sampler.state = state["step"], state["read"], state["sampler"]
        torch.set_rng_state(state["torch_rng"].cpu())


def _export(run: TrainingRun) -> None:
    """Writes a checkpoint. Writes the half-precision weights and the tokenizer to `weights/`."""
    _save(run)
    folder = run.out / "weights"
    folder.mkdir(exist_ok=True)
    kept = {n: v.to("cpu", torch.float16).contiguous() for n, v in trained_weights(run.best).items()}
    save_file(kept, folder / WEIGHTS)
    run.tokenizer.save(str(folder / TOKENIZER))


def start(plan: TrainingPlan, corpus: Corpus, out: Path) -> TrainingRun:
    """Starts a run with a new model, or continues from the checkpoint in `out`."""
    torch.manual_seed(plan.seed)
    model, tokenizer = build_model(Path(plan.base) if plan.base else None, plan.frozen)
    model.to("cuda" if torch.cuda.is_available() else "cpu")
    head = [*model["classifier"].parameters(), *model["nearness"].parameters()]
    body = [p for p in model["encoder"].parameters() if p.requires_grad]
    groups = [{"params": body, "scale": 1.0, "weight_decay": 0.01}, {"params": head, "scale": 5.0, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=plan.rate, fused=True)
    mean = torch.optim.swa_utils.AveragedModel(model)
    run = TrainingRun(plan, model, optimizer, mean, tokenizer, load_encoder(), Sampler(corpus.training, plan.seed), out)
    _resume(run)
    model.train()
    return run


def train(run: TrainingRun) -> None:
    """Trains to the end of the plan. Writes a checkpoint every ten minutes, at the end and on Ctrl-C."""
    losses, saved, batches = list[float](), time.monotonic(), _batches(run)
    with progress(total=round(run.plan.millions * 1e6), initial=run.read, unit="token", unit_scale=True) as bar:
        try:
            while run.progress < 1:
                batch = next(batches)
                losses.append(train_step(run, batch))
                bar.update(batch.tokens)
                if run.step % 50 == 0 or run.progress >= 1:
                    line = {"step": run.step, "done": round(run.progress, 4), "rate": round(run.rate, 7)}
                    with (run.out / "train.jsonl").open("a", encoding="utf-8") as log:
                        log.write(json.dumps(line | {"loss": round(float(np.mean(losses[-50:])), 4)}) + "\n")
                if time.monotonic() - saved > _SECONDS and run.progress < 1:
                    _export(run)
                    saved = time.monotonic()
        except KeyboardInterrupt:
            _save(run)
            raise
    _export(run)
