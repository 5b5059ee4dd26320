"""One voice under many names, from the documents to the answer: it is told, and makes no agreement."""

import random

import pytest
from agent_fixtures import ingest

from agent.options import RunOptions
from agent.runs.service import Runs
from tools.passages import SourceDocument

QUESTION = "Should towns plant more street trees?"
FOR = (
    "Towns should plant more street trees, because a row of them cools a street by several degrees in a hot summer. "
    "Old people die in heat waves, and shade saves some of them.",
    "Street trees are good for trade. Shoppers stay longer in a street with trees, so that shops earn more and towns "
    "should plant more of them.",
    "A town that plants more street trees has fewer floods. Roots and soil take up rain that would otherwise fill the "
    "sewers in an hour.",
    "More street trees should be planted for the sake of birds and insects, which find no other home in a town.",
    "Children who walk to school under trees breathe cleaner air. Towns should plant more street trees beside roads.",
    "House prices rise where street trees stand, and the tax on them pays for planting more.",
)
AGAINST = (
    "Towns should not plant more street trees. Their roots lift the pavement, and people in wheelchairs cannot pass.",
    "Street trees cost a town more than they bring. Every one has to be pruned, watered and insured, so towns should "
    "not plant more.",
    "Planting more street trees is a mistake where streets are narrow, since they keep the foul air of the cars below.",
    "Towns should not plant more street trees, because falling branches kill people in storms and the town has to pay.",
    "Pollen from street trees makes hay fever worse. Towns should not plant more of them where people live close.",
    "Money for more street trees is taken from parks, where a tree serves more people. More should not be planted.",
)
SYNONYMS = {
    "towns": ("towns", "cities", "municipalities", "councils", "boroughs"),
    "plant": ("plant", "set", "put in", "grow", "establish"),
    "more": ("more", "many more", "further", "additional"),
    "cool": ("cool", "chill", "freshen"),
    "summer": ("summer", "hot months", "the warm season"),
    "lower": ("lower", "reduce", "cut", "bring down"),
    "bills": ("bills", "costs", "expenses", "charges"),
    "people": ("residents", "inhabitants", "people", "citizens"),
    "happy": ("happier", "more cheerful", "more content"),
    "clean": ("clean", "purify", "filter"),
}
PASSAGE = (
    "{towns} should {plant} {more} street trees because they {cool} the streets in {summer}. Trees {clean} the air and "
    "make {people} {happy}. They also {lower} the {bills} of {people}.",
)
SENTENCES = tuple(
    f"{claim} {reason}."
    for claim in (
        "{towns} should {plant} {more} street trees",
        "It is right that {towns} {plant} {more} street trees",
        "Street trees are something {towns} should {plant} {more} of",
        "Let {towns} {plant} {more} trees along their streets",
    )
    for reason in (
        "because they {cool} the streets in {summer}",
        "since they make {people} {happy}",
        "as they {lower} the {bills} of {people}",
        "for they {clean} the air of {towns}",
    )
)


def reworded(patterns: tuple[str, ...], number: int) -> list[str]:
    """Texts of the patterns with words swapped for synonyms, each another one."""
    chance, texts = random.Random(2), dict[str, None]()
    while len(texts) < number:
        words = {word: chance.choice(others) for word, others in SYNONYMS.items()}
        text = chance.choice(patterns).format(**words)
        texts[text[0].upper() + text[1:]] = None
    return list(texts)


@pytest.mark.parametrize("patterns", [PASSAGE, SENTENCES], ids=["passages", "sentences"])
async def test_many_names_for_one_voice_make_no_agreement(patterns: tuple[str, ...], own_runs: Runs) -> None:
    texts = [*FOR, *AGAINST, *reworded(patterns, 30)]
    documents = [SourceDocument(f"d{i}", text, publisher=f"Press {i}") for i, text in enumerate(texts)]
    ingest(own_runs, documents, "own")
    answer = await own_runs.answer(await own_runs.start(QUESTION, RunOptions.of(collections=("own",), web=False)))
    assert answer.outcome == "answered"
    repeats = sum(d.not_quoted == "repeats" for d in answer.documents)
    assert repeats >= 20
    assert answer.summary.startswith(f"Of {len(texts) - repeats} documents on this, ")
    if patterns is PASSAGE:
        assert answer.coverage[0].passages <= len(FOR) + 1
