"""The papers' encoders and re-rankers by short names. docs/providers.md tells their licences and sizes."""

import difflib
from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

Pooling = Literal["", "mean", "cls", "lasttoken", "max", "pooler"]


@dataclass(frozen=True, slots=True)
class EncoderPreset:
    """What TransformersEncoder needs to read texts as the authors of a model do; its docstring tells the fields."""

    model: str
    query_model: str = ""
    query_prompt: str = ""
    document_prompt: str = ""
    pooling: Pooling = ""
    pool_prompts: bool = True
    ending: str = ""


def _simcse(name: str, pooling: Pooling) -> EncoderPreset:
    """Supervised models keep the layer behind the first token, the others do without (github.com/princeton-nlp/SimCSE,
    Evaluation). PIR §3.1 takes the mean; the code that it released, the pooler of all."""
    return EncoderPreset(f"princeton-nlp/{name}", pooling=pooling)


def _instructor(size: str) -> EncoderPreset:
    """Instructions by the template of the card, huggingface.co/hkunlp/instructor-large; their tokens are not pooled."""
    return EncoderPreset(
        f"hkunlp/instructor-{size}",
        query_prompt="Represent the question for retrieving supporting documents: ",
        document_prompt="Represent the document for retrieval: ",
        pooling="mean",
        pool_prompts=False,
    )


ENCODERS = {
    # huggingface.co/facebook/contriever-msmarco
    "contriever": EncoderPreset("facebook/contriever-msmarco", pooling="mean"),
    # huggingface.co/sentence-transformers/facebook-dpr-ctx_encoder-single-nq-base: ports, since Transformers takes
    # DPR's own context encoder for one of questions
    "dpr": EncoderPreset(
        "sentence-transformers/facebook-dpr-ctx_encoder-single-nq-base",
        query_model="sentence-transformers/facebook-dpr-question_encoder-single-nq-base",
        pooling="cls",
    ),
    # huggingface.co/orionweller/tart-dual-contriever-msmarco, a copy of what github.com/facebookresearch/tart links to;
    # the instruction for debates is of Asai et al. 2022 (arXiv:2211.09260), table 9
    "tart-dual": EncoderPreset(
        "orionweller/tart-dual-contriever-msmarco",
        query_prompt="You have to retrieve an argument to this debate question [SEP] ",
        pooling="mean",
    ),
    "simcse-sup": _simcse("sup-simcse-bert-base-uncased", "pooler"),
    "simcse-unsup": _simcse("unsup-simcse-bert-base-uncased", "cls"),
    "simcse-sup-large": _simcse("sup-simcse-bert-large-uncased", "pooler"),
    "simcse-unsup-large": _simcse("unsup-simcse-bert-large-uncased", "cls"),
    "instructor-base": _instructor("base"),
    "instructor-large": _instructor("large"),
    # huggingface.co/Lajavaness/bilingual-embedding-large
    "bilingual-large": EncoderPreset("Lajavaness/bilingual-embedding-large", pooling="mean"),
    # huggingface.co/WhereIsAI/UAE-Large-V1; BERDS A.6 compares documents, which have no prompt
    "uae-large": EncoderPreset(
        "WhereIsAI/UAE-Large-V1",
        query_prompt="Represent this sentence for searching relevant passages: ",
        pooling="cls",
    ),
    # huggingface.co/nvidia/NV-Embed-v2
    "nv-embed-v2": EncoderPreset(
        "nvidia/NV-Embed-v2",
        query_prompt="Instruct: Given a question, retrieve passages that answer the question\nQuery: ",
        pooling="mean",
        pool_prompts=False,
        ending="</s>",
    ),
}

RERANKERS = {
    # huggingface.co/BAAI/bge-reranker-large
    "bge-reranker-large": "BAAI/bge-reranker-large",
}


def suggestion(name: str, presets: Collection[str]) -> str:
    """What may have been meant by a name that is none of the presets; empty for a path and for OWNER/MODEL."""
    if not presets or "/" in name:
        return ""
    near = difflib.get_close_matches(name.lower(), presets, n=1)
    guess = f"Did you mean '{near[0]}'? " if near else ""
    return f"{guess}The presets are: {', '.join(presets)}."
