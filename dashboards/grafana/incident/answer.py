"""What it is, and what it costs."""

from .. import links
from ..panels import PLAIN, AnyPanel, above, number
from ..queries import PanelQuery, now, of_any, rows
from ..tables import TableColumn, listing
from .selection import THIS


def what_row() -> list[AnyPanel]:
    """Return the panels of the row "What it is"."""
    return [
        listing(
            "First cause",
            "Fault and entity as the collector ranks them now; once it is resolved every first "
            "cause of the time range. Evidence, other causes and what to do: in the console.",
            rows(
                f"{of_any(f'rankscope_incident_active{{{THIS}}}')} or on (incident) "
                + of_any(f"max_over_time(rankscope_incident_active{{{THIS}}}[$__range])")
            ),
            columns=[
                TableColumn("severity", "Severity", width=90),
                TableColumn("status", "Status", width=120),
                TableColumn("fault", "Fault", width=220),
                TableColumn("entity_type", "Type", width=80),
                TableColumn("entity", "Entity"),
                TableColumn("host_name", "Node", width=150, link=links.TO_NODE),
                TableColumn("job_id", "Job", width=180, link=links.TO_JOB),
                TableColumn(
                    "incident",
                    "Incident",
                    width=210,
                    link=links.console_incident("${__data.fields.Incident}"),
                ),
            ],
            steps=PLAIN,
            none="choose an incident above",
            size=(24, 4),
        ),
        number(
            "Began",
            "Onset, as it is judged.",
            "dateTimeAsIso",
            now(
                "max(max_over_time(rankscope_incident_opened_timestamp_seconds"
                f"{{{THIS}}}[$__range])) * 1000"
            ),
            steps=PLAIN,
            size=(6, 4),
        ),
        number(
            "Open for",
            "Time from the onset to now; no data once it is resolved.",
            "s",
            now(f"time() - max(rankscope_incident_opened_timestamp_seconds{{{THIS}}})"),
            steps=above(600, 3600),
            none="resolved",
            size=(6, 4),
        ),
        number(
            "GPU-hours lost",
            "GPU time that it has taken.",
            "suffix: GPU h",
            now(
                f"max(max_over_time(rankscope_incident_gpu_seconds_lost{{{THIS}}}[$__range]))"
                " / 3600"
            ),
            steps=above(1, 24),
            decimals=2,
            size=(6, 4),
        ),
        number(
            "GPUs lost now",
            "GPUs whose time it takes; what other incidents of the job take is theirs.",
            "suffix: GPUs",
            PanelQuery(f"sum(rankscope_incident_gpus_lost{{{THIS}}})"),
            steps=above(1, 8),
            decimals=1,
            none="resolved",
            trend=True,
            size=(6, 4),
        ),
    ]
