"""The collector's own health as Prometheus metrics, `rankscope_collector_<thing>_<what>_<unit>`.

One object a process, handed to whoever counts; it holds its own registry, so that two collectors
in one process do not add up.
"""

from functools import partial

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

_REASONS = 50
"""Bound on distinct reasons as label values; what comes later counts as "other"."""


class PollingHealth:
    """Counters and gauges of the stores that are polled, by their names."""

    def __init__(self, registry: CollectorRegistry) -> None:
        counter = partial(Counter, registry=registry)
        gauge = partial(Gauge, registry=registry)
        self.polls = counter(
            "rankscope_collector_polls",
            "Polls of a Prometheus-compatible store, by outcome: success, partial (also counted as "
            "success), or why one failed.",
            ["store", "outcome"],
        )
        self.samples = counter(
            "rankscope_collector_polled_samples", "Samples that polls brought.", ["store"]
        )
        self.series = gauge(
            "rankscope_collector_polled_series",
            "Series that are known of a polled store.",
            ["store"],
        )
        self.malformed = counter(
            "rankscope_collector_polled_malformed_series",
            "Series of answers that could not be read.",
            ["store"],
        )
        self.missed = counter(
            "rankscope_collector_polled_missed_seconds",
            "Time that is not asked for any more, a store having been away for too long.",
            ["store"],
        )
        self.lag = gauge(
            "rankscope_collector_poll_lag_seconds",
            "How old the newest sample of the last poll was.",
            ["store"],
        )


class CollectorHealth:
    """Counters and gauges of intake, journal and evaluation."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry(auto_describe=True)
        counter = partial(Counter, registry=self.registry)
        gauge = partial(Gauge, registry=self.registry)
        self._reasons: set[str] = set()
        self.payloads = counter(
            "rankscope_collector_payloads", "Payloads accepted, by kind.", ["kind"]
        )
        self.samples = counter("rankscope_collector_samples", "Samples accepted.")
        self.events = counter("rankscope_collector_events", "Events accepted.")
        self._rejected = counter(
            "rankscope_collector_rejected_items",
            "Samples and events left out of accepted payloads, by reason.",
            ["reason"],
        )
        self.refused = counter(
            "rankscope_collector_refused_requests",
            "Requests answered with an error, by status.",
            ["status"],
        )
        self.undecodable = counter(
            "rankscope_collector_undecodable_payloads",
            "Payloads that are not what their content type says.",
        )
        self.disconnects = counter(
            "rankscope_collector_client_disconnects",
            "Requests whose sender went away before the body was complete.",
        )
        self.connections = gauge(
            "rankscope_collector_connections", "Connections over HTTP that are open."
        )
        self.connections_limit = gauge(
            "rankscope_collector_connections_limit",
            "Connections over HTTP that may be open at once: http.max_connections, or what the "
            "limit of open files leaves.",
        )
        self.closed_connections = counter(
            "rankscope_collector_closed_connections",
            "Connections closed on a client, by reason: a head or body did not come in, an answer "
            "was not taken, room was needed for another, or what came was too much or no request.",
            ["reason"],
        )
        self.journal_bytes = counter(
            "rankscope_collector_journal_written_bytes", "Bytes written to the journal."
        )
        self.journal_size = gauge(
            "rankscope_collector_journal_size_bytes", "Bytes that the journal holds."
        )
        self.journal_failures = counter(
            "rankscope_collector_journal_failures",
            "Groups of payloads that could not be written and were answered 503.",
        )
        self.journal_error = ""
        """Why the journal takes nothing, as last seen; empty where it does."""
        self.journal_warning = ""
        """What will soon be short for it."""
        self.journal_up = gauge(
            "rankscope_collector_journal_up",
            "1 while the journal can be written, 0 while payloads are answered 503 because it "
            "cannot.",
        )
        self.journal_up.set(1)
        self.queue_bytes = gauge(
            "rankscope_collector_queue_bytes",
            "Bytes of payloads accepted from the network and not yet in the journal.",
        )
        self.evaluation_seconds = Histogram(
            "rankscope_collector_evaluation_duration_seconds",
            "Time that one evaluation takes.",
            buckets=(0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3),
            registry=self.registry,
        )
        self.lag_seconds = gauge(
            "rankscope_collector_evaluation_lag_seconds", "How far evaluation is behind the clock."
        )
        self.skipped_seconds = counter(
            "rankscope_collector_evaluation_skipped_seconds",
            "Seconds that evaluation skipped because it was behind.",
        )
        self.tail_bytes = gauge(
            "rankscope_collector_tail_bytes",
            "Memory of entries that are in the journal and not yet evaluated.",
        )
        self.series = gauge("rankscope_collector_series", "Series that are held.")
        self.series_limit = gauge(
            "rankscope_collector_series_limit",
            "Series that may be held at once: evaluation.max_series.",
        )
        self.series_refused = counter(
            "rankscope_collector_refused_points",
            "Points left out because the table of series is full.",
        )
        self.bounded = counter(
            "rankscope_collector_bounded_items",
            "What was cut or left out because there is too much of it, by bound: text, jobs, "
            "attempts, hosts, ranks, event_bytes, sender_jobs, sender_hosts.",
            ["bound"],
        )
        self.store_queue = gauge(
            "rankscope_collector_store_queue_items",
            "Seconds with incident changes, and actions, that the store does not have yet.",
        )
        self.snapshot_seconds = gauge(
            "rankscope_collector_snapshot_duration_seconds",
            "Time that writing the last snapshot took.",
        )
        self.pipeline_failures = counter(
            "rankscope_collector_pipeline_failures",
            "Defects met while applying or evaluating, by stage.",
            ["stage"],
        )
        self.store_failures = counter(
            "rankscope_collector_store_failures",
            "Commits of incident changes that failed and are tried again.",
        )
        self.store_error = ""
        """Why the incident store did not answer when last asked, empty where it did."""
        self.store_up = gauge(
            "rankscope_collector_store_up",
            "1 while the incident store answers, 0 while it does not.",
        )
        self.store_up.set(1)
        self.polling = PollingHealth(self.registry)
        self.replayed = counter(
            "rankscope_collector_restart_records", "Journal entries read at start."
        )

    def journal_answered(self, error: str = "", warning: str = "") -> None:
        """Note whether the journal can be written; `error` says why it cannot."""
        self.journal_error, self.journal_warning = error, warning
        self.journal_up.set(not error)

    def store_answered(self, error: str = "") -> None:
        """Note whether the store answers; `error` says why it does not."""
        self.store_error = error
        self.store_up.set(not error)

    def reject(self, reason: str, count: int) -> None:
        """Count what was left out of a payload, by the decoder's words: "WHY: N; WHY: N"."""
        if not count:
            return
        for part in reason.split("; "):
            why, _, number = part.rpartition(": ")
            if not number.isdecimal():
                why, number = part, str(count)
            if why not in self._reasons and len(self._reasons) >= _REASONS:
                why = "other"
            self._reasons.add(why)
            self._rejected.labels(why).inc(int(number))
