"""Verify: every claim is in the passage it cites, and serves the side that it stands under.

A quoted claim has to stand there word for word; a written one has to be said there (`agent.evidence.entailment`). What
fails is replaced once by the writer's next best claim, which has to pass the same checks; else it is dropped and
counted. Nothing is rewritten after this stage.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

import numpy as np
from langgraph.runtime import Runtime

from agent.evidence.crux import opposed, shared_points
from agent.evidence.entailment import ground, verbatim
from agent.evidence.sentences import serves, stances_to
from agent.evidence.votes import accepts, filling_of, together, verdict_of
from agent.inference import RunJudge
from agent.nodes.judge import replaced, standing
from agent.nodes.stage import Stage, in_time, report, timed
from agent.nodes.write import brief_of, comparable_room
from agent.options import RunOptions, options_of
from agent.routing import time_left
from agent.seams import Providers
from agent.state import (
    Claim,
    Coverage,
    Dropped,
    Failure,
    Perspective,
    RunState,
    as_read,
    contrary_statements,
    in_case,
)
from tools.allowance import current
from tools.errors import DeadlineError, JudgeError
from tools.inference.judges.judge import ClaimCheck, Pair, side_score
from tools.language.grounding.grounding import SAID
from tools.passages import Passage

_GRACE = 1.0  # seconds in which quotations that were read before take the place of what was not checked in time
_CHECKING = 0.5  # of the time that is left, in which a judge checks claims
_OF_NO_SIDE = ("plain", "crux")
_SOURCES = 3  # of a side's case, where there are so many
_USUAL = 4  # claims of a side


def node(providers: Providers) -> Stage[RunState]:
    async def verify(state: RunState, runtime: Runtime[RunOptions]) -> RunState:
        options = options_of(runtime)
        judge = providers.models.judge(state.get("judge", ""))
        left = partial(_left, options)
        checker = _Checker(providers, state, judge, left, options.claims_per_side)
        held: list[Claim] = []
        repaired: list[Claim] = []
        dropped: list[Dropped] = []
        failures: list[Failure] = []

        def tell(claims: Sequence[Claim]) -> None:
            for claim in claims:
                if claim["role"] == "crux":
                    continue
                report(runtime, "claim", side=claim["perspective"], text=as_read(claim), tier=claim.get("tier", "case"))

        def checked(holding: list[Claim], failing: list[Dropped]) -> None:
            held.extend(holding)
            dropped.extend(failing)
            tell(holding)

        try:
            await in_time(options, "verify", checker.sift_sides(state.get("drafts", []), checked))
            repaired = await in_time(options, "verify", checker.repair(dropped))
            repaired += await in_time(options, "verify", checker.filled([*held, *repaired], dropped))
        except DeadlineError as exc:
            failures = [Failure(stage="verify", message=f"What could not be checked was left out: {exc}")]
            with suppress(TimeoutError):  # what was read before is there at once
                async with asyncio.timeout(_GRACE):
                    repaired += await checker.filled([*held, *repaired], dropped)
        except JudgeError as exc:
            return replaced(providers, exc)
        tell(repaired)
        claims = with_crux(state, thesis_first(_in_order(state, [*held, *repaired])))
        report(runtime, "verified", held=len(held), repaired=len(repaired), dropped=len(dropped))
        coverage = await asyncio.to_thread(_counted, providers, state, claims)
        return RunState(claims=claims, dropped=dropped, failures=failures, coverage=coverage)

    return timed("verify", verify)


def _left(options: RunOptions) -> float:
    return time_left(options, "verify", time.time())


def _counted(providers: Providers, state: RunState, claims: Sequence[Claim]) -> dict[str, Coverage]:
    """The ledger with the passages of verified claims counted for the sides that they serve."""
    coverage = state.get("coverage", {})

    def cited(side: str, case: bool) -> list[int]:
        return [i for c in claims if c["perspective"] == side and in_case(c) is case for i in c["passages"]]

    ids = {i for side, c in coverage.items() for i in (*c["ids"], *cited(side, True))}
    passages = providers.store.passages(ids)
    return {side: with_passages(c, cited(side, True), cited(side, False), passages) for side, c in coverage.items()}


def with_passages(
    coverage: Coverage, case: Sequence[int], beside: Sequence[int], passages: dict[int, Passage]
) -> Coverage:
    """The side's coverage with the passages of its case counted too, and those of what may speak for it among the
    leaning ones. Without a claim it is thin at best, since evidence that cannot be shown in a sentence makes no case;
    without one of its case it only leans."""
    counted = list(dict.fromkeys([*coverage["ids"], *case]))
    leaning = [i for i in dict.fromkeys([*coverage.get("leaning", []), *beside]) if i not in counted]
    sources = {passages[i].source for i in counted if i in passages}
    stands = standing(len(counted), len(sources), len(leaning))
    now = Coverage(**{**coverage, **stands, "ids": counted, "leaning": leaning})
    if case or now["status"] in ("not_found", "leaning"):
        return now
    return Coverage(**{**now, "status": "thin"})


@dataclass(frozen=True)
class _Checker:
    """What the checks need: the passages' texts, the sides' statements, the judge in force, the time there is,
    and how many claims a side may show."""

    providers: Providers
    state: RunState
    judge: RunJudge
    seconds: Callable[[], float]
    limit: int
    known: dict[tuple[str, str], tuple[float, float]] = field(default_factory=dict)
    """What the judge said of claims that it checked: how surely their passages say them, and that they serve."""

    async def sift_sides(self, drafts: Sequence[Claim], checked: Callable[[list[Claim], list[Dropped]], None]) -> None:
        """Checks all sides at once; `checked` is given each side's claims as soon as they are through."""

        async def one(side: str) -> None:
            checked(*await self.sift([c for c in drafts if c["perspective"] == side]))

        sides = dict.fromkeys(c["perspective"] for c in drafts)
        for failure in await asyncio.gather(*map(one, sides), return_exceptions=True):
            if failure is not None:
                raise failure

    async def sift(self, drafts: Sequence[Claim]) -> tuple[list[Claim], list[Dropped]]:
        """The claims that hold, with the evidence of written ones filled in, and those that do not."""
        verdicts = await self._check(drafts)
        held = [c for c in verdicts if not isinstance(c, str)]
        dropped = [
            Dropped(perspective=c["perspective"], text=c["text"], check=failed)
            for c, failed in zip(drafts, verdicts, strict=True)
            if isinstance(failed, str)
        ]
        return held, dropped

    async def repair(self, dropped: Sequence[Dropped]) -> list[Claim]:
        """For each dropped claim its side's next spare, if that one holds; no spare is tried twice."""
        shown = {c["text"] for c in self.state.get("drafts", [])}
        waiting = [s for s in self.state.get("spares", []) if s["text"] not in shown]
        tried: list[Claim] = []
        for failed in dropped:
            mine = (s for s in waiting if s["perspective"] == failed["perspective"])
            if spare := next((s for s in mine if s["text"] not in {t["text"] for t in tried}), None):
                tried.append(spare)
        return (await self.sift(tried))[0]

    async def filled(self, held: Sequence[Claim], dropped: Sequence[Dropped]) -> list[Claim]:
        """Quotations for the sides that show fewer claims than their sources would be quoted with: of what a model
        wrote too little may hold, and no side should be shorter for it. Then some of further sources."""
        sides, shown = self.state.get("perspectives", []), {c["text"] for c in held}
        fresh = (await self.sift([q for q in await self._quotations() if q["text"] not in shown]))[0]
        ready = {side["id"]: [q for q in fresh if q["perspective"] == side["id"]] for side in sides}
        mine = {side["id"]: [c for c in held if c["perspective"] == side["id"]] for side in sides}
        wanted = Counter(q["perspective"] for q in await self._quotations())
        filling = {side: filling_of(mine[side], ready[side], wanted[side]) for side in mine}
        now = {side: [*mine[side], *filling[side]] for side in mine}
        room = comparable_room({side: sum(map(in_case, claims)) for side, claims in now.items()})
        for side, claims in now.items():
            most = max(min(self.limit, max(room.values(), default=0)) - sum(map(in_case, claims)), 0)
            filling[side] += await self._from_others(claims, ready[side], most)
        written, lost = {c["perspective"] for c in held}, {d["perspective"] for d in dropped}
        for perspective in sides:
            if perspective["id"] in lost - written and filling[perspective["id"]]:
                what = f"Nothing that the model wrote for '{perspective['name']}' passed the checks"
                current().note("degraded", f"{what}: its sources are quoted instead.")
        return [claim for claims in filling.values() for claim in claims]

    async def _from_others(self, shown: Sequence[Claim], quotations: Sequence[Claim], most: int) -> list[Claim]:
        """Up to `most` quotations of further sources, for a case that a model wrote from fewer than _SOURCES."""
        if not any(c.get("written") for c in shown):
            return []
        more = [q for q in quotations if in_case(q) and q not in shown]
        ids = {i for c in (*shown, *more) for i in c["passages"]}
        passages = await asyncio.to_thread(self.providers.store.passages, ids)
        sources = {passages[i].source for c in shown if in_case(c) for i in c["passages"] if i in passages}
        taken: list[Claim] = []
        for quotation in more:
            own = {passages[i].source for i in quotation["passages"] if i in passages}
            if len(taken) < most and len(sources) < _SOURCES and not own & sources:
                taken.append(quotation)
                sources |= own
        return taken

    async def _quotations(self) -> Sequence[Claim]:
        """What the sources would be quoted with, where a model wrote; read now for a run from before that was kept."""
        if "quotations" in self.state or self.providers.quote_fallback is None:
            return self.state.get("quotations", [])
        sides = self.state.get("perspectives", [])
        briefs = [await brief_of(self.providers, self.state, side, _USUAL) for side in sides]
        return [c for brief in briefs for c in (await self.providers.quote_fallback.write(brief))[0]]

    async def _check(self, claims: Sequence[Claim]) -> "list[Claim | Check]":
        spares = self._spares_of(claims) if self.judge.checks_claims else []
        cited = {i for c in (*claims, *spares) for i in c["passages"]}
        passages = await asyncio.to_thread(self.providers.store.passages, cited)
        written = [c for c in claims if c.get("written")]
        checked = await self._checked([*written, *spares], passages) if self.judge.checks_claims else None
        sided = [c for c in claims if c["role"] not in _OF_NO_SIDE and c["passages"]]
        to_judge = [c for c in sided if not c.get("written") or (c["perspective"], c["text"]) not in (checked or {})]
        said = None if checked is None else {text: verdict[0] for (_, text), verdict in checked.items()}
        grounded, serving = await asyncio.gather(
            ground(self.providers.models, written, passages, said), self._serving(to_judge)
        )
        if checked:
            serving |= {key: said_it for key, (said_it, serves_it) in checked.items() if serves_it >= SAID}
        verdicts: list[Claim | Check] = []
        for claim in claims:
            held = grounded[claim["text"]] if claim.get("written") else _verbatim(claim, passages)
            if held is None:
                verdicts.append("source")
            elif claim["role"] in _OF_NO_SIDE or (
                (claim["perspective"], claim["text"]) in serving and not claim.get("written")
            ):
                verdicts.append(held)
            elif (claim["perspective"], claim["text"]) in serving:
                verdicts.append(Claim(**{**held, "support": serving[claim["perspective"], claim["text"]]}))
            else:
                verdicts.append("side")
        return verdicts

    def _spares_of(self, claims: Sequence[Claim]) -> list[Claim]:
        """The spares of these claims' sides: they are checked in the same call, and if they are needed no other is."""
        sides, texts = {c["perspective"] for c in claims}, {c["text"] for c in claims}
        spares = [s for s in self.state.get("spares", []) if s["perspective"] in sides and s.get("written")]
        return [s for s in spares if s["text"] not in texts]

    async def _checked(
        self, written: Sequence[Claim], passages: dict[int, Passage]
    ) -> dict[tuple[str, str], tuple[float, float]]:
        """How surely the judge finds each written claim in what it cites, and takes it for its side's; without those
        that it did not answer, and those that fail whatever it says. The claims of a side are checked at once,
        twice side by side in other orders, and once more where the two differ: a judge errs, and the most of three do
        so less often."""
        statements = {p["id"]: p["statement"] for p in self.state.get("perspectives", [])}
        found = self.known
        may_hold = await ground(self.providers.models, written, passages, {c["text"]: 1.0 for c in written})
        unasked = [c for c in written if may_hold[c["text"]] and (c["perspective"], c["text"]) not in found]

        async def once(side: str, asked: Sequence[Claim]) -> list[tuple[float, float]]:
            checks = [
                ClaimCheck(c["text"], tuple(passages[i].text for i in c["passages"] if i in passages)) for c in asked
            ]
            scores = await self.judge.check(statements.get(side, ""), checks, _CHECKING * self.seconds())
            return [(float(said), float(serves) if side in statements else 1.0) for said, serves in scores]

        async def of(side: str) -> None:
            mine = [c for c in unasked if c["perspective"] == side]
            twice = zip(*await together([once(side, mine), once(side, mine)]), strict=True)
            votes: list[tuple[tuple[float, float], ...]] = [*twice]
            split = [i for i, given in enumerate(votes) if len(set(map(accepts, given))) > 1]
            if split:
                for i, third in zip(split, await once(side, [mine[i] for i in split]), strict=True):
                    votes[i] = (*votes[i], third)
            found.update((((side, c["text"]), v) for c, g in zip(mine, votes, strict=True) if (v := verdict_of(g))))

        await together([of(side) for side in dict.fromkeys(c["perspective"] for c in unasked)])
        return found

    @property
    def _reader(self) -> RunJudge:
        models = self.providers.models
        return models.judge(models.own_judge.name) if self.judge.checks_claims else self.judge

    async def _serving(self, claims: Sequence[Claim]) -> dict[tuple[str, str], float]:
        """The claims that serve the side they stand under, and how surely, by how a judge reads them as they are shown.

        What was read before is not read again: this refuses what no reading by this judge bears out. A judge that reads
        many passages in a call is for those; single sentences are read by that of this process.
        """
        found: dict[tuple[str, str], float] = {}
        contrary = contrary_statements(self.state)

        async def of(side: Perspective) -> None:
            mine = [c for c in claims if c["perspective"] == side["id"] and c["passages"]]
            if not contrary[side["id"]]:
                sure = await self._sure(mine)
                own = {(side["id"], c["text"]) for c in mine if c["text"] == side["statement"]}  # a mined side's own
                least = self._reader.sentence_threshold
                found.update({key: score for key, score in sure.items() if score >= least or key in own})
                return
            texts = [as_read(c) for c in mine]
            opposed, left = contrary[side["id"]], self.seconds()
            stances = await stances_to(self._reader, side, opposed, texts, left, closely=True)
            verdicts = zip(mine, serves(stances), stances, strict=True)
            found.update({(c["perspective"], c["text"]): float(stance[0]) for c, yes, stance in verdicts if yes})

        await asyncio.gather(*map(of, self.state.get("perspectives", [])))
        return found

    async def _sure(self, claims: Sequence[Claim]) -> dict[tuple[str, str], float]:
        """How surely each claim serves the side that it stands under; 0 for one that was not judged in time."""
        statements = {p["id"]: p["statement"] for p in self.state.get("perspectives", [])}
        contrary = contrary_statements(self.state)
        pairs = [Pair(statements[c["perspective"]], as_read(c), contrary[c["perspective"]]) for c in claims]
        judged = self.state.get("support", {})
        scores = np.nan_to_num(await self._reader.support(pairs, self.seconds()))
        return {
            (c["perspective"], c["text"]): side_score(float(s), judged.get(c["perspective"], {}).get(c["passages"][0]))
            for c, s in zip(claims, scores, strict=True)
        }


Check = Literal["source", "side"]
"""The two checks that a claim can fail."""


def _verbatim(claim: Claim, passages: dict[int, Passage]) -> Claim | None:
    """The claim, if it stands word for word in every passage that it cites."""
    stands = [i in passages and verbatim(claim["text"], passages[i].text) for i in claim["passages"]]
    return claim if stands and all(stands) else None


def _in_order(state: RunState, claims: Sequence[Claim]) -> list[Claim]:
    sides = [p["id"] for p in state.get("perspectives", [])]
    return sorted(claims, key=lambda c: sides.index(c["perspective"]) if c["perspective"] in sides else len(sides))


def with_crux(state: RunState, claims: Sequence[Claim]) -> list[Claim]:
    """The claims with one sentence on what the dispute turns on, where both sides have a case: the one that was written
    and held, else the points that both cases speak to."""
    sides, framing = state.get("perspectives", []), state["framing"]
    written = [c for c in claims if c["role"] == "crux"]
    rest = [c for c in claims if c["role"] != "crux"]
    cased = {c["perspective"] for c in rest if in_case(c)}
    pair = opposed(sides)
    if pair is None or not {p["id"] for p in pair} <= cased:
        return rest
    asked = " ".join([framing["neutral"], *(p["statement"] for p in pair)])
    crux = written[0] if written else shared_points(sides, rest, asked)
    return [*rest, crux] if crux else rest


def thesis_first(claims: list[Claim]) -> list[Claim]:
    """Each side's first claim, the best of its writer's that holds, is its one-line summary."""
    led: set[str] = set()
    marked: list[Claim] = []
    for claim in claims:
        if claim["role"] in _OF_NO_SIDE:
            marked.append(claim)
            continue
        role: Literal["thesis", "case"] = "case" if claim["perspective"] in led or not in_case(claim) else "thesis"
        led |= {claim["perspective"]} if in_case(claim) else set()
        marked.append(Claim(**{**claim, "role": role}))
    return marked
