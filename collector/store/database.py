"""Opening the database: durable, migrated, one writer at a time.

SQLite runs in WAL mode with synchronous=FULL: a commit that returned survives a power cut, and
readers never wait for the writer. On PostgreSQL writers of all collectors take turns likewise.
"""

import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import alembic.command
import alembic.config
import alembic.util
from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError

from .dialects import POSTGRESQL, engine_of, only_writer
from .errors import UnusableError

_MIGRATIONS = Path(__file__).parent / "migrations"


class IncidentDatabase:
    """An open, migrated database.

    Raises UnusableError where it cannot be used, and whenever it does not answer: with the words
    that name it, without its password.
    """

    def __init__(self, url: str) -> None:
        self.engine, self._name = engine_of(url)
        self.shared = self.engine.dialect.name == POSTGRESQL
        """Whether several collectors may use it at once."""
        # SQLite lets one write at a time anyway, and a queue of threads here is fairer than its
        # retries. On PostgreSQL one thread of each collector waits for the others' writers.
        self._writing = threading.Lock()
        try:
            self._open()
        except BaseException:
            self.close()
            raise

    def _open(self) -> None:
        try:
            with self.write() as db:
                _migrate(db)
        except alembic.util.CommandError as error:
            raise UnusableError(
                f"{self._name} was written by another version of rankscope ({error}); "
                "install that version or a newer one"
            ) from error
        except DBAPIError as error:
            raise self._unusable("cannot be used as the store", error) from None

    @contextmanager
    def write(self) -> Generator[Connection, None, None]:
        """Give a transaction that may write; it is kept when the block ends without an error."""
        with (
            self._named(),
            self._writing,
            self.engine.connect().execution_options(rankscope_writes=True) as db,
            db.begin(),
        ):
            only_writer(db)
            yield db

    @contextmanager
    def claim(self) -> Generator[Connection, None, None]:
        """Give a transaction that may lock and write single rows, beside the one writer."""
        with self._named(), self.engine.connect() as db, db.begin():
            yield db

    @contextmanager
    def read(self) -> Generator[Connection, None, None]:
        """Give a transaction that sees one state of everything."""
        with self._named(), self.engine.connect() as db:
            if self.shared:
                db.execution_options(isolation_level="REPEATABLE READ")
            with db.begin():
                yield db

    def check(self) -> None:
        """Raise UnusableError unless the database answers."""
        with self.read() as db:
            db.execute(text("SELECT 1"))

    def time(self) -> float | None:
        """Return its clock in s since the epoch; None where it is this machine's."""
        if not self.shared:
            return None
        with self.read() as db:
            return self.now(db)

    def now(self, db: Connection) -> float:
        """Return the clock of a database that is shared, within a transaction."""
        return float(db.execute(text("SELECT extract(epoch FROM clock_timestamp())")).scalar_one())

    def close(self) -> None:
        """Let go of every connection."""
        self.engine.dispose()

    @contextmanager
    def _named(self) -> Generator[None, None, None]:
        """Name the database in errors that say it is away, full or locked."""
        try:
            yield
        except (OperationalError, InterfaceError) as error:
            raise self._unusable("does not answer", error) from None

    def _unusable(self, what: str, error: DBAPIError) -> UnusableError:
        reason = " ".join(str(error.orig).split())
        password = self.engine.url.password or self.engine.url.query.get("password")
        if isinstance(password, str) and password:
            reason = reason.replace(password, "***")
        return UnusableError(f"{self._name} {what}: {reason}")


def _migrate(db: Connection) -> None:
    config = alembic.config.Config()
    config.set_main_option("script_location", str(_MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = db
    alembic.command.upgrade(config, "head")
