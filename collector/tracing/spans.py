"""Spans of the way of a payload: taken in, evaluated, stored, delivered.

Evaluation looks at everything that is held: what it finds is put down to the payload that was
applied last. From then on the incident carries the trace; a bounded number of them is remembered.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from typing import Any

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, Tracer

from ...alerts.ports import DeliveryOutcome as Delivered
from ...alerts.ports import NoticeOutbox, NotifiedEndpoint, OutboxDelivery
from ..intake.payloads import Payload, PayloadOutcome
from ..journal.actions import RecordedAction
from ..store.storing import ChangeSink

MOST_INCIDENTS = 10_000

Submit = Callable[[Payload], "Future[PayloadOutcome]"]


class SpanMaker:
    """Makes spans. Safe to use from any thread."""

    def __init__(
        self, tracer: Tracer, *, stop: Callable[[], None] = lambda: None, records: bool = True
    ) -> None:
        """Make spans with `tracer`; `records`: they go somewhere, not only metrics do."""
        self._tracer = tracer
        self.stop = stop
        self.records = records
        self._incidents: OrderedDict[str, Context] = OrderedDict()
        self._lock = threading.Lock()
        self._cause: Context | None = None

    def submit(self, payload: Payload, submit: Submit) -> "Future[PayloadOutcome]":
        """Submit a payload; its span lasts until it is in the journal, or refused."""
        kind, size = payload.kind.name.lower(), len(payload.body)
        pairs: dict[str, Any] = {"rankscope.kind": kind, "rankscope.bytes": size}
        span = self._tracer.start_span("intake", kind=SpanKind.SERVER, attributes=pairs)
        try:
            future = submit(replace(payload, trace=trace.set_span_in_context(span)))
        except Exception as error:
            _failed(span, error)
            span.end()
            raise
        future.add_done_callback(lambda done: _answered(span, done))
        return future

    def applied(self, cause: object) -> None:
        """Note that a payload was applied, by the trace that it began, if any."""
        if isinstance(cause, Context):
            self._cause = cause

    def evaluated(self, changes: Sequence[Any], second: float) -> None:
        """Note that an evaluation changed incidents."""
        pairs: dict[str, Any] = {"rankscope.second": second, "rankscope.changes": len(changes)}
        span = self._tracer.start_span("evaluate", self._cause, attributes=pairs)
        span.end()
        mine = trace.set_span_in_context(span)
        with self._lock:
            for change in changes:
                if change.kind == "incident.opened" or change.incident.id not in self._incidents:
                    self._incidents[change.incident.id] = mine
            while len(self._incidents) > MOST_INCIDENTS:
                self._incidents.popitem(last=False)

    def of(self, name: str, incident: str, began_ns: int, pairs: Mapping[str, Any]) -> Span | None:
        """Begin a span of an incident; None where its trace is not remembered."""
        with self._lock:
            context = self._incidents.get(incident)
        if context is None:
            return None
        pairs = {"rankscope.incident": incident, **pairs}
        return self._tracer.start_span(name, context, attributes=pairs, start_time=began_ns)

    def sink(self, sink: ChangeSink) -> ChangeSink:
        """Return a sink that makes a span of what each incident's change takes to store."""
        return _TracedSink(self, sink)

    def outbox(self, outbox: NoticeOutbox) -> NoticeOutbox:
        """Return an outbox that makes a span of every attempt to deliver."""
        return _TracedOutbox(self, outbox)


class _TracedSink:
    def __init__(self, tracing: SpanMaker, sink: ChangeSink) -> None:
        self._tracing = tracing
        self._sink = sink

    def commit(self, changes: Sequence[Any], now: float) -> None:
        began_ns = time.time_ns()
        self._sink.commit(changes, now)
        for incident in {change.incident.id for change in changes}:
            span = self._tracing.of("store", incident, began_ns, {})
            if span is not None:
                span.end()

    def enter(self, entered: RecordedAction, changes: Sequence[Any], now: float) -> None:
        self._sink.enter(entered, changes, now)


class _TracedOutbox:
    def __init__(self, tracing: SpanMaker, outbox: NoticeOutbox) -> None:
        self._tracing = tracing
        self._outbox = outbox
        self._began: dict[str, int] = {}

    def waiting(self, now: float) -> Sequence[str]:
        return self._outbox.waiting(now)

    def next_delivery(
        self, endpoint: str, now: float
    ) -> tuple[NotifiedEndpoint, OutboxDelivery] | None:
        found = self._outbox.next_delivery(endpoint, now)
        if found is not None:
            self._began[endpoint] = time.time_ns()  # one message is under way for an endpoint
        return found

    def delivered(
        self, endpoint: str, delivery: OutboxDelivery, outcome: Delivered, now: float
    ) -> None:
        self._outbox.delivered(endpoint, delivery, outcome, now)
        self._span(endpoint, delivery, outcome)

    def failed(
        self,
        endpoint: str,
        delivery: OutboxDelivery,
        outcome: Delivered,
        *,
        due_at: float | None,
        now: float,
    ) -> None:
        self._outbox.failed(endpoint, delivery, outcome, due_at=due_at, now=now)
        self._span(endpoint, delivery, outcome)

    def gone(self, endpoint: str, delivery: OutboxDelivery, outcome: Delivered, now: float) -> None:
        self._outbox.gone(endpoint, delivery, outcome, now)
        self._span(endpoint, delivery, outcome)

    def _span(self, endpoint: str, delivery: OutboxDelivery, outcome: Delivered) -> None:
        began_ns = self._began.pop(endpoint, time.time_ns())
        pairs = {
            "rankscope.endpoint": endpoint,
            "rankscope.webhook_id": delivery.webhook_id,
            "rankscope.attempt": delivery.attempts + 1,
        }
        span = self._tracing.of("deliver", delivery.incident, began_ns, pairs)
        if span is None:
            return
        if not outcome.accepted:
            span.set_status(Status(StatusCode.ERROR, outcome.error))
        span.end()


def _answered(span: Span, done: "Future[PayloadOutcome]") -> None:
    error = None if done.cancelled() else done.exception()
    if error is not None:
        _failed(span, error)
    elif not done.cancelled():
        outcome = done.result()
        span.set_attribute("rankscope.accepted", outcome.accepted)
        span.set_attribute("rankscope.rejected", outcome.rejected)
    span.end()


def _failed(span: Span, error: BaseException) -> None:
    span.set_status(Status(StatusCode.ERROR, f"{type(error).__name__}: {error}"))
