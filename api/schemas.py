"""What calls take and give, besides the answer itself (`agent/answer/model.py`) and what was retrieved."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from agent.answer.model import Answer
from agent.options import LONGEST_QUESTION, Depth
from agent.runs.store import RunStatus
from api.field_types import DATE, NEW_SIDE, ONE_LINE, SOME_TEXT, URL, AnyCollection, Cursor, Domain, JobId, RunId

MOST_PAIRS, LONGEST_TEXT, LONGEST_STATEMENT = 256, 20_000, 2_000
LONGEST_ID = 2_000


class _Request(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class _Reply(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, from_attributes=True)


class SearchOptions(_Request):
    """Where and how to look. What is left out is as the server's settings have it."""

    collections: list[AnyCollection] | None = Field(
        default=None,
        min_length=1,
        max_length=100,
        description="Names of document collections to search, several as one. Left out, those of the run that `thread` "
        "names, else all of your own, else `samples`.",
    )
    web: bool = Field(
        default=True, description="Whether the live web is searched too; with false nothing leaves the machine."
    )
    domains: list[Domain] = Field(
        default=[], max_length=100, description="Search the web on these domains only, such as ['gov.uk']."
    )
    deadline_seconds: float | None = Field(
        default=None, ge=1, le=3600, description="The run ends in an answer from what was found by then."
    )
    thread: RunId | None = Field(
        default=None,
        description="The run that this question follows up on ('What about the cost?'), or the first of its thread.",
    )

    @property
    def changes(self) -> dict[str, Any]:
        """The options of a run that this names."""
        usual = {
            "collections": tuple(dict.fromkeys(self.collections or ())),
            "deadline_seconds": self.deadline_seconds,
        }
        return {"web": self.web, "domains": tuple(self.domains)} | {k: v for k, v in usual.items() if v}


class Question(SearchOptions):
    """A question, and where and how to look. What is left out is as the server's settings have it."""

    question: str = Field(
        min_length=1,
        max_length=LONGEST_QUESTION,
        description="One question in English, as a sentence, without an opinion of one's own; a statement works too.",
        examples=["Should schools ban smartphones?"],
    )
    depth: Depth = Field(
        default="normal",
        description="How much is searched, judged and written: 'quick' takes seconds, 'normal' up to a minute, 'deep' "
        "up to three.",
    )


class RetrieveRequest(Question):
    """A question to find passages for."""

    wait_seconds: float | None = Field(
        default=None, ge=0, le=3600, description="After so long the reply is 202 with the run's address instead."
    )


class AskRequest(RetrieveRequest):
    """A question to answer."""

    review: bool = Field(
        default=False, description="Stop when the sides are planned, and wait for them to be sent with `resume`."
    )
    stream: bool = Field(default=False, description="Reply with server-sent events, as `Accept: text/event-stream`.")

    @property
    def changes(self) -> dict[str, Any]:
        return super().changes | {"review": self.review}


class Side(_Request):
    """A perspective to search for, as a person wants it; the planned ones can be sent back as the event has them."""

    id: str = Field(default="", pattern=NEW_SIDE, description="As it was planned; empty for a new one.")
    name: str = Field(min_length=1, max_length=200)
    statement: str = Field(min_length=1, max_length=LONGEST_STATEMENT, pattern=SOME_TEXT)
    stance: Literal["supports", "opposes", "other"] = "other"
    contrary: str = Field(default="", pattern=NEW_SIDE, description="The id of the side that says the opposite.")
    origin: Literal["question", "sources", "model", "person"] = Field(
        default="person", description="Who thought of it."
    )


class ResumeRequest(_Request):
    """What a run that waits for its sides is given."""

    sides: list[Side] | None = Field(default=None, min_length=1, max_length=12)


class RunSummary(_Reply):
    """A run as the list has it.

    `abandoned`: it counts as running, but the process that worked on it is gone; `resume` goes on with it.
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
    """A run: how far it is, and its answer once it has one. `events` is the number of the last event."""

    events: int
    answer: Answer | None


class RunList(_Reply):
    """A page of runs, newest first; `next` is the `after` of the next one, and null on the last one."""

    runs: list[RunSummary]
    next: Cursor | None


class Cancelled(_Reply):
    """`stopped` is false for a run, or a job, that had ended already."""

    id: RunId | JobId
    stopped: bool


class Deleted(_Reply):
    """How many passages went."""

    passages: int


class JudgePair(_Request):
    """A statement and a passage to judge by it; `contrary` is the opposing statement, where there is one."""

    statement: str = Field(min_length=1, max_length=LONGEST_STATEMENT)
    passage: str = Field(min_length=1, max_length=LONGEST_TEXT)
    contrary: str = Field(default="", max_length=LONGEST_STATEMENT)


_PAIR = {"statement": "Bridges help towns.", "passage": "A bridge brings trade to both banks."}
_DOCUMENT = {"id": "bells-7", "text": "Schools should ban smartphones, since lessons are calmer without them."}


class JudgeRequest(_Request):
    """Pairs of statement and passage."""

    pairs: list[JudgePair] = Field(min_length=1, max_length=MOST_PAIRS, examples=[[_PAIR]])


class Judged(_Reply):
    """For each pair the probability that the passage supports the statement, null where it was not judged.

    `threshold` is the probability from which the agent takes a passage for support. `notes` tell of a judge that failed
    and was replaced.
    """

    judge: str
    threshold: float
    probabilities: list[float | None]
    notes: list[str]


class Collection(_Reply):
    name: str
    encoder: str
    documents: int
    passages: int


class Collections(_Reply):
    collections: list[Collection]


class Document(_Reply):
    """A stored document; `id` is as it was given at upload. `number` tells it from others of its id; `language` is
    ISO 639-1, empty where it is not known. `provenance` says where date and author were read."""

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


class Documents(_Reply):
    """A page of a collection's documents; `next_offset` is null on the last one."""

    documents: list[Document]
    next_offset: int | None


class NewDocument(_Request):
    """A document to store. One of the same id replaces it."""

    id: str = Field(min_length=1, max_length=LONGEST_ID, pattern=ONE_LINE)
    text: str = Field(min_length=1, pattern=SOME_TEXT)
    title: str = Field(default="", max_length=1000)
    url: str = Field(default="", max_length=2000, pattern=URL)
    publisher: str = Field(default="", max_length=500, description="By it independent sources are told apart.")
    kind: str = Field(default="unknown", max_length=60, pattern=ONE_LINE)
    date: str = Field(default="", pattern=DATE, description="2026, 2026-03 or 2026-03-12.")
    author: str = Field(default="", max_length=500, description="Who wrote all of it.")


class NewDocuments(_Request):
    """Documents to store; the size of the body limits them."""

    documents: list[NewDocument] = Field(min_length=1, examples=[[_DOCUMENT]])


class Stored(_Reply):
    """What an upload did; `replaced` of those stored are in place of another text that had the same id, `problems`
    name what could not be read, and why, `notes` tell how tables were read, `left_out` counts what the readers did not
    take over, `languages` the documents by language (ISO 639-1)."""

    stored: int
    replaced: int
    unchanged: int
    passages: int
    problems: list[str]
    notes: list[str]
    left_out: dict[str, int]
    languages: dict[str, int]


class JobDetails(_Reply):
    """A large upload that goes on after its request was answered.

    `documents`: how many the upload holds, null while only its readers can tell. `read` of them are dealt with so far:
    `added`, `changed` (stored in place of another text that had the same id), `unchanged`, or named among the problems.
    `result` is what the reply to its upload would have said, once it is done. `problems` are the first hundred,
    `more_problems` counts the others. `interrupted`: its server was stopped; what was stored stays, and the upload is
    sent again.
    """

    model_config = ConfigDict(frozen=False)

    id: JobId
    collection: str
    status: Literal["queued", "running", "done", "failed", "cancelled", "interrupted"] = "queued"
    created_at: str
    started_at: str | None = None
    finished_at: str | None = None
    documents: int | None = None
    read: int = 0
    added: int = 0
    changed: int = 0
    unchanged: int = 0
    passages: int = 0
    error: str | None = None
    problems: list[str] = []
    more_problems: int = 0
    result: Stored | None = None


class Health(_Reply):
    """`status` is "degraded" where questions are answered, but not with all that is stored for now; `notes` say why."""

    status: Literal["ok", "ready", "degraded"]
    notes: list[str] = Field(default_factory=list, exclude_if=lambda notes: not notes)
