"""From a series to its row in a matrix: done once for every new series, whole batches at a time.

All new series of a batch that go to one plane of one attempt are placed together. What a placed
series needs from then on are three numbers: which matrices, which plane, which row.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ...detectors.window import Ints
from ...formats.otlp.columns import SeriesTable
from ...vocabulary import metrics as vocabulary
from ...vocabulary.ids import Job
from ...vocabulary.samples import JOB_USER, Attributes
from . import claims, infos
from .adoption import Device, DeviceAdoption, by_labels, of_devices, unassigned
from .attempt import GroupInfo, JobAttempt, NodePlanes
from .attempts import AttemptRegister
from .attributes import COUNTERS, AttributeColumns, counts, plane_name, variant
from .descriptions import DeviceDescriptions
from .hosts import HostNumbers
from .placed import IGNORED, LEFT_OUT, NODE, PLACED, SeriesPlacement
from .plane_sets import PlaneSet
from .steps import StepGrid
from .write_orders import edges

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


@dataclass(frozen=True, slots=True)
class _SeriesBlock:
    """Series of one metric, of one attempt or of nodes: [series], the rank and attributes of each.

    `rest`: what else is measured apart, alike for all of them.
    """

    metric: vocabulary.ContractMetric
    rest: Attributes
    ranks: Ints
    series: Ints
    sets: NDArray[np.int32]

    def only(self, which: NDArray[np.bool_]) -> "_SeriesBlock":
        """Return a part of it."""
        ranks, series, sets = self.ranks[which], self.series[which], self.sets[which]
        return _SeriesBlock(self.metric, self.rest, ranks, series, sets)

    @property
    def apart(self) -> bool:
        """Tell whether its series may have rows of their own, or describe more than a rank."""
        name = self.metric.name
        described = name in (GROUP_INFO, NIC_INFO, DEVICE_INFO) or name in OF_PROCESSES
        return described or any(key == "role" for key, _ in self.rest)

    def plane(self, planes: PlaneSet, *, tracked: bool = False) -> int:
        """Return the number of its plane among others."""
        name, counter = variant(self.metric.name, self.rest), counts(self.metric)
        return planes.plane(name, counter=counter, tracked=tracked)


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
        """Place series that have no place, in order of their appearance."""
        table = self._table
        self.attributes.update()
        self.kind[series] = IGNORED
        resources, which = _numbers(table.resource_of[series])
        owners = [self._owner(number) for number in resources]
        self.host[series] = np.array([host for host, _ in owners], np.int32)[which]
        attempts = np.array([attempt for _, attempt in owners], np.int64)[which]
        labelled = [by_labels(table.resources[number]) for number in resources]
        self.by_labels[series] = np.array(labelled, np.bool_)[which]
        if any(labelled):
            self._reported_as(series, attempts)
        self.attempt[series] = attempts
        # One block for each attempt, metric and what is measured; ranks and devices are arrays.
        for number, blocks in self._blocks(series, attempts):
            attempt = None if number == NODE else self._attempts.numbered[number]
            if attempt is None:
                self._of_nodes(blocks)
            elif blocks and not self._ranked(attempt, blocks):
                for block in blocks:
                    self._of_attempt(attempt, block)

    def _blocks(self, series: Ints, attempts: Ints) -> Iterator[tuple[int, list[_SeriesBlock]]]:
        """Yield the blocks of each attempt, by metric and what is measured."""
        sets = self._table.attributes_of[series]
        measured = self._table.metric_of[series].astype(np.int64) << 32
        measured |= self.attributes.rest[sets]
        order = np.lexsort((measured, attempts))
        series, attempts, sets = series[order], attempts[order], sets[order]
        measured, ranks = measured[order], self.attributes.rank[sets].astype(np.int64)
        ends = edges(attempts)
        for first, last in pairwise(ends if len(series) else []):
            number = int(attempts[first])
            if number == LEFT_OUT:
                continue
            blocks = []
            for begin, end in pairwise(edges(measured[first:last])):
                here = slice(first + begin, first + end)
                metric, rest = divmod(int(measured[here.start]), 1 << 32)
                known = vocabulary.catalogue().get(self._table.metrics[metric])
                if known is not None and known.cadence != "sample":
                    rests = self.attributes.rests[rest]
                    blocks.append(_SeriesBlock(known, rests, ranks[here], series[here], sets[here]))
            yield number, blocks

    def _of_nodes(self, blocks: list[_SeriesBlock]) -> None:
        """Place series that are reported of no job."""
        for block in blocks:
            if block.metric.name == DEVICE_INFO:
                self._devices(self._hosts.devices, block)
            self._nodes(self.nodes, NODE, block)

    def _ranked(self, attempt: JobAttempt, blocks: list[_SeriesBlock]) -> bool:
        """Place blocks at once that are all of ranks on one host; False where they are not.

        So are the reports of agents and probes, and where ranks run is looked up once for all.
        """
        if any(block.apart for block in blocks):
            return False
        columns = self.attributes
        series = np.concatenate([block.series for block in blocks])
        sets = np.concatenate([block.sets for block in blocks])
        ranks = np.concatenate([block.ranks for block in blocks])
        hosts = self._hosts_of(series)
        if (
            int(ranks.min()) < 0
            or len(attempt.placements) + len(ranks) > self._attempts.bounds.ranks
            or np.count_nonzero(columns.claimed[sets])
            or np.count_nonzero(columns.group[sets] >= 0)
            or np.count_nonzero(self.by_labels[series])
            or np.count_nonzero(hosts != hosts[0])
        ):
            return False
        rows = attempt.rows(ranks)
        attempt.placements.move(rows, hosts)
        first = 0
        for block in blocks:
            mine = rows[first : first + len(block.series)]
            first += len(mine)
            if block.metric.cadence == "step":
                self._steps(attempt, mine, block)
                continue
            if block.metric.name == INFO:
                self._infos(attempt, mine, block.sets)
            self._rank_readings(attempt, mine, block)
        return True

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

    def _of_attempt(self, attempt: JobAttempt, block: _SeriesBlock) -> None:
        block = self._admitted(attempt, block)
        if block.metric.name == DEVICE_INFO:
            self._devices(attempt.devices, block)
        block = self._within_bounds(attempt, self._adopted(attempt, block))
        if not len(block.series):
            return
        if block.metric.cadence != "step":
            self._readings(attempt, block)
            return
        # A single process that names no rank is rank 0.
        rows = attempt.rows(np.maximum(block.ranks, 0))
        attempt.placements.move(rows, self._hosts_of(block.series))
        self._steps(attempt, rows, block)

    def _steps(self, attempt: JobAttempt, rows: Ints, block: _SeriesBlock) -> None:
        name = plane_name(block.metric.name, block.metric, dict(block.rest))
        plane = attempt.grid.plane(name)
        self._claim(attempt.grid, attempt.number_in_windows, plane, rows, block)

    def _rank_readings(self, attempt: JobAttempt, rows: Ints, block: _SeriesBlock) -> None:
        plane = block.plane(attempt.readings)
        self._claim(attempt.readings, attempt.number_in_windows, plane, rows, block)
        attempt.version += 1

    def _admitted(self, attempt: JobAttempt, block: _SeriesBlock) -> _SeriesBlock:
        """Return the series whose senders may say so."""
        claimed = self.attributes.claimed[block.sets] > 0
        if not claimed.any():
            return block
        may = ~claimed
        if not attempt.checked or block.metric.name not in (GROUP_INFO, NIC_INFO, DEVICE_INFO):
            may[claimed] = claims.admitted(attempt, block.ranks[claimed])
        return block.only(may)

    def _within_bounds(self, attempt: JobAttempt, block: _SeriesBlock) -> _SeriesBlock:
        """Return the series of ranks that an attempt may have; note the others, and claims."""
        fits = attempt.fits(block.ranks, self._attempts.bounds.ranks)
        if not fits.all():
            self._attempts.notes.add("ranks", attempt.job, int((~fits).sum()))
            block = block.only(fits)
        claimed = (self.attributes.claimed[block.sets] > 0) & (block.ranks >= 0)
        if claimed.any():
            claims.note(attempt, attempt.rows(block.ranks[claimed]))
        return block

    def _readings(self, attempt: JobAttempt, block: _SeriesBlock) -> None:
        """Place series that are no values of a step."""
        name, number = block.metric.name, attempt.number_in_windows
        named = block.ranks >= 0
        if named.any():
            rows = attempt.rows(block.ranks[named])
            attempt.placements.move(rows, self._hosts_of(block.series[named]))
            if name == INFO:
                self._infos(attempt, rows, block.sets[named])
        if name in OF_PROCESSES or any(key == "role" for key, _ in block.rest):
            # A rank has many workers, and a device contexts of many ranks: a row each.
            named &= self.attributes.pid[block.sets] < 0
        if name == GROUP_INFO:
            most = self._attempts.bounds.ranks
            for one in block.series.tolist():
                infos.take_group(attempt, dict(self._table[one].attributes), most=most)
            return
        if name == NIC_INFO:
            for one in block.series.tolist():
                host = self._hosts.names[self.host[one]]
                infos.take_nic(attempt.nics, host, self._table[one].attributes)
            attempt.version += 1
        grouped = self.attributes.group[block.sets] >= 0
        if (grouped & named).any():
            self._members(attempt, block.only(grouped & named))
        if (ranked := named & ~grouped).any():
            part = block.only(ranked)
            self._rank_readings(attempt, attempt.rows(part.ranks), part)
        if (other := ~named & ~grouped).any():
            self._nodes(attempt.nodes, number, block.only(other))
            attempt.version += 1

    def _devices(self, held: DeviceDescriptions, block: _SeriesBlock) -> None:
        infos.take_devices(held, (self._table[one] for one in block.series.tolist()))

    def _nodes(self, nodes: NodePlanes, attempt: int, block: _SeriesBlock) -> None:
        columns = self.attributes
        if block.metric.name == NIC_INFO and attempt == NODE:
            for one in block.series.tolist():
                host = self._hosts.names[self.host[one]]
                held = self._hosts.nics.setdefault(host, {})
                infos.take_nic(held, host, self._table[one].attributes)
            self._hosts.version += 1
        block = block.only(columns.group[block.sets] < 0)
        if not len(block.series):
            return
        hosts = self.host[block.series].tolist()
        pids, devices = columns.pid[block.sets].tolist(), columns.device[block.sets].tolist()
        keys = zip(hosts, pids, devices, strict=True)
        rows = np.array([nodes.row(*key) for key in keys], np.int64)
        ranks = columns.rank[block.sets]
        for row, rank in zip(rows[ranks >= 0].tolist(), ranks[ranks >= 0].tolist(), strict=True):
            nodes.rank_of[row] = rank
        self._claim(nodes.planes, attempt, block.plane(nodes.planes), rows, block)
        for host in set(hosts):
            nodes.touch(host)

    def _members(self, attempt: JobAttempt, block: _SeriesBlock) -> None:
        members = attempt.members
        pairs = self._table.attributes.pairs
        groups = [str(pairs[pair][1]) for pair in self.attributes.group[block.sets].tolist()]
        for group in groups:
            if group not in attempt.groups:
                attempt.groups[group] = GroupInfo(group.partition(":")[0])
        places = zip(groups, block.ranks.tolist(), strict=True)
        rows = np.array([members.row(group, rank) for group, rank in places], np.int64)
        plane = block.plane(members.planes, tracked=block.metric.name in COUNTERS)
        self._claim(members.planes, attempt.number_in_windows, plane, rows, block)
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
        block: _SeriesBlock,
    ) -> None:
        mine = block.series
        sources, numbers = self.attributes.source[block.sets], mine.astype(np.int32)
        may, stopped = target.claim(plane, rows, sources, numbers)
        self._leave(stopped, IGNORED)
        if np.count_nonzero(may) < len(may):
            mine, rows = mine[may], rows[may]
        self.kind[mine] = PLACED
        self.target[mine] = self._target(target, attempt)
        self.plane[mine], self.row[mine] = plane, rows

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

    def _adopted(self, attempt: JobAttempt, block: _SeriesBlock) -> _SeriesBlock:
        """Return series with the ranks that devices stand in for.

        What a device of no job is not to stand in for becomes node telemetry: an agent reports its
        rank. That of a job stays the job's, whose label anybody may send who may send for the job.
        """
        labelled = self.by_labels[block.series]
        if not labelled.any():
            return block
        columns, series, sets = self.attributes, block.series, block.sets
        which = labelled & of_devices(block.ranks, columns.pid[sets], columns.device[sets])
        if which.any():
            block = replace(block, ranks=self._stood_for(attempt, block, np.flatnonzero(which)))
        if (left := self.attempt[series] == NODE).any():
            self._nodes(self.nodes, NODE, block.only(left))
            block = block.only(~left)
        return block

    def _stood_for(self, attempt: JobAttempt, block: _SeriesBlock, places: Ints) -> Ints:
        """Return the ranks of series, those of devices at these places with their ranks."""
        columns, series = self.attributes, block.series
        hosts = self.host[series[places]].tolist()
        pairs_of = columns.device[block.sets[places]].tolist()
        names = [str(columns.pairs[pair][1]) for pair in pairs_of]
        ranks = block.ranks.copy()
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

    def _reported_as(self, series: Ints, attempts: Ints) -> None:
        """Give series of labelled devices to the jobs that agents report their ranks of.

        Of a job that is not known but by such labels nothing is left.
        """
        columns, before = self.attributes, set(attempts[self.by_labels[series]].tolist())
        places: dict[int, dict[Device, list[int]]] = {}
        for place in np.flatnonzero(self.by_labels[series] & (attempts >= 0)).tolist():
            pair = int(columns.device[self._table.attributes_of[series[place]]])
            if pair >= 0:
                device = int(self.host[series[place]]), str(columns.pairs[pair][1])
                of_device = places.setdefault(int(attempts[place]), {})
                of_device.setdefault(device, []).append(place)
        for number, of_device in places.items():
            attempt = self._attempts.numbered[number]
            found = {} if attempt is None else self._adoption.reported_as(attempt, of_device)
            for device, same in found.items():
                attempts[of_device[device]] = same.number_in_windows
        for number in before.difference(attempts.tolist()):
            attempt = self._attempts.numbered[number] if number >= 0 else None
            if attempt is not None and attempt.first_at == np.inf and not attempt.events:
                self._attempts.remove(attempt)
                self._owners.discard(number)

    def _infos(self, attempt: JobAttempt, rows: Ints, sets: NDArray[np.int32]) -> None:
        numbers = self._adoption.names(attempt)
        if not attempt.informed and self._adoption.release(attempt):
            numbers.append(attempt.number_in_windows)
        if numbers:
            given = np.isin(self.attempt[: self.count], numbers) & self.by_labels[: self.count]
            self.reopen(np.flatnonzero(given))
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


def _numbers(values: NDArray[np.int32]) -> tuple[list[int], Ints]:
    """Return the distinct values, ascending, and [values] which of them each is."""
    if len(values) and np.count_nonzero(values == values[0]) == len(values):
        return [int(values[0])], np.zeros(len(values), np.int64)
    numbers, which = np.unique(values, return_inverse=True)
    return numbers.tolist(), which
