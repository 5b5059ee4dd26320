"""The public result of a run, for the command line, the page, programs and evals."""

import json
from collections.abc import Iterable, Mapping
from typing import Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from agent.limits import STRONG_CLAIMS, STRONG_SOURCES

SCHEMA_VERSION: Literal["4.1"] = "4.1"

Outcome = Literal["answered", "nothing_found", "no_sides", "retrieved"]
"""'answered': a side has a case. 'no_sides': only `also` has any. 'retrieved': the run ended with its passages."""
Status = Literal["supported", "thin", "not_found"]
Strength = Literal["strong", "some", "weak", "none"]
NotQuoted = Literal["", "no_claim", "repeats", "no_side", "off_question", "unread"]
"""Why a document is not quoted, in the order in which documents are listed; see `AnswerDocument`."""
STANCES = ("supports", "opposes", "other")
"""Stances in the order of sides: Yes is left of No, or above it."""
LEAD_NOTE_KINDS = ("not_found", "corrected")
"""The kinds of notes that stand above the sides: nothing was found, or a reader changed the answer."""
FOOTER_NOTE_KINDS = ("skipped", "failed", "late", "unjudged", "degraded")
"""Kinds of notes in the line below the answer, in this order; `--explain` shows all."""

_EARLIER = ("2.0", "3.0", "4.0")
_DROPPED_FIELDS = ("tier", "leaning", "copies", "chosen", "plain")
_RENAMED_VALUES = {("role", "plain"): "also", ("status", "leaning"): "not_found", ("strength", "unsure"): "none"}


def _with_current_names(part: Any) -> Any:
    """Returns a part of a stored answer with this schema's names."""
    if isinstance(part, list):
        return [_with_current_names(item) for item in part]
    if not isinstance(part, dict):
        return part
    return {
        "passages_judged" if name == "pairs_judged" else name: _RENAMED_VALUES.get((name, value), value)
        if isinstance(value, str)
        else _with_current_names(value)
        for name, value in part.items()
        if name not in _DROPPED_FIELDS
    }


class AnswerModel(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


def shared_fields(known: object, part: type[AnswerModel]) -> dict[str, Any]:
    """Returns the fields that a mapping or an object has in common with the class."""
    if isinstance(known, Mapping):
        return {name: known[name] for name in part.model_fields if name in known}
    return {name: getattr(known, name) for name in part.model_fields if hasattr(known, name)}


class AnswerClaim(AnswerModel):
    """A finished sentence and the numbers of the citations that it stands on.

    `quoted`: it stands in its source word for word; otherwise a model wrote it, or it is a crux, and the citations'
    quotes say it. `shown`: the text with what was changed in square brackets, empty where it stands alone. `speaker`:
    whose words are quoted; empty of what a model wrote. `reason`: a word or two for it, or nothing. `answers`: numbers
    of the opposing citations that it replies to. `answered_by`: texts of claims that reply to it, in JSON if any.
    `evidence`: the quotations that say what a model wrote, in JSON if any.
    """

    text: str
    citations: list[int]
    role: Literal["thesis", "case", "also", "crux"] = "case"
    quoted: bool = True
    shown: str = ""
    speaker: str = ""
    reason: str = ""
    answers: list[int] = Field(default_factory=list)
    answered_by: list[str] = Field(default_factory=list, exclude_if=lambda texts: not texts)
    evidence: list[str] = Field(default_factory=list, exclude_if=lambda quotes: not quotes)


class ResponseSentence(AnswerModel):
    """A sentence that stands in its passage word for word, and the judge's probability for its side.

    `shown` is the same with what was changed in square brackets, empty where it stands alone; `speaker` says it.
    """

    text: str
    shown: str = ""
    speaker: str = ""
    passage_id: int
    support: float


class DocumentResponse(AnswerModel):
    """What one document answers: a thesis, and up to three sentences of evidence for it, the most relevant first.

    `citation` is the number under which a claim cites the thesis's speaker in this document, else null.
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
    """Documents whose theses are near each other, and how many independent sources stand behind them."""

    sources: int
    responses: list[DocumentResponse]


class AnswerPerspective(AnswerModel):
    """One side with its case. `status` counts evidence; `contrary` is the id of the side that says the opposite.

    `groups` are what its documents answer, those with the most sources behind them first. `objections` argue against a
    side without a contrary one, and are no part of its `claims`.
    """

    id: str
    name: str
    statement: str
    stance: Literal["supports", "opposes", "other"]
    status: Status
    claims: list[AnswerClaim]
    contrary: str = ""
    groups: list[ResponseGroup] = Field(default_factory=list)
    objections: list[AnswerClaim] = Field(default_factory=list)

    @property
    def all_claims(self) -> list[AnswerClaim]:
        return [*self.claims, *self.objections]


class Countered(AnswerModel):
    """What a follow-up asked to be argued against: a claim of the thread's earlier answer, or a whole side of it.

    `number` is the citation's in that answer, 0 for a side. The side says `statement`. `publisher`: or the speaker.
    """

    number: int
    text: str
    publisher: str
    side: str
    statement: str
    stance: Literal["supports", "opposes", "other"]


class _Location(AnswerModel):
    """Where words stand in their document: `page` to `last_page`, 0 where it has none; the heading above them.
    `speaker` says them, or else the document's author; a name that is not certain begins with 'probably '."""

    page: int = 0
    last_page: int = 0
    section: str = ""
    speaker: str = ""


class SourceFacts(AnswerModel):
    """What is known of a document."""

    collection: str
    title: str
    url: str
    publisher: str
    kind: str
    date: str


class Quotation(_Location):
    """Words of a passage that a claim stands on, verbatim; `support` is the judge's probability for its side."""

    passage_id: int
    quote: str
    support: float | None


class Citation(SourceFacts, _Location):
    """A source, once, with its number; a document in which several people speak has one for each of them. `quote` is
    what was cited of it first, with where it stands; `more` is what else was. `file`: the table that it is a row of,
    where its id does not say."""

    number: int
    passage_id: int
    document_id: str
    quote: str
    support: float | None
    sample: bool
    file: str = ""
    more: list[Quotation] = Field(default_factory=list)


class DocumentStance(AnswerModel):
    """What a document argues about one side. Against a side with a contrary one it argues for the contrary."""

    perspective: str
    argues: Literal["for", "against"]


class AnswerDocument(SourceFacts):
    """A document that the run found, once. `quoted`: the numbers of its citations. `not_quoted`: why there are none.

    'unread': no passage was read. 'off_question': it is about something else. 'no_side': the judge could not tell its
    side. 'repeats': it says the same as another. 'no_claim': no claim cites what it argues. `file` as in `Citation`.
    """

    id: str
    file: str = ""
    author: str = Field(default="", exclude_if=lambda name: not name)
    stances: list[DocumentStance]
    quoted: list[int]
    not_quoted: NotQuoted


def sort_documents(documents: Iterable[AnswerDocument]) -> list[AnswerDocument]:
    """Returns quoted documents by number, then those with a side, then the others."""
    return sorted(documents, key=lambda d: (get_args(NotQuoted).index(d.not_quoted), d.quoted))


class CoverageLine(AnswerModel):
    """The ledger's line of one side. passages, sources: the passages that its case cites, and their independent
    sources; where nothing was written, those that were found. strongest: the best support."""

    perspective: str
    status: Status
    strength: Strength
    passages: int
    sources: int
    strongest: float
    queries: list[str]


class Note(AnswerModel):
    """Something that the reader should know: what failed, what was not found, what was dropped, what a reader changed.

    `hint`: the part of the text that only helps at the keyboard of the machine that answered, such as a command to
    type; left out of the JSON where there is none, and of an answer that goes elsewhere. `brief`: the text in a few
    words, where it is long; left out of the JSON where there is none.
    """

    kind: Literal[
        "failed", "not_found", "thin", "dropped", "unjudged", "balance", "scope", "degraded", "late", "skipped",
        "corrected",
    ]  # fmt: skip
    text: str
    hint: str = Field(default="", exclude_if=lambda hint: not hint)
    brief: str = Field(default="", exclude_if=lambda brief: not brief)


class Usage(AnswerModel):
    """What the run spent. Embedded providers cost no tokens.

    `calls` are those to models and search engines, `pages` the web pages read. `cost_usd` is the price of the models'
    tokens, null where a model was used whose price is not known.
    """

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = 0.0
    passages_judged: int = 0
    pages: int = 0


class Answer(AnswerModel):
    """The answer to one question.

    `neutral_question` is what was searched for: the question as it was typed, of a follow-up that of its thread, of one
    in another language its English. `focus` is what a follow-up narrows it to, such as "the cost"; `against` is what it
    wants argued against. `crux` says what the dispute turns on, with citations of both sides: a model's sentence,
    verified as its claims are. `also` are sentences of sources on the question whose side is not known, the best fit
    first.
    """

    schema_version: Literal["4.1"] = SCHEMA_VERSION
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
    citations: list[Citation]
    documents: list[AnswerDocument] = Field(default_factory=list)
    coverage: list[CoverageLine]
    notes: list[Note]
    nearest_questions: list[str] = Field(default_factory=list)
    providers: dict[str, str]
    timings: dict[str, float]
    usage: Usage

    @model_validator(mode="before")
    @classmethod
    def _upgrade(cls, stored: Any) -> Any:
        """Returns an answer of an earlier schema in this one. Its claims that only leaned to a side move to `also`."""
        if not isinstance(stored, dict) or stored.get("schema_version") not in _EARLIER:
            return stored
        unsure = [c for side in stored["perspectives"] for c in side["claims"] if c.get("tier") == "leaning"]
        sides = [{**s, "claims": [c for c in s["claims"] if c not in unsure]} for s in stored["perspectives"]]
        also = stored.get("also") or stored.get("plain") or []
        also = [*also, *({**claim, "role": "also"} for claim in unsure)]
        return _with_current_names(stored | {"schema_version": SCHEMA_VERSION, "perspectives": sides, "also": also})

    @field_validator("perspectives")
    @classmethod
    def _in_order(cls, sides: list[AnswerPerspective]) -> list[AnswerPerspective]:
        """Sorts sides: supporting, opposing, other."""
        return sorted(sides, key=lambda side: STANCES.index(side.stance))


def side_strength(sources: int, shown: int) -> Strength:
    """Returns the word for a side's evidence: 'weak' with one source, 'strong' from STRONG_SOURCES independent
    sources and STRONG_CLAIMS claims, otherwise 'some'."""
    if not (sources and shown):
        return "none"
    if sources == 1:
        return "weak"
    return "strong" if sources >= STRONG_SOURCES and shown >= STRONG_CLAIMS else "some"


if __name__ == "__main__":  # python -m agent.answer.model > docs/answer.schema.json
    print(json.dumps(Answer.model_json_schema(), indent=2))
