"""Tiny random models of the kinds that vLLM serves, made from a seed in seconds: what they say has a form, no more.

Run by the Python of `.venvs/vllm`, which has torch and transformers: `python tests/tiny_models.py chat|score FOLDER`
makes one. The tokenizers are trained on the project's samples.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tokenizers import Tokenizer

SAMPLES = Path(__file__).parents[1] / "samples"
CONTEXT = 16384
"""Tokens that the chat model reads at most; the cross-encoder reads 512."""
_ENTRIES = 2048  # of a vocabulary
_SEED = 7
_SHAPE = {
    "vocab_size": _ENTRIES,
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "initializer_range": 64**-0.5,  # wide enough that every text gets another answer
}
_TURN, _END = "<|turn|>", "<|end|>"
_TEMPLATE = (
    "{% for message in messages %}<|turn|>{{ message.role }}\n{{ message.content }}<|end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|turn|>assistant\n{% endif %}"
)
_NEWLINE = "Ċ"  # as byte-level tokenizers write it
_ALWAYS = {_END: 6.5, '"': 6.0, "{": 4.0, ",": 3.0, "]": 3.0}
_AFTER = {
    ("[", '"'): {'"': -30.0, "]": -30.0},  # nothing is empty
    (_NEWLINE,): {"Yes": 8.0, "No": 8.0, _END: -30.0},  # a reply begins with a verdict, where it may
}
"""About what is added to tokens' logits, at every place and after some tokens. By chance alone a string would take a
thousand tokens to end."""


def _train_tokenizer(special: list[str]) -> "Tokenizer":
    """Byte-level pairs (Sennrich et al. 2016); the words of a verdict are given so often that each is one token."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    texts = [file.read_text(encoding="utf-8") for file in sorted(SAMPLES.glob("*/*.md"))]
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=_ENTRIES, special_tokens=special, initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator([*texts, *["Yes", "No"] * 1000], trainer)
    return tokenizer


def save_chat_model(folder: Path) -> None:
    """A Llama with a chat template. Its strings, lists and replies come to an end after some tokens, mostly."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    core = _train_tokenizer([_TURN, _END])
    end = core.token_to_id(_END)
    torch.manual_seed(_SEED)
    model = LlamaForCausalLM(
        LlamaConfig(max_position_embeddings=CONTEXT, bos_token_id=None, eos_token_id=end, pad_token_id=end, **_SHAPE)
    )
    with torch.no_grad():
        _favour(model, core)
    model.save_pretrained(folder)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=core, eos_token=_END, pad_token=_END, additional_special_tokens=[_TURN]
    )
    tokenizer.chat_template = _TEMPLATE
    tokenizer.save_pretrained(folder)


def _favour(model: Any, tokenizer: "Tokenizer") -> None:
    """Sets some coordinates apart that no layer changes: the first is the same for every token, so that its column of
    the head is a bias; each of the others marks the tokens after which something is likelier."""
    words, head = model.get_input_embeddings().weight, model.lm_head.weight
    words.normal_(std=1.0)
    apart = 1 + len(_AFTER)
    words[:, :apart] = 0.0
    head[:, :apart] = 0.0
    for layer in model.model.layers:
        layer.self_attn.o_proj.weight[:apart] = 0.0
        layer.mlp.down_proj.weight[:apart] = 0.0
    length = words.shape[1] ** 0.5
    level = 4.0  # about what the last normalisation leaves of such a length
    everything = tuple(tokenizer.get_vocab())
    for column, (before, favoured) in enumerate([(everything, _ALWAYS), *_AFTER.items()]):
        words[[tokenizer.token_to_id(token) for token in before], column] = length
        for token, more in favoured.items():
            head[tokenizer.token_to_id(token), column] = more / level


def tiny_tokenizer(longest: int = 64) -> Any:
    """A BERT's, for texts or pairs of at most so many tokens."""
    from tokenizers.processors import TemplateProcessing
    from transformers import PreTrainedTokenizerFast

    names = {"pad_token": "[PAD]", "cls_token": "[CLS]", "sep_token": "[SEP]", "unk_token": "[UNK]"}
    core = _train_tokenizer(list(names.values()))
    core.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(name, core.token_to_id(name)) for name in ("[CLS]", "[SEP]")],
    )
    return PreTrainedTokenizerFast(tokenizer_object=core, model_max_length=longest, **names)


def save_cross_encoder(folder: Path, labels: Sequence[str] = ("LABEL_0",)) -> None:
    """A BERT that gives a pair of texts a number for each label, whatever the order of the labels."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification

    torch.manual_seed(_SEED)
    model = BertForSequenceClassification(BertConfig(id2label=dict(enumerate(labels)), **_SHAPE))
    order = sorted(range(len(labels)), key=lambda place: labels[place].lower())
    with torch.no_grad():
        model.classifier.weight[order] = model.classifier.weight.clone()
    model.save_pretrained(folder)
    tiny_tokenizer(512).save_pretrained(folder)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("chat", "score"))
    parser.add_argument("folder", type=Path)
    args = parser.parse_args()
    {"chat": save_chat_model, "score": save_cross_encoder}[args.what](args.folder)


if __name__ == "__main__":
    main()
