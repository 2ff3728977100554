"""The accelerators of this node: which name, index and PCI address belong together.

Identity is the vendor's id (NVIDIA: the UUID). An index may mean another device after a reset, and
kernel logs know only PCI addresses: whoever learns how these go together notes it here.
"""

import contextlib
import json
import threading
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from ..vocabulary.samples import Sample
from .state import rewrite

_FILE = "devices.json"


@dataclass(frozen=True, slots=True)
class KnownDevice:
    """One accelerator, as last seen. `pci` is normalised (see `normal`), "" when unknown.

    `native`: a reader of ours asks it: of those of an exporter only the names are known,
    and whether they answer is not ours to judge.
    """

    hw_id: str
    index: int
    pci: str = ""
    vendor: str = "nvidia"
    model: str = ""
    native: bool = True


def normal(address: str) -> str:
    """Return a PCI address as sysfs spells it: 0000:07:00.0, in lower case.

    Drivers and kernel logs leave out the function or write the domain with eight digits.
    """
    text = address.strip().lower()
    head, dot, function = text.rpartition(".")
    if not dot:
        head, function = text, "0"
    parts = head.split(":")
    if len(parts) == 2:
        parts = ["0", *parts]
    try:
        domain, bus, slot = (int(part, 16) for part in parts)
    except ValueError:
        return text
    return f"{domain:04x}:{bus:02x}:{slot:02x}.{function}"


class DeviceRegister:
    """What is known of the node's accelerators; for every thread.

    With a folder, the list outlives the agent: a device that is lost when the agent starts again
    is still missed.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._lock = threading.Lock()
        self._path = folder / _FILE if folder else None
        self._known: dict[str, KnownDevice] = {}
        for row in _load(self._path):
            self._known[row.hw_id] = row

    def note(self, device: KnownDevice) -> None:
        """Take a device as it reports itself; another that held its PCI address is gone."""
        with self._lock:
            known = self._known.get(device.hw_id)
            if known == device or (known and known.native and not device.native):
                return
            if device.pci:
                for other in [one for one in self._known.values() if one.pci == device.pci]:
                    del self._known[other.hw_id]
            self._known[device.hw_id] = device
            rows = [asdict(one) for one in self._known.values()]
        self._save(rows)

    def everyone(self) -> list[KnownDevice]:
        """Return all that are known, by index."""
        with self._lock:
            return sorted(self._known.values(), key=lambda one: (one.index, one.hw_id))

    def natives(self, vendor: str) -> list[KnownDevice]:
        """Return a vendor's devices that a reader of ours asks, by index."""
        return [one for one in self.everyone() if one.native and one.vendor == vendor]

    def learn(self, samples: Iterable[Sample]) -> None:
        """Note the devices that an exporter describes (`hw.gpu.info`)."""
        for sample in samples:
            if sample.metric != "hw.gpu.info":
                continue
            pairs = dict(sample.attributes)
            hw_id, index = pairs.get("hw.id"), pairs.get("gpu")
            if isinstance(hw_id, str) and isinstance(index, int) and "partition" not in pairs:
                pci = pairs.get("pci.bus_id")
                self.note(
                    KnownDevice(
                        hw_id,
                        index,
                        normal(str(pci)) if pci else "",
                        str(pairs.get("hw.vendor", "")),
                        str(pairs.get("hw.model", "")),
                        native=False,
                    )
                )

    def get(self, hw_id: str) -> KnownDevice | None:
        with self._lock:
            return self._known.get(hw_id)

    def by_pci(self, address: str) -> str | None:
        """Return the id of the device at a PCI address, however it is spelt."""
        wanted = normal(address)
        with self._lock:
            return next((one.hw_id for one in self._known.values() if one.pci == wanted), None)

    def index_of(self, hw_id: str) -> int | None:
        """Return a device's index as of now, None when unknown."""
        device = self.get(hw_id)
        return device.index if device else None

    def _save(self, rows: list[dict[str, object]]) -> None:
        if self._path is None:
            return
        # A full disk costs the memory of a lost device over a restart, no more.
        with contextlib.suppress(OSError):
            rewrite(self._path, json.dumps(rows))


def _load(path: Path | None) -> list[KnownDevice]:
    if path is None:
        return []
    try:
        return [KnownDevice(**row) for row in json.loads(path.read_text(encoding="utf-8"))]
    except (OSError, ValueError, TypeError):
        return []  # absent, or of another version: it is learnt anew
