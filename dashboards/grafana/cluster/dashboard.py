"""Cluster overview: is training going on, what is lost to which cause, which nodes are bad."""

from grafana_foundation_sdk.models import dashboard as models

from .. import links
from ..frame import BuildOptions, DashboardSection, assemble, jobs
from ..queries import JOBS_OR_NONE
from .jobs import jobs_row, numbers_row
from .losses import lost_row, nodes_row


def build(given: BuildOptions) -> models.Dashboard:
    return assemble(
        links.CLUSTER,
        "Rankscope / Cluster overview",
        "Jobs, goodput, GPU-hours lost by cause, and the nodes that cost most.",
        given=given,
        variables=[jobs(many=True)],
        incidents=JOBS_OR_NONE,
        since="now-6h",
        sections=[
            DashboardSection("Now", numbers_row()),
            DashboardSection("Incidents and jobs", jobs_row()),
            DashboardSection("What is lost, and to what", lost_row()),
            DashboardSection("Nodes", nodes_row()),
        ],
    )
