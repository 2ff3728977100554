"""dcgm-exporter's page, made from the vocabulary's samples.

Series are those dcgm-exporter shows: one a device and field, of a shared device one a holder. What
stands before a value is kept from one scrape to the next and made anew when a device is described
differently or changes hands.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from ...vocabulary.samples import Attributes, Sample, TelemetryResource
from ..attribution import DeviceAttribution
from . import labels
from .fields import DcgmField, Names, fields
from .labels import LabelBlock
from .observations import CLOCK_EVENTS, WINDOW_SECONDS, DcgmObservations
from .plans import INFO, PER_PROCESS, FieldUse, SeriesPlans

_NVLINK = "hw.gpu.nvlink.throughput"
_SPARE_PLANS = 512
_MOST_DEVICES = 512

Series = tuple[TelemetryResource, str, Attributes, float]
_Cells = dict[tuple[int, str], tuple[int, float]]


class DcgmPage:
    """Renders the names of one generation or both. `observe` takes readings, on any thread."""

    def __init__(
        self,
        *,
        names: Names,
        host: str,
        attribution: DeviceAttribution,
        pod_uid: bool = False,
        links: int = 0,
    ) -> None:
        self._fields = fields(names, links=links)
        self._attribution = attribution
        self._pod_uid = pod_uid
        self._hosts = [
            labels.host(host, old="old" in one.generations, new="new" in one.generations)
            for one in self._fields
        ]
        self._observations = DcgmObservations()
        self._plans = SeriesPlans(self._fields)
        self._described: tuple[int, dict[str, Attributes]] = (-1, {})
        self._blocks: dict[str, list[LabelBlock]] = {}
        self._parts: set[str] = set()
        self._infos: dict[str, Attributes] = {}
        self._prefixes: dict[tuple[int, str], list[str]] = {}

    def observe(self, samples: Iterable[Sample]) -> None:
        """Take a reading: what is counted over time is not among the latest values."""
        self._observations.observe(samples)

    def render(self, series: Iterable[Series], now: float, *, room: int) -> tuple[str, int, int]:
        """Return the text, the series in it and those left out. Not for two threads at once."""
        cells: _Cells = {}
        plain: dict[tuple[str, str], float] = {}
        infos: dict[str, Attributes] = {}
        devices: dict[str, int] = {}
        of_processes: dict[tuple[str, str], dict[str, float]] = defaultdict(dict)
        seen: set[int] = set()
        shown = 0
        for _, name, pairs, value in series:
            shown += 1
            plan = self._plans[name, pairs]
            if plan is None:
                continue
            hw_id = plan.hw_id
            if plan.pid is not None:
                shares = of_processes[name, hw_id]
                pod = self._attribution.pod_of(plan.pid)
                shares[pod] = shares.get(pod, 0.0) + value
                continue
            if plan.same in seen:
                continue  # two readers report it: no sum of it
            seen.add(plan.same)
            devices[hw_id] = plan.index
            if name == INFO:
                infos[hw_id] = pairs
            if name in self._plans.operands:
                plain[name, hw_id] = value
            for use in plan.uses:
                _add(cells, use, hw_id, value)
        if len(self._plans) > 2 * shown + _SPARE_PLANS:
            self._plans.clear()  # most are of processes long gone
        self._describe(infos, devices)
        # Parts come before their device: what a part reports, the device need not.
        order = sorted(devices, key=lambda hw_id: (hw_id not in self._parts, devices[hw_id], hw_id))
        return self._written(cells, plain, of_processes, order, now, room)

    def _describe(self, infos: dict[str, Attributes], devices: Mapping[str, int]) -> None:
        """Make labels anew where a device is described differently or changed hands."""
        self._infos = {**self._infos, **infos} if len(self._infos) < _MOST_DEVICES else dict(infos)
        for hw_id, index in devices.items():
            # A lost device is not described any more, and its series must not change their labels.
            if hw_id not in infos:
                infos[hw_id] = self._infos.get(hw_id, (("gpu", index), ("hw.id", hw_id)))
        described = (self._attribution.version, infos)
        if described == self._described:
            return
        self._described = described
        self._prefixes.clear()
        named = {hw_id: dict(pairs) for hw_id, pairs in infos.items()}
        self._parts = {hw_id for hw_id, info in named.items() if info.get("hw.parent") in named}
        self._blocks = {
            hw_id: labels.blocks(
                info,
                named.get(str(info.get("hw.parent", "")), {}),
                self._attribution.holders(hw_id),
                pod_uid=self._pod_uid,
            )
            for hw_id, info in named.items()
        }

    def _written(
        self,
        cells: _Cells,
        plain: Mapping[tuple[str, str], float],
        of_processes: Mapping[tuple[str, str], Mapping[str, float]],
        order: Sequence[str],
        now: float,
        room: int,
    ) -> tuple[str, int, int]:
        parts: list[str] = []
        shown = left_out = 0
        for place, one in enumerate(self._fields):
            if one.observed:
                lines = self._observed(place, one, order, now)
            else:
                lines = []
                for hw_id in order:
                    cell = cells.get((place, hw_id))
                    value = cell[1] if cell is not None else self._without_cell(one, hw_id, plain)
                    if value is None or not math.isfinite(value):
                        continue
                    shares = of_processes.get((PER_PROCESS.get(one.metric, ""), hw_id))
                    lines += self._lines(place, one, hw_id, value, shares)
            if self._parts:
                lines = _once(lines)
            fitting = lines[: room - shown]
            left_out += len(lines) - len(fitting)
            shown += len(fitting)
            if fitting:
                parts.append(one.head)
                parts += fitting
        return "".join(parts), shown, left_out

    def _without_cell(
        self, one: DcgmField, hw_id: str, plain: Mapping[tuple[str, str], float]
    ) -> float | None:
        if one.derived:
            return _derived(one.derived, hw_id, plain)
        if one.last_fault and hw_id not in self._parts:
            return 0.0  # none yet
        if one.metric == _NVLINK and not one.fixed and one.link is None:
            return self._observations.link_rate(hw_id)
        return None

    def _lines(
        self,
        place: int,
        one: DcgmField,
        hw_id: str,
        value: float,
        shares: Mapping[str, float] | None,
    ) -> list[str]:
        prefixes = self._prefixes.get((place, hw_id))
        blocks = self._blocks[hw_id]
        if prefixes is None:
            host = self._hosts[place]
            prefixes = [f"{one.name}{{{block.text(host)}}} " for block in blocks]
            self._prefixes[place, hw_id] = prefixes
        text = one.exported(value)
        if shares is None or not all(block.pod_uid for block in blocks):
            return [f"{prefix}{text}\n" for prefix in prefixes]
        return [
            f"{prefix}{one.exported(share)}\n"
            for prefix, share in zip(prefixes, _shared(blocks, shares), strict=True)
        ]

    def _observed(self, place: int, one: DcgmField, order: Sequence[str], now: float) -> list[str]:
        """Return the lines of what is counted over time, a line a device and code or reason."""
        windowed = one.observed in ("xid", "clock")
        counts = (
            self._observations.window(one.observed, now)
            if windowed
            else self._observations.totals(one.observed)
        )
        window = f',window_size_in_ms="{WINDOW_SECONDS * 1000:.0f}"' if windowed else ""
        lines: list[str] = []
        for hw_id in order:
            for (device, what), count in sorted(counts.items()):
                if device != hw_id:
                    continue
                if one.observed in ("xid", "xids"):
                    own = f'{window},xid="{labels.escaped(what)}"'
                elif what in CLOCK_EVENTS:
                    own = f',clock_event="{CLOCK_EVENTS[what]}"{window}'
                else:
                    continue
                lines += [
                    f"{one.name}{{{block.text(self._hosts[place], own)}}} {one.exported(count)}\n"
                    for block in self._blocks[hw_id]
                ]
        return lines


def _add(cells: _Cells, use: FieldUse, hw_id: str, value: float) -> None:
    """Add a value where it belongs; a total that is reported as such wins over its parts."""
    key = (use.place, hw_id)
    before = cells.get(key)
    if before is None or use.spread < before[0]:
        cells[key] = (use.spread, value * use.weight)
    elif use.spread == before[0]:
        cells[key] = (use.spread, before[1] + value * use.weight)


def _derived(
    parts: Sequence[str], hw_id: str, plain: Mapping[tuple[str, str], float]
) -> float | None:
    first = plain.get((parts[0], hw_id))
    if first is None:
        return None
    rest = [plain.get((part, hw_id)) for part in parts[2::2]]
    if parts[1] == "/":
        return first / rest[0] if rest[0] else None
    if rest[0] is None:
        return None
    # What is held back is not reported by every driver; then it counts as in use.
    return max(0.0, first - sum(value or 0.0 for value in rest))


def _once(lines: Sequence[str]) -> list[str]:
    """Return the first line of each series."""
    found: dict[str, str] = {}
    for line in lines:
        found.setdefault(line.rpartition(" ")[0], line)
    return list(found.values())


def _shared(blocks: Sequence[LabelBlock], shares: Mapping[str, float]) -> list[float]:
    """Return each holder's share: its processes', once where a pod holds several slices."""
    left = dict(shares)
    return [left.pop(block.pod_uid, 0.0) for block in blocks]
