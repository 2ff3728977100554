"""What is done with the values of one series: decided once, when the series is first seen."""

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass

from ...vocabulary import metrics
from ...vocabulary.samples import Attributes, Scalar, attributes
from ..exposition import ExpositionSeries
from ..fault_reports import spelled
from .devices import ExporterDevice, ExporterDevices, whole
from .tables import ContractTarget, ExporterMetric, ExporterTable
from .units import CURVES, curve

_WHOLE = frozenset({"link", "lane", "pid"})
STATES = ("ok", "degraded", "failed")
"""Best first: of several verdicts on a device the worst one holds."""


class SeriesSlot:
    """One series of the vocabulary: its values on this page so far.

    `spare` values come from rows that count only where no other has the series. Parts are added up
    by the metric they came from: one device may be listed several times, once for each pod that
    shares it, and of those the highest value holds.
    """

    __slots__ = ("_levels", "_main", "_needed", "_pairs", "_spare", "device", "metric", "page")

    def __init__(
        self, metric: str, pairs: Attributes, *, device: ExporterDevice | None, worst: bool
    ) -> None:
        self.metric = metric
        self.device = device
        self.page = 0
        self._pairs = pairs
        self._main: dict[str, float] = {}
        self._spare: dict[str, float] = {}
        self._needed = {False: 0, True: 0}
        self._levels = (
            tuple(tuple(sorted((*pairs, ("hw.state", state)))) for state in STATES) if worst else ()
        )

    @property
    def series(self) -> tuple[Attributes, ...]:
        """Return the attributes of its series; of a verdict one series a state, best first."""
        return self._levels or (self._pairs,)

    def needed(self, *, spare: bool) -> int:
        """Return how many parts make a value; 0: it is not made of parts."""
        return self._needed[spare]

    def expect(self, parts: int, *, spare: bool) -> None:
        """Note that so many parts make a value."""
        self._needed[spare] = max(self._needed[spare], parts)

    def take(self, value: float, page: int, *, spare: bool, part: str) -> bool:
        """Take a value; return whether it is the first of its page."""
        first = self.page != page
        if first:
            self.page = page
            self._main.clear()
            self._spare.clear()
        values = self._spare if spare else self._main
        old = values.get(part)
        if old is None or value > old:
            values[part] = value
        return first

    def result(self) -> tuple[Attributes, float] | None:
        """Return attributes and value of this page, None when too few parts were there."""
        for values, needed in (
            (self._main, self._needed[False]),
            (self._spare, self._needed[True]),
        ):
            if values and len(values) >= needed:
                value = sum(values.values()) if needed else max(values.values())
                return (self._levels[int(value)], 1.0) if self._levels else (self._pairs, value)
        return None


@dataclass(frozen=True, slots=True)
class FaultBinding:
    """A series of fault codes; `code` is the whole code, empty where the value is one."""

    device: ExporterDevice
    kind: str
    code: str
    prefix: str
    format: str

    def spelled(self, value: float) -> str:
        """Return the code as events and metrics carry it."""
        return self.code or spelled(value, self.prefix, self.format)


Action = tuple[ContractTarget, tuple[SeriesSlot, ...]]


@dataclass(frozen=True, slots=True)
class BoundSeries:
    """What one series of an exporter means."""

    device: ExporterDevice | None
    name: str
    absent: frozenset[float]
    plain: tuple[tuple[SeriesSlot, float, bool], ...]
    others: tuple[Action, ...]
    fault: FaultBinding | None
    holder: SeriesSlot | None


class SeriesBinder:
    """Binds the series of one exporter to the contract, by a table."""

    def __init__(self, table: ExporterTable) -> None:
        self._table = table
        self._devices = ExporterDevices(table.identity, table.vendor)
        self._slots: dict[tuple[str, Attributes], SeriesSlot] = {}
        self.page = 0
        """Which page is read, from 1 on; 0 where series come in no pages."""

    def bind(self, series: ExpositionSeries) -> BoundSeries | None:
        """Return what a series means, None when nothing is made of it."""
        found = self._table.find(series.name)
        if found is None or found[0].ignore:
            return None
        row, numbers = found
        labels = {**dict(series.labels), **numbers}
        if any(labels.get(label) != value for label, value in row.only.items()):
            return None
        device = (
            None if row.node else self._devices.of(labels, instance=row.instance, page=self.page)
        )
        if device is None and not row.node:
            return None
        if labels.get(row.code_label):
            labels[row.code_label] = _code(row, labels[row.code_label])
        plain: list[tuple[SeriesSlot, float, bool]] = []
        others: list[Action] = []
        for target in row.targets:
            slots = self._targeted(target, labels, device)
            if slots is None:
                continue
            if _is_plain(target):
                plain.append((slots[0], target.factor, target.fallback))
            else:
                others.append((target, slots))
        fault = _fault(row, labels, device)
        holder = self._holder(labels, device) if device is not None else None
        return BoundSeries(
            device, series.name, row.absent, tuple(plain), tuple(others), fault, holder
        )

    def forget(self) -> None:
        """Forget the vocabulary's series, once nobody holds what `bind` returned."""
        self._slots.clear()

    def _targeted(
        self, target: ContractTarget, labels: Mapping[str, str], device: ExporterDevice | None
    ) -> tuple[SeriesSlot, ...] | None:
        """Return the vocabulary's series of a value; None where a needed label is empty."""
        metric = metrics.catalogue()[target.metric]
        vendor = self._table.vendor or None  # a host's own exporter has none
        pairs: dict[str, Scalar | None] = {"hw.vendor": vendor, "source": "exporter"}
        if device is not None:
            pairs |= device.pairs()
        if "device" in metric.attributes:
            pairs |= self._devices.port(labels, device)
        pairs |= target.attributes
        for label, name in target.labels.items():
            if labels.get(label):
                number = whole(labels[label]) if name in _WHOLE else None
                pairs[name] = labels[label] if number is None else number
        for label, (name, words) in target.words.items():
            word = words.get(labels.get(label, ""))
            if word:
                pairs[name] = word
        for label, known in target.pairs.items():
            pairs |= known.get(labels.get(label, ""), {})
        last = "reason" if target.bits else target.choice
        needed = set(metric.attributes) - {"gpu", "hw.state", last}
        if not needed <= pairs.keys():
            return None
        words_of = target.bits or target.choices
        if words_of:
            return tuple(
                self._slot(target, {**pairs, last: word}, device) for word in words_of.values()
            )
        return (self._slot(target, pairs, device),)

    def _slot(
        self,
        target: ContractTarget,
        pairs: Mapping[str, Scalar | None],
        device: ExporterDevice | None,
    ) -> SeriesSlot:
        found = attributes(pairs)
        slot = self._slots.get((target.metric, found))
        if slot is None:
            slot = self._slots[target.metric, found] = SeriesSlot(
                target.metric, found, device=device, worst=bool(target.states)
            )
        slot.expect(target.parts, spare=target.fallback)
        return slot

    def _holder(self, labels: Mapping[str, str], device: ExporterDevice) -> SeriesSlot | None:
        holder = self._devices.holder(labels)
        if not holder:
            return None
        target = ContractTarget(metric="hw.gpu.allocation")
        return self._slot(target, {**device.pairs(), **holder}, device)


def converted(
    target: ContractTarget, slots: tuple[SeriesSlot, ...], value: float
) -> list[tuple[SeriesSlot, float]]:
    """Return a value that is no plain multiple of the vocabulary's unit, slot by slot."""
    if target.states:
        state = target.states.get(value)
        return [] if state is None else [(slots[0], float(STATES.index(state)))]
    if target.bits:
        bits = int(value)
        return [
            (slot, float(bits & mask == wanted))
            for slot, (wanted, mask) in zip(slots, target.bits, strict=True)
        ]
    if target.choices:
        return [
            (slot, 1.0)
            for slot, choice in zip(slots, target.choices, strict=True)
            if choice == value
        ]
    number = _converted(target, value)
    return [] if number is None else [(slots[0], number)]


def _converted(target: ContractTarget, value: float) -> float | None:
    if target.flag:
        return float(value > 0)
    if target.unit in CURVES:
        return curve(target.unit, value)
    if target.percent_above is not None and value > target.percent_above:
        return value / 100.0
    return value * target.factor


def _is_plain(target: ContractTarget) -> bool:
    return not (
        target.flag
        or target.states
        or target.bits
        or target.choices
        or target.unit in CURVES
        or target.percent_above is not None
    )


def _fault(
    row: ExporterMetric, labels: Mapping[str, str], device: ExporterDevice | None
) -> FaultBinding | None:
    if not row.fault or device is None:
        return None
    code = labels.get(row.code_label, "") if row.code_label else row.code_prefix + row.code
    if row.code_label and not code:
        return None  # the series for "none yet"
    if not row.code_label and not row.code:
        code = ""  # the value is the code
    return FaultBinding(device, row.fault, code, row.code_prefix, row.code_format)


def _code(row: ExporterMetric, text: str) -> str:
    """Return the code of a label: numbers, decimal or hexadecimal, in the form of the row."""
    if row.code_format:
        with contextlib.suppress(ValueError):  # a name
            text = format(int(text, 0), row.code_format)
    return f"{row.code_prefix}{text}"
