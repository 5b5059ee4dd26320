"""The state of the graph. It holds ids and numbers, but no passage text.

Each field names the nodes that write it. A function below merges concurrent writes of a field.
"""

import operator
from collections.abc import Callable
from typing import Annotated, Literal, NotRequired, TypeVar

from typing_extensions import TypedDict  # LangGraph cannot use `typing.TypedDict` before Python 3.12

from tools.budget import NoteKind
from tools.language.grounding import overlaps
from tools.language.lexicon import analyzer
from tools.language.question import ANSWERS
from tools.passages import EvidenceKind

T = TypeVar("T")


def merge_distinct(left: list[T], right: list[T]) -> list[T]:
    """Joins two lists. Each item occurs once."""
    return list(dict.fromkeys([*left, *right]))


def by_key(merge: Callable[[T, T], T]) -> Callable[[dict[str, T], dict[str, T]], dict[str, T]]:
    """Returns a function that joins two mappings. `merge` joins the two values of a key that both have."""

    def merged(left: dict[str, T], right: dict[str, T]) -> dict[str, T]:
        return {**left, **{k: merge(left[k], value) if k in left else value for k, value in right.items()}}

    return merged


Stance = Literal["supports", "opposes", "other"]
"""In the order of sides."""
QuestionForm = Literal["polar", "claim", "topic", "choice", "open", "plain", "counter", "none"]
"""What an answer consists of. 'polar': yes or no. 'claim', 'topic': arguments both ways. 'choice': an alternative.
'open': any answer. 'plain': a fact. 'counter': arguments against a claim. 'none': the text is no question."""
CoverageStatus = Literal["supported", "thin", "not_found"]
StageName = Literal["frame", "expand", "lookup", "retrieve", "web", "requery", "judge", "select", "write", "verify"]
"""The graph's nodes; answers use these names in `timings` and `providers`. 'web' is the web search of `retrieve`."""
Role = Literal["thesis", "case", "also", "crux"]
FailedCheck = Literal["source", "side", "unchecked"]
"""The check that failed. 'source': the passages do not say the claim. 'side': the claim does not serve its side.
'unchecked': no check was possible."""


class Perspective(TypedDict):
    """One perspective. contrary: the id of the opposing perspective, or empty. local: the statement in the question's
    language if that is not English; `statement` is then in English, which all models read."""

    id: str
    name: str
    statement: str
    stance: Stance
    contrary: str
    origin: Literal["question", "sources", "person", "model"]
    local: NotRequired[str]


def local_statement(perspective: Perspective) -> str:
    """Returns the statement in the question's language."""
    return perspective.get("local") or perspective["statement"]


def shown_sides(perspectives: list[Perspective]) -> list[dict[str, object]]:
    """Returns the perspectives as a person sees them, with statements in the question's language."""
    return [{**{k: v for k, v in p.items() if k != "local"}, "statement": local_statement(p)} for p in perspectives]


OTHER_WAYS = "rest"
"""The id of the perspective for all other proposals."""
ANSWER_WORDS = frozenset(word for words in ANSWERS.values() for word in words)
"""Names of perspectives that answer the question. The statement of such a perspective is 'Yes: …?' or 'No: …?'."""


def is_answer(name: str, statement: str) -> bool:
    """Whether the perspective's name is an answer word and its statement repeats the question, as in 'Yes: …?'."""
    return name in ANSWER_WORDS and statement.startswith(f"{name}: ")


def judge_form(perspective: Perspective) -> Literal["statement", "answer"]:
    """Returns the form in which a judge reads the perspective."""
    planned = perspective["origin"] == "question" and is_answer(perspective["name"], perspective["statement"])
    return "answer" if planned else "statement"


class CounterTarget(TypedDict):
    """The target of a counter-argument: a claim of an earlier answer in the thread, or a whole perspective.

    question: the question of that answer. number: the citation that names the claim; 0 for a perspective. side,
    statement, stance: name, statement and stance of the claim's perspective. contrary: the opposing perspective, or
    None. language: the answer's language if it is not English; `question` is then in English, `asked` is in it, and
    `english` is the statement in English. written: whether a model wrote the claim.
    """

    question: str
    number: int
    text: str
    publisher: str
    side: str
    statement: str
    stance: Stance
    contrary: Perspective | None
    language: NotRequired[str]
    asked: NotRequired[str]
    english: NotRequired[str]
    written: NotRequired[bool]


QuotedStance = tuple[Perspective, str]
"""The perspective that a quotation supports, and the opposing statement (may be empty)."""


class FramingState(TypedDict):
    """The question as it was understood. question: the typed question, or the thread's question. alternatives: the
    options of a choice. focus: the topic that a follow-up asks about. claim: only for the form 'counter', the statement
    that the answer contradicts. Then the focus is the claim's text, and the best counter-arguments are similar to
    it. language: the question's language (ISO 639-1) if it is not English; then `question` is in English, and `asked`
    is the question in its language."""

    form: QuestionForm
    question: str
    alternatives: list[str]
    focus: str
    claim: NotRequired[str]
    language: NotRequired[str]
    asked: NotRequired[str]


def counter_framing(against: CounterTarget) -> FramingState:
    """Returns the framing of a counter-argument: the thread's question, with the claim as the focus."""
    asked, focus, claim = against["question"], against["text"], against["statement"]
    framing = FramingState(form="counter", question=asked, alternatives=[], focus=focus, claim=claim)
    if not against.get("language"):
        return framing
    return FramingState(**framing, language=against["language"], asked=against.get("asked", ""))


class PassageEvidence(TypedDict):
    """The passages that count for one perspective. ids: surest first. strongest: the highest probability.

    Before `write`, passages above the judge's threshold count. After `write`, passages with a quotable sentence count.
    """

    ids: list[int]
    strongest: float


class Coverage(PassageEvidence):
    """The coverage of a perspective. passages: count without copies. sources: count of independent sources."""

    status: CoverageStatus
    passages: int
    sources: int


class Claim(TypedDict):
    """A finished sentence with the passages that support it.

    support: the judge's probability for the perspective. role: 'crux' (the point on which the dispute depends) and
    'also' (sentences of no side) have no perspective. written: a model wrote the sentence; otherwise it is verbatim.
    evidence: for a written claim, the words of each cited passage that say it; set by `verify`. shown: the text with
    changes in square brackets; empty or missing without changes. objection: the claim argues against its perspective.
    reason: a word or two that name the reason. answers: the text of the opposing claim that the claim answers; set by
    `verify`. speakers: for a written claim, who says it in each passage, as the model names them; `verify` keeps a name
    only if the passage's document has its words. local: a written claim in the question's language, which the answer
    shows; `text` is then the same claim in English.
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
    answers: NotRequired[str]
    speakers: NotRequired[dict[int, str]]
    local: NotRequired[str]


def local_text(claim: Claim) -> str:
    """Returns a written claim in the question's language; a quotation unchanged."""
    return claim.get("local") or claim["text"]


def decontextualised(claim: Claim) -> str:
    """Returns the claim's text with changes in square brackets."""
    return claim.get("shown") or local_text(claim)


def in_case(claim: Claim) -> bool:
    return not claim.get("objection")


class ScoredQuote(TypedDict):
    """A verbatim sentence of a passage. shown: the sentence with changes in square brackets; empty without changes.
    support: the judge's probability for the perspective."""

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


class DroppedClaim(Claim):
    """A claim that verification left out, and the check that it failed."""

    check: FailedCheck


class StageNote(TypedDict):
    """A failure, replacement or omission that the answer reports.

    hint: the part of the message that helps only on this machine, as in `SteelmanError`. brief: a short message.
    """

    stage: StageName
    message: str
    hint: NotRequired[str]
    kind: NotRequired[NoteKind]
    brief: NotRequired[str]


STATE_VERSION = 4
"""The number increases if a change of `RunState` prevents older runs from continuing."""


class RunState(TypedDict, total=False):
    """The state of a run. Each comment names the stages that write the key; 'given' keys exist at the start."""

    version: int  # given: STATE_VERSION at the start of the run
    question: str  # given
    earlier: list[str]  # given: questions asked before in the thread, oldest first
    against: CounterTarget  # given: the target, if the question asks for counter-arguments
    opposed: str  # given: the quotation of no side, if the question asks what speaks against it
    framing: FramingState  # given if no model plans; otherwise frame
    perspectives: list[Perspective]  # frame, expand, judge, lookup: editable in `review`; none for a fact
    question_results: list[int]  # frame, expand: results of the search for the question itself
    queries: Annotated[
        dict[str, list[str]], by_key(merge_distinct)
    ]  # retrieve: per perspective, the queries that were tried
    candidates: Annotated[
        dict[str, list[int]], by_key(merge_distinct)
    ]  # retrieve, judge, lookup: per perspective, best first
    support: Annotated[dict[str, dict[int, float]], by_key(operator.or_)]  # judge: probability of arguing for
    opposition: Annotated[dict[str, dict[int, float]], by_key(operator.or_)]  # judge: probability of arguing against
    off_question: Annotated[list[int], merge_distinct]  # judge: passages about something else
    own_sentences: Annotated[dict[int, str], operator.or_]  # judge: the sentences that a near-copy alone has
    unjudged: int  # judge: passages that the budget or the deadline left out
    to_search: Literal["all", "web", "nothing"]  # judge: places where a further search can find new passages
    coverage: dict[str, Coverage]  # judge: from its scores; verify: from sentences and citations
    round: int  # requery: number of repeated searches
    next_queries: dict[str, list[str]]  # requery: queries for the next retrieve
    selected: dict[str, list[int]]  # select, lookup: per perspective, the passages to write from
    sentence_evidence: dict[str, PassageEvidence]  # write: per perspective, evidence from sentence scores
    document_stances: dict[str, list[int]]  # write: per perspective, a passage of each document that argues for it
    responses: list[ScoredResponse]  # write: groups with the most independent sources first
    drafts: list[Claim]  # write, lookup
    quotations: list[Claim]  # write: quotations that can replace a model's claims
    claims: list[Claim]  # verify
    translations: dict[str, str]  # verify: a model's unverified translation by quotation
    duplicate_of: dict[int, int]  # verify: maps a passage to the first passage with the same content
    dropped: list[DroppedClaim]  # verify
    notes: Annotated[list[StageNote], operator.add]  # any node
    intervals: Annotated[
        dict[str, list[tuple[float, float]]], by_key(operator.add)
    ]  # every node: start and end, by stage
    counts: Annotated[
        dict[str, float], by_key(operator.add)
    ]  # any node: passages judged, calls, tokens, cost, pages read, …
    judge: str  # judge, write, verify: the current judge; empty for the first judge
    scored_by: str  # judge: the judge whose scores `support` holds
    threshold: float  # judge: lowest probability with which a passage counts as support
    served_by: Annotated[dict[str, str], operator.or_]  # every node: provider by stage
    kinds: Annotated[list[EvidenceKind], merge_distinct]  # retrieve, lookup: kinds searched, if the internet was
    unread_pages: Annotated[dict[str, str], operator.or_]  # retrieve, lookup: unreadable web pages, and why
    foreign_documents: Annotated[dict[str, str], operator.or_]  # retrieve, judge, lookup: language by title
    failed_providers: Annotated[list[str], merge_distinct]  # every node: providers that failed and are not asked again


def uncovered_perspectives(state: RunState) -> list[Perspective]:
    """Returns the planned perspectives without enough passages. `requery` makes new queries for them."""
    coverage = state["coverage"]
    planned = (p for p in state["perspectives"] if p["id"] != OTHER_WAYS)
    return [p for p in planned if coverage[p["id"]]["status"] != "supported"]


def contrary_statements(state: RunState) -> dict[str, str]:
    """Maps each perspective id to the statement that the perspective opposes: the statement of its opposing
    perspective, otherwise the statement of the counter-argument's target, otherwise an empty text."""
    statements = {p["id"]: p["statement"] for p in state.get("perspectives", [])}
    target = state.get("against")
    against = (target.get("english") or target["statement"]) if target else ""
    return {p["id"]: statements.get(p["contrary"], against) for p in state.get("perspectives", [])}


def topic_of(framing: FramingState) -> str:
    """Returns the topic that a follow-up asks about; empty for other questions and for counter-arguments."""
    return "" if framing["form"] == "counter" else framing["focus"]


def with_focus(text: str, focus: str) -> str:
    """Returns the text with the focus added. If the text already contains the focus's words, it stays unchanged."""
    present, wanted = map(set, map(analyzer().analyze, (text, focus)))
    return text if wanted <= present else f"{text} {focus}"


def asked_query(framing: FramingState) -> str:
    """Returns the search query: the question with a follow-up's focus."""
    return with_focus(framing["question"], framing["focus"])


class BranchState(TypedDict):
    """The input of one `retrieve` branch."""

    perspective: Perspective
    queries: list[str]
    known: NotRequired[dict[str, list[int]]]  # results of queries that were searched before
    share: int  # number of parallel branches, which divide the budget
    counts: dict[str, float]
    failed_providers: list[str]
    web_only: NotRequired[bool]  # all passages of the store were read already
    framing: NotRequired[FramingState]


def repeats_target(state: RunState, text: str) -> bool:
    """Whether a text repeats the claim that the question wants to see opposed, so that it is no reply to the claim."""
    target = state["against"]["text"] if "against" in state else state.get("opposed", "")
    return bool(target) and overlaps(text, target)
