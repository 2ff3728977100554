"""How often each code of each device occurred: a fault that two sources report counts once."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from ...vocabulary.samples import Attributes, Sample

_SAME_SECONDS = 2.0
"""The kernel log and NVML report one occurrence this close together."""
_LATE: Mapping[str, float] = {"exporter": 120.0}
"""An exporter's page reports as late as the exporter looks and the page is read."""


@dataclass(slots=True)
class FaultOccurrences:
    """Counts each source by itself; occurrences are what the source that saw most has seen."""

    _reported: dict[str, int] = field(default_factory=dict)
    _counted: int = 0

    def add(self, source: str, by: int, at: float, *, last: float) -> int:
        """Take `by` reports of a time, the last one being of `last`; return how many are new."""
        if at - last > _LATE.get(source, _SAME_SECONDS):
            self._reported.clear()
            self._counted = 0
        self._reported[source] = self._reported.get(source, 0) + by
        new = max(0, self._reported[source] - self._counted)
        self._counted += new
        return new


_MOST = 512


class FaultCounts:
    """Counters by (device, code), and each device's last code. Its owner holds the lock."""

    def __init__(self, totals: Mapping[tuple[str, str], int], last: Mapping[str, str]) -> None:
        self.totals = dict(totals)
        self.last = dict(last)

    def add(self, hw_id: str, code: str, by: int) -> None:
        """Count; beyond `_MOST` codes, more than a node can have, a new one is left out."""
        key = (hw_id, code)
        if key not in self.totals and len(self.totals) >= _MOST:
            return
        self.totals[key] = self.totals.get(key, 0) + by
        self.last[hw_id] = code

    def rename(self, identity: Callable[[str], str]) -> None:
        """Give devices the id that is known by now in the place of their PCI address."""
        for old in [one for one in self.totals if identity(one[0]) != one[0]]:
            new = (identity(old[0]), old[1])
            self.totals[new] = self.totals.get(new, 0) + self.totals.pop(old)
        for address in [one for one in self.last if identity(one) != one]:
            code = self.last.pop(address)
            self.last.setdefault(identity(address), code)

    def copy(self) -> "FaultCounts":
        """Return the same counts, which a thread may read without the lock."""
        return FaultCounts(self.totals, self.last)

    def samples(self, now: float, pairs: Callable[..., Attributes]) -> list[Sample]:
        """Return `hw.gpu.faults` and `hw.gpu.fault.last`; `pairs(hw_id, **more)` names a device."""
        samples = [
            Sample("hw.gpu.faults", float(count), now, pairs(hw_id, code=code))
            for (hw_id, code), count in self.totals.items()
        ]
        for hw_id, code in self.last.items():
            number = code.rpartition(".")[2]
            if number.isdigit():
                samples.append(Sample("hw.gpu.fault.last", float(number), now, pairs(hw_id)))
        return samples
