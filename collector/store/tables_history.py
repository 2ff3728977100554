"""Tables of what happened: who did what, the order of changes, GPU time used, roots of incidents.

Times are seconds since the epoch, as in `tables`.
"""

from sqlalchemy import BigInteger, Column, Double, ForeignKey, Index, Integer, Table

from .tables import metadata
from .texts import BoundedText, UnboundedText

audit = Table(
    "audit",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=True),
    Column("id", BoundedText(64), nullable=False, unique=True),
    Column("at", Double, nullable=False),
    Column(
        "token", UnboundedText, nullable=False
    ),  # its name in the settings; "" without any token
    Column("author", UnboundedText, nullable=False),
    Column("action", BoundedText(64), nullable=False),
    Column("subject", UnboundedText, nullable=False),  # id of the incident, silence, webhook, ...
    Column("details", UnboundedText, nullable=False),  # JSON object
    Index(None, "at"),
)
"""Every human action, each once."""

changes = Table(
    "changes",
    metadata,
    # Grows with time: at least milliseconds since the epoch, so that a new database never gives
    # out a number of the one before it.
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("at", Double, nullable=False),
    Column("kind", BoundedText(32), nullable=False),
    Column("incident", BoundedText(64), nullable=False),
)
"""The latest changes of incidents, in order: where a stream of events resumes."""

usage = Table(
    "usage",
    metadata,
    Column("job", UnboundedText, primary_key=True),
    Column("attempt", Integer, primary_key=True),
    Column("week", Integer, primary_key=True),  # its Monday 00:00 UTC
    Column("user_label", UnboundedText, nullable=False),
    Column("ranks", Integer, nullable=False),
    Column("first_at", Double, nullable=False),
    Column("last_at", Double, nullable=False),
)
"""When each job attempt ran, and with how many ranks, week by week."""

roots = Table(
    "roots",
    metadata,
    Column("incident", ForeignKey("incidents.id", ondelete="CASCADE"), primary_key=True),
    Column("entity_type", BoundedText(16), nullable=False),
    Column("entity", UnboundedText, nullable=False),
    Column("host", UnboundedText),
)
"""The entity that each incident's first cause names."""
