"""Job: how training goes, which rank is slow, where the time goes, who waits for whom."""

from grafana_foundation_sdk.models import dashboard as models

from .. import links
from ..frame import BuildOptions, DashboardSection, assemble, jobs, query
from .devices import devices_row, memory_row
from .numbers import incidents_row, numbers_row, scores_row
from .selection import INCIDENTS
from .time import time_row
from .training import loss_row, ranks_row


def build(given: BuildOptions) -> models.Dashboard:
    return assemble(
        links.JOB,
        "Rankscope / Job",
        "One training job: loss, step time by rank, phases, waits, memory, incidents.",
        given=given,
        variables=[
            jobs(),
            query(
                "host",
                "Node",
                'label_values(training_rank_info{cluster=~"$cluster", job_id="$job"}, host_name)',
                description="nodes that the job runs on; plots by rank show theirs",
                many=True,
                everything=".*",
            ),
            query(
                "rank",
                "Rank",
                'label_values(training_rank_info{cluster=~"$cluster", job_id="$job",'
                ' host_name=~"$host"}, rank)',
                description="global ranks; plots by rank show these",
                many=True,
                everything=".*",
            ),
        ],
        incidents=INCIDENTS,
        sections=[
            DashboardSection("Now", numbers_row()),
            DashboardSection("Incidents", [incidents_row(), scores_row()]),
            DashboardSection("Loss", loss_row()),
            DashboardSection("Which rank is slow", ranks_row()),
            DashboardSection("Where the time goes, and who waits for whom", time_row()),
            DashboardSection("Memory and devices of the job", [*memory_row(), *devices_row()]),
        ],
    )
