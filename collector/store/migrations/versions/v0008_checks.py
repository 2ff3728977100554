"""Results of active checks."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table of active checks."""
    op.create_table(
        "check_results",
        sa.Column("number", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("host", sa.String(length=255), nullable=False),
        sa.Column("device", sa.String(length=255), nullable=False),
        sa.Column("check_name", sa.String(length=64), nullable=False),
        sa.Column("kind", sa.String(length=255), nullable=False),
        sa.Column("place", sa.String(length=128), nullable=False),
        sa.Column("value", sa.Double(), nullable=True),
        sa.Column("unit", sa.String(length=32), nullable=False),
        sa.Column("verdict", sa.String(length=16), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("expected", sa.Double(), nullable=True),
        sa.Column("low", sa.Double(), nullable=True),
        sa.Column("high", sa.Double(), nullable=True),
        sa.Column("compared_with", sa.Text(), nullable=True),
        sa.Column("incident", sa.String(length=64), nullable=True),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_check_results")),
    )
    for columns in (
        ("host", "device", "check_name", "number"),
        ("check_name", "kind", "place", "at"),
        ("at",),
    ):
        op.create_index(
            op.f(f"ix_check_results_{'_'.join(columns)}"), "check_results", list(columns)
        )
