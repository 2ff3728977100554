"""Empties the outbox: each message to its endpoint, in order, until it is taken or given up.

At least once: a crash between the receiver's answer and our note of it sends the message again,
under the same webhook-id. One message is under way for an endpoint at a time, each endpoint has a
thread of its own while it has something to do, so a slow one delays nobody else.
"""

import random
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Protocol

import structlog
from prometheus_client import CollectorRegistry, Counter

from ...alerts import notify
from ...alerts.ports import (
    DeliveryOutcome,
    HttpPost,
    NoticeOutbox,
    NotifiedEndpoint,
    OutboxDelivery,
)
from ...vocabulary.clock import Clock
from . import endpoints, schedule, sending

_LOG = structlog.get_logger(__name__)
_LOOK_SECONDS = 1.0
"""How often to look for what has become due; what is new is announced by `wake`."""
_HOLD_SECONDS = 30.0


class SendAttempt(Protocol):
    """One attempt, as `sending.send` makes it."""

    def __call__(
        self, request: HttpPost, *, outcome: sending.Read, now: Callable[[], float]
    ) -> DeliveryOutcome:
        """POST a request and return how it ended."""
        ...


class OutboxDeliverer:
    """Delivers what is due. `run_once` does not wait for receivers; `settle` does."""

    def __init__(
        self,
        *,
        outbox: NoticeOutbox,
        clock: Clock,
        send: SendAttempt = sending.send,
        chance: random.Random | None = None,
        registry: CollectorRegistry | None = None,
    ) -> None:
        self._outbox = outbox
        self._clock = clock
        self._send = send
        self._chance = chance or random.Random()  # noqa: S311  spreads load, guards nothing
        self._pool = ThreadPoolExecutor(endpoints.MOST, thread_name_prefix="deliver")
        self._under_way: dict[str, Future[None]] = {}
        self._held: dict[str, float] = {}
        self._lock = threading.Lock()
        self._awake = threading.Event()
        self._stopping = False
        self._thread: threading.Thread | None = None
        self._attempts = Counter(
            "rankscope_webhook_attempts",
            "Attempts to deliver a message, by how they ended.",
            ["outcome"],
            registry=registry,
        )
        self._failures = Counter(
            "rankscope_webhook_defects",
            "Deliveries cut short by an error on this side.",
            registry=registry,
        )

    def start(self) -> None:
        """Deliver from now on, in threads of its own."""
        self._thread = threading.Thread(target=self._run, name="deliverer", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Look at once: something new is in the outbox."""
        self._awake.set()

    def stop(self, *, timeout_seconds: float = 5.0) -> None:
        """Begin nothing more, and give what is under way a little time to end.

        What does not end in time is sent again at the next start, under the same webhook-id.
        """
        self._stopping = True
        self._awake.set()
        if self._thread is not None:
            self._thread.join()
        self.settle(timeout_seconds=timeout_seconds)
        self._pool.shutdown(wait=False, cancel_futures=True)

    def run_once(self, now: float) -> int:
        """Begin to deliver what is due at `now`; return for how many endpoints."""
        begun = 0
        for endpoint in self._outbox.waiting(now):
            with self._lock:
                if self._stopping:
                    break
                running = self._under_way.get(endpoint)
                if running is not None and not running.done():
                    continue
                if now < self._held.get(endpoint, now):
                    continue
                self._under_way[endpoint] = self._pool.submit(self._drain, endpoint)
            begun += 1
        return begun

    def settle(self, *, timeout_seconds: float | None = None) -> None:
        """Wait for what is under way."""
        with self._lock:
            running = list(self._under_way.values())
        wait(running, timeout=timeout_seconds)

    def _run(self) -> None:
        while not self._stopping:
            self._awake.clear()
            try:
                self.run_once(self._clock.now())
            except Exception as error:  # noqa: BLE001  whatever the database raises, we look again
                self._failures.inc()
                _LOG.error("the outbox cannot be read", error=type(error).__name__)
            self._awake.wait(_LOOK_SECONDS)

    def _drain(self, endpoint: str) -> None:
        """Deliver to one endpoint until nothing is due there."""
        try:
            while not self._stopping:
                found = self._outbox.next_delivery(endpoint, self._clock.now())
                if found is None:
                    return
                self._attempt(*found)
        except Exception as error:  # noqa: BLE001  the edge of one delivery: others go on
            # Perhaps it was taken and could not be noted: not to be repeated every second.
            self._held[endpoint] = self._clock.now() + _HOLD_SECONDS
            self._failures.inc()
            _LOG.error("a delivery was cut short", endpoint=endpoint, error=type(error).__name__)

    def _attempt(self, endpoint: NotifiedEndpoint, delivery: OutboxDelivery) -> None:
        format_ = notify.FORMATS[endpoint.format]
        try:
            request = format_.request(endpoint, delivery.notice, self._clock.now())
        except Exception as error:  # noqa: BLE001  one message must not hold the others back
            self._failures.inc()
            _LOG.error("a message cannot be written", id=delivery.webhook_id, error=repr(error))
            text = f"the message cannot be written: {type(error).__name__}"
            outcome = DeliveryOutcome(None, text, unwritten=True)
        else:
            outcome = self._send(request, outcome=format_.outcome, now=self._clock.now)
        now = self._clock.now()
        if outcome.accepted:
            self._outbox.delivered(endpoint.id, delivery, outcome, now)
            self._attempts.labels("accepted").inc()
        elif outcome.disabled:
            self._outbox.gone(endpoint.id, delivery, outcome, now)
            self._attempts.labels("gone").inc()
            _LOG.warning("a webhook is disabled: its receiver is gone", endpoint=endpoint.id)
        else:
            due_at = schedule.next_due(
                delivery.attempts + 1,
                now=now,
                retry_after=outcome.retry_after,
                chance=self._chance,
            )
            self._outbox.failed(endpoint.id, delivery, outcome, due_at=due_at, now=now)
            self._attempts.labels("failed").inc()
            if due_at is None:
                _LOG.warning("a message is given up", endpoint=endpoint.id, id=delivery.webhook_id)
