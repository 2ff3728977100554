"""Sends what was gathered, in order; keeps it within a bound while the store does not take it."""

import math
import threading
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import cramjam
import httpx
import structlog
from prometheus_client import CollectorRegistry, Counter, Gauge

from ...vocabulary.clock import Clock
from ..settings.long_term import LongTermSettings

_LOG = structlog.get_logger(__name__)
_FIRST_WAIT_SECONDS, _LONGEST_WAIT_SECONDS = 1.0, 60.0
_QUOTED = 200

Gather = Callable[[float], Iterable[tuple[bytes, int]]]


@dataclass(frozen=True, slots=True)
class _CompressedBody:
    """A compressed request."""

    data: bytes
    samples: int


class _SendHealth:
    def __init__(self, registry: CollectorRegistry) -> None:
        self.samples = Counter(
            "rankscope_collector_long_term_samples",
            "Samples for the site's store, by outcome: sent, rejected by it, dropped for want of "
            "room.",
            ["outcome"],
            registry=registry,
        )
        self.failures = Counter(
            "rankscope_collector_long_term_failures",
            "Requests to the site's store that failed, by reason.",
            ["reason"],
            registry=registry,
        )
        self.queue = Gauge(
            "rankscope_collector_long_term_queue_bytes",
            "Bytes that the site's store does not have yet.",
            registry=registry,
        )


class LongTerm:
    """Writes into one store. `step` does what is due; `start` runs it in a thread of its own."""

    def __init__(
        self,
        settings: LongTermSettings,
        *,
        gather: Gather,
        clock: Clock,
        registry: CollectorRegistry,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._settings = settings
        self._gather = gather
        self._clock = clock
        self._health = _SendHealth(registry)
        self._queue: deque[_CompressedBody] = deque()
        self._bytes = 0
        self._due = -math.inf
        self._wait = 0.0
        self._not_before = -math.inf
        self._problem = ""
        self._failing_since = 0.0
        self._stopping = threading.Event()
        self._client = settings.client(
            {
                "Content-Type": "application/x-protobuf",
                "Content-Encoding": "snappy",
                "X-Prometheus-Remote-Write-Version": "0.1.0",
            },
            transport,
        )
        self._thread = threading.Thread(target=self._run, name="long term", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """End the thread; what the store does not have by then is lost."""
        self._stopping.set()
        if self._thread.ident is not None:
            self._thread.join(2 * self._settings.timeout_seconds)
        self._client.close()

    def warnings(self) -> list[str]:
        """Return what an operator has to know."""
        if not self._problem:
            return []
        seconds = self._clock.now() - self._failing_since
        said = f"{self._problem} (for {seconds:.0f} s; {self._bytes} bytes wait)"
        return [f"long_term {self._settings.address}: {said}"]

    def step(self, now: float) -> None:
        """Gather if it is time, and send what waits."""
        every = self._settings.interval_seconds
        if now >= self._due:
            self._due = (math.floor(now / every) + 1) * every
            for body, samples in self._gather(now):
                self._keep(_CompressedBody(bytes(cramjam.snappy.compress_raw(body)), samples))
        while self._queue and now >= self._not_before and not self._stopping.is_set():
            if not self._send(self._queue[0], now):
                return
            self._bytes -= len(self._queue.popleft().data)
            self._health.queue.set(self._bytes)

    def _keep(self, body: _CompressedBody) -> None:
        self._queue.append(body)
        self._bytes += len(body.data)
        while self._bytes > self._settings.queue_bytes and len(self._queue) > 1:
            oldest = self._queue.popleft()
            self._bytes -= len(oldest.data)
            self._health.samples.labels("dropped").inc(oldest.samples)
        self._health.queue.set(self._bytes)

    def _send(self, body: _CompressedBody, now: float) -> bool:
        """Send a request; return whether the store is done with it, taken or not."""
        try:
            answer = self._client.post(self._settings.url, content=body.data)
        except httpx.TimeoutException:
            seconds = self._settings.timeout_seconds
            return self._failed("timeout", f"no answer within {seconds:g} s", now)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            return self._failed("connection", f"cannot be reached: {error}", now)
        status = answer.status_code
        text = f"HTTP {status}: {answer.text[:_QUOTED].strip()}"
        if status in (401, 403, 404, 429) or status >= 500:
            # None of these is about what was sent: it is kept until somebody has put it right.
            reason = {429: "rate_limited", 404: "not_found"}.get(status, "")
            reason = reason or ("forbidden" if status < 500 else "unavailable")
            return self._failed(reason, text, now, answer.headers.get("retry-after", ""))
        if not answer.is_success:
            self._health.failures.labels("rejected").inc()
            self._health.samples.labels("rejected").inc(body.samples)
            self._note(text, now)
            return True
        self._health.samples.labels("sent").inc(body.samples)
        if self._problem:
            _LOG.info("the store accepts derived series again", store=self._settings.address)
        self._problem, self._wait, self._not_before = "", 0.0, -math.inf
        return True

    def _failed(self, reason: str, text: str, now: float, retry_after: str = "") -> bool:
        self._health.failures.labels(reason).inc()
        self._wait = min(max(2 * self._wait, _FIRST_WAIT_SECONDS), _LONGEST_WAIT_SECONDS)
        asked = float(retry_after) if retry_after.strip().isdecimal() else 0.0
        self._not_before = now + max(self._wait, min(asked, _LONGEST_WAIT_SECONDS))
        self._note(text, now)
        return False

    def _note(self, text: str, now: float) -> None:
        if not self._problem:
            self._failing_since = now
            _LOG.warning(
                "the store does not accept derived series", store=self._settings.address, error=text
            )
        self._problem = text

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                self.step(self._clock.now())
            except Exception as error:  # noqa: BLE001  the edge of one round; the next one may do
                now = self._clock.now()
                self._failed("defect", f"{type(error).__name__}: {error}", now)
            self._stopping.wait(1.0)
