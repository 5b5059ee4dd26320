"""Chooses the columns of a table: text, id, title, address, publisher, date, kind, author. Matches names in any case,
and knows synonyms. If no column or several columns may be the text, the error asks the user."""

import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from urllib.parse import urlsplit

from tools.dates import date_of_cell
from tools.documents.document import COLUMN_FIELDS, GUESSED_COLUMNS, ColumnNames
from tools.errors import SourceError, option
from tools.language.demands import is_tick

# Column names as `fold_name` returns them
TEXT_NAMES = "text body content text_content full_text fulltext comment argument answer opinion tweet".split()
_TEXT_NAMES = [*TEXT_NAMES, *"message abstract review response statement speech selftext antwort".split()]
# Names by field, best first. The first four names may end a compound: 'arg_id', 'article_title'.
_NAMES = {
    "id": "id uid nr uuid guid doc_id docid document_id key index idx no number".split(),
    "title": "title headline titel heading".split(),
    "url": "url link uri permalink href source_url".split(),
    "publisher": "publisher publication outlet newspaper journal source site site_name source_name domain website "
    "organisation organization quelle".split(),
    "date": "date published time timestamp published_at published_date publication_date publish_date pub_date pubdate "
    "ts datum created_at created created_utc posted posted_at posted_on update_date year".split(),
    "kind": ["kind"],
    "author": "author speaker from who sender sender_name author_display_name real_name full_name first_name username "
    "author_name speaker_name respondent_name user_name reviewer commenter submitted_by posted_by written_by user "
    "respondent respname autor display_name screen_name nickname nick handle".split(),
    "surname": ["surname", "last_name"],  # the author's surname and role
    "role": ["role", "position", "job_title"],
}
# Usual names of columns
ALL_NAMES = frozenset(["name", *_TEXT_NAMES, *(name for names in _NAMES.values() for name in names)])
_NO_TITLE_WORDS = frozenset("image img picture photo thumbnail avatar icon logo author user job".split())
_PANDAS_INDEX = re.compile(r"(?:Unnamed: \d+)?")
_EMPTY_VALUES = frozenset(("", "nan", "null", "none", "n/a", "#n/a", "[deleted]", "[removed]"))
_SHOWN, _WIDEST = 40, 12  # most characters of an example; most columns in a list
_MANY, _FREE_WORDS = 3, 8  # a text has more words; free text has as many words
_QUESTION = re.compile(r"(?is).*\?|(?:[^\W_]+[\W_]+){4}|q(?:uestion)?[\W_]?\d")  # a column's name that is a question
_FIGURE = re.compile(r"\W{0,3}\d\S*(?:\s+\S+){0,3}|\[\w{1,3}\]|\.\.")  # a number, perhaps with its unit
_ENDS = re.compile(r"[.!?…][\"”’)]*$")
_ASKS_NAME = re.compile(r"\byour (?:\w+ )?name\b|^name \(|\bwe call you\b", re.IGNORECASE)
_GOODS = re.compile(r"(?:[^\W_]+_)?(?:price|sku|stock|quantity|qty)(?:_[^\W_]+)?")  # a price list's 'name' is no author
_PERSON = re.compile(r"[^\W\d_][\w.'’-]*(?: [\w.'’-]+){0,2} [^\W\d_]\S*")
_YEAR = re.compile(r"(?:19|20)\d\d")
_DOMAIN = re.compile(r"(?:https?://)?(?:[\w-]+\.)+[^\W\d_]{2,}/?")
_DATUM = re.compile(r"[+-]?\d[\d.,]*%?|https?://\S+|(?:\S+\s+){7,}\S*[.!]\W?")  # a number, an address, a sentence
_FILLERS = ("response", "open-ended response")  # SurveyMonkey writes these words below a question
_LEAST_TICKS = 0.9  # share of the values of a column of ticks; the others are remarks

CellValue = str | tuple[str, ...]  # a text, or the texts of a list


@dataclass(frozen=True, slots=True)
class TableRow:
    """A row. number: counted from 1. where: the row's place in the file. values: the row's values by column."""

    number: int
    where: str
    values: Mapping[str, CellValue]


@dataclass(frozen=True, slots=True)
class RowTable:
    """The rows of a file; a broken row is an error. names: empty if each row has its own. notes: for the user."""

    rows: Iterator[TableRow | SourceError]
    names: Sequence[str] = ()
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class ColumnChoice:
    """The columns of the text and of each field. note: on guesses. answers: the text columns' names are questions.
    ticked: columns that hold the respondent's answer, such as yes, no or unsure, to what the column's name says."""

    text: tuple[str, ...]
    fields: Mapping[str, str]
    note: str = ""
    answers: bool = False  # the text columns' names are questions
    ticked: tuple[str, ...] = ()


ColumnValues = Mapping[str, Sequence[str]]  # non-empty values of the first rows, by column


def choose_columns(
    file: str, rows: Sequence[Mapping[str, CellValue]], names: Sequence[str], given: ColumnNames = GUESSED_COLUMNS
) -> ColumnChoice:
    """Chooses the columns from their names and the first rows. Raises SourceError for an unknown name. Raises
    SourceError with a list of the columns if the text column is not clear."""
    columns = _column_values(names, rows)
    fields = {f: _resolve_column(file, columns, getattr(given, f)) for f in COLUMN_FIELDS if getattr(given, f)}
    named = (p for name in given.text for p in ([name] if name in columns else map(str.strip, name.split(","))))
    text = tuple(dict.fromkeys(_resolve_column(file, columns, name) for name in named if name))
    guessed: dict[str, str] = {}
    if not text:
        text = _text_columns(file, columns, set(fields.values()), given)
        guessed["text"] = "', '".join(text)
    told = [row for row in rows if any(cell_text(row.get(name)) for name in text)]  # rows without text need no id
    ticked = tuple(n for n in names if n not in (*text, *fields.values()) and _are_ticks(columns[n]))
    free = _column_values([name for name in names if name not in (*text, *ticked)], told)
    goods = any(_GOODS.fullmatch(fold_name(name)) for name in names)
    people = {n for n in free if not goods and n.lower() == "name" and _mostly(free[n], _PERSON.fullmatch)}
    for of, usual in _NAMES.items():
        named_so = [*_columns_named(usual, free), *(n for n in free if _is_compound(n, usual[:4]))]
        named_so += [n for n in free if of == "author" and (n in people or _ASKS_NAME.search(n))]
        fitting = (n for n in named_so if _values_fit_field(of, free[n], len(told)))
        found = next((n for n in fitting if fold_name(n) != "site" or _are_web_sites(n, free, told)), "")
        if of not in fields and found:
            fields[of] = guessed[of] = found
    note = _guess_note(columns, {*text, *fields.values(), *ticked}, guessed | {"ticked answer": "', '".join(ticked)})
    # A later row may have a further field, in a column with the field's name.
    fields = {of: of for of in COLUMN_FIELDS if of not in ("id", *names)} | fields
    return ColumnChoice(text, fields, note, len(text) > 1 and not given.text, ticked)


def fold_name(name: str) -> str:
    """Returns 'published_at' for 'Published At', 'publishedAt' and 'published-at'."""
    return "_".join(re.findall(r"[^\W_]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()))


def read_column_names(rows: Sequence[Sequence[str]], given: ColumnNames) -> tuple[list[str], int]:
    """Returns the column names in the first rows, and the number of these rows. Rows of data have no names."""
    names, taken = [cell.strip().split("\n")[0] for cell in rows[0]], 1
    if not _is_first_row_header(rows, given):
        return [], 0
    while taken + 1 < len(rows) and _is_header_row(rows[taken], rows[taken + 1 :]):
        names = names if set(given.named()) & set(names) else _joined_headers(names, rows[taken])
        taken += 1
    return names, taken


def _is_first_row_header(rows: Sequence[Sequence[str]], given: ColumnNames) -> bool:
    """Whether the first row names the columns: no cell looks like data or recurs as a value below."""
    first = [cell.strip() for cell in rows[0]]
    asked = {fold_name(part) for name in given.named() for part in (name, *name.split(","))}
    if any(fold_name(cell) in asked for cell in first if cell) or _is_header_row(first, rows[3:] or rows[1:]):
        return True
    if any(name.isdecimal() and 0 < int(name) <= len(first) for name in asked):
        return False
    below = [{row[i].strip() for row in rows[1:] if i < len(row)} for i in range(len(first))]
    if any(cell and cell in values for cell, values in zip(first, below, strict=True)):
        return False
    data = [(cell, values) for cell, values in zip(first, below, strict=True) if _DATUM.fullmatch(cell)]
    years = all(_YEAR.fullmatch(cell) and not any(map(_YEAR.fullmatch, values)) for cell, values in data)
    return years or any(fold_name(cell) in ALL_NAMES for cell in first)


def _is_header_row(cells: Sequence[str], below: Sequence[Sequence[str]]) -> bool:
    """Whether a row names columns. Such a row has different words above columns of figures, or is the second header row
    of a Qualtrics or SurveyMonkey export."""
    said = [cell.strip() for cell in cells]
    if any(cell.lower() == _FILLERS[1] for cell in said) or all(cell.startswith("{") for cell in filter(None, said)):
        return True
    rows = [row for row in below if not row[0].startswith("{")]
    columns = [[row[i].strip() for row in rows if i < len(row)] for i in range(len(said))]
    figures = [sum(1 for v in column if _FIGURE.fullmatch(v)) > 0.8 * len(rows) for column in columns]
    words = {cell_text(cell) for cell, of_figures in zip(said, figures, strict=True) if of_figures}
    return len(words) > 1 and all(any(map(str.isalpha, w)) and not _FIGURE.fullmatch(w) for w in words)


def _joined_headers(names: Sequence[str], cells: Sequence[str]) -> list[str]:
    """Returns the names, each extended by the cell below. That cell holds a question, or the second part of the name
    above or to the left."""
    made, held = [], ""
    for name, cell in zip_longest(names, cells, fillvalue=""):
        said, held = cell.strip().split("\n")[0], name or held
        same = said[:1] in ("", "{") or said.lower() in _FILLERS or fold_name(said) == fold_name(name)
        made.append(name if same else f"{held} {said}".strip())
    return made


def cell_text(value: CellValue | None, between: str = "\n") -> str:
    """Returns a value as one text; '' for placeholders such as 'n/a'."""
    said = (value if isinstance(value, str) else between.join(v for v in value or () if v)).strip()
    return "" if said.lower() in _EMPTY_VALUES else said


def is_free_text(value: str) -> bool:
    """Whether a value is a sentence, has many words or several lines, so that it needs no column's name."""
    words = sum(any(map(str.isalpha, word)) for word in value.split())
    return "\n" in value or words >= _FREE_WORDS or (words > _MANY and bool(_ENDS.search(value)))


def is_figure(value: str) -> bool:
    """Whether a value is a number, perhaps with its unit."""
    return bool(_FIGURE.fullmatch(value))


def _column_values(names: Iterable[str], rows: Sequence[Mapping[str, CellValue]]) -> ColumnValues:
    return {name: [v for row in rows if (v := cell_text(row.get(name)))] for name in names}


def _resolve_column(file: str, columns: ColumnValues, name: str) -> str:
    alike = [each for each in columns if each == name or (fold_name(each) and fold_name(each) == fold_name(name))]
    if alike:
        return name if name in alike else alike[0]
    raise SourceError(f"{file}: no column is called '{name}'. {_columns_with_examples(columns)}")


def _columns_named(usual: Sequence[str], columns: Iterable[str]) -> list[str]:
    """Returns the columns with usual names in the order of these names; a nested one ('user.name') comes last."""
    by_name = [(fold_name(part), column) for column in columns for part in (column, column.rpartition(".")[2])]
    whole = sorted((usual.index(name), "." in column, column) for name, column in by_name if name in usual)
    return list(dict.fromkeys(column for *_, column in whole))


def _is_compound(column: str, last: Sequence[str]) -> bool:
    words = fold_name(column).split("_")
    return len(words) == 2 and words[1] in last and words[0] not in _NO_TITLE_WORDS


def _text_columns(file: str, columns: ColumnValues, taken: set[str], given: ColumnNames) -> tuple[str, ...]:
    """Returns the text columns: the column 'text'; or the only column with a text's name or with many words; or all
    columns whose names are questions or kinds of text. Raises SourceError if the text is unclear."""
    free = [name for name, values in columns.items() if name not in taken and values]
    worded = [name for name in free if _mostly(columns[name], _has_words)]
    varied = [n for n in worded if len(columns[n]) < 3 or len(set(columns[n])) > 1]
    worded = varied or worded  # a column with one value is no text
    other, prose = _columns_named(list(ALL_NAMES), free), [n for n in worded if _mostly(columns[n], _has_many_words)]
    called, own = _columns_named(_TEXT_NAMES, worded), [n for n in prose if n not in other]
    called = [n for n in called if not _are_ticks(columns[n])] or called
    own = [n for n in own if _mostly(columns[n], _ENDS.search)] or own  # prose ends with a full stop; names do not
    found = called or own or prose
    if "text" in map(fold_name, found):
        return (found[0],)
    kinds = [] if called else [n for n in own if not set(fold_name(n).split("_")).isdisjoint(_TEXT_NAMES)]
    said = [n for n in worded if n not in other and any(_has_many_words(v) and _ENDS.search(v) for v in columns[n])]
    answers = [n for n in [*own, *said] if _QUESTION.match(n) and len(set(columns[n])) > len(columns[n]) / 2]
    if asked := answers or (own if kinds else []):
        return tuple(n for n in columns if n in (*called, *asked))
    if len(found) == 1:
        return (found[0],)
    figures = [n for n in free if _mostly(columns[n], _FIGURE.fullmatch)]
    words = [n for n in worded if n not in figures]
    none = f"no column holds text{', only figures' if free and free == figures else ''}."
    told = f"is '{found[0]}' the text, or '{found[1]}'?" if found else none
    both = f" ('{found[0]},{found[1]}' takes both.)" if found and "{column}" in given.hint else ""
    how = _hint(given, file, found[0]) if found else ""
    how = how or (f"If one is the text all the same: {_hint(given, file, words[-1])}" if words else "")
    error = SourceError(f"{file}: {told} {_columns_with_examples(columns)} {how}{both}".rstrip())
    error.columns = [(name, _short(columns[name][0])) for name in free]
    raise error


def _are_ticks(values: Sequence[str]) -> bool:
    """Whether nearly all values are an answer such as yes or no. A column with one value is a consent or a filter."""
    ticks = [value.lower() for value in values if is_tick(value)]
    return len(set(ticks)) > 1 and len(ticks) >= _LEAST_TICKS * len(values)


def _mostly(values: Sequence[str], are: Callable[[str], object]) -> bool:
    return sum(1 for value in values if are(value)) >= 0.5 * len(values)


def _has_many_words(value: str) -> bool:
    return sum(any(map(str.isalpha, word)) for word in value.split(maxsplit=12)) > _MANY  # a date has fewer words


def _has_words(value: str) -> bool:
    return any(c.isalpha() for c in value) and not _is_address(value)


def _is_address(value: str) -> bool:
    return value.startswith(("http://", "https://", "www.")) and len(value.split()) == 1


def _hint(given: ColumnNames, file: str, column: str) -> str:
    path = f"./{file}" if file.startswith("-") else file
    hint = given.hint.replace("{file}", shlex.quote(path)).replace("--text {column}", option("text", column))
    return hint.replace("{column}", column)


def _values_fit_field(of: str, values: Sequence[str], rows: int) -> bool:
    """Whether the values of a column suit the field that the column's name suggests."""
    if of == "id":  # each row needs an id; a few repeated ids count as wrong rows
        return len(values) == rows and rows - len(set(values)) <= max(1, 0.05 * rows)
    words: dict[str, Callable[[str], object]] = dict.fromkeys(("title", "publisher", "author"), _has_words)
    return bool(values) and _mostly(values, (words | {"url": _is_address, "date": date_of_cell}).get(of, bool))


def _are_web_sites(column: str, columns: Iterable[str], rows: Sequence[Mapping[str, CellValue]]) -> bool:
    """Whether most values are web domains or the names in the row's addresses: 'Sea Review' of 'seareview.org'. Else
    they may be places, such as building sites."""
    found = []
    for row in rows:
        if site := cell_text(row.get(column)):
            name = "".join(re.findall(r"[^\W_]+", site.lower())).removeprefix("the")
            hosts = [urlsplit(cell).netloc for cell in map(cell_text, map(row.get, columns)) if _is_address(cell)]
            found.append(_DOMAIN.fullmatch(site) or any(name and name in host.replace("-", "") for host in hosts))
    return 2 * sum(map(bool, found)) >= len(found)


def _guess_note(columns: ColumnValues, used: set[str], guessed: Mapping[str, str]) -> str:
    """Returns a note on guessed and unused columns; '' if all names match."""
    said = [f"'{column}' as the {of}" for of, column in guessed.items() if column not in ("", of)]
    left = [repr(_short(n)) for n, said in columns.items() if said and n not in used and not _PANDAS_INDEX.fullmatch(n)]
    parts = [f"read {', '.join(said)}"] if said else []
    parts += [f"not used: {_listed_shortly(left)}"] if left else []
    return "; ".join(parts)


def _columns_with_examples(columns: ColumnValues) -> str:
    told = [f"'{name}'" + (f" ({_short(values[0])})" if values else " (empty)") for name, values in columns.items()]
    return f"Its columns: {_listed_shortly(told)}." if told else "It has no columns."


def _listed_shortly(told: Sequence[str]) -> str:
    return ", ".join(told[:_WIDEST]) + (f" and {len(told) - _WIDEST} more" if len(told) > _WIDEST else "")


def _short(value: str) -> str:
    return line if len(line := " ".join(value.split())) <= _SHOWN else f"{line[:_SHOWN].rstrip()}…"
