"""Expand: finds the perspectives on the question. Review: lets a person edit the perspectives.

With a chat model, `frame` has planned the perspectives in the request that reads the question. Without a model, the
perspectives are the answers that the question names. For an open question they come from a first search's passages.
"""

import asyncio
import re
from collections.abc import Sequence
from itertools import count
from textwrap import shorten
from typing import Annotated, cast, get_args

import numpy as np
from langgraph.runtime import Runtime
from langgraph.types import interrupt
from numpy.typing import NDArray
from pydantic import BaseModel, BeforeValidator, Field

from agent import limits
from agent.evidence.coverage import search_store
from agent.options import RunOptions, check_question, run_options
from agent.providers.inference import Models
from agent.stage_interfaces import Expander, Framer, Plan, Planner, Providers
from agent.stages.stage import IN_ENGLISH, ModelFallback, ask_model, report, run_id, stage
from agent.state import (
    OTHER_WAYS,
    FramingState,
    Perspective,
    RunState,
    Stance,
    asked_query,
    local_statement,
    shown_sides,
)
from prompts import as_data, one_line
from tools.budget import current_log, in_time
from tools.errors import DeadlineError, InputError, ProviderDownError, ProviderReplyError
from tools.language.grounding import content_overlap
from tools.language.identification import code_of_language, is_english, question_words, reads_as_english
from tools.language.lexicon import AUXILIARIES, KEYWORD_STOP_WORDS, analyzer, bare_word
from tools.language.question import ANSWERS, Kind, same_polarity, takes_no_side
from tools.language.quotable import is_self_contained
from tools.language.reported_speech import people_speak
from tools.language.sentences import passage_sentences, split_sentences, without_list_mark
from tools.models.chat.model import ChatModel
from tools.passages import Passage, Sentence
from tools.selection import average_linkage
from tools.translation import tr


@stage("expand")
async def expand(providers: Providers, state: RunState, runtime: Runtime[RunOptions]) -> RunState:
    framing, options = state["framing"], run_options(runtime)
    # Counter-arguments need only the opposing perspective, if the earlier answer has one.
    contrary = state["against"]["contrary"] if "against" in state else None
    perspectives = [contrary] if contrary else state.get("perspectives")
    ids = state.get("question_results", [])
    try:
        if not ids:
            found, passages = await in_time(search_store(providers, asked_query(framing), options, run_id()))
            ids = found.ids
        if perspectives is None:
            expanding = providers.expand(framing, [passages[i] for i in ids])
            perspectives = await in_time(expanding)
    except DeadlineError as exc:
        if not ids and (elsewhere := providers.searched_elsewhere()):
            raise ProviderDownError(f"{elsewhere} did not answer in time. Try again when it does.") from exc
        no_sides, unsearched = tr("The sides could not be planned"), tr("The question itself was not searched")
        current_log().note("late", f"{no_sides if perspectives is None else unsearched}: {exc}")
    perspectives = perspectives or []
    planned = [{"id": p["id"], "name": p["name"], "statement": local_statement(p)} for p in perspectives]
    report(runtime, "sides", sides=planned)
    return RunState(perspectives=perspectives, question_results=ids)


async def expand_by_rules(models: Models, framing: FramingState, passages: Sequence[Passage]) -> list[Perspective]:
    """Returns the answers that the question names; for an open question, the answers that passages propose."""
    if framing["form"] == "counter":
        name = ANSWERS["polar"][1]
        statement = f"{name}: {framing.get('claim', '')}"
        return [Perspective(id="p1", name=name, statement=statement, stance="opposes", contrary="", origin="question")]
    if framing["form"] == "open":
        if people_speak([s.text for p in passages for s in passage_sentences(p)]):
            return []  # people speak for themselves here: their sentences are not answers to choose from
        return await mine_answers(models, framing["question"], passages)
    return sides_of_question(framing)


def sides_of_question(framing: FramingState) -> list[Perspective]:
    """Returns the sides that the question names: its answer words or its alternatives."""
    question, named = framing["question"], framing["alternatives"]
    names: Sequence[str] = named or ANSWERS.get(framing["form"]) or ()
    asked = framing.get("asked", "")
    pair = len(names) == 2  # an argument for one of two alternatives is against the other
    stances: list[Stance] = ["other"] * len(named) or ["supports", "opposes"]
    return [
        _with_local(
            Perspective(
                id=f"p{i}",
                name=name,
                statement=f"{name}: {question}",
                stance=stance,
                contrary=f"p{3 - i}" if pair else "",
                origin="question",
            ),
            f"{name}: {asked}" if asked else "",
        )
        for i, (name, stance) in enumerate(zip(names, stances, strict=False), start=1)
    ]


_CONDITION = re.compile(r"^(?:When|If|While|Although|Where|Unless|Once|As)\b[^,]*,\s*")
_REASON = re.compile(r",? (?:because|since|so that|for the reason|as long as)\b", re.IGNORECASE)
_ANSWERS = re.compile(
    r"(?<!who )(?<!which )(?<!that )\b(?:should|ought to|works? best|is best|best learned|"
    r"(?:best|surest|fastest|quickest|easiest|soundest|better|only|most \w+) (?:way|means|method|route|chance|policy|"
    r"answer|remedy|tool))\b",
    re.IGNORECASE,
)

_NEAR_QUESTION = 0.45  # least cosine of an answer to the question
_SAME_ANSWER = 0.6


async def mine_answers(models: Models, question: str, passages: Sequence[Passage]) -> list[Perspective]:
    """Returns the different answers to an open question. Each cluster of answering sentences gives one statement."""
    read = (s for p in passages[: limits.MINED_PASSAGES] for s in passage_sentences(p))
    alone = (s for s in read if is_self_contained(s.text) and not takes_no_side(s.text))
    sentences = [s for s in alone if _ANSWERS.search(_REASON.split(_CONDITION.sub("", s.text))[0])]  # main clauses
    if not sentences:
        return []
    vectors = await models.encode_sentences(sentences)
    nearness = vectors @ (await models.encode([question]))[0]
    centres = _centres(sentences, vectors, nearness)[: limits.MOST_MINED_ANSWERS]
    return [
        Perspective(id=f"p{i}", name=_name(s), statement=s, stance="other", contrary="", origin="sources")
        for i, s in enumerate(centres, start=1)
    ]


def _name(statement: str) -> str:
    words = statement.rstrip(".").split()
    return " ".join(words) if len(words) <= 7 else " ".join(words[:6]) + " …"


def _centres(sentences: Sequence[Sentence], vectors: NDArray[np.float32], nearness: NDArray[np.float32]) -> list[str]:
    """Clusters the sentences near the question and returns one sentence per cluster, best supported cluster first.

    Clusters are formed by average linkage at cosine _SAME_ANSWER. Clusters rank by their independent sources, then by
    their mean similarity to the question. From the central half of a cluster, the sentence most similar to the question
    is returned. vectors: unit vectors, (n, dimensions). nearness: cosine to the question, (n,).
    """
    kept = np.flatnonzero(nearness >= _NEAR_QUESTION)
    if len(kept) < 2:
        return [sentences[int(i)].text for i in kept]
    ranked: list[tuple[int, float, int]] = []
    for members in (kept[cluster] for cluster in average_linkage(vectors[kept] @ vectors[kept].T, _SAME_ANSWER)):
        sources = len({sentences[int(i)].passage.source for i in members})
        centrality = vectors[members] @ vectors[members].mean(axis=0)
        central = members[centrality >= np.median(centrality)]
        best = int(central[np.argmax(nearness[central])])
        ranked.append((sources, float(nearness[members].mean()), best))
    return [sentences[index].text for _, _, index in sorted(ranked, reverse=True)]


_LONGEST_LEAD = 180  # characters


def _lead_element(lead: Sentence) -> str:
    p = lead.passage
    given = without_list_mark(lead.text), p.title or p.document_id, p.said_by or p.publisher
    sentence, title, by = (shorten(text, _LONGEST_LEAD, placeholder=" …") for text in given)
    return as_data("lead", sentence, title=title, by=by, date=p.date)


class ContrarySide(BaseModel):
    """A model's reply: the side that contradicts a statement. english: for a question in another language."""

    name: str = Field(max_length=80)
    statement: str = Field(min_length=1, max_length=400)
    english: str = Field("", max_length=400, description=IN_ENGLISH)


class PlannedSide(ContrarySide):
    """A perspective in a model's plan."""

    stance: Annotated[Stance, BeforeValidator(lambda said: said if said in ("supports", "opposes") else "other")]


class PlannedQuestion(BaseModel):
    """A model's plan."""

    form: Kind
    question: str = Field(max_length=400)
    language: str = Field("", max_length=40)
    english: str = Field("", max_length=400, description=IN_ENGLISH)
    focus: str = Field("", max_length=400)
    perspectives: list[PlannedSide] = Field(default_factory=list, max_length=12)


async def ask_for_plan(
    model: ChatModel, question: str, earlier: Sequence[str] = (), leads: Sequence[Sentence] = ()
) -> PlannedQuestion:
    """Returns the model's plan. leads: example sentences of the documents. Raises ProviderReplyError if the planned
    question shares no word with the user's question. The answer shows the error message, which names the model."""
    before, shown = "\n".join(as_data("earlier_question", q) for q in earlier), "\n".join(map(_lead_element, leads))
    planned = await ask_model(
        model,
        "plan",
        PlannedQuestion,
        question=as_data("question", question),
        earlier=f"Asked before in this conversation, oldest first:\n{before}" if before else "",
        leads=f"What the documents speak of, a sentence from each:\n{shown}" if shown else "",
        most=str(limits.MOST_SIDES),
    )
    texts = " ".join([question, *earlier]), planned.question
    about, found = ({*analyzer().analyze(text)} - KEYWORD_STOP_WORDS for text in texts)
    # Other languages cannot be compared, because the model translates.
    fits = about & found or not about or not is_english(question_words(question))
    if planned.form != "none" and not (planned.question.strip() and fits):
        raise ProviderReplyError(f"{model.name} gave a question that shares no word with what was asked.")
    return planned


async def plan_by_chat(
    model: ChatModel, models: Models, question: str, earlier: Sequence[str], leads: Sequence[Sentence]
) -> Plan:
    planned = await ask_for_plan(model, question, earlier, leads)
    asked, focus, language, translated = map(
        one_line, (planned.question, planned.focus, planned.language, planned.english)
    )
    english = await asyncio.to_thread(reads_as_english, question)
    if english:  # a model may fill in what only other languages need
        translated, planned.perspectives = "", [s.model_copy(update={"english": ""}) for s in planned.perspectives]
    planned.question = translated or asked
    form = await _kind(models, planned, question if english else "", model.name)
    framing = FramingState(form=form, question=planned.question, alternatives=[], focus=focus)
    if not english and (code := await asyncio.to_thread(code_of_language, language, question)):
        # A model that translated the question all the same left only the typed question in its language.
        own = question if await asyncio.to_thread(reads_as_english, asked) else asked
        framing |= {"language": code, "asked": own}
    sides = await _sides(model, models, framing, planned.perspectives) if form not in ("plain", "none") else []
    return framing, sides


def with_embedded_plan(fallback: ModelFallback, by_chat: Planner, frame: Framer, expand: Expander) -> Planner:
    """Returns a planner that asks the model first. If the model fails, `frame` and `expand` replace it."""

    async def plan(question: str, earlier: Sequence[str], leads: Sequence[Sentence]) -> Plan:
        async def by_rules() -> Plan:
            if not any(kind == "degraded" for kind, _ in current_log().notes):  # the model was not asked
                check_question(question)
            english = await asyncio.to_thread(reads_as_english, question)
            framing = await frame(question, earlier) if english else await frame("", [])
            return framing, await expand(framing, [lead.passage for lead in leads])

        planned, failure = await fallback.call(lambda: by_chat(question, earlier, leads), by_rules)
        if planned[0]["form"] == "none" and failure:  # rules do not understand every wording
            raise ProviderDownError(f"{failure} It could not read the question.")
        served = current_log().served
        served["expand"] = served.get(fallback.stage, "")
        return planned

    return plan


async def _kind(models: Models, planned: PlannedQuestion, asked: str, model: str) -> Kind:
    """Returns the kind of question that the model named, or the classifier's if the model overlooked the sides.

    asked: the user's question; empty if it is not English. Raises ProviderReplyError if the user's question has sides
    but the model's question has none.
    """
    if planned.form not in ("open", "plain", "none"):
        return planned.form
    read, kind = (found.kind for found in await models.read_questions([planned.question, asked]))
    # The classifier may call 'hey, …, so how should it be paid for?' a yes/no question.
    sided = kind in ("polar", "choice") and bare_word(asked.split()[0]) in AUXILIARIES
    if planned.form == "plain" and planned.focus and not sided:
        return "plain"  # the planned question is the thread's question
    if read == "polar" or read == "choice":
        return read
    if sided or (planned.form == "none" and kind in ("claim", "topic")):
        raise ProviderReplyError(f"{model} took a question that asks for a side for another kind.")
    return planned.form


_SHORT = 3  # words; a first sentence with no more words is no statement
_LEADING = re.compile(r"^(?:yes|no)\s*[,.:;!–—-]+\s+(?!\d)", re.IGNORECASE)


async def _sides(
    model: ChatModel, models: Models, framing: FramingState, planned: Sequence[PlannedSide]
) -> list[Perspective]:
    """Returns the planned perspectives without repetitions. Raises ProviderReplyError if too few are left.

    For a yes/no question the list starts with the planned yes and no that are most similar to the question, because
    other planned statements are reasons. If the model left out the yes or the no, the bare answer ('Yes: …?' or 'No:
    …?') takes its place. All alternatives of a choice stay, because they may differ in one word only ('all week', 'on
    market days').
    """
    worded: dict[str, PlannedSide] = {}
    for side in map(_cleaned_side, planned):
        worded.setdefault(side.english.rstrip(".").casefold(), side)
    sides = [side for words, side in worded.items() if words]
    vectors = await models.encode([framing["question"], *(s.english for s in sides)])
    near, vectors = vectors[1:] @ vectors[0], vectors[1:]
    chosen: list[Perspective] = []
    for answer in sides_of_question(framing):
        mine = [i for i, s in enumerate(sides) if s.stance == answer["stance"] and near[i] >= limits.ANSWERS_QUESTION]
        nearest = sides[max(mine, key=lambda i: float(near[i]))] if mine else None
        chosen.append(_perspective(answer["id"], nearest, answer["contrary"]) if nearest else answer)
    kept: list[int] = []
    for i, side in enumerate(sides):
        if side.stance != "other" and framing["form"] in ANSWERS:
            continue
        near_kept = (j for j in kept if framing["form"] != "choice" and vectors[i] @ vectors[j] >= limits.SAME_SIDE)
        if same := next((sides[j] for j in near_kept if _says_the_same(side.english, sides[j].english)), None):
            names = {"name": side.name or side.statement, "other": same.name or same.statement}
            current_log().note(
                "scope", tr("‘{name}’ is not a side of its own: it is nearly the same as ‘{other}’.", **names)
            )
        else:
            kept.append(i)
            chosen.append(_perspective(f"p{len(chosen) + 1}", side.model_copy(update={"stance": "other"})))
    if len(chosen) < (1 if framing["form"] == "open" else 2):
        raise ProviderReplyError(f"{model.name} gave fewer than two different perspectives.")
    return chosen[: 2 + limits.MOST_OTHER_SIDES if framing["form"] in ANSWERS else limits.MOST_SIDES]


def _says_the_same(one: str, other: str) -> bool:
    """Whether two similar statements also share their words: 'It costs much' is near 'It costs little'."""
    shared = max(content_overlap(one, other), content_overlap(other, one))
    return shared >= limits.SAME_WORDS and same_polarity(one, other)


async def counter_by_chat(model: ChatModel, framing: FramingState, _: Sequence[Passage]) -> list[Perspective]:
    """Returns the side that contradicts a follow-up's claim. Raises ProviderReplyError if it repeats the claim."""
    claim = framing.get("claim", "")
    reply = await ask_model(
        model,
        "counter",
        ContrarySide,
        question=as_data("question", framing["question"]),
        statement=as_data("statement", claim),
        claim=as_data("claim", framing["focus"]),
    )
    known = {} if framing.get("language") else {"english": ""}
    side = _cleaned_side(PlannedSide(**{**dict(reply), **known}, stance="opposes"))
    if not side.statement or side.statement.rstrip(".").casefold() == claim.rstrip(".").casefold():
        raise ProviderReplyError(f"{model.name} gave no side that contradicts the claim.")
    return [_perspective("p1", side)]


def _perspective(number: str, side: PlannedSide, contrary: str = "") -> Perspective:
    name, statement, stance = side.name or side.statement, side.english, side.stance
    made = Perspective(id=number, name=name, statement=statement, stance=stance, contrary=contrary, origin="model")
    return _with_local(made, side.statement if side.statement != statement else "")


def _cleaned_side(side: PlannedSide) -> PlannedSide:
    """Returns the side without control characters, with its statement in English and in the question's language. Each
    becomes one sentence without a leading yes or no."""

    def cleaned(text: str) -> str:
        statement = _LEADING.sub("", one_line(text))
        first = next(iter(split_sentences(statement)), "")  # further sentences are reasons
        statement = first if len(first.split()) > _SHORT else statement
        return statement[:1].upper() + statement[1:]

    statement, english = cleaned(side.statement), cleaned(side.english or side.statement)
    return PlannedSide.model_construct(
        name=one_line(side.name), statement=statement, english=english, stance=side.stance
    )


def _with_local(perspective: Perspective, statement: str) -> Perspective:
    """Adds the statement in the question's language, if it is not empty."""
    return Perspective(**perspective, local=statement) if statement else perspective


SIDE_ID = re.compile(r"[A-Za-z0-9_-]{1,20}")
"""Valid ids of sides. Ids occur in addresses and in names on the page."""
SIDE_ID_RULE = "The id of a side has up to 20 letters, digits, - and _; 'rest' is taken."


async def review(_: Providers, state: RunState, runtime: Runtime[RunOptions]) -> RunState:
    if not run_options(runtime).review:
        return RunState()
    asked: dict[str, object] = {"sides": shown_sides(state["perspectives"])}
    while True:  # each interrupt has one reply; after an invalid reply the person is asked again
        try:
            return RunState(perspectives=reviewed_perspectives(interrupt(asked), state["perspectives"]))
        except InputError as exc:
            asked["error"] = str(exc)


def reviewed_perspectives(edited: object, planned: Sequence[Perspective] = ()) -> list[Perspective]:
    """Returns the perspectives as a person edited them. Raises InputError for an invalid list.

    planned: the perspectives that the person saw. A changed perspective gets the origin 'person'.
    """
    if not isinstance(edited, list) or not edited:
        raise InputError("at least one side is needed to search for. Send a list of sides, each with a statement.")
    if len(edited) > limits.MOST_REVIEWED_SIDES:
        raise InputError(
            f"at most {limits.MOST_REVIEWED_SIDES} sides can be searched for at once, not {len(edited)}. Drop some."
        )
    named = {str(given.get("id")) for given in edited if isinstance(given, dict)}
    perspectives = [_reviewed_perspective(i, given, named) for i, given in enumerate(edited, start=1)]
    shown = {p["id"]: p for p in planned}
    for at, s in enumerate(perspectives):
        if (seen := shown.get(s["id"])) and (seen["name"], local_statement(seen)) != (s["name"], s["statement"]):
            s["origin"] = "person"
        if seen and local_statement(seen) == s["statement"]:
            perspectives[at] = _with_local(Perspective(**{**s, "statement": seen["statement"]}), seen.get("local", ""))
    known = [s["id"] for s in perspectives]
    if twice := [i for i in known if known.count(i) > 1]:
        raise InputError(f"two sides have the id '{twice[0]}'. Give each its own, or leave the ids out.")
    perspectives.sort(key=lambda side: get_args(Stance).index(side["stance"]))  # Yes before No
    return [Perspective(**{**s, "contrary": s["contrary"] if s["contrary"] in known else ""}) for s in perspectives]


def _reviewed_perspective(number: int, edited: object, named: set[str]) -> Perspective:
    """Returns the perspective that a person edited. number: from 1. named: ids that a new id must not repeat."""
    given = edited if isinstance(edited, dict) else {}
    statement = " ".join(str(given.get("statement") or "").split())
    if not statement:
        raise InputError(f"side {number} has no statement. Give it a sentence that could be true or false.")
    stance, origin = given.get("stance", "other"), given.get("origin")
    if stance not in get_args(Stance):
        raise InputError(f"side {number} has the stance '{stance}'. It can be {', '.join(get_args(Stance))}.")
    own = str(given.get("id") or next(name for n in count(number) if (name := f"u{n}") not in named))
    named.add(own)
    if not SIDE_ID.fullmatch(own) or own == OTHER_WAYS:
        raise InputError(f"side {number} has an id that cannot be. {SIDE_ID_RULE} Send one, or leave it out.")
    return Perspective(
        id=own,
        name=str(given.get("name") or statement),
        statement=statement,
        stance=cast(Stance, stance),
        contrary=str(given.get("contrary") or ""),
        origin=origin if origin in ("question", "sources", "model") else "person",
    )
