"""Opening the database: durable, migrated, one writer at a time.

SQLite runs in WAL mode with synchronous=FULL: a commit that returned survives a power cut, and
readers never wait for the writer.
"""

import os
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import alembic.command
import alembic.config
import alembic.util
from sqlalchemy import Connection, Engine, create_engine, event, make_url, text
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError

from .errors import UnusableError

_MIGRATIONS = Path(__file__).parent / "migrations"
_BUSY_SECONDS = 30
"""How long to wait for another process (a backup, a curious shell) to let go of an SQLite file."""


class Database:
    """An open, migrated database. Raises UnusableError, without the URL's password in it."""

    def __init__(self, url: str) -> None:
        try:
            place = make_url(url)
            if place.get_backend_name() == "sqlite":
                _prepare_file(place.database)
            self.engine = create_engine(place, pool_pre_ping=place.get_backend_name() != "sqlite")
        except (ArgumentError, NoSuchModuleError, ModuleNotFoundError) as error:
            raise UnusableError(f"store.url cannot be used: {error}") from None
        except OSError as error:
            raise UnusableError(f"the store's file cannot be made: {error}") from error
        if self.engine.dialect.name == "sqlite":
            _make_durable(self.engine)
        # SQLite lets one write at a time anyway, and a queue of threads here is fairer than its
        # retries. On PostgreSQL it keeps read-then-write simple for the one collector there is.
        self._writing = threading.Lock()
        shown = place.render_as_string(hide_password=True)
        try:
            with self.write() as db:
                _migrate(db)
        except alembic.util.CommandError as error:
            raise UnusableError(
                f"{shown} was written by another version of rankscope ({error}); "
                "install that version or a newer one"
            ) from error
        except DBAPIError as error:
            raise UnusableError(f"{shown} cannot be used as the store: {error.orig}") from None

    @contextmanager
    def write(self) -> Generator[Connection, None, None]:
        """Give a transaction that may write; it is kept when the block ends without an error."""
        with (
            self._writing,
            self.engine.connect().execution_options(rankscope_writes=True) as db,
            db.begin(),
        ):
            yield db

    @contextmanager
    def read(self) -> Generator[Connection, None, None]:
        """Give a transaction that sees one state of everything."""
        with self.engine.connect() as db, db.begin():
            yield db

    def check(self) -> None:
        """Raise UnusableError unless the database answers."""
        try:
            with self.read() as db:
                db.execute(text("SELECT 1"))
        except DBAPIError as error:
            raise UnusableError(f"the store does not answer: {error.orig}") from None

    def close(self) -> None:
        """Let go of every connection."""
        self.engine.dispose()


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
            f"busy_timeout={_BUSY_SECONDS * 1000}",
            "journal_mode=WAL",
            "synchronous=FULL",
            "foreign_keys=ON",
        ):
            connection.execute(f"PRAGMA {pragma}").close()

    @event.listens_for(engine, "begin")
    def _begun(db: Connection) -> None:
        writes = db.get_execution_options().get("rankscope_writes", False)
        db.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _migrate(db: Connection) -> None:
    config = alembic.config.Config()
    config.set_main_option("script_location", str(_MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = db
    alembic.command.upgrade(config, "head")
