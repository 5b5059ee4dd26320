"""Are the true claims of a model kept, and the bad ones refused, whoever judges?

The gold (`evals/gold/claims`) is three topics of 24 web pages and 210 claims, as a chat model might write them from
these pages; both were written by people who had not seen the checks. Half of the claims are true, the others wrong in
one of nine ways: a number altered, invented on a real page, a page that does not exist, another page's claim, a clause
added, a negation, an address, markup, words to the reader about the answer. The half 'last' is kept for the end of any
work on the checks.

Each claim is checked against the pages that it cites as an answer's are (`tools/language/grounding/grounding.py`), with

none      no judge that checks claims, as with the embedded one
all       a judge that finds every claim in its pages
tenth     a judge that is right but for a random tenth
right     a judge that is always right
kept      true claims that are accepted; bad: bad claims that are accepted
Intervals: 95 %, bootstrapped by page.
"""

import argparse
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from agent.settings import load_settings
from evals.datasets.rows import json_rows
from evals.metrics.ratio import Ratio
from evals.suite import GOLD, HALVES, common_options, show, show_docstring, with_intervals
from tools.errors import InputError
from tools.inference.encoders.encoder import Encoder, load_encoder
from tools.language.grounding.grounding import is_grounded
from tools.language.sentences import split_sentences

CLAIMS = GOLD / "claims"
TRUE = "true"
JUDGES = ("none", "all", "tenth", "right")
_WRONG = 0.1


@dataclass(frozen=True, slots=True)
class WrittenClaim:
    """A claim with the pages that it cites as one text, and what these are called; `kind` is TRUE or how it is bad."""

    key: str
    kind: str
    text: str
    passage: str
    title: str


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The suite's options."""
    show_docstring(parser, __doc__)
    add = parser.add_argument
    add("--half", choices=HALVES, default="dev", help="which half of the claims (default: dev)")
    add("--data", type=Path, default=CLAIMS, metavar="DIR", help="folder of pages.jsonl and claims.jsonl")
    add("--misses", action="store_true", help="print what a judge that finds everything lets through or loses")
    common_options(parser, seed="of the random tenth and the intervals")


def run(args: argparse.Namespace) -> int:
    """Checks and prints. Raises InputError."""
    claims = list(read_claims(args.data, args.half))
    accepted = check(claims, load_encoder(load_settings().cache_dir), args.seed)
    measures = {judge: _measures(claims, found) for judge, found in accepted.items()}
    metrics = {judge: with_intervals(found, args.seed) for judge, found in measures.items()}
    show(args.json, {"suite": "claims", "half": args.half, "metrics": metrics}, lambda: table(measures, args.seed))
    if args.misses and not args.json:
        for claim, yes in zip(claims, accepted["all"], strict=True):
            if yes != (claim.kind == TRUE):
                print(f"{'lost' if claim.kind == TRUE else f'let through ({claim.kind})'}: {claim.text}")
    return 0


def read_claims(folder: Path, half: str) -> Iterator[WrittenClaim]:
    """The claims of a half. Raises InputError where there is none."""
    pages = {row.text("id"): row for row in json_rows(folder / "pages.jsonl")}
    found = False
    for number, row in enumerate(json_rows(folder / "claims.jsonl"), start=1):
        if row.text("half") != half:
            continue
        found = True
        cited = [pages[page] for page in row.items("pages") if page in pages]
        yield WrittenClaim(
            key=f"{row.items('pages')[0]} {number}",
            kind=row.text("kind"),
            text=row.text("text"),
            passage="\n".join(page.text("text") for page in cited),
            title=" ".join(f"{page.text('title')}. {page.text('publisher')}." for page in cited),
        )
    if not found:
        raise InputError(f"{folder} has no claims of the half '{half}'.")


def check(claims: Sequence[WrittenClaim], encoder: Encoder, seed: int) -> dict[str, list[bool]]:
    """For each judge which claims are accepted."""
    rng = random.Random(seed)
    accepted: dict[str, list[bool]] = {judge: [] for judge in JUDGES}
    for claim in claims:
        sentences = split_sentences(claim.passage)
        vectors = encoder.encode([claim.text, *sentences])
        near = [float(x) for x in vectors[1:] @ vectors[0]]
        right = float(claim.kind == TRUE)
        verdicts = {"none": None, "all": 1.0, "tenth": 1 - right if rng.random() < _WRONG else right, "right": right}
        for judge, verdict in verdicts.items():
            yes = bool(sentences) and is_grounded(claim.text, claim.passage, near, claim.title, verdict)
            accepted[judge].append(yes)
    return accepted


def _measures(claims: Sequence[WrittenClaim], accepted: Sequence[bool]) -> dict[str, Ratio]:
    kinds = dict.fromkeys(c.kind for c in claims if c.kind != TRUE)
    of = {TRUE: "kept", **{kind: kind for kind in kinds}}
    rows: dict[str, list[tuple[str, float, float]]] = {name: [] for name in ("kept", "bad", *kinds)}
    for claim, yes in zip(claims, accepted, strict=True):
        rows[of[claim.kind]].append((claim.key.split()[0], yes, 1))
        if claim.kind != TRUE:
            rows["bad"].append((claim.key.split()[0], yes, 1))
    return {name: Ratio.of(found) for name, found in rows.items()}


def table(measures: dict[str, dict[str, Ratio]], seed: int) -> str:
    """A column a judge: the shares of kept and of bad claims with their intervals, then the bad ones by kind."""
    lines = [f"{'judge':<14}" + "".join(f"{judge:>24}" for judge in measures)]
    for name in next(iter(measures.values())):
        cells = []
        for found in measures.values():
            low, high = found[name].interval(seed)
            whole = f"{found[name].value:.1%} [{low:.0%}, {high:.0%}]"
            share = f"{found[name].value * found[name].total:.0f} of {found[name].total:.0f}"
            cells.append(f"{whole if name in ('kept', 'bad') else share:>24}")
        lines.append(f"{name:<14}" + "".join(cells))
    return "\n".join(lines) + "\n"
