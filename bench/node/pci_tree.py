"""The PCI tree of a node in sysfs: what is plugged in where, told by the nesting of real folders.

A device's folder lies inside its port's, inside its switch's, inside its root's, and
/sys/bus/pci/devices links to all. GPUs and network cards that share a switch share a long path.
"""

from pathlib import Path

from .kernel_files import KernelFiles, table

CORRECTABLE, UNCORRECTABLE = table("correctable"), table("uncorrectable")
SPEEDS = {1: "2.5", 2: "5.0", 3: "8.0", 4: "16.0", 5: "32.0", 6: "64.0"}
"""Gigatransfers a second of each PCIe generation, as the kernel writes them."""

_ERRORS = {
    "correctable": (CORRECTABLE, "TOTAL_ERR_COR"),
    "nonfatal": (UNCORRECTABLE, "TOTAL_ERR_NONFATAL"),
    "fatal": (UNCORRECTABLE, "TOTAL_ERR_FATAL"),
}


class PciTree:
    """Builds the tree and changes it."""

    def __init__(self, files: KernelFiles) -> None:
        self._files = files
        self._bus = files.sys / "bus" / "pci"

    def folder(self, address: str) -> Path:
        """Return the real folder of a device."""
        return (self._bus / "devices" / address).resolve()

    def plug(
        self,
        address: str,
        *,
        inside: Path | None = None,
        vendor: int = 0x10DE,
        device: int = 0x2330,
        kind: int = 0x030200,
        driver: str = "",
        numa: int = 0,
        generation: int = 5,
        width: int = 16,
    ) -> Path:
        """Add a device and return its folder; `inside` is that of the bridge it sits behind."""
        files = self._files
        root = inside or files.sys / "devices" / f"pci{address[:7]}"
        place = root / address
        for name, value in {
            "vendor": f"0x{vendor:04x}",
            "device": f"0x{device:04x}",
            "class": f"0x{kind:06x}",
            "numa_node": numa,
            "enable": 1,
        }.items():
            files.write(place / name, value)
        head = vendor.to_bytes(2, "little") + device.to_bytes(2, "little") + bytes(60)
        (place / "config").write_bytes(head)
        for which in ("current", "max"):
            files.write(place / f"{which}_link_speed", f"{SPEEDS[generation]} GT/s PCIe")
            files.write(place / f"{which}_link_width", width)
        for name in _ERRORS:
            self._write_errors(place, name, {})
        if driver:
            (self._bus / "drivers" / driver).mkdir(parents=True, exist_ok=True)
            files.link(place / "driver", self._bus / "drivers" / driver)
        files.link(self._bus / "devices" / address, place)
        return place

    def bridge(self, address: str, *, inside: Path | None = None, numa: int = 0) -> Path:
        """Add a root port or a port of a switch."""
        return self.plug(
            address,
            inside=inside,
            vendor=0x1000,
            device=0xC030,
            kind=0x060400,
            driver="pcieport",
            numa=numa,
        )

    def switch(self, rail: str, *, numa: int = 0) -> tuple[Path, Path]:
        """Add a switch below a root of its own; returns its two ports.

        `rail` is the address of the GPU behind it: the buses before that one are the switch's.
        """
        domain, bus = rail[:4], int(rail[5:7], 16)
        root = self.bridge(f"{domain}:{bus - 6:02x}:01.0", numa=numa)
        up = self.bridge(f"{domain}:{bus - 5:02x}:00.0", inside=root, numa=numa)
        first, second = (
            self.bridge(f"{domain}:{bus - 4:02x}:{port:02x}.0", inside=up, numa=numa)
            for port in (0, 1)
        )
        return first, second

    def train(
        self, address: str, *, width: int | None = None, generation: int | None = None
    ) -> None:
        """Let the link run narrower or slower than it could (or as before)."""
        place = self.folder(address)
        if width is not None:
            self._files.write(place / "current_link_width", width)
        if generation is not None:
            self._files.write(place / "current_link_speed", f"{SPEEDS[generation]} GT/s PCIe")

    def count_errors(self, address: str, which: str, error: str, by: int = 1) -> None:
        """Count AER errors: `which` is correctable, nonfatal or fatal, `error` such as BadTLP."""
        place = self.folder(address)
        lines = self._files.read(place / f"aer_dev_{which}").splitlines()
        counts = {name: int(number) for name, number in map(str.split, lines[:-1])}
        counts[error] += by
        self._write_errors(place, which, counts)

    def silence(self, address: str) -> None:
        """Let the configuration space read all ones, as of a device that fell off the bus."""
        (self.folder(address) / "config").write_bytes(b"\xff" * 64)

    def unplug(self, address: str) -> None:
        """Take a device away, with what is below it."""
        place = self.folder(address)
        self._files.remove(self._bus / "devices" / address)
        self._files.remove(place)

    def _write_errors(self, place: Path, which: str, counts: dict[str, int]) -> None:
        names, total = _ERRORS[which]
        lines = [f"{name} {counts.get(name, 0)}" for name in names]
        lines.append(f"{total} {sum(counts.values())}")
        self._files.write(place / f"aer_dev_{which}", "\n".join(lines))
