"""The two checks of a claim: that the passages that it cites say it, and that it serves its perspective."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from agent.evidence.entailment import ground, verbatim
from agent.evidence.sentences import serves, stances_to
from agent.evidence.votes import accepts, together, verdict_of
from agent.inference import RunJudge
from agent.seams import Providers
from agent.state import OF_NO_PERSPECTIVE, Check, Claim, Dropped, Perspective, RunState, as_read, contrary_statements
from tools.budget import current_log
from tools.inference.judges.judge import ClaimCheck, Pair, side_score
from tools.language.grounding import SAID
from tools.passages import Passage

_CHECKING = 0.5  # of the time that is left, in which a judge checks claims
Key = tuple[str, str]
"""A claim's perspective and text."""


def key_of(claim: Claim) -> Key:
    return claim["perspective"], claim["text"]


@dataclass(frozen=True)
class ClaimChecks:
    """What the checks need: the passages' texts, the perspectives' statements, the judge in force, the time there is.

    known: what the judge said of claims that it checked: how surely their passages say them, and that they serve.
    """

    providers: Providers
    state: RunState
    judge: RunJudge
    seconds: Callable[[], float]
    known: dict[Key, tuple[float, float]] = field(default_factory=dict)

    async def sift_perspectives(
        self, drafts: Sequence[Claim], checked: Callable[[list[Claim], list[Dropped]], None]
    ) -> None:
        """Checks all perspectives at once; `checked` is given each one's claims as soon as they are through."""

        async def one(perspective: str) -> None:
            checked(*await self.sift([c for c in drafts if c["perspective"] == perspective]))

        perspectives = dict.fromkeys(c["perspective"] for c in drafts)
        for failure in await asyncio.gather(*map(one, perspectives), return_exceptions=True):
            if failure is not None:
                raise failure

    async def sift(self, claims: Sequence[Claim]) -> tuple[list[Claim], list[Dropped]]:
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
        judged, models = self.judge.checks_claims, self.providers.models
        spares = self.spares_of(claims) if judged else []
        cited = {i for c in (*claims, *spares) for i in c["passages"]}
        passages = await asyncio.to_thread(self.providers.passages, cited)
        written = [c for c in claims if c.get("written")]
        checked = await self.checked([*written, *spares], passages) if judged else {}
        to_judge = [
            c
            for c in claims
            if c["role"] not in OF_NO_PERSPECTIVE and c["passages"] and not (c.get("written") and key_of(c) in checked)
        ]
        grounded, serving = await asyncio.gather(
            ground(models, written, passages, {text: found for (_, text), (found, _) in checked.items()}),
            self._serving(to_judge),
        )
        serving |= {key: found for key, (found, serving_it) in checked.items() if serving_it >= SAID}
        return [_verdict(c, grounded[c["text"]] if c.get("written") else _quoted(c, passages), serving) for c in claims]

    def spares_of(self, claims: Sequence[Claim]) -> list[Claim]:
        """The written spares of these claims' perspectives: they are checked in the same call, and if they are needed
        no other is."""
        perspectives, texts = {c["perspective"] for c in claims}, {c["text"] for c in claims}
        spares = [s for s in self.state.get("spares", []) if s["perspective"] in perspectives and s.get("written")]
        return [s for s in spares if s["text"] not in texts]

    async def checked(self, written: Sequence[Claim], passages: dict[int, Passage]) -> dict[Key, tuple[float, float]]:
        """How surely the judge finds each written claim in what it cites, and takes it for its perspective's; without
        those that it did not answer, and those that fail whatever it says.

        The claims of a perspective are checked at once, twice side by side in other orders, and once more where the two
        differ: a judge errs, and the most of three do so less often.
        """
        statements = {p["id"]: p["statement"] for p in self.state.get("perspectives", [])}
        may_hold = await ground(self.providers.models, written, passages, {c["text"]: 1.0 for c in written})
        unasked = [c for c in written if may_hold[c["text"]] and key_of(c) not in self.known]

        async def once(perspective: str, asked: Sequence[Claim]) -> list[tuple[float, float]]:
            checks = [
                ClaimCheck(c["text"], tuple(passages[i].text for i in c["passages"] if i in passages)) for c in asked
            ]
            scores = await self.judge.check(statements.get(perspective, ""), checks, _CHECKING * self.seconds())
            return [(float(found), float(serving) if perspective in statements else 1.0) for found, serving in scores]

        async def of(perspective: str) -> None:
            mine = [c for c in unasked if c["perspective"] == perspective]
            votes = [list(v) for v in zip(*await together([once(perspective, mine) for _ in range(2)]), strict=True)]
            split = [i for i, given in enumerate(votes) if len(set(map(accepts, given))) > 1]
            if split:
                for i, third in zip(split, await once(perspective, [mine[i] for i in split]), strict=True):
                    votes[i].append(third)
            verdicts = zip(map(key_of, mine), map(verdict_of, votes), strict=True)
            self.known.update((key, verdict) for key, verdict in verdicts if verdict)

        await together([of(perspective) for perspective in dict.fromkeys(c["perspective"] for c in unasked)])
        if any(key_of(c) not in self.known for c in unasked):
            told = "The model did not check all that was written: the embedded checks stood in for it."
            current_log().note("degraded", told)
        return self.known

    async def _serving(self, claims: Sequence[Claim]) -> dict[Key, float]:
        """The claims that serve their perspective, and how surely, by how a judge reads them as they are shown.

        What was read before is not read again: this refuses what no reading by this judge bears out. A judge that reads
        many passages in a call is for those; single sentences are read by that of this process.
        """
        models, found = self.providers.models, dict[Key, float]()
        reader = models.judge(models.own_judge.name) if self.judge.checks_claims else self.judge
        contrary = contrary_statements(self.state)

        async def of(perspective: Perspective) -> None:
            mine = [c for c in claims if c["perspective"] == perspective["id"]]
            texts, opposed = [as_read(c) for c in mine], contrary[perspective["id"]]
            if opposed:
                stances = await stances_to(reader, perspective, opposed, texts, self.seconds(), closely=True)
                scores, serving = stances[:, 0], serves(stances)
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
