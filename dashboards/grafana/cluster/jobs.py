"""What is wrong now, and which jobs run."""

from .. import links
from ..panels import PLAIN, AnyPanel, above, below, lines, number
from ..queries import JOBS, JOBS_OR_NONE, PanelQuery, gained, now, of_any, rows
from ..tables import TableColumn, listing
from .selection import CLUSTER, LOST

_GOODPUT = f"rankscope_job_goodput_ratio{{{JOBS}}}"


def _open(severity: str) -> str:
    """Return how many incidents of a severity are not resolved."""
    active = f'rankscope_incident_active{{{JOBS_OR_NONE}, severity="{severity}"}}'
    return f"sum({of_any(active)}) or vector(0)"


def numbers_row() -> list[AnyPanel]:
    """Return the panels of the row "Now"."""
    return [
        number(
            "Critical incidents",
            "Incidents that are not resolved and stop or corrupt training.",
            "none",
            now(_open("critical")),
            steps=above(0.5, 0.5)[::2],
        ),
        number(
            "Warnings",
            "Incidents that are not resolved and cost time or will fail.",
            "none",
            now(_open("warning")),
            steps=above(0.5),
        ),
        number(
            "Jobs reporting",
            "Jobs whose ranks reported in the last minute.",
            "none",
            now(f"count(rankscope_job_last_received_age_seconds{{{JOBS}}} < 60) or vector(0)"),
            steps=PLAIN,
        ),
        number(
            "Goodput",
            "Share of GPU time that incidents left, over all jobs, weighted by their ranks.",
            "percentunit",
            PanelQuery(
                f"sum({_GOODPUT} * on (job_id) rankscope_job_ranks)"
                f" / sum(rankscope_job_ranks and on (job_id) {_GOODPUT})"
            ),
            steps=below(0.97, 0.9),
            decimals=1,
            trend=True,
        ),
        number(
            "GPU-hours lost",
            "GPU time that incidents took in the time range.",
            "suffix: GPU h",
            now(f"sum({gained(LOST)}) / 3600 or vector(0)"),
            steps=above(1, 24),
            decimals=2,
        ),
        number(
            "GPUs that do not answer",
            "Accelerators on the bus that failed or no longer answer.",
            "none",
            now(f'sum(hw_gpu_count{{{CLUSTER}, state="failed"}})'),
            steps=above(0.5, 0.5)[::2],
        ),
    ]


def jobs_row() -> list[AnyPanel]:
    """Return the panels of the row "Incidents and jobs"."""
    incident = TableColumn("incident", "Incident", width=190, link=links.TO_INCIDENT)
    return [
        listing(
            "Incidents that are not resolved",
            "One row an incident: its first cause, where it lies, and what it took so far.",
            rows(of_any(f"rankscope_incident_active{{{JOBS_OR_NONE}}}")),
            rows(of_any(f"rankscope_incident_gpu_seconds_lost{{{JOBS_OR_NONE}}} / 3600")),
            rows(of_any(f"time() - rankscope_incident_opened_timestamp_seconds{{{JOBS_OR_NONE}}}")),
            columns=[
                TableColumn("severity", "Severity", width=80),
                TableColumn("fault", "Fault", width=180),
                TableColumn("host_name", "Node", width=120, link=links.TO_NODE),
                TableColumn("entity", "Entity"),
                TableColumn("job_id", "Job", link=links.TO_JOB),
                TableColumn("Value #C", "Open for", "s", 90),
                TableColumn("Value #B", "GPU h lost", "short", 95, steps=above(1, 24)),
                incident,
            ],
            steps=PLAIN,
            sort="GPU h lost",
            none="no incident",
            size=(24, 6),
        ),
        listing(
            "Jobs",
            "Jobs that reported in the last 5 minutes. Silent: since their last report.",
            rows(f"rankscope_job_info{{{JOBS}, {CLUSTER}}}"),
            rows(f"rankscope_job_ranks{{{JOBS}}}"),
            rows(f"rankscope_job_step{{{JOBS}}}"),
            rows(f"rankscope_job_step_duration_seconds{{{JOBS}}}"),
            rows(f"rankscope_job_goodput_ratio{{{JOBS}}}"),
            rows(f"rankscope_job_last_received_age_seconds{{{JOBS}}}"),
            columns=[
                TableColumn("job_id", "Job", link=links.TO_JOB),
                TableColumn("cluster", "Cluster", width=90),
                TableColumn("attempt", "Attempt", width=75),
                TableColumn("Value #B", "Ranks", "none", 70),
                TableColumn("Value #C", "Step", "none", 85),
                TableColumn("Value #D", "Step time", "s", 90),
                TableColumn("Value #E", "Goodput", "percentunit", 85, steps=below(0.97, 0.9)),
                TableColumn("Value #F", "Silent", "s", 80, steps=above(30, 120)),
            ],
            steps=PLAIN,
            sort="Ranks",
            none="no job reports",
            size=(14, 8),
        ),
        lines(
            "Goodput by job",
            "Share of each job's GPU time that incidents left; the 20 lowest.",
            "percentunit",
            PanelQuery(
                f"bottomk(20, rankscope_job_goodput_ratio{{{JOBS}}})",
                "{{job_id}}",
            ),
            steps=below(0.97, 0.9),
            least=None,
            size=(10, 8),
        ),
    ]
