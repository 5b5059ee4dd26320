"""Passages that say the same in other words count once."""

from pathlib import Path

from instant_providers import InstantJudge

from agent.evidence.coverage import paraphrase_groups
from agent.providers.inference import Models
from tools.language.near_duplicates import copy_groups, group_paraphrases
from tools.language.sentences import split_sentences
from tools.models.cache import VectorCache
from tools.models.encoders import MiniLM
from tools.passages import Passage


def passages(number: int) -> dict[int, Passage]:
    return {i: Passage(i, f"{i}.txt", "c", f"Text {i}.", publisher=f"Press {i}") for i in range(1, number + 1)}


ARGUMENTS = (
    (
        "A street with trees is five degrees cooler in August than one without. Old people die in heat waves, and they "
        "die in streets where there is only asphalt.",
        "A road with trees is five degrees colder in August than a road without. Elderly persons perish in heat waves, "
        "and they perish in roads where there is just tarmac.",
        "A lane having trees is five degrees fresher in August than a lane lacking them. Aged people die during heat "
        "waves, and they die on streets with nothing but asphalt.",
    ),
    (
        "Shops on streets with trees sell more, because people walk slowly in the shade and stop. Houses beside them "
        "fetch higher prices, and so the town earns back in property tax what it spent on planting.",
        "Stores on roads with trees sell more, since folk stroll leisurely in the shade and pause. Homes next to them "
        "obtain higher prices, and thus the city recovers through property tax what it paid for planting.",
    ),
)


def test_rewritten_arguments_fall_together_and_different_ones_stay_apart(encoder: MiniLM) -> None:
    texts = [(text, number) for number, wordings in enumerate(ARGUMENTS) for text in wordings]
    assert copy_groups([text for text, _ in texts]) == list(range(len(texts)))  # word for word they are none
    groups = group_paraphrases([encoder.encode(split_sentences(text)) for text, _ in texts])
    assert groups == [0, 0, 0, 3, 3]


async def test_sentences_that_give_reasons_are_the_same_by_these(encoder: MiniLM, tmp_path: Path) -> None:
    models = Models(encoder, InstantJudge(), VectorCache(tmp_path / "cache.db"))
    wordings = (
        "Cities should shut their centres to automobiles as car fumes injure the lungs of children.",
        "Municipalities ought to block inner districts to motor traffic because car fumes damage the lungs of kids.",
        "Cities should shut their centres to automobiles because the space can hold trees and benches.",
    )
    found = {i: Passage(i, f"{i}.txt", "c", text) for i, text in enumerate(wordings, start=1)}
    assert await paraphrase_groups(models, found, found) == {1: 1, 2: 1, 3: 3}
    assert await paraphrase_groups(models, found, [2, 9, 1]) == {1: 1, 2: 1}


async def test_rows_that_differ_in_figures_are_no_paraphrases(encoder: MiniLM, tmp_path: Path) -> None:
    models = Models(encoder, InstantJudge(), VectorCache(tmp_path / "cache.db"))
    texts = ["Quay: Gull quay; Boats: 14; People on foot: 22", "Quay: Gull quay; Boats: 19; People on foot: 31"]
    rows = {i: Passage(i, f"{i}.csv", "counts", text) for i, text in enumerate(texts, start=1)}
    assert await paraphrase_groups(models, rows, rows) == {1: 1, 2: 2}
