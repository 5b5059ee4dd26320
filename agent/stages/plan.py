"""Plan: in one request a chat model reads the question and lists its perspectives.

It sees leads, which show what the documents speak of. Rules check the kind that it gives; near-duplicates are merged,
and a missing yes or no is added.
"""

import asyncio
import re
from collections.abc import Sequence
from textwrap import shorten
from typing import Literal

import numpy as np
from pydantic import BaseModel, Field, field_validator

from agent.models.inference import Models
from agent.models.providers import Framer, Plan, Planner
from agent.options import check_question
from agent.stages.expand import sides_of_question
from agent.stages.stage import Fallback, ask_model
from agent.state import FramingState, Perspective, Stance
from prompts import as_data, one_line
from tools.budget import current_log
from tools.errors import ProviderDownError, ProviderReplyError
from tools.language.identification import is_english, question_words, reads_as_english
from tools.language.lexicon import AUXILIARIES, core_of
from tools.language.polarity import same_polarity
from tools.language.question import ANSWERS, read_question
from tools.language.sentences import is_heading, passage_sentences, split_sentences
from tools.language.words import KEYWORD_STOP_WORDS, analyzer
from tools.models.chat.model import ChatModel
from tools.passages import Passage, Sentence

MOST_LEADS = 25
_LONGEST_LEAD, _LONGEST_NAME = 300, 100  # characters of a sentence; of a title or a name


async def leads_of(models: Models, query: str, passages: Sequence[Passage]) -> list[Sentence]:
    """Of each document's best passage the sentence nearest to the query; the passages are the best first."""
    best: dict[tuple[str, str], Passage] = {}
    for passage in passages:
        best.setdefault(passage.document, passage)
    first = [*best.values()][:MOST_LEADS]
    sentences = [s for p in first for s in passage_sentences(p) if not is_heading(s.text)]
    nearness = await models.encode_sentences(sentences) @ (await models.encode([query]))[0]
    nearest = {(s := sentences[int(i)]).passage.id: s for i in np.argsort(nearness)}
    return [nearest[p.id] for p in first if p.id in nearest]


def _shown(lead: Sentence) -> str:
    def short(text: str, most: int = _LONGEST_NAME) -> str:
        return shorten(text, most, placeholder=" …")

    p = lead.passage
    title, by = short(p.title or p.document_id), short(p.said_by or p.publisher)
    return as_data("lead", short(lead.text, _LONGEST_LEAD), title=title, by=by, date=p.date)


MOST_SIDES = 6
_LONGEST = 400  # characters of a question


class ContrarySide(BaseModel):
    """What the model is asked for where one statement is to be contradicted."""

    name: str = Field(max_length=80)
    statement: str = Field(min_length=1, max_length=400)


class PlannedSide(ContrarySide):
    """One perspective as the model is asked for it."""

    stance: Stance

    @field_validator("stance", mode="before")
    @classmethod
    def _other(cls, value: object) -> object:
        """Any word but the two is neither."""
        return value if value in ("supports", "opposes") else "other"


class PlannedQuestion(BaseModel):
    """What the model is asked for."""

    form: Literal["polar", "claim", "topic", "choice", "open", "plain", "none"]
    question: str = Field(max_length=_LONGEST)
    language: str = Field("", max_length=40)
    focus: str = Field("", max_length=_LONGEST)
    perspectives: list[PlannedSide] = Field(default_factory=list, max_length=12)


async def ask_for_plan(
    model: ChatModel, question: str, earlier: Sequence[str] = (), leads: Sequence[Sentence] = ()
) -> PlannedQuestion:
    """The model's reply. Raises ProviderReplyError for a question that shares no word with what was asked; the answer
    shows the message, so it names the model."""
    before, shown = "\n".join(as_data("earlier_question", q) for q in earlier), "\n".join(map(_shown, leads))
    planned = await ask_model(
        model,
        "plan",
        PlannedQuestion,
        question=as_data("question", question),
        earlier=f"Asked before in this conversation, oldest first:\n{before}" if before else "",
        leads=f"What the documents speak of, a sentence from each:\n{shown}" if shown else "",
        most=str(MOST_SIDES),
    )
    texts = " ".join([question, *earlier]), planned.question
    about, said = ({*analyzer().analyze(text)} - KEYWORD_STOP_WORDS for text in texts)
    # Of other languages nothing is known: the model has translated.
    fits = about & said or not about or not is_english(question_words(question))
    if planned.form != "none" and not (planned.question.strip() and fits):
        raise ProviderReplyError(f"{model.name} gave a question that shares no word with what was asked.")
    return planned


async def plan_by_chat(
    model: ChatModel, models: Models, question: str, earlier: Sequence[str], leads: Sequence[Sentence]
) -> Plan:
    """Plans the run by asking a model."""
    planned = await ask_for_plan(model, question, earlier, leads)
    asked, focus, language = map(one_line, (planned.question, planned.focus, planned.language))
    english = await asyncio.to_thread(reads_as_english, question)
    form = await asyncio.to_thread(_kind, planned, question if english else "", model.name)
    framing = FramingState(form=form, question=asked, alternatives=[], focus=focus)
    sides = await _sides(model, models, framing, planned.perspectives) if form not in ("plain", "none") else []
    return Plan(framing, sides, "" if english or language == "English" else language)


def plan_or_frame(fallback: Fallback, by_chat: Planner, rules: Framer) -> Planner:
    """Asks the model first; where it fails, rules frame the question and nothing is planned."""

    async def plan(question: str, earlier: Sequence[str], leads: Sequence[Sentence]) -> Plan:
        async def by_rules() -> Plan:
            check_question(question)  # they read English only
            return Plan(await rules(question, earlier), [], "")

        planned, failure = await fallback.call(lambda: by_chat(question, earlier, leads), by_rules)
        if planned.framing["form"] == "none" and failure:  # the rules read English, and not every wording
            raise ProviderDownError(f"{failure} It could not read the question.")
        if planned.perspectives:
            current_log().served["expand"] = fallback.model.name
        return planned

    return plan


_Form = Literal["polar", "claim", "topic", "choice", "open", "plain", "none"]


def _kind(planned: PlannedQuestion, asked: str, model: str) -> _Form:
    """The kind that the model gives, or that rules read where it overlooked that its question asks for a side. Raises
    ProviderReplyError where a question that does became another one. asked: empty where it is not English."""
    if planned.form not in ("open", "plain", "none"):
        return planned.form
    read, kind = read_question(planned.question).kind, read_question(asked).kind
    if read == "polar" or read == "choice":
        return read
    # Words in front of it can make 'so how should it be paid for?' look like a question of yes or no.
    sided = kind in ("polar", "choice") and core_of(asked.split()[0]) in AUXILIARIES
    if sided or (planned.form == "none" and kind in ("claim", "topic")):
        raise ProviderReplyError(f"{model} took a question that asks for a side for another kind.")
    return planned.form


_SAME = 0.9  # cosine at which two statements of one polarity say the same
_ON_IT = 0.6  # cosine of the question and a yes or no to it, at least
_SHORT = 3  # words; of so few the first sentence is none
_LEADING = re.compile(r"^(?:yes|no)\s*[,.:;!–—-]+\s+(?!\d)", re.IGNORECASE)


async def _sides(
    model: ChatModel, models: Models, framing: FramingState, planned: Sequence[PlannedSide]
) -> list[Perspective]:
    """The perspectives, each once. A question of yes or no has first, of those that say yes and of those that say no,
    the one nearest to it, since the others are reasons; what the model did not bring is the bare answer."""
    worded: dict[str, PlannedSide] = {}
    for side in map(_tidy, planned):
        worded.setdefault(side.statement.rstrip(".").casefold(), side)
    sides = [side for words, side in worded.items() if words]
    vectors = await models.encode([framing["question"], *(s.statement for s in sides)])
    near, vectors = vectors[1:] @ vectors[0], vectors[1:]
    chosen: list[Perspective] = []
    for answer in sides_of_question(framing):
        mine = [i for i, s in enumerate(sides) if s.stance == answer["stance"] and near[i] >= _ON_IT]
        said = sides[max(mine, key=lambda i: float(near[i]))] if mine else None
        chosen.append(_perspective(answer["id"], said, answer["contrary"]) if said else answer)
    kept: list[int] = []
    for i, side in enumerate(sides):
        same = (same_polarity(side.statement, sides[j].statement) for j in kept if vectors[i] @ vectors[j] >= _SAME)
        if (side.stance == "other" or framing["form"] not in ANSWERS) and not any(same):
            kept.append(i)
            chosen.append(_perspective(f"p{len(chosen) + 1}", side.model_copy(update={"stance": "other"})))
    if len(chosen) < (1 if framing["form"] == "open" else 2):
        raise ProviderReplyError(f"{model.name} gave fewer than two different perspectives.")
    return chosen[:MOST_SIDES]


async def counter_by_chat(model: ChatModel, framing: FramingState) -> list[Perspective]:
    """The one side that contradicts what a follow-up argues with. Raises ProviderReplyError for its echo."""
    claim = framing.get("claim", "")
    reply = await ask_model(
        model,
        "counter",
        ContrarySide,
        question=as_data("question", framing["question"]),
        statement=as_data("statement", claim),
        claim=as_data("claim", framing["focus"]),
    )
    side = _tidy(PlannedSide(**dict(reply), stance="opposes"))
    if not side.statement or side.statement.rstrip(".").casefold() == claim.rstrip(".").casefold():
        raise ProviderReplyError(f"{model.name} gave no side that contradicts the claim.")
    return [_perspective("p1", side)]


def _perspective(number: str, side: PlannedSide, contrary: str = "") -> Perspective:
    name, said, stance = side.name or side.statement, side.statement, side.stance
    return Perspective(id=number, name=name, statement=said, stance=stance, contrary=contrary, origin="model")


def _tidy(side: PlannedSide) -> PlannedSide:
    """The side without control characters, its statement one sentence without a yes or no in front."""
    statement = _LEADING.sub("", one_line(side.statement))
    first = next(iter(split_sentences(statement)), "")  # what follows it gives reasons
    statement = first if len(first.split()) > _SHORT else statement
    return PlannedSide.model_construct(
        name=one_line(side.name), statement=statement[:1].upper() + statement[1:], stance=side.stance
    )
