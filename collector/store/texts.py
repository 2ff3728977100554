"""Columns of text that any database takes: names come from jobs and people, and may hold anything.

PostgreSQL refuses a NUL, and no database takes half of a surrogate pair. One such job name must not
keep the incidents of all others out of the store.
"""

from typing import Any

import sqlalchemy
from sqlalchemy import Dialect
from sqlalchemy.types import TypeDecorator


class UnboundedText(TypeDecorator[str]):
    """Text of any length."""

    impl = sqlalchemy.Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> Any:
        """Return what is written, or compared with what was written."""
        del dialect
        return _storable(value)


class BoundedText(TypeDecorator[str]):
    """Text of bounded length."""

    impl = sqlalchemy.String
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> Any:
        """Return what is written, or compared with what was written."""
        del dialect
        return _storable(value)


def _storable(value: Any) -> Any:
    """Return a text with U+FFFD in the place of what cannot be stored."""
    if not isinstance(value, str):
        return value
    value = value.replace("\0", "\N{REPLACEMENT CHARACTER}")
    if value.isascii():
        return value
    return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
