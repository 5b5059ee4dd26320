"""What a caller can ask of one run: a question that can be answered, and options, plain values that are stored with the
run and go into the graph's context; and the shares of a run's time: when each phase has to end, so that a slow search
still ends in an answer.
"""

import math
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Literal

from agent.state import QuestionForm, StageName
from tools.errors import GreetingError, QuestionError, SettingsError
from tools.language.identification import (
    is_of_another_script,
    opens_with_greeting,
    question_language,
    question_words,
    reads_as_english,
    reply_to_greeting,
)
from tools.store.store import SAMPLES

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
"""Factor of the usual deadline if servers are used: they are slower than the embedded providers."""

_LISTS = ("collections", "domains", "earlier")


@dataclass(frozen=True, slots=True)
class RunOptions:
    """The options of one run.

    collections: where to look; more than one is searched as one. web: whether the live web is searched too. review:
    stop after the perspectives are planned, so that a person can edit them. writing: without it the run ends with the
    passages that were chosen. earlier: what a conversation that is kept elsewhere asked before, oldest first.
    max_rounds: searches again for uncovered perspectives. max_passages: passages judged at most. pool: passages kept
    for each perspective and search. deadline_seconds: the run ends in an answer from what was found by
    then; deadline_at is that moment in seconds since the epoch, set by the run service each time the run begins or goes
    on (0: none). pages: web pages read at most. domains: search the web only there. max_calls, max_tokens, max_cost:
    what the run may spend: calls to models and searches, the models' tokens, their price in US dollars; past it the
    embedded providers do the rest.
    """

    collections: tuple[str, ...] = field(default=(SAMPLES,))
    web: bool = True
    review: bool = False
    writing: bool = True
    earlier: tuple[str, ...] = ()
    depth: Depth = "normal"
    max_rounds: int = 1
    max_passages: int = 150
    pool: int = 24
    claims_per_side: int = 4
    deadline_seconds: float = 60.0
    deadline_at: float = 0.0
    pages: int = 20
    domains: tuple[str, ...] = ()
    max_calls: int = 1000
    max_tokens: int = 400_000
    max_cost: float = 1.0

    @classmethod
    def of(cls, depth: Depth = "normal", **changes: Any) -> "RunOptions":
        """The options of a depth with some of them changed; raises SettingsError for one that cannot be."""
        if depth not in _DEPTHS:
            raise SettingsError(f"depth has to be one of {', '.join(_DEPTHS)}, not '{depth}'.")
        check_names(changes, [f.name for f in fields(cls)])
        options = replace(cls(depth=depth), **_DEPTHS[depth])  # type: ignore[arg-type]  # values fit their fields by construction
        options = replace(options, **changes)
        options.check()
        return options

    def check(self) -> None:
        if not self.collections:
            raise SettingsError(
                "no collection to search.", hint="Name one with --collection, or see `python -m agent collections`."
            )
        for name in ("max_passages", "pool", "claims_per_side", "deadline_seconds"):
            if not 0 < getattr(self, name) < math.inf:
                raise SettingsError(f"{name} has to be more than 0, not {getattr(self, name)}.")
        for name in ("pages", "max_calls", "max_tokens", "max_cost"):
            if not 0 <= getattr(self, name) < math.inf:
                raise SettingsError(f"{name} has to be 0 or more, not {getattr(self, name)}.")
        if self.max_rounds < 0:
            raise SettingsError(f"max_rounds cannot be negative ({self.max_rounds}); 0 never searches again.")

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | {name: list(getattr(self, name)) for name in _LISTS}

    @classmethod
    def from_dict(cls, stored: dict[str, Any]) -> "RunOptions":
        """Options as they were stored; fields of another version are left out."""
        known = {f.name for f in fields(cls)}
        values = {k: v for k, v in stored.items() if k in known}
        return cls(**values | {name: tuple(values[name]) for name in _LISTS if name in values})


def check_names(given: Iterable[str], known: Sequence[str]) -> None:
    """Raises SettingsError for an option that there is not."""
    if unknown := sorted(set(given) - set(known)):
        raise SettingsError(f"there is no option '{unknown[0]}'. There are: {', '.join(known)}.")


_JOINERS = "\u200c\u200d"  # Persian and emoji need them; marks of direction and what has no width go
_FEWEST_TO_TELL = 3  # words by which a language is not told where it is none of those that are often asked in
EXAMPLE = "Should schools ban smartphones?"
"""A question that the samples answer."""
_EXAMPLE = f"Ask something that people disagree on, such as: {EXAMPLE}"


def check_question(text: str, *, english_only: bool = True) -> str:
    """The question with its white space folded and without invisible marks.

    Raises GreetingError for a greeting, QuestionError for what else cannot be answered. The embedded providers read
    English, so with them a question in another language is refused in so many words.
    """
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as exc:
        raise QuestionError("the question holds bytes that are no text (not UTF-8). Type it again.") from exc
    if len(text) > LONGEST_QUESTION:
        raise QuestionError(
            f"the question is {len(text):,} characters long; {LONGEST_QUESTION:,} is the most. Ask it in a sentence or "
            "two, and give long texts to `python -m agent ingest`.",
            hint=", and give long texts to `python -m agent ingest`",
        )
    if any(unicodedata.category(c) == "Cc" and not c.isspace() for c in text):
        raise QuestionError("the question holds control characters. Type it again as plain text.")
    question = " ".join("".join(c for c in text if c in _JOINERS or unicodedata.category(c) != "Cf").split())
    if not question:
        raise QuestionError(f"the question is empty. {_EXAMPLE}")
    words = question_words(question)
    if not words:
        raise QuestionError(f"there is no word in '{_short(question)}'. {_EXAMPLE}")
    if reply := reply_to_greeting(question):
        raise GreetingError(f"{reply} {_EXAMPLE}")
    if english_only and not reads_as_english(question):
        language = question_language(question)
        if not language and len(words) <= _FEWEST_TO_TELL and not is_of_another_script(question):
            return question  # 'UBI', 'mumbai vs delhi': so few words may be names
        but = f" but as {language}" if language else ""
        raise QuestionError(
            f"'{_short(question)}' does not read as English{but}, and Steelman's built-in models read English only. "
            "Ask it in English, or set a chat model that knows the language: the answer is then in English."
        )
    return question


def check_answerable(form: QuestionForm, question: str) -> None:
    """Raises GreetingError for what only greets and talks, QuestionError for an order or text in no language."""
    if form == "none":
        if opens_with_greeting(question):
            raise GreetingError(f"Hello! {_EXAMPLE}")
        raise QuestionError(f"no question was found in '{_short(question)}'. {_EXAMPLE}")


def _short(question: str) -> str:
    return question if len(question) <= 60 else question[:57] + "…"


def run_options(runtime: "Runtime[RunOptions]") -> RunOptions:
    """The run's options from the graph's context; the usual ones where a caller of the bare graph gave none."""
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
"""By stage: the share of a run's usual time that is kept for the stages after it. A deadline later than the usual one
adds to every stage, because a slow model may use all the time that the run has."""
RESERVED_BEFORE_PLAN = 0.8
"""The same share for the searches before the plan."""


def stage_deadline(options: RunOptions, stage: StageName, reserved: float = 0.0) -> float:
    """When the stage has to end, in seconds since the epoch; infinite without a deadline. `reserved`: a larger share
    than the stage's."""
    usual = min(options.deadline_seconds, _DEPTHS[options.depth]["deadline_seconds"])
    return options.deadline_at - max(reserved, RESERVED[stage]) * usual if options.deadline_at else math.inf
