"""A small folder of judge data in the public sets' layout, made of the project's samples."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from agent.samples import FOLDER
from evals.datasets.cases import Case, load_samples
from tools.documents.markdown import markdown_document

Row = dict[str, Any]


def write_judge_data(folder: Path) -> Path:
    """`judge/` and `berds/` under the folder: passages labelled by side, questions, development pairs."""
    cases = load_samples().cases
    read, asked, developed = cases[:14], cases[14:20], cases[20:23]
    train = folder / "judge" / "train"
    train.mkdir(parents=True)
    (folder / "berds").mkdir()
    _write(train / "read_labels.jsonl.gz", [row for case in read for row in _labelled(case)])
    _write(train / "procon20.jsonl.gz", [row for case in asked for row in _questioned(case)])
    lines = [json.dumps(row) for case in read[:6] for row in [_expanded(case)]]
    (folder / "berds" / "kialo.dev.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    lines = [json.dumps(row) for case in developed for row in _pairs(case)]
    (folder / "judge" / "berds_pairs.dev.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def _write(path: Path, rows: list[Row]) -> None:
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)


def _texts(case: Case) -> Iterator[tuple[str, bool]]:
    for stance, names in case.gold.items():
        for name in sorted(names):
            text = (FOLDER.parent / name).read_text(encoding="utf-8")
            yield markdown_document(text, name)[0].text, stance == "supports"


def _statements(case: Case) -> tuple[str, str]:
    """Two contrary statements on the question; what they say is of no matter here."""
    about = case.question.rstrip("?")
    return f"It is so: {about}.", f"It is not so: {about}."


def _labelled(case: Case) -> Iterator[Row]:
    for text, agrees in _texts(case):
        for statement, right in zip(_statements(case), (agrees, not agrees), strict=True):
            label = "support" if right else "oppose"
            yield {"group": case.question, "statement": statement, "passage": text, "label": label}


def _questioned(case: Case) -> Iterator[Row]:
    for text, agrees in _texts(case):
        label = "support" if agrees else "oppose"
        yield {"group": case.question, "statement": case.question, "passage": text, "label": label}


def _expanded(case: Case) -> Row:
    texts = {agrees: text for text, agrees in _texts(case)}
    told = [{"name": word, "text": f"{word}, {texts[agrees][:300]}"} for word, agrees in (("Yes", True), ("No", False))]
    return {"question": case.question, "perspectives": list(_statements(case)), "expansions": told}


def _pairs(case: Case) -> Iterator[Row]:
    for text, agrees in list(_texts(case))[:8]:
        for statement, right in zip(_statements(case), (agrees, not agrees), strict=True):
            yield {"question": case.question, "document": text, "perspective": statement, "label": int(right)}
