"""The interfaces between stages and their implementations, and the data that they exchange.

An implementation is a function of the stage's type. A new implementation needs a function and a line in
`agent/runs/build.py`.
"""

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from agent.options import RunOptions
from agent.providers.inference import CachedJudge, Models
from agent.state import Claim, FramingState, Perspective, ScoredQuote, ScoredResponse
from tools.errors import NoSourceError, ProviderError, SettingsError
from tools.language.quotable import QuotablePart
from tools.passages import EvidenceKind, Passage, Sentence, shortened
from tools.store.store import SAMPLES, Store
from tools.translation import labelled, mark, tr

if TYPE_CHECKING:
    from agent.providers.websearch import WebSearch
    from tools.store.hybrid import HybridSearch
    from tools.web.source import Source


@dataclass(frozen=True, slots=True)
class SentenceScores:
    """The n quotable sentences of a perspective's passages, in order, with their scores.

    confidence: probability that each sentence is on the dispute and argues for the perspective, (n,), NaN if unknown.
    on_topic: whether the sentence is on the topic, (n,). case: whether the sentence argues for the perspective clearly
    enough to be quoted, (n,). quality: score as a quotation, (n,). vectors: unit vectors, (n, dimensions).
    question_vector: (dimensions,).

    For training: features: log odds of each part, its passage and its document, (n, 3). grounds: relevance features,
    (n, RELEVANCE_FEATURES), as in `tools.models.judges.quoting`. rescored: whether the judge's larger model scored the
    sentence, (n,).
    """

    units: list[QuotablePart]
    features: NDArray[np.float64]
    grounds: NDArray[np.float64]
    confidence: NDArray[np.float64]
    on_topic: NDArray[np.bool_]
    rescored: NDArray[np.bool_]
    case: NDArray[np.bool_]
    quality: NDArray[np.float64]
    vectors: NDArray[np.float32]
    question_vector: NDArray[np.float32]

    def quote(self, at: int) -> ScoredQuote:
        """Returns the quotation at an index, 0 to n - 1."""
        unit = self.units[at]
        shown = unit.shown if unit.shown != unit.text else ""
        return ScoredQuote(text=unit.text, shown=shown, passage=unit.passage.id, support=float(self.confidence[at]))


@dataclass(frozen=True)
class Brief:
    """The input of a writer for one perspective.

    passages: best first. contrary: the statement of the opposing perspective, or empty. support, opposing: by passage
    id, the judge's probabilities that the passage argues for and against the perspective. limit: number of quotations
    wanted. sentence_scores: the scored sentences of both perspectives' passages. responses: the documents' responses
    (thesis and evidence); groups with the most independent sources come first.

    passage_scores_trusted: the scores come from a judge that reads passages better than `judge` reads sentences. Then
    `passages` has only passages that this judge found for the perspective, and only these are quoted. This judge's
    verdicts on passages and documents give a sentence's context its stance. against: passages that this judge found
    against the perspective, strongest first.
    """

    perspective: Perspective
    contrary: str
    framing: FramingState
    passages: Sequence[Passage]
    support: dict[int, float]
    limit: int
    judge: CachedJudge
    opposing: dict[int, float] = field(default_factory=dict)
    responses: Sequence[ScoredResponse] = ()
    sentence_scores: SentenceScores | None = None
    passage_scores_trusted: bool = False
    against: Sequence[Passage] = ()


Plan = tuple[FramingState, list[Perspective]]
"""The framing and the perspectives (none for a fact)."""
Planner = Callable[[str, Sequence[str], Sequence[Sentence]], Awaitable[Plan]]
"""Plans a question. Inputs: question, earlier questions (oldest first), leads (a sentence per document)."""
Framer = Callable[[str, Sequence[str]], Awaitable[FramingState]]
"""Frames a question. Inputs: question, earlier questions, oldest first."""
Expander = Callable[[FramingState, Sequence[Passage]], Awaitable[list[Perspective]]]
"""Returns the perspectives. Inputs: framing, retrieved passages, best first."""
QueryWriter = Callable[[Perspective, FramingState, Sequence[str], Sequence[str]], Awaitable[list[str]]]
"""Returns untried queries. Inputs: perspective, framing, tried queries, texts of the perspective's best passages."""
Writer = Callable[[Brief], Awaitable[list[Claim]]]
"""Returns a perspective's claims, best first, and, if no side opposes it, objections."""
Picker = Callable[[FramingState, Sequence[Passage]], Awaitable[list[int] | None]]
"""Returns the positions of answering sentences, best first; None if no model chose."""


class Dispute(NamedTuple):
    """What the perspectives' claims say of each other. crux: the point on which the dispute depends, citing at least
    two perspectives; None if they share no point. replies: claims with the other side's claim that each answers."""

    crux: Claim | None
    replies: list[tuple[Claim, Claim]]


CruxWriter = Callable[[FramingState, Sequence[tuple[Perspective, Sequence[Claim]]]], Awaitable[Dispute | None]]
"""Returns the dispute, read from all perspectives' verified claims. None if the model fails."""

Translator = Callable[[FramingState, Sequence[str]], Awaitable[dict[str, str] | None]]
"""Returns unverified translations of quotations into the question's language, by quotation. None if the model fails."""


@dataclass
class WebResults:
    """One perspective's results from the internet. rankings: passages by kind of source, best first. unread: pages that
    could not be read, and why.

    problems: failures by source. answered: number of queries with a reply by source. pages: number of fetched pages
    with passages for this perspective. new: number of pages that this search was the first to read.
    """

    rankings: dict[EvidenceKind, list[int]] = field(default_factory=dict)
    unread: dict[str, str] = field(default_factory=dict)
    problems: dict[str, list[ProviderError]] = field(default_factory=dict)
    answered: Counter[str] = field(default_factory=Counter)
    pages: int = 0
    new: int = 0


@dataclass(frozen=True)
class RemoteService:
    """A service outside this process. what: its part, such as 'judge'. local: on this machine. required: a run fails
    without the service. setting: the variable that selects the service."""

    what: str
    address: str
    local: bool
    required: bool
    setting: str


NO_WEB = mark("The web was not searched")


@dataclass(frozen=True)
class Providers:
    """Everything that the nodes use. names: the provider of each stage, as answers record it."""

    store: Store
    search: "HybridSearch"
    models: Models
    web: "WebSearch"
    frame: Framer
    expand: Expander
    requery: QueryWriter
    write: Writer
    names: dict[str, str]
    sample_question: Callable[[str], Awaitable[str]] | None = None  # the sample question on the same topic, or empty
    plan: Planner | None = None  # frames and expands in one request; `frame` and `expand` replace it on failure
    quote: Writer | None = None  # quotes for a perspective if none of its written claims holds
    crux: CruxWriter | None = None  # needs a model that can check the crux
    pick: Picker | None = None  # needs a chat model
    translate: Translator | None = None  # needs a chat model
    remotes: tuple[RemoteService, ...] = ()
    closers: tuple[Callable[[], Awaitable[None]], ...] = ()

    @property
    def english_only(self) -> bool:
        """Whether rules read the question. The rules know only English."""
        return self.plan is None

    def sources(self, options: RunOptions) -> "list[Source]":
        """Returns the sources on the internet that a run searches."""
        return self.web.asked(options.sources, options.domains) if options.web and not options.urls else []

    def kinds_searched(self, options: RunOptions) -> list[EvidenceKind]:
        """Returns the kinds of evidence that a run searches; empty if it searches only the collections."""
        own: list[EvidenceKind] = ["mine"] if options.own_collections else []
        return [*own, *(s.kind for s in sources)] if (sources := self.sources(options)) else []

    def not_asked(self, options: RunOptions) -> Iterator[str]:
        """Yields what was wanted and cannot be searched."""
        sources = self.sources(options)
        if options.sources and not options.own_collections and options.collections != (SAMPLES,):
            named = ", ".join(options.collections)
            yield tr(
                "Your documents ({collections}) were not read: 'mine' is not among the sources.", collections=named
            )
        if not options.web:
            yield labelled(tr(NO_WEB), f"{tr('nothing was to leave this machine')}.")
        elif not options.urls:
            yield from self.web.unusable
            if not (options.sources or sources):
                yield labelled(tr(NO_WEB), f"{tr('no search engine is set')}.")
            if missing := [k for k in options.sources if k not in ("mine", *(s.kind for s in sources))]:
                everywhere = tr("Not searched, since no source of the kind is on: {kinds}.")
                there = tr("Not searched among the given domains, since no source of the kind is on: {kinds}.")
                yield (there if options.domains else everywhere).format(kinds=", ".join(missing))

    def check_sources(self, options: RunOptions) -> None:
        """Raises NoSourceError if a run can search nothing at all."""
        if not (options.own_collections or options.urls or self.sources(options)):
            reason = " ".join(self.web.unusable) or "STEELMAN_SOURCES turns sources on."
            if options.domains and self.sources(replace(options, domains=())):
                reason = "Domains limit the kind 'web' only: leave out the domains or these kinds."
            reason = reason if options.web else "They are on the internet, and nothing is to leave this machine."
            hint = "`python -m agent doctor` lists the sources." if "STEELMAN" in reason else ""
            raise NoSourceError(
                f"nothing of these kinds can be searched: {', '.join(options.sources)}. {reason}", hint=hint
            )

    def check_offline(self) -> None:
        """Raises SettingsError if a run without network access needs a remote service."""
        for remote in self.remotes:
            if remote.required and not remote.local:
                raise SettingsError(
                    f"nothing is to leave this machine, but {remote.setting} puts the {remote.what} at "
                    f"{remote.address}. Unset {remote.setting}, or leave out --no-web.",
                    hint=", or leave out --no-web",
                )

    def passages(
        self, ids: Iterable[int], own_sentences: Mapping[int, str] = MappingProxyType({})
    ) -> dict[int, Passage]:
        """Returns the passages by id, without unknown ids. Deleted passages come from the copies that runs keep.

        own_sentences: as in `RunState`. These passages are shortened to their own sentences.
        """
        found = self.store.passages(wanted := list(ids))
        found |= self.store.kept.passages(i for i in wanted if i not in found)
        return found | {i: shortened(found[i], own_sentences[i]) for i in found.keys() & own_sentences.keys()}

    def vectors(self, ids: Iterable[int]) -> dict[int, NDArray[np.float32]]:
        """Returns the vectors of the same passages."""
        found = self.store.vectors(wanted := list(ids))
        return found | self.store.kept.vectors(i for i in wanted if i not in found)

    def searched_elsewhere(self) -> str:
        """Returns the servers that a search needs; empty if the whole search is in this process."""
        needed = [f"the {r.what} at {r.address}" for r in self.remotes if r.what in ("dense index", "encoder")]
        return " or ".join(needed)

    async def aclose(self) -> None:
        for close in self.closers:
            await close()
