"""The tables of the store. Times are seconds since the epoch, documents are JSON text.

Migrations build them (`migrations/`); a test holds the two together. Nothing here is particular to
SQLite or to PostgreSQL.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    text,
)

from .texts import BoundedText, UnboundedText

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    }
)

incidents = Table(
    "incidents",
    metadata,
    Column("id", BoundedText(64), primary_key=True),
    Column("job", UnboundedText),
    Column(
        "status", BoundedText(16), nullable=False
    ),  # with what people did, unlike the document's
    Column("severity", BoundedText(16), nullable=False),
    Column("fault", BoundedText(64), nullable=False),
    Column("opened_at", Double, nullable=False),
    Column("detected_at", Double, nullable=False),
    Column("updated_at", Double, nullable=False),
    Column("acknowledged_at", Double),
    Column("resolved_at", Double),
    Column("gpu_seconds_lost", Double, nullable=False),
    Column("counterfactual", UnboundedText),  # JSON of the document's, where its jobs were measured
    Column("machine_status", BoundedText(16), nullable=False),
    Column("machine_updated_at", Double, nullable=False),
    Column("document", UnboundedText, nullable=False),  # the machine's; people never edit it
    Column("revision", Integer, nullable=False),
    Index(None, "opened_at", "id"),
    Index(None, "status", "updated_at"),
    Index(None, "updated_at"),
)
"""One row an incident, as it is now."""

incident_jobs = Table(
    "incident_jobs",
    metadata,
    Column("incident", ForeignKey("incidents.id", ondelete="CASCADE"), primary_key=True),
    Column("job", UnboundedText, primary_key=True),
    Index(None, "job"),
)
"""Every job of an incident: more than one when a shared part broke."""

actions = Table(
    "actions",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=True),
    Column("incident", ForeignKey("incidents.id", ondelete="CASCADE"), nullable=False),
    Column("kind", BoundedText(16), nullable=False),  # ack, assign, resolve, feedback, withdraw
    Column("at", Double, nullable=False),
    Column("author", UnboundedText, nullable=False),
    Column("note", UnboundedText, nullable=False),
    Column("details", UnboundedText, nullable=False),  # JSON object
    Index(None, "incident", "number"),
)
"""What people did: an overlay over the machine's documents, in order."""

learnt = Table(
    "learnt",
    metadata,
    Column(
        "incident", BoundedText(64), primary_key=True
    ),  # no foreign key: it outlives the incident
    Column("fault", BoundedText(64), nullable=False),
    Column("at", Double, nullable=False),
)
"""The fault that people confirmed of an incident: what moves the priors."""

mutes = Table(
    "mutes",
    metadata,
    Column("id", BoundedText(64), primary_key=True),
    Column("kind", BoundedText(16), nullable=False),  # silence, maintenance
    Column("matchers", UnboundedText, nullable=False),  # JSON list
    Column("starts_at", Double, nullable=False),
    Column("ends_at", Double, nullable=False),
    Column("author", UnboundedText, nullable=False),
    Column("comment", UnboundedText, nullable=False),
    Column("created_at", Double, nullable=False),
    Index(None, "kind", "ends_at"),
)
"""Silences and maintenance windows: they hold deliveries back, never incidents."""

webhooks = Table(
    "webhooks",
    metadata,
    Column("id", BoundedText(64), primary_key=True),
    Column("url", UnboundedText, nullable=False),
    Column("secret", UnboundedText, nullable=False),
    Column("format", BoundedText(32), nullable=False),
    Column("events", UnboundedText, nullable=False),  # JSON list
    Column("jobs", UnboundedText, nullable=False),  # JSON list of patterns
    Column("severities", UnboundedText, nullable=False),  # JSON list
    Column("origin", BoundedText(16), nullable=False),  # settings, api
    Column("enabled", Boolean, nullable=False),
    Column("disabled_reason", UnboundedText),
    Column("not_before", Double, nullable=False),
    Column("per_minute", Integer),
    Column(
        "sent", UnboundedText, nullable=False, server_default="[]"
    ),  # JSON list: times, the newest last
    Column("repeat_at", Double),
    Column("created_at", Double, nullable=False),
    Column("deleted_at", Double),
    Column(
        "faults", UnboundedText, nullable=False, server_default=text("'[]'")
    ),  # JSON list of patterns
    Column("min_probability", Double),
    Column("min_confidence", BoundedText(8)),
)
"""Endpoints that are notified. A deleted one stays as a row, for the history of its deliveries."""

outbox = Table(
    "outbox",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=True),
    Column("webhook_id", BoundedText(64), nullable=False, unique=True),
    Column("endpoint", ForeignKey("webhooks.id"), nullable=False),
    Column("incident", BoundedText(64), nullable=False),
    Column("type", BoundedText(32), nullable=False),
    Column("body", LargeBinary, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("due_at", Double, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("state", BoundedText(16), nullable=False),  # pending, delivered, dead, suppressed
    Column("finished_at", Double),
    Column("last_status", Integer),
    Column("last_error", UnboundedText),
    Column("carrier", BoundedText(64)),  # the message that carries it, where one carries several
    Index(None, "state", "endpoint", "due_at"),
    Index(None, "endpoint", "carrier"),
    Index(None, "endpoint", "incident", "number"),
    Index(None, "state", "finished_at"),
)
"""Every message, in order of creation, and how it fared."""

claims = Table(
    "claims",
    metadata,
    Column("endpoint", ForeignKey("webhooks.id"), primary_key=True),
    Column("owner", BoundedText(64), nullable=False),
    Column("until", Double, nullable=False),
)
"""Which collector delivers to an endpoint, until when, where several share a database."""

partitions = Table(
    "partitions",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("epoch", BigInteger, nullable=False),
    Column("owner", BoundedText(64), nullable=False),
)
"""The newest epoch in which each partition of the shared log was owned, and by which collector."""
