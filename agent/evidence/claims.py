"""What is checked of a claim: that the passages that it cites say it (`tools.language.grounding`, with the models of
the run), and that it serves its perspective.
"""

import asyncio
import re
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from agent.evidence.sentences import stances_to, supports_perspective
from agent.models.inference import Models, RunJudge
from agent.models.providers import Providers
from agent.state import (
    OF_NO_PERSPECTIVE,
    Check,
    Claim,
    Dropped,
    Perspective,
    RunState,
    contrary_statements,
    decontextualised,
)
from tools.budget import current_log
from tools.errors import BudgetError, DeadlineError, ProviderError, as_sentence
from tools.language.addressed import claim_intrusions
from tools.language.grounding import LEAST_ENTAILMENT, evidence_sentences, is_grounded
from tools.language.sentences import split_sentences
from tools.models.judges.checker import ClaimCheck, ClaimVerdict
from tools.models.judges.judge import Pair, side_score
from tools.passages import Passage

_SPACES = re.compile(r"\s+")


async def check_grounding(
    models: Models, claims: Sequence[Claim], passages: dict[int, Passage], judged: Mapping[str, float]
) -> dict[str, Claim | None]:
    """For each claim's text the claim, citing only the passages that say it, with the words of each that do; None for a
    claim that no cited passage says, nor all of them together. A crux is said by passages of both perspectives
    together, or not at all.

    judged: how surely a chat model finds the claim of that text in all that it cites; one that none checked stands
    only where it is there word for word.
    """
    cited = {i: split_sentences(passages[i].text) for c in claims for i in c["passages"] if i in passages}
    texts = list(dict.fromkeys([*(c["text"] for c in claims), *(s for sentences in cited.values() for s in sentences)]))
    vectors = dict(zip(texts, await models.encode(texts), strict=True))

    def is_said(claim: str, ids: Sequence[int]) -> bool:
        """Whether the passages, read as one text, say it."""
        text = "\n".join(passages[i].text for i in ids)
        sentences = [s for i in ids for s in cited[i]]
        if len(sentences) != len(split_sentences(text)):  # joined, they were cut elsewhere
            return False
        if verbatim(claim, text):
            return not claim_intrusions(claim)
        nearness = [float(vectors[claim] @ vectors[s]) for s in sentences]
        title = " ".join(f"{p.title}. {p.publisher}. {p.said_by}." for p in map(passages.__getitem__, ids))
        return is_grounded(claim, text, nearness, judged.get(claim, 0.0), title)

    grounded: dict[str, Claim | None] = {}
    for claim in claims:
        text, known = claim["text"], [i for i in claim["passages"] if i in cited]
        saying = [i for i in known if claim["role"] != "crux" and is_said(text, [i])]
        if not saying and len(known) > 1 and is_said(text, known):
            saying = known
        grounded[text] = _citing(claim, [passages[i] for i in saying]) if saying else None
    return grounded


def _citing(claim: Claim, saying: Sequence[Passage]) -> Claim:
    """The claim with the passages that say it; one that stands in them word for word is a quotation."""
    ids = [p.id for p in saying]
    if all(verbatim(claim["text"], p.text) for p in saying):
        return Claim(**{**claim, "passages": ids, "written": False})
    evidence = [" ".join(evidence_sentences(claim["text"], p.text, limit=1)) for p in saying]
    return Claim(**{**claim, "passages": ids, "evidence": evidence})


def verbatim(claim: str, passage: str) -> bool:
    """Whether the claim's words stand in the passage as they are; white space may differ. No words stand nowhere."""
    words = _SPACES.sub(" ", claim).strip()
    return bool(words) and words in _SPACES.sub(" ", passage)


T = TypeVar("T")


def accepts(verdict: tuple[float, float]) -> bool:
    """Whether a judge finds a claim in its passages and takes it for its perspective's; not where it gave no answer."""
    return min(verdict) >= LEAST_ENTAILMENT and not np.isnan(verdict).any()


def verdict_of(votes: Sequence[tuple[float, float]]) -> tuple[float, float] | None:
    """What most of the answers to a claim say of it; a tie refuses it. None where there is no answer."""
    answered = [v for v in votes if not np.isnan(v).any()]
    yes = [v for v in answered if accepts(v)]
    if not answered:
        return None
    agreed = 2 * len(yes) > len(answered)
    said, serving = np.mean(yes, axis=0) if agreed else np.min([v for v in answered if v not in yes], axis=0)
    return float(said), float(serving)


async def gather_or_cancel(work: Sequence[Coroutine[Any, Any, T]]) -> list[T]:
    """The results of what goes on side by side; where one fails none goes on asking."""
    tasks = [asyncio.ensure_future(w) for w in work]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


_CHECKING = 0.5  # of the time that is left, in which a judge checks claims
UNCHECKED = "Not all that the model wrote was checked; what was not is left out."
Key = tuple[str, str]
"""A claim's perspective and text."""


def key_of(claim: Claim) -> Key:
    return claim["perspective"], claim["text"]


@dataclass(frozen=True)
class ClaimVerifier:
    """What the checks need: the passages' texts, the perspectives' statements, the judge in force, the time there is.

    known: what the judge said of claims that it checked: how surely their passages say them, and that they serve.
    unanswered: the claims that it was to check and did not. failed: checkers beside the judge, not to be asked again.
    """

    providers: Providers
    state: RunState
    judge: RunJudge
    seconds: Callable[[], float]
    known: dict[Key, tuple[float, float]] = field(default_factory=dict)
    unanswered: set[Key] = field(default_factory=set)
    failed: set[str] = field(default_factory=set)

    async def verify_by_perspective(
        self, drafts: Sequence[Claim], on_verified: Callable[[list[Claim], list[Dropped]], None]
    ) -> None:
        """Checks all perspectives at once; `on_verified` is given each one's claims as soon as they are through."""

        async def one(perspective: str) -> None:
            on_verified(*await self.verify_claims([c for c in drafts if c["perspective"] == perspective]))

        perspectives = dict.fromkeys(c["perspective"] for c in drafts)
        for failure in await asyncio.gather(*map(one, perspectives), return_exceptions=True):
            if failure is not None:
                raise failure

    async def verify_claims(self, claims: Sequence[Claim]) -> tuple[list[Claim], list[Dropped]]:
        """The claims that hold, with the evidence of written ones filled in, and those that do not."""
        held: list[Claim] = []
        dropped: list[Dropped] = []
        for claim, verdict in zip(claims, await self._verdicts(claims), strict=True):
            if isinstance(verdict, str):
                dropped.append(Dropped(perspective=claim["perspective"], text=claim["text"], check=verdict))
            else:
                held.append(verdict)
        return held, dropped

    async def _verdicts(self, claims: Sequence[Claim]) -> "list[Claim | Check]":
        """Each claim as it holds, or the check that it failed."""
        models, cited = self.providers.models, {i for c in claims for i in c["passages"]}
        passages = await asyncio.to_thread(self.providers.passages, cited)
        written = [c for c in claims if c.get("written")]
        checked = await self.ask_checker(written, passages)
        to_judge = [
            c
            for c in claims
            if c["role"] not in OF_NO_PERSPECTIVE and c["passages"] and not (c.get("written") and key_of(c) in checked)
        ]
        grounded, serving = await asyncio.gather(
            check_grounding(models, written, passages, {text: found for (_, text), (found, _) in checked.items()}),
            self._serving(to_judge),
        )
        serving |= {key: found for key, (found, serving_it) in checked.items() if serving_it >= LEAST_ENTAILMENT}
        held = [grounded[c["text"]] if c.get("written") else _quoted(c, passages) for c in claims]
        return [
            "unchecked" if h is None and key_of(c) in self.unanswered else _verdict(c, h, serving)
            for c, h in zip(claims, held, strict=True)
        ]

    async def ask_checker(
        self, written: Sequence[Claim], passages: dict[int, Passage]
    ) -> dict[Key, tuple[float, float]]:
        """How surely a chat model finds each written claim in what it cites, and takes it for its perspective's;
        without those that it did not answer, and those that fail whatever it says.

        The claims of a perspective are checked at once, twice side by side (`BatchJudge` shuffles each call), and once
        more where the two differ: a model errs, and the most of three do so less often.
        """
        # With every claim taken for said, what its words and figures refute is sorted out before a model is asked.
        may_hold = await check_grounding(self.providers.models, written, passages, {c["text"]: 1.0 for c in written})
        unasked = [c for c in written if may_hold[c["text"]] and key_of(c) not in self.known]

        async def of(perspective: str) -> None:
            mine = [c for c in unasked if c["perspective"] == perspective]
            twice = await gather_or_cancel([self._ask_once(perspective, mine, passages) for _ in range(2)])
            votes = [list(v) for v in zip(*twice, strict=True)]
            split = [i for i, given in enumerate(votes) if len(set(map(accepts, given))) > 1]
            thirds = await self._ask_once(perspective, [mine[i] for i in split], passages) if split else []
            for i, third in zip(split, thirds, strict=True):
                votes[i].append(third)
            verdicts = zip(map(key_of, mine), map(verdict_of, votes), strict=True)
            self.known.update((key, verdict) for key, verdict in verdicts if verdict)

        await gather_or_cancel([of(perspective) for perspective in dict.fromkeys(c["perspective"] for c in unasked)])
        self.unanswered.update({key_of(c) for c in unasked} - self.known.keys())
        if self.unanswered:
            current_log().note("degraded", UNCHECKED)
        return self.known

    async def _ask_once(
        self, perspective: str, claims: Sequence[Claim], passages: dict[int, Passage]
    ) -> list[tuple[float, float]]:
        """For each claim how surely it is said, and serves; NaN without an answer, or without a model that checks."""
        statement = {p["id"]: p["statement"] for p in self.state.get("perspectives", [])}.get(perspective)
        checks = [
            ClaimCheck(c["text"], statement or "", tuple(passages[i] for i in c["passages"] if i in passages))
            for c in claims
        ]
        checker, verdicts = self.providers.models.checker, [ClaimVerdict()] * len(checks)
        try:
            if checker and checker.name not in self.failed:
                verdicts = await checker.check(checks, _CHECKING * self.seconds())
        except (BudgetError, DeadlineError) as exc:
            current_log().note("unjudged", f"Not every claim was checked by {checker.name if checker else ''}: {exc}")
        except ProviderError as exc:
            self.failed.add(checker.name if checker else "")
            current_log().note("degraded", f"What the model wrote was not checked: {as_sentence(str(exc))}")
        return [(v.said, v.serves if statement else 1.0) for v in verdicts]

    async def _serving(self, claims: Sequence[Claim]) -> dict[Key, float]:
        """The claims that serve their perspective, and how surely, by how a judge reads them as they are shown.

        What was read before is not read again: this refuses what no reading by this judge bears out. A judge that reads
        many passages in a call is for those; single sentences are read by that of this process.
        """
        models, found = self.providers.models, dict[Key, float]()
        reader = models.judge(models.own_judge.name) if self.judge.reads_documents else self.judge
        contrary = contrary_statements(self.state)

        async def of(perspective: Perspective) -> None:
            mine = [c for c in claims if c["perspective"] == perspective["id"]]
            texts, opposed = [decontextualised(c) for c in mine], contrary[perspective["id"]]
            if opposed:
                stances = await stances_to(reader, perspective, opposed, texts, self.seconds(), closely=True)
                scores, serving = stances[:, 0], supports_perspective(stances)
            else:
                scores = await self._support(reader, perspective, mine, texts)
                mined = np.array([c["text"] == perspective["statement"] for c in mine], bool)  # a source's own words
                serving = mined | (scores >= reader.sentence_threshold)
            found.update((key_of(c), float(s)) for c, s, yes in zip(mine, scores, serving, strict=True) if yes)

        await asyncio.gather(*map(of, self.state.get("perspectives", [])))
        return found

    async def _support(
        self, reader: RunJudge, perspective: Perspective, claims: Sequence[Claim], texts: Sequence[str]
    ) -> NDArray[np.float64]:
        """How surely each claim serves a perspective without a contrary, (n,), counted together with its passage; of
        one that was not judged in time as if the judge had said 0."""
        judged = self.state.get("support", {}).get(perspective["id"], {})
        pairs = [Pair(perspective["statement"], text, "") for text in texts]
        support = np.nan_to_num(await reader.support(pairs, self.seconds()))
        scores = [side_score(float(s), judged.get(c["passages"][0])) for c, s in zip(claims, support, strict=True)]
        return np.array(scores, np.float64)


def _verdict(claim: Claim, held: Claim | None, serving: dict[Key, float]) -> "Claim | Check":
    """held: the claim as its passages say it. serving: the claims that serve their perspective, and how surely."""
    if held is None:
        return "source"
    if claim["role"] in OF_NO_PERSPECTIVE:
        return held
    if key_of(claim) not in serving:
        return "side"
    return Claim(**{**held, "support": serving[key_of(claim)]}) if claim.get("written") else held


def _quoted(claim: Claim, passages: dict[int, Passage]) -> Claim | None:
    """The claim, if it stands word for word in every passage that it cites."""
    stands = [i in passages and verbatim(claim["text"], passages[i].text) for i in claim["passages"]]
    return claim if stands and all(stands) else None
