"""What readers get out of files that stand beside their expected text.

`--data` is a folder of files, each with NAME.expected.txt beside it: what a careful reader expects of the file, a
paragraph, heading, item or row of a table (cells separated by ` | `) a line, without running headers, page numbers,
navigation and code. Footnotes and endnotes stand at its end, each a line that begins with `NOTE: `, and count as
sentences only, since they may stand in several places. Without `--data`, a small set of the project's own.

words_in_order   expected words that are found in the same order, of all expected (a longest common subsequence)
sentences_whole  expected sentences that stand whole in a passage or a heading, of all that end as sentences do
extra            words found that are not among those in order, of all found
"""

import argparse
import re
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evals.metrics.measure import Ratio
from evals.reports.records import header
from evals.reports.table import block, percent
from evals.suite import GOLD, common_options, number, sample, show
from tools.documents.apart import read_apart
from tools.documents.cutting import cut_document
from tools.documents.readers import READERS
from tools.errors import InputError, SourceError
from tools.language.sentences import split_sentences, without_mark
from tools.passages import SourceDocument

_OWN = GOLD / "ingest"
_EXPECTED = ".expected.txt"
_NOTE = "NOTE: "
_MISSES = 12
_WORD = re.compile(r"\w+")
_QUOTES = str.maketrans("‘’“”–—\u00a0", "''\"\"-- ")
_ENDS = re.compile(r"[.!?…][\"')\]]*$")


@dataclass(frozen=True, slots=True)
class FileRead:
    """One file: words expected, of these found in order, words found; sentences expected, of these whole; seconds."""

    name: str
    words: int
    in_order: int
    found: int
    sentences: int
    whole: int
    missing: tuple[str, ...]
    left_out: Counter[str]
    pages: int
    seconds: float
    problem: str = ""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The suite's options."""
    add = parser.add_argument
    add("--data", type=Path, default=_OWN, metavar="DIR", help="folder of files with NAME.expected.txt beside them")
    add("--misses", action="store_true", help="name the sentences that were not found whole, a dozen a file")
    common_options(parser, limit="a sample of N files", seed="seed of the sample and the intervals")


def run(args: argparse.Namespace) -> int:
    """Measure and print; exit status 1 where a file could not be read. Raises InputError for a folder of none."""
    files = _files(args.data)
    if not files:
        raise InputError(
            f"{args.data} has no file with its expected text beside it (report.pdf and report.pdf{_EXPECTED})."
        )
    read = [measure(file, args.data) for file in sample(files, args.limit, args.seed)]
    show(args.json, _result(read, args), lambda: _table(read, args.misses))
    return 1 if any(r.problem for r in read) else 0


def _files(folder: Path) -> list[Path]:
    """Files with their expected text beside them; what no reader reads is among them, and fails."""
    expected = sorted(p for p in folder.rglob(f"*{_EXPECTED}") if p.is_file())
    return [f for e in expected if (f := e.with_name(e.name.removesuffix(_EXPECTED))).is_file()]


def measure(file: Path, folder: Path) -> FileRead:
    """What the reader of the file's ending makes of it; a file that cannot be read counts as one of no words."""
    expected = file.with_name(file.name + _EXPECTED).read_text(encoding="utf-8")
    begun, documents, problem = time.perf_counter(), list[SourceDocument](), ""
    try:
        documents = list(read_apart(file, file.name))
    except SourceError as exc:
        problem = str(exc)
    seconds = time.perf_counter() - begun
    words = [w for line in expected.splitlines() if not line.startswith(_NOTE) for w in words_of(line)]
    lines = [line.removeprefix(_NOTE) for line in expected.splitlines()]
    has_notes = any(line.startswith(_NOTE) for line in expected.splitlines())
    found = [w for d in documents for text in _texts(d, has_notes) for w in words_of(text)]
    sentences = [folded(s) for line in lines if " | " not in line for s in _sentences(line) if is_sentence(s)]
    passages = [p for d in documents for p in cut_document(d)]
    headings = [text for d in documents for text in (d.title, *(b.text for b in d.blocks if b.form == "heading"))]
    stand = {
        folded(s) for text in (*headings, *(p.text for p in passages)) for s in map(without_mark, split_sentences(text))
    }
    missing = tuple(s for s in sentences if s not in stand)
    return FileRead(
        name=str(file.relative_to(folder)),
        words=len(words),
        in_order=in_order(words, found),
        found=len(found),
        sentences=len(sentences),
        whole=len(sentences) - len(missing),
        missing=missing,
        left_out=sum((Counter(d.left_out) for d in documents), Counter[str]()),
        pages=max((max(b.page, b.last_page) for d in documents for b in d.blocks), default=0),
        seconds=seconds,
        problem=problem,
    )


def _sentences(text: str) -> list[str]:
    """Without bullets and numbers in front, which one may give and another not."""
    return [without_mark(s) for s in split_sentences(text)]


def _texts(document: SourceDocument, has_notes: bool) -> list[str]:
    """What stands in the order of the document: all but its notes, which may stand anywhere, where it has some."""
    if not document.blocks:
        return [document.text]
    return [b.text for b in document.blocks if not (has_notes and b.form == "note")]


# The measures


def words_of(text: str) -> list[str]:
    """The words of a text in order, in lower case, without punctuation."""
    return _WORD.findall(text.casefold())


def in_order(expected: Sequence[str], found: Sequence[str]) -> int:
    """The length of a longest common subsequence of two lists of words.

    By rows of bits, one for each expected word (Hyyrö 2004, 'Bit-parallel LCS-length computation revisited').
    """
    places: dict[str, int] = {}
    for i, word in enumerate(expected):
        places[word] = places.get(word, 0) | 1 << i
    every = (1 << len(expected)) - 1
    row = every
    for word in found:
        matched = row & places.get(word, 0)
        row = ((row + matched) | (row - matched)) & every
    return len(expected) - row.bit_count()


def folded(sentence: str) -> str:
    """A sentence as it is compared: one kind of quotation marks and dashes, single spaces."""
    return " ".join(sentence.translate(_QUOTES).split())


def is_sentence(line: str) -> bool:
    """Whether it ends as sentences do; headings, items of a word or two and rows of tables are none."""
    return len(line.split()) > 2 and " | " not in line and bool(_ENDS.search(line.translate(_QUOTES)))


def _shares(read: list[FileRead]) -> dict[str, Ratio]:
    return {
        "words_in_order": Ratio.of((r.name, r.in_order, r.words) for r in read),
        "sentences_whole": Ratio.of((r.name, r.whole, r.sentences) for r in read),
        "extra": Ratio.of((r.name, r.found - r.in_order, r.found) for r in read),
    }


def _by_format(read: list[FileRead]) -> dict[str, list[FileRead]]:
    endings = [e for e in READERS if any(r.name.lower().endswith(e) for r in read)]
    others = [r for r in read if not r.name.lower().endswith(tuple(READERS))]
    return {e: [r for r in read if r.name.lower().endswith(e)] for e in endings} | ({"other": others} if others else {})


def _figures(read: list[FileRead], seed: int) -> dict[str, Any]:
    shares, pages, seconds = _shares(read), sum(r.pages for r in read), sum(r.seconds for r in read)
    return {
        "files": len(read),
        "pages": pages,
        "seconds": round(seconds, 3),
        "metrics": {name: number(share.value) for name, share in shares.items()},
        "intervals": {name: [number(end) for end in share.interval(seed)] for name, share in shares.items()},
        "left_out": dict(sum((r.left_out for r in read), Counter[str]())),
    }


def _result(read: list[FileRead], args: argparse.Namespace) -> dict[str, Any]:
    head = header("ingest", {"data": args.data.name, "limit": args.limit, "seed": args.seed})
    return {
        "suite": "ingest",
        **_figures(read, args.seed),
        "formats": {ending: _figures(some, args.seed) for ending, some in _by_format(read).items()},
        "items": {r.name: [r.in_order, r.words, r.whole, r.sentences, r.found] for r in read},
        "failed": [r.problem for r in read if r.problem],
        "config": head["config"] | {"versions": head["versions"]},
    }


def _table(read: list[FileRead], misses: bool) -> str:
    weak = [r for r in read if r.in_order < 0.98 * r.words or r.whole < 0.95 * r.sentences]
    titles = ["files", "words in order", "sentences whole", "extra", "pages/min"]
    rows = {name: _cells(some) for name, some in (*_by_format(read).items(), ("all", read))}
    lines = [*block(titles, rows), "", "files below 98 % of words or 95 % of sentences:"]
    lines += block(titles, {r.name: _cells([r]) for r in weak}) if weak else ["none"]
    for one in weak:
        lines += [f"{one.name}: {one.problem}"] if one.problem else []
        lines += [f"{one.name} - {sentence}" for sentence in one.missing[: _MISSES if misses else 0]]
    left = sum((r.left_out for r in read), Counter[str]())
    lines += ["", "left out: " + (", ".join(f"{what} ({n})" for what, n in left.items()) or "none")]
    return "\n".join(lines) + "\n"


def _cells(read: list[FileRead]) -> list[str]:
    pages, seconds = sum(r.pages for r in read), sum(r.seconds for r in read if r.pages)
    shares = (percent(share.value) for share in _shares(read).values())
    return [str(len(read)), *shares, f"{60 * pages / max(1e-9, seconds):,.0f}" if pages else ""]
