"""Audit trail, the order of changes, GPU time used, and the roots of incidents."""

import json

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables; the roots are read from the documents that are kept."""
    op.create_table(
        "audit",
        sa.Column("number", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("token", sa.Text(), nullable=False),
        sa.Column("author", sa.Text(), nullable=False),
        sa.Column("action", sa.String(length=64), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("details", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_audit")),
        sa.UniqueConstraint("id", name=op.f("uq_audit_id")),
    )
    op.create_index(op.f("ix_audit_at"), "audit", ["at"], unique=False)
    op.create_table(
        "changes",
        sa.Column("number", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("kind", sa.String(length=32), nullable=False),
        sa.Column("incident", sa.String(length=64), nullable=False),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_changes")),
    )
    op.create_table(
        "usage",
        sa.Column("job", sa.Text(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("week", sa.Integer(), nullable=False),
        sa.Column("user_label", sa.Text(), nullable=False),
        sa.Column("ranks", sa.Integer(), nullable=False),
        sa.Column("first_at", sa.Double(), nullable=False),
        sa.Column("last_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("job", "attempt", "week", name=op.f("pk_usage")),
    )
    roots = op.create_table(
        "roots",
        sa.Column("incident", sa.String(length=64), nullable=False),
        sa.Column("entity_type", sa.String(length=16), nullable=False),
        sa.Column("entity", sa.Text(), nullable=False),
        sa.Column("host", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(
            ["incident"], ["incidents.id"], name=op.f("fk_roots_incident"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("incident", name=op.f("pk_roots")),
    )
    db = op.get_bind()
    for row in db.execute(sa.text("SELECT id, document FROM incidents")).all():
        causes = json.loads(row.document)["root_cause"]["hypotheses"]
        if causes:
            entity = causes[0]["entity"]
            values = {"entity_type": entity["type"], "entity": entity["id"]}
            db.execute(sa.insert(roots).values(incident=row.id, host=entity["host"], **values))
