"""NLI models that judge, by short names. docs/providers.md has them as a table."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class NliPreset:
    """A model of the hub, and what its pages there say of it; empty and 0 stand for what could not be looked up.

    revision: the commit that is read; empty is the one that was downloaded last. labels: how many the model tells.
    licence: of the weights, by its SPDX name. parameters: millions. megabytes: of the weights' file.
    """

    model: str
    revision: str = ""
    labels: int = 3
    licence: str = ""
    parameters: int = 0
    megabytes: int = 0


DEFAULT = "deberta-base-zeroshot-c"
"""A base model of which everything is known, trained on data that may be used for any purpose."""

NLI = {
    # huggingface.co/MoritzLaurer/deberta-v3-base-zeroshot-v2.0-c; '-c': trained on commercially friendly data alone
    "deberta-base-zeroshot-c": NliPreset(
        "MoritzLaurer/deberta-v3-base-zeroshot-v2.0-c", labels=2, licence="MIT", parameters=184, megabytes=369
    ),
    # huggingface.co/collections/MoritzLaurer/zeroshot-classifiers-6548b4ff407bb19ff5c3ad6f tells the size
    "deberta-base-zeroshot": NliPreset(
        "MoritzLaurer/deberta-v3-base-zeroshot-v2.0", labels=2, parameters=184, megabytes=369
    ),
    # huggingface.co/MoritzLaurer/deberta-v3-large-zeroshot-v2.0-c
    "deberta-large-zeroshot-c": NliPreset(
        "MoritzLaurer/deberta-v3-large-zeroshot-v2.0-c", labels=2, licence="MIT", parameters=435
    ),
    # huggingface.co/MoritzLaurer/deberta-v3-large-zeroshot-v2.0
    "deberta-large-zeroshot": NliPreset(
        "MoritzLaurer/deberta-v3-large-zeroshot-v2.0",
        revision="2f6ff7086d3056628a648a4f6b142f046f63de3e",
        labels=2,
        licence="MIT",
        parameters=435,
        megabytes=870,
    ),
    # huggingface.co/MoritzLaurer/DeBERTa-v3-base-mnli-fever-anli
    "deberta-base-anli": NliPreset(
        "MoritzLaurer/DeBERTa-v3-base-mnli-fever-anli",
        revision="6f5cf0a2b59cabb106aca4c287eed12e357e90eb",
        licence="MIT",
        parameters=184,
        megabytes=369,
    ),
    # huggingface.co/MoritzLaurer/DeBERTa-v3-large-mnli-fever-anli-ling-wanli
    "deberta-large-wanli": NliPreset(
        "MoritzLaurer/DeBERTa-v3-large-mnli-fever-anli-ling-wanli",
        revision="05de80a7216c05a616667f65cf69661b261314ea",
        licence="MIT",
        parameters=435,
        megabytes=870,
    ),
    # huggingface.co/cross-encoder/nli-deberta-v3-base
    "deberta-base-nli": NliPreset(
        "cross-encoder/nli-deberta-v3-base", licence="Apache-2.0", parameters=184, megabytes=738
    ),
}
