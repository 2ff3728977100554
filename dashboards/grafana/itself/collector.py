"""Whether the collector keeps up, and its notices leave."""

from ..panels import PLAIN, AnyPanel, above, lines, number
from ..queries import PanelQuery, now

_BUCKETS = "collector_evaluation_duration_seconds_bucket"

_BAD = above(1, 1)[::2]


def _rate(metric: str, by: str = "instance", *, minute: bool = False) -> str:
    """Return how often something is counted in a second, or in a minute."""
    rate = f"sum by ({by}) (rate(rankscope_{metric}[$__rate_interval]))"
    return f"{rate} * 60" if minute else rate


def numbers_row() -> list[AnyPanel]:
    """Return the panels of the row "Now"."""
    return [
        number(
            "Agents up",
            "Agents that Prometheus can scrape.",
            "none",
            now("count(rankscope_agent_info)"),
            steps=PLAIN,
        ),
        number(
            "Agents that cannot push",
            "Agents whose last successful push is older than a minute.",
            "none",
            now("count(rankscope_agent_push_last_success_age_seconds > 60) or vector(0)"),
            steps=_BAD,
        ),
        number(
            "Readers failing",
            "Readers of agents that are supported and do not answer.",
            "none",
            now("count(rankscope_agent_reader_up == 0) or vector(0)"),
            steps=above(1),
        ),
        number(
            "Evaluation lag",
            "How far the collector's evaluation is behind the clock.",
            "s",
            PanelQuery("max(rankscope_collector_evaluation_lag_seconds)"),
            steps=above(5, 30),
            decimals=1,
            trend=True,
        ),
        number(
            "Table of series",
            "Series that are held, as a share of evaluation.max_series. Full, it refuses new ones.",
            "percentunit",
            PanelQuery("max(rankscope_collector_series / rankscope_collector_series_limit)"),
            steps=above(0.8, 0.95),
            decimals=1,
        ),
        number(
            "Oldest notice waiting",
            "How long the oldest message that is not delivered waits.",
            "s",
            now("max(rankscope_webhook_oldest_pending_seconds)"),
            steps=above(60, 600),
        ),
    ]


def collector_row() -> list[AnyPanel]:
    """Return the panels of the row "Collector"."""
    return [
        lines(
            "Samples and events",
            "Accepted in a second.",
            "cps",
            PanelQuery(_rate("collector_samples_total", "instance"), "{{instance}} samples"),
            PanelQuery(_rate("collector_events_total", "instance"), "{{instance}} events"),
            steps=PLAIN,
        ),
        lines(
            "Refused and left out",
            "Requests answered with an error, payloads that cannot be read, samples left out, "
            "points refused for a full table: in a second.",
            "cps",
            PanelQuery(
                _rate("collector_refused_requests_total", "instance, status"),
                "{{instance}} answered {{status}}",
            ),
            PanelQuery(
                _rate("collector_undecodable_payloads_total", "instance"),
                "{{instance}} undecodable",
            ),
            PanelQuery(
                _rate("collector_rejected_items_total", "instance, reason"),
                "{{instance}} {{reason}}",
            ),
            PanelQuery(
                _rate("collector_refused_points_total", "instance"), "{{instance}} table full"
            ),
            steps=above(1, 100),
        ),
        lines(
            "Evaluation",
            "Duration of one evaluation, of which each second has one: mean, and 99 of 100.",
            "s",
            PanelQuery(
                _rate("collector_evaluation_duration_seconds_sum")
                + " / "
                + _rate("collector_evaluation_duration_seconds_count"),
                "{{instance}} mean",
            ),
            PanelQuery(
                f"histogram_quantile(0.99, {_rate(_BUCKETS, 'instance, le')})",
                "{{instance}} 99 %",
            ),
            steps=above(0.5, 1),
            marked=True,
        ),
        lines(
            "Lag and skipped seconds",
            "How far evaluation is behind, and seconds it skipped, in a minute.",
            "s",
            PanelQuery("rankscope_collector_evaluation_lag_seconds", "{{instance}} behind"),
            PanelQuery(
                _rate("collector_evaluation_skipped_seconds_total", minute=True),
                "{{instance}} skipped",
            ),
            steps=above(5, 30),
        ),
        lines(
            "Bytes that wait",
            "Accepted and not yet in the journal; in the journal and not yet evaluated.",
            "bytes",
            PanelQuery("rankscope_collector_queue_bytes", "{{instance}} before the journal"),
            PanelQuery("rankscope_collector_tail_bytes", "{{instance}} before evaluation"),
            steps=PLAIN,
        ),
        lines(
            "Journal",
            "Bytes held, and written in a second.",
            "bytes",
            PanelQuery("rankscope_collector_journal_size_bytes", "{{instance}} held"),
            PanelQuery(
                _rate("collector_journal_written_bytes_total"), "{{instance}} written a second"
            ),
            steps=PLAIN,
        ),
    ]


def notices_row() -> list[AnyPanel]:
    """Return the panels of the row "Notices"."""
    return [
        lines(
            "Messages of the outbox",
            "By state. Dead ones are given up: look at the endpoint's deliveries.",
            "none",
            PanelQuery(
                "sum by (instance, state) (rankscope_webhook_messages)",
                "{{instance}} {{state}}",
            ),
            steps=PLAIN,
            size=(12, 6),
        ),
        lines(
            "Failures inside",
            "Commits to the store, journal writes and evaluations that failed, in a minute.",
            "none",
            PanelQuery(
                _rate("collector_store_failures_total", "instance", minute=True),
                "{{instance}} store",
            ),
            PanelQuery(
                _rate("collector_journal_failures_total", "instance", minute=True),
                "{{instance}} journal",
            ),
            PanelQuery(
                _rate("collector_pipeline_failures_total", "instance, stage", minute=True),
                "{{instance}} {{stage}}",
            ),
            steps=above(1, 10),
            size=(12, 6),
        ),
    ]
