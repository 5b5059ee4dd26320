"""Is a reply the answer, and how many of its words are? Of several gold answers the best counts.

Words are lower-case, without punctuation and articles (as SQuAD has it, Rajpurkar et al. 2016).

accuracy   exact match of the words, in order (PIR, §3.3)
qa_f1      |T ∩ G| / |T ∪ G| of the sets of words: so PIR writes it (A.8); elsewhere that is the Jaccard index
token_f1   2 · common / (words of the reply + words of the answer), as often as they come: SQuAD's F1
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from evals.datasets.pir import Root
from evals.metrics.measure import Ratio, Row
from evals.retrievers.intent import Split


def words(text: str) -> list[str]:
    """The words that are compared."""
    return [w for w in re.findall(r"\w+", text.lower().replace("'", "")) if w not in ("a", "an", "the")]


def answer_measures(reply: str, gold: Sequence[str]) -> dict[str, float]:
    """The three, each 0 for a reply without words, such as one that failed."""
    said, told = words(reply), {"accuracy": 0.0, "qa_f1": 0.0, "token_f1": 0.0}
    for right in map(words, gold) if said else ():
        same, union = (Counter(said) & Counter(right)).total(), {*said, *right}
        found = {"accuracy": said == right, "qa_f1": len({*said} & {*right}) / len(union)}
        found["token_f1"] = 2 * same / (len(said) + len(right))
        told = {name: max(value, float(found[name])) for name, value in told.items()}
    return told


def drawn_measures(roots: Sequence[Root], splits: Mapping[str, Split]) -> dict[str, Ratio]:
    """QA-F1 and token F1 of the perspectives that were drawn from queries, with the annotated ones for gold; where
    these have no text, what the query has more than its root. splits: by the query."""
    rows: dict[str, list[Row]] = {"qa_f1": [], "token_f1": []}
    for root, one in ((r, one) for r in roots for one in r.perspectives):
        gold = one.text or " ".join({*words(one.query)} - {*words(root.text)})
        found = answer_measures(splits[one.query].perspective, [gold])
        for name, of in rows.items():
            of.append((root.key, found[name], 1))
    return {name: Ratio.of(of) for name, of in rows.items()}
