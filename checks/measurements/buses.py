"""Whether the accelerators of this node are on its bus: their own registers, without any driver.

A device that fell off answers every read with ones; one whose firmware hangs still says who it is.
"""

from collections.abc import Iterator
from pathlib import Path

from .rows import CheckOrder, MeasuredRow

_DEVICES = Path("sys/bus/pci/devices")
_BOUND = Path("proc/driver/nvidia/gpus")
_CLASSES = ("0x0300", "0x0302", "0x0380", "0x1200")
"""Display controllers, of three kinds, and processing accelerators."""
_VENDORS = ("0x10de", "0x1002")
_GONE = b"\xff\xff\xff\xff"


def present(order: CheckOrder, *, root: Path = Path("/")) -> list[MeasuredRow]:
    """Return how many of the accelerators do not answer on the bus, 0 where all do."""
    del order
    found = dict(_devices(root))
    for name in _names(root / _BOUND):
        # The driver holds it, and the bus has it no more.
        found.setdefault(name, False)
    if not found:
        return [MeasuredRow("bus", missing="no accelerator is on this node's bus")]
    gone = sorted(name for name, answers in found.items() if not answers)
    if gone:
        return [MeasuredRow("bus", failed=f"{', '.join(gone)} does not answer on the bus")]
    return [MeasuredRow("bus", (0.0,))]


def _devices(root: Path) -> Iterator[tuple[str, bool]]:
    """Yield the address of each accelerator, and whether its configuration can be read."""
    for name in _names(root / _DEVICES):
        folder = root / _DEVICES / name
        try:
            vendor, kind = (folder / "vendor").read_text(), (folder / "class").read_text()
            if vendor.strip() not in _VENDORS or not kind.startswith(_CLASSES):
                continue
            yield name, (folder / "config").read_bytes()[:4] != _GONE
        except OSError:
            continue  # not ours to read: nothing is said of it


def _names(folder: Path) -> list[str]:
    try:
        return sorted(path.name for path in folder.iterdir())
    except OSError:
        return []
