"""Node and GPU: one node, its accelerators whoever made them, and the host around them."""

from grafana_foundation_sdk.models import dashboard as models

from .. import links
from ..frame import BuildOptions, DashboardSection, assemble, query
from .clocks import clocks_row
from .errors import errors_row
from .host import devices_row, host_row
from .numbers import numbers_row, work_row


def build(given: BuildOptions) -> models.Dashboard:
    return assemble(
        links.NODE,
        "Rankscope / Node and GPU",
        "One node: accelerators of every vendor, their links, memory, clocks, and the host.",
        given=given,
        variables=[
            query(
                "host",
                "Node",
                'label_values(system_memory_limit_bytes{cluster=~"$cluster"}, host_name)',
                description="node.host of the agents",
            )
        ],
        incidents='host_name="$host"',
        sections=[
            DashboardSection("Now", numbers_row()),
            DashboardSection("Work", work_row()),
            DashboardSection("Heat, power and clocks", clocks_row()),
            DashboardSection("Errors and links", errors_row()),
            DashboardSection("Devices", [devices_row()]),
            DashboardSection("Host", host_row()),
        ],
    )
