"""The interfaces between the graph's stages and what serves them, and the data that passes there.

What serves a stage is a function of the stage's own type, so that another provider is one function and one line of
`agent/runs/build.py`, which builds the providers that the settings turn on.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from agent.models.inference import CachedJudge, Models
from agent.state import Claim, FramingState, Perspective, ScoredQuote, ScoredResponse
from tools.errors import ProviderError, SettingsError
from tools.language.quotable import QuotablePart
from tools.passages import Passage, Sentence
from tools.store.store import Store

if TYPE_CHECKING:
    from agent.models.websearch import WebSearch
    from tools.store.hybrid import HybridSearch


@dataclass(frozen=True, slots=True)
class SentenceScores:
    """The n quotable sentences of a perspective's passages, in their order, and how well each argues for it.

    confidence: how surely each speaks to the dispute and argues for the perspective, (n,), NaN where that is not known.
    on_topic: whether it speaks of what is asked, (n,). case: whether it is of the perspective's case, (n,).
    quality: how good a quotation it makes, (n,). vectors: unit, (n, dimensions). question_vector: (dimensions,).

    For the training of the rule (`evals/suites/quotes.py`): features, the leanings of each, of its passage and of its
    document, in log odds, (n, 3); grounds, what tells whether it speaks to the dispute, (n, RELEVANCE_FEATURES), as in
    `tools.models.judges.quoting`; rescored, whether the larger judge read it, (n,).
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
        """The quotable part at that index, 0 to n - 1, as it is quoted."""
        unit = self.units[at]
        shown = unit.shown if unit.shown != unit.text else ""
        return ScoredQuote(text=unit.text, shown=shown, passage=unit.passage.id, support=float(self.confidence[at]))


@dataclass(frozen=True)
class Brief:
    """The input of a writer for one perspective.

    passages: best first. contrary: the statement of the contrary perspective, or empty. support, opposing: the judge's
    probabilities by passage id, for the perspective and for its contrary. limit: number of quotations wanted. reading:
    the scored sentences of both perspectives' passages. responses: what the perspective's documents answer; groups with
    the most independent sources come first.

    passage_scores_trusted: the scores come from a judge that reads passages better than `judge` reads sentences.
    Then only passages that it found for the perspective are in `passages`, nothing else is quoted, and its verdicts
    give the context of a sentence its stance. against: passages that it found against the perspective, strongest
    first. copies: by passage id, the ids of passages with the same text.
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
    reading: SentenceScores | None = None
    passage_scores_trusted: bool = False
    against: Sequence[Passage] = ()
    copies: Mapping[int, Sequence[int]] = field(default_factory=dict)


Plan = tuple[FramingState, list[Perspective], str]
"""What a question asks, its perspectives (none for a fact), and the language it was asked in, empty for English."""
Planner = Callable[[str, Sequence[str], Sequence[Sentence]], Awaitable[Plan]]
"""Plans a question, with the thread's earlier questions, oldest first, and leads: a sentence from each document."""
Framer = Callable[[str, Sequence[str]], Awaitable[FramingState]]
"""What a question asks, with the thread's earlier questions, oldest first."""
Expander = Callable[[FramingState, Sequence[Passage]], Awaitable[list[Perspective]]]
"""The perspectives on a question, with the passages that were retrieved for it, best first."""
QueryWriter = Callable[[Perspective, FramingState, Sequence[str], Sequence[str]], Awaitable[list[str]]]
"""New queries for a perspective that is not covered, none of them among those that were tried; with the texts of the
passages that support it best so far."""
Writer = Callable[[Brief], Awaitable[list[Claim]]]
"""The claims for one perspective, best first; where it has no contrary, objections to it too."""
Picker = Callable[[FramingState, Sequence[Passage]], Awaitable[list[int] | None]]
"""Which of some sentences answer a question of fact, by their places, best first; None where no model chose."""
CruxWriter = Callable[[FramingState, Sequence[tuple[Perspective, Sequence[Claim]]]], Awaitable[Claim | None]]
"""What the dispute of two perspectives turns on, from their accepted claims, citing passages of both; None where they
share no point."""


@dataclass
class WebResults:
    """What one perspective's search on the web came to: passage ids best first, pages that could not be read and why.

    answered: queries that the engine answered. pages: those with passages of this perspective; new: how many of them
    the run had not read before.
    """

    ids: list[int] = field(default_factory=list)
    unread: dict[str, str] = field(default_factory=dict)
    problems: list[ProviderError] = field(default_factory=list)
    answered: int = 0
    pages: int = 0
    new: int = 0


@dataclass(frozen=True)
class RemoteService:
    """A service outside this process that the settings turn on. `what`: its part, in words; `local`: whether it is on
    this machine; `required`: whether a run fails without it; `setting`: the variable that turns it on."""

    what: str
    address: str
    local: bool
    required: bool
    setting: str


@dataclass(frozen=True)
class Providers:
    """Everything that the nodes use. `names` is recorded in the answer: which provider serves which stage."""

    store: Store
    search: "HybridSearch"
    models: Models
    frame: Framer
    expand: Expander
    requery: QueryWriter
    write: Writer
    names: dict[str, str]
    sample_question: Callable[[str], Awaitable[str]] | None = None  # the samples' own on the same topic, or nothing
    plan: Planner | None = None  # frames and expands in one request; `frame` and `expand` stand in for it
    quote: Writer | None = None  # quotes for a perspective of whose written claims none passed the checks
    crux: CruxWriter | None = None  # where a judge can check what it says
    pick: Picker | None = None  # where a chat model is set
    web: "WebSearch | None" = None
    english_only: bool = True
    remotes: tuple[RemoteService, ...] = ()
    closers: tuple[Callable[[], Awaitable[None]], ...] = ()

    def check_offline(self) -> None:
        """Raises SettingsError where a run without network access could not do without a service elsewhere."""
        for remote in self.remotes:
            if remote.required and not remote.local:
                raise SettingsError(
                    f"nothing is to leave this machine, but {remote.setting} puts the {remote.what} at "
                    f"{remote.address}. Unset {remote.setting}, or leave out --no-web.",
                    hint=", or leave out --no-web",
                )

    def passages(self, ids: Iterable[int]) -> dict[int, Passage]:
        """The passages of these ids; of deleted documents the passages that a run keeps. Unknown ids are left out."""
        found = self.store.passages(wanted := list(ids))
        return found | self.store.kept.passages(i for i in wanted if i not in found)

    def vectors(self, ids: Iterable[int]) -> dict[int, NDArray[np.float32]]:
        """The vectors of the same passages."""
        found = self.store.vectors(wanted := list(ids))
        return found | self.store.kept.vectors(i for i in wanted if i not in found)

    def searched_elsewhere(self) -> str:
        """The servers without which the store cannot be searched, in words; empty where it is all in this process."""
        needed = [f"the {r.what} at {r.address}" for r in self.remotes if r.what in ("dense index", "encoder")]
        return " or ".join(needed)

    async def aclose(self) -> None:
        """Closes the connections that the providers hold."""
        for close in self.closers:
            await close()
