"""Actions about causes, and each of their changes."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables of actions."""
    op.create_table(
        "remedies",
        sa.Column("number", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("incident", sa.String(length=64), nullable=False),
        sa.Column("job", sa.Text(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("fault", sa.String(length=64), nullable=False),
        sa.Column("entity", sa.Text(), nullable=False),
        sa.Column("host", sa.Text(), nullable=True),
        sa.Column("action", sa.String(length=16), nullable=False),
        sa.Column("executor", sa.String(length=32), nullable=False),
        sa.Column("mode", sa.String(length=8), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("probability", sa.Double(), nullable=True),
        sa.Column("planned_at", sa.Double(), nullable=False),
        sa.Column("due_at", sa.Double(), nullable=False),
        sa.Column("started_at", sa.Double(), nullable=True),
        sa.Column("ended_at", sa.Double(), nullable=True),
        sa.Column("owner", sa.String(length=80), nullable=False),
        sa.Column("lease_until", sa.Double(), nullable=False),
        sa.Column("seen", sa.Text(), nullable=False),
        sa.Column("measured", sa.Text(), nullable=False),
        sa.Column("undo", sa.String(length=8), nullable=False),
        sa.Column("undo_at", sa.Double(), nullable=True),
        sa.Column("outcome", sa.String(length=16), nullable=True),
        sa.Column("outcome_at", sa.Double(), nullable=True),
        sa.Column("after_seconds", sa.Double(), nullable=True),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_remedies")),
        sa.UniqueConstraint("id", name=op.f("uq_remedies_id")),
    )
    for columns in (("state", "due_at"), ("job", "state"), ("mode", "started_at"), ("incident",)):
        op.create_index(op.f(f"ix_remedies_{'_'.join(columns)}"), "remedies", list(columns))
    op.create_table(
        "remedy_steps",
        sa.Column("number", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("remedy", sa.String(length=64), nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("author", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("entered", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_remedy_steps")),
    )
    for columns in (("remedy", "number"), ("entered", "number")):
        op.create_index(op.f(f"ix_remedy_steps_{'_'.join(columns)}"), "remedy_steps", list(columns))
