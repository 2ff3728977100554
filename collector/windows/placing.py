"""From a series to its row in a matrix: done once for every new series, whole batches at a time.

All new series of a batch that go to one plane of one attempt are placed together. What a placed
series needs from then on are three numbers: which matrices, which plane, which row.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...detectors.window import Ints
from ...formats.otlp.columns import SeriesTable
from ...vocabulary import metrics as vocabulary
from ...vocabulary.ids import Job
from ...vocabulary.ranks import Ranks
from ...vocabulary.samples import Attributes, Scalar
from ...vocabulary.topology import Nic
from .attempt import Attempt, GroupInfo, NodeRows
from .attempts import SAME_START_SECONDS, Attempts
from .attributes import AttributeColumns, plane_name, whole
from .hosts import Hosts
from .planes import PlaneSet
from .steps import StepGrid

IGNORED, PLACED, FORGOTTEN = 0, 1, 2

INFO, GROUP_INFO, NIC_INFO = (
    "training.rank.info",
    "collective.group.info",
    "hw.network.info",
)
COUNTERS = ("collective.enqueued", "collective.started", "collective.completed")
"""Sequence numbers: gauges to the sender, and as large as counters; when one last moved matters."""

_LABELS = frozenset({"network.switch"})
"""Resource attributes that say something of the host itself."""

NODE = -1
"""The attempt of a series that belongs to no job."""


class Placing:
    """Where every series of a table goes. Arrays are [series]."""

    def __init__(self, table: SeriesTable, hosts: Hosts, attempts: Attempts) -> None:
        self._table = table
        self._hosts = hosts
        self._attempts = attempts
        self.attributes = AttributeColumns(table.attributes)
        self.nodes = NodeRows()
        self.targets: list[StepGrid | PlaneSet | None] = []
        self.kind = np.zeros(1024, np.int8)
        self.target = np.full(1024, -1, np.int32)
        self.plane = np.zeros(1024, np.int16)
        self.row = np.zeros(1024, np.int32)
        self.host = np.zeros(1024, np.int32)
        self.attempt = np.full(1024, NODE, np.int32)
        self.count = 0
        self._resources: list[tuple[int, str | None]] = []
        """By resource number: host number, job."""

    @property
    def nbytes(self) -> int:
        """Return how many bytes the arrays take."""
        arrays = (self.kind, self.target, self.plane, self.row, self.host, self.attempt)
        return sum(int(one.nbytes) for one in arrays) + self.attributes.nbytes

    def place_new(self) -> None:
        """Place the series that were added to the table."""
        count = len(self._table)
        while count > len(self.kind):
            for name in ("kind", "target", "plane", "row", "host", "attempt"):
                old = getattr(self, name)
                fill = np.full_like(old, -1 if name in ("target", "attempt") else 0)
                setattr(self, name, np.concatenate((old, fill)))
        first, self.count = self.count, count
        self.place(np.arange(first, count))

    def place(self, series: Ints) -> None:
        """Place series, in order of their appearance; any that were placed before anew."""
        table = self._table
        self.attributes.update()
        self.kind[series], self.target[series] = IGNORED, -1
        resources = table.resource_of[series]
        for number in np.unique(resources).tolist():
            mine = series[resources == number]
            host, attempt = self._owner(number)
            self.host[mine] = host
            self.attempt[mine] = NODE if attempt is None else attempt.number_in_windows
            metrics = table.metric_of[mine].astype(np.int64)
            sets = table.attributes_of[mine]
            # One block for each metric and what is measured; ranks and devices are arrays in it.
            rests = self.attributes.rest[sets].astype(np.int64)
            blocks, which = np.unique(metrics * (1 << 32) + rests, return_inverse=True)
            order = np.argsort(which, kind="stable")
            edges = np.searchsorted(which[order], np.arange(len(blocks) + 1))
            for block in range(len(blocks)):
                part = order[edges[block] : edges[block + 1]]
                name = table.metrics[int(blocks[block]) >> 32]
                rest = self.attributes.rests[int(rests[part[0]])]
                self._block(attempt, host, name, rest, mine[part], sets[part])

    def forget(self, numbers: Sequence[int]) -> NDArray[np.int32]:
        """Forget the series of attempts; return them."""
        if not numbers:
            return np.zeros(0, np.int32)
        for number in numbers:
            first = 4 * (number + 1)
            self.targets[first : first + 4] = [None] * len(self.targets[first : first + 4])
        return self._forgotten(np.isin(self.attempt[: self.count], numbers))

    def forget_hosts(self, hosts: Ints) -> NDArray[np.int32]:
        """Forget the node telemetry of hosts; return its series."""
        if not len(hosts):
            return np.zeros(0, np.int32)
        for host in hosts.tolist():
            self.nodes.forget(host)
        node = self.attempt[: self.count] == NODE
        return self._forgotten(node & np.isin(self.host[: self.count], hosts))

    def _forgotten(self, which: NDArray[np.bool_]) -> NDArray[np.int32]:
        gone = np.flatnonzero(which & (self.kind[: self.count] != FORGOTTEN)).astype(np.int32)
        self.kind[gone], self.target[gone] = FORGOTTEN, -1
        return gone

    def reopen(self, series: Ints) -> None:
        """Have series placed again when they next report."""
        self.kind[series], self.target[series] = FORGOTTEN, -1

    def _owner(self, number: int) -> tuple[int, Attempt | None]:
        resource = self._table.resources[number]
        host = self._hosts.number(resource.host)
        attempt = None
        if resource.job is not None:
            attempt = self._attempts.of(Job(resource.job), resource.attempt, resource.cluster)
        for name, value in resource.extra:
            if name in _LABELS:
                self._hosts.label(resource.host, name, value)
        return host, attempt

    def _block(
        self,
        attempt: Attempt | None,
        host: int,
        name: str,
        rest: Attributes,
        series: Ints,
        sets: NDArray[np.int32],
    ) -> None:
        metric = vocabulary.catalogue().get(name)
        if metric is None or metric.cadence == "sample":
            return
        ranks = self.attributes.rank[sets].astype(np.int64)
        if attempt is not None and metric.cadence == "step":
            # A single process that names no rank is rank 0.
            rows = attempt.rows(np.maximum(ranks, 0))
            if self._hosts.names[host]:
                attempt.placements.move(rows, host)
            plane = attempt.grid.plane(plane_name(name, metric, dict(rest)))
            self._claim(attempt.grid, attempt.number_in_windows, plane, rows, series, sets)
            return
        if attempt is None:
            self._nodes(self.nodes, NODE, host, metric, rest, series, sets)
            return
        named = ranks >= 0
        if named.any():
            rows = attempt.rows(ranks[named])
            if self._hosts.names[host]:
                attempt.placements.move(rows, host)
            if name == INFO:
                self._infos(attempt, rows, series[named])
        if name == GROUP_INFO:
            for one in series.tolist():
                _take_group(attempt, dict(self._table[one].attributes))
            return
        if name == NIC_INFO:
            for one in series.tolist():
                _take_nic(attempt.nics, self._hosts.names[host], self._table[one].attributes)
            attempt.version += 1
        grouped = self.attributes.group[sets] >= 0
        if (grouped & named).any():
            part = grouped & named
            self._members(attempt, metric, rest, ranks[part], series[part], sets[part])
        ranked = named & ~grouped
        if ranked.any():
            rows = attempt.rows(ranks[ranked])
            plane = attempt.readings.plane(_variant(name, rest), counter=_counts(metric))
            number = attempt.number_in_windows
            self._claim(attempt.readings, number, plane, rows, series[ranked], sets[ranked])
            attempt.version += 1
        other = ~named & ~grouped
        if other.any():
            number = attempt.number_in_windows
            self._nodes(attempt.nodes, number, host, metric, rest, series[other], sets[other])
            attempt.version += 1

    def _nodes(
        self,
        nodes: NodeRows,
        attempt: int,
        host: int,
        metric: vocabulary.Metric,
        rest: Attributes,
        series: Ints,
        sets: NDArray[np.int32],
    ) -> None:
        columns = self.attributes
        if metric.name == NIC_INFO and attempt == NODE:
            held = self._hosts.nics.setdefault(self._hosts.names[host], {})
            for one in series.tolist():
                _take_nic(held, self._hosts.names[host], self._table[one].attributes)
            self._hosts.version += 1
        keep = columns.group[sets] < 0
        series, sets = series[keep], sets[keep]
        if not len(series):
            return
        pids, devices = columns.pid[sets].tolist(), columns.device[sets].tolist()
        pairs = zip(pids, devices, strict=True)
        rows = np.array([nodes.row(host, pid, device) for pid, device in pairs], np.int64)
        plane = nodes.planes.plane(_variant(metric.name, rest), counter=_counts(metric))
        self._claim(nodes.planes, attempt, plane, rows, series, sets)
        nodes.touch(host)

    def _members(
        self,
        attempt: Attempt,
        metric: vocabulary.Metric,
        rest: Attributes,
        ranks: Ints,
        series: Ints,
        sets: NDArray[np.int32],
    ) -> None:
        members = attempt.members
        pairs = self._table.attributes.pairs
        groups = [str(pairs[pair][1]) for pair in self.attributes.group[sets].tolist()]
        for group in groups:
            if group not in attempt.groups:
                attempt.groups[group] = GroupInfo(group.partition(":")[0])
        rows = np.array(
            [members.row(group, rank) for group, rank in zip(groups, ranks.tolist(), strict=True)],
            np.int64,
        )
        tracked = metric.name in COUNTERS
        name = _variant(metric.name, rest)
        plane = members.planes.plane(name, counter=tracked or _counts(metric), tracked=tracked)
        number = attempt.number_in_windows
        self._claim(members.planes, number, plane, rows, series, sets)
        attempt.version += 1

    def _claim(
        self,
        target: StepGrid | PlaneSet,
        attempt: int,
        plane: int,
        rows: Ints,
        series: Ints,
        sets: NDArray[np.int32],
    ) -> None:
        may, stopped = target.claim(
            plane, rows, self.attributes.source[sets], series.astype(np.int32)
        )
        self.kind[stopped], self.target[stopped] = IGNORED, -1
        mine = series[may]
        self.kind[mine] = PLACED
        self.target[mine] = self._target(target, attempt)
        self.plane[mine], self.row[mine] = plane, rows[may]

    def _target(self, target: StepGrid | PlaneSet, attempt: int) -> int:
        """Return the number of matrices: four for each attempt, the first four for nodes."""
        number = 4 * (attempt + 1)
        if isinstance(target, PlaneSet):
            owner = None if attempt == NODE else self._attempts.numbered[attempt]
            if owner is None or target is owner.nodes.planes:
                number += 3
            else:
                number += 1 if target is owner.readings else 2
        while len(self.targets) <= number:
            self.targets.append(None)
        self.targets[number] = target
        return number

    def _infos(self, attempt: Attempt, rows: Ints, series: Ints) -> None:
        for row, one in zip(rows.tolist(), series.tolist(), strict=True):
            pairs = dict(self._table[one].attributes)
            _take_info(attempt, row, pairs)
        attempt.version += 1


def _variant(name: str, rest: Attributes) -> str:
    """Return a metric's name with the attributes that tell its series apart on one rank or host.

    `hw.gpu.throttle|thermal_hw`, `hw.frequency|sm`, `system.filesystem.utilization|/scratch`; a
    dataloader worker's series get `|dataloader`, a trainer's nothing.
    """
    return "|".join([name, *(str(value) for _, value in rest)])


def _counts(metric: vocabulary.Metric) -> bool:
    return metric.kind == "counter" or metric.name in COUNTERS


def _take_info(attempt: Attempt, row: int, pairs: Mapping[str, Scalar]) -> None:
    placements = attempt.placements
    pid, hw_id = whole(pairs.get("pid")), pairs.get("hw.id")
    started = whole(pairs.get("process.start_time"))
    if started is not None:
        if attempt.derived and started < attempt.started_at - SAME_START_SECONDS < np.inf:
            return  # the process that the attempt took the place of, reported once more
        attempt.started_at = min(attempt.started_at, float(started))
    elif attempt.derived and 0 <= placements.pids[row] != (pid if pid is not None else -1):
        attempt.new_pids.setdefault(row, attempt.last_at)
    for name in ("local_rank", "pid", "dp", "tp", "pp", "ep"):
        column = name if name in ("dp", "tp", "pp", "ep") else f"{name}s"
        placements.set(row, column, whole(pairs.get(name)))
    placements.set(row, "started", started)
    placements.set(row, "pids", pid)
    placements.hw_ids[row] = str(hw_id) if hw_id else None
    placements.version += 1
    attempt.world_size = max(attempt.world_size, whole(pairs.get("world_size")) or 0)


def _take_group(attempt: Attempt, pairs: Mapping[str, Scalar]) -> None:
    name = pairs.get("group")
    if not isinstance(name, str):
        return
    held = attempt.groups.setdefault(name, GroupInfo(name.partition(":")[0]))
    held.kind = str(pairs.get("kind", held.kind))
    held.description = str(pairs.get("desc", ""))
    ranks: Any = pairs.get("ranks")
    if ranks is not None:
        try:
            held.ranks = Ranks.parse(str(ranks))
        except ValueError:
            attempt.malformed_groups += 1
    attempt.version += 1


def _take_nic(held: dict[str, Nic], host: str, attributes: Attributes) -> None:
    pairs = dict(attributes)

    def text(name: str) -> str | None:
        return str(pairs[name]) if pairs.get(name) not in (None, "") else None

    nic = Nic(host, str(pairs.get("device", "")), str(pairs.get("port", "")),
              text("rail"), text("switch"), text("gpu"))  # fmt: skip
    held[nic.id] = nic
