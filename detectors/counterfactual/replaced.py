"""Which part of a step a fault makes longer, where it is at all ranks or between them."""

from enum import Enum

from ...vocabulary.ids import Fault

_OF_DATA = frozenset({"software.dataloader_slow", "host.storage_slow"})


class ReplacedPart(Enum):
    """What is replaced: a rank's own work, its waits for batches, or the exchange between ranks."""

    WORK = "work"
    DATA = "data"
    EXCHANGE = "exchange"


def replaced_part(fault: Fault) -> ReplacedPart:
    """Return what a fault makes longer."""
    if fault.startswith("network."):
        return ReplacedPart.EXCHANGE
    return ReplacedPart.DATA if fault in _OF_DATA else ReplacedPart.WORK
