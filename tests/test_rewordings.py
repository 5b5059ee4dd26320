"""Passages that say the same in other words count once."""

from pathlib import Path

import numpy as np
from instant_providers import InstantJudge

from agent.evidence.coverage import coverage_of, judged_evidence, paraphrase_groups
from agent.models.inference import Models
from tools.language.copies import copy_groups, group_paraphrases
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


def test_single_sentences_have_to_be_nearer_than_passages() -> None:
    near = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1]], np.float32)
    alike = np.array([[0.8, 0.6, 0], [0, 0.8, 0.6], [0.6, 0, 0.8]], np.float32)
    assert group_paraphrases([near, alike]) == [0, 0]
    assert group_paraphrases([near[:1], alike[:1]]) == [0, 1]
    assert group_paraphrases([near[:0], alike[:0]]) == [0, 1]
    assert group_paraphrases([]) == []


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


def test_one_text_in_many_wordings_is_one_source() -> None:
    """25 wordings of one text, each under a publisher of its own."""
    found = passages(25)
    same, alone = dict.fromkeys(found, 1), {i: i for i in found}
    one = coverage_of(judged_evidence(dict.fromkeys(found, 0.9), 0.5, found, alone, same), found)
    assert (one["passages"], one["sources"], one["reworded"], one["status"]) == (1, 1, 24, "thin")


def test_a_cited_passage_stands_for_what_says_the_same() -> None:
    found = passages(4)
    before = coverage_of(judged_evidence({1: 0.9, 2: 0.8, 3: 0.7}, 0.5, found, {i: i for i in found}), found)
    after = coverage_of(before, found, cited=[2], same={1: 1, 2: 1, 3: 3, 4: 3})
    assert (after["ids"], after["sources"], after["reworded"]) == ([2, 3], 2, 1)
