"""Measures perspective-aware retrieval (PIR): do queries with a perspective retrieve passages of that perspective?

Each form of `evals/retrievers/leaning.py` changes the queries' vectors and has a row. 'pap' and 'pap+' have a row
for each strength. 'none' is the baseline. Search is exact, over whole passages. A perspective without text has the
vector q − r, query minus root.

--perspectives rules adds rows where rules extract root and perspective from the query, and compares these rows with the
data's root and perspective. QA-F1 is the overlap of the extracted and the annotated perspective. If the annotation has
no text, the query's words that the root lacks replace the annotation.
"""

import argparse
import math
from dataclasses import replace
from functools import partial
from pathlib import Path

from evals.datasets.pir import PirTask, Root, RootPerspective, load_tasks
from evals.datasets.rows import digest
from evals.metrics.measure import ROUNDS, figures_by
from evals.metrics.p_recall import AVERAGE, measures, qa_f1, words
from evals.models import encoder_and_cache
from evals.reports.records import Record
from evals.reports.table import STAR, block, percent, sure
from evals.retrievers.leaning import FORMS, columns_of, rank, split_by_rules
from evals.suite import check_known, common_options, cutoff_option, names, numbers, shuffled

LIMIT = "only the first N root queries of a seeded shuffle, of each task"
SEED = "seed of the sample and the intervals (default: 1)"
_DRAWN = "perspectives, "


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    pir_options(parser)
    add("--forms", type=names, default=list(FORMS), metavar="NAME[,NAME…]", help=f"default: {','.join(FORMS)}")
    strengths = "strengths of pap and pap+; --strength=-1 adds (default: 1)"
    read = partial(numbers, kind=float, fits=math.isfinite, told="such as 0.25,0.5,1")
    add("--strength", type=read, default=[1.0], metavar="S[,S…]", help=strengths)
    drawn = "rules: also with perspectives that rules extract from the query"
    add("--perspectives", type=names, default=[], metavar="NAME[,NAME…]", help=drawn)
    common_options(parser, LIMIT, SEED)


def pir_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the suites on PIR's data: --data, --task, --k."""
    add = parser.add_argument
    add("--data", type=Path, required=True, metavar="FILE", help="the PIR data: one JSON object of tasks, plain or .gz")
    add("--task", type=names, default=[], metavar="NAME[,NAME…]", help="tasks (default: all)")
    cutoff_option(parser, "passages", [5, 10])


def measure(args: argparse.Namespace) -> Record:
    """Measures all tasks, with cached vectors. Raises InputError, SettingsError, ModelError, ProviderError."""
    check_known(args.perspectives, ("rules",), "way to draw perspectives")
    columns = columns_of(args.forms, args.strength, args.perspectives)
    tasks = [
        replace(task, roots=tuple(shuffled(task.roots, args.limit, args.seed)))
        for task in load_tasks(args.data, args.task)
    ]
    queries = [one.query for task in tasks for root in task.roots for one in root.perspectives]
    splits = {source: {query: split_by_rules(query) for query in queries} for source in args.perspectives}
    encoder, cache = encoder_and_cache()
    bases = {
        "gain": {column.name: "none" for column in columns if column.form != "none"},
        "less_annotated": {column.name: replace(column, source="").name for column in columns if column.source},
    }
    ranks = {task.name: rank(task, columns, encoder, cache, splits) for task in tasks}
    keys = {task.name: [root.key for root in task.roots] for task in tasks}
    found = measures(ranks, keys, [column.name for column in columns], args.k, bases)
    for task, source in ((task, source) for task in tasks for source in splits):
        rows = [(r.key, splits[source][o.query][1], _own(r, o)) for r in task.roots for o in r.perspectives]
        found[task.name][_DRAWN + source] = {"qa_f1": qa_f1(rows)}
    config = {"data": args.data.name, "sha256": digest(args.data), "encoder": encoder.name, "rounds": ROUNDS}
    config |= {"columns": [column.name for column in columns], "sizes": {task.name: sizes(task) for task in tasks}}
    config |= {name: getattr(args, name) for name in ("k", "limit", "seed", "perspectives")}
    return {"suite": "pir", **figures_by(found, args.seed), "config": config}


def _own(root: Root, one: RootPerspective) -> str:
    """Returns the annotated perspective, or the query's words that the root lacks."""
    known = {*words(root.text)}
    return one.text or " ".join(word for word in words(one.query) if word not in known)


def sizes(task: PirTask) -> Record:
    """Returns the numbers of the task's roots, perspectives and passages."""
    found = {"roots": len(task.roots), "questions": sum(len(root.perspectives) for root in task.roots)}
    found |= {"roots_with_one_perspective": task.alone, "passages": len(task.corpus)}
    return found | {"copies_left_out": task.copies}


def table(result: Record) -> list[str]:
    """Returns lines about the data, then a block for each k in percent, with a row for each column and a column for
    each task."""
    config, lines = result["config"], list[str]()
    for task, size in config["sizes"].items():
        facts = ", ".join(f"{n} {what.replace('_', ' ')}" for what, n in size.items() if n and what != "questions")
        lines.append(f"{task}: {facts}, {size['questions']} perspectives")
    titles = {"gain": "less none"} | ({"less_annotated": "less annotated"} if config["perspectives"] else {})
    for k in config["k"]:
        rows = {
            column: [
                *(_cell(result, task, column, f"p_recall@{k}").partition(" ")[0] for task in config["sizes"]),
                *(_cell(result, AVERAGE, column, f"{measure}@{k}") for measure in ("p_recall", *titles)),
            ]
            for column in config["columns"]
        }
        lines += ["", *block([*config["sizes"], AVERAGE, *titles.values()], rows, f"p-Recall@{k}")]
    rows = {s: [_cell(result, task, _DRAWN + s, "qa_f1") for task in config["sizes"]] for s in config["perspectives"]}
    lines += ["", *block(list(config["sizes"]), rows, "QA-F1 of perspectives drawn")] if rows else []
    return [
        *lines,
        "",
        f"* the paired interval of the difference, by root query, from 'none' or from annotated, {STAR}",
        f"95 % intervals: {config['rounds']} draws of root queries within their tasks",
        f"{result['seconds']:.1f} s; encoder {config['encoder']}; seed {config['seed']}",
    ]


def _cell(result: Record, task: str, column: str, measure: str) -> str:
    value, ends = (result[part][task][column].get(measure) for part in ("metrics", "intervals"))
    change = result["intervals"][task][column].get(measure.replace("p_recall", "gain"), (0.0, 0.0))
    over = min(size["roots"] for name, size in result["config"]["sizes"].items() if task in (name, AVERAGE))
    return percent(value, ends or (), sure(change, over) if "@" in measure else "")
