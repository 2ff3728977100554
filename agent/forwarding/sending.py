"""Forwarded lines on their way: one batch at a time, from a thread of its own.

A receiver that is away, slow, or asks for a pause (429, 502, 503, 504, Retry-After) is waited for,
and what waits meanwhile is bounded. Any other refusal costs the batch, counted.
"""

import logging
import random
import threading
import zlib
from collections.abc import Callable

from ...formats import wire
from ...formats.otlp import lines
from ..health import AgentHealth
from ..outgoing import LOGS
from ..push import PushAnswer, PushConnection, UnreachableError
from .waiting import ForwardQueue

_BATCH = 512 << 10
"""Bytes of one request before compression: receivers take at least a few MiB."""
_RETRYABLE = frozenset({408, 429, 502, 503, 504})
_FIRST_PAUSE_SECONDS = 0.5
_LONGEST_PAUSE_SECONDS = 30.0
_TRIES_OF_500 = 5

_log = logging.getLogger(__name__)


class ForwardSender:
    """Sends what waits, every `interval` seconds."""

    def __init__(
        self,
        *,
        waiting: ForwardQueue,
        post: PushConnection,
        health: AgentHealth,
        interval: float,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._waiting = waiting
        self._post = post
        self._health = health
        self._interval = interval
        self._jitter = jitter
        self._stopped = threading.Event()
        self._trouble = ""
        self._thread = threading.Thread(target=self._run, name="forwarding", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self, *, timeout: float) -> None:
        """Send what waits as far as the receiver takes it at once, for at most so many seconds."""
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join(timeout)
        self._post.close()

    def _run(self) -> None:
        last = False
        while not last:
            last = self._stopped.wait(self._interval)
            while True:
                groups, count = self._waiting.take(_BATCH)
                if not count:
                    break
                if not self._delivered(_gzip(lines.request(groups)), count):
                    self._health.count("forward_lines_dropped", "stopped", by=count)
                    return

    def _delivered(self, body: bytes, count: int) -> bool:
        """Send one batch until it is done with; False where the agent stops before."""
        pause, tries = _FIRST_PAUSE_SECONDS, 0
        while True:
            tries += 1
            after = None
            try:
                answer = self._post.send(LOGS, body)
            except UnreachableError as error:
                self._failed(error.reason)
            else:
                status = answer.status
                if 200 <= status < 300:
                    self._accepted(answer, count)
                    return True
                self._failed(f"status_{status}")
                retryable = status in _RETRYABLE or (status == 500 and tries < _TRIES_OF_500)
                if not retryable:
                    self._health.count("forward_lines_dropped", "refused", by=count)
                    return True
                after = answer.retry_after
            rest = pause * (0.5 + 0.5 * self._jitter()) if after is None else after
            pause = min(_LONGEST_PAUSE_SECONDS, 2 * pause)
            if self._stopped.wait(rest):
                return False

    def _accepted(self, answer: PushAnswer, count: int) -> None:
        try:
            rejected = min(count, lines.rejected(answer.body)) if answer.partial else 0
        except wire.WireError:
            rejected = 0  # taken, and something said that is no response of OTLP's
        if rejected:
            self._health.count("forward_lines_dropped", "rejected", by=rejected)
        self._health.count("forward_lines", by=count - rejected)
        if self._trouble:
            _log.warning("the receiver of forwarded logs accepts them again")
        self._trouble = ""

    def _failed(self, reason: str) -> None:
        self._health.count("forward_failures", reason)
        if not self._trouble:
            _log.warning("forwarded logs are not accepted (%s); forward.max_bytes wait", reason)
        self._trouble = reason


def _gzip(body: bytes) -> bytes:
    compressor = zlib.compressobj(level=1, wbits=31)
    return compressor.compress(body) + compressor.flush()
