"""Rows of the contract table: what is said of a judge that the settings name and that cannot be used."""

from contextlib import redirect_stderr
from importlib.util import find_spec
from io import StringIO

from contract_table import Bench, Outcome, Row

from agent.__main__ import main


def named_judge(given: str, bench: Bench) -> Outcome:
    """Asks with this STEELMAN_JUDGE."""
    bench.patch.setenv("STEELMAN_JUDGE", given)
    bench.patch.setenv("STEELMAN_DATA_DIR", str(bench.folder))
    with redirect_stderr(StringIO()) as told:
        status = main(["ask", "Should towns build bridges?"])
    return Outcome(status, told.getvalue())


MISSING = (
    ("no model of that name on this machine", "Download it: `hf download team/judge`")
    if find_spec("torch")
    else ("the judge team/judge needs the extra 'models'", "pip install torch")
)
ROWS = [
    Row("a model that is not here", named_judge, "hub:team/judge", 2, *MISSING),
    Row("no judge of that name", named_judge, "larger", 2, "STEELMAN_JUDGE cannot be 'larger'", "hub: and the name"),
]
