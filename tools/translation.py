"""Steelman's own words in English, German, French and Spanish.

`tr` translates a message into the current language and fills in its named values. The catalogues are
`locale/*/LC_MESSAGES/steelman.po`; Babel compiles them in memory at first use. A message without a translation stays
English. Errors are raised and stored in English; `translated` translates them where a person reads them.
"""

import io
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, wraps
from gettext import GNUTranslations, NullTranslations
from pathlib import Path
from typing import TYPE_CHECKING, Concatenate, ParamSpec, Protocol, TypeVar

from tools.errors import as_installed

if TYPE_CHECKING:
    from babel.messages.catalog import Catalog

LANGUAGES = ("en", "de", "fr", "es")
FOLDER = Path(__file__).parents[1] / "locale"
_VARIABLES = ("STEELMAN_LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG")
_MARKS = {"de": ("„{}“", "‚{}‘"), "fr": ("«\u00a0{}\u00a0»", "“{}”"), "es": ("«{}»", "“{}”")}
_QUOTED = re.compile(r"[\"“„«]\s?([^\"“”„«»]+?)\s?[\"”“»]")
ERROR = "error"
"""The catalogues' context of the sentences of errors. `{0}` is the first value in a sentence."""
SENTENCE_END = re.compile(r"(?<=[.!?]) (?=[^a-z])")
_PLACE = re.compile(r"\{(\d)\}")
_LONGEST_ERROR, _DEEPEST = 4_000, 3  # characters of an error that is translated; sentences within a sentence's values
_CHOSEN: ContextVar[str] = ContextVar("language", default="")
_VISITOR: ContextVar[str | None] = ContextVar("visitor", default=None)
_locale: list[Callable[[], str | None]] = []  # at most one


def speak_to_user(locale: Callable[[], str | None] = lambda: None) -> None:
    """From now on, this process speaks the user's language outside `speaking`. Servers for programs stay English.

    locale: returns the locale of the page's visitor, such as 'de-AT'; None outside of a visit.
    """
    _locale[:] = [locale]


@contextmanager
def for_visitor() -> Iterator[None]:
    """Work that the block starts in other threads speaks the visitor's language too."""
    token = _VISITOR.set(_locale[0]() if _locale else None)
    try:
        yield
    finally:
        _VISITOR.reset(token)


def user_language(locale: str | None = None) -> str:
    """Returns the language of STEELMAN_LANGUAGE, otherwise of the locale, otherwise of the other variables. English if
    there is no catalogue for it."""
    own, *others = map(os.environ.get, _VARIABLES)
    given = next(filter(None, (own, locale, *others)), "")
    return code if (code := given[:2].lower()) in LANGUAGES and not given[2:3].isalpha() else "en"


@contextmanager
def speaking(language: str) -> Iterator[None]:
    """Sets the current language for a block. language: an ISO 639-1 code; empty for English."""
    token = _CHOSEN.set(language or "en")
    try:
        yield
    finally:
        _CHOSEN.reset(token)


def answer_language() -> str:
    """Returns the language of the innermost `speaking`, perhaps one without a catalogue; empty outside of it."""
    return _CHOSEN.get()


def spoken_language() -> str:
    """Returns the language of `tr`, one of LANGUAGES: the answer's within `speaking`, otherwise the user's."""
    language = answer_language() or (user_language(_VISITOR.get() or _locale[0]()) if _locale else "en")
    return language if language in LANGUAGES else "en"


@cache
def _catalogue(language: str) -> NullTranslations:
    if language == "en":
        return NullTranslations()
    from babel.messages.mofile import write_mo

    compiled = io.BytesIO()
    write_mo(compiled, _read(language))
    compiled.seek(0)
    return GNUTranslations(compiled)


@cache
def _read(language: str) -> "Catalog":
    from babel.messages.pofile import read_po

    with (FOLDER / language / "LC_MESSAGES" / "steelman.po").open("rb") as file:
        return read_po(file, locale=language)


@cache
def _error_sentences(language: str) -> list[tuple[re.Pattern[str], str]]:
    """Returns a pattern of each sentence of errors, with its translation; the longest sentences first."""
    found = [(as_installed(str(m.id)), as_installed(str(m.string))) for m in _read(language) if m.context == ERROR]
    found.sort(key=lambda pair: -len(_PLACE.sub("", pair[0])))
    parts = ((map(re.escape, _PLACE.split(text.removesuffix("."))[::2]), said) for text, said in found)
    return [(re.compile("(.*?)".join(literal), re.DOTALL), said.removesuffix(".")) for literal, said in parts]


def translated(text: str, deepest: int = _DEEPEST) -> str:
    """Returns an error's text in the current language: sentence by sentence, with the values of each. An unknown
    sentence, a quoted value and a very long text stay as they are."""
    if (language := spoken_language()) == "en" or len(text) > _LONGEST_ERROR or not deepest:
        return text
    return " ".join(_translated_sentence(sentence, language, deepest) for sentence in SENTENCE_END.split(text))


def _translated_sentence(text: str, language: str, deepest: int) -> str:
    bare = text.removesuffix(".")
    for pattern, said in _error_sentences(language):
        if found := pattern.fullmatch(bare):
            quoted = [bare[: found.start(n)].endswith(("'", "`")) for n in range(1, pattern.groups + 1)]
            parts = zip(found.groups(), quoted, strict=True)
            return with_values(said, [v if q else translated(v, deepest - 1) for v, q in parts]) + text[len(bare) :]
    return text


def with_values(sentence: str, values: Sequence[str]) -> str:
    """Returns a sentence of errors with the values at its numbers."""
    return _PLACE.sub(lambda place: values[int(place[1])], sentence)


def tr(message: str, **values: object) -> str:
    """Returns the message in the current language. values: replace `{name}` in the message."""
    text = message and _catalogue(spoken_language()).gettext(message)  # gettext keeps its header under ""
    shown = {name: translated(str(value)) if isinstance(value, Exception) else value for name, value in values.items()}
    return text.format(**shown) if values else text


def trn(one: str, several: str, number: int, **values: object) -> str:
    """Returns the message for a number of things. `{number}` is the number."""
    text = _catalogue(spoken_language()).ngettext(one, several, number)
    return text.format(number=grouped(number), **values)


def mark(message: str) -> str:
    """Returns the message unchanged. Marks a constant that `tr` translates later."""
    return message


def grouped(number: int) -> str:
    """Returns '1,200' as the current language writes it."""
    if (language := spoken_language()) == "en":
        return f"{number:,}"
    from babel.numbers import format_decimal

    return format_decimal(number, locale=language)


def labelled(label: str, text: str) -> str:
    """Returns 'Safety: …' with the current language's colon: French has a no-break space before it."""
    return f"{label}\u00a0: {text}" if spoken_language() == "fr" else f"{label}: {text}"


def in_marks(text: str, english: str = "“{}”") -> str:
    """Returns the text in the current language's quotation marks; marks within it become the inner ones. english: the
    marks in English."""
    outer, inner = _MARKS.get(spoken_language(), (english, "‘{}’"))
    return outer.format(_QUOTED.sub(lambda found: inner.format(found[1]), text))


def decimal(number: float) -> str:
    """Returns '2.5' as the current language writes it; all but English write a comma."""
    text = f"{number:.1f}"
    return text if spoken_language() == "en" else text.replace(".", ",")


class _Answer(Protocol):
    @property
    def language(self) -> str: ...


A = TypeVar("A", bound=_Answer)
P = ParamSpec("P")
T = TypeVar("T")


def in_its_language(render: Callable[Concatenate[A, P], T]) -> Callable[Concatenate[A, P], T]:
    """Decorates a function of an answer: its words are in the answer's language."""

    @wraps(render)
    def spoken(answer: A, /, *args: P.args, **kwargs: P.kwargs) -> T:
        with speaking(answer.language):
            return render(answer, *args, **kwargs)

    return spoken
