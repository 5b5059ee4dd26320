"""What the answer page shows of labelled documents: does each quotation stand under its side, and does each source line
name its speaker? `PYTHONPATH=. python tests/page_rates.py [--list] [FOLDER ...]` prints the rates of each folder, by
default of all in `evals/gold/pages`; `--list` prints the lines that are wrong or lack a name, too.

`label_model` describes a folder. Each question is asked twice: of the embedded providers alone, and with the chat model
that the labels play. The second answer measures what the agent keeps, shows and names of a perfect model's findings. It
measures no model: sides and names come from the labels, so a line is wrong only where the agent drops or changes them.

Each source line below a quotation or claim counts once. It is compared with the labels of the claim's words in that
source, or else of the quotation behind the claim. If several labels fit, one that agrees is enough. 'unsorted': the
sentence takes a side and stands among those without. 'sideless': it takes none and stands there, too. 'missing': the
label has a name, and the line has none before publisher or title. 'nobody': neither has a name. 'unlabelled': no label
fits. A share is that of the right lines among the right, wrong and missing ones. 'shown' counts the labelled sentences
on the page, wherever they stand.

`--readers FOLDER ...` prints what two people said of the lines that they saw: `screen.csv` and `second.csv` have the
same lines, and the fifth and sixth columns are the opinions on the side and on the speaker.
"""

import argparse
import asyncio
import csv
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from agent_fixtures import ingest
from golden_answers import forget_settings, golden_settings
from label_model import SIDES, STANCES, Label, LabelModel, Pages, read_pages
from model_replies import word_overlap
from model_server import ModelServer
from speaker_rates import rate

from agent.answer.attribution import quotes_behind, source_lines
from agent.answer.document_list import document_title
from agent.answer.model import Answer, AnswerPerspective, Citation
from agent.answer.wording import shortened
from agent.options import RunOptions
from agent.runs.service import Runs
from agent.settings import Settings
from tools.documents.files import find_files
from tools.documents.ingest import IngestReport, read_all

PAGES = sorted(path.parent for path in (Path(__file__).parents[1] / "evals/gold/pages").glob("*/labels.csv"))
_RATES = {
    "side": ("right", "wrong", "unsorted", "sideless", "unlabelled"),
    "speaker": ("right", "wrong", "missing", "nobody", "unlabelled"),
}
_BEST = ("right", "nobody", "missing", "wrong")
_FAULTS = ("wrong", "missing")
_PLAYED = "played-by-labels"


class Line(NamedTuple):
    """A source line on the page. place: the side, '' among sentences without one. labels: those that fit."""

    place: str
    text: str
    line: str
    side: str
    speaker: str
    labels: list[Label]


async def answers(pages: Pages, data: Path) -> dict[str, list[Answer]]:
    """The answers to the questions with the embedded providers, and with the played model. data: an empty folder."""
    options, made = RunOptions.of(collections=("pages",), web=False, deadline_seconds=600), dict[str, list[Answer]]()
    with ModelServer(models=[_PLAYED], strict=False) as server:
        LabelModel(pages).serve(server)
        played = Settings(data_dir=data, openai_base_url=server.url, model=_PLAYED, web="off")
        for mode, settings in {"embedded": golden_settings(data), "played": played}.items():
            async with Runs(settings) as runs:
                report = IngestReport()
                ingest(runs, read_all(find_files([str(pages.folder / "docs")]), report), "pages", report)
                asked = [q["question"] for q in pages.questions]
                made[mode] = [await runs.answer(await runs.start(question, options)) for question in asked]
        assert not server.errors + report.problems, "\n".join(server.errors + report.problems)
    return made


def shown_lines(pages: Pages, question: dict[str, Any], answer: Answer) -> Iterator[Line]:
    """Each source line of the sides' claims and objections, and of the sentences without a side."""
    cited, sides = {c.number: c for c in answer.citations}, [(s, _name(s, question)) for s in answer.perspectives]
    places = [(name, c, False) for side, name in sides for c in side.claims]
    places += [(name, c, True) for side, name in sides for c in side.objections]
    for name, claim, against in (*places, *(("", c, False) for c in answer.also)):
        for number, line in source_lines(answer, claim):
            file, quotes = Path(cited[number].document_id).name, quotes_behind(claim, cited[number])
            own = [label for label in pages.labels if file.startswith(label.file)]
            found = [label for label in own if label.fits(claim.text)]
            found = found or [label for label in own if any(map(label.fits, quotes))]
            side = _side_rate([label.side for label in found], name, against, question["sides"])
            speaker = _speaker_rate(found, line, cited[number])
            yield Line(f"against {name}" if against else name, claim.text, line, side, speaker, found)


def _name(side: AnswerPerspective, question: dict[str, Any]) -> str:
    """The labels' name of a side. The embedded providers word a side in their own way."""
    words = {name: own["statement"] for name, own in question["sides"].items()}
    return STANCES.get(side.stance) or max(words, key=lambda name: word_overlap(side.statement, words[name]))


def _side_rate(labelled: Sequence[str], place: str, against: bool, sides: Iterable[str]) -> str:
    taken = {*labelled} & {*sides}
    if not labelled:
        return "unlabelled"
    if not place:
        return "unsorted" if taken else "sideless"
    return "right" if (taken - {place} if against else taken & {place}) else "wrong"


def _speaker_rate(labels: Sequence[Label], line: str, source: Citation) -> str:
    """The best rate of the labels' names; a speaker's name stands before publisher or title."""
    published = source.publisher or document_title(source, source.document_id)
    places = (f"in the minutes of {source.publisher}", f"in {source.title}", published)
    begin = min((at for place in places if (at := line.find(shortened(place))) >= 0), default=len(line))
    said, where = line[:begin].strip(", "), line[begin:]
    found = {rate(name, said, where) if name or said else "nobody" for label in labels for name in label.names}
    return next((r for r in _BEST if r in {"missing" if r == "none" else r for r in found}), "unlabelled")


def measured(pages: Pages, data: Path) -> dict[str, list[Line]]:
    """The lines of all answers, by 'embedded' and 'played'."""
    return {
        mode: [
            line
            for question, each in zip(pages.questions, found, strict=True)
            for line in shown_lines(pages, question, each)
        ]
        for mode, found in asyncio.run(answers(pages, data)).items()
    }


def counted(pages: Pages, lines: Sequence[Line]) -> dict[str, Counter[str]]:
    """The lines by rate of 'side' and of 'speaker', and the labelled sentences by side: 'all' and 'shown'."""
    on_page = {label for line in lines for label in line.labels}
    return {
        **{kind: Counter(getattr(line, kind) for line in lines) for kind in _RATES},
        "all": Counter(sorted((label.side for label in pages.labels), key=SIDES.index)),
        "shown": Counter(label.side for label in pages.labels if label in on_page),
    }


def _table(name: str, counts: dict[str, Counter[str]]) -> Iterator[str]:
    yield f"{name}: {counts['side'].total()} lines"
    for kind, rates in _RATES.items():
        judged = sum(counts[kind][each] for each in ("right", *_FAULTS))
        share = f"; right {counts[kind]['right'] / judged:.1%} of {judged}" if judged else ""
        yield f"  {kind:8}{', '.join(f'{each} {counts[kind][each]}' for each in rates)}{share}"
    on_page = (f"{side} {counts['shown'][side]} of {number}" for side, number in counts["all"].items())
    yield f"  {'shown':8}{', '.join(on_page)}"


def print_pages(folders: Sequence[Path], listed: bool) -> None:
    for pages in [*map(read_pages, folders)]:
        with tempfile.TemporaryDirectory() as data:
            found = measured(pages, Path(data))
        for mode, lines in found.items():
            print(*_table(f"{pages.folder.name}, {mode}", counted(pages, lines)), sep="\n", flush=True)
            for each in lines if listed else ():
                labels = "; ".join(f"{label.side}, {label.who or 'nobody'}" for label in each.labels)
                for kind in _RATES:
                    if getattr(each, kind) in _FAULTS:
                        print(f"    {kind} {getattr(each, kind)}, {each.place or 'no side'}: “{each.text}”")
                        print(f"      line: {each.line}\n      label: {labels}")


def print_readers(folders: Sequence[Path]) -> None:
    """Prints two people's opinions and on how many lines they agree. Raises ValueError for files that do not fit."""
    for folder in folders:
        first, second = (_opinions(folder, name) for name in ("screen.csv", "second.csv"))
        if [row[:4] for row in first] != [row[:4] for row in second]:
            raise ValueError(f"{folder}: screen.csv and second.csv have other lines.")
        print(f"{folder.name}: {len(first)} lines")
        for column, kind in enumerate(_RATES, start=4):
            both = {"first": [row[column] for row in first], "second": [row[column] for row in second]}
            agreed = sum(one == other for one, other in zip(*both.values(), strict=True))
            said = [f"{name}: {', '.join(_shares(Counter(words)))}" for name, words in both.items()]
            print(f"  {kind:8}{'; '.join(said)}; agree on {agreed} ({agreed / len(first):.1%})")


def _shares(counts: Counter[str]) -> Iterator[str]:
    return (f"{word} {number} ({number / counts.total():.1%})" for word, number in counts.most_common())


def _opinions(folder: Path, name: str) -> list[list[str]]:
    if not (folder / name).is_file():
        raise ValueError(f"{folder} has no {name}.")
    with (folder / name).open(newline="", encoding="utf-8") as file:
        rows = [*csv.reader(file)][1:]
    if not rows or min(map(len, rows)) < 6:
        raise ValueError(f"{folder}/{name} has no line, or a line without opinions.")
    return rows


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="page_rates", description="Rates of the lines on the answer page.")
    parser.add_argument("folders", nargs="*", type=Path, default=PAGES, metavar="FOLDER")
    parser.add_argument("--list", action="store_true", help="print the lines that are wrong or lack a name")
    parser.add_argument("--readers", nargs="+", type=Path, metavar="FOLDER", help="print what two readers said instead")
    given = parser.parse_args(arguments)
    try:
        if given.readers:
            print_readers(given.readers)
        else:
            print_pages(given.folders, given.list)
    except ValueError as exc:
        print(f"page_rates: {exc}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    forget_settings()
    sys.exit(main())
