"""What the evaluation thread reads, in the order in which it was received."""

from dataclasses import dataclass

from ..intake.decoding import DecodeFunction
from ..intake.tail import EntrySource
from ..journal.interface import LogPartition
from .access import ReceivedPayloads


@dataclass(frozen=True, slots=True)
class ConsumedLog:
    """A partition, what evaluation decided about it under load, and the newest of it in memory.

    `received` has the watermark of the intake, `tail` what it took in, `decoders` what its bytes
    mean. `before_ns`: the receive time of the newest entry of an earlier process, None without one.
    """

    journal: LogPartition
    decisions: LogPartition
    received: ReceivedPayloads
    tail: EntrySource
    decoders: DecodeFunction
    before_ns: int | None = None
