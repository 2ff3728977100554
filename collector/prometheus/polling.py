"""Polls one store for as long as the collector runs: what was scraped since the last poll.

A poll is a payload of remote write like any other: it counts once it is in the journal. What fails
is counted by reason, said in /readyz, and asked again; nothing is taken twice.
"""

import math
import threading
from collections.abc import Callable
from concurrent.futures import Future

import structlog

from ...vocabulary.clock import Clock
from ..health.health import CollectorHealth
from ..intake.payloads import Payload, PayloadOutcome
from ..intake.waiting import UnavailableError
from ..journal.kinds import PayloadKind
from ..settings.prometheus import PrometheusSettings
from .asking import PrometheusClient, StoreQueryError
from .reading import StoreReading

_LOG = structlog.get_logger(__name__)
_JOURNAL_SECONDS = 30.0
_SAID_NAMES = 5

Submit = Callable[[Payload], "Future[PayloadOutcome]"]


class StorePoller:
    """Polls one store. `step` does one poll; `start` runs it in a thread of its own."""

    def __init__(
        self,
        settings: PrometheusSettings,
        *,
        submit: Submit,
        clock: Clock,
        health: CollectorHealth,
        polls: Callable[[], bool] = lambda: True,
    ) -> None:
        """Take settings; `polls` returns whether this one of several collectors polls."""
        self._settings = settings
        self._submit = submit
        self._clock = clock
        self._health = health.polling
        self._asking = PrometheusClient(settings)
        self._polls = polls
        self._reading = StoreReading(settings, self._asking)
        self._until = -math.inf
        self._not_before = -math.inf
        self._failing_since: float | None = None
        self._problem = ""
        self._notes: tuple[str, ...] = ()
        self._stopping = threading.Event()
        self._thread = threading.Thread(
            target=self._run, name=f"poll {settings.label}", daemon=True
        )

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """End the thread, and wait for a poll in progress."""
        self._stopping.set()
        if self._thread.ident is not None:
            self._thread.join(2 * self._settings.timeout_seconds)
        self._asking.close()

    def warnings(self) -> list[str]:
        """Return what an operator has to know of this store."""
        found = []
        if self._problem and self._failing_since is not None:
            seconds = self._clock.now() - self._failing_since
            found.append(
                f"prometheus {self._settings.label}: {self._problem} (for {seconds:.0f} s; what it "
                "scraped is not seen meanwhile)"
            )
        found += [f"prometheus {self._settings.label}: {note}" for note in self._notes]
        return found

    def step(self, now: float) -> bool:
        """Poll if a poll is due; return whether one was tried."""
        if not self._polls():
            return False
        settings = self._settings
        every = settings.interval_seconds
        end = math.floor((now - settings.delay_seconds) / every) * every
        if end <= self._until or now < self._not_before:
            return False
        if self._until == -math.inf:
            self._until = end - every  # from when on it is asked, whether or not it answers now
        start = max(self._until, end - max(settings.catch_up_seconds, every))
        if start > self._until:
            self._health.missed.labels(settings.label).inc(start - self._until)
            self._until = start
        try:
            self._poll(start, end, now)
        except StoreQueryError as error:
            self._failed(error.reason, str(error), now, error.wait_seconds)
        except UnavailableError as error:
            self._failed("journal", str(error), now, error.retry_after_seconds)
        else:
            self._until = end
            if self._failing_since is not None:
                _LOG.info("the store answers again", store=settings.label)
            self._failing_since, self._problem = None, ""
        return True

    def _poll(self, start: float, end: float, now: float) -> None:
        # A scrape is stored after it began: what came late to the last poll comes with this one.
        stretch = self._reading.read(start - self._settings.interval_seconds, end)
        label = self._settings.label
        waiting = [
            self._submit(Payload(PayloadKind.REMOTE_WRITE, body)) for body in stretch.bodies()
        ]
        for future in waiting:
            try:
                future.result(_JOURNAL_SECONDS)
            except TimeoutError:
                raise UnavailableError("the journal took too long") from None
        self._reading.taken(stretch)
        newest = max(stretch.at_ms, default=0)
        self._health.polls.labels(label, "success").inc()
        self._health.samples.labels(label).inc(stretch.samples)
        self._health.series.labels(label).set(self._reading.series)
        self._health.malformed.labels(label).inc(stretch.malformed)
        if newest:
            self._health.lag.labels(label).set(max(0.0, now - newest / 1000))
        notes = list(stretch.warnings)
        if stretch.warnings:
            self._health.polls.labels(label, "partial").inc()
        if stretch.left_out:
            named = ", ".join(stretch.left_out[:_SAID_NAMES])
            notes.append(
                f"{len(stretch.left_out)} metrics are not asked for, more than "
                f"{self._settings.max_series} series: {named}; add matchers or raise max_series"
            )
        if not stretch.series:
            notes.append(
                "it answers, and has no metric that is known here; check matchers, and that it "
                "scrapes an exporter of accelerators"
            )
        self._notes = tuple(notes)

    def _failed(self, reason: str, text: str, now: float, wait_seconds: float) -> None:
        self._health.polls.labels(self._settings.label, reason).inc()
        self._not_before = now + wait_seconds if wait_seconds else -math.inf
        if self._failing_since is None:
            self._failing_since = now
            _LOG.warning("a poll failed", store=self._settings.label, reason=reason, error=text)
        self._problem = text

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                tried = self.step(self._clock.now())
            except Exception as error:  # noqa: BLE001  the edge of one poll; the next one may do
                self._failed("defect", f"{type(error).__name__}: {error}", self._clock.now(), 0.0)
                tried = True
            # After a failure not at once again; else the next second may be due.
            pause = min(self._settings.interval_seconds, 5.0) if tried else 1.0
            self._stopping.wait(pause if self._problem or not tried else 1.0)


def pollers(
    settings: tuple[PrometheusSettings, ...],
    *,
    submit: Submit,
    clock: Clock,
    health: CollectorHealth,
    polls: Callable[[], bool] = lambda: True,
) -> list[StorePoller]:
    return [
        StorePoller(one, submit=submit, clock=clock, health=health, polls=polls) for one in settings
    ]
