"""NVIDIA devices as the PCI bus shows them: it answers when the driver does not.

A device that fell off the bus vanishes from sysfs, or its configuration space reads all ones.
"""

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from ...vocabulary.samples import Event, Sample, attributes
from .. import kernel_files
from ..devices import DeviceRegister
from ..kernel_files import HeldDescriptor

_VENDOR = "0x10de"
_CLASSES = ("0x0302", "0x0300")  # 3D controller, VGA controller
_PRESENT = attributes({"hw.vendor": "nvidia", "state": "present"})
_SCAN_SECONDS = 30.0
_NOBODY = b"\xff\xff"
"""What is read where no device answers on the bus."""
_MISSES = 3
"""Turns in a row that a device is not seen before it counts as gone: a reset takes it away briefly.

NVML reports a lost device sooner; this is for when it does not."""
_GENERATIONS = {"2.5": 1, "5.0": 2, "8.0": 3, "16.0": 4, "32.0": 5, "64.0": 6}
"""Gigatransfers a second to PCIe generation (PCI Express base specification)."""


class GpuBus:
    """Watches the devices on the bus every second; link readings only while NVML has none."""

    name = "gpu_bus"
    period = 1.0

    def __init__(
        self,
        *,
        devices: DeviceRegister,
        emit: Callable[[Event], None],
        answering: Callable[[float], Mapping[str, bool]],
        sys: Path = Path("/sys"),
    ) -> None:
        self._devices = devices
        self._emit = emit
        self._answering = answering
        self._root = sys / "bus" / "pci" / "devices"
        self._misses: dict[str, int] = {}
        self._spaces: dict[str, ConfigSpace] = {}
        self._missing_since: dict[str, float] = {}
        self._scan_at = 0.0

    def supported(self) -> tuple[bool, str]:
        """Return whether there is an NVIDIA device on the bus."""
        if not self._root.is_dir():
            return False, f"{self._root} is not there: mount /sys read-only"
        self._scan()
        if not self._misses:
            return False, "no NVIDIA device on the bus"
        return True, f"{len(self._misses)} on the bus"

    def read(self, now: float) -> list[Sample]:
        """Report devices that went; return how many are there, and their links if nobody else."""
        if time.monotonic() >= self._scan_at:
            self._scan()
        samples: list[Sample] = []
        answering = self._answering(now)
        present = 0
        for address in self._misses:
            if self._spaces[address].answers():
                self._misses[address] = 0
                present += 1
                samples += self._link(address, answering, now)
                continue
            self._misses[address] += 1
            if self._misses[address] == 1:
                self._missing_since[address] = now
            if self._misses[address] == _MISSES:
                self._gone(address, self._missing_since[address])
        return [Sample("hw.gpu.count", present, now, _PRESENT), *samples]

    def _scan(self) -> None:
        """Look for devices that were not there before."""
        self._scan_at = time.monotonic() + _SCAN_SECONDS
        for address in on_the_bus(self._root):
            if address not in self._misses:
                self._misses[address] = 0
                self._spaces[address] = ConfigSpace(self._root / address)

    def _gone(self, address: str, at: float) -> None:
        hw_id = self._devices.by_pci(address) or f"pci:{address}"
        index = self._devices.index_of(hw_id)
        pairs = {
            "hw.id": hw_id,
            "code": "pci.gone",
            "vendor": "nvidia",
            "source": "pci",
            "text": f"the device at {address} does not answer on the PCI bus",
        }
        self._emit(Event("gpu.fault", at, pairs if index is None else {**pairs, "gpu": index}))

    def _link(self, address: str, answering: Mapping[str, bool], now: float) -> list[Sample]:
        hw_id = self._devices.by_pci(address)
        if hw_id is None or answering.get(hw_id):
            return []
        pairs = attributes(
            {"hw.id": hw_id, "gpu": self._devices.index_of(hw_id), "hw.vendor": "nvidia"}
        )
        found = []
        for suffix, which in (("", "current"), (".max", "max")):
            width = self._text(address, f"{which}_link_width")
            if width.isdecimal() and 0 < int(width) < 63:  # 63: nothing answered
                found.append(Sample(f"hw.gpu.pcie.width{suffix}", int(width), now, pairs))
            generation = _GENERATIONS.get(self._text(address, f"{which}_link_speed").split(" ")[0])
            if generation:
                found.append(Sample(f"hw.gpu.pcie.generation{suffix}", generation, now, pairs))
        return found

    def _text(self, address: str, name: str) -> str:
        return kernel_files.text(f"{self._root}/{address}/{name}")


class ConfigSpace(HeldDescriptor):
    """The configuration space of one device in its folder of sysfs, held open while it answers."""

    def __init__(self, folder: Path) -> None:
        super().__init__(str(folder / "config"))
        self._folder = folder

    def answers(self) -> bool:
        """Return whether the device answers; one whose space is not ours to read does."""
        if self._fd >= 0:
            try:
                # Of a device that left, sysfs refuses; a file that was deleted is still read.
                if os.fstat(self._fd).st_nlink:
                    return os.pread(self._fd, 2, 0) != _NOBODY
            except OSError:
                pass  # perhaps it came back as another one since
            self.close()
        try:
            self._open()
        except FileNotFoundError:
            return self._folder.exists()
        except OSError:
            return True
        try:
            return os.pread(self._fd, 2, 0) != _NOBODY
        except OSError:
            self.close()
            return False


def on_the_bus(devices: Path) -> list[str]:
    """Return the addresses of NVIDIA's accelerators below /sys/bus/pci/devices, in order."""
    return [
        address
        for address in kernel_files.names(str(devices))
        if kernel_files.text(f"{devices}/{address}/vendor") == _VENDOR
        and kernel_files.text(f"{devices}/{address}/class").startswith(_CLASSES)
    ]
