"""Migrations of the store, run by alembic inside the collector when it starts.

In: the database as an older version left it. Out: the same database with the tables of this one.
Imports: none.
"""
