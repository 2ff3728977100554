"""Ports of this node to others: which are down for as long as it looks, and which count errors.

A port counts where it has carried data since it came up: one that nobody cabled is down for good. A
port that flaps is up most of the time; one that is down all the time is down.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from . import system_files
from .rows import CheckOrder, MeasuredRow

_LINKS = Path("sys/class/net")
_DEVICES = Path("sys/class/infiniband")
_PAUSE_SECONDS = 0.5
_ERRORS = (
    "symbol_error", "port_rcv_errors", "local_link_integrity_errors", "rx_crc_errors", "rx_errors",
)  # fmt: skip
_ADMINISTRATIVELY_UP = 1


@dataclass(frozen=True, slots=True)
class PortRegisters:
    """A port as its registers say: whether it is up, and errors counted since it was reset."""

    up: bool
    errors: int


States = Mapping[str, PortRegisters]


def down(
    order: CheckOrder,
    *,
    root: Path = Path("/"),
    now: Callable[[], float] = time.monotonic,
    pause: Callable[[float], None] = time.sleep,
) -> list[MeasuredRow]:
    """Return how many ports were down whenever it looked."""
    seen = list(_watched(order, root, now, pause))
    if not seen[0]:
        return [MeasuredRow("ports", missing=_NONE)]
    gone = sorted(name for name in seen[0] if not any(one[name].up for one in seen if name in one))
    if gone:
        return [MeasuredRow("ports", failed=f"{', '.join(gone)} is down")]
    return [MeasuredRow("ports", (0.0,))]


def errors(
    order: CheckOrder,
    *,
    root: Path = Path("/"),
    now: Callable[[], float] = time.monotonic,
    pause: Callable[[float], None] = time.sleep,
) -> list[MeasuredRow]:
    """Return the errors a second of the port that counts most, while it looks."""
    begun = now()
    seen = list(_watched(order, root, now, pause))
    if not seen[0]:
        return [MeasuredRow("ports", missing=_NONE)]
    first, last, seconds = seen[0], seen[-1], max(now() - begun, _PAUSE_SECONDS)
    grown = [max(last[name].errors - first[name].errors, 0) for name in first if name in last]
    return [MeasuredRow("ports", (max(grown, default=0) / seconds,))]


_NONE = "no port of this node has carried anything, or none can be seen"


def _watched(
    order: CheckOrder, root: Path, now: Callable[[], float], pause: Callable[[float], None]
) -> Iterator[States]:
    end = now() + order.seconds
    yield _states(root)
    while now() < end:
        pause(_PAUSE_SECONDS)
        yield _states(root)


def _states(root: Path) -> States:
    return dict([*_links(root / _LINKS), *_fabric(root / _DEVICES)])


def _links(folder: Path) -> Iterator[tuple[str, PortRegisters]]:
    """Yield network interfaces that are of a device and switched on."""
    for path in system_files.inside(folder):
        if not (path / "device").exists():
            continue  # a bridge, a tunnel, the loopback
        if not _number(path / "flags") & _ADMINISTRATIVELY_UP:
            continue
        if _number(path / "statistics/rx_bytes"):
            yield (
                path.name,
                PortRegisters(_number(path / "carrier") == 1, _counted(path / "statistics")),
            )


def _fabric(folder: Path) -> Iterator[tuple[str, PortRegisters]]:
    """Yield ports of RDMA devices."""
    for device in system_files.inside(folder):
        for port in system_files.inside(device / "ports"):
            counters = port / "counters"
            if _number(counters / "port_rcv_data"):
                up = system_files.text(port / "state").startswith("4")
                yield f"{device.name}:{port.name}", PortRegisters(up, _counted(counters))


def _counted(folder: Path) -> int:
    return sum(_number(folder / name) for name in _ERRORS)


def _number(path: Path) -> int:
    """Return the number in a file, 0 where there is none: a port that is down has no carrier."""
    try:
        return int(system_files.text(path) or "0", 0)
    except ValueError:
        return 0
