"""Fits what tells walls from articles among short pages of the web (`tools/web/walls.py`).

Walls and short articles that were written for it, most of the articles to be hard, and the beginnings of the sample
documents. A share of --lost of the hard articles scores above the threshold; told is the share of the walls that does.
Each is scored by a fit that had not seen it.
"""

import argparse
import json
import math
from dataclasses import asdict, replace
from pathlib import Path

from agent.samples import sample_documents
from evals.datasets.rows import json_rows
from evals.suite import GOLD, common_options, show, show_docstring
from evals.suites.hostile_fit import cross_validated, exceeded, fit
from tools.web.walls import unquoted

WALLS = GOLD / "walls.jsonl"
_BEGINNING = 150  # words of a sample document


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The suite's options."""
    show_docstring(parser, __doc__)
    add = parser.add_argument
    add("--pages", type=Path, default=WALLS, metavar="FILE", help="walls and articles as jsonl: kind, title, text")
    add("--lost", type=float, default=0.14, metavar="P", help="of the hard articles (default: 0.14)")
    add("--out", type=Path, metavar="FILE", help="where the weights go, such as tools/weights/walls.json")
    common_options(parser)


def run(args: argparse.Namespace) -> int:
    """Fits and tells. Raises InputError."""
    pages: dict[str, list[str]] = {"wall": [], "article": []}
    for row in json_rows(args.pages):
        if (kind := row.text("kind")) not in pages:
            raise row.wrong(f"'kind' is '{kind}', which has to be one of {', '.join(pages)}.")
        pages[kind].append(unquoted(row.text("text"), row.text("title")))
    walls, hard = pages.values()
    easy = [unquoted(" ".join(d.text.split()[:_BEGINNING]), d.title) for d in sample_documents()]
    threshold = exceeded(cross_validated(walls, hard, easy), args.lost)
    told = [-score > threshold for score in cross_validated([*hard, *easy], walls, [])]
    weights = replace(fit(walls, [*hard, *easy]), threshold=threshold)
    if args.out:
        args.out.write_text(json.dumps(asdict(weights), indent=0, ensure_ascii=False) + "\n", encoding="utf-8")
    figures = {
        "walls": len(walls),
        "hard": len(hard),
        "easy": len(easy),
        "terms": len(weights.terms),
        "threshold": threshold,
        "told": round(math.fsum(told) / len(told), 3),
    }
    show(
        args.json,
        {"suite": "walls-fit", **figures},
        lambda: "".join(f"{what:<10}{value:>10}\n" for what, value in figures.items()),
    )
    return 0
