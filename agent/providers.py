"""Which provider serves each stage, and building them.

Each stage's seam is one method, so that another provider (or a fake in a test) is one small class.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from agent.models import Models
from agent.state import Claim, FramingState, Perspective
from tools.passages import Passage
from tools.store import Store

if TYPE_CHECKING:
    from agent.settings import Settings
    from tools.hybrid import HybridSearch


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


class Writer(Protocol):
    async def write(
        self,
        perspective: Perspective,
        contrary: str,
        passages: Sequence[Passage],
        support: dict[int, float],
        limit: int,
    ) -> tuple[list[Claim], list[Claim]]:
        """Up to `limit` claims for one side from its passages, and spares in case one of them does not hold."""
        ...


@dataclass(frozen=True)
class Providers:
    """Everything that the nodes use. `names` is recorded in the answer: which provider served which stage."""

    store: Store
    search: "HybridSearch"
    models: Models
    framer: Framer
    expander: Expander
    requerier: Requerier
    writer: Writer
    names: dict[str, str]


def build_providers(settings: "Settings", store: Store) -> Providers:
    """The providers that the settings turn on. Raises ModelError when the embedded weights cannot be used."""
    from agent.embedded.expanding import EmbeddedExpander
    from agent.embedded.framing import EmbeddedFramer
    from agent.embedded.requerying import EmbeddedRequerier
    from agent.embedded.writing import EmbeddedWriter
    from tools.cache import VectorCache
    from tools.encoder import load_encoder
    from tools.hybrid import HybridSearch
    from tools.judge_embedded import load_judge
    from tools.worker import Worker

    encoder = load_encoder(settings.cache_dir)
    judge = load_judge(settings.cache_dir)
    models = Models(encoder, judge, Worker(), VectorCache(settings.cache_dir / "cache.db"))
    return Providers(
        store=store,
        search=HybridSearch(store, settings.index_dir, encoder),
        models=models,
        framer=EmbeddedFramer(),
        expander=EmbeddedExpander(models),
        requerier=EmbeddedRequerier(),
        writer=EmbeddedWriter(models),
        names={
            "frame": "embedded",
            "expand": "embedded",
            "search": "embedded",
            "judge": judge.name,
            "write": "embedded",
        },
    )
