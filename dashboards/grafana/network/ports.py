"""Ports of the fabric, and links between devices."""

from .. import links
from ..panels import PLAIN, AnyPanel, above, bars, lines
from ..queries import HOSTS, PanelQuery, chosen, now, rated, rows
from ..tables import TableColumn, listing

_PORT = "{{host_name}} {{device}}:{{port}}"

_OF_PORT = "host_name, device, port"


def ports_row() -> list[AnyPanel]:
    """Return the panels of the row "Ports of the fabric"."""
    io = f"hw_network_io_bytes_total{{{HOSTS}}}"
    limit = f"hw_network_bandwidth_limit_bytes_per_second{{{HOSTS}}}"
    busy = (
        f"sum by ({_OF_PORT}) (rate({io}[$__rate_interval])) / (2 * max by ({_OF_PORT}) ({limit}))"
    )
    busiest = f"sum by ({_OF_PORT}) (rate({io}[$__range] @ end()))"
    errors = (
        f"sum by ({_OF_PORT}, error_type)"
        f" (rate(hw_network_errors_total{{{HOSTS}}}[$__rate_interval])) * 60"
    )
    congestion = (
        f"sum by ({_OF_PORT}, kind)"
        f" (rate(hw_network_congestion_total{{{HOSTS}}}[$__rate_interval]))"
    )
    by_type = (
        f"sum by ({_OF_PORT}, error_type) (increase(hw_network_errors_total{{{HOSTS}}}[$__range]))"
    )
    return [
        lines(
            "Busiest ports",
            "Sent and received, as a share of what the port can carry both ways; the 20 busiest.",
            "percentunit",
            PanelQuery(chosen(busy, _OF_PORT, busiest), _PORT),
            steps=above(0.8, 0.95),
            beside="max",
            every="2m",
            size=(12, 8),
        ),
        bars(
            "Congestion",
            "Signs of congestion a second, now: marks, pauses, waits to send. The 20 highest.",
            "none",
            now(f"topk(20, {congestion} > 0)", f"{_PORT} {{{{kind}}}}"),
            steps=above(1000, 100000),
            size=(12, 8),
        ),
        bars(
            "Port errors",
            "Errors a minute by kind, now; the 20 highest. A cable that goes bad shows here "
            "first; its course is on the node's page.",
            "none",
            now(f"topk(20, {errors} > 0)", f"{_PORT} {{{{error_type}}}}"),
            steps=above(1, 60),
            size=(12, 8),
        ),
        listing(
            "Ports with errors or down",
            "Errors in the time range, the 20 ports and kinds with most.",
            rows(f"topk(20, {by_type} > 0)"),
            rows(f"topk(20, hw_network_up{{{HOSTS}}} == 0)"),
            columns=[
                TableColumn("host_name", "Node", width=140, link=links.TO_NODE),
                TableColumn("device", "Device", width=120),
                TableColumn("port", "Port", width=60),
                TableColumn("error_type", "Kind"),
                TableColumn("Value #A", "Errors", "short", 100, steps=above(1, 1000)),
                TableColumn("Value #B", "Up", "none", 60),
            ],
            steps=PLAIN,
            sort="Errors",
            none="no port has errors",
            size=(12, 8),
        ),
    ]


def links_row() -> list[AnyPanel]:
    """Return the panels of the row "Links between devices"."""
    io = rated(f"hw_gpu_nvlink_io_bytes_total{{{HOSTS}}}", "host_name, gpu", positive=False)
    errors = (
        "sum by (host_name, gpu, error_type)"
        f" (rate(hw_gpu_nvlink_errors_total{{{HOSTS}}}[$__rate_interval])) * 60"
    )
    return [
        lines(
            "Traffic between devices",
            "NVLink, HCCS, xGMI and their like, both directions; the 20 busiest devices.",
            "Bps",
            PanelQuery(io, "{{host_name}} GPU {{gpu}}"),
            steps=PLAIN,
            beside="max",
            every="2m",
            size=(12, 8),
        ),
        bars(
            "Errors of device links",
            "Errors a minute by kind, now; the 20 highest. Their course is on the node's page.",
            "none",
            now(f"topk(20, {errors} > 0)", "{{host_name}} GPU {{gpu}} {{error_type}}"),
            steps=above(1, 60),
            size=(12, 8),
        ),
    ]
