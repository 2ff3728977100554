"""A store in a folder of its own, and receivers that verify what they are sent."""

import http.server
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import psycopg
import pytest
from standardwebhooks import Webhook

from rankscope.alerts.lifecycle import Change
from rankscope.alerts.ports import Endpoint
from rankscope.collector.store import Store, endpoints, tables


@dataclass
class Received:
    """What a receiver got: the message's id, its time as sent, and the verified body."""

    webhook_id: str
    timestamp: str
    body: dict[str, Any]
    headers: dict[str, str]


@dataclass
class Receiver:
    """A real HTTP server. `answer` says what it answers: status and headers."""

    secret: str
    answer: Callable[[int], tuple[int, dict[str, str]]] = lambda _number: (204, {})
    got: list[Received] = field(default_factory=list)
    let_go: threading.Event = field(default_factory=threading.Event)
    stuck: bool = False
    port: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook"

    @property
    def ids(self) -> list[str]:
        return [row.webhook_id for row in self.got]

    @property
    def types(self) -> list[str]:
        return [row.body["type"] for row in self.got]


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    receiver: Receiver


class _Handler(http.server.BaseHTTPRequestHandler):
    server: _Server

    def do_POST(self) -> None:
        receiver = self.server.receiver
        body = self.rfile.read(int(self.headers["content-length"]))
        if len(body) < int(self.headers["content-length"]):
            return  # the sender was killed in the middle of it
        headers = {name.lower(): value for name, value in self.headers.items()}
        verified = Webhook(receiver.secret).verify(body, headers)
        receiver.got.append(
            Received(headers["webhook-id"], headers["webhook-timestamp"], verified, headers)
        )
        if receiver.stuck:
            receiver.let_go.wait(60)
        status, more = receiver.answer(len(receiver.got))
        self.send_response(status)
        for name, value in {"content-length": "0", **more}.items():
            self.send_header(name, value)
        self.end_headers()

    do_GET = do_POST  # noqa: N815  the name that the library calls

    def log_message(self, *_arguments: Any) -> None:
        """Say nothing."""


@pytest.fixture
def new_receiver() -> Iterator[Callable[..., Receiver]]:
    """Return a function that starts a receiver on a free port."""
    servers = []

    def start(**more: Any) -> Receiver:
        server = _Server(("127.0.0.1", 0), _Handler)
        server.receiver = Receiver(endpoints.new_secret(), port=server.server_port, **more)
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        servers.append((server, thread))
        return server.receiver

    yield start
    for server, thread in servers:
        server.receiver.let_go.set()
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture(scope="session")
def emptied(postgresql) -> Callable[[], str]:
    """Return a function that returns the URL of a migrated PostgreSQL database, emptied.

    It is the same one each time: to empty it costs a hundredth of making another.
    """
    made: str = postgresql.new()
    Store(made).close()
    names = ", ".join(f'"{table.name}"' for table in tables.metadata.sorted_tables)

    def empty() -> str:
        with psycopg.connect(made) as db:
            db.execute(f"TRUNCATE {names} RESTART IDENTITY CASCADE".encode())
        return made

    return empty


@pytest.fixture
def url_of(request, new_sqlite) -> Callable[[str], str]:
    """Return a function that returns the URL of a migrated and empty database of a kind."""

    def make(kind: str) -> str:
        make_one = new_sqlite if kind == "sqlite" else request.getfixturevalue("emptied")
        made: str = make_one()
        return made

    return make


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request, url_of) -> str:
    """Return the URL of a migrated and empty database, one of each kind."""
    made: str = url_of(request.param)
    return made


@pytest.fixture(params=["sqlite", "postgresql"])
def unmade_url(request, tmp_path) -> Iterator[str]:
    """Return the URL of a database that nobody has migrated, one of each kind."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'unmade.db'}"
        return
    server = request.getfixturevalue("postgresql")
    made = server.new()
    yield made
    server.drop(made)


@pytest.fixture
def store(url) -> Iterator[Store]:
    opened = Store(url)
    yield opened
    opened.close()


@pytest.fixture
def add_webhook(store) -> Callable[..., str]:
    """Return a function that adds an endpoint and returns its id."""

    def add(identity: str = "wh_1", **more: Any) -> str:
        given = {
            "url": "http://127.0.0.1:9/hook",
            "secret": endpoints.new_secret(),
            "format": "standard",
            **more,
        }
        store.add_webhook(Endpoint(id=identity, **given), 0.0)
        return identity

    return add


@pytest.fixture
def changed(new_incident) -> Callable[..., Change]:
    """Return a function that makes a change: its kind's last word, then what new_incident takes."""

    def make(kind: str = "opened", *, notify: bool = True, **more: Any) -> Change:
        if kind == "resolved":
            more.setdefault("status", "resolved")
        return Change(f"incident.{kind}", new_incident(**more), notify)  # type: ignore[arg-type]

    return make


@pytest.fixture
def queued(store) -> Callable[..., list[tuple[str, str]]]:
    """Return a function that gives (type, state) of an endpoint's messages, the oldest first."""

    def read(webhook: str = "wh_1") -> list[tuple[str, str]]:
        rows = store.deliveries(webhook, limit=1000)
        return [(row.type.removeprefix("incident."), row.state) for row in reversed(rows)]

    return read


@pytest.fixture
def tarpit():
    """Return a server that takes connections and answers a byte at a time, for ever."""
    listener = socket.create_server(("127.0.0.1", 0))
    over = threading.Event()
    threads = []

    def drip(connection):
        with connection:
            for letter in b"HTTP/1.1 200 OK\r\nx: " + b"y" * 10_000:
                if over.wait(0.02):
                    return
                try:
                    connection.send(bytes([letter]))
                except OSError:
                    return

    def accept():
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threads.append(threading.Thread(target=drip, args=(connection,), daemon=True))
            threads[-1].start()

    accepting = threading.Thread(target=accept, daemon=True)
    accepting.start()
    yield f"http://127.0.0.1:{listener.getsockname()[1]}/"
    over.set()
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    for thread in (accepting, *threads):
        thread.join(60)
