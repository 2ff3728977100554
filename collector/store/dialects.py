"""What SQLite and PostgreSQL need before they behave alike: durable, and one writer at a time."""

import os
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url, text
from sqlalchemy.exc import ArgumentError, NoSuchModuleError

from .errors import UnusableError

WAIT_SECONDS = 30
"""How long to wait for another writer: a backup or a shell at an SQLite file, another collector."""

IDLE_SECONDS = 60
"""After so long PostgreSQL ends a transaction whose collector has stopped in the midst of it."""

WRITER = 0x52616E6B
"""The advisory lock that writers of one PostgreSQL database take in turn."""

POSTGRESQL = "postgresql"

_CONNECTING: dict[str, str] = {
    # A server that is gone is noticed within seconds, also in the midst of a statement.
    "connect_timeout": "5",
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "20000",
    "application_name": "rankscope",
}
_SHOWN = ("host", "port", "dbname")


def engine_of(url: str) -> tuple[Engine, str]:
    """Return an engine for a URL, and the words that name its database in errors.

    Raises UnusableError, which like those words never holds the password.
    """
    try:
        place = make_url(url)
    except ArgumentError:
        raise UnusableError("store.url is not a SQLAlchemy URL, such as sqlite:////PATH") from None
    try:
        if place.get_backend_name() == POSTGRESQL:
            return _postgresql(place)
        if place.get_backend_name() != "sqlite":
            raise UnusableError(
                f"store.url: there is no store in {place.get_backend_name()}; "
                "write postgresql://USER@HOST/NAME or sqlite:////PATH"
            )
        _prepare_file(place.database)
        engine = create_engine(place, hide_parameters=True)
    except (ArgumentError, NoSuchModuleError, ModuleNotFoundError) as error:
        raise UnusableError(f"store.url cannot be used: {error}") from None
    except OSError as error:
        raise UnusableError(f"the store's file cannot be made: {error}") from error
    _make_durable(engine)
    return engine, shown(place)


def shown(place: URL) -> str:
    """Return a URL without its password, and without parameters that may hold one."""
    query = {name: value for name, value in place.query.items() if name in _SHOWN}
    return place.set(query=query).render_as_string(hide_password=True)


def only_writer(db: Connection) -> None:
    """Wait until nobody else writes, as SQLite's BEGIN IMMEDIATE does: reading, then writing, is
    one step for all collectors. It ends with the transaction.
    """  # fmt: skip  # noqa: D205
    if db.dialect.name == POSTGRESQL:
        db.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": WRITER})


def _postgresql(place: URL) -> tuple[Engine, str]:
    words = shown(place.set(drivername=POSTGRESQL))
    if place.drivername == POSTGRESQL:
        place = place.set(drivername="postgresql+psycopg")  # psycopg 3; the default is its elder
    given = {name: value for name, value in _CONNECTING.items() if name not in place.query}
    try:
        engine = create_engine(place, pool_pre_ping=True, hide_parameters=True, connect_args=given)
    except ModuleNotFoundError as error:
        raise UnusableError(
            f"a store in PostgreSQL needs {error.name}: pip install 'rankscope[postgresql]'"
        ) from None

    @event.listens_for(engine, "connect")
    def _connected(connection: Any, _record: object) -> None:
        # Not as options at the start of the connection: poolers such as PgBouncer refuse those.
        connection.execute(f"SET lock_timeout = '{WAIT_SECONDS}s'")
        connection.execute(f"SET idle_in_transaction_session_timeout = '{IDLE_SECONDS}s'")
        connection.commit()

    return engine, words


def _prepare_file(name: str | None) -> None:
    """Make the file and its folder, readable by its owner only: it holds signing secrets."""
    if not name or name == ":memory:" or name.startswith("file:"):
        raise UnusableError("store.url: an SQLite store needs a file, such as sqlite:///PATH")
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))


def _make_durable(engine: Engine) -> None:
    @event.listens_for(engine, "connect")
    def _connected(connection: Any, _record: object) -> None:
        # The driver would begin transactions by itself, and late: after the first read, when it
        # may no longer become a writer.
        connection.isolation_level = None
        for pragma in (
            f"busy_timeout={WAIT_SECONDS * 1000}",
            "journal_mode=WAL",
            "synchronous=FULL",
            "foreign_keys=ON",
        ):
            connection.execute(f"PRAGMA {pragma}").close()

    @event.listens_for(engine, "begin")
    def _begun(db: Connection) -> None:
        writes = db.get_execution_options().get("rankscope_writes", False)
        db.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
