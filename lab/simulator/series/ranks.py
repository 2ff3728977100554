"""The periodic series of every rank: placement, progress, collectives, its process."""

import itertools

import numpy as np
from numpy.typing import NDArray

from ....vocabulary.samples import Scalar, TelemetryResource, attributes
from ..placement import SimulatedGroup, device_id
from ..site import SimulatedSite
from ..training import SimulatedAttempt
from . import SimulatedSeries
from .readings import life, ticks, used
from .resources import of_job
from .steps import reporters

Array = NDArray[np.float64]
Whole = NDArray[np.int64]


_KINDS = {"dp": "AllReduce", "tp": "AllReduce", "ep": "AllGather", "other": "AllReduce"}
"""What a group's operations are, in the names of NCCL RAS (all-to-all counts as point-to-point)."""


class PeriodicRankSeries:
    """The periodic series of one attempt, rank after rank."""

    def __init__(self, attempt: SimulatedAttempt, site: SimulatedSite) -> None:
        self._attempt = attempt
        self._cluster, self._reporting = site.cluster, site.reporting
        self._seconds, self._phases = site.seconds, site.phases
        self._conditions = site.conditions
        self._random = np.random.default_rng([site.seed, 12, attempt.number])
        self._found: list[SimulatedSeries] = []
        steps = attempt.steps
        world = attempt.seats.world
        self._end = np.stack(steps.end) if steps.end else np.empty((0, world))
        start = list(steps.start)
        rows = zip(steps.data, steps.compute, steps.gc, steps.pause, strict=True)
        own = [data + compute + gc - pause for data, compute, gc, pause in rows]
        limit = [np.ones(world)] * len(start)
        stop, pause = list(steps.stop), list(steps.pause)
        if attempt.unfinished is not None:
            start.append(attempt.unfinished.start)
            own.append(attempt.unfinished.own)
            limit.append(attempt.unfinished.limit)
            stop.append(np.ones(world))
            pause.append(np.zeros(world))
        # A device gets no further than the slowest of its model replica, however far its host is.
        self._reach = np.ones(world)
        if attempt.unfinished is not None:
            np.minimum.at(self._reach, attempt.seats.dp, attempt.unfinished.limit)
        self._reach = self._reach[attempt.seats.dp]
        self._start = np.stack(start) if start else np.empty((0, world))
        self._own = np.stack(own) if own else np.empty((0, world))
        self._limit = np.stack(limit) if limit else np.empty((0, world))
        self._stop = np.stack(stop) if stop else np.empty((0, world))
        self._pause = np.stack(pause) if pause else np.empty((0, world))

    def series(self) -> list[SimulatedSeries]:
        seats = self._attempt.seats
        for rank in range(seats.world):
            host = int(seats.host[rank])
            begin, end = life(self._attempt, rank, self._seconds)
            at = ticks(begin + 2.0, end, self._reporting.rank, float(self._phases[host]))
            if len(at):
                resource = of_job(self._attempt, host, self._cluster.name)
                self._placement(rank, host, resource, at)
                self._process(rank, host, resource, at)
                self._statistics(rank, host, resource, at)
        self._collectives()
        return self._found

    def _add(
        self,
        host: int,
        resource: TelemetryResource,
        metric: str,
        at: Array,
        value: Array,
        **pairs: Scalar | None,
    ) -> None:
        if self._reporting.shows(metric) and len(at):
            self._found.append(
                SimulatedSeries(host, resource, metric, attributes(pairs), at, value)
            )

    def _placement(self, rank: int, host: int, resource: TelemetryResource, at: Array) -> None:
        seats, job = self._attempt.seats, self._attempt.job
        parallel = job.tp * job.pp * job.ep > 1
        device = device_id(host, int(seats.place[rank])) if self._cluster.gpus else None
        self._add(
            host,
            resource,
            "training.rank.info",
            at,
            np.ones(len(at)),
            rank=rank,
            local_rank=int(seats.local[rank]),
            world_size=seats.world,
            pid=int(seats.pid[rank]),
            framework=job.framework,
            ep=int(seats.ep[rank]) if job.ep > 1 else None,
            dp=int(seats.dp[rank]) if parallel else None,
            tp=int(seats.tp[rank]) if parallel else None,
            pp=int(seats.pp[rank]) if parallel else None,
            **{"hw.id": device},
        )
        ends = self._end[:, rank]
        done = np.searchsorted(ends, at, side="right")
        last = np.where(done > 0, ends[np.maximum(done - 1, 0)] if len(ends) else 0.0, 0.0)
        last = np.where(done > 0, last, self._attempt.born + 1.0)
        if job.reported_by == "probe" and rank in reporters(job, seats.world):
            self._add(host, resource, "training.progress.age", at, at - last, rank=rank)

    def _process(self, rank: int, host: int, resource: TelemetryResource, at: Array) -> None:
        seats, random = self._attempt.seats, self._random
        segments = self._attempt.segments
        edges = np.array([row[rank] for row in segments.edge])
        cpu = used(edges, np.array([row[rank] for row in segments.cpu]), at)
        before = used(
            edges, np.array([row[rank] for row in segments.cpu]), at - self._reporting.rank
        )
        wait = used(edges, np.array([row[rank] for row in segments.wait]), at)
        throttled = np.array([row[rank] for row in segments.throttled])
        pid = int(seats.pid[rank])
        who: dict[str, Scalar] = {"rank": rank, "pid": pid, "role": "trainer"}
        share = np.maximum((cpu - before) / self._reporting.rank, 0)
        share = share * random.uniform(0.98, 1.02, len(at))
        self._add(host, resource, "process.cpu.utilization", at, share, **who)
        self._add(host, resource, "process.cpu.wait", at, wait, **who)
        held_back = used(edges, throttled, at)
        self._add(host, resource, "container.cpu.throttled", at, held_back, rank=rank, pid=pid)
        slot, workers = int(seats.slot[rank]), self._attempt.job.workers
        # Workers that cannot keep up with their rank are never idle.
        slow = [workers and self._slow(slot, float(moment)) for moment in at]
        for worker in range(workers):
            child: dict[str, Scalar] = {"rank": rank, "pid": pid + 1 + worker, "role": "dataloader"}
            busy = np.where(slow, 0.97, random.uniform(0.1, 0.35, len(at)))
            self._add(host, resource, "process.cpu.utilization", at, busy, **child)

    def _slow(self, slot: int, at: float) -> bool:
        return bool(self._conditions(at).training.data_extra[slot] > 0)

    def _statistics(self, rank: int, host: int, resource: TelemetryResource, at: Array) -> None:
        """Add what a collective library reports per interval: count, median and longest."""
        if not self._reporting.collective_statistics or not len(self._end):
            return
        own = [group for group in self._attempt.seats.groups if rank in group.members]
        done = np.searchsorted(self._end[:, rank], at, side="right")
        comm = np.array([row[rank] for row in self._attempt.steps.comm])
        for group in own:
            if group.kind != "dp":
                continue
            ops = len(group.places)
            # The last bucket carries the wait for the slowest; the others ran beneath backward.
            rows = [
                (moment, comm[first:last], (last - first) * ops)
                for moment, first, last in zip(at[1:], done[:-1], done[1:], strict=True)
                if last > first
            ]
            if not rows:
                continue
            when = np.array([row[0] for row in rows])
            who: dict[str, Scalar] = {"rank": rank, "group": group.name, "op": "all_reduce"}
            count = np.array([float(row[2]) for row in rows])
            median = np.array([float(np.median(row[1])) for row in rows])
            longest = np.array([float(row[1].max()) for row in rows])
            self._add(host, resource, "collective.count", when, count, **who)
            self._add(host, resource, "collective.duration", when, median, **who)
            self._add(host, resource, "collective.duration.max", when, longest, **who)
            self._add(host, resource, "collective.size", when, count * 25e6, **who)

    def _collectives(self) -> None:
        """Add the counters of every group, and its description by its lowest rank."""
        seats = self._attempt.seats
        if not len(self._start):
            return
        for group in seats.groups:
            self._describe(group, int(group.members[0]))
            hosts = seats.host[group.members]
            for host in np.unique(hosts).tolist():
                self._count(group, host, np.flatnonzero(hosts == host))

    def _describe(self, group: SimulatedGroup, lowest: int) -> None:
        host = int(self._attempt.seats.host[lowest])
        begin, end = life(self._attempt, lowest, self._seconds)
        at = ticks(begin + 2.0, end, 600.0, begin + 2.0)
        self._add(
            host,
            of_job(self._attempt, host, self._cluster.name),
            "collective.group.info",
            at,
            np.ones(len(at)),
            group=group.name,
            kind=group.kind,
            desc=group.desc,
            size=len(group.members),
            ranks=written(group.members.tolist()),
        )

    def _count(self, group: SimulatedGroup, host: int, columns: Whole) -> None:
        """Add what the ranks of a host have launched, and completed, at the host's readings."""
        attempt, every = self._attempt, self._reporting.rank
        number, unfinished = len(group.places), attempt.unfinished
        at = ticks(attempt.born + 2.0, self._seconds, every, float(self._phases[host]))
        if not len(at):
            return
        step, part = self._progress(at, group.members)
        # An operation is launched when the rank gets there, and done when all members were there;
        # the last of a data-parallel group only when the reduction ends.
        passed = (group.places[None, None, :] <= part[:, :, None]).sum(axis=2)
        last = len(attempt.steps.sync)
        launched = unfinished.launched.get(group.name) if unfinished is not None else None
        if launched is not None:
            passed = np.where(step == last, np.minimum(passed, launched), passed)
        reach = np.where(step == last, np.minimum(part, self._reach[group.members]), part)
        reached = (group.places[None, None, :] <= reach[:, :, None]).sum(axis=2)
        reached = np.minimum(passed, reached)
        met = (step * number + reached).min(axis=1)
        if group.kind in ("dp", "other"):
            done = np.array([row[group.members].max() for row in attempt.steps.done])
            elsewhere = unfinished is not None and unfinished.why == "mismatch"
            sync = np.append(done, -np.inf if elsewhere else np.inf)
            waiting = (reached.min(axis=1) == number) & (
                sync[np.minimum(step.min(axis=1), len(sync) - 1)] > at
            )
            met = np.where(waiting, met - 1, met)
        completed = met
        if unfinished is not None and group.name in unfinished.completed:
            most = last * number + unfinished.completed[group.name]
            completed = np.minimum(completed, most)
        resource = of_job(attempt, host, self._cluster.name)
        for column in columns.tolist():
            rank = int(group.members[column])
            enqueued = step[:, column] * number + passed[:, column]
            stood = unfinished if launched is None else None
            if stood is not None and (stood.limit[rank] >= 1 or stood.stalled[rank]):
                # The host runs ahead of a device that waits: it launches the rest of the step.
                ahead = (step[:, column] == len(attempt.steps.sync)) & (part[:, column] > 0.5)
                enqueued = np.where(ahead, (step[:, column] + 1) * number, enqueued)
            begin, end = life(attempt, rank, self._seconds)
            alive = (at >= begin) & (at < end)
            own = np.minimum(enqueued, completed)
            if stood is not None and stood.stalled[rank]:
                # Its own part of the last operation is among what its device does not finish.
                stands = (step[:, column] == last) & (own > 0)
                own = np.where(stands & (at > stood.start[rank]), own - 1, own)
            counted = {
                "enqueued": enqueued,
                "started": np.minimum(enqueued, completed + 1),
                "completed": own,
            }
            for name, value in counted.items():
                shown = value[alive].astype(float)
                metric = f"collective.{name}"
                self._add(host, resource, metric, at[alive], shown, rank=rank, group=group.name)
            if self._reporting.launch_counts and group.kind != "pp":
                self._launches(group, rank, host, at[alive], enqueued[alive])

    def _launches(
        self, group: SimulatedGroup, rank: int, host: int, at: Array, enqueued: Whole
    ) -> None:
        """Add the library's own counts per kind of operation, as NCCL RAS gives them."""
        attempt, stood = self._attempt, self._attempt.unfinished
        op, other = _KINDS.get(group.kind, "AllReduce"), np.zeros(len(at))
        if stood is not None and stood.why == "mismatch" and rank in stood.culprits:
            first = len(attempt.steps.sync) * len(group.places) + stood.completed.get(
                group.name, len(group.places)
            )
            other = (enqueued > first).astype(float)
        counts = {op: enqueued - other}
        if other.any():
            counts["Broadcast"] = other
        resource = of_job(attempt, host, self._cluster.name)
        for kind, value in counts.items():
            self._add(
                host,
                resource,
                "collective.launches",
                at,
                value.astype(float),
                rank=rank,
                group=group.name,
                op=kind,
                source="ras",
            )

    def _progress(self, at: Array, members: Whole) -> tuple[Whole, Array]:
        """Return, per moment and member, the finished steps and the part of its own work done."""
        steps = np.empty((len(at), len(members)), dtype=np.int64)
        parts = np.empty((len(at), len(members)))
        for column, rank in enumerate(members.tolist()):
            done = np.searchsorted(self._end[:, rank], at, side="right")
            row = np.minimum(done, len(self._start) - 1)
            spent, own = at - self._start[row, rank], self._own[row, rank]
            stood = np.clip(spent - self._stop[row, rank] * own, 0, self._pause[row, rank])
            part = (spent - stood) / own
            part = np.clip(part, 0, self._limit[row, rank])
            steps[:, column] = done
            parts[:, column] = np.where(done < len(self._start), part, 0.0)
        return steps, parts


def written(ranks: list[int]) -> str:
    """Return ranks as documents write them: "0,1,5", or "0-1016:8" for an even stride."""
    gaps = {b - a for a, b in itertools.pairwise(ranks)}
    if len(ranks) > 2 and len(gaps) == 1:
        stride = gaps.pop()
        return f"{ranks[0]}-{ranks[-1]}" + ("" if stride == 1 else f":{stride}")
    return ",".join(map(str, ranks))
