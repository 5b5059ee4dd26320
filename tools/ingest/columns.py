"""Which column of a table of rows holds the text, and which its id, title, address, publisher, date and kind.

A column is taken for its name, in any case and by the usual synonyms, or because its values are clearly the prose.
Where two columns are equally plausible, none is: the user is asked.
"""

import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

from tools.errors import SourceError
from tools.ingest.dates import iso_date
from tools.ingest.documents import FIELDS, GUESSED, Columns
from tools.shell import option

_TEXT = frozenset("text body content full_text fulltext".split())
_PERHAPS_TEXT = frozenset(
    "abstract answer argument article comment completion context description document essay excerpt feedback message "
    "opinion output paragraph passage post quote reply response review selftext sentence speech statement story "
    "testimony transcript transcription tweet utterance".split()
)
_ASKED = frozenset("category input instruction label prompt query question topic".split())
# Synonyms by field, the best first; the first four are also the last word of a compound: 'arg_id', 'publish time'.
_NAMES = {
    "id": "id uid nr _id uuid guid doc_id docid document_id key index idx no number".split(),
    "title": "title headline titel heading subject name".split(),
    "url": "url link uri permalink href source_url".split(),
    "publisher": "publisher publication outlet newspaper journal source site site_name source_name domain website "
    "quelle".split(),
    "date": "date published time timestamp published_at published_date publication_date publish_date pub_date pubdate "
    "datum created_at created created_utc update_date year".split(),
    "kind": ["kind"],
}
_KNOWN = _TEXT | _PERHAPS_TEXT | _ASKED | {name for names in _NAMES.values() for name in names}
_OTHERS = frozenset("image img picture photo thumbnail avatar icon logo author user".split())
_PANDAS_INDEX = re.compile(r"(?:Unnamed: \d+)?")
_NAMED, _OTHERWISE = 3.0, 1 / 3  # what a name that says 'text', or something else, makes of the length of the values
_CLEARLY = 2.0  # times as long as what comes second
_NOTHING = frozenset(("", "nan", "null", "none", "n/a", "#n/a", "[deleted]", "[removed]"))
_SHOWN, _WIDEST = 40, 12  # characters of an example; columns in a list

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
class Choice:
    """The columns that are read: of the text, and of each field that has one; `note` tells what was guessed."""

    text: tuple[str, ...]
    fields: Mapping[str, str]
    note: str = ""


@dataclass(frozen=True, slots=True)
class _Column:
    """What the first rows have in a column: `values` of those that have something."""

    name: str
    values: Sequence[str]
    rows: int

    @property
    def folded(self) -> str:
        return folded(self.name)

    def middle(self, measure: Callable[[str], int]) -> float:
        """The median of what is measured on the values."""
        return median(map(measure, self.values)) if self.values else 0.0

    def share(self, holds: Callable[[str], object]) -> float:
        return sum(1 for v in self.values if holds(v)) / max(1, len(self.values))

    @property
    def is_key(self) -> bool:
        """Whether every row has a value, and hardly one comes twice. (What does by mistake is told, row by row.)"""
        return len(self.values) == self.rows and self.rows - len(set(self.values)) <= max(1, 0.05 * self.rows)


def choose(file: str, rows: Sequence[Mapping[str, Value]], names: Sequence[str], given: Columns = GUESSED) -> Choice:
    """The columns to read, from the first rows of a file.

    Raises SourceError for a name that no column has, and where the text is not plain to see: it lists the columns.
    """
    columns = [_column(name, rows) for name in names]
    fields = {f: _resolved(file, columns, getattr(given, f)) for f in FIELDS if getattr(given, f)}
    text = tuple(dict.fromkeys(found for name in given.text for found in _several(file, columns, name)))
    guessed: dict[str, str] = {}
    if not text:
        text = _text(file, [c for c in columns if c.name not in fields.values()], columns, rows, given)
        guessed["text"] = "' and '".join(text)
    told = [row for row in rows if any(value_of(row.get(name)) for name in text)]  # the others need no id
    for of in FIELDS:
        free = [_column(c.name, told) if of == "id" else c for c in columns if c.name not in text]
        if of not in fields and (found := _field(of, free)):
            fields[of] = guessed[of] = found
    note = _note(columns, {*text, *fields.values()}, fields, guessed)
    # A field that the first rows do not have may still come: it has to be called what it is then.
    return Choice(text, {of: of for of in FIELDS if of not in ("id", *names)} | fields, note)


def is_text(name: str) -> bool:
    """Whether a column is the text for its name alone."""
    return folded(name) in _TEXT


def is_known(name: str) -> bool:
    """Whether columns are usually called so."""
    return folded(name) in _KNOWN


def folded(name: str) -> str:
    """A name in lower case, its words joined by `_`: 'Published At', 'publishedAt' and 'published-at' are one."""
    words = re.findall(r"[^\W_]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower())
    return ("_" if name.startswith("_") and len(words) == 1 else "") + "_".join(words)


def value_of(value: Value | None, between: str = "\n") -> str:
    """A value as one text; what stands for nothing in other people's tables is empty."""
    said = (value if isinstance(value, str) else between.join(v for v in value or () if v)).strip()
    return "" if said.lower() in _NOTHING else said


def _column(name: str, rows: Sequence[Mapping[str, Value]]) -> _Column:
    values = [value_of(row.get(name)) for row in rows]
    return _Column(name, [v for v in values if v], len(rows))


def _several(file: str, columns: Sequence[_Column], name: str) -> list[str]:
    """The columns of a name, or of the names between its commas."""
    if any(c.name == name for c in columns):
        return [name]
    return [_resolved(file, columns, part.strip()) for part in name.split(",") if part.strip()]


def _resolved(file: str, columns: Sequence[_Column], name: str) -> str:
    alike = [c.name for c in columns if c.name == name or (c.folded and c.folded == folded(name))]
    if not alike:
        raise SourceError(f"{file}: no column is called '{name}'. {_listed(columns)}")
    return name if name in alike else alike[0]


def _text(
    file: str, free: Sequence[_Column], every: Sequence[_Column], rows: Sequence[Mapping[str, Value]], given: Columns
) -> tuple[str, ...]:
    """The column that is called as texts are, or whose values are clearly the prose.

    Several that are called so are one field where each row has but one of them.
    """
    named = [c for c in free if is_text(c.name) and c.share(_has_words) >= 0.5]
    if named and all(sum(bool(value_of(row.get(c.name))) for c in named) <= 1 for row in rows):
        return tuple(c.name for c in named)
    if len(named) == 1:
        return (named[0].name,)
    likely = [c for c in named or free if c.share(_has_words) >= 0.5 and (_says_text(c) or _is_prose(c))]
    scored = sorted(((_likeness(c), c.name) for c in likely), key=lambda found: -found[0])
    if not scored:
        hint = f" If one is the text all the same: {_hint(given, file, every[-1].name)}" if every else ""
        raise SourceError(f"{file}: no column holds text. {_listed(every)}{hint}")
    if len(scored) > 1 and scored[0][0] < _CLEARLY * scored[1][0]:
        one, other = scored[0][1], scored[1][1]
        both = f"{_hint(given, file, one)} ('{one},{other}' takes both.)"
        raise SourceError(f"{file}: is '{one}' the text, or '{other}'? {_listed(every)} {both}")
    return (scored[0][1],)


def _hint(given: Columns, file: str, column: str) -> str:
    path = f"./{file}" if file.startswith("-") else file
    hint = given.hint.replace("{file}", shlex.quote(path)).replace("--text {column}", option("text", column))
    return hint.replace("{column}", column)


def _likeness(column: _Column) -> float:
    """How much a column is like the text: the length of its values, and what its name says."""
    repeated = column.rows >= 10 and len(set(column.values)) < 0.5 * len(column.values)
    other = repeated or column.folded in _ASKED or _rank("title", column) is not None
    return column.middle(len) * (_NAMED if _says_text(column) else 1.0) * (_OTHERWISE if other else 1.0)


def _says_text(column: _Column) -> bool:
    last = column.folded.rpartition("_")[2]
    return bool({last.removesuffix("s") if len(last) > 4 else last, last, column.folded} & (_TEXT | _PERHAPS_TEXT))


def _is_prose(column: _Column) -> bool:
    mostly_letters = column.share(lambda v: sum(c.isalpha() or c.isspace() for c in v[:400]) >= 0.7 * len(v[:400]))
    return column.middle(_words) >= 4 and mostly_letters >= 0.5 and column.share(_is_address) < 0.5


def _words(value: str) -> int:
    return len(value.split())


def _has_words(value: str) -> bool:
    return any(c.isalpha() for c in value) and not _is_address(value)


def _is_address(value: str) -> bool:
    return value.startswith(("http://", "https://", "www.")) and not re.search(r"\s", value)


def _field(of: str, columns: Iterable[_Column]) -> str:
    """The column of a field, the best by its name of those whose values fit; empty where there is none."""
    ranked = [(rank, c) for c in columns if (rank := _rank(of, c)) is not None and (rank < 0 or _fits(of, c))]
    return min(ranked, key=lambda found: found[0])[1].name if ranked else ""


def _rank(of: str, column: _Column) -> int | None:
    """Rank of a column's name among those of the field: itself, the synonyms, nested ones, compounds."""
    names, words = _NAMES[of], column.folded.split("_")
    if column.name == of and (of != "id" or column.is_key):
        return -1
    for rank, name in enumerate((column.folded, folded(column.name.rpartition(".")[2]))):
        if name in names:
            return names.index(name) + rank * len(names)
    compound = len(words) == 2 and words[1] in names[:4] and words[0] not in _OTHERS
    return 2 * len(names) if compound else None


def _fits(of: str, column: _Column) -> bool:
    """Whether the values of a column that is called as the field is may be its values."""
    match of:
        case "id":
            return column.is_key and column.middle(_words) == 1
        case "title":
            long = column.middle(_words) >= 2 or column.folded not in ("name", "subject")
            return long and column.share(_has_words) >= 0.5
        case "publisher":
            return column.middle(_words) <= 6 and column.share(_has_words) >= 0.5
        case "url":
            return column.share(_is_address) >= 0.5
        case "date":
            return column.share(iso_date) >= 0.5
    return True


def _note(columns: Sequence[_Column], used: set[str], fields: Mapping[str, str], guessed: Mapping[str, str]) -> str:
    """What was guessed and what is not used; empty where all columns are called what they are."""
    said = [f"'{column}' as the {of}" for of, column in guessed.items() if column != of]
    left = [c.name for c in columns if c.name not in used and c.values and not _PANDAS_INDEX.fullmatch(c.name)]
    parts = [f"read {', '.join(said)}"] if said else []
    parts += [] if fields.get("id") else ["ids from the row numbers"]
    parts += [f"not used: {_few([repr(_short(name)) for name in left])}"] if left else []
    return "; ".join(parts)


def _listed(columns: Sequence[_Column]) -> str:
    """The columns, each with an example of its values."""
    told = [f"'{c.name}'" + (f" ({_short(c.values[0])})" if c.values else " (empty)") for c in columns]
    return f"Its columns: {_few(told)}." if told else "It has no columns."


def _few(told: Sequence[str]) -> str:
    more = f" and {len(told) - _WIDEST} more" if len(told) > _WIDEST else ""
    return f"{', '.join(told[:_WIDEST])}{more}"


def _short(value: str) -> str:
    line = " ".join(value.split())
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN].rstrip()}…"
