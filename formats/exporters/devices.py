"""Which device a series is about, by its labels."""

from collections.abc import Iterable, Mapping

from ...vocabulary.samples import Attributes, Scalar, attributes
from .tables import DeviceLabels


class ExporterDevice:
    """One device (or part of one) of an exporter, and what its labels have reported so far."""

    __slots__ = ("_facts", "hw_id", "index", "info", "seen_on", "vendor")

    def __init__(self, *, hw_id: str, index: int | None, vendor: str) -> None:
        self.hw_id = hw_id
        self.index = index
        self.vendor = vendor
        self.seen_on = 0
        self._facts: dict[str, Scalar] = {}
        self.info: Attributes = attributes(self.pairs())

    def pairs(self) -> dict[str, Scalar | None]:
        """Return the attributes that every point about this device carries."""
        return {
            "hw.id": self.hw_id,
            "gpu": self.index,
            "hw.vendor": self.vendor,
            "source": "exporter",
        }

    def learn(self, facts: Mapping[str, Scalar]) -> None:
        """Add to what the device is."""
        if not facts.items() <= self._facts.items():
            self._facts.update(facts)
            self.info = attributes({**self._facts, **self.pairs()})

    def renumber(self, index: int | None) -> None:
        """Take another index: after a reset a device may have one, and its id stays."""
        self.index = index
        self.info = attributes({**self._facts, **self.pairs()})


class ExporterDevices:
    """The devices of one exporter, by their labels."""

    def __init__(self, identity: DeviceLabels, vendor: str) -> None:
        self._identity = identity
        self._vendor = vendor
        self._known: dict[str, ExporterDevice] = {}

    def of(self, labels: Mapping[str, str], *, instance: bool) -> ExporterDevice | None:
        """Return the device of a series, None when no label names one."""
        identity = self._identity
        named = _first(labels, identity.id)
        number = _first(labels, identity.index)
        if not named and not number:
            return None
        parent = named or f"{self._vendor}-{number}"
        part = _first(labels, identity.instance) if instance else ""
        if part == identity.first_instance:
            part = ""
        hw_id = f"{parent}/{part}" if part else parent
        device = self._known.get(hw_id)
        if device is None:
            device = ExporterDevice(hw_id=hw_id, index=whole(number), vendor=self._vendor)
            self._known[hw_id] = device
        elif number and device.index != whole(number):
            device.renumber(whole(number))
        facts: dict[str, Scalar] = {
            name: labels[label] for label, name in identity.info.items() if labels.get(label)
        }
        if bus := facts.get("pci.bus_id"):
            facts["pci.bus_id"] = _bus_id(str(bus))
        if part:
            facts["hw.parent"] = parent
            if partition := _first(labels, identity.partition):
                facts["partition"] = partition
        device.learn(facts)
        return device

    def holder(self, labels: Mapping[str, str]) -> dict[str, Scalar]:
        """Return who holds the device, as attributes; empty when nobody is named."""
        return {
            attribute: labels[label]
            for label, attribute in self._identity.holder.items()
            if labels.get(label)
        }

    def port(self, labels: Mapping[str, str], device: ExporterDevice | None) -> dict[str, Scalar]:
        """Return device and port of a network port that belongs to an accelerator."""
        index = device.index if device is not None and device.index is not None else ""
        return {
            "device": f"{self._identity.device}{index}",
            "port": _first(labels, self._identity.port) or "0",
        }


def whole(text: str) -> int | None:
    """Return a small whole number in digits, None for any other text."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


def _first(labels: Mapping[str, str], names: Iterable[str]) -> str:
    for name in names:
        if value := labels.get(name):
            return value
    return ""


def _bus_id(text: str) -> str:
    """Return a PCI address as the kernel writes it: DCGM's domain has eight digits."""
    domain, colon, rest = text.lower().partition(":")
    return f"{domain[-4:]}:{rest}" if colon and rest.count(":") == 1 else text.lower()
