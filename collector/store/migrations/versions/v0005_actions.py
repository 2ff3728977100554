"""What people confirmed, by incident; endpoints that subscribe to causes."""

import json

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table of confirmed causes, and what endpoints ask of a cause."""
    op.create_table(
        "learnt",
        sa.Column("incident", sa.String(length=64), nullable=False),
        sa.Column("fault", sa.String(length=64), nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("incident", name=op.f("pk_learnt")),
    )
    _take_earlier_feedback()
    op.add_column(
        "webhooks", sa.Column("faults", sa.Text(), nullable=False, server_default=sa.text("'[]'"))
    )
    op.add_column("webhooks", sa.Column("min_probability", sa.Double(), nullable=True))
    op.add_column("webhooks", sa.Column("min_confidence", sa.String(length=8), nullable=True))


def _take_earlier_feedback() -> None:
    """Learn from what people said before this version: the last word on each incident."""
    db = op.get_bind()
    rows = db.execute(
        sa.text(
            "SELECT actions.incident, actions.at, actions.details, incidents.fault FROM actions "
            "JOIN incidents ON incidents.id = actions.incident "
            "WHERE actions.kind = 'feedback' ORDER BY actions.number"
        )
    )
    last = {incident: (at, json.loads(details), first) for incident, at, details, first in rows}
    for incident, (at, details, first) in last.items():
        fault = details.get("fault")
        if fault is None and details.get("verdict") == "correct":
            fault = first
        if fault not in (None, "unknown") and details.get("verdict") != "unsure":
            db.execute(
                sa.text("INSERT INTO learnt (incident, fault, at) VALUES (:incident, :fault, :at)"),
                {"incident": incident, "fault": fault, "at": at},
            )
