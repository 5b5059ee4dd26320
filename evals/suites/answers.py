"""The whole answer on questions whose documents have known sides.

Each question is asked as it is, and with `--missing` once more without one side's gold documents. Answers are kept as
they come, and a run that was stopped goes on; scoring reads them and never asks the agent again. `evals/metrics/` says
how each measure is made.

    python -m evals answers --set NAME --data DIR --out ANSWERS.jsonl --sheet SHEET.jsonl
    python -m evals answers --sheet SHEET.jsonl --labels FIRST.jsonl SECOND.jsonl

The first also writes what the answers show as a sheet for people to read, the second counts what its readers say
(`evals/answering/sheet.py` tells how they write it).
"""

import argparse
import asyncio
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from agent.answer.model import Answer
from agent.models.inference import Models
from agent.runs.build import build_providers
from agent.settings import Settings, load_settings
from evals.answering.asking import Build, ask_all, fingerprint, in_force, providers_of
from evals.answering.checks import check_claims, judge_claims
from evals.answering.plan import MISSING, PLAIN, plan
from evals.answering.sheet import key_of, read_sheet, refuse_sheet, rows_of, write_sheet
from evals.answering.verdicts import with_gold_verdicts
from evals.datasets.cases import SAMPLES_SET, Case, CaseSet, is_own, load_cases, refuse_either_way
from evals.metrics.answers import Reply, missing_side, of_plain, supported
from evals.metrics.measure import Figure, Ratio
from evals.metrics.stance_alignment import judged_alignment, stance_alignment
from evals.reports.records import Record, Records, read_records
from evals.reports.table import block
from evals.reports.table import number as number_of
from evals.suite import common_options, interval_table, number, refuse_existing, show, with_intervals, write_new
from tools.errors import InputError

Measures = dict[str, Ratio | Figure]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The suite's options."""
    add = parser.add_argument
    add("--data", type=Path, metavar="DIR", help="folder of NAME.queries.jsonl and CORPUS.corpus.jsonl[.gz]")
    add(
        "--set", default=SAMPLES_SET, metavar="NAME",
        help="which queries (default: samples, which need no --data; nor do wordings-dev, -last and -later, the "
        "samples' questions in other people's words, and elsewhere-dev and -last, which the samples do not answer); or "
        "a file of questions to ask over the samples, {\"question\": …} a line",
    )  # fmt: skip
    add("--out", type=Path, metavar="FILE", help="where the answers are kept, a line each")
    add("--missing", action="store_true", help="ask again without one side's gold documents, the sides in turn")
    add("--gold", action="store_true", help="ask a judge that knows the documents' sides instead of the one in force")
    add("--score-only", action="store_true", help="measure the answers that are there, and ask nothing")
    add("--read", type=Path, metavar="FILE", help="also write the answers as Markdown, for reading")
    add("--sheet", type=Path, metavar="FILE", help="also write a sheet for people to read, its key beside it")
    add("--each", type=int, metavar="N", help="rows of a kind in the sheet at most (default: all)")
    add("--labels", type=Path, nargs="+", metavar="FILE", help="count what readers of the sheet say, a file each")
    common_options(
        parser,
        limit="only the first N questions of a seeded shuffle",
        seed="of the shuffle, the sides left out, the intervals",
        parallel="questions at once",
    )


def run(args: argparse.Namespace) -> int:
    """Asks what is not answered yet, then scores all of it. Raises InputError."""
    if args.labels:
        return _count_labels(args)
    if not args.out:
        raise InputError("--out is missing: the file in which the answers are kept.")
    if args.data and is_own(args.set):
        raise InputError(f"the set '{args.set}' is the project's own. Leave out --data, or name a set of it as --set.")
    refuse_existing(args.read, "--read")
    if args.sheet:
        refuse_sheet(args.sheet)
    return asyncio.run(evaluate(args, load_settings()))


def _count_labels(args: argparse.Namespace) -> int:
    if not args.sheet:
        raise InputError("--sheet is missing: the sheet that was read.")
    measures = read_sheet(args.sheet, args.labels)
    result = {"suite": "answers", "part": "sheet", "metrics": with_intervals(measures, args.seed)}
    show(args.json, result, lambda: interval_table(measures, args.seed))
    return 0


async def evaluate(args: argparse.Namespace, settings: Settings, build: Build = build_providers) -> int:
    """The suite with these settings; `build` makes the providers."""
    chosen = load_cases(args.data, args.set)
    cases = chosen.drawn(args.limit, args.seed)
    asks = plan(cases, args.missing, args.seed)
    config = {"set": chosen.name, "documents": fingerprint(chosen.documents), "seed": args.seed} | in_force(settings)
    if args.gold:
        refuse_either_way(chosen)
        config, build = config | {"judge": "gold"}, with_gold_verdicts(build, chosen)
    if args.score_only:
        head, records = _stored(args.out, config)
    else:
        with Records(args.out, "answers", config) as file:
            await ask_all(asks, chosen.documents, file, settings, args.parallel, build)
        head, records = file.header, list(file.done.values())
    by_key = {c.key: c for c in cases}
    records = [r for r in records if r.get("case") in by_key]
    replies = [_reply(args.out, r, by_key[r["case"]]) for r in records]
    async with providers_of(settings, build) as providers:
        measures = await measure(replies, providers.models)
        scored_by = {"judge": providers.models.judge().name, "encoder": providers.models.encoder.name}
    counts = _counts(chosen, cases, records, unasked=len({a.key for a in asks} - {r["key"] for r in records}))
    limits = {"limit": args.limit, "scored_by": scored_by}
    result = report(measures, counts, head, records, limits, args.seed)
    if args.read:
        _write_reading(args.read, replies)
    if args.sheet:
        rows = [row for r in replies if r.variant == PLAIN and r.answer for row in rows_of(r.answer, r.passages)]
        written = write_sheet(args.sheet, rows, args.each, args.seed)
        print(f"Written: {args.sheet} ({written} rows), {key_of(args.sheet)}", file=sys.stderr)
    show(args.json, result, lambda: table(result, measures))
    return 0


async def measure(replies: Sequence[Reply], models: Models) -> Measures:
    """Every measure of which there are replies. Questions are asked of nobody; the judge reads their claims."""
    plain = [r for r in replies if r.variant == PLAIN]
    found: Measures = {
        **of_plain(plain),
        **supported(await check_claims(plain, models)),
        **stance_alignment(plain),
        "alignment_judge": judged_alignment(await judge_claims(plain, models)),
    }
    if any(r.left_out for r in replies):
        found |= missing_side(replies)
    return found


def report(
    measures: Measures, counts: Record, head: Record, records: Sequence[Record], limits: Record, seed: int
) -> dict[str, Any]:
    """One object: metrics, intervals, config, and what failed by name. What is not defined is null."""
    return {
        "suite": "answers",
        "metrics": counts | {name: number(m.value) for name, m in measures.items()},
        "over": {name: number(m.total) for name, m in measures.items()},
        "intervals": {name: [number(end) for end in m.interval(seed)] for name, m in measures.items()},
        "items": {name: m.rows for name, m in measures.items() if isinstance(m, Ratio)},
        "config": head["config"] | limits | {"versions": head["versions"], "prompts": head["prompts"]},
        "failed": [f"{r['asked']} [{r['variant']}]: {r['failed']}" for r in records if "failed" in r],
    }


def table(result: dict[str, Any], measures: Measures) -> str:
    """The measures with their intervals, a line each."""
    counted = [f"{name.replace('_', ' ')} {n}" for name, n in result["metrics"].items() if name not in measures]
    rows = {
        name: [number_of(result["metrics"][name], ends), f"{result['over'][name]:.0f}"]
        for name, ends in result["intervals"].items()
    }
    lines = [", ".join(counted), "", *block(["95 % interval", "over"], rows)]
    if result["metrics"].get("alignment_textblob") is None:
        lines.append("alignment_textblob is not defined: no variation among the polarities of topics or of texts.")
    lines += [f"failed: {name}" for name in result["failed"]]
    return "\n".join(lines) + "\n"


def _counts(chosen: CaseSet, cases: Sequence[Case], records: Sequence[Record], unasked: int) -> Record:
    return {
        "questions": len(cases),
        "questions_without_known_sides": chosen.unsided,
        "asked": len(records),
        "not_asked": unasked,
        "asked_without_a_side": sum(r["variant"] == MISSING for r in records),
        "failed": sum("failed" in r for r in records),
    }


def _stored(path: Path, config: Record) -> tuple[Record, list[Record]]:
    if not path.exists():
        raise InputError(f"there is no {path} to score. Leave out --score-only.")
    head, records = read_records(path)
    if head.get("suite") != "answers":
        raise InputError(f"{path} holds records of the suite '{head.get('suite')}'. Name another file.")
    for name in ("set", "documents", "seed"):
        if head["config"].get(name) != config[name]:
            old = head["config"].get(name)
            raise InputError(f"{path} was made with another {name}: {old!r}, not {config[name]!r}.")
    return head, records


def _reply(path: Path, record: Record, case: Case) -> Reply:
    """Raises InputError for a record that holds no answer and no failure."""
    gold: dict[str, frozenset[str]] = {str(side): ids for side, ids in case.gold.items()}
    try:
        left_out = str(record["left_out"] or "")
        reply = Reply(case.key, gold, str(record["variant"]), left_out=left_out, either_way=case.either_way)
        if "failed" in record:
            return reply
        answer = Answer.model_validate(record["answer"])
        passages = {int(i): str(text) for i, text in dict(record["passages"]).items()}
    except (KeyError, TypeError, ValueError) as exc:
        raise InputError(f"{path}: the record '{record['key']}' holds no whole answer: {_what(exc)}.") from exc
    return replace(reply, answer=answer, passages=passages)


def _what(exc: Exception) -> str:
    if isinstance(exc, ValidationError):
        first = exc.errors()[0]
        return f"'{'.'.join(map(str, ('answer', *first['loc'])))}': {first['msg']}"
    return f"'{exc.args[0]}' is missing" if isinstance(exc, KeyError) else str(exc).splitlines()[0]


def _write_reading(path: Path, replies: Sequence[Reply]) -> None:
    from agent.answer.files import to_markdown

    texts = [f"<!-- {r.question} [{r.variant}] -->\n\n{to_markdown(r.answer)}" for r in replies if r.answer]
    write_new(path, "\n\n".join(texts), "--read")
