"""How often each code of each device occurred, and which came last: counters for page and wire."""

from collections.abc import Callable, Mapping

from ...vocabulary.samples import Attributes, Sample

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
