"""Requests and responses of the API. `agent/answer` has the answer and the retrieved passages."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints

from agent.answer.model import Answer
from agent.options import LONGEST_QUESTION, MOST_URLS, Depth, check_day
from agent.runs.jobs import LONGEST_NAME
from agent.runs.store import RunStatus
from agent.stages.expand import SIDE_ID
from tools.passages import EVIDENCE_KINDS, EvidenceKind

MOST_PAIRS, LONGEST_TEXT, LONGEST_STATEMENT = 256, 20_000, 2_000

_INVISIBLE = r"\x00-\x1f\x7f-\x9f\xad\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff"
ONE_LINE = rf"^[^{_INVISIBLE}]*$"
SOME_TEXT = rf"[^\s{_INVISIBLE}]"  # a visible character somewhere
DATE = r"^([0-9]{4}(-(0[1-9]|1[0-2])(-(0[1-9]|[12][0-9]|3[01]))?)?)?$"
URL = r"^(https?://[!-.0-Z\\^-~]+([/?#][!-~]*)?)?$"  # no bracket in the host: many programs' parsers fail at a bracket
IDEMPOTENCY_KEY = r"^[!-~]{1,200}$"
NEW_SIDE = f"^({SIDE_ID.pattern})?$"
RunId = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{12}$")]
Cursor = Annotated[str, StringConstraints(pattern=r"^[0-9]{4}(-[0-9]{2}){2}T[0-9:]{8}\.[0-9]{3}Z-[0-9a-f]{12}$")]
"""Start time and id of a run."""
JobId = Annotated[str, StringConstraints(pattern=r"^j[0-9a-f]{12}$")]
CollectionName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9]([A-Za-z0-9._ -]{0,62}[A-Za-z0-9_-])?$")]
AnyCollection = Annotated[str, StringConstraints(min_length=1, max_length=255, pattern=ONE_LINE)]
"""An existing collection. The page and the command line allow more names than CollectionName."""
Domain = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+$", max_length=253)]
_LABEL = "[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?"
_PAGE = rf"^https?://{_LABEL}(\.{_LABEL})+(:([1-9][0-9]{{0,3}}|[1-5][0-9]{{4}}))?([/?#][!-~]*)?$"
PageAddress = Annotated[str, StringConstraints(pattern=_PAGE, max_length=2000)]

_AS_DATE = Field(min_length=1, json_schema_extra={"format": "date"})  # pydantic's `date` would also accept numbers
Day = Annotated[str, _AS_DATE, AfterValidator(check_day)]


class _Request(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class _Response(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, from_attributes=True)


class SearchOptions(_Request):
    """Where and how to search. The server's settings are the defaults."""

    collections: list[AnyCollection] | None = Field(
        default=None,
        min_length=1,
        max_length=100,
        description="Collections to search together. Default: those of the run in `thread`, otherwise all with "
        "documents except `samples`, otherwise `samples`.",
    )
    web: bool = Field(
        default=True, description="Also search the web. With false no request leaves the server's machine."
    )
    domains: list[Domain] = Field(
        default=[], max_length=100, description="Search only these domains of the web, for example ['gov.uk']."
    )
    sources: list[EvidenceKind] = Field(
        default=[],
        max_length=len(EVIDENCE_KINDS),
        description="Kinds to search, for example ['studies', 'mine'] ('mine': the collections). Default: the "
        "collections, and all kinds that the server's settings turn on.",
    )
    since: Day | None = Field(
        default=None,
        description="Leave out results from the internet with an earlier date, for example '2025-01-31'.",
    )
    urls: list[PageAddress] = Field(
        default=[],
        max_length=MOST_URLS,
        description="Read these web pages and search nothing else, whatever else is named.",
    )
    deadline_seconds: float | None = Field(
        default=None, ge=1, le=3600, description="At the deadline the answer is written from the results so far."
    )
    thread: RunId | None = Field(
        default=None,
        description="The run that this follow-up ('What about the cost?') belongs to, or another of its thread.",
    )

    @property
    def changes(self) -> dict[str, Any]:
        """The options of a run that the request sets."""
        lists = {name: tuple(dict.fromkeys(getattr(self, name) or ())) for name in ("collections", "sources", "urls")}
        optional = {**lists, "since": self.since, "deadline_seconds": self.deadline_seconds}
        return {"web": self.web, "domains": tuple(self.domains)} | {k: v for k, v in optional.items() if v}


class QuestionRequest(SearchOptions):
    """A question, and where and how to search."""

    question: str = Field(
        min_length=1,
        max_length=LONGEST_QUESTION,
        description="One neutral question in English, as a sentence. A statement works too.",
        examples=["Should schools ban smartphones?"],
    )
    depth: Depth = Field(
        default="normal",
        description="Amount of searching, judging and writing: 'quick' takes seconds, 'normal' up to a minute, 'deep' "
        "up to three minutes.",
    )


class RetrieveRequest(QuestionRequest):
    """A question to retrieve passages for."""

    wait_seconds: float | None = Field(
        default=None, ge=0, le=3600, description="Afterwards the reply is 202 with the run's address."
    )


class AskRequest(RetrieveRequest):
    """A question to answer."""

    review: bool = Field(default=False, description="Pause after planning the sides, until `resume` sends them.")
    stream: bool = Field(default=False, description="Reply with server-sent events, as `Accept: text/event-stream`.")

    @property
    def changes(self) -> dict[str, Any]:
        return super().changes | {"review": self.review}


class Side(_Request):
    """A side to search. The planned sides of the event `waiting` can be sent back unchanged."""

    id: str = Field(default="", pattern=NEW_SIDE, description="The planned side's id; empty for a new side.")
    name: str = Field(min_length=1, max_length=200)
    statement: str = Field(min_length=1, max_length=LONGEST_STATEMENT, pattern=SOME_TEXT)
    stance: Literal["supports", "opposes", "other"] = "other"
    contrary: str = Field(default="", pattern=NEW_SIDE, description="The id of the opposite side.")
    origin: Literal["question", "sources", "model", "person"] = Field(
        default="person", description="Source of the side."
    )


class ResumeRequest(_Request):
    """The sides for a run that waits for sides."""

    sides: list[Side] | None = Field(default=None, min_length=1, max_length=12)


class RunSummary(_Response):
    """A run in the list of runs.

    `abandoned`: the run's process is gone while the run was running. `resume` continues it.
    """

    id: RunId
    thread: RunId
    question: str
    status: RunStatus
    abandoned: bool
    created_at: str
    finished_at: str | None
    error: str | None


class RunDetails(RunSummary):
    """A run's progress, and its answer when it is done. `events`: number of the last event."""

    events: int
    answer: Answer | None


class RunList(_Response):
    """A page of runs, newest first. `next` is the value of the parameter `after` for the next page; null on the last
    page."""

    runs: list[RunSummary]
    next: Cursor | None


class Cancelled(_Response):
    """`stopped` is false if the run or job had already ended."""

    id: RunId | JobId
    stopped: bool


class Deleted(_Response):
    """The number of deleted passages."""

    passages: int


class JudgePair(_Request):
    """A statement and a passage that may support it. `contrary`: the opposing statement, if any."""

    statement: str = Field(min_length=1, max_length=LONGEST_STATEMENT)
    passage: str = Field(min_length=1, max_length=LONGEST_TEXT)
    contrary: str = Field(default="", max_length=LONGEST_STATEMENT)


_PAIR = {"statement": "Bridges help towns.", "passage": "A bridge brings trade to both banks."}
_DOCUMENT = {"id": "bells-7", "text": "Schools should ban smartphones, since lessons are calmer without them."}


class JudgeRequest(_Request):
    """Pairs to judge."""

    pairs: list[JudgePair] = Field(min_length=1, max_length=MOST_PAIRS, examples=[[_PAIR]])


class Judged(_Response):
    """For each pair the probability that the passage supports the statement, or null if the time ran out.

    `threshold`: the agent accepts passages with at least this probability.
    """

    judge: str
    threshold: float
    probabilities: list[float | None]


class Collection(_Response):
    name: str
    encoder: str
    documents: int
    passages: int


class Collections(_Response):
    collections: list[Collection]


class Document(_Response):
    """A stored document. `id`: as uploaded. `number` distinguishes documents with the same id. `language`: ISO 639-1 or
    empty. `provenance`: where Steelman found the date and the author. `speakers`: number of speakers that the
    document distinguishes."""

    id: str
    number: int
    language: str
    title: str
    url: str
    publisher: str
    kind: str
    date: str
    author: str
    provenance: str
    speakers: int
    passages: int


class Documents(_Response):
    """A page of a collection's documents. `next_offset` is null on the last page."""

    documents: list[Document]
    next_offset: int | None


class NewDocument(_Request):
    """A document to store. It replaces a document with the same id."""

    id: str = Field(min_length=1, max_length=LONGEST_NAME, pattern=ONE_LINE)
    text: str = Field(min_length=1, pattern=SOME_TEXT)
    title: str = Field(default="", max_length=1000)
    url: str = Field(default="", max_length=2000, pattern=URL)
    publisher: str = Field(default="", max_length=500, description="Distinguishes independent sources.")
    kind: str = Field(default="unknown", max_length=60, pattern=ONE_LINE)
    date: str = Field(default="", pattern=DATE, description="For example 2026, 2026-03 or 2026-03-12.")
    author: str = Field(default="", max_length=500, description="The author of the whole document.")


class NewDocuments(_Request):
    """Documents to store, up to the maximum size of a body."""

    documents: list[NewDocument] = Field(min_length=1, examples=[[_DOCUMENT]])


class Stored(_Response):
    """The result of an upload. `replaced`: stored documents that replaced a text with the same id. `problems`:
    unreadable files with reasons. `notes`: how tables were read. `left_out`: counts of omitted parts.
    `languages`: documents by language (ISO 639-1)."""

    stored: int
    replaced: int
    unchanged: int
    passages: int
    problems: list[str]
    notes: list[str]
    left_out: dict[str, int]
    languages: dict[str, int]


class JobDetails(_Response):
    """A large upload that continues after its request.

    `documents`: number of documents in the upload, or null until the files are read. `read`: documents processed so
    far. `result`: the reply to a small upload, for the documents stored so far.
    """

    id: JobId
    collection: str
    status: Literal["queued", "running", "done", "failed", "cancelled"] = "queued"
    created_at: str
    started_at: str | None = None
    finished_at: str | None = None
    documents: int | None = None
    read: int = 0
    error: str | None = None
    result: Stored | None = None


class Health(_Response):
    """`degraded`: the server answers questions, but with a part of the stored documents."""

    status: Literal["ok", "ready", "degraded"]
