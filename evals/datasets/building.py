"""What benchmark questions and news events are made of, and what a chat model is asked to make them, as BERDS' (§4.1,
A.1) and NEWSCOPE's (A.3) were made. The prompts are the project's own words, `prompts/build_*.md`."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, Field, create_model

from agent.stages.stage import ask_model
from evals.datasets.rows import Shape, Text, json_rows
from evals.models import question_of
from evals.reports.records import Record
from prompts import as_data, one_line
from tools.errors import InputError, ProviderReplyError
from tools.language.sentences import cut_passages
from tools.models.chat.model import ChatModel

VOTES = 3
"""How often it is asked whether a paragraph is relevant (NEWSCOPE, A.3)."""
NEAR = 0.6
"""The mean cosine from which articles are of one event: one that rather splits an event than joins two."""
_ARTICLES, _CHARACTERS = 8, 2000  # of an event that the headline is written from, and of each of them
_WORDS = 350  # about the 512 tokens at which NEWSCOPE cuts paragraphs


class Line(Shape):
    topic: str = ""


class Opposed(Line):  # as Arguana has two arguments
    first: Text
    second: Text


class SurveyItem(Line):  # as OpinionQA has them, the choices from one end of the scale to the other
    question: Text
    choices: Annotated[list[Text], Field(min_length=2)]


class Answered(Line):  # as Kialo has the answers that people give
    question: Text
    answers: Annotated[list[Text], Field(min_length=2)]


class Article(Line):
    id: Text  # best its address
    text: Text
    title: str = ""
    source: str = ""
    date: str = ""  # as it stands, for whoever writes the headline


def read_lines(path: Path, shape: type[Line]) -> dict[str, Any]:
    """An article by its id, another by 'line 1' and so on. Raises InputError with file, line and field, and for no
    lines."""
    found, seen = dict[str, Any](), dict[str, int]()
    for row in json_rows(path):
        line = row.read(shape)
        row.once("id", key := getattr(line, "id", f"line {row.number}"), seen)
        found[key] = line
    if not found:
        raise InputError(f"{path} holds no lines. Add some, or name another file.")
    return found


def _yes_or_no(text: str) -> str:
    if not text.rstrip().endswith("?") or question_of(text).kind in ("open", "plain"):
        raise ValueError("it is no question for yes or no")
    return one_line(text)


_Sentence = Annotated[str, Field(min_length=1), AfterValidator(one_line)]
_YesNo = Annotated[str, AfterValidator(_yes_or_no)]


async def _reply(model: ChatModel, prompt: str, wanted: dict[str, Any], **shown: str) -> list[Any]:
    """What the model says to a prompt: the values of these fields, of these types. Raises ProviderError."""
    fields: dict[str, Any] = {name: (kind, ...) for name, kind in wanted.items()}
    return list((await ask_model(model, prompt, create_model("Reply", **fields), **shown)).model_dump().values())


def _made(line: Line, question: str, perspectives: list[str]) -> Record:
    if len({p.casefold().rstrip(".") for p in perspectives}) < len(perspectives):
        raise ProviderReplyError(f"two perspectives on '{question}' are the same.")
    return {"question": question, "perspectives": perspectives, "topic": line.topic}


async def from_pair(pair: Opposed, model: ChatModel) -> Record:
    """The question that two arguments disagree about; of the question alone a statement and its negation."""
    first, second = as_data("argument", pair.first), as_data("argument", pair.second)
    [question] = await _reply(model, "build_question", {"question": _YesNo}, first=first, second=second)
    wanted = {"statement": _Sentence, "negation": _Sentence}
    return _made(pair, question, await _reply(model, "build_sides", wanted, question=as_data("question", question)))


async def from_survey(item: SurveyItem, model: ChatModel) -> Record:
    """A question between the first and the last choice, and both sides; or why the item is left out, since it asks for
    experiences or for facts about the person who answers."""
    shown, choices = as_data("item", item.question), [as_data("choice", c) for c in item.choices]
    wanted: dict[str, Any] = {"personal": bool, "why": _Sentence}
    personal, why = await _reply(model, "build_filter", wanted, item=shown, choices="\n".join(choices))
    if personal:
        return {"left_out": why}
    wanted = {"question": _YesNo, "positive": _Sentence, "negative": _Sentence}
    question, *sides = await _reply(model, "build_survey", wanted, item=shown, first=choices[0], last=choices[-1])
    return _made(item, question, sides)


async def from_answers(item: Answered, model: ChatModel) -> Record:
    """A statement for each answer, in the form of the question, which stays as it is."""
    wanted = {f"statement_{n}": _Sentence for n in range(1, len(item.answers) + 1)}
    answers, question = "\n".join(as_data("answer", a) for a in item.answers), as_data("question", item.question)
    return _made(item, item.question, await _reply(model, "build_answers", wanted, question=question, answers=answers))


async def headline_of(articles: Sequence[Article], model: ChatModel) -> Record:
    """One sentence that names the event of these articles."""
    about = [(a.text[:_CHARACTERS], {"title": a.title, "source": a.source, "date": a.date}) for a in articles]
    shown = "\n\n".join(as_data("article", text, **more) for text, more in about[:_ARTICLES])
    [headline] = await _reply(model, "build_headline", {"headline": _Sentence}, articles=shown)
    return {"headline": headline}


async def votes_on(headline: str, paragraph: str, model: ChatModel) -> Record:
    """Votes on whether the paragraph is relevant; they differ as far as the model's temperature lets them."""
    shown = {"headline": as_data("headline", headline), "paragraph": as_data("paragraph", paragraph)}
    said = [await _reply(model, "build_relevance", {"relevant": bool}, **shown) for _ in range(VOTES)]
    return {"votes": [relevant for [relevant] in said]}


def paragraphs_of(event: str, articles: Sequence[Article]) -> dict[str, str]:
    """The paragraphs by an id that holds the event and the article's address, or one made of its source and id, since
    the layout has no other place for a source. What stands between empty lines is one, or a line where there are none;
    what is too long is cut between sentences."""
    found: dict[str, str] = {}
    for one in articles:
        host = re.sub(r"[\W_]+", "-", one.source).strip("-") or "unknown"
        address = one.id if "://" in one.id else f"news://{host}/{one.id}"
        parts = re.split(r"\n\s*\n", one.text.strip())
        texts = parts if parts[1:] else one.text.split("\n")
        pieces = (piece for text in texts for piece in cut_passages(text, _WORDS))
        found |= {f"{event}_{address}_p{number}": piece for number, piece in enumerate(pieces, start=1)}
    return found
