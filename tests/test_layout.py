"""The house: who imports whom, how long a module may be, what the command line costs to start."""

import ast
import builtins
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from conftest import ROOT

PACKAGES = ("agent", "tools", "prompts", "evals", "ui", "api", "steelman")
MAY_IMPORT = {
    "prompts": (),
    "tools": ("prompts",),
    "agent": ("tools", "prompts"),
    "evals": ("agent", "tools", "prompts"),
    "ui": ("agent", "tools", "prompts"),
    "api": ("agent", "tools", "prompts"),
    "steelman": (),
}
REACHED = 129
"""Modules that `ask` may reach; it goes down."""
HEAVY = (
    "torch chromadb onnxruntime onnx langgraph scipy sklearn textblob trafilatura docx pypdf pypdfium2 rich "
    "numpy pydantic sqlalchemy alembic tokenizers"
).split()


def modules() -> list[Path]:
    return [f for package in PACKAGES for f in sorted((ROOT / package).rglob("*.py"))]


@cache
def nodes(file: Path) -> list[ast.AST]:
    return list(ast.walk(ast.parse(file.read_text())))


def imported(file: Path) -> Iterator[str]:
    for node in nodes(file):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: relative import"
            module = node.module or ""
            packages = module in PACKAGES  # 'from agent import settings' imports the module
            yield from ({f"{module}.{a.name}" for a in node.names} if packages else {module})


def test_imports_point_one_way() -> None:
    assert len(modules()) > 50
    for file in modules():
        package = file.relative_to(ROOT).parts[0]
        packages = {name.partition(".")[0] for name in imported(file)} & set(PACKAGES)
        assert packages <= {package, *MAY_IMPORT[package]}, f"{file} imports {packages}"


def test_foreign_files_are_read_apart() -> None:
    own = {"agent/samples.py", "evals/training/pack.py"}
    readers = ("tools.documents.pdf", "tools.documents.html", "tools.web.pages")
    for file in modules():
        place = file.relative_to(ROOT).as_posix()
        if place.startswith(("tools/documents/", "tools/web/")) or place in own:
            continue
        used = [name for name in imported(file) if name in readers]
        assert used == [], place
        assert "read_file" not in file.read_text(), place


def test_docstrings_name_errors_that_exist() -> None:
    trees = {file: ast.parse(file.read_text()) for file in modules()}
    nodes = [node for tree in trees.values() for node in ast.walk(tree)]
    known = set(dir(builtins)) | {node.name for node in nodes if isinstance(node, ast.ClassDef)}
    known |= {node.id for node in nodes if isinstance(node, ast.Name)}
    known |= {alias.name for node in nodes if isinstance(node, ast.ImportFrom) for alias in node.names}
    known |= {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for file, tree in trees.items():
        texts = [ast.get_docstring(node) or "" for node in ast.walk(tree) if isinstance(node, documented)]
        unknown = set(re.findall(r"\b[A-Z]\w*Error\b", " ".join(texts))) - known
        assert unknown == set(), file


def test_functions_are_short() -> None:
    long = [
        f"{f}: {node.name}"
        for f in modules()
        for node in nodes(f)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and (node.end_lineno or 0) - node.lineno >= 40
    ]
    assert long == []


def ours(folder: str) -> Iterator[tuple[Path, str]]:
    """The files under a folder with what each imports of this project's, one module a pair."""
    for file in sorted((ROOT / folder).rglob("*.py")):
        for name in imported(file):
            if name.partition(".")[0] in PACKAGES:
                yield file, name


def test_stages_import_no_stages() -> None:
    shared = ("agent.stages", "agent.stages.stage")
    found = [f"{f}: {m}" for f, m in ours("agent/stages") if m.startswith("agent.stages") and m not in shared]
    assert found == []


def test_the_evidence_imports_no_stages() -> None:
    assert [f"{f}: {m}" for f, m in ours("agent/evidence") if m.startswith("agent.stages")] == []


def test_one_question_reaches_few_modules() -> None:
    seen: set[Path] = set()
    to_come = [ROOT / "agent" / "__main__.py", ROOT / "agent" / "commands" / "ask.py"]
    while to_come:
        if (file := to_come.pop()) in seen:
            continue
        seen.add(file)
        for node in nodes(file):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.module:
                names = [node.module, *(f"{node.module}.{a.name}" for a in node.names)]
            for name in names:
                path = [p for p in name.split(".") if name.partition(".")[0] in PACKAGES]
                places = [ROOT.joinpath(*path[: n + 1]) for n in range(len(path))]
                to_come += [f for p in places for f in (p.with_suffix(".py"), p / "__init__.py") if f.exists()]
    assert len(seen) <= REACHED, f"{len(seen)}: {sorted(seen)}"


def test_the_help_loads_nothing_heavy() -> None:
    code = (
        "import sys\nfrom agent.__main__ import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert "ask" in done.stdout
    loaded = {name.partition(".")[0] for name in done.stderr.split()}
    assert "argparse" in loaded
    assert loaded & set(HEAVY) == set()


def test_who_asks_nothing_loads_no_graph() -> None:
    code = "import sys, agent.commands.ingest, agent.commands.doctor\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "agent.commands.doctor" in loaded
    assert not loaded & {"langgraph", "langchain_core", "langchain"}


def test_packages_of_tools_import_one_way() -> None:
    order = "net language models store documents web selection serving".split()
    packages = {path.parent.name for path in (ROOT / "tools").glob("*/__init__.py")}
    assert packages | {"selection", "serving"} == set(order)  # two modules
    for file in sorted((ROOT / "tools").rglob("*.py")):
        package = file.relative_to(ROOT / "tools").parts[0].removesuffix(".py")
        used = {name.split(".")[1] for name in imported(file) if name.startswith("tools.")} & set(order)
        before = order[: order.index(package) + 1] if package in order else []
        assert used <= set(before), f"{file} imports {used - set(before)}"
