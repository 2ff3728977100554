"""Files and folders in which the kernel and drivers show a node's devices; any may be missing."""

from collections.abc import Iterator
from pathlib import Path

_CLASSES = ("0x0300", "0x0302", "0x0380", "0x1200")
"""Display controllers, of three kinds, and processing accelerators."""
_VENDORS = ("0x10de", "0x1002")


def text(path: Path) -> str:
    """Return what a file says, "" where it cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def inside(folder: Path) -> list[Path]:
    """Return what is in a folder, by name, nothing where it cannot be read."""
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []


def accelerators(root: Path) -> list[Path]:
    """Return the folders of the accelerators on this node's bus, named by their addresses."""
    return [
        device
        for device in inside(root / "sys/bus/pci/devices")
        if text(device / "vendor") in _VENDORS and text(device / "class").startswith(_CLASSES)
    ]


def ancestry(proc: Path, pid: int) -> Iterator[int]:
    """Yield a process and those that started it, as far as they can be seen."""
    while pid > 0:
        yield pid
        try:
            pid = int(text(proc / str(pid) / "stat").rpartition(")")[2].split()[1])
        except (ValueError, IndexError):
            return
