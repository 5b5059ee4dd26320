"""Pages of lists, newest first: a cursor is when the last row of a page was made, and its id."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

OF_PAGE = "(:at IS NULL OR (created_at, id) < (:at, :id)) ORDER BY created_at DESC, id DESC LIMIT :limit"
"""The end of a query for the rows of a page, which gives it `Page.given`."""


class Made(Protocol):
    """A row; `created_at` is ISO, UTC."""

    @property
    def id(self) -> str: ...

    @property
    def created_at(self) -> str: ...


T = TypeVar("T", bound=Made)


@dataclass(frozen=True, slots=True)
class Page:
    """So many rows, from behind the one that the cursor names, which may have been deleted since."""

    limit: int
    after: str | None = None

    def given(self) -> dict[str, object]:
        """What the query is given: one row more shows whether there is a next page."""
        made, _, last = (self.after or "").rpartition("Z-")
        return {"limit": self.limit + 1, "at": f"{made}+00:00" if self.after else None, "id": last}

    def cut(self, rows: Sequence[T]) -> tuple[Sequence[T], str | None]:
        """The rows of the page, of those that the query found, and the cursor of the next one."""
        page = rows[: self.limit]
        more = len(rows) > self.limit
        return page, f"{page[-1].created_at.removesuffix('+00:00')}Z-{page[-1].id}" if more else None
