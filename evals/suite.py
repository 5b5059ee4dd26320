"""What suites share: options, samples, the encoder in force, progress, and results as JSON and as text."""

import argparse
import hashlib
import json
import math
import random
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from tqdm import tqdm

from evals.metrics.measure import Figure
from evals.reports.table import block
from evals.reports.table import number as number_of
from tools.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tools.models.cache import VectorCache
    from tools.models.encoders.encoder import Encoder

GOLD = Path(__file__).parent / "gold"
HALVES = ("dev", "last")
"""The parts of gold that is divided: 'last' is kept for the end of any work on what it measures."""
_T = TypeVar("_T")


# Options


def common_options(
    parser: argparse.ArgumentParser, limit: str = "", seed: str = "", default_seed: int = 1, parallel: str = ""
) -> None:
    """Adds --limit, --seed and --parallel where a help text is given for them, and --json."""
    if limit:
        parser.add_argument("--limit", type=int, metavar="N", help=limit)
    if seed:
        parser.add_argument("--seed", type=int, default=default_seed, metavar="N", help=seed)
    if parallel:
        parser.add_argument("--parallel", type=int, default=4, metavar="N", help=f"{parallel} (default: 4)")
    parser.add_argument("--json", action="store_true", help="print one object")


def check_common(args: argparse.Namespace) -> None:
    """Raises InputError for a --limit or --parallel that is less than 1, or a --seed below 0."""
    for name, least in (("limit", 1), ("parallel", 1), ("seed", 0)):
        if (value := getattr(args, name, None)) is not None and value < least:
            raise InputError(f"--{name} has to be {least} or more, not {value}.")


def names(text: str) -> list[str]:
    """The parts of a list with commas, none twice: an argument's type."""
    return list(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))


def cutoffs(most: float = math.inf) -> Callable[[str], list[int]]:
    """The type of a list of ranks k from 1 to `most`, in order. It raises ArgumentTypeError."""
    within = "above 0" if most == math.inf else f"from 1 to {most}"

    def parse(text: str) -> list[int]:
        numbers = names(text)
        if not numbers or not all(n.isdecimal() and 0 < int(n) <= most for n in numbers):
            raise argparse.ArgumentTypeError(f"give numbers {within}, such as 5,10")
        return sorted({int(n) for n in numbers})

    return parse


def cutoff_option(parser: argparse.ArgumentParser, what: str, usual: Sequence[int], most: float = math.inf) -> None:
    """Adds --k."""
    told = f"{what} that count (default: {','.join(map(str, usual))})"
    parser.add_argument("--k", type=cutoffs(most), default=usual, metavar="K[,K…]", help=told)


# Samples


def sample(items: Sequence[_T], limit: int | None, seed: int) -> list[_T]:
    """A seeded sample of at most `limit` items, in their order."""
    if limit is None or limit >= len(items):
        return list(items)
    return [items[i] for i in sorted(random.Random(seed).sample(range(len(items)), limit))]


def shuffled(items: Sequence[_T], limit: int | None, seed: int) -> list[_T]:
    """The first `limit` of a seeded shuffle, so that a larger limit has the smaller one's items; all as they come
    without a limit."""
    drawn = list(items)
    if limit is not None:
        random.Random(seed).shuffle(drawn)
    return drawn[:limit]


# Models


def open_encoder() -> "Encoder":
    """The encoder that the settings name. Raises SettingsError, ModelError."""
    from agent.models.from_settings import build_encoder
    from agent.settings import load_settings
    from tools.models.encoders.encoder import load_encoder

    settings = load_settings()
    return build_encoder(settings, load_encoder())


def encoder_and_cache() -> "tuple[Encoder, VectorCache]":
    """The same, and the vectors and verdicts of the suites that search corpora, kept between runs."""
    from agent.settings import load_settings
    from tools.models.cache import VectorCache

    return open_encoder(), VectorCache(load_settings().cache_dir / "retrieval.db")


class CachedEncoder:
    """An encoder whose vectors are kept, so that a corpus is encoded once and not once a run."""

    def __init__(self, encoder: "Encoder", cache: "VectorCache") -> None:
        self.name, self._encoder, self._cache = encoder.name, encoder, cache

    @property
    def dimensions(self) -> int:
        return self._encoder.dimensions

    def encode(self, texts: Sequence[str]) -> "NDArray[np.float32]":
        made = self._encoder.encode
        return self._cache.rows(f"{self.name}:passages", texts, lambda missing: made([texts[i] for i in missing]))

    def encode_queries(self, texts: Sequence[str]) -> "NDArray[np.float32]":
        made = self._encoder.encode_queries
        return self._cache.rows(f"{self.name}:queries", texts, lambda missing: made([texts[i] for i in missing]))


def progress(items: Iterable[Any] | None = None, **options: Any) -> "tqdm[Any]":
    """A progress bar; silent where standard error is no terminal."""
    return tqdm(items, disable=not sys.stderr.isatty(), **options)


# Results


def digest(path: Path) -> str:
    """The first twelve digits of the SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:12]


def number(value: float) -> float | None:
    """A figure to four digits; None where it is not defined."""
    return round(float(value), 4) if math.isfinite(value) else None


def defined(value: Any) -> Any:
    """A result for JSON, which has no NaN: what is not defined is None."""
    if isinstance(value, dict):
        return {name: defined(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [defined(part) for part in value]
    return None if isinstance(value, float) and math.isnan(value) else value


def show(as_json: bool, result: Any, text: Callable[[], str]) -> None:
    """Prints a result: as one object, in which null is what is not defined, or as `text` has it."""
    found = json.dumps(defined(result), indent=2, ensure_ascii=False, allow_nan=False) + "\n" if as_json else text()
    sys.stdout.write(found)


def with_intervals(measures: Mapping[str, Figure], seed: int) -> dict[str, dict[str, Any]]:
    """Each measure as value, over how many items, and 95 % interval."""
    return {n: {"value": m.value, "over": m.total, "interval": m.interval(seed)} for n, m in measures.items()}


def interval_table(measures: Mapping[str, Figure], seed: int) -> str:
    """A line a measure, with its interval and over how many items it is."""
    rows = {name: [number_of(m.value, m.interval(seed)), f"{m.total:.0f}"] for name, m in measures.items()}
    return "\n".join(block(["95 % interval", "over"], rows)) + "\n"


def write_new(path: Path, text: str, option: str) -> None:
    """Writes a file that `option` names. Raises InputError where it is there already, or cannot be written."""
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError as exc:
        raise InputError(f"{path} is there already. Name another file for {option}.") from exc
    except OSError as exc:
        raise InputError(f"{path} cannot be written ({exc.strerror or exc}).") from exc


def refuse_existing(path: Path | None, option: str) -> None:
    """Raises InputError where the file that `option` names is there already: said before an hour's work."""
    if path and path.exists():
        raise InputError(f"{path} is there already. Name another file for {option}.")


def json_lines(rows: Iterable[Any]) -> str:
    """An object a line."""
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
