"""Tables of active checks: what hosts measured of themselves, and what they are asked for.

Times are seconds since the epoch, as in `tables`.
"""

from sqlalchemy import Column, Double, Index, Integer, Table

from .tables import metadata
from .texts import BoundedText, UnboundedText

check_results = Table(
    "check_results",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=True),
    Column("at", Double, nullable=False),
    Column("host", BoundedText(255), nullable=False),
    Column("device", BoundedText(255), nullable=False),
    Column("check_name", BoundedText(64), nullable=False),
    Column("kind", BoundedText(255), nullable=False),  # what its values are compared within
    Column("place", BoundedText(128), nullable=False),
    Column("value", Double),
    Column("unit", BoundedText(32), nullable=False),
    Column("verdict", BoundedText(16), nullable=False),
    Column("reason", UnboundedText, nullable=False),
    Column("expected", Double),
    Column("low", Double),
    Column("high", Double),
    Column("compared_with", UnboundedText),
    Column("incident", BoundedText(64)),  # for which it was run; no foreign key: it may outlive it
    Index(None, "host", "device", "check_name", "number"),
    Index(None, "check_name", "kind", "place", "at"),
    Index(None, "at"),
)
"""One row a result."""

check_requests = Table(
    "check_requests",
    metadata,
    Column("id", BoundedText(32), primary_key=True),
    Column("incident", BoundedText(64), nullable=False),
    Column("host", BoundedText(255), nullable=False),
    Column("check_name", BoundedText(64), nullable=False),
    Column("by_whom", BoundedText(200), nullable=False),
    Column("at", Double, nullable=False),
    Column("until", Double, nullable=False),  # not begun by then, it is not wanted any more
    Column("taken_at", Double),  # when the agent of the host was told
    Column("failed", UnboundedText, nullable=False),  # why there is no result; empty: none known
    Index(None, "incident"),
    Index(None, "host", "until"),
    Index(None, "at"),
)
"""One row a check that a person asked an agent for; its results are in `check_results`."""
