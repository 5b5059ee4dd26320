"""A row of the contract tables, and what has to come of it."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from ways import Bench

Client = Callable[[Any, Bench], Awaitable[str]]


@dataclass(frozen=True)
class Row:
    """fault: what a server, file or person does. right: texts that all stand in what comes of it; wrong: none does."""

    fault: str
    client: Client
    given: Any
    right: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{getattr(self.client, '__name__', '')}: {self.fault}"

    async def hold(self, bench: Bench) -> None:
        """Has the client meet the fault."""
        came = await self.client(self.given, bench)
        assert not [text for text in self.right if text not in came], came
        assert not [text for text in self.wrong if text in came], came
