"""Coverage of the perspectives on contentious questions without labelled passages (BERDS).

A judge decides which perspectives each retrieved passage supports; MRecall@k, precision@k and coverage@k follow.

Corpora (--corpus): ctxs, the ranking in the data; a file of passages; collection:NAME of the agent's store; web, pages
from the configured search engine for each question, stored in --keep. Methods: those of `python -m evals retrieval`,
+expansion with the data's `expansions`, and ctxs, the corpus in its own order.

Rankings are stored in --out, vectors and verdicts in the cache: a stopped run continues, and a second run asks nobody.
Intervals include the judge's errors only with --judge-errors.
"""

import argparse
import hashlib
import math
import re
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path

from agent.settings import load_settings
from evals.datasets.perspectives import GoldRow, load_perspectives
from evals.datasets.rows import fingerprint
from evals.metrics.judge_errors import Errors, corrected, read_errors
from evals.metrics.measure import Figure, figures_by
from evals.metrics.perspective_coverage import DEEPEST, TOP_FIVE, union
from evals.metrics.verdicts import Rankings, Verdicts, gold_of, ids, macro_average, published, set_measures
from evals.models import CHOICES, encoder_and_cache, open_judge
from evals.reports.records import Record, Records
from evals.retrievers.corpora import CTXS, WEB, WebCorpora, open_corpora
from evals.retrievers.perspectives import methods_of, question_of
from evals.retrievers.ranker import Corpora, Ranker
from evals.suite import FIRST, Clock, common_options, cutoff_option, names, refuse_existing, shuffled, write_new
from evals.suites.retrieval import CORRECTED, set_lines, sizes
from tools.errors import InputError
from tools.models.cache import VectorCache
from tools.models.encoders import TransformersEncoder
from tools.passages import SourceDocument

_AVERAGE, _FILE = "macro-average", "file"
_INDEPENDENT = "corrected: includes the judge's errors on labelled pairs, assumed independent"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    places = "files or folders of *.jsonl, or hub:NAME, of questions with perspectives"
    add("--data", nargs="+", required=True, metavar="FILE|DIR|hub:NAME", help=places)
    add("--split", default="test", help="split of the hub's data sets (default: test)")
    corpus = "ctxs, FILE.jsonl[.gz], collection:NAME or web (default: ctxs if the data has them, else web)"
    add("--corpus", metavar="CORPUS", help=corpus)
    add("--pages", type=int, default=100, metavar="N", help="web pages a question (default: 100)")
    add("--keep", type=Path, metavar="DIR", help="folder for the web's pages (default: in the cache)")
    retrievers = (
        "ctxs, bm25, dense+mmr:0.9, hybrid+expansion, …; an unknown name lists all (default: ctxs, or bm25,dense)"
    )
    add("--methods", type=names, metavar="NAME[,NAME…]", help=retrievers)
    add("--encoder", metavar="MODEL", help="a sentence-transformers model, by name or folder")
    add("--query-prompt", default="", metavar="TEXT", help="instruction in front of queries to --encoder")
    judges = [name for name in CHOICES if name != "cosine"] + [_FILE]
    add("--judge", choices=judges, default="settings", help="'file': the verdicts in the data's ctxs")
    add("--judge-errors", type=Path, metavar="RESULT", help="output of `evals judge --contrary --json`")
    add("--deep", action="store_true", help="judge the top 100: documents needed, union of the methods")
    add("--stance", action="store_true", help="side that the top five support; sycophancy")
    add("--write", type=Path, metavar="DIR", help="files for BERDS' evaluator, one a set and method")
    add("--out", type=Path, metavar="RECORDS", help="file for the rankings; stored ones are reused")
    cutoff_option(parser, "passages", [1, 5, 10], DEEPEST)
    at_once = "simultaneous web searches"
    common_options(parser, f"{FIRST}, of each set", "seed of the sample and the intervals", parallel=at_once)


def measure(args: argparse.Namespace) -> Record:
    """Adds the missing corpora, rankings and verdicts, then scores all. Raises as its parts do."""
    if args.query_prompt and not args.encoder:
        raise InputError("--query-prompt is for --encoder. Name one, or leave it out.")
    settings, clock, loaded = load_settings(), Clock(), load_perspectives(args.data, args.split)
    sets = {name: shuffled(rows, args.limit, args.seed) for name, rows in loaded.items()}
    every = [row for rows in sets.values() for row in rows]
    corpus = args.corpus or (CTXS if any(row.ctxs is not None for row in every) else WEB)
    methods = methods_of(args.methods or ([CTXS] if corpus == CTXS else ["bm25", "dense"]), every)
    for name, method in product(sets if args.write else (), methods):
        refuse_existing(_file(args.write, name, method), "--write")
    verdicts = Verdicts(None if args.judge == _FILE else open_judge(args.judge))
    if (judged := [name for name, method in methods.items() if method.judged]) and verdicts.judge is None:
        raise InputError(f"'{judged[0]}' needs a judge for its choice. Leave it out, or leave out --judge file.")
    errors = read_errors(args.judge_errors, verdicts.told) if args.judge_errors else None
    encoder, cache = encoder_and_cache()
    encoder = TransformersEncoder(args.encoder, args.query_prompt) if args.encoder else encoder
    web = WebCorpora(args.keep or settings.cache_dir / "berds", args.pages, args.parallel, clock)
    corpora = open_corpora(corpus, every, settings, web)
    depth = DEEPEST if args.deep else max(*args.k, TOP_FIVE)
    data = {name: hashlib.sha256(repr(rows).encode()).hexdigest()[:12] for name, rows in sets.items()}
    config: Record = {"data": data, "corpus": corpus, "encoder": encoder.name, "depth": depth}
    config |= {"pages": args.pages} if corpus == WEB else {}
    config |= {"passages": fingerprint(corpora.of(every[0].key))} if corpora.shared else {}
    with Records(args.out, "berds", config) as to, Ranker(methods, encoder, cache, verdicts.judge, to, clock) as ranker:
        found = {name: _ranked(ranker, name, rows, corpora, depth) for name, rows in sets.items()}
    with clock.on("judging"):
        for name, rows in sets.items():
            verdicts.ask(rows, found[name], VectorCache(settings.cache_dir / "verdicts.db"))
    read = {name: getattr(args, name) for name in ("k", "limit", "seed")}
    read["judge_errors"] = args.judge_errors and args.judge_errors.name
    result = _scored(args, sets, found, verdicts, errors)
    result["config"] = config | verdicts.told | read | {"sizes": result.pop("sizes")}
    result["pages"] = web.told([row.question for row in every] if corpus == WEB else [])
    unjudged = sum(map(math.isnan, verdicts.scores.values()))
    return result | {"failed": ranker.failed, "unjudged": unjudged, "stages": dict(clock)}


def _ranked(
    ranker: Ranker, name: str, rows: Sequence[GoldRow], corpora: Corpora, depth: int
) -> dict[str, list[list[SourceDocument]]]:
    """By method the passages of each row."""
    found = ranker.rank(name, [question_of(row) for row in rows], corpora, depth)
    everybodys = {p.external_id: p for p in corpora.of(rows[0].key)} if corpora.shared and rows else None
    texts = dict[str, Mapping[str, SourceDocument]]()
    for row in rows:
        wanted = {i for ids in found.values() for i in ids.get(row.key, ())}
        texts[row.key] = everybodys or {p.external_id: p for p in corpora.of(row.key) if p.external_id in wanted}
    return {m: [[texts[row.key][i] for i in ids.get(row.key, ())] for row in rows] for m, ids in found.items()}


def _scored(
    args: argparse.Namespace,
    sets: Mapping[str, Sequence[GoldRow]],
    found: Mapping[str, Rankings],
    verdicts: Verdicts,
    errors: Errors | None,
) -> Record:
    """The figures of each set and their average; writes the files of --write."""
    measured: dict[str, dict[str, dict[str, Figure]]] = {}
    ceiling, counts, more = dict[str, Record](), dict[str, Record](), dict[tuple[str, str], dict[str, list[float]]]()
    for name, rows in sets.items():
        gold = gold_of(rows, found[name], verdicts)
        counts[name] = sizes(gold, args.k)
        measured[name] = set_measures(gold, found[name], args.k, args.deep, args.stance)
        if args.deep:
            ceiling[name] = union(gold, map(ids, found[name].values()), args.seed)
        for method, rankings in found[name].items():
            if args.write:
                lines = published(rows, rankings, verdicts, max(args.k))
                write_new(_file(args.write, name, method), lines, "--write")
            if errors:
                said = [verdicts.accepted(row, ranking) for row, ranking in zip(rows, rankings, strict=True)]
                more[name, method] = corrected(said, errors, args.k, args.seed)
    if len(sets) > 1:
        measured[_AVERAGE] = macro_average(list(measured.values()))
    result = figures_by(measured, args.seed)
    for (name, method), values in more.items():
        result["metrics"][name][method] |= {f"{m}{CORRECTED}": mean for m, (mean, *_) in values.items()}
        result["intervals"][name][method] |= {f"{m}{CORRECTED}": ends for m, (_, *ends) in values.items()}
    return {"suite": "berds", **result, "union": ceiling, "sizes": counts}


def _file(folder: Path, name: str, method: str) -> Path:
    """BERDS' evaluator reads the verdicts' field from the file's name."""
    return folder / f"{name}.{re.sub('[^a-z0-9+.-]', '-', method)}.mistralpred.jsonl"


def table(result: Record) -> list[str]:
    config, pages, seconds = result["config"], result["pages"], {**result["stages"], "all": result["seconds"]}
    by = ", ".join(pages["engines"])
    return [
        *(line for name in result["metrics"] for line in set_lines(result, name)),
        *([f"{result['unjudged']} pairs have no verdict and count as No"] if result["unjudged"] else []),
        *([_INDEPENDENT] if config["judge_errors"] else []),
        *([f"pages: {pages['read']} read, {pages['unread']} not; --keep has the reasons; engines: {by}"] if by else []),
        f"corpus {config['corpus']}; encoder {config['encoder']}; "
        f"judge {config['judge']}, threshold {config['threshold']:.3f}",
        ", ".join(f"{stage} {number:.1f} s" for stage, number in seconds.items()),
    ]
