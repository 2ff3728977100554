"""From a series to its row in a matrix: done once for every new series, whole batches at a time.

All new series of a batch that go to one plane of one attempt are placed together. What a placed
series needs from then on are three numbers: which matrices, which plane, which row.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ...detectors.window import Ints
from ...formats.otlp.columns import SeriesTable
from ...vocabulary import metrics as vocabulary
from ...vocabulary.ids import Job
from ...vocabulary.samples import JOB_USER, Attributes
from . import claims, infos
from .adoption import DeviceAdoption, by_labels, of_devices, unassigned
from .attempt import GroupInfo, JobAttempt, NodePlanes
from .attempts import AttemptRegister
from .attributes import COUNTERS, AttributeColumns, counts, plane_name, variant
from .hosts import HostNumbers
from .placed import IGNORED, LEFT_OUT, NODE, PLACED, SeriesPlacement
from .plane_sets import PlaneSet
from .steps import StepGrid

INFO, GROUP_INFO, NIC_INFO, DEVICE_INFO = (
    "training.rank.info",
    "collective.group.info",
    "hw.network.info",
    "hw.gpu.info",
)
OF_PROCESSES = frozenset({"hw.gpu.process.memory", "hw.gpu.process.utilization"})
"""Metrics that a device has once for each process."""

_SWITCH = "network.switch"
"""Resource attribute that says something of the host itself."""


class SeriesPlacer(SeriesPlacement):
    """Finds out where every series of a table goes."""

    def __init__(self, table: SeriesTable, hosts: HostNumbers, attempts: AttemptRegister) -> None:
        super().__init__()
        self._table = table
        self._hosts = hosts
        self._attempts = attempts
        self.attributes = AttributeColumns(table.attributes)
        self.nodes = NodePlanes()
        self.targets: list[StepGrid | PlaneSet | None] = []
        self._adoption = DeviceAdoption(attempts)
        self._owners: set[int] = set()
        """Numbers of the attempts that have series."""

    @property
    def nbytes(self) -> int:
        """Return how many bytes the arrays take."""
        return super().nbytes + self.attributes.nbytes

    def place_new(self) -> None:
        """Place the series that were added to the table."""
        count = len(self._table)
        first = self.count
        self._fit(count)
        self.place(np.arange(first, count))

    def place(self, series: Ints) -> None:
        """Place series, in order of their appearance; any that were placed before anew."""
        table = self._table
        self.version += 1
        self.attributes.update()
        self.kind[series], self.target[series] = IGNORED, -1
        resources, which = np.unique(table.resource_of[series], return_inverse=True)
        owners = [self._owner(number) for number in resources.tolist()]
        self.host[series] = np.array([host for host, _ in owners], np.int32)[which]
        attempts = np.array([attempt for _, attempt in owners], np.int64)[which]
        self.attempt[series] = attempts
        labelled = [by_labels(table.resources[number]) for number in resources.tolist()]
        self.by_labels[series] = np.array(labelled, np.bool_)[which]
        sets = table.attributes_of[series]
        # One block for each attempt, metric and what is measured; ranks and devices are arrays.
        rests = self.attributes.rest[sets].astype(np.int64)
        metrics = table.metric_of[series].astype(np.int64)
        order = np.lexsort((rests, metrics, attempts))
        changed = np.zeros(len(order), np.bool_)
        for column in (rests, metrics, attempts):
            changed[1:] |= np.diff(column[order]) != 0
        edges = [0, *np.flatnonzero(changed).tolist(), len(order)]
        for begin, end in pairwise(edges if len(order) else []):
            part = order[begin:end]
            number = int(attempts[part[0]])
            if number == LEFT_OUT:
                continue
            attempt = None if number == NODE else self._attempts.numbered[number]
            name = table.metrics[int(metrics[part[0]])]
            rest = self.attributes.rests[int(rests[part[0]])]
            self._block(attempt, name, rest, series[part], sets[part])

    def forget(self, numbers: Sequence[int]) -> NDArray[np.int32]:
        """Forget the series of attempts; return them."""
        numbers = [number for number in numbers if number in self._owners]
        if not numbers:
            return np.zeros(0, np.int32)
        self._owners.difference_update(numbers)
        self._adoption.forget(numbers)
        for number in numbers:
            first = 4 * (number + 1)
            self.targets[first : first + 4] = [None] * len(self.targets[first : first + 4])
        return self.remove(np.isin(self.attempt[: self.count], numbers))

    def forget_hosts(self, hosts: Ints) -> NDArray[np.int32]:
        """Forget the node telemetry of hosts; return its series."""
        if not len(hosts):
            return np.zeros(0, np.int32)
        for host in hosts.tolist():
            self.nodes.forget(host)
        node = self.attempt[: self.count] == NODE
        return self.remove(node & np.isin(self.host[: self.count], hosts))

    def forget_left_out(self) -> NDArray[np.int32]:
        """Forget the series that had no room, so that they are tried again; return them."""
        return self.remove(self.attempt[: self.count] == LEFT_OUT)

    def hosts_of_devices(self) -> set[int]:
        """Return the numbers of hosts whose devices stand in for ranks, now or before."""
        return self._adoption.hosts()

    def _owner(self, number: int) -> tuple[int, int]:
        """Return the numbers of the host and of the attempt that a resource belongs to.

        The attempt is LEFT_OUT where there is no room for its job or host.
        """
        resource = self._table.resources[number]
        host = self._hosts.number(resource.host)
        if host is None:
            return 0, LEFT_OUT
        attempt = NODE
        if resource.job is not None:
            job, cluster = Job(resource.job), resource.cluster
            mine = self._attempts.of(job, resource.attempt, cluster)
            if mine is None:
                return host, LEFT_OUT
            self._owners.add(mine.number_in_windows)
            attempt = mine.number_in_windows
            users = (str(value) for name, value in resource.extra if name == JOB_USER)
            mine.user = next(users, mine.user)
        for name, value in resource.extra:
            if name == _SWITCH and value:
                self._switch(resource.host, attempt, str(value))
        return host, attempt

    def _switch(self, host: str, number: int, name: str) -> None:
        """Note the switch of a host: as it says itself, or as an attempt says it."""
        attempt = None if number == NODE else self._attempts.numbered[number]
        if attempt is None:
            self._hosts.switch(host, name)
        elif attempt.switches.get(host) != name:
            attempt.switches[host] = name
            attempt.version += 1

    def _block(
        self,
        attempt: JobAttempt | None,
        name: str,
        rest: Attributes,
        series: Ints,
        sets: NDArray[np.int32],
    ) -> None:
        metric = vocabulary.catalogue().get(name)
        if metric is None or metric.cadence == "sample":
            return
        ranks = self.attributes.rank[sets].astype(np.int64)
        claimed = self.attributes.claimed[sets] > 0
        if attempt is not None and claimed.any():
            may = ~claimed
            if not attempt.checked or name not in (GROUP_INFO, NIC_INFO, DEVICE_INFO):
                may[claimed] = claims.admitted(attempt, ranks[claimed])
            ranks, series, sets = ranks[may], series[may], sets[may]
            if not len(series):
                return
        if name == DEVICE_INFO:
            held = self._hosts.devices if attempt is None else attempt.devices
            infos.take_devices(held, (self._table[one] for one in series.tolist()))
        if attempt is not None and self.by_labels[series].any():
            ranks = self._adopted(attempt, ranks, series, sets)
            left = self.attempt[series] == NODE
            if left.any():
                self._nodes(self.nodes, NODE, metric, rest, series[left], sets[left])
                ranks, series, sets = ranks[~left], series[~left], sets[~left]
                if not len(series):
                    return
        if attempt is not None:
            fits = attempt.fits(ranks, self._attempts.bounds.ranks)
            if not fits.all():
                self._attempts.notes.add("ranks", attempt.job, int((~fits).sum()))
                ranks, series, sets = ranks[fits], series[fits], sets[fits]
                if not len(series):
                    return
            claimed = (self.attributes.claimed[sets] > 0) & (ranks >= 0)
            if claimed.any():
                claims.note(attempt, attempt.rows(ranks[claimed]))
        if attempt is not None and metric.cadence == "step":
            # A single process that names no rank is rank 0.
            rows = attempt.rows(np.maximum(ranks, 0))
            attempt.placements.move(rows, self._hosts_of(series))
            plane = attempt.grid.plane(plane_name(name, metric, dict(rest)))
            self._claim(attempt.grid, attempt.number_in_windows, plane, rows, series, sets)
            return
        if attempt is None:
            self._nodes(self.nodes, NODE, metric, rest, series, sets)
            return
        named = ranks >= 0
        if named.any():
            rows = attempt.rows(ranks[named])
            attempt.placements.move(rows, self._hosts_of(series[named]))
            if name == INFO:
                self._infos(attempt, rows, sets[named])
        if name in OF_PROCESSES or any(key == "role" for key, _ in rest):
            # A rank has many workers, and a device contexts of many ranks: a row each.
            named &= self.attributes.pid[sets] < 0
        if name == GROUP_INFO:
            for one in series.tolist():
                infos.take_group(
                    attempt, dict(self._table[one].attributes), most=self._attempts.bounds.ranks
                )
            return
        if name == NIC_INFO:
            for one in series.tolist():
                host = self._hosts.names[self.host[one]]
                infos.take_nic(attempt.nics, host, self._table[one].attributes)
            attempt.version += 1
        grouped = self.attributes.group[sets] >= 0
        if (grouped & named).any():
            part = grouped & named
            self._members(attempt, metric, rest, ranks[part], series[part], sets[part])
        ranked = named & ~grouped
        if ranked.any():
            rows = attempt.rows(ranks[ranked])
            plane = attempt.readings.plane(variant(name, rest), counter=counts(metric))
            number = attempt.number_in_windows
            self._claim(attempt.readings, number, plane, rows, series[ranked], sets[ranked])
            attempt.version += 1
        other = ~named & ~grouped
        if other.any():
            number = attempt.number_in_windows
            self._nodes(attempt.nodes, number, metric, rest, series[other], sets[other])
            attempt.version += 1

    def _nodes(
        self,
        nodes: NodePlanes,
        attempt: int,
        metric: vocabulary.ContractMetric,
        rest: Attributes,
        series: Ints,
        sets: NDArray[np.int32],
    ) -> None:
        columns = self.attributes
        if metric.name == NIC_INFO and attempt == NODE:
            for one in series.tolist():
                host = self._hosts.names[self.host[one]]
                held = self._hosts.nics.setdefault(host, {})
                infos.take_nic(held, host, self._table[one].attributes)
            self._hosts.version += 1
        keep = columns.group[sets] < 0
        series, sets = series[keep], sets[keep]
        if not len(series):
            return
        hosts = self.host[series].tolist()
        keys = zip(hosts, columns.pid[sets].tolist(), columns.device[sets].tolist(), strict=True)
        rows = np.array([nodes.row(*key) for key in keys], np.int64)
        ranks = columns.rank[sets]
        for row, rank in zip(rows[ranks >= 0].tolist(), ranks[ranks >= 0].tolist(), strict=True):
            nodes.rank_of[row] = rank
        plane = nodes.planes.plane(variant(metric.name, rest), counter=counts(metric))
        self._claim(nodes.planes, attempt, plane, rows, series, sets)
        for host in set(hosts):
            nodes.touch(host)

    def _members(
        self,
        attempt: JobAttempt,
        metric: vocabulary.ContractMetric,
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
        name = variant(metric.name, rest)
        plane = members.planes.plane(name, counter=tracked or counts(metric), tracked=tracked)
        number = attempt.number_in_windows
        self._claim(members.planes, number, plane, rows, series, sets)
        attempt.version += 1

    def _hosts_of(self, series: Ints) -> Ints:
        """Return the hosts that series report from, -1 where the resource names none."""
        hosts = self.host[series].astype(np.int64)
        nameless = self._hosts.numbers.get("", -1)
        return np.where(hosts == nameless, -1, hosts)

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

    def _adopted(
        self, attempt: JobAttempt, ranks: Ints, series: Ints, sets: NDArray[np.int32]
    ) -> Ints:
        """Return the ranks of series, those included that devices stand in for.

        What a device of no job is not to stand in for becomes node telemetry: an agent reports its
        rank. That of a job stays the job's, whose label anybody may send who may send for the job.
        """
        columns = self.attributes
        which = self.by_labels[series] & of_devices(ranks, columns.pid[sets], columns.device[sets])
        if not which.any():
            return ranks
        places = np.flatnonzero(which)
        hosts = self.host[series[places]].tolist()
        names = [str(columns.pairs[pair][1]) for pair in columns.device[sets[places]].tolist()]
        ranks = ranks.copy()
        ranks[places], taken = self._adoption.ranks(attempt, hosts, names)
        for number, (host, name) in taken:
            mine = np.flatnonzero(
                (self.attempt[: self.count] == number) & (self.host[: self.count] == host)
            )
            pairs = columns.device[self._table.attributes_of[mine]]
            same = [pair >= 0 and columns.pairs[pair][1] == name for pair in pairs.tolist()]
            self.reopen(mine[np.array(same, np.bool_)])
        alone = places[ranks[places] < 0]
        if unassigned(attempt.job) and not attempt.informed:
            self.attempt[series[alone]] = NODE
        return ranks

    def _infos(self, attempt: JobAttempt, rows: Ints, sets: NDArray[np.int32]) -> None:
        if not attempt.informed and self._adoption.release(attempt):
            number = attempt.number_in_windows
            mine = (self.attempt[: self.count] == number) & self.by_labels[: self.count]
            self.reopen(np.flatnonzero(mine))
        claimed = self.attributes.claimed[sets] > 0
        if claims.check(attempt, rows[~claimed]):
            mine = np.flatnonzero(self.attempt[: self.count] == attempt.number_in_windows)
            told = self.attributes.claimed[self._table.attributes_of[mine]] > 0
            self.reopen(mine[told])
        if attempt.checked and claimed.any():
            rows, sets = rows[~claimed], sets[~claimed]
            if not len(rows):
                return
        pairs = self._table.attributes.pairs
        members, sizes = self._table.attributes.members(sets.astype(np.int64))
        ends = np.cumsum(sizes).tolist()
        numbers = members.tolist()
        for row, begin, end in zip(rows.tolist(), [0, *ends[:-1]], ends, strict=True):
            infos.take_info(attempt, row, dict([pairs[number] for number in numbers[begin:end]]))
        attempt.placements.version += 1
        attempt.version += 1
