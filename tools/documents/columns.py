"""Which column of a table of rows holds the text, and which its id, title, address, publisher, date and kind.

A column is taken for its name, in any case and by the usual synonyms; the text also because no other column is prose.
Where two columns are equally plausible, none is: the user is asked.
"""

import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from statistics import median

from tools.dates import date_of_cell
from tools.documents.document import FIELDS, GUESS_ALL, Columns
from tools.errors import SourceError, option

TEXT_NAMES = frozenset("text body content full_text fulltext comment argument answer opinion tweet".split())
"""What columns of texts are called; names here are as `fold_name` has them."""
# Synonyms by field, the best first; the first four are also the last word of a compound: 'arg_id', 'publish time'.
_NAMES = {
    "id": "id uid nr _id uuid guid doc_id docid document_id key index idx no number".split(),
    "title": "title headline titel heading".split(),
    "url": "url link uri permalink href source_url".split(),
    "publisher": "publisher publication outlet newspaper journal source site site_name source_name domain website "
    "quelle".split(),
    "date": "date published time timestamp published_at published_date publication_date publish_date pub_date pubdate "
    "datum created_at created created_utc update_date year".split(),
    "kind": ["kind"],
}
ALL_NAMES = TEXT_NAMES | {name for names in _NAMES.values() for name in names}
"""What columns are usually called."""
_OTHERS = frozenset("image img picture photo thumbnail avatar icon logo author user".split())
_PANDAS_INDEX = re.compile(r"(?:Unnamed: \d+)?")
_CLEARLY = 2.0  # times as long as what comes second
_NOTHING = frozenset(("", "nan", "null", "none", "n/a", "#n/a", "[deleted]", "[removed]"))
_SHOWN, _WIDEST = 40, 12  # characters of an example; columns in a list
_NO_NAME = 1000

Value = str | tuple[str, ...]
"""What a row has under a column: a text, or the texts of a list."""


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table: its number, counted from 1, where it stands in the file, and its values by column."""

    number: int
    where: str
    values: Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class Table:
    """The rows of a file, in order, an error in the place of each that is broken.

    names: of the columns; empty where each row names its own. notes: what the reader has to tell of the file.
    """

    rows: Iterator[Row | SourceError]
    names: Sequence[str] = ()
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class ColumnChoice:
    """The columns that are read of a table: the text's, and one a field; `note` tells what was guessed."""

    text: tuple[str, ...]
    fields: Mapping[str, str]
    note: str = ""


Values = Mapping[str, Sequence[str]]
"""What the first rows have under each column, as far as they have something."""


def choose_columns(
    file: str, rows: Sequence[Mapping[str, Value]], names: Sequence[str], given: Columns = GUESS_ALL
) -> ColumnChoice:
    """The columns to read, from the first rows of a file.

    Raises SourceError for a name that no column has, and where the text is not plain to see: it lists the columns.
    """
    columns = _columns(names, rows)
    fields = {f: _resolved(file, columns, getattr(given, f)) for f in FIELDS if getattr(given, f)}
    named = (p for name in given.text for p in ([name] if name in columns else map(str.strip, name.split(","))))
    text = tuple(dict.fromkeys(_resolved(file, columns, name) for name in named if name))
    guessed: dict[str, str] = {}
    if not text:
        guessed["text"] = _text(file, columns, set(fields.values()), given)
        text = (guessed["text"],)
    told = [row for row in rows if any(value_of(row.get(name)) for name in text)]  # the others need no id
    free = _columns([name for name in names if name not in text], told)
    for of in FIELDS:
        fitting = [n for n in free if _rank(of, n) < _NO_NAME and _fits(of, free[n], len(told))]
        if of not in fields and fitting:
            fields[of] = guessed[of] = min(fitting, key=partial(_rank, of))
    note = _note(columns, {*text, *fields.values()}, fields, guessed)
    # A field that the first rows do not have may still come: it has to be called what it is then.
    return ColumnChoice(text, {of: of for of in FIELDS if of not in ("id", *names)} | fields, note)


def fold_name(name: str) -> str:
    """A name in lower case, its words joined by `_`: 'Published At', 'publishedAt' and 'published-at' are one."""
    words = re.findall(r"[^\W_]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower())
    return ("_" if name.startswith("_") and len(words) == 1 else "") + "_".join(words)


def value_of(value: Value | None, between: str = "\n") -> str:
    """A value as one text; what stands for nothing in other people's tables is empty."""
    said = (value if isinstance(value, str) else between.join(v for v in value or () if v)).strip()
    return "" if said.lower() in _NOTHING else said


def _columns(names: Iterable[str], rows: Sequence[Mapping[str, Value]]) -> Values:
    return {name: [v for row in rows if (v := value_of(row.get(name)))] for name in names}


def _resolved(file: str, columns: Values, name: str) -> str:
    alike = [
        column for column in columns if column == name or (fold_name(column) and fold_name(column) == fold_name(name))
    ]
    if not alike:
        raise SourceError(f"{file}: no column is called '{name}'. {_listed(columns)}")
    return name if name in alike else alike[0]


def _text(file: str, columns: Values, taken: set[str], given: Columns) -> str:
    """The column that is called as texts are, or else the one that is prose; of several the one that is far longer."""
    free = [name for name, values in columns.items() if name not in taken and _share(values, _has_words) >= 0.5]
    found = [name for name in free if fold_name(name) in TEXT_NAMES] or [
        name for name in free if _middle(columns[name], lambda value: len(value.split())) >= 4
    ]
    ranked = sorted(((_middle(columns[name], len), name) for name in found), key=lambda ranked: -ranked[0])
    if not ranked:
        hint = f" If one is the text all the same: {_hint(given, file, list(columns)[-1])}" if columns else ""
        raise SourceError(f"{file}: no column holds text. {_listed(columns)}{hint}")
    if len(ranked) > 1 and ranked[0][0] < _CLEARLY * ranked[1][0]:
        one, other = ranked[0][1], ranked[1][1]
        both = f"{_hint(given, file, one)} ('{one},{other}' takes both.)"
        raise SourceError(f"{file}: is '{one}' the text, or '{other}'? {_listed(columns)} {both}")
    return ranked[0][1]


def _hint(given: Columns, file: str, column: str) -> str:
    path = f"./{file}" if file.startswith("-") else file
    hint = given.hint.replace("{file}", shlex.quote(path)).replace("--text {column}", option("text", column))
    return hint.replace("{column}", column)


def _middle(values: Sequence[str], measure: Callable[[str], int]) -> float:
    return median(map(measure, values)) if values else 0.0


def _share(values: Sequence[str], holds: Callable[[str], object]) -> float:
    return sum(1 for v in values if holds(v)) / max(1, len(values))


def _has_words(value: str) -> bool:
    return any(c.isalpha() for c in value) and not _is_address(value)


def _is_address(value: str) -> bool:
    return value.startswith(("http://", "https://", "www.")) and not re.search(r"\s", value)


def _rank(of: str, column: str) -> int:
    """Rank of a column's name among those of the field: itself, the synonyms, nested ones, compounds; or `_NO_NAME`."""
    names, words = _NAMES[of], fold_name(column).split("_")
    for rank, name in enumerate((fold_name(column), fold_name(column.rpartition(".")[2]))):
        if name in names:
            return names.index(name) + rank * len(names)
    compound = len(words) == 2 and words[1] in names[:4] and words[0] not in _OTHERS
    return 2 * len(names) if compound else _NO_NAME


def _fits(of: str, values: Sequence[str], rows: int) -> bool:
    """Whether the values of a column that is called as the field is may be its values."""
    match of:
        case "id":  # every row has one, and hardly one comes twice; what does by mistake is told, row by row
            return len(values) == rows and rows - len(set(values)) <= max(1, 0.05 * rows)
        case "title" | "publisher":
            return _share(values, _has_words) >= 0.5
        case "url":
            return _share(values, _is_address) >= 0.5
        case "date":
            return _share(values, date_of_cell) >= 0.5
    return True


def _note(columns: Values, used: set[str], fields: Mapping[str, str], guessed: Mapping[str, str]) -> str:
    """What was guessed and what is not used; empty where all columns are called what they are."""
    said = [f"'{column}' as the {of}" for of, column in guessed.items() if column != of]
    left = [name for name, values in columns.items() if name not in used and values]
    left = [repr(_short(name)) for name in left if not _PANDAS_INDEX.fullmatch(name)]
    parts = [f"read {', '.join(said)}"] if said else []
    parts += [] if fields.get("id") else ["ids from the row numbers"]
    parts += [f"not used: {_few(left)}"] if left else []
    return "; ".join(parts)


def _listed(columns: Values) -> str:
    """The columns, each with an example of its values."""
    told = [f"'{name}'" + (f" ({_short(values[0])})" if values else " (empty)") for name, values in columns.items()]
    return f"Its columns: {_few(told)}." if told else "It has no columns."


def _few(told: Sequence[str]) -> str:
    more = f" and {len(told) - _WIDEST} more" if len(told) > _WIDEST else ""
    return f"{', '.join(told[:_WIDEST])}{more}"


def _short(value: str) -> str:
    line = " ".join(value.split())
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN].rstrip()}…"
