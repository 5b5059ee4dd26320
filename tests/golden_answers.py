"""The golden answers: what the embedded providers answer to forty questions from the samples, as JSON.

`python -m tests.golden_answers` writes them again into tests/golden, or into a folder that is given. The models'
outputs lie beside them: processors compute these alike to three digits, and a tie between two quotations hangs on the
fourth.
"""

import argparse
import asyncio
import difflib
import json
import os
import sqlite3
import sys
import tempfile
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from agent.answer.model import Answer, AnswerClaim, AnswerPerspective
from agent.options import RunOptions
from agent.runs.service import Runs, open_runs
from agent.samples import sample_questions
from agent.settings import Settings
from tools.errors import InputError
from tools.models.cache import CacheFile

FOLDER = Path(__file__).parent / "golden"
OUTPUTS = "outputs.npz"
COMMAND = "python -m tests.golden_answers"
_SECONDS = 600.0  # no answer may depend on how fast the machine is


class Asked(NamedTuple):
    """A question, and the one asked before it in its thread."""

    question: str
    after: str = ""


_OTHERS = {
    "reworded-homework": Asked("is homwork even usefull for little kids"),
    "reworded-rent-control": Asked("does rent control work or does it make it worse lol"),
    "reworded-self-driving": Asked("The Self-Driving Car Will Not Save Us"),
    "reworded-zoos": Asked("are zoos cruel or do they actually save animals idk anymore"),
    "reworded-remote-work": Asked(
        "My boss wants everyone back in the office 5 days a week starting March. I got more done at home, but I admit "
        "I'm lonely. who's right here"
    ),
    "choice": Asked("Working from home or in an office, which is better?"),
    "open": Asked("How can cities deal with too many tourists?"),
    "fact": Asked("How long does radioactive waste stay dangerous?"),
    "follow-up": Asked("What about the waste?", after="Is nuclear power safe?"),
    "refusal": Asked("Sollten Schulen Handys verbieten?"),
}


def asked() -> dict[str, Asked]:
    """The forty questions by the name of their file: the samples' thirty first."""
    return {topic: Asked(question) for topic, question in sample_questions().items()} | _OTHERS


def forget_settings() -> None:
    """Another encoder or store would answer otherwise."""
    for name in [n for n in os.environ if n.startswith(("STEELMAN_", "CHROMA_"))]:
        del os.environ[name]


def golden_settings(data_dir: Path) -> Settings:
    """Embedded providers only, whatever else is set."""
    return Settings(data_dir=data_dir, provider="embedded", judge="embedded", web="off")


def give_outputs(settings: Settings) -> None:
    """What the models put out when the answers were written, known to a data directory as if it had computed it."""
    with np.load(FOLDER / OUTPUTS) as kept:
        keys, sizes, values = (kept[part] for part in ("keys", "sizes", "values"))  # each is unpacked when it is read
    rows = np.split(values, np.cumsum(sizes)[:-1])
    CacheFile(settings.cache_dir / "cache.db").save(dict(zip(map(bytes, keys), map(bytes, rows), strict=True)))


def _keep_outputs(settings: Settings, file: Path) -> None:
    with closing(sqlite3.connect(settings.cache_dir / "cache.db")) as cache:
        rows = cache.execute("SELECT key, value FROM rows ORDER BY key").fetchall()
    keys, values = zip(*rows, strict=True)
    np.savez_compressed(
        file,
        keys=np.frombuffer(b"".join(keys), np.uint8).reshape(len(keys), -1),
        sizes=np.array([len(value) for value in values], np.int64),
        values=np.frombuffer(b"".join(values), np.uint8),
    )


async def golden_answer(runs: Runs, asked: Asked) -> dict[str, Any]:
    """What stays of the answer, or of the refusal: no probability, id or time."""
    about = {"question": asked.question} | ({"after": asked.after} if asked.after else {})
    options = RunOptions.of(web=False, deadline_seconds=_SECONDS)
    try:
        thread = None
        if asked.after:
            thread = await runs.start(asked.after, options)
            await runs.answer(thread)
        answer = await runs.answer(await runs.start(asked.question, options, thread))
    except InputError as exc:
        return about | {"error": type(exc).__name__, "message": str(exc)}
    return about | _kept(answer)


def _kept(answer: Answer) -> dict[str, Any]:
    return {
        "outcome": answer.outcome,
        "perspectives": [_side(side, answer) for side in answer.perspectives],
        "also": [_claim(claim, answer) for claim in answer.also],
        "crux": _claim(answer.crux, answer) if answer.crux else None,
        "citations": [
            {"document": c.document_id, "quotes": [c.quote, *(more.quote for more in c.more)]} for c in answer.citations
        ],
        "notes": dict(Counter(note.kind for note in answer.notes)),
    }


def _side(side: AnswerPerspective, answer: Answer) -> dict[str, Any]:
    line = next(line for line in answer.coverage if line.perspective == side.id)
    return {
        "name": side.name,
        "statement": side.statement,
        "status": side.status,
        "strength": line.strength,
        "passages": line.passages,
        "sources": line.sources,
        "claims": [_claim(claim, answer) for claim in side.claims],
    }


def _claim(claim: AnswerClaim, answer: Answer) -> dict[str, Any]:
    documents = {c.number: c.document_id for c in answer.citations}
    return {"text": claim.text, "quoted": claim.quoted, "documents": [documents[number] for number in claim.citations]}


def golden(name: str) -> dict[str, Any]:
    """The answer as it was written."""
    loaded: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text())
    return loaded


def differences(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """The lines in which two answers differ, each with the lines around it; the order of keys counts."""
    one, other = (json.dumps(answer, indent=1, ensure_ascii=False).splitlines() for answer in (before, after))
    return list(difflib.unified_diff(one, other, "before", "after", lineterm=""))


async def _write(folder: Path, data_dir: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    questions = asked()
    for file in folder.glob("*.json"):
        if file.stem not in questions:
            file.unlink()
    settings = golden_settings(data_dir)
    async with open_runs(settings, offline=True) as runs:
        for name, each in questions.items():
            made = await golden_answer(runs, each)
            (folder / f"{name}.json").write_text(json.dumps(made, indent=1, ensure_ascii=False) + "\n")
            print(name, file=sys.stderr)
    _keep_outputs(settings, folder / OUTPUTS)


def main() -> None:
    parser = argparse.ArgumentParser(prog=COMMAND, description="Writes the golden answers again.")
    parser.add_argument("folder", nargs="?", type=Path, default=FOLDER, help="where to; tests/golden if left out")
    folder = parser.parse_args().folder
    forget_settings()
    with tempfile.TemporaryDirectory() as data_dir:
        asyncio.run(_write(folder, Path(data_dir)))


if __name__ == "__main__":
    main()
