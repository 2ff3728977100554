"""Table of what agents are asked to do to ranks that torchrun started.

Times are seconds since the epoch, as in `tables`.
"""

from sqlalchemy import Column, Double, Index, Table

from .tables import metadata
from .texts import BoundedText, UnboundedText

launcher_orders = Table(
    "launcher_orders",
    metadata,
    Column("action", BoundedText(32), primary_key=True),  # id of the action that it is part of
    Column("host", BoundedText(255), primary_key=True),
    Column("job", UnboundedText, nullable=False),
    Column("what", BoundedText(16), nullable=False),  # restart: end its ranks; leave: torchrun too
    Column("at", Double, nullable=False),  # processes that started later are none of its
    Column("until", Double, nullable=False),  # not taken by then, it is not wanted any more
    Column("taken_at", Double),  # when the agent of the host was told first
    Column("answer", BoundedText(16), nullable=False),  # done, refused; empty: none yet
    Column("text", UnboundedText, nullable=False),
    Index(None, "host", "until"),
    Index(None, "at"),
)
"""One row a host of an action; the agent is told again until it answers."""
