"""News events made of articles, in the layout that `evals.datasets.news` reads."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evals.datasets.building import Article
from evals.suite import write_new
from tools.language.copies import average_linkage
from tools.language.sentences import cut_passages

NEAR = 0.6
"""The mean cosine from which articles are of one event. Of LocalNews' 1,092 articles, by the embedded encoder, 84 % of
the pairs that it joins are of one event, and 48 % of the pairs of one event are joined."""
_ByEvent = Mapping[str, Mapping[str, object]]
_WORDS = 350  # about the 512 tokens at which NEWSCOPE cuts paragraphs


class Event(NamedTuple):
    """Articles, and their paragraphs by an id that holds the event and the article's address."""

    articles: list[Article]
    paragraphs: dict[str, str]


def group_articles(articles: Sequence[Article], vectors: NDArray[np.float32], near: float) -> dict[str, Event]:
    """Events by average linkage of the articles' vectors, unit, of shape (articles, dimensions)."""
    events = {}
    for number, of in enumerate(average_linkage(vectors @ vectors.T, near), start=1):
        own = [articles[i] for i in of]
        cut = {f"{number}_{_address(a)}_p{n}": text for a in own for n, text in enumerate(_cut(a.text), start=1)}
        events[f"{number}"] = Event(own, cut)
    return events


def _cut(text: str) -> list[str]:
    """What stands between empty lines, or on a line where there are none; what is too long is cut between sentences."""
    parts = re.split(r"\n\s*\n", text.strip())
    return [piece for part in (parts if parts[1:] else text.split("\n")) for piece in cut_passages(part, _WORDS)]


def _address(article: Article) -> str:
    """The article's, or one made of its source and id, since the layout has no other place for a source."""
    host = re.sub(r"[\W_]+", "-", article.source).strip("-") or "unknown"
    return article.id if "://" in article.id else f"news://{host}/{article.id}"


def write_events(folder: Path, heads: Mapping[str, str], texts: _ByEvent, labels: _ByEvent) -> None:
    """Writes the headlines of events, the texts of their paragraphs, and the labels of those that were voted on."""
    files: dict[str, Mapping[str, object]] = {"raw_data/headline.json": heads}
    for part, found in (("news_text_by_paragraph", texts), ("annotation", labels)):
        files |= {f"{part}/{event}_by_paragraph.json": of for event, of in found.items()}
    for place, values in files.items():
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        write_new(folder / place, json.dumps(values, ensure_ascii=False, indent=1) + "\n", "--to")
