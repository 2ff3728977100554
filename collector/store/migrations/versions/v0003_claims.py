"""Claims of endpoints: which collector delivers to which, where several share a database."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "claims",
        sa.Column("endpoint", sa.String(length=64), nullable=False),
        sa.Column("owner", sa.String(length=64), nullable=False),
        sa.Column("until", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(["endpoint"], ["webhooks.id"], name=op.f("fk_claims_endpoint")),
        sa.PrimaryKeyConstraint("endpoint", name=op.f("pk_claims")),
    )
