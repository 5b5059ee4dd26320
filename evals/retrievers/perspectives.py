"""Retriever input of questions with perspectives, and the methods only for them."""

from collections.abc import Sequence

from evals.datasets.perspectives import GoldRow
from evals.datasets.retrieval import GoldPerspective, GoldQuestion
from evals.retrievers.corpora import CTXS
from evals.retrievers.methods import QUERIES, Method, named
from tools.errors import InputError


def question_of(row: GoldRow) -> GoldQuestion:
    return GoldQuestion(row.key, row.question, tuple(GoldPerspective(p, frozenset()) for p in row.gold))


def methods_of(names: Sequence[str], rows: Sequence[GoldRow]) -> dict[str, Method]:
    """The methods of these names; `ctxs` keeps the corpus's order. Raises InputError for an unknown name, and for
    `expansion` if a row has no 'expansions'."""
    widened = {row.key: row.expansions for row in rows}
    found = {CTXS: Method(lambda index, _, k: list(range(len(index.corpus)))[:k])} if CTXS in names else {}
    if others := [name for name in names if name != CTXS]:
        found |= named(others, QUERIES | {"expansion": lambda q: [f"{q.question} {e}" for e in widened[q.qid]]})
    if any("+expansion" in name for name in found) and (bare := [key for key, texts in widened.items() if not texts]):
        raise InputError(
            f"{bare[0]} has no 'expansions', the perspectives to search for. Add them, or leave out the method."
        )
    return found
