"""LoRA (Hu et al. 2021) of an instruct model on labelled pairs: the large judge, as the BERDS paper tuned Mistral-7B.

The model is asked by the same prompt as in use, and learns the answer's first token: Yes as surely as the label says.
What is written is a whole model, adapter merged, that vLLM serves like any other.
"""

import random
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evals.training.data import Corpus, Example
from evals.training.plan import linear
from prompts import Prompt
from tools.errors import InputError, SettingsError
from tools.inference.batching import parts
from tools.inference.judges.chat import messages, read_judge_prompt
from tools.inference.judges.judge import Pair
from tools.serving.models import mark_judge

_SETS = ("read_labels", "readings", "labels")
"""Whole passages with statements in the manner of the questions that are asked."""
_CHECKPOINT = "checkpoint"


@dataclass(frozen=True, slots=True)
class Plan:
    """Settings of a tuning. rank: of the adapter's matrices. batch: pairs a step. together: of them, pairs that
    are computed at a time. longest: tokens of a prompt."""

    base: str
    prompt: str = "judge"
    pairs: int = 3000
    rate: float = 1e-4
    rank: int = 16
    batch: int = 16
    together: int = 4
    longest: int = 1024
    warm_up: float = 0.05
    save_every: int = 20
    seed: int = 7


@dataclass
class Tuning:
    """The moving parts: a model with its adapter, and how far it is."""

    plan: Plan
    model: Any
    tokenizer: Any
    optimizer: Any
    examples: Sequence[Example]
    step: int = 0

    @property
    def steps(self) -> int:
        return -(-len(self.examples) // self.plan.batch)

    @property
    def rate(self) -> float:
        """Linear warm-up, then linear decay to 0."""
        return self.plan.rate * linear(self.step / self.steps, self.plan.warm_up)


def tune(plan: Plan, corpus: Corpus, out: Path, download: bool) -> None:
    """Trains to the end of the plan and writes `out`/model; an interruption leaves a checkpoint, from which it goes on.

    Raises SettingsError for a model that cannot be had or asked.
    """
    from tqdm import tqdm

    prompt_of(plan)
    tuning = _start(plan, choose(corpus, plan), out, download)
    bar = tqdm(total=tuning.steps, initial=tuning.step, unit="step", disable=not sys.stderr.isatty())
    try:
        while tuning.step < tuning.steps:
            bar.set_postfix(loss=round(_step(tuning), 3))
            bar.update()
            if tuning.step % plan.save_every == 0:
                _save(tuning, out)
    except KeyboardInterrupt:
        _save(tuning, out)
        raise
    finally:
        bar.close()
    _save(tuning, out)
    merged = tuning.model.merge_and_unload()
    mark_judge(merged.config)
    merged.save_pretrained(out / "model")
    tuning.tokenizer.save_pretrained(out / "model")
    print(f"Written: {out / 'model'}\nServe it: make local-models MODEL={out / 'model'}", file=sys.stderr)


def choose(corpus: Corpus, plan: Plan) -> list[Example]:
    """A seeded sample, in the order in which it is learned. Raises InputError where there is nothing to learn from."""
    known = [e for name in _SETS for e in corpus.training.get(name, ())]
    if not known:
        raise InputError("there are no labelled passages to learn from: neither read_labels in the data nor --labels.")
    return random.Random(plan.seed).sample(known, min(plan.pairs, len(known)))


def _start(plan: Plan, examples: Sequence[Example], out: Path, download: bool) -> Tuning:
    import torch
    from peft import LoraConfig, PeftModel, get_peft_model

    torch.manual_seed(plan.seed)
    model, tokenizer = _load(plan.base, download)
    kept = out / _CHECKPOINT
    if kept.exists():
        adapted = PeftModel.from_pretrained(model, kept, is_trainable=True)
    else:
        shape = LoraConfig(r=plan.rank, lora_alpha=2 * plan.rank, target_modules="all-linear", task_type="CAUSAL_LM")
        adapted = get_peft_model(model, shape)
    trained = [p for p in adapted.parameters() if p.requires_grad]
    tuning = Tuning(plan, adapted, tokenizer, torch.optim.AdamW(trained, lr=plan.rate), examples)
    if kept.exists():
        state = torch.load(kept / "state.pt", weights_only=True, map_location="cpu")
        tuning.optimizer.load_state_dict(state["optimizer"])
        tuning.step = state["step"]
    adapted.train()
    if adapted.device.type == "cuda":
        adapted.gradient_checkpointing_enable()
        adapted.enable_input_require_grads()
    return tuning


def _load(base: str, download: bool) -> tuple[Any, Any]:
    """The model and its tokenizer, on the GPU in bfloat16 where there is one."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    there = {"local_files_only": not download}
    try:
        tokenizer = AutoTokenizer.from_pretrained(base, **there)
        cuda = torch.cuda.is_available()
        model = AutoModelForCausalLM.from_pretrained(base, dtype=torch.bfloat16 if cuda else torch.float32, **there)
    except (OSError, ValueError, ImportError, RuntimeError) as exc:
        why = (str(exc).splitlines() or [type(exc).__name__])[0]
        raise SettingsError(f"the model {base} cannot be loaded ({why}). Check the name, or add --download.") from exc
    if tokenizer.chat_template is None:
        raise SettingsError(f"{base} is no instruct model: its tokenizer has no chat template.")
    return model.to("cuda" if cuda else "cpu"), tokenizer


def _step(tuning: Tuning) -> float:
    """One step of AdamW on the cross-entropy of the answer's first token; returns the loss."""
    import torch

    plan = tuning.plan
    for group in tuning.optimizer.param_groups:
        group["lr"] = tuning.rate
    chosen = tuning.examples[tuning.step * plan.batch : (tuning.step + 1) * plan.batch]
    total = 0.0
    for part in parts(chosen, plan.together):
        loss = _loss(tuning, part) * (len(part) / len(chosen))
        loss.backward()
        total += float(loss.detach())
    torch.nn.utils.clip_grad_norm_(tuning.model.parameters(), 1.0)
    tuning.optimizer.step()
    tuning.optimizer.zero_grad()
    tuning.step += 1
    return total


def _loss(tuning: Tuning, part: Sequence[Example]) -> Any:
    """Mean cross-entropy of Yes and No at the place of the answer. Prompts are padded at their beginning, so that all
    end in the same column, the only one whose logits are computed."""
    import torch

    encoded = [_encode(tuning, e) for e in part]
    ids = torch.zeros(len(part), max(map(len, encoded)), dtype=torch.long)
    mask = torch.zeros_like(ids)
    for row, tokens in enumerate(encoded):
        ids[row, -len(tokens) :] = torch.tensor(tokens)
        mask[row, -len(tokens) :] = 1
    device = tuning.model.device
    output = tuning.model(input_ids=ids.to(device), attention_mask=mask.to(device), logits_to_keep=1)
    logs = torch.log_softmax(output.logits[:, -1].float(), dim=1)[:, list(answers(tuning.tokenizer))]
    sure = torch.tensor([e.target[0] for e in part], device=device)
    return -(sure * logs[:, 0] + (1 - sure) * logs[:, 1]).mean()


def prompt_of(plan: Plan) -> Prompt:
    """How the model is asked. Raises SettingsError."""
    return read_judge_prompt(Path(plan.prompt))


def _encode(tuning: Tuning, example: Example) -> list[int]:
    """The prompt's tokens up to where the answer begins; of one that is too long the passage loses its end."""
    text, prompt = example.text, prompt_of(tuning.plan)
    while True:
        asked = messages(prompt, Pair(example.statement, text))
        try:
            tokens = tuning.tokenizer.apply_chat_template(asked, add_generation_prompt=True, return_dict=False)
        except Exception as exc:  # a template raises whatever its author thought of
            raise SettingsError(
                f"the model's chat template refuses the prompt ({exc}). Name one without a [system] part: --prompt FILE"
            ) from exc
        if len(tokens) <= tuning.plan.longest or not text:
            return list(tokens)
        text = text[: len(text) * 3 // 4]


def answers(tokenizer: Any) -> tuple[int, int]:
    """The tokens with which Yes and No begin. Raises SettingsError where they are the same."""
    yes, no = (tokenizer.encode(word, add_special_tokens=False)[0] for word in ("Yes", "No"))
    if yes == no:
        raise SettingsError("the model's tokenizer writes Yes and No with the same first token.")
    return yes, no


def _save(tuning: Tuning, out: Path) -> None:
    """Adapter and optimizer together, in the place of the former ones only when both are whole."""
    import torch

    fresh, kept, former = (out / name for name in (f"{_CHECKPOINT}.new", _CHECKPOINT, f"{_CHECKPOINT}.old"))
    for folder in (fresh, former):
        shutil.rmtree(folder, ignore_errors=True)
    tuning.model.save_pretrained(fresh, save_embedding_layers=False)
    torch.save({"optimizer": tuning.optimizer.state_dict(), "step": tuning.step}, fresh / "state.pt")
    if kept.exists():
        kept.rename(former)
    fresh.rename(kept)
    shutil.rmtree(former, ignore_errors=True)
