"""Where alembic finds the connection: the one that the collector holds already."""

from alembic import context

context.configure(
    connection=context.config.attributes["connection"],
    render_as_batch=True,  # SQLite alters a table by writing it anew
)
# The collector's own transaction is around this: all migrations or none.
with context.begin_transaction():
    context.run_migrations()
