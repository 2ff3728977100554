"""Where faults outlive the agent, and where an operator's wish to clear one is left."""

import contextlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..state import rewrite
from .fault import NodeDeviceFault, from_document

_FILE = "device_faults.json"
_CLEAR = "faults.clear"
_VERSION = 1
_LARGEST = 8 << 20


@dataclass(slots=True)
class StoredFaults:
    """What was kept: faults, and how often each code of a device was ever reported."""

    faults: list[NodeDeviceFault] = field(default_factory=list)
    totals: dict[tuple[str, str], int] = field(default_factory=dict)
    last: dict[str, str] = field(default_factory=dict)
    boot_id: str = ""


def load(folder: Path | None) -> StoredFaults:
    """Return what was kept; nothing where there is none, or where it cannot be read."""
    if folder is None:
        return StoredFaults()
    try:
        with (folder / _FILE).open("rb") as file:
            kept = json.loads(file.read(_LARGEST))
        if kept["version"] != _VERSION:
            return StoredFaults()
        return StoredFaults(
            faults=[from_document(one) for one in kept["faults"]],
            totals={(str(one[0]), str(one[1])): int(one[2]) for one in kept["totals"]},
            last={str(hw_id): str(code) for hw_id, code in kept["last"].items()},
            boot_id=str(kept.get("boot_id", "")),
        )
    except (OSError, ValueError, KeyError, TypeError, IndexError, AttributeError):
        return (
            StoredFaults()
        )  # absent, torn by a full disk or of another version: faults come again


def save(
    folder: Path,
    faults: list[dict[str, Any]],
    totals: list[Any],
    last: object,
    *,
    boot_id: str,
) -> None:
    """Keep them, all or nothing; raises OSError."""
    document = {
        "version": _VERSION,
        "boot_id": boot_id,
        "faults": faults,
        "totals": totals,
        "last": last,
    }
    rewrite(folder / _FILE, json.dumps(document))


def ask_to_clear(folder: Path, hw_id: str, code: str = "*") -> None:
    """Ask the agent that keeps its state here to clear a device's fault; `*` means every one."""
    with (folder / _CLEAR).open("a", encoding="utf-8") as file:
        file.write(f"{hw_id} {code}\n")


def asked_to_clear(folder: Path) -> list[tuple[str, str]]:
    """Return and forget what operators asked for: (device, code), each possibly `*`."""
    asked = folder / _CLEAR
    taken = folder / f"{_CLEAR}.taken"
    try:
        asked.replace(taken)  # whoever asks from now on writes a new file
    except OSError:
        return []  # nobody asked
    with contextlib.suppress(OSError):
        lines = taken.read_text(encoding="utf-8", errors="replace").splitlines()[:1000]
        taken.unlink()
        words = [line.split() for line in lines if line.strip()]
        return [(one[0], one[1] if len(one) > 1 else "*") for one in words]
    return []
