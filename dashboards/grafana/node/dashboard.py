"""Node and GPU: one node, its accelerators whoever made them, and the host around them."""

from grafana_foundation_sdk.models import dashboard as models

from .. import links
from ..frame import Given, Section, assemble, query
from .clocks import clocks_row
from .errors import errors_row
from .host import devices_row, host_row
from .numbers import numbers_row, work_row


def build(given: Given) -> models.Dashboard:
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
            Section("Now", numbers_row()),
            Section("Work", work_row()),
            Section("Heat, power and clocks", clocks_row()),
            Section("Errors and links", errors_row()),
            Section("Devices", [devices_row()]),
            Section("Host", host_row()),
        ],
    )
