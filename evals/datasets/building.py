"""Input lines of the suite `build`, and its requests to the chat model, after BERDS (§4.1, A.1) and NEWSCOPE (A.3).

The prompts are this project's: `prompts/build_*.md`.
"""

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
"""Relevance votes on a paragraph (NEWSCOPE, A.3)."""
NEAR = 0.6
"""Mean cosine from which articles belong to one event. A high value: rather split an event than join two."""
_ARTICLES, _CHARACTERS = 8, 2000  # articles for a headline, characters of each
_WORDS = 350  # about 512 tokens, where NEWSCOPE cuts paragraphs


class InputLine(Shape):
    topic: str = ""


class Opposed(InputLine):  # as in Arguana
    first: Text
    second: Text


class SurveyItem(InputLine):  # as in OpinionQA; choices in the order of the scale
    question: Text
    choices: Annotated[list[Text], Field(min_length=2)]


class Answered(InputLine):  # as in Kialo
    question: Text
    answers: Annotated[list[Text], Field(min_length=2)]


class Article(InputLine):
    id: Text  # preferably its address
    text: Text
    title: str = ""
    source: str = ""
    date: str = ""  # free text for the headline


def read_lines(path: Path, shape: type[InputLine]) -> dict[str, Any]:
    """Articles by id, others by 'line 1' and so on. Raises InputError with file, line and field, and for an empty
    file."""
    found, seen = dict[str, Any](), dict[str, int]()
    for row in json_rows(path):
        line = row.read(shape)
        row.once("id", key := getattr(line, "id", f"line {row.number}"), seen)
        found[key] = line
    if not found:
        raise InputError(f"{path} has no lines. Add some, or name another file.")
    return found


def _yes_or_no(text: str) -> str:
    if not text.rstrip().endswith("?") or question_of(text).kind in ("open", "plain"):
        raise ValueError("it is not a yes/no question")
    return one_line(text)


_Sentence = Annotated[str, Field(min_length=1), AfterValidator(one_line)]
_YesNo = Annotated[str, AfterValidator(_yes_or_no)]


async def _reply(model: ChatModel, prompt: str, wanted: dict[str, Any], **shown: str) -> list[Any]:
    """The model's reply to a prompt: these fields with these types. Raises ProviderError."""
    fields: dict[str, Any] = {name: (kind, ...) for name, kind in wanted.items()}
    return list((await ask_model(model, prompt, create_model("Reply", **fields), **shown)).model_dump().values())


def _made(line: InputLine, question: str, perspectives: list[str]) -> Record:
    if len({p.casefold().rstrip(".") for p in perspectives}) < len(perspectives):
        raise ProviderReplyError(f"two perspectives on '{question}' are the same.")
    return {"question": question, "perspectives": perspectives, "topic": line.topic}


async def from_pair(pair: Opposed, model: ChatModel) -> Record:
    """The question between two arguments; then, from the question alone, a statement and its negation."""
    first, second = as_data("argument", pair.first), as_data("argument", pair.second)
    [question] = await _reply(model, "build_question", {"question": _YesNo}, first=first, second=second)
    wanted = {"statement": _Sentence, "negation": _Sentence}
    return _made(pair, question, await _reply(model, "build_sides", wanted, question=as_data("question", question)))


async def from_survey(item: SurveyItem, model: ChatModel) -> Record:
    """The question between the first and the last choice, and both sides; or the reason to exclude an item about the
    respondent."""
    shown, choices = as_data("item", item.question), [as_data("choice", c) for c in item.choices]
    wanted: dict[str, Any] = {"personal": bool, "why": _Sentence}
    personal, why = await _reply(model, "build_filter", wanted, item=shown, choices="\n".join(choices))
    if personal:
        return {"left_out": why}
    wanted = {"question": _YesNo, "positive": _Sentence, "negative": _Sentence}
    question, *sides = await _reply(model, "build_survey", wanted, item=shown, first=choices[0], last=choices[-1])
    return _made(item, question, sides)


async def from_answers(item: Answered, model: ChatModel) -> Record:
    """A statement for each answer, in the form of the question."""
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
    """Votes on the relevance of a paragraph. They vary with the model's temperature."""
    shown = {"headline": as_data("headline", headline), "paragraph": as_data("paragraph", paragraph)}
    said = [await _reply(model, "build_relevance", {"relevant": bool}, **shown) for _ in range(VOTES)]
    return {"votes": [relevant for [relevant] in said]}


def paragraphs_of(event: str, articles: Sequence[Article]) -> dict[str, str]:
    """Paragraphs by an id of event and article address, or of source and id, because the layout has no field for a
    source. Paragraphs are separated by empty lines, else by lines; long ones are cut between sentences."""
    found: dict[str, str] = {}
    for one in articles:
        host = re.sub(r"[\W_]+", "-", one.source).strip("-") or "unknown"
        address = one.id if "://" in one.id else f"news://{host}/{one.id}"
        parts = re.split(r"\n\s*\n", one.text.strip())
        texts = parts if parts[1:] else one.text.split("\n")
        pieces = (piece for text in texts for piece in cut_passages(text, _WORDS))
        found |= {f"{event}_{address}_p{number}": piece for number, piece in enumerate(pieces, start=1)}
    return found
