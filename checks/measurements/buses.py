"""Whether the accelerators of this node are on its bus: their own registers, without any driver.

A device that fell off answers every read with ones; one whose firmware hangs still says who it is.
"""

from collections.abc import Iterator
from pathlib import Path

from . import system_files
from .rows import CheckOrder, MeasuredRow

_BOUND = Path("proc/driver/nvidia/gpus")
_GONE = b"\xff\xff\xff\xff"


def present(order: CheckOrder, *, root: Path = Path("/")) -> list[MeasuredRow]:
    """Return how many of the accelerators do not answer on the bus, 0 where all do."""
    del order
    found = dict(_devices(root))
    for held in system_files.inside(root / _BOUND):
        # The driver holds it, and the bus has it no more.
        found.setdefault(held.name, False)
    if not found:
        return [MeasuredRow("bus", missing="no accelerator is on this node's bus")]
    gone = sorted(name for name, answers in found.items() if not answers)
    if gone:
        return [MeasuredRow("bus", failed=f"{', '.join(gone)} does not answer on the bus")]
    return [MeasuredRow("bus", (0.0,))]


def _devices(root: Path) -> Iterator[tuple[str, bool]]:
    """Yield the address of each accelerator, and whether its configuration can be read."""
    for device in system_files.accelerators(root):
        try:
            yield device.name, (device / "config").read_bytes()[:4] != _GONE
        except OSError:
            continue  # not ours to read: nothing is said of it
