"""The public result of a run, for the command line, the page, programs and evals."""

import json
from collections.abc import Iterable, Mapping
from typing import Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from agent.limits import STRONG_CLAIMS, STRONG_SOURCES
from agent.state import CoverageStatus, Role, Stance
from tools.errors import StoreError
from tools.passages import WEB, EvidenceKind, kind_of_evidence

SCHEMA_VERSION: Literal["4.2"] = "4.2"

Outcome = Literal["answered", "nothing_found", "no_sides", "retrieved"]
"""'answered': a side has a case (claims that clearly argue for the side). 'no_sides': only `also` has sentences.
'retrieved': only passages were wanted."""
Strength = Literal["strong", "some", "weak", "none"]
NotQuoted = Literal["", "no_claim", "repeats", "no_side", "off_question", "unread"]
"""Why a document is not quoted; `AnswerDocument` explains the words. Documents are listed in this order."""
LEAD_NOTE_KINDS = ("not_found", "corrected")
"""The kinds of notes that stand above the sides: nothing was found, or a reader changed the answer."""
FOOTER_NOTE_KINDS = ("skipped", "failed", "late", "unjudged", "degraded")
"""Kinds of notes in the line below the answer, in this order. `--explain` shows notes of all kinds."""


class AnswerModel(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


def shared_fields(known: object, part: type[AnswerModel]) -> dict[str, Any]:
    """Returns the fields that a mapping or an object has in common with the class."""
    if isinstance(known, Mapping):
        return {name: known[name] for name in part.model_fields if name in known}
    return {name: getattr(known, name) for name in part.model_fields if hasattr(known, name)}


class AnswerClaim(AnswerModel):
    """A finished sentence and the numbers of the citations that support it.

    `quoted`: the source contains the sentence word for word. Otherwise a model wrote the sentence, and the citations'
    quotes support it. `shown`: the text with changes in square brackets; empty if nothing was changed. `speaker`: the
    person who is quoted; for a model's sentence, the speakers whom the model names, separated by '; '. `reason`: a word
    or two that name the claim's reason, or empty. `answers`: numbers of the opposing citations that the claim replies
    to. `answered_by`: texts of the claims that reply to this claim. `evidence`: the quotations that support a model's
    sentence. The JSON omits both if empty.
    """

    text: str
    citations: list[int]
    role: Role = "case"
    quoted: bool = True
    shown: str = ""
    speaker: str = ""
    reason: str = ""
    answers: list[int] = Field(default_factory=list)
    answered_by: list[str] = Field(default_factory=list, exclude_if=lambda texts: not texts)
    evidence: list[str] = Field(default_factory=list, exclude_if=lambda quotes: not quotes)


class ResponseSentence(AnswerModel):
    """A sentence of a passage, word for word. `support` is the judge's probability that it argues for the side.

    `shown` is the sentence with changes in square brackets; empty if nothing was changed. `speaker` says the sentence.
    """

    text: str
    shown: str = ""
    speaker: str = ""
    passage_id: int
    support: float


class DocumentResponse(AnswerModel):
    """One document's answer: a thesis and up to three sentences of evidence for the thesis, the most relevant first.

    `citation` is the number under which a claim cites the thesis's speaker in this document; null without such a claim.
    """

    document_id: str
    collection: str
    title: str
    publisher: str
    url: str
    citation: int | None
    thesis: ResponseSentence
    evidence: list[ResponseSentence]


class ResponseGroup(AnswerModel):
    """Documents with similar theses, and the number of their independent sources."""

    sources: int
    responses: list[DocumentResponse]


class AnswerPerspective(AnswerModel):
    """One side with its case (the claims that clearly argue for the side). `status` says how much evidence the side
    has. `contrary` is the opposing side's id.

    `groups` are the answers of the side's documents; the group with the most sources comes first. A side without an
    opposing side can have `objections`, which argue against the side. `claims` does not include them. `english` is the
    statement in English, if it is in another language.
    """

    id: str
    name: str
    statement: str
    stance: Stance
    status: CoverageStatus
    claims: list[AnswerClaim]
    contrary: str = ""
    groups: list[ResponseGroup] = Field(default_factory=list)
    objections: list[AnswerClaim] = Field(default_factory=list)
    english: str = Field(default="", exclude_if=lambda statement: not statement)

    @property
    def all_claims(self) -> list[AnswerClaim]:
        return [*self.claims, *self.objections]


class Countered(AnswerModel):
    """The target of a counter-argument: a claim of the thread's earlier answer, or one whole side of that answer.

    `number` is the number of the citation in that answer; 0 for a side. `statement` is the side's statement.
    `publisher` is the first known of the citation's speaker, publisher and title. `written`: a model wrote the
    claim; the JSON omits it otherwise.
    """

    number: int
    text: str
    publisher: str
    side: str
    statement: str
    stance: Stance
    written: bool = Field(default=False, exclude_if=lambda written: not written)


class _Location(AnswerModel):
    """The place of words in their document: `page` to `last_page` (0 without pages), and the heading above the words.
    `speaker` says the words; without a known speaker, `speaker` is the document's author. An uncertain name begins with
    'probably '."""

    page: int = 0
    last_page: int = 0
    section: str = ""
    speaker: str = ""


class SourceFacts(AnswerModel):
    """The known facts about a document.

    `venue`: where a study appeared. `extent`: what was read of a document that a source on the internet gave whole:
    'abstract', 'full text', 'extract' or 'post'. The JSON omits both fields if they are empty.
    """

    collection: str
    title: str
    url: str
    publisher: str
    kind: str
    date: str
    venue: str = Field(default="", exclude_if=lambda venue: not venue)
    extent: str = Field(default="", exclude_if=lambda extent: not extent)

    @property
    def evidence_kind(self) -> EvidenceKind:
        return kind_of_evidence(self.kind, stored=self.collection != WEB)


class Quotation(_Location):
    """Verbatim words of a passage. `support` is the judge's probability that they argue for the claim's side."""

    passage_id: int
    quote: str
    support: float | None


class Citation(SourceFacts, _Location):
    """A numbered source. Each speaker of a document is a separate source. `quote` holds the words that were cited
    first; the location fields belong to these words. `more` holds the other cited words. `file`: for a row, the name of
    its table, if the row's id does not contain the name."""

    number: int
    passage_id: int
    document_id: str
    quote: str
    support: float | None
    sample: bool
    file: str = ""
    more: list[Quotation] = Field(default_factory=list)

    @property
    def quotations(self) -> list[Quotation]:
        """All cited words, the first included."""
        return [Quotation(**shared_fields(self, Quotation)), *self.more]


class DocumentStance(AnswerModel):
    """A document's stance on one side. 'against' occurs only for a side without an opposing side."""

    perspective: str
    argues: Literal["for", "against"]


class AnswerDocument(SourceFacts):
    """A document that the run found. `quoted`: the numbers of its citations. `not_quoted`: why it has no citations.

    'unread': no passage of the document was read. 'off_question': the document is about something else. 'no_side': the
    judge could not tell the document's side. 'repeats': the document says the same as another. 'no_claim': the document
    was read, but no claim cites it. `file` has the same meaning as in `Citation`.
    """

    id: str
    file: str = ""
    author: str = Field(default="", exclude_if=lambda name: not name)
    stances: list[DocumentStance]
    quoted: list[int]
    not_quoted: NotQuoted


def sort_documents(documents: Iterable[AnswerDocument]) -> list[AnswerDocument]:
    """Sorts documents: quoted documents by number, then documents with a side, then the others."""
    return sorted(documents, key=lambda d: (get_args(NotQuoted).index(d.not_quoted), d.quoted))


class CoverageLine(AnswerModel):
    """The evidence of one side in numbers. passages: count of passages that the case cites; if nothing was written,
    count of supporting passages found. sources: count of their independent sources. strongest: the highest support."""

    perspective: str
    status: CoverageStatus
    strength: Strength
    passages: int
    sources: int
    strongest: float
    queries: list[str]


class Note(AnswerModel):
    """A message for the reader: something failed, was not found or was dropped, or a reader changed the answer.

    `hint`: the part of the text that helps only on the machine that answered, such as a command to type. An answer that
    goes to another machine omits the hint. `brief`: a short form of a long text. The JSON omits both if empty.
    """

    kind: Literal[
        "failed", "not_found", "thin", "dropped", "unjudged", "balance", "scope", "degraded", "late", "skipped",
        "corrected",
    ]  # fmt: skip
    text: str
    hint: str = Field(default="", exclude_if=lambda hint: not hint)
    brief: str = Field(default="", exclude_if=lambda brief: not brief)


class Usage(AnswerModel):
    """The cost of the run. Embedded providers use no tokens.

    `calls` counts requests to models and search engines. `pages` counts the web pages that were read. `cost_usd` is the
    price of the models' tokens; null if the price of a model is not known.
    """

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = 0.0
    passages_judged: int = 0
    pages: int = 0


class Answer(AnswerModel):
    """The answer to one question.

    `neutral_question` is the question that was searched for. A follow-up with a focus has its thread's question here.
    `focus` is the topic that a follow-up asks about, such as "the cost". `against` is the claim or side that a
    follow-up wants to see opposed. `crux` names the point on which the dispute depends. A model writes the crux with
    citations of at least two sides; the crux is verified like a claim. `also` holds the sources' sentences on the
    question whose side is not known, the best fit to the question first. `gaps` holds sentences in which the sources
    name a gap in the evidence, for the debate sheet. Such a sentence alone does not make its document count as quoted.
    The JSON omits `gaps` if empty. `kinds` are the kinds of sources that were searched; the JSON omits the field if the
    internet was not searched.

    `language` (ISO 639-1) is the question's language if a chat model answered in it; empty for English. `english` is
    then the question in English. `translations` maps quotations to a model's translations into this language, which
    nothing has verified. The JSON omits these fields if they are empty.
    """

    schema_version: Literal["4.2"] = SCHEMA_VERSION
    run_id: str
    question: str
    neutral_question: str
    focus: str = ""
    against: Countered | None = None
    outcome: Outcome
    summary: str
    crux: AnswerClaim | None = None
    perspectives: list[AnswerPerspective]
    also: list[AnswerClaim] = Field(default_factory=list)
    gaps: list[AnswerClaim] = Field(default_factory=list, exclude_if=lambda claims: not claims)
    citations: list[Citation]
    documents: list[AnswerDocument] = Field(default_factory=list)
    kinds: list[EvidenceKind] = Field(default_factory=list, exclude_if=lambda kinds: not kinds)
    coverage: list[CoverageLine]
    notes: list[Note]
    nearest_questions: list[str] = Field(default_factory=list)
    providers: dict[str, str]
    timings: dict[str, float]
    usage: Usage
    language: str = Field(default="", exclude_if=lambda code: not code)
    english: str = Field(default="", exclude_if=lambda question: not question)
    translations: dict[str, str] = Field(default_factory=dict, exclude_if=lambda texts: not texts)

    @property
    def english_question(self) -> str:
        return self.english or self.neutral_question

    @model_validator(mode="before")
    @classmethod
    def _upgrade(cls, stored: Any) -> Any:
        """Accepts schema 4.1, the one of the store's first revision: it lacks only optional fields."""
        old = isinstance(stored, dict) and stored.get("schema_version") == "4.1"
        return stored | {"schema_version": SCHEMA_VERSION} if old else stored

    @field_validator("perspectives")
    @classmethod
    def _in_order(cls, sides: list[AnswerPerspective]) -> list[AnswerPerspective]:
        """Sorts sides: Yes is left of No, or above it."""
        return sorted(sides, key=lambda side: get_args(Stance).index(side.stance))


def answer_from_json(stored: str) -> Answer:
    """Returns an answer from its JSON. Raises StoreError for another schema."""
    try:
        return Answer.model_validate_json(stored)
    except ValidationError as exc:
        raise StoreError("this answer was stored by another version of Steelman. Ask the question again.") from exc


def side_strength(sources: int, shown: int) -> Strength:
    """Returns the word for a side's evidence: 'none' without claims, 'weak' with one source, 'strong' with at least
    STRONG_SOURCES independent sources and at least STRONG_CLAIMS claims, otherwise 'some'."""
    if not (sources and shown):
        return "none"
    if sources == 1:
        return "weak"
    return "strong" if sources >= STRONG_SOURCES and shown >= STRONG_CLAIMS else "some"


if __name__ == "__main__":  # python -m agent.answer.model > docs/answer.schema.json
    print(json.dumps(Answer.model_json_schema(), indent=2))
