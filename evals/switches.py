"""A copy of the grammar whose rules can be switched off one at a time; the grammar itself stays as it is.

A rule is an `if` or `elif` statement inside a function of `tools/language/grammar`. What is switched off is still
worked out, so that names bound in the test stay bound, and then counts as False.
"""

import ast
import importlib
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

_PACKAGE = "tools.language.grammar"
_HOOK = "_holds_for"
_ENDLESS = 1_000_000  # tests of one framing; without its rule a loop may never end


@dataclass(frozen=True, slots=True)
class Rule:
    """An `if` of the grammar. `line` counts from 1, `test` is its condition as Python writes it."""

    module: str
    function: str
    line: int
    test: str


class SwitchedGrammar:
    """The copy. `rules` are in the order in which modules are imported, the same in every process."""

    def __init__(self) -> None:
        self.rules: list[Rule] = []
        self._off: int | None = None
        self._held: set[int] = set()
        self._asked = 0
        self._modules = _copied(self)
        self._caches = [
            value
            for module in self._modules.values()
            for value in vars(module).values()
            if hasattr(value, "cache_clear") and value.__wrapped__.__code__.co_argcount  # without: a table, read once
        ]

    def outcome(self, question: str, off: int | None = None) -> str:
        """What the agent takes from the grammar for a question: its framing, the same for both poles, the wider dispute
        and the contrary of its claim. With rule number `off` switched off also the name of the error that comes of it.
        """
        self._off, self._asked = off, 0
        self._held.clear()
        for cached in self._caches:
            cached.cache_clear()
        if off is None:
            return self._outcome(question)
        try:
            return self._outcome(question)
        except Exception as exc:  # noqa: BLE001  # whatever breaks without the rule, the rule was needed for
            return type(exc).__name__

    def held(self) -> set[int]:
        """The rules whose test was true in the last outcome; no other one can have changed it."""
        return set(self._held)

    def _outcome(self, question: str) -> str:
        find: Callable[[str, str], Any] = lambda module, name: getattr(self._modules[module], name)  # noqa: E731
        framing = find("framing", "frame")(question)
        claim = framing.claim
        wider = (find("width", "narrowed")(claim), find("negation", "negate")(claim)) if claim else ()
        return repr((framing, find("poles", "evened")(framing), wider))

    def _test(self, number: int, value: object) -> object:
        self._asked += 1
        if self._asked > _ENDLESS:
            raise RuntimeError(f"no framing after {_ENDLESS} tests")
        if not value or number == self._off:
            return False
        self._held.add(number)
        return value

    def switched(self, source: bytes, module: str) -> ast.Module:
        """The syntax of a module with each rule asking this object; adds to `rules`."""
        tree = ast.parse(source)
        for function, node in _ifs(tree, ""):
            number = ast.Constant(len(self.rules))
            self.rules.append(Rule(module, function, node.test.lineno, ast.unparse(node.test)))
            hook = ast.Name(_HOOK, ast.Load())
            node.test = ast.copy_location(ast.Call(hook, [number, node.test], []), node.test)
        return ast.fix_missing_locations(tree)

    def into(self, module: ModuleType) -> None:
        """Gives a module of the copy what its rules ask."""
        setattr(module, _HOOK, self._test)


def _ifs(node: ast.AST, function: str) -> Iterator[tuple[str, ast.If]]:
    """Every `if` statement below, with the name of the function around it; those of a module itself are left out."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and function:
            yield function, child
        named = isinstance(child, ast.FunctionDef | ast.ClassDef)
        inner = f"{function}.{child.name}".lstrip(".") if named else function  # type: ignore[attr-defined]
        yield from _ifs(child, "" if isinstance(child, ast.ClassDef) and not function else inner)


class _Loader(SourceFileLoader):
    def __init__(self, name: str, path: str, grammar: SwitchedGrammar) -> None:
        super().__init__(name, path)
        self._grammar = grammar

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        module = fullname.removeprefix(_PACKAGE).lstrip(".")
        return compile(self._grammar.switched(self.get_data(path), module), path, "exec")

    def exec_module(self, module: ModuleType) -> None:
        self._grammar.into(module)
        super().exec_module(module)


class _Finder(MetaPathFinder):
    def __init__(self, grammar: SwitchedGrammar) -> None:
        self._grammar = grammar

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        spec = PathFinder.find_spec(fullname, path, target) if _ours(fullname) else None
        if spec is not None and spec.origin is not None:
            spec.loader = _Loader(fullname, spec.origin, self._grammar)
        return spec


def _ours(name: str) -> bool:
    return name == _PACKAGE or name.startswith(f"{_PACKAGE}.")


def _copied(grammar: SwitchedGrammar) -> dict[str, ModuleType]:
    """Every module of the grammar once more, by its last name."""
    folder = Path(str(importlib.import_module(_PACKAGE).__file__)).parent
    names = sorted(path.stem for path in folder.glob("*.py") if path.stem != "__init__")
    with _apart(_Finder(grammar)):
        return {name: importlib.import_module(f"{_PACKAGE}.{name}") for name in names}


@contextmanager
def _apart(finder: MetaPathFinder) -> Iterator[None]:
    """The grammar is imported anew by the finder; afterwards the modules are those from before."""
    before = {name: sys.modules.pop(name) for name in list(sys.modules) if _ours(name)}
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        for name in [name for name in sys.modules if _ours(name)]:
            del sys.modules[name]
        sys.modules.update(before)
        importlib.import_module("tools.language").grammar = before[_PACKAGE]  # type: ignore[attr-defined]
