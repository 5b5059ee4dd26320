"""Requery with a chat model: queries in the words of a perspective's own advocates."""

import re
from collections.abc import Sequence

from pydantic import BaseModel, Field

from agent.providers.chat.stage import ChatStage
from agent.state import FramingState, Perspective, asked_query
from prompts import as_data, one_line

MOST_QUERIES = 4
_LONGEST = 200
_WORD = re.compile(r"\w")


class PlannedQueries(BaseModel):
    """What the model is asked for."""

    queries: list[str] = Field(max_length=12)


class ChatRequerier(ChatStage):
    """Asks a model for queries that were not tried."""

    async def queries(
        self, perspective: Perspective, framing: FramingState, tried: Sequence[str], found: Sequence[str] = ()
    ) -> list[str]:
        planned = await self._ask(
            "requery",
            PlannedQueries,
            question=as_data("question", asked_query(framing)),
            statement=as_data("statement", perspective["statement"]),
            tried="\n".join(as_data("query", t) for t in tried),
            most=str(MOST_QUERIES),
        )
        known = {" ".join(t.casefold().split()) for t in tried}
        fresh: dict[str, str] = {}
        for query in (one_line(q)[:_LONGEST] for q in planned.queries):
            if _WORD.search(query) and query.casefold() not in known:
                fresh.setdefault(query.casefold(), query)
        return list(fresh.values())[:MOST_QUERIES]
