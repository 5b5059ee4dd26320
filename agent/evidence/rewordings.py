"""Which of a run's passages say the same in other words."""

import asyncio
from collections.abc import Collection

import numpy as np

from agent.evidence.coverage import originals_of
from agent.inference import Models
from tools.inference.encoders.encoder import MiniLM
from tools.language.copies import reason_of, same_groups
from tools.language.sentences import passage_sentences
from tools.passages import Passage


async def same_as(
    models: Models, passages: dict[int, Passage], ids: Collection[int], *, slack: float = 0.0
) -> dict[int, int]:
    """Of each of the passages the first one, by id, that says the same, be it word for word or in other words.

    What says the same in other words is told by thresholds of the embedded encoder, and by no other one. `slack`: by
    how much a passage may fall short of them.
    """
    kept = {i: passages[i] for i in sorted(set(ids)) if i in passages}
    originals = originals_of(kept)
    if not isinstance(models.encoder, MiniLM):
        return originals
    texts = sorted(set(originals.values()))
    sentences = [passage_sentences(kept[i]) for i in texts]
    vectors = await models.encode_sentences([s for mine in sentences for s in mine])
    ends = np.cumsum([len(mine) for mine in sentences])
    parts = [vectors[end - len(mine) : end] for mine, end in zip(sentences, ends, strict=True)]
    why = [reason_of(mine[0].text) if len(mine) == 1 else "" for mine in sentences]
    of = dict(zip(given := [w for w in why if w], await models.encode(given), strict=True)) if any(why) else {}
    groups = await asyncio.to_thread(same_groups, parts, slack, [of.get(w) for w in why])
    first = {i: texts[group] for i, group in zip(texts, groups, strict=True)}
    return {i: first[original] for i, original in originals.items()}
