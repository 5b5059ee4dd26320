"""LoRA (Hu et al. 2021) of an instruct model on labelled pairs: the large judge, as the BERDS paper tuned Mistral-7B.

The model is asked by the same prompt as in use, and learns the answer's first token: Yes as surely as the label says.
What is written is a whole model, adapter merged, that vLLM serves like any other.
"""

import random
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evals.training.data import Corpus, Example
from prompts import Prompt
from tools.errors import InputError, SettingsError
from tools.inference.judges.chat import messages, read_judge_prompt
from tools.inference.judges.judge import Pair
from tools.serving.models import mark_judge

_SETS = ("read_labels", "readings", "labels")
"""Whole passages with statements in the manner of the questions that are asked."""


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


def tune(plan: Plan, corpus: Corpus, out: Path, download: bool) -> None:
    """Trains to the end of the plan and writes `out`/model; from the last checkpoint in `out`, where there is one.

    Raises SettingsError for a model that cannot be had or asked.
    """
    from peft import LoraConfig, get_peft_model
    from transformers.trainer_utils import get_last_checkpoint

    examples = choose(corpus, plan)
    model, tokenizer = _load(plan.base, download)
    shape = LoraConfig(r=plan.rank, lora_alpha=2 * plan.rank, target_modules="all-linear", task_type="CAUSAL_LM")
    adapted = get_peft_model(model, shape)
    if adapted.device.type == "cuda":
        adapted.gradient_checkpointing_enable()
        adapted.enable_input_require_grads()
    trainer = _trainer(plan, adapted, tokenizer, examples, out)
    trainer.train(resume_from_checkpoint=get_last_checkpoint(str(out)))
    merged = trainer.model.merge_and_unload()
    mark_judge(merged.config)
    merged.save_pretrained(out / "model")
    tokenizer.save_pretrained(out / "model")
    print(f"Written: {out / 'model'}\nServe it: make local-models MODEL={out / 'model'}", file=sys.stderr)


def choose(corpus: Corpus, plan: Plan) -> list[Example]:
    """A seeded sample, in the order in which it is learned. Raises InputError where there is nothing to learn from."""
    known = [e for name in _SETS for e in corpus.training.get(name, ())]
    if not known:
        raise InputError("there are no labelled passages to learn from: neither read_labels in the data nor --labels.")
    return random.Random(plan.seed).sample(known, min(plan.pairs, len(known)))


def _load(base: str, download: bool) -> tuple[Any, Any]:
    """The model and its tokenizer, in bfloat16 where there is a GPU."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    there = {"local_files_only": not download}
    try:
        tokenizer = AutoTokenizer.from_pretrained(base, **there)
        kind = torch.bfloat16 if torch.cuda.is_available() else torch.float32
        model = AutoModelForCausalLM.from_pretrained(base, dtype=kind, **there)
        model.to("cuda" if torch.cuda.is_available() else "cpu")
    except (OSError, ValueError, ImportError, RuntimeError) as exc:
        why = (str(exc).splitlines() or [type(exc).__name__])[0]
        raise SettingsError(f"the model {base} cannot be loaded ({why}). Check the name, or add --download.") from exc
    if tokenizer.chat_template is None:
        raise SettingsError(f"{base} is no instruct model: its tokenizer has no chat template.")
    return model, tokenizer


def _trainer(plan: Plan, model: Any, tokenizer: Any, examples: Sequence[Example], out: Path) -> Any:
    """Mean cross-entropy of Yes and No at the place of the answer, by transformers' Trainer. Prompts are padded at
    their beginning, so that all end in the same column, the only one whose logits are computed."""
    import torch
    from transformers import Trainer, TrainingArguments

    yes_no, prompt = list(answers(tokenizer)), prompt_of(plan)

    class AnswerTrainer(Trainer):  # type: ignore[misc]  # transformers has no types here
        def compute_loss(self, model: Any, inputs: Any, **_: Any) -> Any:
            output = model(input_ids=inputs["ids"], attention_mask=inputs["mask"], logits_to_keep=1)
            logs = torch.log_softmax(output.logits[:, -1].float(), dim=1)[:, yes_no]
            return -(inputs["sure"] * logs[:, 0] + (1 - inputs["sure"]) * logs[:, 1]).mean()

    def collated(part: list[Example]) -> dict[str, Any]:
        encoded = [encode(tokenizer, prompt, e, plan.longest) for e in part]
        ids = torch.zeros(len(part), max(map(len, encoded)), dtype=torch.long)
        mask = torch.zeros_like(ids)
        for row, tokens in enumerate(encoded):
            ids[row, -len(tokens) :] = torch.tensor(tokens)
            mask[row, -len(tokens) :] = 1
        return {"ids": ids, "mask": mask, "sure": torch.tensor([e.target[0] for e in part])}

    settings = TrainingArguments(
        output_dir=str(out), num_train_epochs=1, learning_rate=plan.rate, warmup_steps=plan.warm_up, seed=plan.seed,
        per_device_train_batch_size=plan.together, gradient_accumulation_steps=plan.batch // plan.together,
        save_steps=plan.save_every, save_total_limit=1, report_to=[], remove_unused_columns=False,
        dataloader_pin_memory=torch.cuda.is_available(), disable_tqdm=not sys.stderr.isatty(),
    )  # fmt: skip
    return AnswerTrainer(model=model, args=settings, train_dataset=list(examples), data_collator=collated)


def prompt_of(plan: Plan) -> Prompt:
    """How the model is asked. Raises SettingsError."""
    return read_judge_prompt(Path(plan.prompt))


def encode(tokenizer: Any, prompt: Prompt, example: Example, longest: int) -> list[int]:
    """The prompt's tokens up to where the answer begins; of one that is too long the passage loses its end. Raises
    SettingsError where the model's template refuses the prompt."""
    text = example.text
    while True:
        asked = messages(prompt, Pair(example.statement, text))
        try:
            tokens = tokenizer.apply_chat_template(asked, add_generation_prompt=True, return_dict=False)
        except Exception as exc:  # a template raises whatever its author thought of
            raise SettingsError(
                f"the model's chat template refuses the prompt ({exc}). Name one without a [system] part: --prompt FILE"
            ) from exc
        if len(tokens) <= longest or not text:
            return list(tokens)
        text = text[: len(text) * 3 // 4]


def answers(tokenizer: Any) -> tuple[int, int]:
    """The tokens with which Yes and No begin. Raises SettingsError where they are the same."""
    yes, no = (tokenizer.encode(word, add_special_tokens=False)[0] for word in ("Yes", "No"))
    if yes == no:
        raise SettingsError("the model's tokenizer writes Yes and No with the same first token.")
    return yes, no
