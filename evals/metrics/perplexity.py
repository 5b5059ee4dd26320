"""Perplexity of texts under a local causal language model: Perspective Diversity of DebateQA."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tools.budget import batches
from tools.errors import InputError
from tools.models.encoders import find_model, fingerprint, hide_progress, model_errors, require_extra

Loss = tuple[float, int]
"""The negative log-likelihood of a text's tokens in nats, summed, and the number of these tokens."""
_TOGETHER = 4  # texts in one forward pass


def mean_perplexity(losses: Sequence[Loss]) -> float:
    """Returns P.D. of a question: the mean of PPL(Y | X) = exp(−1/N · Σ log P(y_i | X, y_<i)) over its partial answers
    Y, of N tokens each, given the answer X.

    DebateQA's README (https://github.com/pillowsofwind/DebateQA) sums over partial answers and omits the minus sign.
    Its script takes the mean, asks for no restating, and divides by the tokens of X and Y together, so its figures are
    lower.
    """
    return sum(math.exp(loss / tokens) for loss, tokens in losses) / len(losses)


class LanguageModel:
    """A causal model of Transformers, in 32 bits, so that the batch does not change a figure. `model`: a folder, or the
    name of a downloaded model; nothing is downloaded. Raises SettingsError without the extra `models`, ModelError."""

    def __init__(self, model: str) -> None:
        require_extra(f"the language model {model}")
        self._folder = find_model(model)
        self.name = f"{Path(model).name}-{fingerprint(self._folder)[:12]}"
        with model_errors(self._folder):
            import torch
            from transformers import AutoModelForCausalLM, AutoTokenizer

            hide_progress()
            self._tokenizer: Any = AutoTokenizer.from_pretrained(self._folder, local_files_only=True)
            loaded = AutoModelForCausalLM.from_pretrained(self._folder, local_files_only=True, dtype=torch.float32)
            self._model: Any = loaded.eval().to("cuda" if torch.cuda.is_available() else "cpu")

    def losses(self, turn: str, texts: Sequence[str]) -> list[Loss]:
        """Returns each text's loss as the reply to a user's turn, in the model's chat template (without a template:
        after the turn and a line break). Only the text's own tokens count. Raises InputError if the model cannot read
        both, ModelError."""
        with model_errors(self._folder):
            given = self._given(turn)
            rows = [self._tokenizer(text, add_special_tokens=False).input_ids for text in texts]
            most, longest = getattr(self._model.config, "max_position_embeddings", None), max(map(len, rows))
            if most and len(given) + longest > most:
                raise InputError(f"{len(given) + longest} tokens are more than {self.name} reads, which are {most}.")
            return [loss for part in batches(rows, _TOGETHER) for loss in self._part(given, part)]

    def _given(self, turn: str) -> list[int]:
        if not self._tokenizer.chat_template:
            return list(self._tokenizer(f"{turn}\n").input_ids)
        chat = [{"role": "user", "content": turn}]
        shown = self._tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=True)
        return list(self._tokenizer(shown, add_special_tokens=False).input_ids)

    def _part(self, given: Sequence[int], rows: Sequence[Sequence[int]]) -> list[Loss]:
        import torch

        width = max(map(len, rows))  # a causal model's tokens do not depend on the padding to their right
        ids = torch.tensor([[*given, *row, *[0] * (width - len(row))] for row in rows], device=self._model.device)
        mask = torch.tensor([[1] * (len(given) + len(r)) + [0] * (width - len(r)) for r in rows], device=ids.device)
        with torch.inference_mode():
            logits = self._model(input_ids=ids, attention_mask=mask).logits[:, len(given) - 1 : -1]
            likely = logits.log_softmax(-1).gather(-1, ids[:, len(given) :, None])[..., 0].double()
        return [(-float(row[: len(own)].sum()), len(own)) for row, own in zip(likely, rows, strict=True)]
