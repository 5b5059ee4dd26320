"""What the papers' encoders compute beside what Transformers and sentence-transformers know: their files name code of
their own, which is never run. Needs the extra `models` and is imported where that is at hand."""

from pathlib import Path
from typing import Any

import torch
from sentence_transformers.sentence_transformer.modules import Pooling
from torch import Tensor, nn
from transformers import (
    AutoConfig,
    AutoModel,
    MistralConfig,
    MistralModel,
    PreTrainedConfig,
    PreTrainedModel,
    XLMRobertaConfig,
    XLMRobertaModel,
)
from transformers.modeling_outputs import BaseModelOutput

from tools.errors import ModelError


class BilingualConfig(XLMRobertaConfig):  # type: ignore[misc]
    """bilingual-embedding-large is XLM-RoBERTa under another name (its card and config.json)."""

    model_type = "bilingual"


class BilingualModel(XLMRobertaModel):  # type: ignore[misc]
    config_class = BilingualConfig


class Geglu(nn.Module):  # type: ignore[misc]
    """Gated linear units (Shazeer 2020): one half of the numbers, gated by the other."""

    def forward(self, hidden: Tensor) -> Tensor:
        values, gates = hidden.chunk(2, dim=-1)
        return values * nn.functional.gelu(gates)


class LatentAttention(nn.Module):  # type: ignore[misc]
    """Tokens attend to learned vectors, with a feed-forward layer behind it (Lee et al. 2024, arXiv:2405.17428, §3.1).

    The names of the parts are those of the released weights; sizes that config.json leaves out are NV-Embed-v2's.
    """

    def __init__(
        self,
        num_latents_value: int = 512,
        num_cross_heads: int = 8,
        hidden_dim: int = 4096,
        latent_dim: int = 4096,
        cross_dim_head: int = 4096,
        **_: Any,
    ) -> None:
        super().__init__()
        inner = num_cross_heads * cross_dim_head
        self.heads = num_cross_heads
        projections = {
            "to_q": nn.Linear(latent_dim, inner, bias=False),
            "to_kv": nn.Linear(hidden_dim, 2 * inner, bias=False),
            "to_out": nn.Linear(inner, latent_dim, bias=False),
        }
        net = nn.Sequential(nn.Linear(latent_dim, 8 * latent_dim), Geglu(), nn.Linear(4 * latent_dim, latent_dim))
        attend = {
            "fn": nn.ModuleDict(projections),
            "norm": nn.LayerNorm(latent_dim),
            "norm_context": nn.LayerNorm(hidden_dim),
        }
        feed = {"fn": nn.ModuleDict({"net": net}), "norm": nn.LayerNorm(latent_dim)}
        self.cross_attend_blocks = nn.ModuleList([nn.ModuleDict(attend), nn.ModuleDict(feed)])
        self.latents = nn.Parameter(torch.randn(num_latents_value, latent_dim))

    def forward(self, hidden: Tensor) -> Tensor:
        """Shape (texts, tokens, dimensions), as what it is given."""
        attend, feed = self.cross_attend_blocks
        hidden = hidden + self._attend(attend["fn"], attend["norm"](hidden), attend["norm_context"](self.latents))
        return hidden + feed["fn"]["net"](feed["norm"](hidden))

    def _attend(self, layers: Any, tokens: Tensor, latents: Tensor) -> Tensor:
        keys, values = layers["to_kv"](latents.expand(len(tokens), -1, -1)).chunk(2, dim=-1)
        q, k, v = (x.unflatten(-1, (self.heads, -1)).transpose(1, 2) for x in (layers["to_q"](tokens), keys, values))
        out = nn.functional.scaled_dot_product_attention(q, k, v)
        return layers["to_out"](out.transpose(1, 2).flatten(2))


class NvEmbedConfig(PreTrainedConfig):  # type: ignore[misc]
    model_type = "nvembed"
    hidden_size: int = 4096
    text_config: dict[str, Any] | None = None
    latent_attention_config: dict[str, Any] | None = None


class NvEmbedModel(PreTrainedModel):  # type: ignore[misc]
    """NV-Embed-v2: Mistral without its causal mask, and latent attention behind it."""

    config_class = NvEmbedConfig
    _supports_sdpa = True

    def __init__(self, config: NvEmbedConfig) -> None:
        super().__init__(config)
        text = {name: value for name, value in (config.text_config or {}).items() if name != "model_type"}
        self.embedding_model = MistralModel(MistralConfig(**{**text, "sliding_window": None, "is_causal": False}))
        self.latent_attention_model = LatentAttention(**(config.latent_attention_config or {}))
        self.post_init()

    def forward(self, input_ids: Tensor, attention_mask: Tensor | None = None, **_: Any) -> BaseModelOutput:
        found = self.embedding_model(input_ids=input_ids, attention_mask=attention_mask, use_cache=False)
        return BaseModelOutput(last_hidden_state=self.latent_attention_model(found.last_hidden_state))


class Pooler(Pooling):  # type: ignore[misc]
    """BERT's layer behind the first token (Devlin et al. 2019) in the place of a pooling of tokens."""

    def __init__(self, layer: nn.Module, width: int) -> None:
        super().__init__(width, "cls")
        self.layer = layer

    def forward(self, features: dict[str, Any], **_: Any) -> dict[str, Any]:
        features["sentence_embedding"] = self.layer(features["token_embeddings"])
        return features


def read_pooler(folder: Path) -> Pooler:
    """The pooler of the model in a folder. Raises ModelError for a model without one; one that is not among the weights
    would be random."""
    model, info = AutoModel.from_pretrained(str(folder), local_files_only=True, output_loading_info=True)
    if getattr(model, "pooler", None) is None or any("pooler" in name for name in info["missing_keys"]):
        raise ModelError(f"the encoder in {folder} has no pooler: take another pooling.")
    return Pooler(model.pooler, model.config.hidden_size)


def register() -> None:
    """Tells Transformers of the architectures above; telling it again does no harm."""
    for config, model in ((BilingualConfig, BilingualModel), (NvEmbedConfig, NvEmbedModel)):
        AutoConfig.register(config.model_type, config, exist_ok=True)
        AutoModel.register(config, model, exist_ok=True)
