"""What the judge says of texts for two contrary perspectives, or for one and its denial."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from agent.models.inference import CachedJudge
from agent.state import Perspective, judge_form
from tools.language.sentences import split_sentences
from tools.models.judges.judge import AFFIRMING, Pair, in_context
from tools.models.judges.quoting import AGAINST_ITSELF, stance_log_odds
from tools.passages import Passage

_SUPPORTS_AT_ALL = 0.03  # probability of support below which words argue for nothing


def with_denial(perspective: Perspective, contrary: str) -> tuple[Perspective, str]:
    """A perspective and its contrary as they are read.

    A person's own side, and one without a contrary, is read as the yes to itself, against the no: two wishes such as
    'Keep it' and 'Move it', read together, are often exchanged. An answer whose other one was dropped is read against
    that one all the same.
    """
    said, other = perspective["statement"], "No" if perspective["name"] in AFFIRMING else "Yes"
    answers = judge_form(perspective) == "answer"
    if perspective["origin"] == "person" or not (contrary or answers):
        alone = Perspective(**perspective | {"name": "Yes", "statement": f"Yes: {said}", "origin": "question"})
        return alone, f"No: {said}"
    return perspective, contrary or f"{other}: {said.partition(': ')[2]}"


async def closer_stances(
    judge: CachedJudge,
    perspective: Perspective,
    contrary: str,
    parts: Sequence[tuple[str, str, Passage]],
) -> NDArray[np.float64]:
    """As `stances_to`, by the judge's closer reading of each text among its neighbours. parts: the text, the text as it
    is shown, its passage."""
    placed = [_text_in_context(*part) for part in parts]
    texts = [shown for _, shown, _ in parts]
    return await stances_to(judge, perspective, contrary, texts, closely=True, placed=placed)


def _text_in_context(text: str, shown: str, passage: Passage) -> str:
    """The text with its document's title and the sentences of its passage before and after it."""
    around = split_sentences(passage.text)
    own = [i for i, sentence in enumerate(around) if sentence in text or text in sentence] or [0]
    before, after = around[max(0, own[0] - 1) : own[0]], around[own[-1] + 1 : own[-1] + 2]
    return in_context(passage.title, " ".join(before), shown, " ".join(after))


async def stances_to(
    judge: CachedJudge,
    perspective: Perspective,
    contrary: str,
    texts: Sequence[str],
    *,
    closely: bool = False,
    placed: Sequence[str] = (),
) -> NDArray[np.float64]:
    """The probabilities that each text supports the perspective, and its contrary, (n, 2). Two contrary perspectives
    are asked about by the same one of them, so that a text is read once and what it leans to does not hang on who asks.
    closely: by the judge's closer reading, where it has one and there is time for it, else as usual. placed: each text
    among its neighbours, for the closer reading."""
    turned = perspective["stance"] == "opposes" or (
        perspective["stance"] == "other" and perspective["contrary"] < perspective["id"]
    )
    first, second = (contrary, perspective["statement"]) if turned else (perspective["statement"], contrary)
    form, places = judge_form(perspective), placed or [""] * len(texts)
    pairs = [Pair(first, text, second, form=form, placed=p) for text, p in zip(texts, places, strict=True)]
    probabilities = await judge.stances(pairs, closely)
    late = np.flatnonzero(np.isnan(probabilities).any(axis=1))
    if closely and len(late):
        probabilities[late] = await judge.stances([pairs[i] for i in late])
    both = np.asarray(probabilities, np.float64).reshape(len(texts), 2)
    return both[:, ::-1] if turned else both


def supports_perspective(stances: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which texts may stand under the first of two contrary perspectives by what they say themselves, whatever is
    around them: those that support it at all, and do not speak for the other one. stances: (n, 2)."""
    lean, _ = stance_log_odds(stances)
    with np.errstate(invalid="ignore"):  # what was not judged serves nothing
        return np.asarray((stances[:, 0] >= _SUPPORTS_AT_ALL) & (lean >= AGAINST_ITSELF))
