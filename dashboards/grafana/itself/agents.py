"""Whether agents read and push."""

from ..panels import PLAIN, AnyPanel, above, below, lines
from ..queries import MOST_SMALL, PanelQuery, highest, rated, rows
from ..tables import TableColumn, listing


def agents_row() -> list[AnyPanel]:
    """Return the panels of the row "Agents"."""
    return [
        listing(
            "Readers that do not answer",
            "Supported on the node, and failing or hanging; 50 at most.",
            rows("topk(50, rankscope_agent_reader_up == 0)"),
            rows("topk(50, rankscope_agent_reader_last_success_age_seconds > 60)"),
            columns=[
                TableColumn("instance", "Agent"),
                TableColumn("reader", "Reader"),
                TableColumn("Value #A", "Up", "none", 60, steps=below(1, 1)[::2]),
                TableColumn("Value #B", "Last answer", "s", 110, steps=above(60, 300)),
            ],
            steps=PLAIN,
            sort="Last answer",
            none="every reader answers",
            size=(8, 8),
        ),
        lines(
            "Slowest readers",
            "Duration of the last reading; the 12 slowest.",
            "s",
            PanelQuery(
                highest("rankscope_agent_reader_duration_seconds", "instance, reader", MOST_SMALL),
                "{{instance}} {{reader}}",
            ),
            steps=above(1, 5),
            size=(8, 8),
        ),
        lines(
            "Waiting to be pushed",
            "Batches on agents' disks that wait for the collector; the 20 most.",
            "none",
            PanelQuery(highest("rankscope_agent_spool_records", "instance"), "{{instance}}"),
            steps=PLAIN,
            size=(8, 8),
        ),
        lines(
            "Lost before the agent",
            "Datagrams of probes that never arrived or were given up, in a second; the 20 highest.",
            "cps",
            PanelQuery(
                rated("rankscope_agent_datagrams_lost_total", "instance", positive=False),
                "{{instance}} lost",
            ),
            PanelQuery(
                rated("rankscope_agent_probe_dropped_total", "instance", positive=False),
                "{{instance}} given up",
            ),
            steps=above(1, 100),
        ),
        lines(
            "Failed pushes",
            "Pushes that failed, in a minute; the 20 highest.",
            "none",
            PanelQuery(
                rated(
                    "rankscope_agent_push_failures_total",
                    "instance",
                    minute=True,
                    positive=False,
                ),
                "{{instance}}",
            ),
            steps=above(1, 10),
        ),
        lines(
            "Series left off the page",
            "Series that did not fit on an agent's page (export.max_series); the 20 highest.",
            "none",
            PanelQuery(highest("rankscope_agent_series_dropped", "instance"), "{{instance}}"),
            steps=above(1, 100),
        ),
    ]
