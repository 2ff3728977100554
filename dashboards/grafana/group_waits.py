"""The table of who waits for whom, on the dashboards of a job and of the network."""

from grafana_foundation_sdk.builders import table

from . import links
from .panels import PLAIN, above
from .queries import rows
from .tables import Column, listing


def group_waits(text: str, incidents: str, *first: Column) -> table.Panel:
    """Return the table of the groups that wait longest, with `first` as its first columns.

    `incidents` are the labels that choose the job's or jobs' series.
    """
    return listing(
        "Who waits for whom",
        text,
        rows(f"topk(20, rankscope_group_wait_seconds{{{incidents}}})"),
        columns=[
            *first,
            Column("group", "Group that waits"),
            Column("kind", "Kind", width=60),
            Column("rank", "For rank", width=75),
            Column("host_name", "Node", width=130, link=links.TO_NODE),
            Column("Value", "Waits a step", "s", 105, steps=above(0.5, 2)),
        ],
        steps=PLAIN,
        sort="Waits a step",
        none="nobody waits",
    )
