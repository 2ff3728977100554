"""Pages of a vendor's exporter in, the vocabulary's samples and fault codes out."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from ...vocabulary.samples import Sample
from .. import exposition
from .binding import BoundSeries, FaultBinding, SeriesBinder, SeriesSlot, converted
from .devices import ExporterDevice
from .tables import ExporterTable


@dataclass(slots=True)
class MappedPage:
    """What one page holds.

    `faults` are the series of fault codes, with their values; `devices` those that are on the page;
    `problems` counts lines as the text format's reader does, and `blank` values.
    """

    samples: list[Sample] = field(default_factory=list)
    faults: list[tuple[FaultBinding, float]] = field(default_factory=list)
    devices: list[ExporterDevice] = field(default_factory=list)
    problems: Counter[str] = field(default_factory=Counter)
    series: int = 0
    of: list[ExporterDevice | None] = field(default_factory=list)


class PageMapping:
    """The pages of one exporter, read by one table. Not for two threads at once."""

    def __init__(self, table: ExporterTable, *, max_bytes: int = exposition.MAX_BYTES) -> None:
        self.table = table
        self._binder = SeriesBinder(table)
        self._reader: exposition.PageReader[BoundSeries] = exposition.PageReader(
            self._binder.bind, max_bytes=max_bytes
        )
        self._forgotten = 0
        self._page = 0

    def read(self, pieces: Iterable[bytes], *, now: float) -> MappedPage:
        """Read a page that comes in pieces; every sample is timed `now`, whatever the page says.

        Raises exposition.UnreadablePageError, and whatever `pieces` raises.
        """
        self._page += 1
        number = self._binder.page = self._page
        page = self._reader.read(pieces, now=now)
        mapped = MappedPage(problems=page.problems, series=page.series)
        touched: list[SeriesSlot] = []
        blanks, blank_from = self.table.blanks, self.table.blank_from
        for bound, value in page.values:
            device = bound.device
            if device is not None and device.seen_on != number:
                device.seen_on = number
                mapped.devices.append(device)
            holder = bound.holder
            if holder is not None and holder.take(1.0, number, spare=False, part=""):
                touched.append(holder)
            # Not a number, infinite, or what the vendor writes for "nothing".
            if not -blank_from < value < blank_from or value in blanks:
                mapped.problems["blank"] += 1
                continue
            absent = value in bound.absent
            if bound.fault is not None and (not absent or value == 0):
                mapped.faults.append((bound.fault, value))
            if absent:
                mapped.problems["blank"] += 1
                continue
            name = bound.name
            for slot, factor, spare in bound.plain:
                if slot.take(value * factor, number, spare=spare, part=name):
                    touched.append(slot)
            for target, slots in bound.others:
                for slot, result in converted(target, slots, value):
                    if slot.take(result, number, spare=target.fallback, part=name):
                        touched.append(slot)
        self._emit(mapped, touched, now)
        if self._reader.forgotten != self._forgotten:
            self._forgotten = self._reader.forgotten
            self._binder.forget()
        return mapped

    def _emit(self, mapped: MappedPage, touched: list[SeriesSlot], now: float) -> None:
        samples, of = mapped.samples, mapped.of
        for device in mapped.devices:
            samples.append(Sample("hw.gpu.info", 1.0, now, device.info))
            of.append(device)
        for slot in touched:
            result = slot.result()
            if result is not None:
                samples.append(Sample(slot.metric, result[1], now, result[0]))
                of.append(slot.device)
