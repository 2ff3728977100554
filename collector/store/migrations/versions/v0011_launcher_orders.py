"""What agents are asked to do to ranks that torchrun started."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table of orders to launchers."""
    op.create_table(
        "launcher_orders",
        sa.Column("action", sa.String(length=32), nullable=False),
        sa.Column("host", sa.String(length=255), nullable=False),
        sa.Column("job", sa.Text(), nullable=False),
        sa.Column("what", sa.String(length=16), nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("until", sa.Double(), nullable=False),
        sa.Column("taken_at", sa.Double(), nullable=True),
        sa.Column("answer", sa.String(length=16), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("action", "host", name=op.f("pk_launcher_orders")),
    )
    for columns in (("host", "until"), ("at",)):
        op.create_index(
            op.f(f"ix_launcher_orders_{'_'.join(columns)}"), "launcher_orders", list(columns)
        )
