"""Makes a benchmark from your texts with the configured chat model.

The results are questions with perspectives, as in BERDS (§4.1), or news events with relevant paragraphs, as in NEWSCOPE
(§5). Lines of FILE:

pairs     {"first", "second"}: two opposed arguments; makes the question between them, its yes and its no
survey    {"question", "choices"}: makes a question between the first and the last choice; excludes personal items
answers   {"question", "answers"}: makes a statement for each answer
articles  {"id", "title", "text", "source", "date"}: near articles are an event; makes a headline, 3 votes a paragraph

The first three, with an optional `topic`, become FILE.jsonl in the new folder `--to`, for `evals expand`; articles
become input of `evals news`. Failures of the model are named and not written. Unlike NEWSCOPE, headlines with few
relevant paragraphs are not repeated.
"""

import argparse
import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from contextlib import aclosing
from functools import partial
from pathlib import Path
from typing import Any

from agent.models.from_settings import build_stage_model
from agent.settings import load_settings
from evals.datasets import building
from evals.datasets.building import NEAR
from evals.datasets.rows import digest
from evals.metrics.measure import Figure, Ratio, figures
from evals.models import CachedEncoder, encoder_and_cache
from evals.reports.records import Record, Records
from evals.suite import ask_each, check_known, common_options, figure_lines, refuse_existing, shuffled, write_new
from tools.budget import Budget, budget_scope
from tools.errors import InputError
from tools.language.near_duplicates import average_linkage
from tools.models.chat.model import ChatModel

KINDS: dict[str, tuple[type[building.InputLine], Any]] = {
    "pairs": (building.Opposed, building.from_pair),
    "survey": (building.SurveyItem, building.from_survey),
    "answers": (building.Answered, building.from_answers),
    "articles": (building.Article, None),
}
"""The shape of a line of each kind, and the function that makes a question of it."""
Ask = Callable[[Mapping[str, Callable[[], Awaitable[Record]]]], Awaitable[dict[str, Record]]]
Made = tuple[dict[str, Figure], Record, dict[str, Record]]  # shares, counts, and the records


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "--from",
        nargs=2,
        required=True,
        dest="made_of",
        metavar=("KIND", "FILE"),
        help="kind of lines, and their .jsonl",
    )
    add("--to", type=Path, required=True, metavar="DIR", help="a new folder")
    add("--near", type=float, default=NEAR, metavar="P", help="cosine from which articles are one event (%(default)s)")
    add("--out", type=Path, metavar="RECORDS", help="file for the replies; a stopped run continues")
    common_options(parser, limit="a seeded sample of N lines", seed="seed of the sample", parallel="simultaneous lines")


def measure(args: argparse.Namespace) -> Record:
    """Requests the missing replies, then writes. Raises InputError, SettingsError, and ProviderError if the model is
    down; records remain."""
    kind, path = args.made_of[0], Path(args.made_of[1])
    check_known([kind], KINDS, "kind of file")
    refuse_existing(args.to, "--to")
    lines = dict(shuffled(list(building.read_lines(path, KINDS[kind][0]).items()), args.limit, args.seed))
    settings = load_settings(provider="chat")
    model = build_stage_model(settings, "write")
    config = {"from": kind, "data": path.name, "sha256": digest(path), "model": model.name, "near": args.near}
    config |= {"temperature": settings.temperature, "sample": args.limit and [args.limit, args.seed]}
    config["encoder"] = encoder_and_cache()[0].name if kind == "articles" else ""
    with budget_scope(Budget()) as spent, Records(args.out, "build", config) as records:
        measures, counts, done = asyncio.run(_made(lines, model, records, args))
    told = figures(measures, args.seed)
    lists = {of: [f"{key}: {r[of]}" for key, r in done.items() if of in r] for of in ("left_out", "failed")}
    told["metrics"] = counts | {of: len(found) for of, found in lists.items()} | told["metrics"]
    config = records.config | {"seed": args.seed, "to": str(args.to)}
    return {"suite": "build", **told, **lists, "spent": spent.spent(), "config": config}


async def _made(lines: dict[str, Any], model: ChatModel, records: Records, args: argparse.Namespace) -> Made:
    ask = partial(ask_each, records=records, parallel=args.parallel, unit="item")
    async with aclosing(model):
        return await (_events if args.made_of[0] == "articles" else _questions)(lines, model, ask, args)


async def _questions(lines: dict[str, Any], model: ChatModel, ask: Ask, args: argparse.Namespace) -> Made:
    kind, path = args.made_of
    done = await ask({key: partial(KINDS[kind][1], line, model) for key, line in lines.items()})
    made = [record for record in done.values() if "question" in record]
    if not made:
        key, first = next(iter(done.items()))
        raise InputError(f"no question could be made of {path}. {key}: {first.get('failed') or first['left_out']}")
    rows = [{field: r[field] for field in ("question", "perspectives", "topic") if r[field]} for r in made]
    name = Path(path).name.partition(".")[0]
    write_new(args.to / f"{name}.jsonl", "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "--to")
    left_out = Ratio.of((key, float("left_out" in r), 1) for key, r in done.items())
    return {"left_out_share": left_out} if kind == "survey" else {}, {"lines": len(done), name: len(rows)}, done


async def _events(lines: dict[str, Any], model: ChatModel, ask: Ask, args: argparse.Namespace) -> Made:
    articles: list[building.Article] = list(lines.values())
    vectors = CachedEncoder(*encoder_and_cache()).encode([f"{a.title}\n{a.text}" for a in articles])
    groups = enumerate(average_linkage(vectors @ vectors.T, args.near), start=1)
    events = {f"{number}": [articles[i] for i in of] for number, of in groups}
    alone = {e: of[0].title or "untitled" for e, of in events.items() if len(of) == 1}
    done = await ask({f"event {e}": partial(building.headline_of, events[e], model) for e in events if e not in alone})
    heads = {key.removeprefix("event "): r["headline"] for key, r in done.items() if "headline" in r}
    cut = {e: building.paragraphs_of(e, of) for e, of in events.items()}
    asked = [(e, p, text) for e in heads for p, text in cut[e].items()]
    done |= await ask({p: partial(building.votes_on, heads[e], text, model) for e, p, text in asked})
    votes = [(e, p, text, done[p]["votes"]) for e, p, text in asked if "votes" in done[p]]
    if not votes:
        near = f"no two articles have a cosine of {args.near}. Use a lower --near."
        why = next((f"{key}: {r['failed']}" for key, r in done.items() if "failed" in r), near)
        raise InputError(f"no event could be made of {args.made_of[1]}: {why}")
    texts = {e: cut[e] for e in alone}  # in the corpus, without annotation
    texts |= {event: {p: text for e, p, text, _ in votes if e == event} for event in heads}
    labels = {event: {p: int(2 * sum(r) > building.VOTES) for e, p, _, r in votes if e == event} for event in heads}
    parts = (("news_text_by_paragraph", texts), ("annotation", labels))
    files = {f"{part}/{e}_by_paragraph.json": of for part, found in parts for e, of in found.items()}
    files["raw_data/headline.json"] = heads | alone
    for name, of in files.items():
        write_new(args.to / name, json.dumps(of, ensure_ascii=False, indent=1) + "\n", "--to")
    agreement = Ratio.of((e, float(len(set(said)) == 1), 1) for e, _, _, said in votes)
    relevant = Ratio.of((e, labels[e][p], 1) for e, p, _, _ in votes)
    counts = {"articles": len(articles), "alone": len(alone), "events": len(heads), "paragraphs": len(votes)}
    return {"agreement": agreement, "relevant": relevant}, counts, done


def table(result: Record) -> list[str]:
    """Counts, shares and excluded lines."""
    told = [f"{n.replace('_', ' ')} {value}" for n, value in result["metrics"].items() if n not in result["intervals"]]
    lines = [", ".join(told), *(figure_lines(result) if result["intervals"] else [])]
    lines += [f"left out: {one}" for one in result["left_out"]]
    spent = ", ".join(f"{name.replace('_', ' ')} {n:g}" for name, n in result["spent"].items())
    config = result["config"]
    return [*lines, f"model {config['model']}: {spent or 'nothing was asked'}", f"written to {config['to']}"]
