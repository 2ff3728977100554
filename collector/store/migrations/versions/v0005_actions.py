"""What people confirmed, by incident; endpoints that subscribe to causes."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0001"
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
    op.add_column(
        "webhooks", sa.Column("faults", sa.Text(), nullable=False, server_default=sa.text("'[]'"))
    )
    op.add_column("webhooks", sa.Column("min_probability", sa.Double(), nullable=True))
    op.add_column("webhooks", sa.Column("min_confidence", sa.String(length=8), nullable=True))
