"""What a training run of the embedded judge is to do: its settings, and what it draws from."""

from dataclasses import dataclass
from typing import Any

_BROAD = {
    "polarities": 12.0, "argkp_topic": 14, "argkp21": 7, "berds": 13,
    "arguana": 6, "arc_stance": 6, "procon20": 8, "read_labels": 8,
    "ibm_gpr_sentence": 3, "ibm_ce_emnlp15": 4, "arc_gist": 2, "debatepedia": 4, "climate_fever": 4, "healthver": 3,
    "perspectrum_support": 5, "theperspective": 3, "fnc_arc": 2, "iam_window": 3, "vast_sentswap": 0.5, "wice": 0.5,
    "control": 1, "claimdiff": 1, "perspectrum_amt_pilot": 0.2,
}  # fmt: skip
_NEAR = {
    "read_labels": 28.0, "readings": 32, "read_sentences": 22, "written": 24, "berds": 10, "procon20": 8,
    "argkp_topic": 8, "arguana": 5, "polarities": 4, "arc_stance": 6, "perspectrum_support": 5, "theperspective": 3,
    "argkp21": 3, "iam_window": 2, "ibm_ce_emnlp15": 3, "ibm_gpr_sentence": 2, "debatepedia": 2, "climate_fever": 3,
    "healthver": 2,
}  # fmt: skip
_SENTENCES = {False: {"contrasts": 25.0}, True: {"contrasts": 80.0}}
"""What a judge of sentences draws beside these, in the broad and in the near part."""
_WHOLE = (0.15, 0.7)  # how often a passage stays whole, in the broad and in the near part


@dataclass
class Plan:
    """Settings of a run. Its length is told in tokens read, padding included, so that a slow machine trains no less."""

    millions: float = 14.0
    rate: float = 1.5e-4
    tokens: int = 3072
    warm_up: float = 0.03
    near_from: float = 0.3
    mean_from: float = 0.5
    """From here on, in shares of the whole, the weights are averaged; the mean is what is exported."""
    coarse_from: float = 0.6
    """From here on the model computes with inputs as coarse as int8."""
    nearness: float = 0.3
    """Weight of the second task: to tell the cosine of the encoder's vectors of statement and text."""
    told: float = 0.0
    """How often a pair's statement is read beside the contrary one, or as the question."""
    base: str = ""
    """The folder of another encoder to start from."""
    layers: int = 0
    """How many of its layers are kept, from the first one on; 0 keeps all."""
    frozen: int = 0
    """How many of them stay as they are, and the embeddings with them."""
    sentences: bool = False
    """Whether passages are read in sentences only, as a judge of sentences will read them."""
    seed: int = 7
    measure_every: float = 10.0
    """Minutes of training between checkpoints, each with a measurement."""

    def drawn(self, progress: float) -> tuple[dict[str, float], float]:
        """What is drawn from at a point of the run (0 to 1): the sets with their weights, and how often a passage stays
        whole."""
        near = progress >= self.near_from
        sets = _NEAR if near else _BROAD
        if self.sentences:
            return sets | _SENTENCES[near], 0.0
        return sets, _WHOLE[near]


def linear(done: float, warm_up: float) -> float:
    """The share of the highest rate when `done` of a run (0 to 1) is over: up in a line over the first `warm_up` of it,
    from a fiftieth, so that the first steps count, then down in a line to 0."""
    return min(done / warm_up + 0.02, (1 - done) / (1 - warm_up))


def close_plan(base: str, **given: Any) -> Plan:
    """The plan of the closer reading's model: the first layers of a larger encoder, read on sentences, mostly beside
    both statements. given: what is to differ."""
    usual = {"millions": 3.0, "rate": 6e-5, "tokens": 1536, "layers": 8, "frozen": 3, "told": 0.7, "nearness": 0.0}
    return Plan(base=base, sentences=True, near_from=0.25, mean_from=0.6, **{**usual, **given})
