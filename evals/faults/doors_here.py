"""Doors that are fuzzed without a server: questions, options, the command line, follow-ups, files of every kind."""

import contextlib
import io
import random
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.__main__ import build_parser
from agent.evidence.followups import resolve
from agent.options import RunOptions
from agent.question import check_question
from evals.faults.fuzz import Door, Findings
from tools.errors import InputError, SourceError, SteelmanError
from tools.ingest.apart import read_apart
from tools.ingest.limits import Limits
from tools.ingest.readers import READERS
from tools.language.question import read_question

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

_WORDS = (
    *("Should", "schools", "ban", "phones?", "Is", "nuclear", "power", "safe", "why", "the", "benefits", "of", "2"),
    *("strongest", "counter-argument", "to", "What", "about", "cost?", "not", "\u202e", "“", "—", "3.", "is it", "\n"),
)
_LIMITS = Limits(seconds=10.0, megabytes=1024)  # no file of a few hundred bytes comes near them
_HARM = (
    "not foreseen",
    "ended its reader",
    "does not start",
    "takes too long",
    "unpacks to",
    "more text than is taken",
)


def here() -> dict[str, Door]:
    """The doors by name. Raises InputError where hypothesis is not installed."""
    return {
        "question": _questions,
        "options": _options,
        "commands": _commands,
        "follow-up": _followups,
        "files": _files,
    }


def drawn(strategy: "SearchStrategy[Any]", inputs: int, seed: int, take: Callable[[Any], str]) -> Findings:
    """The findings of so many inputs of a strategy; `take` says how an input was taken, and raises what is wrong."""
    import hypothesis

    found = Findings()

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=inputs,
        database=None,
        deadline=None,
        phases=(hypothesis.Phase.generate,),
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(strategy)
    def each(given: Any) -> None:
        try:
            outcome = take(given)
        except SteelmanError as exc:
            outcome = type(exc).__name__
            if not str(exc).strip():
                found.went_wrong(f"an error without a word for {given!r:.300}")
        except Exception as exc:  # noqa: BLE001  # the finding itself
            outcome = f"{type(exc).__name__}!"
            found.went_wrong(f"{type(exc).__name__}: {exc!s:.200} for {given!r:.300}")
        found.took(outcome)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        each()
    return found


def texts() -> "SearchStrategy[str]":
    """Any text, and sentences of words that the agent has rules for."""
    from hypothesis import strategies as st

    worded = st.lists(st.sampled_from(_WORDS) | st.text(max_size=8), max_size=14).map(" ".join)
    return st.one_of(st.text(max_size=200), worded)


def _questions(inputs: int, seed: int) -> Findings:
    def take(text: str) -> str:
        return read_question(check_question(text)).kind

    return drawn(texts(), inputs, seed, take)


def _followups(inputs: int, seed: int) -> Findings:
    return drawn(texts(), inputs, seed, lambda text: "target" if resolve(text, []) else "none")


def _options(inputs: int, seed: int) -> Findings:
    from hypothesis import strategies as st

    numbers = st.integers(-5, 10_000) | st.floats() | st.integers()
    values = st.one_of(numbers, texts(), st.booleans(), st.none())
    names = st.sampled_from([*(name for name in asdict(RunOptions()) if name != "depth"), "unknown"])
    given = st.tuples(
        st.sampled_from(["quick", "normal", "deep", "", "deeper"]), st.dictionaries(names, values, max_size=4)
    )

    def take(drawn_options: tuple[str, dict[str, Any]]) -> str:
        depth, changes = drawn_options
        fitting = {k: v for k, v in changes.items() if isinstance(v, type(getattr(RunOptions(), k, v)))}
        options = RunOptions.of(depth, **fitting)  # type: ignore[arg-type]  # wrong depths are among the inputs
        assert RunOptions.from_dict(options.to_dict()) == options, "options change when they are stored"
        return "accepted"

    return drawn(given, inputs, seed, take)


def _commands(inputs: int, seed: int) -> Findings:
    from hypothesis import strategies as st

    known = "ask chat batch ingest collections delete rebuild runs doctor graph --deep --quick --out --limit -h".split()
    given = st.lists(st.sampled_from(known) | st.text(max_size=12) | st.integers().map(str), max_size=6)

    def take(arguments: list[str]) -> str:
        said = io.StringIO()
        try:
            with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
                build_parser().parse_args(arguments)
        except SystemExit as exc:
            status = exc.code
        else:
            return "parsed"
        assert status in (0, 2), f"exit status {status}"
        assert said.getvalue().strip(), "ended without a word"
        return f"exit {status}"

    return drawn(given, inputs, seed, take)


def _files(inputs: int, seed: int) -> Findings:
    """Bytes as files of every ending, read by one process after the other: whatever they are, documents come of them or
    one clear problem, and none harms its reader."""
    from hypothesis import strategies as st

    given = st.tuples(
        st.sampled_from(sorted(READERS)), st.one_of(st.binary(max_size=400), texts().map(_encoded), _near())
    )
    with tempfile.TemporaryDirectory() as folder:

        def take(drawn_file: tuple[str, bytes]) -> str:
            ending, data = drawn_file
            path = Path(folder) / f"file{ending}"
            path.write_bytes(data)
            return taken(path)

        return drawn(given, inputs, seed, take)


def taken(path: Path) -> str:
    """How a file is read. Raises AssertionError where it harms its reader."""
    try:
        read = list(read_apart(path, path.name, lambda _: None, limits=_LIMITS))
    except SourceError as exc:
        problem = str(exc)
    else:
        return "documents" if read else "empty"
    assert not any(harm in problem for harm in _HARM), f"its reader failed: {problem}"
    return "problem"


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _near() -> "SearchStrategy[bytes]":
    """Bytes that are nearly a file of some kind: a good one with a few places changed."""
    from hypothesis import strategies as st

    good = (
        b"id,text,title\n1,Schools should ban phones.,One\n2,They should not.,Two\n",
        b'[{"id": 1, "text": "Schools should ban phones."}, {"id": 2, "text": "They should not."}]',
        b'{"id": 1, "text": "Schools should ban phones."}\n{"id": 2, "text": "No."}\n',
        b"<!doctype html><html><head><title>T</title></head><body><h1>H</h1><p>Schools should ban phones.</p></body>",
        b"# A heading\n\nSchools should ban phones.\n\n- item\n- item\n\n| a | b |\n|---|---|\n| 1 | 2 |\n",
        rb"{\rtf1\ansi{\fonttbl\f0\fswiss Helvetica;}\f0\pard Schools should ban phones.\par}",
        b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj "
        b"3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 200]/Contents 4 0 R/Resources<</Font<</F 5 0 R>>>>>>endobj "
        b"4 0 obj<</Length 56>>stream\nBT /F 12 Tf 20 99 Td (Schools should ban phones.) Tj ET\nendstream endobj\n"
        b"5 0 obj<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>endobj\ntrailer<</Root 1 0 R>>",
        b"PK\x03\x04\x14\x00\x00\x00\x08\x00" + bytes(40) + b"word/document.xml" + bytes(60),
    )
    return st.builds(changed, st.sampled_from(good), st.integers(0, 2**32))


def changed(data: bytes, seed: int) -> bytes:
    """The data with up to six places removed, doubled or overwritten."""
    rng, made = random.Random(seed), bytearray(data)
    for _ in range(rng.randint(1, 6)):
        at = rng.randrange(len(made) + 1)
        piece = bytes(made[at : at + rng.randint(1, 8)])
        match rng.randrange(3):
            case 0:
                del made[at : at + len(piece)]
            case 1:
                made[at:at] = piece * rng.randint(1, 5)
            case _:
                made[at : at + len(piece)] = rng.randbytes(len(piece))
    return bytes(made)


def check_installed() -> None:
    """Raises InputError where what makes the inputs is not installed."""
    try:
        import hypothesis  # noqa: F401
        import schemathesis  # noqa: F401
    except ImportError as exc:
        raise InputError("hypothesis and schemathesis make the inputs. Install them: `make test` does.") from exc
