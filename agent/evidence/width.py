"""Narrow questions: one that asks for a single effect ('Do phone bans cut bullying?') is answered by what speaks of it.

Where nothing does, the wider dispute about the same subject is answered, and the answer says so.
"""

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import snowballstemmer  # type: ignore[import-untyped]
from numpy.typing import NDArray

from agent.evidence.aspects import speaking_of
from agent.evidence.sentences import read_perspectives
from agent.inference import Models
from agent.seams import Brief, Reading
from agent.state import FramingState, Perspective
from tools.language.grammar import Narrow, narrowed

_EMPTY = frozenset("better worse more most less many much good that this with from than very".split())
_SPEAKS_OF = 0.4  # cosine of a sentence to the effect from which it speaks of it in other words


def narrow_of(framing: FramingState) -> Narrow | None:
    """The effect that a question with two plain perspectives asks for; None for any other question."""
    if framing["form"] not in ("polar", "claim") or not framing["claim"] or framing["focus"]:
        return None
    return narrowed(framing["claim"])


async def at_its_width(
    models: Models, briefs: Sequence[Brief], readings: Sequence[Reading], narrow: Narrow, seconds: float
) -> tuple[list[Brief], list[Reading]]:
    """The briefs and readings at the question's own width, or, where that leaves nothing to show for either
    perspective, those of the wider one. Raises JudgeError."""
    effect = (await models.encode([narrow.aspect]))[0]
    own = [_speaking(reading, narrow.aspect, effect) if _faces(brief) else reading
           for brief, reading in zip(briefs, readings, strict=True)]  # fmt: skip
    facing = [r for brief, r in zip(briefs, own, strict=True) if _faces(brief)]
    unread = any(np.isnan(r.sure).any() for r in facing)
    if len(facing) != 2 or unread or any(map(_shows, facing)):
        return list(briefs), own
    wider = [_widened(brief, narrow) for brief in briefs]
    read = await read_perspectives(models, wider, seconds)
    answers = any(_shows(r) for brief, r in zip(wider, read, strict=True) if "narrow" in brief.framing)
    return (wider, read) if answers else (list(briefs), own)


def _shows(reading: Reading) -> bool:
    return bool((reading.case | reading.leaning).any())


def _faces(brief: Brief) -> bool:
    """Whether the perspective is one of the two that the question itself has, and faces the other."""
    own = brief.framing["claim"], brief.framing["negation"]  # a person may have changed a perspective
    return brief.perspective["statement"] in own and brief.contrary in own


def _speaking(reading: Reading, aspect: str, effect: NDArray[np.float32]) -> Reading:
    """Only what speaks of the effect, by itself or with the sentences beside it in its passage."""
    words, stems = speaking_of(aspect), _stems(aspect)
    named = [bool(words.search(u.text)) or bool(stems & _stems(u.text)) for u in reading.units]
    own = np.array(named, bool) | (reading.vectors @ effect >= _SPEAKS_OF)
    passages = {u.passage.id for u, yes in zip(reading.units, own, strict=True) if yes}
    within = np.array([u.passage.id in passages for u in reading.units], bool)
    return replace(reading, case=reading.case & own, leaning=(reading.leaning | reading.case & ~own) & within)


def _stems(text: str) -> frozenset[str]:
    """The stems of its longer words: 'bullied' and 'bullying' have one."""
    words = [w for w in re.findall(r"[^\W\d_]{4,}", text.casefold()) if w not in _EMPTY]
    return frozenset(snowballstemmer.stemmer("english").stemWords(words))


def _widened(brief: Brief, narrow: Narrow) -> Brief:
    if not _faces(brief):
        return brief
    perspectives = (narrow.claim, narrow.negation)
    own, contrary = perspectives if brief.perspective["stance"] == "supports" else perspectives[::-1]
    perspective = Perspective(**{**brief.perspective, "statement": own})
    return replace(brief, perspective=perspective, contrary=contrary, framing=widened(brief.framing, narrow))


def widened(framing: FramingState, narrow: Narrow) -> FramingState:
    """The framing of the wider question."""
    return FramingState(
        **{
            **framing,
            "neutral": narrow.question,
            "claim": narrow.claim,
            "negation": narrow.negation,
            "narrow": framing["neutral"],
            "aspect": narrow.aspect,
        }
    )
