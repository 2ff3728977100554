"""The connection to NATS: an event loop in a thread of its own, asked from every other thread."""

import asyncio
import json
import ssl
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

import nats
import nats.errors
import structlog
import uvloop
from nats.aio.client import Client
from nats.js import JetStreamContext
from nats.js.errors import APIError

from ..settings.log import LogSettings

T = TypeVar("T")

_LOG = structlog.get_logger(__name__)
_START_SECONDS = 10.0
_STOP_SECONDS = 5.0
_REQUEST_SECONDS = 3.0
ERRORS = (nats.errors.Error, OSError, TimeoutError, asyncio.TimeoutError)
"""What a call raises while NATS, or the leader of a stream, is away."""


class LogUnavailableError(OSError):
    """The log in NATS cannot be used; the text says why and what to do."""


class NatsConnection:
    """One client of NATS. It reconnects by itself, for as long as it takes."""

    def __init__(self, settings: LogSettings, *, name: str) -> None:
        self._settings = settings
        self._name = name
        self._loop = uvloop.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="nats", daemon=True)
        self._client = Client()
        self._made = False
        self.js: JetStreamContext

    def start(self) -> None:
        """Connect. Raises LogUnavailableError when no server answers."""
        self._thread.start()
        try:
            self.call(self._connect(), _START_SECONDS)
        except ERRORS as error:
            self.stop()
            servers = ", ".join(map(_shown, self._settings.servers))
            why = str(error) or "no answer"
            raise LogUnavailableError(f"log.url: {servers} cannot be reached: {why}") from None

    def stop(self) -> None:
        """Close the connection and end the thread."""
        if not self._thread.is_alive():
            return
        try:
            self.call(self._close(), _STOP_SECONDS)
        except ERRORS:
            pass
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(_STOP_SECONDS)

    @property
    def up(self) -> bool:
        """Tell whether some server is connected."""
        return self._client.is_connected

    @property
    def client(self) -> Client:
        """Return the client, for code that runs on the loop."""
        return self._client

    @property
    def most_bytes(self) -> int:
        """Return how large a message may be."""
        return int(self._client.max_payload) or 1 << 20

    def call(self, work: Coroutine[Any, Any, T], timeout: float) -> T:
        """Run on the loop and return what it returns. Raises TimeoutError."""
        future = self.spawn(work)
        try:
            return future.result(timeout)
        except TimeoutError:
            future.cancel()
            raise

    def spawn(self, work: Coroutine[Any, Any, T]) -> "Future[T]":
        """Run on the loop without waiting. Raises LogUnavailableError once it is stopped."""
        if not self._thread.is_alive():
            work.close()
            raise LogUnavailableError("the connection to NATS is closed")
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def announce(self, subject: str, document: Any) -> None:
        """Publish to whoever listens now; nobody waits for it, and it may be lost."""
        if not self.up:
            return
        body = json.dumps(document, ensure_ascii=False).encode()
        self.spawn(self._announce(subject, body))

    async def api(self, name: str, document: Any = None) -> dict[str, Any]:
        """Ask the JetStream API. Raises APIError and what `ERRORS` names."""
        body = b"" if document is None else json.dumps(document).encode()
        answer = await self._client.request(f"$JS.API.{name}", body, timeout=_REQUEST_SECONDS)
        found: dict[str, Any] = json.loads(answer.data)
        if "error" in found:
            APIError.from_error(found["error"])
        return found

    async def _announce(self, subject: str, body: bytes) -> None:
        try:
            await self._client.publish(subject, body)
        except ERRORS as error:
            _LOG.debug("not announced", subject=subject, error=str(error))

    async def _connect(self) -> None:
        secure = None
        if any(one.startswith("tls:") for one in self._settings.servers):
            secure = ssl.create_default_context(
                cafile=None if self._settings.ca_file is None else str(self._settings.ca_file)
            )
        self._client = await nats.connect(
            self._settings.servers,
            name=self._name,
            max_reconnect_attempts=-1,
            reconnect_time_wait=0.2,
            connect_timeout=2,
            ping_interval=3,
            max_outstanding_pings=2,
            allow_reconnect=True,
            error_cb=_failed,
            disconnected_cb=_disconnected,
            reconnected_cb=_reconnected,
            tls=secure,
        )
        self._made = True
        self.js = self._client.jetstream(timeout=_REQUEST_SECONDS)

    async def _close(self) -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        if self._made:
            await self._client.close()
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()
        self._loop.close()


def _shown(url: str) -> str:
    """Return a URL without what may be a password."""
    scheme, mark, rest = url.partition("://")
    return f"{scheme}{mark}{rest.rpartition('@')[2]}"


async def _failed(error: Exception) -> None:
    _LOG.debug("nats", error=str(error) or type(error).__name__)


async def _disconnected() -> None:
    _LOG.warning("the connection to NATS is lost: senders keep what they have")


async def _reconnected() -> None:
    _LOG.info("connected to NATS again")
