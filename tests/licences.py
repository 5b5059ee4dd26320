"""`python -m tests.licences [FILE]` writes docs/licences.md from the locks: what the installed packages declare, and
what else is known of what they carry; nobody read their sources. A test compares file and locks.
"""

import re
import sys
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).parents[1]
TABLE = ROOT / "docs" / "licences.md"
LOCKS = ("requirements.lock", "requirements-hub.lock")  # what a user has
REMARKS = {
    "docutils": "public domain for the most part; its GPL is that of an editor's mode, which is not installed",
    "numpy": "its wheel carries libgfortran (GPL-3.0 with the runtime exception) and libquadmath (LGPL-2.1)",
    "pypdfium2": "its wheel carries PDFium (Apache-2.0) and what that is built with; its folder of licences lists them",
    "scipy": "its wheel carries libgfortran (GPL-3.0 with the runtime exception) and libquadmath (LGPL-2.1)",
}
_LONGEST = 70  # letters of the first line; longer is the licence's text and not its name
_COPYLEFT = re.compile(r"\b[AL]?GPL|\bMPL|\bEPL|\bCDDL|General Public|Mozilla")
_HEAD = """\
# Licences

This table shows the licences that the packages in `requirements.lock` and `requirements-hub.lock` declare.
`make licences` writes the table, and a test compares it with the locks. Nobody audited the packages' sources: a remark
names further contents of a wheel only if we know them. Copyleft of single files (MPL) does not affect the project's own
licence; if you pass on such a package, you must offer its source.

{packages} packages; copyleft: {copyleft}; unknown: {unknown}.

| package | version | licence as declared | remark |
|---|---|---|---|
"""


def locked(lock: Path) -> list[tuple[str, str]]:
    """Names and versions in a lock, in its order."""
    return re.findall(r"(?m)^([\w.-]+)==([^\s\\;]+)", lock.read_text(encoding="utf-8"))


def declared(name: str) -> str:
    """The licence that the installed package declares, empty where it declares none."""
    found = metadata.metadata(name)
    classes = [c for c in map(str, found.get_all("Classifier") or ()) if c.startswith("License ::")]
    named = str(found["License-Expression"] or found["License"] or "").partition("\n")[0]
    short = named and len(named) <= _LONGEST and "(c)" not in named
    return named if short else " / ".join(c.rpartition(" :: ")[2] for c in classes)


def remark(name: str, licence: str) -> str:
    """What a reader of the table should look at, empty where it is nothing."""
    said = [] if licence else ["**unknown**: none declared"]
    if _COPYLEFT.search(licence):
        said.append("copyleft to choose" if " OR " in licence and "AND" not in licence else "copyleft")
    return "; ".join((*said, *([REMARKS[name]] if name in REMARKS else [])))


def table() -> str:
    """The document."""
    pairs = {pair for lock in LOCKS for pair in locked(ROOT / lock)}
    licences = {pair: declared(pair[0]) for pair in sorted(pairs)}
    rows = [(*pair, licence, remark(pair[0], licence)) for pair, licence in licences.items()]
    copyleft, unknown = (
        ", ".join(row[0] for row in rows if row[3].startswith(mark)) or "none" for mark in ("copyleft", "**unknown")
    )
    head = _HEAD.format(packages=len(rows), copyleft=copyleft, unknown=unknown)
    return head + "".join(f"| {' | '.join(row)} |\n" for row in rows)


if __name__ == "__main__":
    Path(*sys.argv[1:2] or (TABLE,)).write_text(table(), encoding="utf-8")
