"""The options of one run, the check of the run's question, and each stage's share of the run's time."""

import math
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any, Literal

from agent.state import QuestionForm, StageName
from prompts import one_line
from tools.errors import GreetingError, QuestionError, SettingsError
from tools.language.identification import (
    is_of_another_script,
    name_of_language,
    question_language,
    question_words,
    reads_as_english,
    reply_to_greeting,
)
from tools.net.http import is_address
from tools.passages import EVIDENCE_KINDS, EvidenceKind
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

_LISTS = ("collections", "domains", "earlier", "sources", "urls")
MOST_URLS = 20
"""The most pages that a question may name."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """The options of one run.

    collections: searched together. web: also search the live web. built_in: use only the built-in models. review: wait
    after the perspectives are planned, so that a person can edit them. writing: False ends the run with the selected
    passages. earlier: questions of a conversation stored elsewhere, oldest first. max_rounds: further searches for
    uncovered perspectives. max_passages: passages judged. pool: passages kept for each perspective and search.
    deadline_seconds: time after which the run answers from what it has. deadline_at: the same deadline in seconds since
    the epoch, set at each start or resume (0: none). pages: web pages read. domains: limit the web search to these.
    sources: kinds to search; empty: all that are on. urls: read these pages and search nothing, whatever else is named.
    max_calls, max_tokens, max_cost: budget of calls to models and searches, of model tokens and of US dollars. When a
    budget is used up, embedded providers take over.
    """

    collections: tuple[str, ...] = field(default=(SAMPLES,))
    web: bool = True
    built_in: bool = False
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
    sources: tuple[EvidenceKind, ...] = ()
    urls: tuple[str, ...] = ()
    max_calls: int = 1000
    max_tokens: int = 400_000
    max_cost: float = 1.0

    @classmethod
    def of(cls, depth: Depth = "normal", **changes: Any) -> "RunOptions":
        """Returns the options of a depth with the changes. Raises SettingsError for invalid options."""
        if depth not in _DEPTHS:
            raise SettingsError(f"depth has to be one of {', '.join(_DEPTHS)}, not '{depth}'.")
        check_names(changes, [f.name for f in fields(cls)])
        options = cls(**{"depth": depth, **_DEPTHS[depth], **changes})
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
        if unknown := [kind for kind in self.sources if kind not in EVIDENCE_KINDS]:
            raise SettingsError(f"there is no kind of sources '{unknown[0]}'. There are: {', '.join(EVIDENCE_KINDS)}.")
        self._check_urls()
        if self.max_rounds < 0:
            raise SettingsError(f"max_rounds cannot be negative ({self.max_rounds}); 0 never searches again.")

    def _check_urls(self) -> None:
        if len(self.urls) > MOST_URLS:
            raise SettingsError(f"{len(self.urls)} pages are too many for one question; {MOST_URLS} is the most.")
        for url in self.urls:
            if not (url.startswith(("http://", "https://")) and is_address(url)):
                raise SettingsError(f"'{url[:200]}' is no address of a page. One begins with https:// and a host.")

    @property
    def own_collections(self) -> tuple[str, ...]:
        """The collections to search; none if only given pages are read, or if the kinds leave out 'mine'."""
        return () if self.urls or (self.sources and "mine" not in self.sources) else self.collections

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | {name: list(getattr(self, name)) for name in _LISTS}

    @classmethod
    def from_dict(cls, stored: dict[str, Any]) -> "RunOptions":
        """Returns stored options. Ignores fields that only other versions of Steelman know."""
        known = {f.name for f in fields(cls)}
        values = {k: v for k, v in stored.items() if k in known}
        return cls(**values | {name: tuple(values[name]) for name in _LISTS if name in values})


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
    """Returns the question with white space folded and invisible marks removed.

    Raises GreetingError for a greeting, QuestionError for text that cannot be answered. languages: read
    besides English, the language of the embedded providers (ISO 639-1, or 'all').
    """
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
    words = question_words(question)
    if not words:
        raise QuestionError(f"{tr(_NO_WORD, question=_short(question))} {_example()}")
    if reply := reply_to_greeting(question):
        raise GreetingError(f"{tr(reply)} {_example()}")
    if "all" not in languages and not reads_as_english(question):
        language = question_language(question)
        if language in map(name_of_language, languages):
            return question
        if not language and len(words) <= _FEWEST_TO_TELL and not is_of_another_script(question):
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
