"""The options of one run, the check of the run's question, and each stage's share of the run's time."""

import math
import re
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from dataclasses import fields
from datetime import date
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from agent.state import QuestionForm, StageName
from prompts import one_line
from tools.errors import GreetingError, QuestionError, SettingsError
from tools.language import identification
from tools.net.http import is_address
from tools.passages import EvidenceKind
from tools.store.store import SAMPLES
from tools.translation import mark, tr

LONGEST_QUESTION = 4000  # characters

if TYPE_CHECKING:
    from langgraph.runtime import Runtime

Depth = Literal["quick", "normal", "deep"]

_OF_DEPTH = "max_rounds", "max_passages", "pool", "claims_per_side", "deadline_seconds", "pages"
_DEPTHS: dict[Depth, dict[str, int | float]] = {
    "quick": dict(zip(_OF_DEPTH, (0, 40, 16, 3, 30.0, 10), strict=True)),
    "normal": dict(zip(_OF_DEPTH, (1, 150, 24, 4, 60.0, 20), strict=True)),
    "deep": dict(zip(_OF_DEPTH, (2, 600, 60, 6, 180.0, 100), strict=True)),
}

REMOTE_PATIENCE = 2.0
"""Factor on the usual deadline if servers are used, because servers are slower than the embedded providers."""

MOST_URLS = 20
"""The most pages that a question may name."""


OF_PYDANTIC = (
    "Input should be greater than {0}",
    "Input should be greater than or equal to {0}",
    "Input should be a valid number, unable to parse string as a number",
    "Input should be a valid integer, unable to parse string as an integer",
    "Input should be a valid boolean, unable to interpret input",
    "Input should be a finite number",
    "Input should be {0} or {1}",
    "Input should be {0}",
)
"""Reasons of pydantic in the messages of errors."""


def _page_address(url: str) -> str:
    if not (url.startswith(("http://", "https://")) and is_address(url)):
        raise ValueError("a page's address begins with https:// and a host")
    return url


def check_day(day: str) -> str:
    if day and not re.fullmatch(r"\d{4}-\d\d-\d\d", day):
        raise ValueError("a day looks like 2025-01-31")
    return str(date.fromisoformat(day)) if day else ""


_Above0 = Field(gt=0, allow_inf_nan=False)
_From0 = Field(ge=0, allow_inf_nan=False)


@dataclass(frozen=True, slots=True)
class RunOptions:
    """The options of one run.

    collections: searched together. web: also search the live web. built_in: use only the built-in models. review: wait
    after the perspectives are planned, so that a person can edit them. writing: False ends the run with the selected
    passages. earlier: questions of a conversation stored elsewhere, oldest first. max_rounds: further searches for
    uncovered perspectives. max_passages: passages judged. pool: passages kept for each perspective and search.
    deadline_seconds: time after which the run answers from what it has. deadline_at: the same deadline in seconds since
    the epoch, set at each start or resume (0: none). pages: web pages read. domains: limit the web search to these.
    sources: kinds to search; empty: all that are on. since: leave out results with an earlier date (ISO).
    urls: read these pages and search nothing, whatever else is named.
    max_calls, max_tokens, max_cost: budget of calls to models and searches, of model tokens and of US dollars. When a
    budget is used up, embedded providers take over.
    """

    collections: Annotated[tuple[str, ...], Field(min_length=1)] = (SAMPLES,)
    web: bool = True
    built_in: bool = False
    review: bool = False
    writing: bool = True
    earlier: tuple[str, ...] = ()
    depth: Depth = "normal"
    max_rounds: Annotated[int, _From0] = 1
    max_passages: Annotated[int, _Above0] = 150
    pool: Annotated[int, _Above0] = 24
    claims_per_side: Annotated[int, _Above0] = 4
    deadline_seconds: Annotated[float, _Above0] = 60.0
    deadline_at: float = 0.0
    pages: Annotated[int, _From0] = 20
    domains: tuple[str, ...] = ()
    sources: tuple[EvidenceKind, ...] = ()
    since: Annotated[str, AfterValidator(check_day)] = ""
    urls: Annotated[tuple[Annotated[str, AfterValidator(_page_address)], ...], Field(max_length=MOST_URLS)] = ()
    max_calls: Annotated[int, _From0] = 1000
    max_tokens: Annotated[int, _From0] = 400_000
    max_cost: Annotated[float, _From0] = 1.0

    @classmethod
    def of(cls, depth: Depth = "normal", **changes: Any) -> "RunOptions":
        """Returns the options of a depth with the changes. Raises SettingsError for invalid options."""
        if depth not in _DEPTHS:
            raise SettingsError(f"depth has to be one of {', '.join(_DEPTHS)}, not '{depth}'.")
        check_names(changes, [f.name for f in fields(cls)])
        try:
            return cls(**{"depth": depth, **_DEPTHS[depth], **changes})
        except ValidationError as exc:
            wrong = exc.errors()[0]
            if wrong["type"] == "too_short":
                hint = "Name one with --collection, or see `python -m agent collections`."
                raise SettingsError("no collection to search.", hint=hint) from exc
            if wrong["type"] == "too_long":
                given = wrong["ctx"]["actual_length"]
                raise SettingsError(f"{given} pages are too many for one question; {MOST_URLS} is the most.") from exc
            given, why = repr(wrong["input"])[:200], wrong["msg"].removeprefix("Value error, ")
            raise SettingsError(f"the option '{wrong['loc'][0]}' cannot be {given}: {why}.") from exc

    @property
    def own_collections(self) -> tuple[str, ...]:
        """The collections to search; none if only given pages are read, or if the kinds leave out 'mine'."""
        return () if self.urls or (self.sources and "mine" not in self.sources) else self.collections

    def to_dict(self) -> dict[str, Any]:
        """Returns the options in JSON."""
        return dict(TypeAdapter(RunOptions).dump_python(self, mode="json"))

    @classmethod
    def from_dict(cls, stored: dict[str, Any]) -> "RunOptions":
        """Returns stored options. Ignores fields that only other versions of Steelman know."""
        known = {f.name for f in fields(cls)}
        return cls(**{k: v for k, v in stored.items() if k in known})


def check_names(given: Iterable[str], known: Sequence[str]) -> None:
    """Raises SettingsError for an unknown option."""
    if unknown := sorted(set(given) - set(known)):
        raise SettingsError(f"there is no option '{unknown[0]}'. There are: {', '.join(known)}.")


_FEWEST_TO_TELL = 3  # words; so few do not identify a rare language
EXAMPLE = "Should schools ban smartphones?"
"""A question that the samples answer."""
_NO_WORD = mark("there is no word in '{question}'.")
_NOT_ENGLISH = mark(
    "'{question}' does not read as English{other}, and Steelman's built-in models read English only. Ask it in "
    "English, or set a chat model that knows the language: the answer is then in that language."
)


def _example() -> str:
    return tr("Ask something that people disagree on, such as: {question}", question=EXAMPLE)


def check_question(text: str, languages: Collection[str] = ()) -> str:
    """Returns the question with white space folded and invisible marks removed. languages: read besides English
    (ISO 639-1, or 'all'). Raises GreetingError for a greeting, QuestionError for text that cannot be answered."""
    if len(text) > LONGEST_QUESTION:
        raise QuestionError(
            f"the question is {len(text):,} characters long; {LONGEST_QUESTION:,} is the most. Ask it in a sentence or "
            "two, and give long texts to `python -m agent ingest`.",
            hint=", and give long texts to `python -m agent ingest`",
        )
    if any(unicodedata.category(c) in ("Cc", "Cs") and not c.isspace() for c in text):  # Cs: bytes that are not UTF-8
        raise QuestionError(tr("the question holds bytes or control characters that are no text. Type it again."))
    question = one_line(text)
    if not question:
        raise QuestionError(f"{tr('the question is empty.')} {_example()}")
    words = identification.question_words(question)
    if not words:
        raise QuestionError(f"{tr(_NO_WORD, question=_short(question))} {_example()}")
    if reply := identification.reply_to_greeting(question):
        raise GreetingError(tr(reply), _example())
    if "all" not in languages and not identification.reads_as_english(question):
        language = identification.question_language(question)
        if language in map(identification.name_of_language, languages):
            return question
        if not language and len(words) <= _FEWEST_TO_TELL and not identification.is_of_another_script(question):
            return question  # 'UBI', 'mumbai vs delhi': few words may be names
        but = tr(" but as {language}", language=language) if language else ""
        raise QuestionError(tr(_NOT_ENGLISH, question=_short(question), other=but))
    return question


def check_answerable(form: QuestionForm, question: str) -> None:
    """Raises QuestionError for a command or text that is not language."""
    if form == "none":
        text = tr("no question was found in '{question}'.", question=_short(question))
        raise QuestionError(f"{text} {_example()}")


def _short(question: str) -> str:
    return question if len(question) <= 60 else question[:57] + "…"


def run_options(runtime: "Runtime[RunOptions]") -> RunOptions:
    """Returns the options from the graph's context, or the defaults if the graph's caller gave none."""
    return runtime.context or RunOptions.of()


RESERVED: dict[StageName, float] = {
    "frame": 0.55,
    "expand": 0.55,
    "retrieve": 0.25,
    "requery": 0.25,
    "judge": 0.15,
    "select": 0.05,
    "write": 0.05,
    "lookup": 0.05,
    "verify": 0.0,
}
"""By stage: the share of a run's usual time that is kept for the stages after it. If the deadline is later than the
usual one, every stage gets the additional time, because a slow model may use all the time that the run has."""


def stage_deadline(options: RunOptions, stage: StageName) -> float:
    """Returns when the stage ends, in seconds since the epoch; infinite without a deadline."""
    usual = min(options.deadline_seconds, _DEPTHS[options.depth]["deadline_seconds"])
    return options.deadline_at - RESERVED[stage] * usual if options.deadline_at else math.inf
