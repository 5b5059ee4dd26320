"""Requery: makes new queries for uncovered perspectives."""

import asyncio
import re
from collections import Counter
from collections.abc import Sequence
from functools import partial

from langgraph.runtime import Runtime
from pydantic import BaseModel, Field

from agent.evidence.coverage import favouring_passages
from agent.limits import LONGEST_QUERY, MOST_QUERIES, REQUERY_PASSAGES, REQUERY_WORDS
from agent.options import RunOptions
from agent.stage_interfaces import Providers
from agent.stages.stage import ask_model, language_name, report, stage
from agent.state import FramingState, Perspective, RunState, asked_query, is_answer, uncovered_perspectives
from prompts import as_data, one_line
from tools.budget import current_log, run_within
from tools.language.lexicon import KEYWORD_STOP_WORDS, LIGHT_WORDS, NEGATORS, lower_first
from tools.models.chat.model import ChatModel
from tools.translation import tr


@stage("requery")
async def requery(providers: Providers, state: RunState, runtime: Runtime[RunOptions]) -> RunState:
    uncovered = uncovered_perspectives(state)
    planned: dict[str, list[str]] = {}
    best = {p["id"]: _best(state, p) for p in uncovered}
    found, own_sentences = {i for ids in best.values() for i in ids}, state.get("own_sentences", {})
    passages = await asyncio.to_thread(providers.passages, found, own_sentences)

    async def plan(perspective: Perspective) -> None:
        own = perspective["id"]
        tried, found = state["queries"].get(own, []), [passages[i].text for i in best[own] if i in passages]
        planned[own] = await providers.requery(perspective, state["framing"], tried, found)

    await run_within([partial(plan, p) for p in uncovered], max(1, len(uncovered)))
    for late in (p["name"] for p in uncovered if p["id"] not in planned):
        message = tr("No second search for '{side}': the time for it was used up.", side=late)
        current_log().note("late", message, tr("Some sides were not searched a second time."))
    report(runtime, "again", sides={k: len(v) for k, v in planned.items()})
    return RunState(next_queries=planned, round=state.get("round", 0) + 1)


def _best(state: RunState, perspective: Perspective) -> list[int]:
    """Returns the passages that support the perspective best, and no opposing side more."""
    support = state.get("support", {})
    own = favouring_passages(support.get(perspective["id"], {}), support.get(perspective["contrary"], {}))
    return sorted(own, key=lambda i: (-own[i], i))[:REQUERY_PASSAGES]


_REASON = re.compile(r",? (?:because|since|so that|as long as)\b", re.IGNORECASE)
_WORD = re.compile(r"[\w'-]+")
_DENIALS = NEGATORS | {"nor", "without"}
_ANGLES: tuple[str, ...] = ("evidence that {statement}", "reasons why {statement}", "{keywords}")
_ASKED = ("{keywords} {found}", "{keywords}")
"""Query templates for a side whose statement is an answer word with the question ('Yes: …?')."""
_COUNTERS = ("{topic}", "doubts and evidence against {topic}")
_POINT = 12  # words of the claim in a query
_SHORTEST = 4  # letters of a word taken from passages


async def queries_by_rules(
    perspective: Perspective, framing: FramingState, tried: Sequence[str], found: Sequence[str]
) -> list[str]:
    """Fills the query templates and returns the queries that were not tried before.

    Templates use the statement or its keywords. The topic alone would find the opposing side: for 'smoking should not
    be banned' it would find 'benefits of smoking bans'. found: texts of passages that support the perspective.
    """
    claim, angles, topic = perspective["statement"], _ANGLES, ""
    if answers := is_answer(perspective["name"], claim):
        claim, angles = framing["question"], _ASKED
    statement = _REASON.split(claim)[0].rstrip(" .?!")
    words = keywords(statement)
    if framing["form"] == "counter":
        angles, topic = (words, *_COUNTERS), " ".join(keywords(framing["focus"]).split()[:_POINT])
    about = " ".join(_frequent(found, words)) if answers else ""
    filled = (
        a.format(statement=lower_first(statement), topic=topic, keywords=words, found=about).strip() for a in angles
    )
    known = {t.casefold() for t in tried}
    return [q for q in dict.fromkeys(filled) if q and q.casefold() not in known]


def keywords(statement: str) -> str:
    """Returns the statement's content words and negations, in order."""
    words = _WORD.findall(statement)
    return " ".join(w for w in words if w.lower() in _DENIALS or w.lower() not in KEYWORD_STOP_WORDS)


def _frequent(texts: Sequence[str], known: str) -> list[str]:
    """Returns the most frequent words that the query lacks (pseudo-relevance feedback, Rocchio 1971)."""
    asked = {w.lower() for w in known.split()}
    counts = Counter(w for text in texts for w in dict.fromkeys(map(str.lower, _WORD.findall(text))))
    left_out = asked | KEYWORD_STOP_WORDS | LIGHT_WORDS
    return [w for w, _ in counts.most_common() if w.isalpha() and len(w) >= _SHORTEST and w not in left_out][
        :REQUERY_WORDS
    ]


class PlannedQueries(BaseModel):
    """A model's reply."""

    queries: list[str] = Field(max_length=12)


async def queries_by_chat(
    model: ChatModel, perspective: Perspective, framing: FramingState, tried: Sequence[str], _: Sequence[str]
) -> list[str]:
    language = language_name(framing)
    planned = await ask_model(
        model,
        "requery",
        PlannedQueries,
        question=as_data("question", asked_query(framing)),
        statement=as_data("statement", perspective["statement"]),
        tried="\n".join(as_data("query", t) for t in tried),
        most=str(MOST_QUERIES),
        languages=f" Write half of them in {language}, half in English." if language else "",
    )
    known = {" ".join(t.casefold().split()) for t in tried}
    fresh: dict[str, str] = {}
    for query in (one_line(q)[:LONGEST_QUERY] for q in planned.queries):
        if any(map(str.isalnum, query)) and query.casefold() not in known:
            fresh.setdefault(query.casefold(), query)
    return list(fresh.values())[:MOST_QUERIES]
