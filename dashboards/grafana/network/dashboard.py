"""Collectives and network: what ranks wait for, how fast collectives are, which port is sick."""

from grafana_foundation_sdk.models import dashboard as models

from .. import links
from ..frame import BuildOptions, DashboardSection, assemble, jobs, query
from .ports import links_row, ports_row
from .selection import INCIDENTS
from .waits import collectives_row, numbers_row, waits_row

_FAULTS = "network.*|gpu.nvlink|software.collective_mismatch|software.deadlock"


def build(given: BuildOptions) -> models.Dashboard:
    return assemble(
        links.NETWORK,
        "Rankscope / Collectives and network",
        "Waits in collectives, their bandwidth, and the ports and links beneath them.",
        given=given,
        variables=[
            jobs(many=True),
            query(
                "host",
                "Node",
                'label_values(system_memory_limit_bytes{cluster=~"$cluster"}, host_name)',
                description="nodes whose ports and ranks are shown",
                many=True,
                everything=".*",
            ),
            query(
                "rank",
                "Rank",
                'label_values(training_rank_info{cluster=~"$cluster", job_id=~"$job",'
                ' host_name=~"$host"}, rank)',
                description="global ranks whose waits are shown",
                many=True,
                everything=".*",
            ),
        ],
        incidents=f'{INCIDENTS}, fault=~"{_FAULTS}"',
        sections=[
            DashboardSection("Now", numbers_row()),
            DashboardSection("Waits in collectives", waits_row()),
            DashboardSection("Collectives", collectives_row()),
            DashboardSection("Ports of the fabric", ports_row()),
            DashboardSection("Links between devices", links_row()),
        ],
    )
