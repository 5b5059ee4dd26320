"""Verify: checks that the cited passages say each claim, and that the claim serves its perspective.

The cited passages must contain a quoted claim word for word, and the judge decides whether the quotation serves its
side. A chat model checks all written claims in one call. A second call repeats the check for doubtful claims: claims
that the first call refused, and claims that word rules (`tools.language.grounding`) or the embedded judge contradict.
Every call contains one planted claim that cites a wrong passage. If the model accepts the planted claim, doubtful
claims are dropped. Dropped claims are counted. If no written claim of a perspective holds, quotations replace them. A
model writes the crux (the point on which the dispute depends) from the claims that hold; verify checks the crux too. No
later stage changes a text.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

import numpy as np
from langgraph.runtime import Runtime

from agent import limits
from agent.evidence.cases import deduplicated, demands
from agent.evidence.coverage import coverage_of, paraphrase_groups
from agent.evidence.sentences import closer_stances, stances_to, supports_perspective, with_denial
from agent.options import RunOptions, run_options
from agent.providers.inference import CachedJudge, Models
from agent.stage_interfaces import Providers
from agent.stages.stage import EMBEDDED, fall_back_to_own_judge, report, stage
from agent.state import (
    Claim,
    Coverage,
    DroppedClaim,
    FailedCheck,
    Perspective,
    RunState,
    contrary_statements,
    decontextualised,
    in_case,
    local_text,
    topic_of,
)
from tools.budget import current_log, in_time, share_of_time
from tools.errors import BudgetError, DeadlineError, JudgeError, ProviderError, as_sentence
from tools.language import grounding
from tools.language.demands import ticked_answers
from tools.language.near_duplicates import copy_groups
from tools.models.judges.batch import document_attributes, passage_line
from tools.models.judges.checker import ClaimCheck, ClaimVerdict
from tools.models.judges.quoting import stance_log_odds
from tools.passages import Passage
from tools.translation import labelled, mark, tr


@stage("verify")
async def verify(providers: Providers, state: RunState, runtime: Runtime[RunOptions]) -> RunState:
    if "drafts" not in state:  # the run ends with its passages
        coverage, same = await _coverage(providers, state, None)
        return RunState(coverage=coverage, duplicate_of=same)
    options = run_options(runtime)
    judge = providers.models.judge(state.get("judge", ""))
    checks = ClaimVerifier(providers, state, judge)
    held, quoted, dropped = list[Claim](), list[Claim](), list[DroppedClaim]()
    try:
        held, dropped = await in_time(checks.verify_claims(state["drafts"]))
        _report(runtime, held)
        quoted = await in_time(add_quotations(checks, held, options.claims_per_side))
    except DeadlineError as exc:
        current_log().note("failed", tr("What could not be checked was left out: {error}", error=exc))
        with suppress(TimeoutError):  # cached verdicts come at once
            async with asyncio.timeout(limits.VERIFY_GRACE_SECONDS):
                quoted = await add_quotations(checks, held, options.claims_per_side)
    except JudgeError as exc:
        return fall_back_to_own_judge(providers, exc)
    _report(runtime, quoted)
    shown = await merge_reworded(providers.models, deduplicated([*held, *quoted]))
    order = {p["id"]: n for n, p in enumerate(state.get("perspectives", []))}
    claims = with_theses(sorted(shown, key=lambda c: order.get(c["perspective"], len(order))))
    claims = await _with_dispute(checks, claims)
    report(runtime, "verified", held=len(held), repaired=len(quoted), dropped=len(dropped))
    coverage, same = await _coverage(providers, state, claims)
    translated = await _translations(providers, state, claims)
    return RunState(claims=claims, dropped=dropped, coverage=coverage, duplicate_of=same, translations=translated)


async def _translations(providers: Providers, state: RunState, claims: Sequence[Claim]) -> dict[str, str]:
    """Returns translations of the quotations in other languages than the question. Nothing else reads them."""
    language = state["framing"].get("language", "")
    if not language or providers.translate is None:
        return {}
    passages = await asyncio.to_thread(providers.passages, {i for c in claims for i in c["passages"]})
    quotes = dict[str, None]()
    for claim in claims:
        words = claim.get("evidence") or [decontextualised(claim)] * len(claim["passages"])
        quotes |= {q: None for i, q in zip(claim["passages"], words, strict=True) if passages[i].language != language}
    if len(quotes) > (most := limits.MOST_TRANSLATED):
        text = tr("Only the first {most} of {number} quotations were translated.", most=most, number=len(quotes))
        current_log().note("scope", text)
    try:
        return (await in_time(providers.translate(state["framing"], list(quotes))) if quotes else {}) or {}
    except DeadlineError as exc:
        current_log().note("late", labelled(tr("The quotations were not translated"), str(exc)))
        return {}


# Checks of single claims

UNCHECKED = mark("Not all that the model wrote was checked; what was not is left out.")
FOOLED = mark(
    "The checking model accepted a claim that its source does not say. So claims that the built-in checks spoke "
    "against were left out as well."
)


@dataclass
class _Draft:
    """A written claim while it is checked.

    document: returns the text of the cited documents. votes: the model's verdicts. opposed: whether the embedded judge
    clearly puts the claim on the opposing side.
    """

    claim: Claim
    side: str
    passages: tuple[Passage, ...]
    document: Callable[[Sequence[Passage]], str]
    hints: tuple[str, ...] = ()
    elsewhere: tuple[str, ...] = ()
    denied = opposed = False
    votes: list[ClaimVerdict] = field(default_factory=list)

    @property
    def shown(self) -> str:
        """The claim as the answer shows it."""
        return local_text(self.claim)

    def words_for(self, *passages: Passage) -> str:
        """Returns the claim in the passages' language if there is such a version, so that words can be compared."""
        return self.shown if any(p.language not in ("", "en") for p in passages) else self.claim["text"]

    def _texts(self, claim: str) -> tuple[str, str]:
        """Returns the cited text, and the text to search: the whole documents if the cited text lacks words."""
        shown = "\n".join(f"{'. '.join(document_attributes(p).values())}. {passage_line(p)}" for p in self.passages)
        return shown, self.document(self.passages) if grounding.word_hints(claim, shown) else shown

    def __post_init__(self) -> None:
        text, cited = self.words_for(*self.passages), "\n".join(p.text for p in self.passages)
        shown, document = self._texts(text)
        self.hints = () if self.is_verbatim else tuple(grounding.word_hints(text, document))
        if "local" in self.claim:
            self.hints += tuple(grounding.figure_hints(self.shown, f"{self.claim['text']}\n{document}"))
        self.denied = not (self.is_verbatim or self.is_crux) and grounding.is_denied(text, cited)
        lacking = set(grounding.missing_facts(text, document))
        self.elsewhere = tuple(f for f in grounding.missing_facts(text, shown) if f not in lacking)

    @property
    def originals(self) -> tuple[Passage, ...]:
        firsts = dict.fromkeys(copy_groups([p.text for p in self.passages]))
        return tuple(self.passages[n] for n in firsts)

    @property
    def is_verbatim(self) -> bool:
        return all(grounding.verbatim(self.shown, p.text) for p in self.passages)

    @property
    def is_at_fault(self) -> bool:
        """Whether the claim fails whatever the verdict: it cites nothing, or contains forbidden text such as markup."""
        texts = {self.claim["text"], self.shown}
        return not self.passages or any(map(grounding.has_forbidden_text, texts))

    @property
    def is_crux(self) -> bool:
        """Whether the claim is the crux. One call checks it, because the answer is complete without it."""
        return self.claim["role"] == "crux"

    @property
    def doubtful(self) -> bool:
        return self.opposed or self.denied or bool(self.hints)

    def take(self, vote: ClaimVerdict) -> None:
        """Adds a vote. The model's correction replaces the claim's text if the documents contain its facts."""
        text = vote.corrected if any(map(str.isalnum, vote.corrected)) else ""
        local = "local" in self.claim
        missing = grounding.figure_hints if local else grounding.missing_facts
        if text and not (missing(text, self._texts(text)[1]) or grounding.has_forbidden_text(text)):
            changed = self.claim.copy()
            changed["local" if local else "text"] = text
            self.claim = changed
            self.__post_init__()  # checks the new words
            vote = replace(vote, said=1.0)
        self.votes.append(vote)

    def accepted_by(self, vote: ClaimVerdict) -> bool:
        support = 1.0 if vote.answered and self.is_verbatim else vote.said
        return support >= limits.ACCEPTED and (not self.side or vote.serves >= limits.ACCEPTED)

    def verdict(self, trusted: bool) -> "Claim | FailedCheck":
        """Returns the claim if it holds, otherwise the failed check. Doubtful claims need two acceptances."""
        answered = [v for v in self.votes if v.answered]
        accepting = [v for v in answered if self.accepted_by(v)]
        if not answered or (self.doubtful and trusted and len(answered) == len(accepting) == 1 and not self.is_crux):
            return "unchecked"
        if len(accepting) < 1 + self.doubtful or (self.doubtful and not trusted):
            return "side" if not accepting and min(v.said for v in answered) >= limits.ACCEPTED else "source"
        ids, support = [p.id for p in self.passages], accepting[0].serves if self.side else 0.0
        named = self.claim.get("speakers", {})
        told = {p.id: named[p.id] for p in self.passages if p.id in named and self._tells_of(named[p.id], p)}
        if self.is_verbatim:
            quoted = Claim(**{**self.claim, "text": self.shown, "written": False})  # the sources' own words
            return Claim(**{**quoted, "passages": ids, "support": support, "speakers": told})
        saying = self.passages if self.is_crux else self._passages_saying()
        ids, words = [p.id for p in saying], [grounding.best_evidence(self.words_for(p), p.text) for p in saying]
        return Claim(**{**self.claim, "passages": ids, "support": support, "evidence": words, "speakers": told})

    def _tells_of(self, speaker: str, passage: Passage) -> bool:
        return grounding.names_speaker(speaker, self.document([passage]))

    def _passages_saying(self) -> list[Passage]:
        """If a cited passage clearly says the claim, drops passages that barely share words with the claim, because
        models also cite passages that only hold the same view. Otherwise returns all passages."""
        overlaps = [(p, grounding.content_overlap(self.words_for(p), p.text)) for p in self.passages]
        says = max((overlap for _, overlap in overlaps), default=0.0) >= limits.SAYS_CLAIM
        return [p for p, overlap in overlaps if not says or overlap >= limits.BARELY_SAYS_CLAIM]


@dataclass
class ClaimVerifier:
    """Checks claims. failed: the checking model is not asked again. trusted: it accepted no planted claim."""

    providers: Providers
    state: RunState
    judge: CachedJudge
    failed: bool = False
    trusted: bool = True

    @property
    def _reader(self) -> CachedJudge:
        models = self.providers.models
        return models.judge(models.own_judge.name) if self.judge.reads_documents else self.judge

    async def verify_claims(self, claims: Sequence[Claim]) -> tuple[list[Claim], list[DroppedClaim]]:
        """Returns the claims that hold, and the dropped claims. Written claims that hold have their evidence."""
        cited, own_sentences = {i for c in claims for i in c["passages"]}, self.state.get("own_sentences", {})
        passages = await asyncio.to_thread(self.providers.passages, cited, own_sentences)
        quoted = [c for c in claims if not c.get("written") and passages.keys() & c["passages"][:1]]
        serving = await self._serving([c for c in quoted if c["perspective"]], passages)
        checked = iter(await self._check_written([c for c in claims if c.get("written")], passages))
        held, dropped = list[Claim](), list[DroppedClaim]()
        for claim in claims:
            verdict = next(checked) if claim.get("written") else _quoted(claim, passages, serving)
            if isinstance(verdict, str):
                dropped.append(DroppedClaim(**claim, check=verdict))
            else:
                held.append(verdict)
        return held, dropped

    async def _check_written(
        self, claims: Sequence[Claim], passages: Mapping[int, Passage]
    ) -> list["Claim | FailedCheck"]:
        every = await asyncio.to_thread(self._drafts, claims, passages)
        drafts = [d for d in every if not d.is_at_fault]
        with share_of_time(limits.CHECK_SHARE):
            reading = asyncio.create_task(self._find_opposed(drafts))
        try:
            await self._vote(drafts, drafts)
            await reading
        finally:
            reading.cancel()
        again = [d for d in drafts if d.doubtful or not any(map(d.accepted_by, d.votes))]
        await self._vote([d for d in again if not d.is_crux], drafts)
        verdicts = ["source" if d.is_at_fault else d.verdict(self.trusted) for d in every]
        if "unchecked" in verdicts:
            current_log().note("degraded", tr(UNCHECKED))
        return verdicts

    def _drafts(self, claims: Sequence[Claim], passages: Mapping[int, Passage]) -> list[_Draft]:
        statements = {p["id"]: p["statement"] for p in self.state.get("perspectives", [])}
        cited = (tuple(passages[i] for i in dict.fromkeys(c["passages"]) if i in passages) for c in claims)
        sides = (statements.get(c["perspective"], "") for c in claims)
        return [_Draft(c, side, found, self._documents) for c, side, found in zip(claims, sides, cited, strict=True)]

    def _documents(self, cited: Sequence[Passage]) -> str:
        """Returns the question and the cited documents with headings; long documents only near the cited text."""
        texts = [self.state["framing"]["question"]]
        for document in dict.fromkeys(p.document for p in cited):
            mine = [p for p in cited if p.document == document]
            whole = self.providers.store.document_passages(mine[0].id) or mine
            nearest = sorted(whole, key=lambda p: min(abs(p.position - q.position) for q in mine))
            whole = nearest[: limits.SEARCHED_PASSAGES]
            heading = mine[0].title, mine[0].publisher, mine[0].author, mine[0].date, *(p.speaker for p in whole)
            whole.sort(key=lambda p: p.position)
            texts += [". ".join(dict.fromkeys(heading)), *(f"{p.section}\n{p.text}" for p in whole)]
        return "\n".join(texts)

    async def _vote(self, drafts: Sequence[_Draft], among: Sequence[_Draft]) -> None:
        """Asks the model once about the drafts. among: the planted claim is made from these drafts."""
        checker = self.providers.models.checker
        if checker is None or self.failed or not drafts:
            return
        checks = [
            ClaimCheck(d.shown, d.side, d.originals, bool(d.claim.get("objection")), d.hints, d.elsewhere)
            for d in drafts
        ]
        try:
            planted = await planted_claim(self.providers.models, among)
            with share_of_time(limits.CHECK_SHARE):
                votes, fooled = await checker.check(checks, planted, topic_of(self.state["framing"]))
        except (BudgetError, DeadlineError) as exc:
            text = tr("Not every claim was checked by {model}: {error}", model=checker.name, error=exc)
            current_log().note("unjudged", text)
            return
        except ProviderError as exc:
            self.failed = True
            text = tr("What the model wrote was not checked: {error}", error=as_sentence(str(exc)))
            current_log().note("degraded", text)
            return
        for draft, vote in zip(drafts, votes, strict=True):
            draft.take(vote)
        if fooled and self.trusted:
            self.trusted = False
            current_log().note("degraded", tr(FOOLED))

    async def _find_opposed(self, drafts: Sequence[_Draft]) -> None:
        """Marks the claims that the embedded judge clearly puts on the opposing side."""
        contrary = contrary_statements(self.state)
        for perspective in self.state.get("perspectives", []):
            mine = [d for d in drafts if d.claim["perspective"] == perspective["id"] and not d.claim.get("objection")]
            if mine and contrary[perspective["id"]]:
                texts, opposed = [d.claim["text"] for d in mine], contrary[perspective["id"]]
                stances = await stances_to(self._reader, perspective, opposed, texts, closely=True)
                for draft, lean in zip(mine, stance_log_odds(stances)[0], strict=True):
                    draft.opposed = bool(lean < limits.CLEARLY_OPPOSED)  # False for unjudged texts, which are NaN

    async def _serving(self, claims: Sequence[Claim], passages: Mapping[int, Passage]) -> list[Claim]:
        """Returns the quotations that serve their perspective, judged as they are shown."""
        found, contrary = list[Claim](), contrary_statements(self.state)

        async def of(perspective: Perspective) -> None:
            mine = [c for c in claims if c["perspective"] == perspective["id"]]
            outright = [demands(perspective, c["text"]) for c in mine]
            read, opposed = with_denial(perspective, contrary[perspective["id"]])
            shown = [(c["text"], decontextualised(c), passages[c["passages"][0]]) for c in mine]
            serving = supports_perspective(await closer_stances(self._reader, read, opposed, shown))
            found.extend(c for c, *yes in zip(mine, serving, outright, strict=True) if any(yes))

        await asyncio.gather(*map(of, self.state.get("perspectives", [])))
        return found


async def planted_claim(models: Models, drafts: Sequence[_Draft]) -> ClaimCheck | None:
    """Pairs a claim with a passage of a document that the claim does not cite, choosing the least similar pair. Returns
    None if there is no such pair, or if the passage says the claim."""
    passages = list({p.id: p for d in drafts for p in d.passages}.values())
    claims = await models.encode([d.claim["text"] for d in drafts])
    alike = claims @ (await models.encode([p.text for p in passages])).T
    for at, draft in enumerate(drafts):
        own = {p.document for p in draft.passages}
        alike[at, [i for i, p in enumerate(passages) if p.document in own]] = np.inf
    place, other = divmod(int(np.argmin(alike)), len(passages))
    draft, wrong = drafts[place], passages[other]
    if np.isinf(alike[place, other]) or grounding.content_overlap(draft.claim["text"], wrong.text) >= limits.SAYS_CLAIM:
        return None
    return ClaimCheck(draft.shown, draft.side, (wrong,), bool(draft.claim.get("objection")))


def _quoted(claim: Claim, passages: Mapping[int, Passage], serving: Sequence[Claim]) -> "Claim | FailedCheck":
    """Returns the claim if each cited passage contains it, it is no prompt injection and serves its side; otherwise
    the failed check."""
    held = [i in passages and grounding.verbatim(claim["text"], passages[i].text) for i in claim["passages"]]
    if not held or not all(held) or grounding.has_prompt_injection(claim["text"]):
        return "source"
    return claim if not claim["perspective"] or claim in serving else "side"


# Quotations, the crux and coverage


async def add_quotations(checks: ClaimVerifier, held: Sequence[Claim], limit: int) -> list[Claim]:
    """Returns up to `limit` quotations for each perspective without a written claim that holds. A note says so."""
    state, shown = checks.state, {c["perspective"] for c in held if not c.get("objection")}
    passed, _ = await checks.verify_claims([q for q in state.get("quotations", []) if q["perspective"] not in shown])
    drafted = {c["perspective"] for c in state["drafts"] if not c.get("objection")}
    embedded = state.get("served_by", {}).get("write", EMBEDDED).startswith(EMBEDDED)
    told = any(n["stage"] == "write" for n in state.get("notes", []))  # another note tells why nothing was written
    filling: list[Claim] = []
    for perspective in (p for p in state.get("perspectives", []) if p["id"] not in shown):
        mine = [q for q in passed if q["perspective"] == perspective["id"]][:limit]
        filling += mine
        name, own = f"'{perspective['name']}'", perspective["id"]
        failed = tr("Nothing that the model wrote for {side} passed the checks", side=name)
        what = failed if own in drafted else tr("The model wrote no claim for {side}", side=name)
        if mine:
            current_log().note("degraded", f"{what}. {tr('Quotations are shown instead.')}")
        elif own not in drafted and not (embedded or told) and _covered(state, own):
            current_log().note("degraded", f"{what}.")
    return filling


def _covered(state: RunState, side: str) -> bool:
    """Whether the model read a passage that supports the side."""
    return not set(state["coverage"][side]["ids"]).isdisjoint(state.get("selected", {}).get(side, ()))


async def _with_dispute(checks: ClaimVerifier, claims: list[Claim]) -> list[Claim]:
    """If two or more sides have a case, marks the claims that answer another side's claim, and adds the crux if the
    check accepts it. Leaves out late results."""
    write, framing, planned = checks.providers.crux, checks.state["framing"], checks.state.get("perspectives", [])
    cases = [(p, [c for c in claims if c["perspective"] == p["id"] and in_case(c)]) for p in planned]
    sides = [(side, case) for side, case in cases if case]
    if len(sides) < 2 or write is None or checks.failed:
        return claims
    with suppress(DeadlineError):
        if dispute := await in_time(write(framing, sides)):
            met = {(r["perspective"], r["text"]): rival["text"] for r, rival in reversed(dispute.replies)}
            said = [(c, met.get((c["perspective"], c["text"]), "")) for c in claims]
            claims = [Claim(**{**c, "answers": rival}) if rival else c for c, rival in said]
            if dispute.crux:
                claims += (await in_time(checks.verify_claims([dispute.crux])))[0]
    return claims


def _report(runtime: Runtime[RunOptions], claims: Sequence[Claim]) -> None:
    for claim in claims:
        side, objection = claim["perspective"], claim.get("objection", False)
        report(runtime, "claim", side=side, text=decontextualised(claim), objection=objection)


async def _coverage(
    providers: Providers, state: RunState, claims: Sequence[Claim] | None
) -> tuple[dict[str, Coverage], dict[int, int]]:
    """Returns the coverage of each perspective from judged sentences and cited passages, and a map from each passage to
    the first passage with the same content. claims: None if nothing was written."""
    judged, read = state.get("coverage", {}), state.get("sentence_evidence", {})
    evidence = {p: read.get(p, coverage) for p, coverage in judged.items()}
    cited: dict[str, list[int] | None] = dict.fromkeys(judged)
    if claims is not None:
        cited = {p: [i for c in claims if c["perspective"] == p and in_case(c) for i in c["passages"]] for p in judged}
    counted = {i for p, e in evidence.items() for i in (*e["ids"], *(cited[p] or ()))}
    theses = {r["thesis"]["passage"] for r in state.get("responses", [])}
    passages = await asyncio.to_thread(providers.passages, counted | theses, state.get("own_sentences", {}))
    same = await paraphrase_groups(providers.models, passages, passages)
    return {p: coverage_of(e, passages, cited=cited[p], same=same) for p, e in evidence.items()}, same


def with_theses(claims: list[Claim]) -> list[Claim]:
    first = {c["perspective"]: c for c in reversed(claims) if c["perspective"] and in_case(c)}
    return [Claim(**{**c, "role": "thesis"}) if first.get(c["perspective"]) is c else c for c in claims]


async def merge_reworded(models: Models, claims: Sequence[Claim]) -> list[Claim]:
    """Merges claims of one perspective that say the same in other words. The first claim then cites all their passages.

    Claims with different numbers or ticked answers are never merged.
    """
    vectors = await models.encode([c["text"] for c in claims])
    kinds = [
        (c["perspective"], c["role"], in_case(c), grounding.number_values([grounding.plain_text(c["text"])]), ticked)
        for c in claims
        for ticked in [ticked_answers(c["text"])]
    ]
    merged = dict[int, Claim]()
    for n, claim in enumerate(claims):
        same = (m for m in merged if kinds[m] == kinds[n] and vectors[m] @ vectors[n] >= limits.SAME_CLAIM)
        first = next(same, n)
        merged[first] = _citing_both(merged[first], claim) if first in merged else claim
    return list(merged.values())


def _citing_both(one: Claim, other: Claim) -> Claim:
    """Returns the first claim with the citations of both claims."""
    cited: dict[int, str] = {}
    for c in (other, one):
        cited |= zip(c["passages"], c.get("evidence") or [c["text"]] * len(c["passages"]), strict=True)
    ids = list(dict.fromkeys([*one["passages"], *other["passages"]]))
    written = bool(one.get("written") or other.get("written"))
    named = {**other.get("speakers", {}), **one.get("speakers", {})}
    return Claim(**{**one, "passages": ids, "evidence": [cited[i] for i in ids], "written": written, "speakers": named})
