"""The first tables."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make every table of the first version."""
    op.create_table(
        "incidents",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("job", sa.Text(), nullable=True),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("severity", sa.String(length=16), nullable=False),
        sa.Column("fault", sa.String(length=64), nullable=False),
        sa.Column("opened_at", sa.Double(), nullable=False),
        sa.Column("detected_at", sa.Double(), nullable=False),
        sa.Column("updated_at", sa.Double(), nullable=False),
        sa.Column("acknowledged_at", sa.Double(), nullable=True),
        sa.Column("resolved_at", sa.Double(), nullable=True),
        sa.Column("gpu_seconds_lost", sa.Double(), nullable=False),
        sa.Column("machine_status", sa.String(length=16), nullable=False),
        sa.Column("machine_updated_at", sa.Double(), nullable=False),
        sa.Column("document", sa.Text(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_incidents")),
    )
    op.create_index(
        op.f("ix_incidents_opened_at_id"), "incidents", ["opened_at", "id"], unique=False
    )
    op.create_index(
        op.f("ix_incidents_status_updated_at"), "incidents", ["status", "updated_at"], unique=False
    )
    op.create_index(op.f("ix_incidents_updated_at"), "incidents", ["updated_at"], unique=False)
    op.create_table(
        "mutes",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("matchers", sa.Text(), nullable=False),
        sa.Column("starts_at", sa.Double(), nullable=False),
        sa.Column("ends_at", sa.Double(), nullable=False),
        sa.Column("author", sa.Text(), nullable=False),
        sa.Column("comment", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_mutes")),
    )
    op.create_index(op.f("ix_mutes_kind_ends_at"), "mutes", ["kind", "ends_at"], unique=False)
    op.create_table(
        "webhooks",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("secret", sa.Text(), nullable=False),
        sa.Column("format", sa.String(length=32), nullable=False),
        sa.Column("events", sa.Text(), nullable=False),
        sa.Column("jobs", sa.Text(), nullable=False),
        sa.Column("severities", sa.Text(), nullable=False),
        sa.Column("origin", sa.String(length=16), nullable=False),
        sa.Column("enabled", sa.Boolean(), nullable=False),
        sa.Column("disabled_reason", sa.Text(), nullable=True),
        sa.Column("not_before", sa.Double(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("deleted_at", sa.Double(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_webhooks")),
    )
    op.create_table(
        "actions",
        sa.Column("number", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("incident", sa.String(length=64), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("author", sa.Text(), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("details", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["incident"], ["incidents.id"], name=op.f("fk_actions_incident"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_actions")),
    )
    op.create_index(
        op.f("ix_actions_incident_number"), "actions", ["incident", "number"], unique=False
    )
    op.create_table(
        "incident_jobs",
        sa.Column("incident", sa.String(length=64), nullable=False),
        sa.Column("job", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["incident"],
            ["incidents.id"],
            name=op.f("fk_incident_jobs_incident"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("incident", "job", name=op.f("pk_incident_jobs")),
    )
    op.create_index(op.f("ix_incident_jobs_job"), "incident_jobs", ["job"], unique=False)
    op.create_table(
        "outbox",
        sa.Column("number", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("webhook_id", sa.String(length=64), nullable=False),
        sa.Column("endpoint", sa.String(length=64), nullable=False),
        sa.Column("incident", sa.String(length=64), nullable=False),
        sa.Column("type", sa.String(length=32), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("due_at", sa.Double(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("finished_at", sa.Double(), nullable=True),
        sa.Column("last_status", sa.Integer(), nullable=True),
        sa.Column("last_error", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["endpoint"], ["webhooks.id"], name=op.f("fk_outbox_endpoint")),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_outbox")),
        sa.UniqueConstraint("webhook_id", name=op.f("uq_outbox_webhook_id")),
    )
    op.create_index(
        op.f("ix_outbox_endpoint_incident_number"),
        "outbox",
        ["endpoint", "incident", "number"],
        unique=False,
    )
    op.create_index(
        op.f("ix_outbox_state_endpoint_due_at"),
        "outbox",
        ["state", "endpoint", "due_at"],
        unique=False,
    )
    op.create_index(
        op.f("ix_outbox_state_finished_at"), "outbox", ["state", "finished_at"], unique=False
    )
