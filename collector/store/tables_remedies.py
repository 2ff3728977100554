"""Tables of actions: what was done about causes, each change of it, and who carries it out.

Times are seconds since the epoch, as in `tables`.
"""

from sqlalchemy import Boolean, Column, Double, Index, Integer, Table

from .tables import metadata
from .texts import BoundedText, UnboundedText

remedies = Table(
    "remedies",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=True),
    Column("id", BoundedText(64), nullable=False, unique=True),
    Column("incident", BoundedText(64), nullable=False),  # no foreign key: it outlives the incident
    Column("job", UnboundedText, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("fault", BoundedText(64), nullable=False),
    Column("entity", UnboundedText, nullable=False),  # JSON object, as in a document
    Column("host", UnboundedText),
    Column("action", BoundedText(16), nullable=False),
    Column("executor", BoundedText(32), nullable=False),
    Column("mode", BoundedText(8), nullable=False),  # dry_run, act
    Column("state", BoundedText(16), nullable=False),
    Column("reason", UnboundedText, nullable=False),
    Column("probability", Double),
    Column("planned_at", Double, nullable=False),
    Column("due_at", Double, nullable=False),
    Column("started_at", Double),
    Column("ended_at", Double),
    Column("owner", BoundedText(80), nullable=False),  # who carries it out, or carried it out last
    Column("lease_until", Double, nullable=False),
    Column("seen", UnboundedText, nullable=False),  # JSON object: what the executor found before
    Column("measured", UnboundedText, nullable=False),  # JSON object: the job before
    Column("undo", BoundedText(8), nullable=False),  # "", wanted, started, failed
    Column("undo_at", Double),
    Column("outcome", BoundedText(16)),
    Column("outcome_at", Double),
    Column("after_seconds", Double),  # of a step
    Index(None, "state", "due_at"),
    Index(None, "job", "state"),
    Index(None, "mode", "started_at"),
    Index(None, "incident"),
)
"""One row an action, as it is now."""

remedy_steps = Table(
    "remedy_steps",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=True),
    Column("remedy", BoundedText(64), nullable=False),
    Column("at", Double, nullable=False),
    Column("state", BoundedText(16), nullable=False),
    Column("author", UnboundedText, nullable=False),
    Column("text", UnboundedText, nullable=False),
    Column("entered", Boolean, nullable=False),  # whether the incident's timeline has it
    Index(None, "remedy", "number"),
    Index(None, "entered", "number"),
)
"""Every change of every action, in order, written with the change."""
