"""Pages of lists that are at hand as a whole: a cursor is the number of items before the page."""

from collections.abc import Callable, Sequence
from typing import Annotated, TypeVar

from pydantic import Field

from .parameters import Number, QueryParameters

T = TypeVar("T")


class PageQuery(QueryParameters):
    """A page of a list; without a limit all of it."""

    limit: Annotated[int | None, Field(ge=1, le=1000, description="Most items of one answer")] = (
        None
    )
    cursor: Number | None = None


def cut(items: Sequence[T], *, limit: int | None, cursor: str | None) -> tuple[list[T], str | None]:
    """Return the items of a page, and the cursor of those after it (None: there are no more)."""
    start = 0 if cursor is None else int(cursor)
    end = len(items) if limit is None else start + limit
    return list(items[start:end]), str(end) if end < len(items) else None


def numbered(
    rows: Sequence[T], number: Callable[[T], int], *, limit: int
) -> tuple[list[T], str | None]:
    """Return the items of a page of which one more was read, and the cursor of those after it.

    For lists in the order of their items' numbers, downwards: the cursor is the last number.
    """
    page = list(rows[:limit])
    return page, str(number(page[-1])) if len(rows) > limit else None
