"""Which column of a table of rows holds the text, and which its id, title, address, publisher, date and kind.

A column is taken for its name, in any case and by the usual synonyms, or because its values are clearly the prose.
Where two columns are equally plausible, none is: the user is asked.
"""

import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from statistics import median

from tools.errors import SourceError
from tools.ingest.dates import iso_date
from tools.ingest.table import Value
from tools.shell import option

FIELDS = ("id", "title", "url", "publisher", "date", "kind")
_TEXT = frozenset("text body content full_text fulltext".split())
_PERHAPS_TEXT = frozenset(
    "abstract answer argument article comment completion context description document essay excerpt feedback message "
    "opinion output paragraph passage post quote reply response review selftext sentence speech statement story "
    "testimony transcript transcription tweet utterance".split()
)
_ASKED = frozenset("category input instruction label prompt query question topic".split())
_NAMES = {
    "id": "id _id uid uuid guid doc_id docid document_id key index idx nr no number".split(),
    "title": "title headline heading subject titel name".split(),
    "url": "url link href uri source_url permalink".split(),
    "publisher": "publisher publication outlet newspaper journal source site site_name source_name domain website "
    "quelle".split(),
    "date": "date published published_at published_date publication_date publish_date pub_date pubdate datum "
    "created_at created created_utc timestamp update_date time year".split(),
    "kind": ["kind"],
}
_LAST_WORDS = {
    "title": {"title", "headline"},
    "url": {"url", "link"},
    "date": {"date", "published", "time", "timestamp"},
}
_PICTURE = frozenset("image img picture photo thumbnail avatar icon logo author user".split())
_PANDAS_INDEX = re.compile(r"(?:Unnamed: \d+)?")
_NAMED, _OTHERWISE = 3.0, 1 / 3  # what a name that says 'text', or something else, makes of the length of the values
_CLEARLY = 2.0  # times as long as what comes second
_NOTHING = frozenset(("", "nan", "null", "none", "n/a", "#n/a", "[deleted]", "[removed]"))
_SHOWN, _WIDEST = 40, 12  # characters of an example; columns in a list


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns as the user named them; what is left empty is guessed.

    `text` may be several, whose texts are joined in this order; a name may also hold several with commas between.
    `hint` tells how the text's column is named where the user stands; {file} and {column} are put in.
    """

    text: tuple[str, ...] = ()
    id: str = ""
    title: str = ""
    url: str = ""
    publisher: str = ""
    date: str = ""
    kind: str = ""
    hint: str = "Name it with --text {column}."

    def named(self) -> list[str]:
        """All names that the user gave."""
        return [name for name in (*self.text, *(getattr(self, f) for f in FIELDS)) if name]


GUESSED = Columns()


@dataclass(frozen=True, slots=True)
class Choice:
    """The columns that are read: of the text, and of each field that has one; `note` tells what was guessed."""

    text: tuple[str, ...]
    fields: Mapping[str, str]
    note: str = ""


@dataclass(frozen=True)
class _Column:
    """What the first rows have in a column: medians of those that have something, and shares."""

    name: str
    values: Sequence[str] = field(repr=False)
    rows: int

    @cached_property
    def folded(self) -> str:
        return folded(self.name)

    @cached_property
    def length(self) -> float:
        return median(map(len, self.values)) if self.values else 0.0

    @cached_property
    def words(self) -> float:
        return median(len(v.split()) for v in self.values) if self.values else 0.0

    @cached_property
    def different(self) -> float:
        return len(set(self.values)) / len(self.values) if self.values else 0.0

    def share(self, holds: Callable[[str], object]) -> float:
        return sum(1 for v in self.values if holds(v)) / len(self.values) if self.values else 0.0


def choose(file: str, rows: Sequence[Mapping[str, Value]], names: Sequence[str], given: Columns = GUESSED) -> Choice:
    """The columns to read, from the first rows of a file.

    Raises SourceError for a name that no column has, and where the text is not plain to see: it lists the columns.
    """
    columns = [_column(name, rows) for name in names]
    fields = {f: _resolved(file, columns, getattr(given, f)) for f in FIELDS if getattr(given, f)}
    text = tuple(dict.fromkeys(found for name in given.text for found in _several(file, columns, name)))
    guessed: dict[str, str] = {}
    if not text:
        text = _in_turn([c for c in columns if c.name not in fields.values()], rows) or (
            _text(file, columns, given, set(fields.values())),
        )
        guessed["text"] = "' and '".join(text)
    told = [row for row in rows if any(value_of(row.get(name)) for name in text)]  # the others need no id
    for of in FIELDS:
        free = [_column(c.name, told) if of == "id" else c for c in columns if c.name not in text]
        if of not in fields and (found := _field(of, free)):
            fields[of] = guessed[of] = found
    note = _note(columns, text, fields, guessed)
    # A field that the first rows do not have may still come: it has to be called what it is then.
    return Choice(text, {of: of for of in FIELDS if of not in ("id", *names)} | fields, note)


def is_text(name: str) -> bool:
    """Whether a column is the text for its name alone."""
    return folded(name) in _TEXT


def is_known(name: str) -> bool:
    """Whether columns are usually called so."""
    known = _TEXT | _PERHAPS_TEXT | _ASKED | {n for names in _NAMES.values() for n in names}
    return folded(name) in known


def folded(name: str) -> str:
    """A name in lower case, its words joined by `_`: 'Published At', 'publishedAt' and 'published-at' are one."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    words = re.findall(r"[^\W_]+", spaced.lower())
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
    whole = [c.name for c in columns if c.name == name]
    return whole or [_resolved(file, columns, part.strip()) for part in name.split(",") if part.strip()]


def _resolved(file: str, columns: Sequence[_Column], name: str) -> str:
    alike = [c.name for c in columns if c.name == name]
    alike = alike or [c.name for c in columns if c.folded and c.folded == folded(name)]
    if not alike:
        raise SourceError(f"{file}: no column is called '{name}'. {_listed(columns)}")
    return alike[0]


# The text


def _in_turn(columns: Sequence[_Column], rows: Sequence[Mapping[str, Value]]) -> tuple[str, ...]:
    """The columns called as texts are, where each row has but one of them: one field, which had several names."""
    named = [c.name for c in columns if is_text(c.name) and c.values]
    one = all(sum(bool(value_of(row.get(name))) for name in named) <= 1 for row in rows)
    return tuple(named) if len(named) > 1 and one else ()


def _text(file: str, columns: Sequence[_Column], given: Columns, taken: set[str]) -> str:
    free = [c for c in columns if c.name not in taken and c.share(_has_words) >= 0.5]
    named = [c for c in free if c.folded in _TEXT]
    if len(named) == 1:
        return named[0].name
    scored = [(_likeness(c), c) for c in named or free if _is_prose(c) or _says_text(c)]
    best, second, *_ = [*sorted(scored, key=lambda s: -s[0]), (0.0, None), (0.0, None)]
    if best[1] is None:
        hint = f" If one is the text all the same: {_hint(given, file, columns[-1].name)}" if columns else ""
        raise SourceError(f"{file}: no column holds text. {_listed(columns)}{hint}")
    if best[0] < _CLEARLY * second[0] and second[1] is not None:
        said = f"{file}: is '{best[1].name}' the text, or '{second[1].name}'? {_listed(columns)} "
        both = f" ('{best[1].name},{second[1].name}' takes both.)"
        raise SourceError(said + _hint(given, file, best[1].name) + both)
    return best[1].name


def _hint(given: Columns, file: str, column: str) -> str:
    path = f"./{file}" if file.startswith("-") else file
    hint = given.hint.replace("{file}", shlex.quote(path)).replace("--text {column}", option("text", column))
    return hint.replace("{column}", column)


def _likeness(column: _Column) -> float:
    """How much a column is like the text: the length of its values, and what its name says."""
    repeated = column.rows >= 10 and column.different < 0.5
    other = repeated or column.folded in _ASKED or _names_field("title", column) < len(_NAMES["title"])
    return column.length * (_NAMED if _says_text(column) else 1.0) * (_OTHERWISE if other else 1.0)


def _says_text(column: _Column) -> bool:
    words = column.folded.split("_")
    last = words[-1].removesuffix("s") if len(words[-1]) > 4 else words[-1]
    return bool({last, words[-1], column.folded} & (_TEXT | _PERHAPS_TEXT))


def _is_prose(column: _Column) -> bool:
    return column.words >= 4 and column.share(_mostly_letters) >= 0.5 and column.share(_is_address) < 0.5


def _has_words(value: str) -> bool:
    return any(c.isalpha() for c in value) and not _is_address(value)


def _mostly_letters(value: str) -> bool:
    return sum(c.isalpha() or c.isspace() for c in value[:400]) >= 0.7 * len(value[:400])


def _is_address(value: str) -> bool:
    return value.startswith(("http://", "https://", "www.")) and not re.search(r"\s", value)


# The other fields


def _field(of: str, columns: Iterable[_Column]) -> str:
    """The column of a field; empty where none is plain."""
    columns = list(columns)
    if exact := [c.name for c in columns if c.name == of and (of != "id" or _is_whole_id(c))]:
        return exact[0]
    known = len(_NAMES[of])
    fitting = [(rank, c) for c in columns if (rank := _names_field(of, c)) < known + 3 and _FITS[of](c)]
    return min(fitting, key=lambda f: f[0])[1].name if fitting else ""


def _names_field(of: str, column: _Column) -> int:
    """Rank of a column's name among those of the field: first the synonyms, then nested ones, then compounds."""
    names, words = _NAMES[of], column.folded.split("_")
    inner = folded(column.name.rpartition(".")[2])
    if column.folded in names:
        return names.index(column.folded)
    if inner in names and inner != "name":
        return len(names)
    if words[-1] in _LAST_WORDS.get(of, ()):
        return len(names) + 1
    return len(names) + (2 if of == "id" and words[-1] in ("id", "uid", "nr") and len(words) == 2 else 9)


def _tells_apart(column: _Column) -> bool:
    """Whether it may be an id: hardly a value comes twice. (What does by mistake is told, row by row.)"""
    return len(column.values) - len(set(column.values)) <= max(1, 0.05 * len(column.values))


def _is_whole_id(column: _Column) -> bool:
    """Whether all rows could be told apart by it: where some have no id, those would be lost."""
    return len(column.values) == column.rows and _tells_apart(column)


def _is_id(column: _Column) -> bool:
    named = _names_field("id", column) < len(_NAMES["id"])
    complete = len(column.values) == column.rows and column.words == 1
    return complete and (_tells_apart(column) if named else column.different == 1 and column.folded[:4] != "user")


_FITS: dict[str, Callable[[_Column], bool]] = {
    "id": _is_id,
    "title": lambda c: c.share(_has_words) >= 0.5 and (c.words >= 2 or c.folded not in ("name", "subject")),
    "url": lambda c: c.share(_is_address) >= 0.5 and not _PICTURE & set(c.folded.split("_")),
    "publisher": lambda c: c.share(_has_words) >= 0.5 and c.words <= 6,
    "date": lambda c: c.share(iso_date) >= 0.5,
    "kind": bool,
}


# What is told


def _note(
    columns: Sequence[_Column], text: Sequence[str], fields: Mapping[str, str], guessed: Mapping[str, str]
) -> str:
    """What was guessed and what is not used; empty where all columns are called what they are."""
    said = [f"'{column}' as the {of}" for of, column in guessed.items() if column != of]
    used = {*text, *fields.values()}
    left = [c for c in columns if c.name not in used and c.values]
    unused = [c.name for c in left if not _PANDAS_INDEX.fullmatch(c.name)]
    repeats = next((c for c in left if c.folded in _NAMES["id"] and not _tells_apart(c)), None)
    parts = [f"read {', '.join(said)}" if said else ""]
    if not fields.get("id"):
        parts.append("ids from the row numbers" + (f" (those in '{repeats.name}' repeat)" if repeats else ""))
    if unused:
        more = f" and {len(unused) - _WIDEST} more" if len(unused) > _WIDEST else ""
        parts.append(f"not used: {', '.join(repr(_short(name)) for name in unused[:_WIDEST])}{more}")
    return "; ".join(filter(None, parts))


def _listed(columns: Sequence[_Column]) -> str:
    """The columns, each with an example of its values."""
    if not columns:
        return "It has no columns."
    told = [f"'{c.name}'" + (f" ({_short(c.values[0])})" if c.values else " (empty)") for c in columns[:_WIDEST]]
    more = f" and {len(columns) - _WIDEST} more" if len(columns) > _WIDEST else ""
    return f"Its columns: {', '.join(told)}{more}."


def _short(value: str) -> str:
    line = " ".join(value.split())
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN].rstrip()}…"
