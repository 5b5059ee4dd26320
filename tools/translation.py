"""Steelman's own words in English, German, French and Spanish.

`tr` translates a message into the current language and fills in its named values. The catalogues are
`locale/*/LC_MESSAGES/steelman.po`; Babel compiles them in memory at first use. A message without a translation stays
English.
"""

import io
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, wraps
from gettext import GNUTranslations, NullTranslations
from pathlib import Path
from typing import Concatenate, ParamSpec, Protocol, TypeVar

LANGUAGES = ("en", "de", "fr", "es")
FOLDER = Path(__file__).parents[1] / "locale"
_VARIABLES = ("STEELMAN_LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG")
_MARKS = {"de": ("„{}“", "‚{}‘"), "fr": ("«\u00a0{}\u00a0»", "“{}”"), "es": ("«{}»", "“{}”")}
_QUOTED = re.compile(r"[\"“„«]\s?([^\"“”„«»]+?)\s?[\"”“»]")
_CHOSEN: ContextVar[str] = ContextVar("language", default="")
_to_user = [False]


def speak_to_user() -> None:
    """From now on, this process speaks the user's language outside `speaking`. Servers for programs stay English."""
    _to_user[0] = True


def user_language() -> str:
    """Returns the language that the environment names first; English if there is no catalogue for it."""
    given = next(filter(None, map(os.environ.get, _VARIABLES)), "")
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
    language = answer_language() or (user_language() if _to_user[0] else "en")
    return language if language in LANGUAGES else "en"


@cache
def _catalogue(language: str) -> NullTranslations:
    if language == "en":
        return NullTranslations()
    from babel.messages.mofile import write_mo
    from babel.messages.pofile import read_po

    compiled = io.BytesIO()
    with (FOLDER / language / "LC_MESSAGES" / "steelman.po").open("rb") as file:
        write_mo(compiled, read_po(file, locale=language))
    compiled.seek(0)
    return GNUTranslations(compiled)


def tr(message: str, **values: object) -> str:
    """Returns the message in the current language. values: replace `{name}` in the message."""
    text = message and _catalogue(spoken_language()).gettext(message)  # gettext keeps its header under ""
    return text.format(**values) if values else text


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
