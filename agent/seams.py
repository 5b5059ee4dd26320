"""The seams of the stages: each is one method, so that another provider (or a fake in a test) is one small class.

`agent/providers/build.py` builds what the settings turn on.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from agent.inference import Models, RunJudge
from agent.state import Claim, FramingState, Perspective, Response
from tools.errors import SettingsError
from tools.passages import Passage
from tools.store.store import Store

if TYPE_CHECKING:
    from agent.evidence.sentences import Reading
    from agent.providers.websearch import WebSearch
    from tools.inference.encoders.reranker import Reranker
    from tools.store.hybrid import HybridSearch


class Framer(Protocol):
    async def frame(self, question: str, earlier: Sequence[str]) -> FramingState:
        """What the question asks, in a neutral form; `earlier` are the thread's questions, oldest first."""
        ...


class Expander(Protocol):
    async def expand(self, framing: FramingState, passages: Sequence[Passage]) -> list[Perspective]:
        """The sides of the question; `passages` are what a first search found, best first."""
        ...


class Requerier(Protocol):
    async def queries(self, perspective: Perspective, framing: FramingState, tried: Sequence[str]) -> list[str]:
        """New queries for a side that is not covered, none of them tried before."""
        ...


@dataclass(frozen=True)
class Brief:
    """What a writer is given for one side: its passages, best first, and the judge's scores of some of them.

    `contrary` is the statement of the side that says the opposite, or empty, and `opposing` the judge's scores of
    passages for that side. `limit` is the number of claims wanted. `reading` are the passages of both sides as they
    were read, and `responses` what the side's documents answer, the groups with the most sources behind them first.
    `well_judged`: the scores are of a judge that reads passages better than `judge` reads their sentences, so that what
    stands around a sentence leans as they say.
    """

    perspective: Perspective
    contrary: str
    framing: FramingState
    passages: Sequence[Passage]
    support: dict[int, float]
    limit: int
    judge: RunJudge
    opposing: dict[int, float] = field(default_factory=dict)
    responses: Sequence[Response] = ()
    reading: "Reading | None" = None
    well_judged: bool = False


class Writer(Protocol):
    async def write(self, brief: Brief) -> tuple[list[Claim], list[Claim]]:
        """Up to `limit` claims for one side from its passages, and spares in case one of them does not hold."""
        ...


class CruxWriter(Protocol):
    async def crux(self, one: Brief, other: Brief) -> Claim | None:
        """What the dispute of two contrary sides turns on, citing passages of both; None where they meet nowhere."""
        ...


@dataclass(frozen=True)
class Remote:
    """Something outside this process that the settings turn on: what it does, where it is, whether it may be missed."""

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
    framer: Framer
    expander: Expander
    requerier: Requerier
    writer: Writer
    names: dict[str, str]
    quoter: Writer | None = None  # quotes for a side of which nothing that the writer wrote passed the checks
    crux: CruxWriter | None = None  # says what a dispute turns on, where a judge can check what it says
    web: "WebSearch | None" = None
    reranker: "Reranker | None" = None
    english_only: bool = True
    remotes: tuple[Remote, ...] = ()
    closers: tuple[Callable[[], Awaitable[None]], ...] = field(default=())

    def check_offline(self) -> None:
        """Raises SettingsError where a run of which nothing may leave this machine could not do without what does."""
        for remote in self.remotes:
            if remote.required and not remote.local:
                raise SettingsError(
                    f"nothing is to leave this machine, but {remote.setting} puts the {remote.what} at "
                    f"{remote.address}. Unset {remote.setting}, or leave out --no-web.",
                    hint=", or leave out --no-web",
                )

    def searched_elsewhere(self) -> str:
        """The servers without which the store cannot be searched, in words; empty where it is all in this process."""
        needed = [f"the {r.what} at {r.address}" for r in self.remotes if r.what in ("dense index", "encoder")]
        return " or ".join(needed)

    async def aclose(self) -> None:
        """Closes the connections that the providers hold."""
        for close in self.closers:
            await close()
