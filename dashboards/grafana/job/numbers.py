"""What is going on now, and what stands out."""

from .. import links
from ..panels import PLAIN, AnyPanel, above, below, lines, number
from ..queries import (
    JOB,
    PanelQuery,
    highest,
    now,
    of_any,
    rows,
)
from ..tables import TableColumn, listing
from .selection import INCIDENTS

_LOST = f"rankscope_gpu_seconds_lost_total{{{INCIDENTS}}}"


def numbers_row() -> list[AnyPanel]:
    """Return the panels of the row "Now"."""
    step = f"quantile(0.5, training_step_duration_seconds{{{JOB}}})"
    panels = [
        number(
            "Goodput",
            "Share of the job's GPU time that incidents left.",
            "percentunit",
            PanelQuery(f"rankscope_job_goodput_ratio{{{INCIDENTS}}}"),
            steps=below(0.97, 0.9),
            decimals=1,
            trend=True,
        ),
        number(
            "Step time",
            "Median over ranks of the last step.",
            "s",
            PanelQuery(step),
            steps=PLAIN,
            decimals=2,
            trend=True,
        ),
        number(
            "Step",
            "Index of the newest step.",
            "none",
            now(f"max(training_step{{{JOB}}})"),
            steps=PLAIN,
        ),
        number(
            "Tokens per second",
            "Tokens (or samples) of all ranks in a step, by the median duration of the step.",
            "short",
            PanelQuery(f"sum(training_tokens{{{JOB}}}) / {step}"),
            steps=PLAIN,
            decimals=1,
            trend=True,
        ),
        number(
            "Ranks missing",
            "World size less the ranks that report.",
            "none",
            now(
                f"max(rankscope_job_ranks{{{INCIDENTS}}}) - count(count by (rank)"
                f" (training_rank_info{{{JOB}}}))"
            ),
            steps=above(1, 1)[::2],
        ),
        number(
            "Longest without a step",
            "Time since the last step ended, on the rank for which that is longest.",
            "s",
            now(f"max(training_progress_age_seconds{{{JOB}}})"),
            steps=above(60, 300),
            decimals=1,
        ),
        number(
            "Waiting in collectives",
            "Share of the step that ranks wait in collectives, mean over ranks.",
            "percentunit",
            PanelQuery(
                f"avg(training_comm_duration_seconds{{{JOB}}})"
                f" / avg(training_step_duration_seconds{{{JOB}}})"
            ),
            steps=above(0.3, 0.5),
            decimals=0,
            trend=True,
        ),
        number(
            "GPU-hours lost",
            "GPU time that the job's incidents took, of all its attempts.",
            "suffix: GPU h",
            now(f"sum({of_any(_LOST)}) / 3600 or vector(0)"),
            steps=above(1, 24),
            decimals=2,
        ),
    ]
    return [panel.span(3) for panel in panels]


def incidents_row() -> AnyPanel:
    """Return the panel "Incidents that are not resolved"."""
    return listing(
        "Incidents that are not resolved",
        "First cause of each, where it lies, and what it took so far.",
        rows(of_any(f"rankscope_incident_active{{{INCIDENTS}}}")),
        rows(of_any(f"rankscope_incident_gpu_seconds_lost{{{INCIDENTS}}} / 3600")),
        columns=[
            TableColumn("severity", "Severity", width=80),
            TableColumn("fault", "Fault", width=180),
            TableColumn("host_name", "Node", width=120, link=links.TO_NODE),
            TableColumn("entity", "Entity"),
            TableColumn("Value #B", "GPU h lost", "short", 95, steps=above(1, 24)),
            TableColumn("incident", "Incident", width=190, link=links.TO_INCIDENT),
        ],
        steps=PLAIN,
        sort="GPU h lost",
        none="no incident",
        size=(15, 6),
    )


def scores_row() -> AnyPanel:
    """Return the panel "Ranks that stand out"."""
    return lines(
        "Ranks that stand out",
        "Scores of detectors; from 1 on a rank is reported. The 20 highest.",
        "short",
        PanelQuery(
            highest(f"rankscope_detector_score{{{INCIDENTS}}}", "detector, rank"),
            "rank {{rank}} {{detector}}",
        ),
        steps=above(1, 5),
        beside="max",
        none="no rank stands out",
        size=(9, 6),
    )
