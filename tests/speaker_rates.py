"""How many labelled sentences of documents get the right speaker without a model:
`PYTHONPATH=. python tests/speaker_rates.py [FOLDER ...]` prints each sentence with another name, and counts. A folder
has `docs/` and `labels.csv` with the columns file, sentence and who (empty for nobody)."""

import csv
import re
import sys
from collections import Counter
from pathlib import Path

from tools.documents.passage_cutting import cut_document
from tools.documents.readers import read_file
from tools.language.reported_speech import UNNAMED, speaker_of
from tools.passages import PROBABLY, Passage, SourceDocument

SETS = sorted(path.parent for path in (Path(__file__).parents[1] / "evals/gold/speakers").glob("*/labels.csv"))
_UNSAID = frozenset("the a an of and cllr councillor dr mr mrs ms prof user et al".split())


def rates(folder: Path, shown: bool = False) -> Counter[str]:
    """Counts of 'right', 'none' (no name, or somebody quoted) and 'wrong' speakers, and of 'lost' sentences."""
    passages = {path.name: _passages(path) for path in (folder / "docs").iterdir()}
    found = Counter[str]()
    with (folder / "labels.csv").open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            held = next((p for p in passages[row["file"]] if plain(row["sentence"]) in plain(p.text)), None)
            said = speaker_of(held, row["sentence"]) if held else ""
            rated = rate(row["who"], said, held.publisher) if held else "lost"
            found[rated] += 1
            if shown and rated != "right":
                print(f"{rated}: {row['file']}: {said!r} for {row['who']!r}: {row['sentence'][:80]}")
    return found


def _passages(path: Path) -> list[Passage]:
    documents = [d for d in read_file(path, path.name) if isinstance(d, SourceDocument)]
    return [
        Passage(
            n, d.external_id, "c", p.text, d.title, "", d.publisher, d.kind, d.date, speaker=p.speaker, author=d.author
        )
        for d in documents
        for n, p in enumerate(cut_document(d), start=1)
    ]


def rate(who: str, said: str, publisher: str) -> str:
    """A body that is the publisher needs no name of its own. Of several people, one name is enough."""
    named, meant = said.removeprefix(PROBABLY).partition(", quoted by ")[0], _words(who)
    if not who:
        return "none" if UNNAMED in said else "wrong" if said else "right"
    if not said or UNNAMED in said:
        return "right" if meant <= _words(publisher) and not said else "none"
    return (
        "right"
        if meant & _words(named) and (meant <= _words(named) or _words(named) & {*plain(who).split()[-1:]})
        else "wrong"
    )


def _words(name: str) -> set[str]:
    return {*plain(name).split()} - _UNSAID


def plain(text: str) -> str:
    return re.sub(r"\W+", " ", text.casefold()).strip()


if __name__ == "__main__":
    folders = [*map(Path, sys.argv[1:])] or SETS
    for each in folders:
        if not ((each / "docs").is_dir() and (each / "labels.csv").is_file()):
            print(f"speaker_rates: {each} has no docs/ and labels.csv", file=sys.stderr)
            sys.exit(2)
    for each in folders:
        counts = rates(each, shown=True)
        print(f"{each.name}: {dict(counts)}, {counts['right'] / counts.total():.1%} right")
