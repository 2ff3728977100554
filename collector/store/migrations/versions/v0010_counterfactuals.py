"""What the jobs of an incident would do without its cause, beside what it cost."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column; of incidents of before it is empty."""
    op.add_column("incidents", sa.Column("counterfactual", sa.Text()))
