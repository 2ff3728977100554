"""The table of who waits for whom, on the dashboards of a job and of the network."""

from grafana_foundation_sdk.builders import table

from . import links
from .panels import PLAIN, PanelSize, above
from .queries import rows
from .tables import TableColumn, listing


def group_waits(text: str, incidents: str, *first: TableColumn, size: PanelSize) -> table.Panel:
    """Return the table of the groups that wait longest, with `first` as its first columns.

    `incidents` are the labels that choose the job's or jobs' series.
    """
    return listing(
        "Who waits for whom",
        text,
        rows(f"topk(20, rankscope_group_wait_seconds{{{incidents}}})"),
        columns=[
            *first,
            TableColumn("group", "Group that waits"),
            TableColumn("kind", "Kind", width=60),
            TableColumn("rank", "For rank", width=75),
            TableColumn("host_name", "Node", width=130, link=links.TO_NODE),
            TableColumn("Value", "Waits a step", "s", 105, steps=above(0.5, 2)),
        ],
        steps=PLAIN,
        size=size,
        sort="Waits a step",
        none="nobody waits",
    )
