"""A real PostgreSQL of one's own: a cluster in a folder, on a Unix socket, and many databases.

It does not touch the server that Debian's package may have started, nor any port.
"""

import itertools
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

PROGRAMS = "usr/lib/postgresql/*/bin"
"""Where Debian keeps them, out of PATH."""

_USER = "rankscope"


def path_of_programs() -> str:
    """Return a PATH with the folders of PostgreSQL's and haproxy's programs at its end."""
    folders = sorted(map(str, Path("/").glob(PROGRAMS)), reverse=True)
    return os.pathsep.join([os.environ.get("PATH", os.defpath), *folders, "/usr/sbin"])


def program() -> str:
    """Return postgres, of Debian's package or of PATH."""
    found = shutil.which("postgres", path=path_of_programs())
    if found is None:
        raise RuntimeError("postgres is missing: apt install postgresql-15")
    return found


def _unprivileged() -> Mapping[str, Any]:
    """Return how to start a program that refuses to run as root."""
    if os.getuid() != 0:
        return {}
    nobody = pwd.getpwnam("nobody")
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


class PostgresqlServer:
    """A running cluster. `stop` and `start` take it away and bring it back, as it was."""

    def __init__(self, postgres: str) -> None:
        # A short path: it holds a Unix socket. Its user may enter it, and nobody else.
        self.folder = Path(tempfile.mkdtemp(prefix="rs-pg-", dir="/tmp"))
        self._as = _unprivileged()
        if self._as:
            os.chown(self.folder, self._as["user"], self._as["group"])
        self._postgres = postgres
        self._numbers = itertools.count()
        self._process: subprocess.Popen[bytes] | None = None
        self._run(
            [str(Path(postgres).resolve().with_name("initdb")), "--pgdata", self.data,
             "--username", _USER, "--auth", "trust", "--no-sync",
             "--encoding", "UTF8", "--no-locale"]
        )  # fmt: skip
        self.start()

    @property
    def data(self) -> str:
        return str(self.folder / "data")

    def url(self, database: str) -> str:
        """Return the URL of a database, as a user writes it."""
        return f"postgresql://{_USER}@/{database}?host={self.folder}"

    @property
    def pid(self) -> int:
        """Return the process, once it is started."""
        assert self._process is not None  # noqa: S101  it is started
        return self._process.pid

    def start(self) -> None:
        """Start it, and wait until it answers."""
        with (self.folder / "log").open("ab") as log:
            process: subprocess.Popen[Any] = subprocess.Popen(
                [self._postgres, "-D", self.data, "-k", str(self.folder), "-h", "",
                 "-c", "fsync=off", "-c", "full_page_writes=off", "-c", "max_connections=100",
                 "-c", "shared_buffers=16MB"],
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd="/",
                **self._as,
            )  # fmt: skip
        self._process = process
        end = time.monotonic() + 60
        while True:
            try:
                self._connect().close()
                return
            except psycopg.OperationalError:
                if process.poll() is not None or time.monotonic() > end:
                    raise RuntimeError((self.folder / "log").read_text()) from None
                time.sleep(0.02)

    def stop(self) -> None:
        """End it at once: every connection breaks."""
        if self._process is not None:
            self._process.send_signal(signal.SIGINT)  # a "fast" shutdown
            self._process.wait(30)
            self._process = None

    def new(self) -> str:
        """Return the URL of a new, empty database."""
        name = f"test_{next(self._numbers)}"
        with self._connect() as db:
            db.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        return self.url(name)

    def drop(self, url: str) -> None:
        """Delete a database, whoever is still connected to it."""
        name = url.partition("?")[0].rpartition("/")[2]
        with self._connect() as db:
            db.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))

    def remove(self) -> None:
        """Stop it and delete its files."""
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _connect(self) -> psycopg.Connection[Any]:
        return psycopg.connect(
            host=str(self.folder), user=_USER, dbname="postgres", autocommit=True, connect_timeout=5
        )

    def _run(self, words: list[str]) -> None:
        done = subprocess.run(
            words, capture_output=True, text=True, check=False, cwd="/", **self._as
        )
        if done.returncode:
            raise RuntimeError(done.stdout + done.stderr)
