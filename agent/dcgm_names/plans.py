"""What the samples of a series are for: which of dcgm-exporter's fields they fill, and how."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...vocabulary.samples import Attributes, Scalar
from .fields import DcgmField

INFO = "hw.gpu.info"
PER_PROCESS = {
    "hw.gpu.memory.usage": "hw.gpu.process.memory",
    "hw.gpu.utilization": "hw.gpu.process.utilization",
}
"""Of a shared device each holder is shown its own processes' share of these."""

_EVERYWHERE = frozenset({"hw.id", "gpu", "rank", "hw.vendor", "source", "quality"})
_ADDED = frozenset({"link", "direction"})
"""Attributes over which a field that does not name them adds up."""
_PARTS = {"memory": ("hbm", "sram")}
"""Parts of the vocabulary that DCGM counts as one."""


@dataclass(frozen=True, slots=True)
class FieldUse:
    """What a sample is for: a field, how many attributes had to be added up over, its weight."""

    place: int
    spread: int
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class SeriesPlan:
    """What is done with all samples of one series."""

    hw_id: str
    index: int
    uses: Sequence[FieldUse]
    pid: int | None = None
    same: int = 0
    """What a reading of ours and one of an exporter have in common when they report the same."""


class SeriesPlans(dict[tuple[str, Attributes], SeriesPlan | None]):
    """Plans by metric and attributes, made when first asked for; None: for no field.

    operands: metrics from which others are derived.
    """

    def __init__(self, every: Sequence[DcgmField]) -> None:
        super().__init__()
        self._fields = every
        self._by_metric: dict[str, list[int]] = defaultdict(list)
        for place, one in enumerate(every):
            if one.metric and not one.observed and not one.derived:
                self._by_metric[one.metric].append(place)
        self.operands = {part for one in every for part in one.derived[::2]}

    def __missing__(self, key: tuple[str, Attributes]) -> SeriesPlan | None:
        plan = self[key] = self._plan(*key)
        return plan

    def _plan(self, name: str, pairs: Attributes) -> SeriesPlan | None:
        named = dict(pairs)
        hw_id, index = named.get("hw.id"), named.get("gpu")
        if not isinstance(hw_id, str) or not isinstance(index, int):
            return None
        if named.get("hw.vendor", "nvidia") != "nvidia":
            return None
        pid = named.get("pid")
        if name in PER_PROCESS.values() and isinstance(pid, int):
            return SeriesPlan(hw_id, index, (), pid)
        places = self._by_metric.get(name, ())
        uses = [
            use for place in places if (use := _use(place, self._fields[place], named)) is not None
        ]
        if not uses and name != INFO and name not in self.operands:
            return None
        distinct = frozenset(pair for pair in pairs if pair[0] not in _EVERYWHERE)
        return SeriesPlan(hw_id, index, uses, same=hash((name, hw_id, distinct)))


def _use(place: int, one: DcgmField, named: Mapping[str, Scalar]) -> FieldUse | None:
    """Return what a sample of a field's metric is for the field, None when it is another's."""
    spread = 0
    for name, value in named.items():
        if name in _EVERYWHERE or (name == "link" and value == "all"):
            continue
        wanted = one.fixed.get(name)
        if name == "link" and one.link is not None:
            if str(value) != str(one.link):
                return None
        elif name == one.code_of:
            continue
        elif wanted is not None:
            if value != wanted:
                if value not in _PARTS.get(wanted, ()):
                    return None
                spread += 1
        elif name in _ADDED:
            spread += 1
        elif one.metric != INFO:
            return None
    if any(name not in named and name != "link" for name in one.fixed):
        return None
    if one.link is not None and "link" not in named:
        return None
    if one.code_of:
        weight = one.codes.get(str(named.get(one.code_of)))
        return None if weight is None else FieldUse(place, spread, weight)
    return FieldUse(place, spread)
