"""Which part of a step a fault makes longer, and what is put in its place."""

from enum import Enum

from ...vocabulary.ids import Fault

_OF_DATA = frozenset({"software.dataloader_slow", "host.storage_slow"})
_OF_LINK = frozenset({"gpu.nvlink", "gpu.pcie_degraded"})


class ReplacedPart(Enum):
    """What is replaced.

    work: a rank's own, by that of its peers. handed_out: the same of a rank that hands out the
    batches of all. data: waits for batches. exchange: the time between ranks. link: work of a rank
    and the exchange, as of a device whose link is slow.
    """

    WORK = "work"
    HANDED_OUT = "handed_out"
    DATA = "data"
    EXCHANGE = "exchange"
    LINK = "link"


def replaced_part(fault: Fault) -> ReplacedPart:
    """Return what a fault makes longer."""
    if fault.startswith("network."):
        return ReplacedPart.EXCHANGE
    if fault in _OF_LINK:
        return ReplacedPart.LINK
    if fault == "balance.rank0_preprocessing":
        return ReplacedPart.HANDED_OUT
    return ReplacedPart.DATA if fault in _OF_DATA else ReplacedPart.WORK
