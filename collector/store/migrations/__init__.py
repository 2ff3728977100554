"""Migrations of the store, run by alembic inside the collector when it starts."""
