"""Which device a series is about, by its labels."""

from collections.abc import Iterable, Iterator, Mapping

from ...vocabulary.samples import Attributes, Scalar, attributes
from .tables import DeviceLabels

_NO_TEXT = frozenset({"na", "n/a", "none", "null", "unknown", "unavailable", "[n/a]", "4294967295"})
"""What exporters write where a label has nothing to say, the last one the blank of 32 bits."""
_PUNCTUATION = str.maketrans("", "", "-:. ")
_NIL_DIGITS = 8
"""Hexadecimal digits of a number of 32 bits: so many equal ones are no id."""


class ExporterDevice:
    """One device (or part of one) of an exporter, and what its labels have reported so far."""

    __slots__ = ("_facts", "bound_on", "hw_id", "index", "info", "seen_on", "vendor")

    def __init__(self, *, hw_id: str, index: int | None, vendor: str) -> None:
        self.hw_id = hw_id
        self.index = index
        self.vendor = vendor
        self.seen_on = 0
        self.bound_on = 0
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
    """The devices of one exporter, by their labels.

    An id that says nothing (the nil UUID, `N/A`, only zeros) is none: the next label of the table
    is taken, then the index. An id that two devices of one page have is the first one's alone.
    """

    def __init__(self, identity: DeviceLabels, vendor: str) -> None:
        self._identity = identity
        self._vendor = vendor
        self._known: dict[str, ExporterDevice] = {}
        self._owners: dict[str, str] = {}
        """Of an id that several devices have: the index of the one that keeps it."""

    def of(
        self, labels: Mapping[str, str], *, instance: bool, page: int = 0
    ) -> ExporterDevice | None:
        """Return the device of a series, None when no label names one.

        `page` counts the pages of one exporter; 0 where series come in no pages.
        """
        identity = self._identity
        named = next((text for text in _texts(labels, identity.id) if not _says_nothing(text)), "")
        number = _first(labels, identity.index)
        if not named and not number:
            return None
        part = _first(labels, identity.instance) if instance else ""
        if part == identity.first_instance:
            part = ""
        parent = self._parent(named, number, part, page)
        hw_id = _part_id(parent, part)
        device = self._known.get(hw_id)
        if device is None:
            device = ExporterDevice(hw_id=hw_id, index=whole(number), vendor=self._vendor)
            self._known[hw_id] = device
        elif number and device.index != whole(number):
            device.renumber(whole(number))
        device.bound_on = page
        facts: dict[str, Scalar] = {
            name: text for label, name in identity.info.items() if (text := _text(labels, label))
        }
        if bus := facts.get("pci.bus_id"):
            facts["pci.bus_id"] = _bus_id(str(bus))
        if part:
            facts["hw.parent"] = parent
            if partition := _first(labels, identity.partition):
                facts["partition"] = partition
        device.learn(facts)
        return device

    def _parent(self, named: str, number: str, part: str, page: int) -> str:
        """Return the id of the whole device, which no other one of this page has.

        After a reset a device may have another index; two indexes on one page are two devices.
        """
        numbered = f"{self._vendor}-{number}"
        if not named or not number:
            return named or numbered
        hw_id = _part_id(named, part)
        known = self._known.get(hw_id)
        if known is not None and page and known.bound_on == page and known.index != whole(number):
            self._owners.setdefault(hw_id, str(known.index))
        owner = self._owners.get(hw_id)
        return named if owner is None or owner == number else numbered

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
    return next(_texts(labels, names), "")


def _texts(labels: Mapping[str, str], names: Iterable[str]) -> Iterator[str]:
    return (text for name in names if (text := _text(labels, name)))


def _text(labels: Mapping[str, str], name: str) -> str:
    """Return what a label says; empty where it is a blank."""
    text = labels.get(name, "")
    return "" if text.strip().lower() in _NO_TEXT else text


def _says_nothing(named: str) -> bool:
    """Tell whether an id is one that every device may have: only zeros, or only ones."""
    digits = named.lower().removeprefix("gpu-").removeprefix("0x").translate(_PUNCTUATION)
    same = not digits.strip("0") or not digits.strip("f")
    return named in ("0", "0x0") or (same and len(digits) >= _NIL_DIGITS)


def _part_id(parent: str, part: str) -> str:
    return f"{parent}/{part}" if part else parent


def _bus_id(text: str) -> str:
    """Return a PCI address as the kernel writes it: DCGM's domain has eight digits."""
    domain, colon, rest = text.lower().partition(":")
    return f"{domain[-4:]}:{rest}" if colon and rest.count(":") == 1 else text.lower()
