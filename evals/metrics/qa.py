"""Is a reply the answer, and how many of its words are? Of several gold answers the best counts.

Words are lower-case, without punctuation and articles (SQuAD's normalisation, Rajpurkar et al. 2016). Accuracy is by
exact match of these (PIR, §3.3). QA-F1 as PIR writes it (A.8) is intersection over union of the *sets* of words, which
elsewhere is called the Jaccard index; token F1 is SQuAD's, over words as often as they come.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence

from evals.datasets.pir import Root
from evals.metrics.measure import Ratio, Row
from evals.retrievers.intent import Split

_ARTICLES = ("a", "an", "the")


def words(text: str) -> list[str]:
    """The words that are compared."""
    kept = "".join(" " if unicodedata.category(c)[0] in "PS" else c for c in text.lower().replace("'", ""))
    return [word for word in re.split(r"\s+", kept) if word and word not in _ARTICLES]


def exact_match(reply: str, gold: Sequence[str]) -> float:
    """1 where the reply has the words of a gold answer, in order, and no others."""
    return float(any(words(reply) == words(answer) for answer in gold))


def qa_f1(reply: str, gold: Sequence[str]) -> float:
    """max over gold of |T ∩ G| / |T ∪ G| (PIR, A.8); 0 where neither has words."""
    said = set(words(reply))
    return max(len(said & (right := set(words(a)))) / max(1, len(said | right)) for a in gold)


def token_f1(reply: str, gold: Sequence[str]) -> float:
    """max over gold of 2 · common / (words of the reply + words of the answer)."""
    said = Counter(words(reply))
    right = [Counter(words(answer)) for answer in gold]
    return max(2 * (said & one).total() / max(1, said.total() + one.total()) for one in right)


def drawn_measures(roots: Sequence[Root], splits: Mapping[str, Split]) -> dict[str, Ratio]:
    """QA-F1 and token F1 of the perspectives that were drawn from queries, with the annotated ones for gold; where
    these have no text, what the query has more than its root. splits: by the query."""
    rows: dict[str, list[Row]] = {"qa_f1": [], "token_f1": []}
    for root in roots:
        for one in root.perspectives:
            gold = [one.text or " ".join(set(words(one.query)) - set(words(root.text)))]
            drawn = splits[one.query].perspective
            rows["qa_f1"].append((root.key, qa_f1(drawn, gold), 1))
            rows["token_f1"].append((root.key, token_f1(drawn, gold), 1))
    return {name: Ratio.of(of) for name, of in rows.items()}


def answer_measures(reply: str | None, gold: Sequence[str]) -> dict[str, float]:
    """All of them; a reply that failed is none, and 0 in each."""
    told = {"accuracy": exact_match, "qa_f1": qa_f1, "token_f1": token_f1}
    return {name: measure(reply or "", gold) if reply else 0.0 for name, measure in told.items()}
