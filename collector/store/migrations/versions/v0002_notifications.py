"""Rates of endpoints, and which message of the outbox carries several."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the columns."""
    with op.batch_alter_table("webhooks") as table:
        table.add_column(sa.Column("per_minute", sa.Integer(), nullable=True))
        table.add_column(sa.Column("sent", sa.Text(), nullable=False, server_default="[]"))
        table.add_column(sa.Column("repeat_at", sa.Double(), nullable=True))
    with op.batch_alter_table("outbox") as table:
        table.add_column(sa.Column("carrier", sa.String(length=64), nullable=True))
    op.create_index(
        op.f("ix_outbox_endpoint_carrier"), "outbox", ["endpoint", "carrier"], unique=False
    )
