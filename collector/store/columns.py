"""Rows of any table as the values of the records that stand for them."""

from typing import Any

from sqlalchemy import Row


def by_name(row: Row[Any]) -> dict[str, Any]:
    """Return the columns of a row by name."""
    # The underscore keeps it apart from columns: SQLAlchemy documents it.
    return row._asdict()  # pyright: ignore[reportPrivateUsage]
