"""Conditions of queries that lists of several tables share."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import ColumnElement


def equal(wanted: Mapping[ColumnElement[Any], Any]) -> list[ColumnElement[bool]]:
    """Return that each column has its value; None takes any."""
    return [column == value for column, value in wanted.items() if value is not None]
