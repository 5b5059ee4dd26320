"""Which column of a table of rows holds the text, and which its id, title, address, publisher, date and kind.

A column is taken for its name, in any case and by the usual synonyms. Where no column, or more than one, may be the
text, the user is asked.
"""

import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest

from tools.dates import date_of_cell
from tools.documents.document import FIELDS, GUESS_ALL, Columns
from tools.errors import SourceError, option

TEXT_NAMES = "text body content text_content full_text fulltext comment argument answer opinion tweet".split()
"""What columns of texts are called; names here are as `fold_name` has them."""
_TEXT_NAMES = [*TEXT_NAMES, *"message abstract review response statement speech selftext antwort".split()]
# By field, the best first; the first four are also the last word of a compound: 'arg_id', 'article_title'.
_NAMES = {
    "id": "id uid nr uuid guid doc_id docid document_id key index idx no number".split(),
    "title": "title headline titel heading".split(),
    "url": "url link uri permalink href source_url".split(),
    "publisher": "publisher publication outlet newspaper journal source site site_name source_name domain website "
    "organisation organization quelle".split(),
    "date": "date published time timestamp published_at published_date publication_date publish_date pub_date pubdate "
    "ts datum created_at created created_utc posted posted_at posted_on update_date year".split(),
    "kind": ["kind"],
    "author": "author speaker from sender sender_name author_display_name real_name full_name first_name username "
    "author_name speaker_name respondent_name user_name reviewer commenter submitted_by posted_by written_by user "
    "respondent respname autor display_name screen_name nickname nick handle".split(),
    "surname": ["surname", "last_name"],  # of the author, as the role is
    "role": ["role", "position", "job_title"],
}
ALL_NAMES = frozenset(["name", *_TEXT_NAMES, *(name for names in _NAMES.values() for name in names)])
"""What columns are usually called."""
_OTHERS = frozenset("image img picture photo thumbnail avatar icon logo author user job".split())
_PANDAS_INDEX = re.compile(r"(?:Unnamed: \d+)?")
_NOTHING = frozenset(("", "nan", "null", "none", "n/a", "#n/a", "[deleted]", "[removed]"))
_SHOWN, _WIDEST = 40, 12  # characters of an example; columns in a list
_MANY = 3  # words; a text has more
_QUESTION = re.compile(r"(?is).*\?|(?:[^\W_]+[\W_]+){4}|q(?:uestion)?[\W_]?\d")  # as a column's name
FIGURE = re.compile(r"\W{0,3}\d\S*(?:\s+\S+){0,3}|\[\w{1,3}\]|\.\.")  # a number with its unit, or none
_ENDS = re.compile(r"[.!?…][\"”’)]*$")
_ASKS_NAME = re.compile(r"\byour (?:\w+ )?name\b|^name \(|\bwe call you\b", re.IGNORECASE)
_GOODS = re.compile(r"(?:[^\W_]+_)?(?:price|sku|stock|quantity|qty)(?:_[^\W_]+)?")  # no question
_PERSON = re.compile(r"[^\W\d_][\w.'’-]*(?: [\w.'’-]+){0,2} [^\W\d_]\S*")
_YEAR = re.compile(r"(?:19|20)\d\d")
_DATUM = re.compile(r"[+-]?\d[\d.,]*%?|https?://\S+|(?:\S+\s+){7,}\S*[.!]\W?")  # a number, an address, a sentence
_FILLERS = ("response", "open-ended response")  # what SurveyMonkey writes below a question

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
    above: the lines above the names.
    """

    rows: Iterator[Row | SourceError]
    names: Sequence[str] = ()
    notes: list[str] = field(default_factory=list)
    above: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class ColumnChoice:
    """The columns of the text (none in a table of figures), and one a field; `note` tells what was guessed."""

    text: tuple[str, ...]
    fields: Mapping[str, str]
    note: str = ""
    answers: bool = False  # each column of the text is named by what it answers


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
        if not (text := _text(file, columns, set(fields.values()), given)):
            return ColumnChoice((), {}, "read as a table of figures")
        guessed["text"] = "', '".join(text)
    told = [row for row in rows if any(value_of(row.get(name)) for name in text)]  # the others need no id
    free = _columns([name for name in names if name not in text], told)
    goods = any(_GOODS.fullmatch(fold_name(name)) for name in names)
    people = {n for n in free if not goods and n.lower() == "name" and _most(free[n], _PERSON.fullmatch)}
    for of, usual in _NAMES.items():
        named_so = [*_called(usual, free), *(n for n in free if _is_compound(n, usual[:4]))]
        named_so += [n for n in free if of == "author" and (n in people or _ASKS_NAME.search(n))]
        found = next((n for n in named_so if _fits(of, free[n], len(told))), "")
        if of not in fields and found:
            fields[of] = guessed[of] = found
    note = _note(columns, {*text, *fields.values()}, fields, guessed)
    # A field that the first rows do not have may still come: it has to be called what it is then.
    fields = {of: of for of in FIELDS if of not in ("id", *names)} | fields
    return ColumnChoice(text, fields, note, len(text) > 1 and not given.text)


def fold_name(name: str) -> str:
    """A name in lower case, its words joined by `_`: 'Published At', 'publishedAt' and 'published-at' are one."""
    return "_".join(re.findall(r"[^\W_]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()))


def read_head(rows: Sequence[Sequence[str]], given: Columns) -> tuple[list[str], int]:
    """The names that the first rows give to the columns, and how many rows those are; none where they are data."""
    names, taken = [cell.strip().split("\n")[0] for cell in rows[0]], 1
    if not _names_columns(rows, given):
        return [], 0
    while taken + 1 < len(rows) and _is_head(rows[taken], rows[taken + 1 :], names):
        names = names if set(given.named()) & set(names) else _wordings(names, rows[taken])
        taken += 1
    return names, taken


def _names_columns(rows: Sequence[Sequence[str]], given: Columns) -> bool:
    """Whether the first row names the columns: its cells are no data, and none of them is a value further down."""
    first = [cell.strip() for cell in rows[0]]
    asked = {fold_name(part) for name in given.named() for part in (name, *name.split(","))}
    if any(fold_name(cell) in asked for cell in first if cell) or _is_head(first, rows[3:] or rows[1:]):
        return True
    if any(name.isdecimal() and 0 < int(name) <= len(first) for name in asked):
        return False
    below = [{row[i].strip() for row in rows[1:] if i < len(row)} for i in range(len(first))]
    if any(cell and cell in values for cell, values in zip(first, below, strict=True)):
        return False
    data = [(cell, values) for cell, values in zip(first, below, strict=True) if _DATUM.fullmatch(cell)]
    years = all(_YEAR.fullmatch(cell) and not any(map(_YEAR.fullmatch, values)) for cell, values in data)
    return years or any(fold_name(cell) in ALL_NAMES for cell in first)


def _is_head(cells: Sequence[str], below: Sequence[Sequence[str]], names: Sequence[str] = ()) -> bool:
    """Whether a row names columns: its words, which differ, stand where the rows below it have figures; or it is what
    Qualtrics and SurveyMonkey write below the names, an empty cell first and words where the names are empty."""
    said = [cell.strip() for cell in cells]
    unnamed = [cell for name, cell in zip(names, said, strict=False) if not name]
    names_them = unnamed and all(cell and not FIGURE.fullmatch(cell) for cell in unnamed)
    if not said[0] and names_them and not any(cell.endswith((".", "!")) for cell in said):
        return all(row[0].strip() for row in below)
    if any(cell.lower() == _FILLERS[1] for cell in said) or all(cell.startswith("{") for cell in filter(None, said)):
        return True
    rows = [row for row in below if not row[0].startswith("{")]
    columns = [[row[i].strip() for row in rows if i < len(row)] for i in range(len(said))]
    figures = [sum(1 for v in column if FIGURE.fullmatch(v)) > 0.8 * len(rows) for column in columns]
    words = {value_of(cell) for cell, of_figures in zip(said, figures, strict=True) if of_figures}
    return len(words) > 1 and all(any(map(str.isalpha, w)) and not FIGURE.fullmatch(w) for w in words)


def _wordings(names: Sequence[str], cells: Sequence[str]) -> list[str]:
    """The names with what the row below them adds: a question, or a part of the name on the left."""
    made, held = [], ""
    for name, cell in zip_longest(names, cells, fillvalue=""):
        said, held = cell.strip().split("\n")[0], name or held
        same = said[:1] in ("", "{") or said.lower() in _FILLERS or fold_name(said) == fold_name(name)
        made.append(name if same else f"{held} {said}".strip())
    return made


def value_of(value: Value | None, between: str = "\n") -> str:
    """A value as one text; what stands for nothing in other people's tables is empty."""
    said = (value if isinstance(value, str) else between.join(v for v in value or () if v)).strip()
    return "" if said.lower() in _NOTHING else said


def _columns(names: Iterable[str], rows: Sequence[Mapping[str, Value]]) -> Values:
    return {name: [v for row in rows if (v := value_of(row.get(name)))] for name in names}


def _resolved(file: str, columns: Values, name: str) -> str:
    alike = [each for each in columns if each == name or (fold_name(each) and fold_name(each) == fold_name(name))]
    if alike:
        return name if name in alike else alike[0]
    raise SourceError(f"{file}: no column is called '{name}'. {_listed(columns)}")


def _called(usual: Sequence[str], columns: Iterable[str]) -> list[str]:
    """The columns that are called by one of the usual names, in their order, and behind them fields inside others."""
    by_name = [(fold_name(part), column) for column in columns for part in (column, column.rpartition(".")[2])]
    whole = sorted((usual.index(name), "." in column, column) for name, column in by_name if name in usual)
    return list(dict.fromkeys(column for *_, column in whole))


def _is_compound(column: str, last: Sequence[str]) -> bool:
    words = fold_name(column).split("_")
    return len(words) == 2 and words[1] in last and words[0] not in _OTHERS


def _text(file: str, columns: Values, taken: set[str], given: Columns) -> tuple[str, ...]:
    """The column that is called 'text', or else the only one that is called as texts are, or that has many words; all
    that are named by a question or as a kind of text; none in a table of figures."""
    free = [name for name, values in columns.items() if name not in taken and values]
    worded = [name for name in free if _most(columns[name], _has_words)]
    worded = [
        n for n in worded if len(columns[n]) < 3 or len(set(columns[n])) > 1
    ] or worded  # no question asked of all
    other, prose = _called(list(ALL_NAMES), free), [n for n in worded if _most(columns[n], _has_many_words)]
    called, own = _called(_TEXT_NAMES, worded), [n for n in prose if n not in other]
    own = [n for n in own if _most(columns[n], _ENDS.search)] or own  # rather than names
    found = called or own or prose
    if "text" in map(fold_name, found):
        return (found[0],)
    kinds = [] if called else [n for n in own if not set(fold_name(n).split("_")).isdisjoint(_TEXT_NAMES)]
    said = [n for n in worded if n not in other and any(_has_many_words(v) and _ENDS.search(v) for v in columns[n])]
    answers = [n for n in [*own, *said] if _QUESTION.match(n) and len(set(columns[n])) > len(columns[n]) / 2]
    if asked := answers or (own if kinds else []):
        return tuple(n for n in columns if n in (*called, *asked))
    # Beside figures, words are the labels of the rows, or remarks here and there.
    figures = [n for n in free[1:] if n not in other and _most(columns[n], FIGURE.fullmatch)]
    texts = [v for n in found if n != free[0] or _most(columns[n], _ENDS.search) for v in columns[n]]
    if len(figures) > len(found) and 2 * len(texts) < len(columns[free[0]]) and set(found) & set(prose) <= set(own):
        return ()
    if len(found) == 1:
        return (found[0],)
    told = f"is '{found[0]}' the text, or '{found[1]}'?" if found else "no column holds text."
    both = f" ('{found[0]},{found[1]}' takes both.)" if found and "{column}" in given.hint else ""
    how = _hint(given, file, found[0]) if found else ""
    how = how or (f"If one is the text all the same: {_hint(given, file, free[-1])}" if free else "")
    error = SourceError(f"{file}: {told} {_listed(columns)} {how}{both}".rstrip())
    error.columns = [(name, _short(columns[name][0])) for name in free]
    raise error


def _most(values: Sequence[str], are: Callable[[str], object]) -> bool:
    return sum(1 for value in values if are(value)) >= 0.5 * len(values)


def _has_many_words(value: str) -> bool:
    return sum(any(map(str.isalpha, word)) for word in value.split(maxsplit=12)) > _MANY  # a date has fewer


def _has_words(value: str) -> bool:
    return any(c.isalpha() for c in value) and not _is_address(value)


def _is_address(value: str) -> bool:
    return value.startswith(("http://", "https://", "www.")) and len(value.split()) == 1


def _hint(given: Columns, file: str, column: str) -> str:
    path = f"./{file}" if file.startswith("-") else file
    hint = given.hint.replace("{file}", shlex.quote(path)).replace("--text {column}", option("text", column))
    return hint.replace("{column}", column)


def _fits(of: str, values: Sequence[str], rows: int) -> bool:
    """Whether the values of a column that is called as the field is may be its values."""
    if of == "id":  # every row has one, and hardly one comes twice; what does by mistake is told, row by row
        return len(values) == rows and rows - len(set(values)) <= max(1, 0.05 * rows)
    words: dict[str, Callable[[str], object]] = dict.fromkeys(("title", "publisher", "author"), _has_words)
    return bool(values) and _most(values, (words | {"url": _is_address, "date": date_of_cell}).get(of, bool))


def _note(columns: Values, used: set[str], fields: Mapping[str, str], guessed: Mapping[str, str]) -> str:
    """What was guessed and what is not used; empty where all columns are called what they are."""
    said = [f"'{column}' as the {of}" for of, column in guessed.items() if column != of]
    left = [repr(_short(n)) for n, said in columns.items() if said and n not in used and not _PANDAS_INDEX.fullmatch(n)]
    parts = [f"read {', '.join(said)}"] if said else []
    parts += [] if fields.get("id") else ["ids from the row numbers"]
    parts += [f"not used: {_few(left)}"] if left else []
    return "; ".join(parts)


def _listed(columns: Values) -> str:
    """The columns, each with an example of its values."""
    told = [f"'{name}'" + (f" ({_short(values[0])})" if values else " (empty)") for name, values in columns.items()]
    return f"Its columns: {_few(told)}." if told else "It has no columns."


def _few(told: Sequence[str]) -> str:
    return ", ".join(told[:_WIDEST]) + (f" and {len(told) - _WIDEST} more" if len(told) > _WIDEST else "")


def _short(value: str) -> str:
    return line if len(line := " ".join(value.split())) <= _SHOWN else f"{line[:_SHOWN].rstrip()}…"
