"""What is checked of a claim: that the passages that it cites say it, and that it serves its perspective.

A quotation stands in its passage word for word, and the judge reads which side it is on. What a model wrote is checked
by a chat model, all claims in one call. A second call asks about each claim that the first one refused, and about each
that it accepted and that words (`tools.language.grounding`) or the embedded judge speak against. Every call holds one
planted claim that cites a wrong passage: a model that accepts it is not trusted, and nothing doubtful stands.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from agent.evidence.sentences import closer_stances, stances_to, supports_perspective, with_denial
from agent.limits import ACCEPTED, BARELY_SAYS_CLAIM, CHECK_SHARE, CLEARLY_OPPOSED, SAYS_CLAIM, SEARCHED_PASSAGES
from agent.models.inference import CachedJudge, Models
from agent.models.providers import Providers
from agent.state import (
    OF_NO_PERSPECTIVE,
    Claim,
    DroppedClaim,
    FailedCheck,
    Perspective,
    RunState,
    contrary_statements,
    decontextualised,
)
from tools.budget import current_log, share_of_time
from tools.errors import BudgetError, DeadlineError, ProviderError, as_sentence
from tools.language.grounding import (
    best_evidence,
    claim_intrusions,
    content_overlap,
    has_prompt_injection,
    is_denied,
    missing_facts,
    verbatim,
    word_hints,
)
from tools.language.near_duplicates import copy_groups
from tools.models.judges.batch import document_attributes, passage_line
from tools.models.judges.checker import ClaimCheck, ClaimVerdict
from tools.models.judges.quoting import stance_log_odds
from tools.passages import Passage

UNCHECKED = "Not all that the model wrote was checked; what was not is left out."
FOOLED = (
    "The checking model accepted a claim that its source does not say. So claims that the built-in checks spoke "
    "against were left out as well."
)
Key = tuple[str, str]  # a claim's perspective and text


def claim_identity(claim: Claim) -> Key:
    return claim["perspective"], claim["text"]


@dataclass
class _Draft:
    """A written claim while it is checked; document: gives all text of what documents it cites, with what is known of
    them. votes: what the model said of it. opposed: the embedded judge clearly takes it for the other side's."""

    claim: Claim
    side: str
    passages: tuple[Passage, ...]
    document: Callable[[Sequence[Passage]], str]
    hints: tuple[str, ...] = ()
    elsewhere: tuple[str, ...] = ()
    denied = opposed = False
    votes: list[ClaimVerdict] = field(default_factory=list)

    def _texts(self, claim: str) -> tuple[str, str]:
        """What is cited, and all text of its documents: that is long, and read only where what is cited lacks words."""
        shown = "\n".join(f"{'. '.join(document_attributes(p).values())}. {passage_line(p)}" for p in self.passages)
        return shown, self.document(self.passages) if word_hints(claim, shown) else shown

    def __post_init__(self) -> None:
        text, cited = self.claim["text"], "\n".join(p.text for p in self.passages)
        shown, document = self._texts(text)
        self.hints = () if self.is_verbatim else tuple(word_hints(text, document))
        self.denied = not (self.is_verbatim or self.is_crux) and is_denied(text, cited)  # a crux says what two hold
        lacking = set(missing_facts(text, document))
        self.elsewhere = tuple(f for f in missing_facts(text, shown) if f not in lacking)

    @property
    def originals(self) -> tuple[Passage, ...]:
        """The passages that it cites, without copies of each other."""
        firsts = dict.fromkeys(copy_groups([p.text for p in self.passages]))
        return tuple(self.passages[n] for n in firsts)

    @property
    def is_verbatim(self) -> bool:
        return all(verbatim(self.claim["text"], p.text) for p in self.passages)

    @property
    def is_at_fault(self) -> bool:
        """Whether it cannot stand, whatever a model says of it."""
        return not self.passages or bool(claim_intrusions(self.claim["text"]))

    @property
    def is_crux(self) -> bool:
        """What a dispute turns on is checked in one call: an answer is complete without."""
        return self.claim["role"] == "crux"

    @property
    def doubtful(self) -> bool:
        return self.opposed or self.denied or bool(self.hints)

    def take(self, vote: ClaimVerdict) -> None:
        """Adds a vote. What is said in part is corrected where the facts of the correction are in its documents."""
        text = vote.corrected if any(map(str.isalnum, vote.corrected)) else ""
        if text and not (missing_facts(text, self._texts(text)[1]) or claim_intrusions(text)):
            self.claim = Claim(**{**self.claim, "text": text})
            self.__post_init__()  # looks the new words up
            vote = replace(vote, said=1.0)
        self.votes.append(vote)

    def accepted_by(self, vote: ClaimVerdict) -> bool:
        said = 1.0 if vote.answered and self.is_verbatim else vote.said
        return said >= ACCEPTED and (not self.side or vote.serves >= ACCEPTED)

    def verdict(self, trusted: bool) -> "Claim | FailedCheck":
        """The claim as it holds, or the check that it failed: one acceptance is enough for a claim that nothing speaks
        against, any other needs two."""
        answered = [v for v in self.votes if v.answered]
        accepting = [v for v in answered if self.accepted_by(v)]
        if not answered or (self.doubtful and trusted and len(answered) == len(accepting) == 1 and not self.is_crux):
            return "unchecked"
        if len(accepting) < 1 + self.doubtful or (self.doubtful and not trusted):
            return "side" if not accepting and min(v.said for v in answered) >= ACCEPTED else "source"
        ids, support = [p.id for p in self.passages], accepting[0].serves if self.side else 0.0
        if self.is_verbatim:
            return Claim(**{**self.claim, "passages": ids, "support": support, "written": False})
        saying = self.passages if self.is_crux else _passages_saying(self.claim["text"], self.passages)
        ids, words = [p.id for p in saying], [best_evidence(self.claim["text"], p.text) for p in saying]
        return Claim(**{**self.claim, "passages": ids, "support": support, "evidence": words})


def _passages_saying(claim: str, passages: Sequence[Passage]) -> list[Passage]:
    """The passages without those that a model cites for the same view in other words, where one says the claim itself:
    readers would look there for what it says."""
    overlaps = [content_overlap(claim, p.text) for p in passages]
    says = max(overlaps, default=0.0) >= SAYS_CLAIM
    return [p for p, overlap in zip(passages, overlaps, strict=True) if not says or overlap >= BARELY_SAYS_CLAIM]


@dataclass
class ClaimVerifier:
    """What the checks need: the passages' texts, the perspectives' statements, the judge in force.

    failed: the model that checks failed, and is not asked again. trusted: it has accepted no planted claim.
    """

    providers: Providers
    state: RunState
    judge: CachedJudge
    failed: bool = False
    trusted: bool = True

    @property
    def _reader(self) -> CachedJudge:
        """The judge that reads single sentences: one of documents is for those."""
        models = self.providers.models
        return models.judge(models.own_judge.name) if self.judge.reads_documents else self.judge

    async def verify_claims(self, claims: Sequence[Claim]) -> tuple[list[Claim], list[DroppedClaim]]:
        """The claims that hold, with the evidence of written ones filled in, and those that do not."""
        passages = await asyncio.to_thread(self.providers.passages, {i for c in claims for i in c["passages"]})
        quoted = [c for c in claims if not c.get("written") and passages.keys() & c["passages"][:1]]
        serving = await self._serving([c for c in quoted if c["role"] not in OF_NO_PERSPECTIVE], passages)
        checked = iter(await self._check_written([c for c in claims if c.get("written")], passages))
        held, dropped = list[Claim](), list[DroppedClaim]()
        for claim in claims:
            verdict = next(checked) if claim.get("written") else _quoted(claim, passages, serving)
            if isinstance(verdict, str):
                dropped.append(DroppedClaim(perspective=claim["perspective"], text=claim["text"], check=verdict))
            else:
                held.append(verdict)
        return held, dropped

    async def _check_written(
        self, claims: Sequence[Claim], passages: Mapping[int, Passage]
    ) -> list["Claim | FailedCheck"]:
        every = await asyncio.to_thread(self._drafts, claims, passages)
        drafts = [d for d in every if not d.is_at_fault]
        with share_of_time(CHECK_SHARE):
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
            current_log().note("degraded", UNCHECKED)
        return verdicts

    def _drafts(self, claims: Sequence[Claim], passages: Mapping[int, Passage]) -> list[_Draft]:
        statements = {p["id"]: p["statement"] for p in self.state.get("perspectives", [])}
        made = []
        for claim in claims:
            cited = tuple(passages[i] for i in dict.fromkeys(claim["passages"]) if i in passages)
            made.append(_Draft(claim, statements.get(claim["perspective"], ""), cited, self._documents))
        return made

    def _documents(self, cited: Sequence[Passage]) -> str:
        """The question and the documents' texts, each with its heading, of a long one those near to what is cited."""
        texts = [self.state["framing"]["question"]]
        for document in dict.fromkeys(p.document for p in cited):
            mine = [p for p in cited if p.document == document]
            whole = self.providers.store.document_passages(mine[0].id) or mine
            whole = sorted(whole, key=lambda p: min(abs(p.position - q.position) for q in mine))[:SEARCHED_PASSAGES]
            heading = mine[0].title, mine[0].publisher, mine[0].author, mine[0].date, *(p.speaker for p in whole)
            whole.sort(key=lambda p: p.position)
            texts += [". ".join(dict.fromkeys(heading)), *(f"{p.section}\n{p.text}" for p in whole)]
        return "\n".join(texts)

    async def _vote(self, drafts: Sequence[_Draft], among: Sequence[_Draft]) -> None:
        """Asks the model once about the claims, with a planted one of those `among` which they are."""
        checker = self.providers.models.checker
        if checker is None or self.failed or not drafts:
            return
        checks = [
            ClaimCheck(d.claim["text"], d.side, d.originals, bool(d.claim.get("objection")), d.hints, d.elsewhere)
            for d in drafts
        ]
        try:
            planted = await planted_claim(self.providers.models, among)
            with share_of_time(CHECK_SHARE):
                votes, fooled = await checker.check(checks, planted)
        except (BudgetError, DeadlineError) as exc:
            current_log().note("unjudged", f"Not every claim was checked by {checker.name}: {exc}")
            return
        except ProviderError as exc:
            self.failed = True
            current_log().note("degraded", f"What the model wrote was not checked: {as_sentence(str(exc))}")
            return
        for draft, vote in zip(drafts, votes, strict=True):
            draft.take(vote)
        if fooled and self.trusted:
            self.trusted = False
            current_log().note("degraded", FOOLED)

    async def _find_opposed(self, drafts: Sequence[_Draft]) -> None:
        """Marks the claims that the embedded judge clearly takes for the contrary side's."""
        contrary = contrary_statements(self.state)
        for perspective in self.state.get("perspectives", []):
            mine = [d for d in drafts if d.claim["perspective"] == perspective["id"] and not d.claim.get("objection")]
            if mine and contrary[perspective["id"]]:
                texts, opposed = [d.claim["text"] for d in mine], contrary[perspective["id"]]
                stances = await stances_to(self._reader, perspective, opposed, texts, closely=True)
                for draft, lean in zip(mine, stance_log_odds(stances)[0], strict=True):
                    draft.opposed = bool(lean < CLEARLY_OPPOSED)  # never of what was not judged, which is NaN

    async def _serving(self, claims: Sequence[Claim], passages: Mapping[int, Passage]) -> set[Key]:
        """The quotations that serve their perspective, by how the judge reads them as they are shown.

        What was read before is not read again: this refuses what no reading by this judge bears out.
        """
        found, contrary = set[Key](), contrary_statements(self.state)

        async def of(perspective: Perspective) -> None:
            mine = [c for c in claims if c["perspective"] == perspective["id"]]
            read, opposed = with_denial(perspective, contrary[perspective["id"]])
            shown = [(c["text"], decontextualised(c), passages[c["passages"][0]]) for c in mine]
            serving = supports_perspective(await closer_stances(self._reader, read, opposed, shown))
            found.update(claim_identity(c) for c, yes in zip(mine, serving, strict=True) if yes)

        await asyncio.gather(*map(of, self.state.get("perspectives", [])))
        return found


async def planted_claim(models: Models, drafts: Sequence[_Draft]) -> ClaimCheck | None:
    """One of the claims with a passage of another document, those two that are least alike; None where all cite the
    same documents, or even those two say the same."""
    passages = list({p.id: p for d in drafts for p in d.passages}.values())
    claims = await models.encode([d.claim["text"] for d in drafts])
    alike = claims @ (await models.encode([p.text for p in passages])).T
    for at, draft in enumerate(drafts):
        own = {p.document for p in draft.passages}
        alike[at, [i for i, p in enumerate(passages) if p.document in own]] = np.inf
    place, other = divmod(int(np.argmin(alike)), len(passages))
    draft, wrong = drafts[place], passages[other]
    if np.isinf(alike[place, other]) or content_overlap(draft.claim["text"], wrong.text) >= SAYS_CLAIM:
        return None
    return ClaimCheck(draft.claim["text"], draft.side, (wrong,), bool(draft.claim.get("objection")))


def _quoted(claim: Claim, passages: Mapping[int, Passage], serving: set[Key]) -> "Claim | FailedCheck":
    """The claim, if every passage that it cites holds it word for word, it gives the answer's writer no orders, and it
    serves its perspective."""
    held = [i in passages and verbatim(claim["text"], passages[i].text) for i in claim["passages"]]
    if not held or not all(held) or has_prompt_injection(claim["text"]):
        return "source"
    return claim if claim["role"] in OF_NO_PERSPECTIVE or claim_identity(claim) in serving else "side"
