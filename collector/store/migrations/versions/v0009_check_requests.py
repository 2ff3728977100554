"""Checks that people ask agents for."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "check_requests",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("incident", sa.String(length=64), nullable=False),
        sa.Column("host", sa.String(length=255), nullable=False),
        sa.Column("check_name", sa.String(length=64), nullable=False),
        sa.Column("by_whom", sa.String(length=200), nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("until", sa.Double(), nullable=False),
        sa.Column("taken_at", sa.Double(), nullable=True),
        sa.Column("failed", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_check_requests")),
    )
    for columns in (("incident",), ("host", "until"), ("at",)):
        op.create_index(
            op.f(f"ix_check_requests_{'_'.join(columns)}"), "check_requests", list(columns)
        )
