"""The state that flows through the graph: ids and numbers, no passage text.

Each field says which node writes it and how concurrent writes merge (the functions below).
"""

import operator
from typing import Annotated, Literal, NotRequired, TypeVar

from typing_extensions import TypedDict  # of typing's, before Python 3.12, LangGraph can make no schema

from tools.budget import NoteKind
from tools.language.lexicon import analyzer
from tools.language.question import ANSWERS

T = TypeVar("T")


def merge_lists(left: dict[str, list[T]], right: dict[str, list[T]]) -> dict[str, list[T]]:
    """Joins lists key by key, each item once: what came first stays in front."""
    return {k: merge_distinct(left.get(k, []), right.get(k, [])) for k in {**left, **right}}


def merge_scores(left: dict[str, dict[int, float]], right: dict[str, dict[int, float]]) -> dict[str, dict[int, float]]:
    """Joins scores key by key; a newer score replaces an older one."""
    return {k: {**left.get(k, {}), **right.get(k, {})} for k in {**left, **right}}


def merge_intervals(
    left: dict[str, list[tuple[float, float]]], right: dict[str, list[tuple[float, float]]]
) -> dict[str, list[tuple[float, float]]]:
    """Joins lists of (start, end) key by key."""
    return {k: [*left.get(k, []), *right.get(k, [])] for k in {**left, **right}}


def add_numbers(left: dict[str, float], right: dict[str, float]) -> dict[str, float]:
    """Adds number to number, key by key."""
    return {k: left.get(k, 0) + right.get(k, 0) for k in {**left, **right}}


def merge_distinct(left: list[T], right: list[T]) -> list[T]:
    """Both, each once."""
    return list(dict.fromkeys([*left, *right]))


Stance = Literal["supports", "opposes", "other"]
QuestionForm = Literal["polar", "claim", "topic", "choice", "open", "plain", "counter", "none"]
"""'polar': yes or no. 'claim', 'topic': arguments. 'choice': one of several. 'open': any answer. 'plain': a fact.
'counter': arguments against a claim. 'none': no question."""
CoverageStatus = Literal["supported", "thin", "not_found"]
StageName = Literal["frame", "expand", "lookup", "retrieve", "web", "requery", "judge", "select", "write", "verify"]
"""The graph's nodes, as answers name them in `timings` and `providers`; 'web' is the web search of retrieve."""
Role = Literal["thesis", "case", "also", "crux"]
FailedCheck = Literal["source", "side", "unchecked"]
"""The failed check: the passages do not say the claim, it does not serve its side, or no check was possible."""
OF_NO_PERSPECTIVE: tuple[Role, ...] = ("also", "crux")
"""Roles of claims without a perspective."""


class Perspective(TypedDict):
    """One perspective. contrary: the id of the opposite perspective, or empty."""

    id: str
    name: str
    statement: str
    stance: Stance
    contrary: str
    origin: Literal["question", "sources", "person", "model"]


OTHER_WAYS = "rest"
"""Id of the perspective of other proposals."""
ANSWER_WORDS = frozenset(word for words in ANSWERS.values() for word in words)
"""Names of perspectives that answer the question; their statements are 'Yes: …?' and 'No: …?'."""


def is_answer(name: str, statement: str) -> bool:
    """Whether the perspective's name is an answer word and its statement repeats the question, as in 'Yes: …?'."""
    return name in ANSWER_WORDS and statement.startswith(f"{name}: ")


def judge_form(perspective: Perspective) -> Literal["statement", "answer"]:
    """Returns the form in which a judge reads the perspective."""
    planned = perspective["origin"] == "question" and is_answer(perspective["name"], perspective["statement"])
    return "answer" if planned else "statement"


class CounterTarget(TypedDict):
    """What a follow-up argues against: a claim of the thread's latest answer, or a whole perspective.

    question: that answer's. number: of the citation that names the claim, 0 for a perspective. side, statement,
    stance: of the claim's perspective. contrary: the opposite perspective, or None.
    """

    question: str
    number: int
    text: str
    publisher: str
    side: str
    statement: str
    stance: Stance
    contrary: Perspective | None


QuotedStance = tuple[Perspective, str]
"""The perspective that words are quoted for, and the opposed statement, or empty."""


class FramingState(TypedDict):
    """What the question asks. question: as typed, or the thread's. focus: what a follow-up narrows it to.
    alternatives: names of a choice's options. claim: of the form 'counter', the statement to contradict, near the
    point of `focus`."""

    form: QuestionForm
    question: str
    alternatives: list[str]
    focus: str
    claim: NotRequired[str]


def counter_framing(against: CounterTarget) -> FramingState:
    """Frames a counter-argument: the thread's question with the claim as its focus."""
    asked, focus, claim = against["question"], against["text"], against["statement"]
    return FramingState(form="counter", question=asked, alternatives=[], focus=focus, claim=claim)


class PassageEvidence(TypedDict):
    """The passages that count for one perspective. ids: surest first. strongest: the probability of the surest.

    Before `write`: passages above the judge's threshold. After: passages with a quotable sentence.
    """

    ids: list[int]
    strongest: float


class Coverage(PassageEvidence):
    """How well the evidence covers a perspective: its passages, copies counted once, and their independent sources."""

    status: CoverageStatus
    passages: int
    sources: int


class Claim(TypedDict):
    """A finished sentence with the passages that support it.

    support: the judge's probability for its perspective. role: 'crux' (what the dispute turns on) and 'also' (no
    side) belong to no perspective. written: a model's own sentence; any other is verbatim. evidence: of a written
    claim, the words of each passage that say it, set by verify. shown: the text with changes in square brackets,
    empty or missing without any. objection: argues against its perspective. reason: a word or two. answers: id of
    the opposing passage that the claim answers.
    """

    perspective: str
    text: str
    passages: list[int]
    support: float
    role: Role
    written: NotRequired[bool]
    evidence: NotRequired[list[str]]
    shown: NotRequired[str]
    objection: NotRequired[bool]
    reason: NotRequired[str]
    answers: NotRequired[int]


def decontextualised(claim: Claim) -> str:
    """Returns the claim's text with changes in square brackets."""
    return claim.get("shown") or claim["text"]


def in_case(claim: Claim) -> bool:
    return not claim.get("objection")


class ScoredQuote(TypedDict):
    """A verbatim sentence of a passage. shown: with changes in square brackets, empty without any. support: the
    judge's probability for its perspective."""

    text: str
    shown: str
    passage: int
    support: float


class ScoredResponse(TypedDict):
    """One document's answer for a perspective. Similar responses have the same `group`."""

    perspective: str
    group: int
    thesis: ScoredQuote
    evidence: list[ScoredQuote]


def quotes_of(response: ScoredResponse) -> list[ScoredQuote]:
    return [response["thesis"], *response["evidence"]]


class DroppedClaim(TypedDict):
    """A claim that verification left out, and the check that it failed."""

    perspective: str
    text: str
    check: FailedCheck


class StageNote(TypedDict):
    """A failure, replacement or omission that the answer reports.

    hint: the part of the message that helps only at this machine's keyboard, as in `SteelmanError`. brief: the
    message in a few words.
    """

    stage: StageName
    message: str
    hint: NotRequired[str]
    kind: NotRequired[NoteKind]
    brief: NotRequired[str]


STATE_VERSION = 4
"""Increases with each change of `RunState` that older runs cannot continue with."""


class RunState(TypedDict, total=False):
    """The state of a run. The comment of each key names the stages that write it."""

    version: int  # given: STATE_VERSION of when the run began
    question: str  # given
    earlier: list[str]  # given: questions asked before in the thread, oldest first
    against: CounterTarget  # given: what the question wants argued against, where it asks for that
    framing: FramingState  # given where rules frame; else frame
    perspectives: list[Perspective]  # frame, expand, judge, lookup: editable in `review`; none for a fact
    question_results: list[int]  # frame, expand: what a search for the bare question found
    queries: Annotated[dict[str, list[str]], merge_lists]  # retrieve: per perspective, as tried
    candidates: Annotated[dict[str, list[int]], merge_lists]  # retrieve, judge, lookup: per perspective, best first
    support: Annotated[dict[str, dict[int, float]], merge_scores]  # judge: per perspective and passage, arguing for it
    opposition: Annotated[dict[str, dict[int, float]], merge_scores]  # judge: the same, arguing against it
    off_question: Annotated[list[int], merge_distinct]  # judge: passages that it found to be about something else
    unjudged: int  # judge: passages that the budget or the deadline left out
    to_search: Literal["all", "web", "nothing"]  # judge: where another search could find what was not read
    coverage: dict[str, Coverage]  # judge, verify: by its scores; by what was read and cited
    round: int  # requery: how often it has searched again
    next_queries: dict[str, list[str]]  # requery: the queries that the next retrieve is to try
    selected: dict[str, list[int]]  # select, lookup: per perspective, the passages to write from
    sentence_evidence: dict[str, PassageEvidence]  # write: per perspective, what its sentences' scores tell
    document_stances: dict[str, list[int]]  # write: per perspective, a passage of each document that argues for it
    responses: list[ScoredResponse]  # write: by perspective, the groups with the most independent sources first
    drafts: list[Claim]  # write, lookup
    quotations: list[Claim]  # write: what the sources would be quoted with, where a model writes
    claims: list[Claim]  # verify
    duplicate_of: dict[int, int]  # verify: of each passage that counts the first that says the same
    dropped: list[DroppedClaim]  # verify
    notes: Annotated[list[StageNote], operator.add]  # any node
    intervals: Annotated[dict[str, list[tuple[float, float]]], merge_intervals]  # every node: when it ran, by stage
    counts: Annotated[dict[str, float], add_numbers]  # any node: passages judged, calls, tokens, cost, pages read, …
    judge: str  # judge, write, verify: the judge in force; empty for the first one
    scored_by: str  # judge: whose scores `support` holds
    threshold: float  # judge: the probability from which it took a passage for support
    served_by: Annotated[dict[str, str], operator.or_]  # every node: which provider did the stage
    unread_pages: Annotated[dict[str, str], operator.or_]  # retrieve: web pages that could not be read, and why
    foreign_documents: Annotated[dict[str, str], operator.or_]  # retrieve, judge, lookup: left out, their language
    failed_providers: Annotated[list[str], merge_distinct]  # every node: providers that failed and are not asked again


def uncovered_perspectives(state: RunState) -> list[Perspective]:
    """Returns the planned perspectives without enough passages, which requery searches for."""
    coverage = state["coverage"]
    planned = (p for p in state["perspectives"] if p["id"] != OTHER_WAYS)
    return [p for p in planned if coverage[p["id"]]["status"] != "supported"]


def contrary_statements(state: RunState) -> dict[str, str]:
    """Returns by perspective id the statement that it opposes: its contrary's, or the follow-up's target; else
    empty."""
    statements = {p["id"]: p["statement"] for p in state.get("perspectives", [])}
    against = state["against"]["statement"] if "against" in state else ""
    return {p["id"]: statements.get(p["contrary"], against) for p in state.get("perspectives", [])}


def with_focus(text: str, focus: str) -> str:
    """Returns the text with the focus added, unless it contains the focus's words."""
    present, wanted = map(set, map(analyzer().analyze, (text, focus)))
    return text if wanted <= present else f"{text} {focus}"


def asked_query(framing: FramingState) -> str:
    """Returns the query for the question, with a follow-up's focus."""
    return with_focus(framing["question"], framing["focus"])


class BranchState(TypedDict):
    """The input of one `retrieve` branch."""

    perspective: Perspective
    queries: list[str]
    known: NotRequired[dict[str, list[int]]]  # what those queries found that were searched before
    share: int  # branches that are sent at once, among which what may be read is divided
    counts: dict[str, float]
    failed_providers: list[str]
    web_only: NotRequired[bool]  # what the store has was read already
