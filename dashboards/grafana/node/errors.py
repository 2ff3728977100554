"""Errors of memory, links and ports."""

from ..panels import PLAIN, AnyPanel, above, lines
from ..queries import HOST, PanelQuery, by_gpu, rated
from .selection import GPU

_PORT = "{{host_name}} {{device}}:{{port}}"

_OF_PORT = "host_name, device, port"


def errors_row() -> list[AnyPanel]:
    """Return the panels of the row "Errors and links"."""
    return [
        lines(
            "Memory errors",
            "Errors of device memory in a minute; corrected ones are normal life when rare.",
            "none",
            PanelQuery(
                rated(f"hw_errors_total{{{HOST}}}", "host_name, gpu, error_type", minute=True),
                f"{GPU} {{{{error_type}}}}",
            ),
            steps=above(1, 10),
            none="no memory errors",
        ),
        lines(
            "Device links",
            "NVLink and its like: links that are down, and errors in a minute.",
            "none",
            PanelQuery(
                f"count by (host_name, gpu) (hw_gpu_nvlink_up{{{HOST}}} == 0)",
                f"{GPU} links down",
            ),
            PanelQuery(
                rated(f"hw_gpu_nvlink_errors_total{{{HOST}}}", "host_name, gpu", minute=True),
                f"{GPU} errors",
            ),
            steps=above(1),
            none="all links up, no errors",
        ),
        lines(
            "PCIe",
            "Devices that run on fewer lanes than they could, and replays in a minute.",
            "none",
            PanelQuery(
                by_gpu(f"hw_gpu_pcie_width{{{HOST}}}")
                + " / "
                + by_gpu(f"hw_gpu_pcie_width_max{{{HOST}}}")
                + " < 1",
                f"{GPU} share of lanes",
            ),
            PanelQuery(
                rated(f"hw_gpu_pcie_replays_total{{{HOST}}}", "host_name, gpu", minute=True),
                f"{GPU} replays",
            ),
            steps=PLAIN,
            none="full width, no replays",
        ),
        lines(
            "Port traffic",
            "Bytes in a second, by port of the fabric and direction.",
            "Bps",
            PanelQuery(
                f"sum by ({_OF_PORT}, direction)"
                f" (rate(hw_network_io_bytes_total{{{HOST}}}[$__rate_interval]))",
                f"{_PORT} {{{{direction}}}}",
            ),
            steps=PLAIN,
            none="no port of a fabric",
            size=(12, 7),
        ),
        lines(
            "Port errors",
            "Errors a minute by port and kind; the 20 highest.",
            "none",
            PanelQuery(
                rated(f"hw_network_errors_total{{{HOST}}}", f"{_OF_PORT}, error_type", minute=True),
                f"{_PORT} {{{{error_type}}}}",
            ),
            steps=above(1, 60),
            none="no port has errors",
            size=(12, 7),
        ),
    ]
