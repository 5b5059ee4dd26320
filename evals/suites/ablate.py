"""Which rules of the grammar change no framing? Each `if` in a function of `tools/language/grammar` is switched off in
turn, its test replaced by False, and the questions are framed again.

    python -m evals ablate
    python -m evals ablate --data DIR FILE.jsonl … --json

The questions are those of `evals/gold`, and with --data those of other *.jsonl files too: of each line what is in
`question`, `text`, `query`, `claim`, `statement` and the list `wordings`; what is longer than 220 characters only of
`question`, since elsewhere it is a passage. A framing is all that the agent takes from the grammar: framing, its form
for both poles, the wider dispute, the contrary of the claim.

rules      the `if` and `elif` statements; conditional expressions and the parts of a test are none
held       questions for which the test was true: no other one can change
changed    questions whose framing changes without the rule, or cannot be made any more
unchanged  rules that change nothing: not needed for these questions, which is not to say for any
Ctrl-C prints what is known so far.
"""

import argparse
import random
import signal
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from evals.datasets.rows import Row, json_rows
from evals.reports.records import Record, header
from evals.suite import GOLD, common_options, progress, show, show_docstring
from evals.switched_grammar import Rule, SwitchedGrammar
from tools.errors import InputError

_FIELDS = ("question", "text", "query", "claim", "statement")
_LONGEST = 220  # characters; what is longer is a passage
Result = tuple[list[int], list[int]]
"""Of one question the numbers of the rules that held, and of those that change its framing."""


@dataclass(slots=True)
class Counted:
    """What is known of the rules after `questions` questions."""

    rules: Sequence[Rule]
    questions: int = 0
    held: Counter[int] = field(default_factory=Counter)
    changed: Counter[int] = field(default_factory=Counter)

    def add(self, result: Result) -> None:
        """Counts one question."""
        self.questions += 1
        self.held.update(result[0])
        self.changed.update(result[1])

    def items(self) -> list[dict[str, Any]]:
        """A row a rule, in the order of modules and lines."""
        rows = [
            asdict(rule) | {"held": self.held[number], "changed": self.changed[number]}
            for number, rule in enumerate(self.rules)
        ]
        return sorted(rows, key=lambda row: (row["module"], row["line"]))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The suite's options."""
    show_docstring(parser, __doc__)
    add = parser.add_argument
    add("--data", type=Path, nargs="+", default=[], metavar="DIR", help="folders of *.jsonl, or such files, as well")
    add("--parallel", type=int, default=2, metavar="N", help="processes (default: 2)")
    common_options(parser, limit="a sample of N questions", seed="seed of the sample", default_seed=0)


def run(args: argparse.Namespace) -> int:
    """Measure and print. Raises InputError for data without questions."""
    questions = sorted(set(questions_of(GOLD)).union(*map(questions_of, args.data)))
    random.Random(args.seed).shuffle(questions)  # what is known when it is stopped is of all files
    questions = questions[: args.limit]
    counted = Counted(SwitchedGrammar().rules)
    stopped = not _count(counted, questions, args.parallel)
    show(args.json, _result(counted, questions, args), lambda: _text(counted, len(questions)))
    if stopped:
        print("\nStopped.", file=sys.stderr)
    return 130 if stopped else 0


def questions_of(path: Path) -> list[str]:
    """The questions in a file, or in the *.jsonl of a folder. Raises InputError where there is none."""
    files = sorted(path.glob("*.jsonl")) if path.is_dir() else [path]
    found = [text for file in files for row in json_rows(file) for text in _texts(row)]
    if not found:
        raise InputError(f"{path} has no *.jsonl rows with one of {', '.join(_FIELDS)}. Give another --data.")
    return found


def _texts(row: Row) -> Iterator[str]:
    wordings = row.values.get("wordings")
    values = [(name, row.values.get(name)) for name in _FIELDS]
    values += [("wordings", value) for value in wordings] if isinstance(wordings, list) else []
    for name, value in values:
        if isinstance(value, str) and value.strip() and (name == "question" or len(value) <= _LONGEST):
            yield value


def changes(grammar: SwitchedGrammar, question: str) -> Result:
    """Of one question, the rules whose test was true and those without which its framing is another."""
    before = grammar.outcome(question)
    held = sorted(grammar.held())
    return held, [number for number in held if grammar.outcome(question, number) != before]


def _count(counted: Counted, questions: Sequence[str], parallel: int) -> bool:
    """Counts question by question; False when it was stopped before the last one."""
    try:
        with _results(questions, parallel) as results:
            for result in progress(results, total=len(questions), unit="question"):
                counted.add(result)
    except KeyboardInterrupt:
        return False
    return True


@contextmanager
def _results(questions: Sequence[str], parallel: int) -> Iterator[Iterable[Result]]:
    if parallel == 1:
        grammar = SwitchedGrammar()
        yield (changes(grammar, question) for question in questions)
        return
    with get_context("spawn").Pool(parallel, _begin) as pool:
        yield pool.imap_unordered(_in_process, questions, chunksize=4)


_own: list[SwitchedGrammar] = []
"""The copy of a worker process."""


def _begin() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that began this one ends it
    _own.append(SwitchedGrammar())


def _in_process(question: str) -> Result:
    return changes(_own[0], question)


def _result(counted: Counted, questions: Sequence[str], args: argparse.Namespace) -> Record:
    data = [path.name for path in args.data]
    config = {"data": data, "limit": args.limit, "seed": args.seed, "questions": len(questions)}
    head = header("ablate", config)
    items = counted.items()
    metrics = {"questions": counted.questions, "rules": len(items), "unchanged": sum(not i["changed"] for i in items)}
    result = {"suite": "ablate", "metrics": metrics, "items": items}
    return result | {"config": head["config"] | {"versions": head["versions"]}}


def _text(counted: Counted, asked: int) -> str:
    items = counted.items()
    idle = [item for item in items if not item["changed"]]
    lines = [f"questions {counted.questions} of {asked}, rules {len(items)}, rules that change no framing {len(idle)}"]
    for item in idle:
        place = f"{item['module']}.{item['function']} line {item['line']}"
        lines.append(f"{place:<44} held {item['held']:>5}  {item['test']}")
    return "\n".join(lines) + "\n"
