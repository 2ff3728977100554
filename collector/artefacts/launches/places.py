"""Which ranks and hosts the reports of launchers are about, and when.

A report names a rank, a local rank, a process or a scheduler's task: where nothing else says it, a
number is a rank. Hosts are spelled as the logs of ranks spell them.
"""

from collections.abc import Iterable

from ....vocabulary.entities import UNNAMED_HOST
from .known import KnownRanks
from .record import FiledReport, LaunchRecord

_MOST_LOCAL = 16
"""Ranks that one node may have: a job that is no larger may be all on one."""


class LaunchPlaces:
    """Ranks, hosts and times of reports; `newest`: when lines without any time were written."""

    def __init__(
        self,
        record: LaunchRecord,
        known: KnownRanks,
        ends: Iterable[FiledReport],
        newest: float,
    ) -> None:
        self._record = record
        self._known = known
        self._newest = newest
        self._per_task = record.per_task(known.size)
        self._pids = {
            pid: rank for rank, (_, pid) in record.places.items() if pid is not None
        }  # fmt: skip
        self.hosts = self._hosts(ends)
        """By rank the hosts that launchers alone say."""

    def at(self, one: FiledReport) -> float:
        """Return when a report was written, in seconds since the epoch."""
        return one.report.at or self._newest

    def ranks(self, one: FiledReport) -> list[int]:
        """Return the ranks that a report is about, where each of its numbers is one."""
        report = one.report
        if report.pid in self._pids:
            return [self._pids[report.pid]]
        if report.form.counts == "task" and self._per_task > 1:
            return []
        if report.form.counts == "local" and not self._one_node(one):
            return []
        return list(report.tasks)

    @property
    def first_rank(self) -> int:
        """The first rank that anything names, 0 for none."""
        return next(iter(self._known.ranks), 0)

    def alone(self) -> bool:
        """Tell whether nothing says that the job has more ranks than one."""
        return self._known.size <= 1 and len(self._known.ranks) <= 1

    def host_of(self, rank: int | None) -> str:
        """Return the host of a rank, "" where nothing says it."""
        if rank is None:
            return ""
        return self._known.hosts.get(rank) or self.hosts.get(rank, "")

    def host(self, one: FiledReport) -> str:
        """Return the host that a report is about: a pod's node, the pod where no line says it."""
        named = one.report.host or one.report.pod
        return self._spelled(self._record.nodes.get(named, named))

    def likely_host(self) -> str:
        """Return the host of what no line says where it was: the only one there is."""
        named = {self.host_of(rank) for rank in self._known.ranks} - {""}
        every = named or self._known.kernels or self._record.hosts
        return next(iter(every)) if len(every) == 1 else UNNAMED_HOST

    def on(self, host: str) -> list[int]:
        """Return the ranks of a host."""
        ranks = sorted(self._known.ranks | self.hosts.keys())
        return [rank for rank in ranks if self.host_of(rank) == host]

    def place_others(self, host: str) -> None:
        """Take a host for that of every rank that has none."""
        spare = [rank for rank in sorted(self._known.ranks) if not self.host_of(rank)]
        self.hosts.update(dict.fromkeys(spare, host))

    def _one_node(self, one: FiledReport) -> bool:
        """Tell whether local ranks are ranks: one launcher started the whole job."""
        asked = {
            each.report.pid for each in self._record.reports
            if each.file == one.file and each.report.form.kind == "asked" and each.report.pid
        }  # fmt: skip
        return self._known.size <= max(
            len(asked) + 1, *(task + 1 for task in one.report.tasks), 2
        ) or (self._known.size <= _MOST_LOCAL and not asked)

    def _hosts(self, ends: Iterable[FiledReport]) -> dict[int, str]:
        places = {r: host for r, (host, _) in self._record.places.items() if host}
        for one in ends:
            report = one.report
            if not report.host:
                continue
            each = self._per_task if report.form.counts == "task" else 1
            tasks = report.tasks
            if not tasks and report.code is not None and self.alone():
                tasks = (self.first_rank,)
            for task in tasks:
                places.update(dict.fromkeys(range(task * each, (task + 1) * each), report.host))
        return {r: h for r, h in places.items() if not self._known.hosts.get(r)}

    def _spelled(self, host: str) -> str:
        """Return a host as ranks' logs spell it: by its short name where they have that one."""
        every = set(self._known.hosts.values()) | set(self.hosts.values())
        if host in every:
            return host
        short = [one for one in every if one and one.partition(".")[0] == host.partition(".")[0]]
        return short[0] if host and len(short) == 1 else host
