"""The house: who imports whom, how long a module may be, what the command line costs to start."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
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
REACHED = 133
"""Modules that `ask` may reach; it goes down."""
HEAVY = (
    "torch chromadb onnxruntime onnx langgraph scipy sklearn textblob trafilatura docx pypdf pypdfium2 rich "
    "numpy pydantic tokenizers"
).split()


def modules() -> list[Path]:
    return [f for package in PACKAGES for f in sorted((ROOT / package).rglob("*.py"))]


def imported(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: relative import"
            module = node.module or ""
            packages = module in PACKAGES  # 'from agent import forms' imports the module
            yield from ({f"{module}.{a.name}" for a in node.names} if packages else {module})


def test_imports_point_one_way() -> None:
    assert len(modules()) > 50
    for file in modules():
        package = file.relative_to(ROOT).parts[0]
        packages = {name.partition(".")[0] for name in imported(file)} & set(PACKAGES)
        assert packages <= {package, *MAY_IMPORT[package]}, f"{file} imports {packages}"


def test_foreign_files_are_read_apart() -> None:
    """In this process only what is the project's own is read."""
    own = {"agent/samples.py", "evals/training/pack.py"}
    readers = ("tools.documents.pdf", "tools.documents.html", "tools.web.pages")
    for file in modules():
        place = file.relative_to(ROOT).as_posix()
        if place.startswith(("tools/documents/", "tools/web/")) or place in own:
            continue
        used = [name for name in imported(file) if name in readers]
        assert used == [], place
        assert "read_file" not in file.read_text(), place


def test_functions_are_short() -> None:
    long = [
        f"{f}: {node.name}"
        for f in modules()
        for node in ast.walk(ast.parse(f.read_text()))
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
    """From the command line and `ask`, along every import: in functions, for type checking and by name too."""
    seen: set[Path] = set()
    to_come = [ROOT / "agent" / "__main__.py", ROOT / "agent" / "commands" / "ask.py"]
    while to_come:
        if (file := to_come.pop()) in seen:
            continue
        seen.add(file)
        for node in ast.walk(ast.parse(file.read_text())):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.module:
                names = [node.module, *(f"{node.module}.{a.name}" for a in node.names)]
            for name in names:
                path = [p for p in name.split(".") if name.partition(".")[0] in PACKAGES]
                places = [ROOT.joinpath(*path[: n + 1]) for n in range(len(path))]
                to_come += [f for p in places for f in (p.with_suffix(".py"), p / "__init__.py") if f.exists()]
    assert len(seen) <= REACHED, f"{len(seen)}: {sorted(seen)}"


def test_a_newcomer_can_draw_the_agent() -> None:
    """Its rooms (the modules and packages on its floor), and the arrows between them: a room that imports from another,
    in a function or for type checking too."""
    floor = ROOT / "agent"
    rooms = {f.stem for f in floor.glob("*.py")} | {f.parent.name for f in floor.glob("*/__init__.py")}
    rooms -= {"__init__", "__main__"}
    pairs = {
        (file.relative_to(floor).parts[0].removesuffix(".py"), name.split(".")[1])
        for file, name in ours("agent")
        if name.startswith("agent.")
    }
    arrows = {(room, other) for room, other in pairs if room in rooms and other in rooms - {room}}
    assert len(rooms) <= 14, sorted(rooms)
    assert len(arrows) <= 40, sorted(arrows)


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


def test_the_help_of_every_command_shows() -> None:
    from agent.__main__ import command_of, main

    for command in "ask chat batch ingest collections delete rebuild runs doctor graph".split():
        with pytest.raises(SystemExit) as ended:
            main([command, "--help"])
        assert ended.value.code == 0
        assert callable(command_of(command))


def test_packages_of_tools_import_one_way() -> None:
    """In the order of the docstring of `tools`, which names all of them."""
    order = "net language models store documents web selection serving".split()
    packages = {path.parent.name for path in (ROOT / "tools").glob("*/__init__.py")}
    assert packages | {"selection", "serving"} == set(order)  # two modules
    for file in sorted((ROOT / "tools").rglob("*.py")):
        package = file.relative_to(ROOT / "tools").parts[0].removesuffix(".py")
        used = {name.split(".")[1] for name in imported(file) if name.startswith("tools.")} & set(order)
        before = order[: order.index(package) + 1] if package in order else []
        assert used <= set(before), f"{file} imports {used - set(before)}"


def test_the_state_says_who_writes_it() -> None:
    """Each key's comment begins with the stages whose modules write it; 'any node' and 'every node' name none."""
    state = (ROOT / "agent" / "state.py").read_text().partition("class RunState")[2].partition("\n\n\n")[0]
    lines = re.findall(r"^    (\w+): .*  # (.+)$", state, re.MULTILINE)
    said = {key: set(re.findall(r"\w+", words.partition(":")[0])) for key, words in lines}
    said = {key: names - {"given"} for key, names in said.items() if "node" not in names}
    writes: dict[str, set[str]] = {key: set() for key in said}
    for file in sorted((ROOT / "agent" / "stages").glob("*.py")):
        for call in (n for n in ast.walk(ast.parse(file.read_text())) if isinstance(n, ast.Call)):
            name = getattr(call.func, "id", "")
            keys = (
                {k.arg or "" for k in call.keywords}
                if name == "RunState"
                else {"judge"}
                if name == "fall_back_to_own_judge"
                else set()
            )
            for key in keys & set(said):
                writes[key].add(file.stem)
    writes["judge"] -= {"stage"}
    assert len(said) > 15
    assert writes == said
