"""The push: what waits in the spool goes to the collector, in order, one batch at a time.

Nothing is given up because the collector is away, slow or answers 503; only what it calls
undecodable (400), too large (413) or of a wrong type (415) is, counted, because it would be refused
for ever.
"""

import email.utils
import http.client
import logging
import random
import socket
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from .health import AgentHealth
from .outgoing import LOGS, METRICS
from .spool import DiskSpool

_PATHS = {METRICS: "/v1/metrics", LOGS: "/v1/logs"}
_REFUSED = frozenset({400, 413, 415, 422})
_FIRST_PAUSE_SECONDS = 0.5
_LONGEST_PAUSE_SECONDS = 30.0
_LONGEST_RETRY_AFTER_SECONDS = 300.0
_MOST_ANSWER = 4096
_TRIES_OF_500 = 20
"""A batch that makes the collector fail each time must not stand in the way of all others."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class PushAnswer:
    """What the collector answered: an HTTP status, and how long it asks to be left alone.

    `partial`: it took the batch but not every point of it; `body` then says more.
    """

    status: int
    retry_after: float | None = None
    partial: bool = False
    body: bytes = b""


class UnreachableError(Exception):
    """No answer; `reason` is one word for the counter."""

    def __init__(self, reason: str, text: str) -> None:
        self.reason = reason
        super().__init__(text)


class PushConnection:
    """One kept-alive connection to the collector."""

    def __init__(
        self,
        endpoint: str,
        *,
        timeout: float,
        token: str = "",
        ca_file: Path | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        parts = urlsplit(endpoint)
        self._host = parts.hostname or ""
        self._port = parts.port
        self._path = parts.path.rstrip("/")
        self._timeout = timeout
        self._tls = None
        if parts.scheme == "https":
            self._tls = ssl.create_default_context(cafile=str(ca_file) if ca_file else None)
        self._headers = {
            "Content-Type": "application/x-protobuf",
            "Content-Encoding": "gzip",
            "User-Agent": "rankscope-agent",
            **(headers or {}),
        }
        if token:
            self._headers["Authorization"] = f"Bearer {token}"
        self._connection: http.client.HTTPConnection | None = None

    def send(self, kind: int, body: bytes) -> PushAnswer:
        """Post one batch; raises UnreachableError when there is no answer."""
        kept = self._connection is not None
        try:
            return self._send(kind, body)
        except (OSError, http.client.HTTPException) as error:
            self.close()
            # A server may close a connection that was idle: that is no failure, try a new one.
            stale = isinstance(error, http.client.RemoteDisconnected | ConnectionError)
            if not (kept and stale):
                raise _unreachable(error) from error
        try:
            return self._send(kind, body)
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise _unreachable(error) from error

    def close(self) -> None:
        """Close the connection; the next batch opens another."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _send(self, kind: int, body: bytes) -> PushAnswer:
        if self._connection is None:
            self._connection = self._opened()
        self._connection.request("POST", self._path + _PATHS[kind], body, self._headers)
        response = self._connection.getresponse()
        answer = response.read()
        retry_after = _retry_after(response.getheader("Retry-After"), time.time())
        if response.will_close:
            self.close()
        # A full success is an empty message, or one with an empty partial_success: two bytes.
        return PushAnswer(
            response.status, retry_after, partial=len(answer) > 2, body=answer[:_MOST_ANSWER]
        )

    def _opened(self) -> http.client.HTTPConnection:
        if self._tls is None:
            return http.client.HTTPConnection(self._host, self._port, timeout=self._timeout)
        return http.client.HTTPSConnection(
            self._host, self._port, timeout=self._timeout, context=self._tls
        )


class SpoolSender:
    """Empties the spool from a thread of its own."""

    def __init__(
        self,
        *,
        spool: DiskSpool,
        post: PushConnection,
        health: AgentHealth,
        now: Callable[[], float],
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._spool = spool
        self._post = post
        self._health = health
        self._now = now
        self._jitter = jitter
        self._wake = threading.Condition()
        self._stopping = False
        self._news = False
        self._pause = _FIRST_PAUSE_SECONDS
        self._trouble = ""
        self._refusals: set[int] = set()
        self._thread = threading.Thread(target=self._run, name="pushing", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def wake(self) -> None:
        with self._wake:
            self._news = True
            self._wake.notify()

    def stop(self, *, timeout: float) -> None:
        """Send what waits for as long as the collector takes it, and at most so many seconds."""
        with self._wake:
            self._stopping = True
            self._wake.notify()
        self._thread.join(timeout)
        self._post.close()

    def _run(self) -> None:
        tries = 0
        while True:
            record = self._spool.first()
            if record is None:
                if not self._wait_for_news():
                    return
                continue
            pause = self._deliver(record.kind, record.payload, tries)
            if pause is None:
                self._spool.done(record)
                tries = 0
                continue
            tries += 1
            if not self._rest(pause):
                return

    def _deliver(self, kind: int, payload: bytes, tries: int) -> float | None:
        """Send one batch: return None when it is done with, else how long to wait."""
        try:
            answer = self._post.send(kind, payload)
        except UnreachableError as error:
            self._health.count("push_failures", error.reason)
            self._log_failure(str(error))
            return self._backoff()
        status = answer.status
        if 200 <= status < 300:
            self._health.count("push_batches")
            if answer.partial:
                self._health.count("push_partial")
            self._health.happened("push_last_success", self._now())
            self._pause = _FIRST_PAUSE_SECONDS
            self._log_recovery()
            return None
        self._health.count("push_failures", f"status_{status}")
        if status in _REFUSED or (status == 500 and tries >= _TRIES_OF_500):
            self._health.count("push_refused", str(status))
            if status not in self._refusals:
                self._refusals.add(status)
                _log.error("the collector refused a batch with %d; it is dropped", status)
            return None
        self._log_failure(f"status {status}")
        pause = self._backoff()
        return pause if answer.retry_after is None else answer.retry_after + self._jitter()

    def _backoff(self) -> float:
        """Return the next pause: doubling, and anything down to half of it."""
        pause = self._pause * (0.5 + 0.5 * self._jitter())
        self._pause = min(_LONGEST_PAUSE_SECONDS, self._pause * 2)
        return pause

    def _wait_for_news(self) -> bool:
        with self._wake:
            while not self._news:
                if self._stopping:
                    return False
                self._wake.wait()
            self._news = False
            return True

    def _rest(self, pause: float) -> bool:
        """Wait before the next try; False when the agent stops meanwhile: the disk keeps it."""
        with self._wake:
            return not self._wake.wait_for(lambda: self._stopping, pause)

    def _log_failure(self, text: str) -> None:
        if not self._trouble:
            _log.warning(
                "the collector does not accept telemetry (%s); it is spooled on disk", text
            )
        self._trouble = text

    def _log_recovery(self) -> None:
        if self._trouble:
            _log.warning(
                "the collector accepts telemetry again; %d batches are spooled", self._spool.records
            )
        self._trouble = ""


def _unreachable(error: Exception) -> UnreachableError:
    if isinstance(error, TimeoutError):
        reason = "timeout"
    elif isinstance(error, ConnectionRefusedError):
        reason = "refused"
    elif isinstance(error, socket.gaierror):
        reason = "name"
    elif isinstance(error, ssl.SSLError):
        reason = "tls"
    elif isinstance(error, OSError):
        reason = "network"
    else:
        reason = "http"
    return UnreachableError(reason, f"{reason}: {error}")


def _retry_after(header: str | None, now: float) -> float | None:
    """Return the seconds of a Retry-After header, in either of its two forms."""
    if header is None:
        return None
    text = header.strip()
    if text.isdecimal():
        seconds = float(text)
    else:
        try:
            seconds = email.utils.parsedate_to_datetime(text).timestamp() - now
        except ValueError:
            return None
    return min(_LONGEST_RETRY_AFTER_SECONDS, max(0.0, seconds))
