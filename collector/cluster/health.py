"""Metrics of a collector's part in the shared log."""

from functools import partial

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram


class ClusterHealth:
    """Counters and gauges, `rankscope_collector_log_*` and `rankscope_collector_partition*`."""

    def __init__(self, registry: CollectorRegistry) -> None:
        counter = partial(Counter, registry=registry)
        gauge = partial(Gauge, registry=registry)
        self.up = gauge(
            "rankscope_collector_log_up",
            "1 while NATS is connected, 0 while it is away and senders are answered 503.",
        )
        self.partitions = gauge(
            "rankscope_collector_partitions",
            "Partitions of the shared log that this collector owns.",
        )
        self.recovering = gauge(
            "rankscope_collector_partitions_recovering",
            "Those of them whose state is being restored.",
        )
        self.lag = gauge(
            "rankscope_collector_partition_lag_entries",
            "Entries of owned partitions that are in the log and not yet fetched.",
        )
        self.takeovers = counter(
            "rankscope_collector_partition_takeovers",
            "Partitions that this collector has taken over.",
        )
        self.takeover_seconds = Histogram(
            "rankscope_collector_partition_takeover_seconds",
            "Time from the lease to the first evaluation of a partition.",
            buckets=(0.1, 0.3, 1, 3, 10, 30, 100),
            registry=registry,
        )
        self.lost = counter(
            "rankscope_collector_partitions_lost",
            "Partitions that another collector took while this one did not answer.",
        )
        self.aside = counter(
            "rankscope_collector_aside_entries",
            "Entries of the log that could not be read and were moved aside.",
        )
        self.snapshot_bytes = gauge(
            "rankscope_collector_snapshot_stored_bytes",
            "Size of the last snapshot put into the object store, by partition.",
            ["partition"],
        )
