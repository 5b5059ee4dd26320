"""Requery with a chat model: queries in the words of the side's own advocates."""

import re
from collections.abc import Sequence

from pydantic import BaseModel, Field

from agent.state import FramingState, Perspective
from prompts.loader import as_data, load_prompt, seen
from tools.inference.chat.model import ChatModel

MOST_QUERIES = 4
_LONGEST = 200
_WORD = re.compile(r"\w")


class PlannedQueries(BaseModel):
    """What the model is asked for."""

    queries: list[str] = Field(max_length=12)


class ChatRequerier:
    """Asks a model where else to look."""

    def __init__(self, model: ChatModel) -> None:
        self._model = model

    async def queries(self, perspective: Perspective, framing: FramingState, tried: Sequence[str]) -> list[str]:
        system, user = load_prompt("requery").render(
            question=as_data("question", " ".join(filter(None, [framing["neutral"], framing["focus"]]))),
            statement=as_data("statement", perspective["statement"]),
            tried="\n".join(as_data("query", t) for t in tried),
            most=str(MOST_QUERIES),
        )
        planned = (await self._model.ask(system, user, PlannedQueries)).queries
        known = {" ".join(t.casefold().split()) for t in tried}
        fresh: dict[str, str] = {}
        for query in (" ".join(seen(q).split())[:_LONGEST] for q in planned):
            if _WORD.search(query) and query.casefold() not in known:
                fresh.setdefault(query.casefold(), query)
        return list(fresh.values())[:MOST_QUERIES]
