"""The papers' encoders by name: the table, and every kind of preset on tiny random models that stand in for the real.

What a preset gives is compared with what the hidden states of the stand-in give by hand.
"""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import ROOT
from numpy.typing import NDArray
from test_encoder_transformers import TEXTS, hidden, tiny_bert, tiny_tokenizer, unit

from agent.__main__ import main
from agent.providers.retrieval import build_encoder
from agent.settings import load_settings
from tools.errors import ModelError
from tools.inference.encoders.presets import ENCODERS, RERANKERS, suggestion
from tools.inference.encoders.reranker import Reranker
from tools.inference.encoders.transformers import TransformersEncoder, find_model

slow = pytest.mark.slow
REVISION = "0123456789" * 4
Place = Callable[[str], Path]


@pytest.fixture
def cached(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Place:
    """Gives the folder that a model of the hub lies in once it was downloaded."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))

    def place(model: str) -> Path:
        repository = tmp_path / "hub" / f"models--{model.replace('/', '--')}"
        (repository / "refs").mkdir(parents=True)
        (repository / "refs" / "main").write_text(REVISION)
        folder = repository / "snapshots" / REVISION
        folder.mkdir(parents=True)
        return folder

    return place


def encoder_of(preset: str, **settings: str) -> TransformersEncoder:
    """What the settings make of a preset's name."""
    made = build_encoder(load_settings(encoder=preset, **settings), None)  # type: ignore[arg-type]  # not reached
    assert isinstance(made, TransformersEncoder)
    return made


# The table


def test_every_preset_is_whole_and_another() -> None:
    assert len(set(ENCODERS.values())) == len(ENCODERS)
    assert not ENCODERS.keys() & RERANKERS.keys()
    for name, preset in ENCODERS.items():
        assert name == name.lower().strip("/ ")
        assert "/" not in name  # would be taken for OWNER/MODEL
        assert preset.pooling, f"{name} leaves its pooling to what the folder says"
        assert preset.query_model != preset.model
        assert preset.pool_prompts or preset.query_prompt, f"{name} has no prompt to leave out"
        assert all(not p or p.endswith(" ") for p in (preset.query_prompt, preset.document_prompt)), name
        for model in filter(None, (preset.model, preset.query_model)):
            assert model.count("/") == 1


def test_the_documents_table_is_that_of_the_code() -> None:
    told = {}
    for line in (ROOT / "docs" / "providers.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        told[cells[0].strip("`")] = line
    for name, preset in ENCODERS.items():
        prompts = [repr(p.rstrip())[1:-1] for p in (preset.query_prompt, preset.document_prompt) if p]
        for part in (preset.model, preset.query_model, preset.pooling, *prompts):
            assert part in told[name], f"{name}: {part}"
    for name, model in RERANKERS.items():
        assert model in told[name]


def test_a_name_that_is_none_is_answered_with_the_nearest(cached: Place) -> None:
    cached("somebody/other")
    with pytest.raises(ModelError, match=r"no folder 'Contreiver'.*Did you mean 'contriever'\? The presets are: contr"):
        find_model("Contreiver", ENCODERS)
    assert suggestion("tart", ENCODERS).startswith("Did you mean 'tart-dual'? ")
    assert suggestion("word2vec", ENCODERS).startswith("The presets are: contriever, dpr, ")
    named = "Did you mean 'bge-reranker-large'? The presets are: bge-reranker-large."
    assert suggestion("bge-reranker", RERANKERS) == named
    assert suggestion("facebook/contriever", ENCODERS) == suggestion("./contriever", ENCODERS) == ""


@slow
def test_a_preset_that_was_not_downloaded_names_the_command(cached: Place) -> None:
    tiny_bert(cached(ENCODERS["dpr"].model))
    with pytest.raises(ModelError, match=r"hf download sentence-transformers/facebook-dpr-question_encoder-single-nq"):
        encoder_of("dpr")
    with pytest.raises(ModelError, match=r"hf download BAAI/bge-reranker-large"):
        Reranker("bge-reranker-large")


# One of every kind


def check(rows: NDArray[np.float32], by_hand: Callable[[str], Any]) -> None:
    """The texts are of different lengths, and so padded in the batch that made the rows."""
    assert np.linalg.norm(rows, axis=1) == pytest.approx(1.0, abs=1e-5)
    for row, text in zip(rows, TEXTS, strict=True):
        assert row == unit(by_hand(text))


@slow
def test_one_encoder_for_both(cached: Place) -> None:
    folder = tiny_bert(cached(ENCODERS["contriever"].model))
    encoder = encoder_of("contriever")
    check(encoder.encode(TEXTS), lambda text: hidden(folder, text).mean(axis=0))
    check(encoder.encode_queries(TEXTS), lambda text: hidden(folder, text).mean(axis=0))
    last = encoder_of("contriever", encoder_pooling="lasttoken")  # a setting wins over the preset
    check(last.encode(TEXTS), lambda text: hidden(folder, text)[-1])
    assert last.name != encoder.name


@slow
def test_a_pair(cached: Place) -> None:
    preset = ENCODERS["dpr"]
    documents, queries = tiny_bert(cached(preset.model)), tiny_bert(cached(preset.query_model), seed=1)
    encoder = encoder_of("dpr")
    check(encoder.encode(TEXTS), lambda text: hidden(documents, text)[0])
    check(encoder.encode_queries(TEXTS), lambda text: hidden(queries, text)[0])
    assert np.abs(encoder.encode(TEXTS) - encoder.encode_queries(TEXTS)).max() > 0.1
    check(encoder_of("dpr", encoder_query=documents).encode_queries(TEXTS), lambda text: hidden(documents, text)[0])


@slow
def test_a_pair_that_is_none(cached: Place) -> None:
    tiny_bert(cached(ENCODERS["dpr"].model))
    tiny_bert(cached(ENCODERS["dpr"].query_model), width=32)
    with pytest.raises(ModelError, match="gives 32 dimensions, the documents' 16: they are no pair"):
        encoder_of("dpr").encode(TEXTS)


@slow
@pytest.mark.parametrize("name", ["tart-dual", "uae-large"])
def test_an_instruction_for_queries(name: str, cached: Place) -> None:
    preset = ENCODERS[name]
    folder = tiny_bert(cached(preset.model))

    def pool(text: str) -> Any:
        states = hidden(folder, text)
        return states[0] if preset.pooling == "cls" else states.mean(axis=0)

    encoder = encoder_of(name)
    check(encoder.encode(TEXTS), pool)
    check(encoder.encode_queries(TEXTS), lambda text: pool(preset.query_prompt + text))
    assert np.abs(encoder.encode(TEXTS) - encoder.encode_queries(TEXTS)).max() > 0.1
    check(encoder_of(name, encoder_query_prompt="ask: ").encode_queries(TEXTS), lambda text: pool("ask: " + text))


def test_tarts_instruction_ends_with_one_separator() -> None:
    from tokenizers import Tokenizer

    from tools.inference.encoders.encoder import minilm_recipe

    tokenizer = Tokenizer.from_file(str(minilm_recipe().tokenizer))  # that of bert-base-uncased
    tokenizer.no_padding()
    tokens = tokenizer.encode(ENCODERS["tart-dual"].query_prompt).tokens
    assert tokens[-3:] == ["question", "[SEP]", "[SEP]"]  # the last one ends every text


@slow
def test_the_layer_behind_the_first_token(cached: Place) -> None:
    from transformers import BertModel

    folder = tiny_bert(cached(ENCODERS["simcse-sup"].model))
    dense = BertModel.from_pretrained(folder).pooler.dense
    weight, bias = dense.weight.detach().numpy(), dense.bias.detach().numpy()
    encoder = encoder_of("simcse-sup")
    assert encoder.dimensions == 16
    check(encoder.encode(TEXTS), lambda text: np.tanh(weight @ hidden(folder, text)[0] + bias))
    check(encoder_of("simcse-sup", encoder_pooling="mean").encode(TEXTS), lambda t: hidden(folder, t).mean(axis=0))


@slow
def test_a_model_without_that_layer(cached: Place) -> None:
    from transformers import BertModel

    folder = tiny_bert(cached(ENCODERS["simcse-sup"].model))
    BertModel.from_pretrained(folder, add_pooling_layer=False).save_pretrained(folder)
    with pytest.raises(ModelError, match="has no pooler: take another pooling"):
        encoder_of("simcse-sup").encode(TEXTS)


@slow
def test_instructions_for_both_that_are_not_pooled(cached: Place) -> None:
    """A T5 with a linear layer behind its mean, as INSTRUCTOR is; its folder does not say what is pooled."""
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Dense, Pooling, Transformer
    from transformers import T5Config, T5EncoderModel

    preset = ENCODERS["instructor-base"]
    folder, plain = cached(preset.model), cached("plain/t5")
    tokenizer = tiny_tokenizer()
    torch.manual_seed(0)
    sizes = {"d_model": 16, "d_ff": 32, "d_kv": 8, "num_layers": 2, "num_heads": 2}
    T5EncoderModel(T5Config(vocab_size=len(tokenizer), initializer_factor=5.0, **sizes)).save_pretrained(plain)
    tokenizer.save_pretrained(plain)
    dense = Dense(16, 8, bias=False, activation_function=torch.nn.Identity())
    SentenceTransformer(modules=[Transformer(str(plain)), Pooling(16), dense]).save(str(folder))
    model = T5EncoderModel.from_pretrained(plain).eval()
    weight = dense.linear.weight.detach().numpy()

    def by_hand(prompt: str, text: str, skipped: int) -> Any:
        with torch.inference_mode():
            states = model(**tokenizer(prompt + text, return_tensors="pt")).last_hidden_state[0].numpy()
        return weight @ states[skipped:].mean(axis=0)

    encoder = encoder_of("instructor-base")
    assert encoder.dimensions == 8
    lengths = {p: len(tokenizer(p)["input_ids"]) - 1 for p in (preset.query_prompt, preset.document_prompt)}
    for rows, prompt in (
        (encoder.encode_queries(TEXTS), preset.query_prompt),
        (encoder.encode(TEXTS), preset.document_prompt),
    ):
        check(rows, lambda text, prompt=prompt: by_hand(prompt, text, lengths[prompt]))  # type: ignore[misc]
        assert rows[0] != unit(by_hand(prompt, TEXTS[0], 0))  # the prompt is not pooled
        assert rows[0] != unit(by_hand("", TEXTS[0], 0))  # and is read
    assert (
        encoder.name != TransformersEncoder(preset.model, "", preset.query_prompt, preset.document_prompt, "mean").name
    )


@slow
def test_an_architecture_under_another_name(cached: Place, tmp_path: Path) -> None:
    """The config names code elsewhere, which is neither here nor asked for."""
    import torch
    from transformers import XLMRobertaConfig, XLMRobertaModel

    folder, tokenizer = cached(ENCODERS["bilingual-large"].model), tiny_tokenizer()
    torch.manual_seed(0)
    config = XLMRobertaConfig(
        vocab_size=len(tokenizer),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=66,
        initializer_range=0.5,
        pad_token_id=0,
    )
    XLMRobertaModel(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    known = str(shutil.copytree(folder, tmp_path / "known"))
    told = json.loads((folder / "config.json").read_text())
    elsewhere = {
        "AutoConfig": "nobody/code--config.BilingualConfig",
        "AutoModel": "nobody/code--modeling.BilingualModel",
    }
    told |= {"model_type": "bilingual", "architectures": ["BilingualModel"], "auto_map": elsewhere}
    (folder / "config.json").write_text(json.dumps(told))
    check(encoder_of("bilingual-large").encode(TEXTS), lambda text: hidden(known, text).mean(axis=0))


@slow
def test_latent_attention(cached: Place) -> None:
    """Mistral that looks both ways, latent attention, and the mean over what follows the prompt, with an end to it."""
    import torch
    from transformers import MistralModel

    from tools.inference.encoders.architectures import NvEmbedConfig, NvEmbedModel

    preset, tokenizer = ENCODERS["nv-embed-v2"], tiny_tokenizer()
    tokenizer.model_max_length = 256
    folder = cached(preset.model)
    torch.manual_seed(0)
    sizes = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
    text = {"model_type": "bidir_mistral", "vocab_size": len(tokenizer), "num_key_value_heads": 1, "sliding_window": 2}
    latent = {"num_latents_value": 3, "num_cross_heads": 2, "hidden_dim": 16, "latent_dim": 16, "cross_dim_head": 4}
    config = NvEmbedConfig(hidden_size=16, text_config=text | sizes, latent_attention_config=latent)
    model = NvEmbedModel(config).eval()
    with torch.no_grad():
        for weights in model.parameters():
            weights.normal_(std=0.5)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    names = set(model.state_dict())
    assert {n for n in names if n.startswith("latent")} == {f"latent_attention_model.{n}" for n in LATENT}
    assert {"embedding_model.embed_tokens.weight", "embedding_model.norm.weight"} <= names
    assert "embedding_model.layers.1.self_attn.q_proj.weight" in names

    by_name = {n: w.detach().numpy() for n, w in model.latent_attention_model.named_parameters()}
    mistral: Any = MistralModel(model.embedding_model.config).eval()
    mistral.load_state_dict(model.embedding_model.state_dict())

    def by_hand(prompt: str, text: str) -> Any:
        tokens = tokenizer(prompt + text + "</s>", return_tensors="pt")["input_ids"]
        everything = torch.zeros(1, 1, tokens.shape[1], tokens.shape[1])  # added to the scores: nothing is hidden
        with torch.inference_mode():
            states = mistral(input_ids=tokens, attention_mask=everything).last_hidden_state[0].numpy()
        skipped = len(tokenizer(prompt)["input_ids"]) - 1 if prompt else 0
        return latent_attention(states, by_name)[skipped:].mean(axis=0)

    encoder = encoder_of("nv-embed-v2")
    check(encoder.encode(TEXTS), lambda text: by_hand("", text))
    check(encoder.encode_queries(TEXTS), lambda text: by_hand(preset.query_prompt, text))
    assert encoder.encode(TEXTS[1:2])[0] == unit(by_hand("", TEXTS[1]))  # without padding there is no mask at all


LATENT = (
    "latents cross_attend_blocks.0.fn.to_q.weight cross_attend_blocks.0.fn.to_kv.weight "
    "cross_attend_blocks.0.fn.to_out.weight cross_attend_blocks.0.norm.weight cross_attend_blocks.0.norm.bias "
    "cross_attend_blocks.0.norm_context.weight cross_attend_blocks.0.norm_context.bias "
    "cross_attend_blocks.1.fn.net.0.weight cross_attend_blocks.1.fn.net.0.bias cross_attend_blocks.1.fn.net.2.weight "
    "cross_attend_blocks.1.fn.net.2.bias cross_attend_blocks.1.norm.weight cross_attend_blocks.1.norm.bias"
).split()
"""Parts of the released weights."""


def latent_attention(states: NDArray[np.float32], weights: dict[str, NDArray[np.float32]]) -> Any:
    """Lee et al. 2024, §3.1, for one text and two heads, a head at a time."""
    from scipy.special import erf, softmax

    def normed(x: Any, name: str) -> Any:
        scaled = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
        return scaled * weights[f"{name}.weight"] + weights[f"{name}.bias"]

    first, second = "cross_attend_blocks.0", "cross_attend_blocks.1"
    queries = normed(states, f"{first}.norm") @ weights[f"{first}.fn.to_q.weight"].T
    both = normed(weights["latents"], f"{first}.norm_context") @ weights[f"{first}.fn.to_kv.weight"].T
    keys, values = both[:, :8], both[:, 8:]
    heads = [
        softmax(queries[:, h] @ keys[:, h].T / 2.0, axis=-1) @ values[:, h]  # the root of a head's 4 dimensions
        for h in (slice(0, 4), slice(4, 8))
    ]
    seen = states + np.hstack(heads) @ weights[f"{first}.fn.to_out.weight"].T
    wide = normed(seen, f"{second}.norm") @ weights[f"{second}.fn.net.0.weight"].T + weights[f"{second}.fn.net.0.bias"]
    inner, gates = wide[:, :64], wide[:, 64:]
    gated = inner * gates * (1 + erf(gates / np.sqrt(2))) / 2
    return seen + gated @ weights[f"{second}.fn.net.2.weight"].T + weights[f"{second}.fn.net.2.bias"]


@slow
def test_a_reranker(cached: Place) -> None:
    folder = tiny_bert(cached(RERANKERS["bge-reranker-large"]), labels=1)
    named, direct = Reranker("bge-reranker-large"), Reranker(folder)
    assert named.scores("homes", TEXTS).tolist() == direct.scores("homes", TEXTS).tolist()
    assert named.name.startswith("bge-reranker-large-")


# The doctor


@slow
def test_the_doctor_finds_a_preset_and_helps_with_a_name_that_is_none(
    cached: Place,
    models_dir: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "cache").symlink_to(models_dir, target_is_directory=True)
    tiny_bert(cached(ENCODERS["dpr"].model))
    tiny_bert(cached(ENCODERS["dpr"].query_model), seed=1)
    tiny_bert(cached(RERANKERS["bge-reranker-large"]), labels=1)
    monkeypatch.setenv("STEELMAN_ENCODER", "dpr")
    monkeypatch.setenv("STEELMAN_RERANKER", "bge-reranker-large")
    assert main(["doctor"]) == 0
    printed = capsys.readouterr().out
    assert ", 16 dimensions, sentence-transformers, preset dpr" in printed
    assert "bge-reranker-large" in printed
    monkeypatch.setenv("STEELMAN_ENCODER", "drp")
    monkeypatch.setenv("STEELMAN_RERANKER", "bge-large")
    assert main(["doctor"]) == 1
    printed = " ".join(capsys.readouterr().out.split())
    assert "Did you mean 'dpr'? The presets are: contriever, dpr," in printed
    assert "Did you mean 'bge-reranker-large'?" in printed
