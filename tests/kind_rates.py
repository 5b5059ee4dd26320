"""Whether the preference for kinds of sources costs the sides anything:
`PYTHONPATH=. python tests/kind_rates.py DATA [SETS] [LIMIT]` prints the measures of `evals answers` for documents of
one kind, and for the same documents with kinds drawn at random."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from zlib import crc32

from tools.passages import EVIDENCE_KINDS, EvidenceKind, Passage

_SETS = "theperspective_2way,perspectrum_2way,arguana_2way"
_DRAWN = "with kinds drawn"


def main(data: str, sets: str = _SETS, limit: str = "40") -> None:
    for name in sets.split(","):
        for kinds in ("one kind", _DRAWN):
            with tempfile.TemporaryDirectory() as folder:
                options = ["--data", data, "--set", name, "--limit", limit, "--out", f"{folder}/out.jsonl", "--json"]
                command = [sys.executable, __file__, kinds, "answers", *options]
                run = subprocess.run(command, stdout=subprocess.PIPE, text=True)
            if run.returncode:  # the command said why
                sys.exit(run.returncode)
            metrics = json.loads(run.stdout)["metrics"]
            print(f"{name}, {kinds}: {json.dumps(metrics, sort_keys=True)}", flush=True)


def measure(kinds: str, arguments: list[str]) -> int:
    from evals.__main__ import main as evaluate

    if kinds == _DRAWN:

        def drawn(passage: Passage) -> EvidenceKind:
            return EVIDENCE_KINDS[crc32(passage.document[1].encode()) % len(EVIDENCE_KINDS)]

        Passage.evidence_kind = property(drawn)  # type: ignore[assignment,method-assign]
    return evaluate(arguments)


if __name__ == "__main__":
    if sys.argv[2:3] == ["answers"]:
        sys.exit(measure(sys.argv[1], sys.argv[2:]))
    if not Path(*sys.argv[1:2] or ["-"]).is_dir():
        print(f"kind_rates: no folder of data: {' '.join(sys.argv[1:2]) or 'name one'}", file=sys.stderr)
        sys.exit(2)
    main(*sys.argv[1:])
