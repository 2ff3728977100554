"""Series of exporters in the vocabulary's terms, by the tables that the agent reads them with.

The agent reads whole pages; here every series comes for itself, in any order. What is made of one
series alone is a factor; what needs several of one payload (sums, spare readings, states, sets of
bits) is `special`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from ...vocabulary.samples import Attributes, TelemetryResource
from .. import exporters
from ..exporters.binding import BoundSeries, FaultBinding, SeriesBinder, SeriesSlot, converted
from ..exporters.tables import ContractTarget, ExporterMetric, ExporterTable
from ..exposition import ExpositionSeries
from ..fault_reports import FAULT
from . import labels as naming

_PREFIXED = ("hygon", "metax")
_TELLING = ("DCGM_", "npu_", "node_", "mlu_")
"""Names that nobody else has: a series of these without host or device is worth a word."""


@dataclass(frozen=True, slots=True)
class PlainSeries:
    """A series of the vocabulary whose value is that of the exporter's * factor + offset.

    `flag`: it is 1 for any value above 0, else 0.
    """

    metric: str
    attributes: Attributes
    factor: float
    offset: float = 0.0
    flag: bool = False


@dataclass(frozen=True, slots=True)
class SeriesMeaning:
    """What is made of the samples of one series.

    `absent` and `blanks` are values that say "nothing here", and so is what is `blank_from` or
    more. `special` is what cannot be made of a value alone.
    """

    resource: TelemetryResource
    plain: Sequence[PlainSeries] = ()
    special: "JointSeries | None" = None
    blanks: frozenset[float] = frozenset()
    blank_from: float = float("inf")


class JointSeries:
    """What is made of one series together with others of the same payload."""

    __slots__ = ("_mains", "_name", "_others", "_plain", "resource")

    def __init__(
        self, resource: TelemetryResource, bound: BoundSeries, mains: set[SeriesSlot]
    ) -> None:
        """`mains`: slots that some row fills which is no spare; it grows."""
        self.resource = resource
        self._name = bound.name
        self._mains = mains
        self._others = [one for one in bound.others if not _flag(one[0])]
        self._plain = [one for one in bound.plain if not _alone(one)]

    def __bool__(self) -> bool:
        """Tell whether there is anything to make."""
        return bool(self._plain or self._others)

    def take(
        self, value: float, parts: "SumParts", at_ms: int
    ) -> Iterator[tuple[SeriesSlot, int, float]]:
        """Yield (slot, which of its series, value) of a value; parts of sums wait in `parts`."""
        for slot, factor, spare in self._plain:
            if spare and slot in self._mains:
                continue
            needed = slot.needed(spare=spare)
            whole = parts.add((slot, at_ms), self._name, value * factor, needed or 1)
            if whole is not None:
                yield slot, 0, whole
        for target, slots in self._others:
            for slot, result in converted(target, slots, value):
                if target.fallback and slot in self._mains:
                    continue
                states = len(slot.series) > 1
                yield (slot, int(result), 1.0) if states else (slot, 0, result)


def _flag(target: ContractTarget) -> bool:
    """Tell whether a value is yes or no, of no sum and no spare."""
    made = target.states or target.bits or target.choices or target.fallback or target.parts
    return target.flag and not made


def _alone(one: tuple[SeriesSlot, float, bool]) -> bool:
    """Tell whether a value is a plain multiple, of no sum and no spare."""
    slot, _, spare = one
    return not spare and not slot.needed(spare=False)


@dataclass(slots=True)
class SumParts:
    """Parts of sums in one payload, until all of one time are there."""

    _held: dict[tuple[SeriesSlot, int], dict[str, float]] = field(default_factory=dict)

    def add(
        self, key: tuple[SeriesSlot, int], part: str, value: float, needed: int
    ) -> float | None:
        """Take a part; return the sum once enough are there."""
        held = self._held.setdefault(key, {})
        held[part] = value
        return sum(held.values()) if len(held) >= needed else None


class ExporterMeanings:
    """Says what the series of exporters are; one object a decoder."""

    def __init__(self) -> None:
        self._binders: dict[tuple[str, str, str], SeriesBinder] = {}
        self._mains: set[SeriesSlot] = set()
        self._informed: set[tuple[str, str, str]] = set()

    def meaning(self, name: str, labels: Mapping[str, str]) -> SeriesMeaning | None:
        """Return what is made of a series, None for one that no table has.

        A series of a device that names no host is none either: nobody could say where it is.
        """
        tables = _tables().get(name) or tuple(_by_pattern(name))
        for table in tables:
            found = self._of(table, name, labels)
            if found is not None:
                return found
        return None

    def _of(
        self, table: ExporterTable, name: str, labels: Mapping[str, str]
    ) -> SeriesMeaning | None:
        row = table.find(name)
        if row is None:
            return None
        of = naming.resource_of_host if row[0].node else naming.resource_of_device
        resource = of(labels)
        telling = name.startswith(_TELLING)
        if resource is None:
            if telling:
                raise HostlessError(name)
            return None
        key = (table.vendor, resource.host, resource.job or "")
        binder = self._binders.get(key)
        if binder is None:
            binder = self._binders[key] = SeriesBinder(table)
        bound = binder.bind(ExpositionSeries(name, tuple(sorted(labels.items()))))
        if bound is None:
            named = (*table.identity.id, *table.identity.index)
            left_out = row[0].node or row[0].ignore or not telling
            if not left_out and not naming.first(labels, named):
                raise HostlessError(name)
            return None
        plain = [
            PlainSeries(one[0].metric, one[0].series[0], one[1])
            for one in bound.plain
            if _alone(one)
        ]
        self._mains.update(slot for slot, _, spare in bound.plain if not spare)
        plain += [
            PlainSeries(slots[0].metric, slots[0].series[0], 1.0, flag=True)
            for target, slots in bound.others
            if _flag(target)
        ]
        plain += self._facts(key, bound)
        if bound.fault is not None:
            plain.append(_fault(bound.fault, table))
        special = JointSeries(resource, bound, self._mains)
        if not plain and not special:
            return None
        blanks = table.blanks | bound.absent
        return SeriesMeaning(resource, plain, special or None, blanks, table.blank_from)

    def _facts(self, key: tuple[str, str, str], bound: BoundSeries) -> list[PlainSeries]:
        """Return what a device is, once a device: it rides on the first series that has it."""
        device = bound.device
        if device is None or (*key[1:], device.hw_id) in self._informed:
            return []
        self._informed.add((*key[1:], device.hw_id))
        return [PlainSeries("hw.gpu.info", device.info, 0.0, 1.0)]


class HostlessError(ValueError):
    """A series of a device or a host whose labels do not name the host, or the device."""


def _fault(binding: FaultBinding, table: ExporterTable) -> PlainSeries:
    pairs = {
        **{key: value for key, value in binding.device.pairs().items() if value is not None},
        "exporter": table.exporter,
        "kind": binding.kind,
        "code": binding.code,
        "prefix": binding.prefix,
        "format": binding.format,
    }
    return PlainSeries(FAULT, tuple(sorted((key, value) for key, value in pairs.items())), 1.0)


@cache
def _of_vendors() -> tuple[ExporterTable, ...]:
    """Return the vendors' tables, read once: most series of a Prometheus are of none of them."""
    return tuple(map(exporters.load, exporters.VENDORS))


@cache
def _tables() -> Mapping[str, tuple[ExporterTable, ...]]:
    """Return the tables that have a name, by name; several where vendors share it."""
    found: dict[str, tuple[ExporterTable, ...]] = {}
    for table in (*_of_vendors(), exporters.hosts()):
        for name, _ in spellings(table):
            found[name] = (*found.get(name, ()), table)
    return found


def spellings(table: ExporterTable) -> Iterator[tuple[str, ExporterMetric]]:
    """Yield the names of a table that say whose they are among those of a whole cluster.

    Hygon's and MetaX's exporters can be set to leave out their prefix: `temp` or `memory_used`
    then say nothing any more, on a page of theirs alone they do.
    """
    for prefix in table.prefixes:
        if not prefix and table.vendor in _PREFIXED:
            continue
        for row in table.rows.values():
            yield prefix + row.name, row


def _by_pattern(name: str) -> Iterator[ExporterTable]:
    for table in _of_vendors():
        if table.patterns and table.find(name) is not None:
            yield table
