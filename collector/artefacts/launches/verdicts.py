"""Which rank, host or wish ended a job, by what launchers said and by what its logs show.

A launcher says who ended in the order in which it noticed. It may name a survivor: PaddlePaddle
3.3.1 the rank that lost its peer, DeepSpeed 0.19.8 the process that it started last. Slurm's own
end of a step looks like somebody's wish. So who logged that a peer was gone is no culprit, who was
killed goes before who ended with a code, and what came after the first end is nobody's wish.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ....vocabulary.samples import Event, Scalar
from ..found import UNNAMED_HOST
from .record import FiledReport, LaunchRecord

_ASKED = (-15, -2, -1)
_SIGKILL = 9
_ABORTED = -6
"""What a rank does to itself that lost a peer: watchdogs, JAX and gloo's exceptions end so."""
_KILLED = (-9, -11, -7, -4, -8, None)
"""Ends that are no process's own choice; None: a launcher only saw that it was gone."""
_STOPPED = ("Cancelled", "TimeLimit", "Terminated", "Requeued")
"""Reasons for which a whole job ends, and not the processes of one host."""
_TAKES_HOSTS = ("Evicted", "SpotReclaimed", "NodeShutdown")
"""Reasons for which the processes of one host end, which no line may name."""
_APART_SECONDS = 0.002
"""Ends of one burst of lines: they have an order, and one time."""
_MOST_LOCAL = 16
"""Ranks that one node may have: a job that is no larger may be all on one."""
_LATER_SECONDS = 0.2
"""By how much ranks ended later that were asked to, or whose peer was gone."""
_FOLLOWED = 3


Exits = dict[int, tuple[int | None, FiledReport]]
"""By rank the code by which it ended, negative for a signal, and who said so."""


@dataclass(frozen=True, slots=True)
class KnownRanks:
    """What the logs of ranks say: who is known, who logged a root or a cascade, who is silent."""

    size: int
    ranks: frozenset[int]
    roots: frozenset[int]
    cut: frozenset[int]
    silent: tuple[int, ...]
    faulted: bool
    """Whether any line points at a fault, whosever it is."""
    hung: bool
    """Whether a collective timed out: whoever is killed then was waited for, or waited."""
    hosts: Mapping[int, str]
    kernels: frozenset[str] = frozenset()
    """Hosts that kernel logs name."""
    listed: Mapping[int, tuple[float, int]] = field(default_factory=dict[int, tuple[float, int]])
    """When ranks ended by torchrun's table, and by which signal, 0 for none."""


@dataclass(slots=True)
class LaunchVerdict:
    """What follows: events by rank and host, the hosts of ranks, the lines of the cause."""

    events: list[tuple[int | None, str, Event]] = field(
        default_factory=list[tuple[int | None, str, Event]]
    )
    hosts: dict[int, str] = field(default_factory=dict[int, str])
    roots: dict[tuple[str, int], int | None] = field(
        default_factory=dict[tuple[str, int], int | None]
    )
    missing: list[str] = field(default_factory=list[str])
    raised: int | None = None
    """The rank that an exception without a rank is taken for."""


def settle(record: LaunchRecord, known: KnownRanks, newest: float) -> LaunchVerdict:
    """Return what launchers' reports mean; `newest`: when lines without any time were written."""
    return _VerdictSettlement(record, known, newest).verdict()


class _VerdictSettlement:
    def __init__(self, record: LaunchRecord, known: KnownRanks, newest: float) -> None:
        self._record = record
        self._known = known
        self._newest = newest
        self._per_task = record.per_task(known.size)
        self._pids = {
            pid: rank for rank, (_, pid) in record.places.items() if pid is not None
        }  # fmt: skip
        self._found = LaunchVerdict()
        self._guesses: set[int] = set()
        """Ranks that a launcher names where it may mean any of its own."""

    def verdict(self) -> LaunchVerdict:
        """Return events, hosts and root lines."""
        ends = self._record.of_kind("exit", "oom", "raised", "verdict", "node")
        wish = self._wish(ends)
        self._hosts(ends)
        if wish is not None:
            self._stopped(wish)
        exits = self._exits(ends)
        if wish is not None:
            exits = {rank: end for rank, end in exits.items() if not self._of_wish(end, wish)}
        self._nodes(ends)
        self._memory(ends, exits)
        self._emit(exits, wished=wish is not None)
        if wish is None and not exits:
            self._listed()
            self._nameless(ends)
            self._pending()
        return self._found

    def _nameless(self, ends: Iterable[FiledReport]) -> None:
        """Take an end of nobody known for the cause, where nothing else points at one."""
        said = [
            one for one in ends
            if one.report.form.kind == "exit" and one.report.code not in (0, *_ASKED)
        ]  # fmt: skip
        if said and not self._known.listed:
            self._ended(said[0], "process")

    def _pending(self) -> None:
        """Take it for the cause that a process never got a place, where nothing else is known."""
        came = {one.report.form.name for one in self._record.reports}
        waits = [one for one in self._record.of_kind("pending")
                 if came.isdisjoint(one.report.form.until)]  # fmt: skip
        if waits:
            self._ended(waits[-1], "start")

    def _ended(self, one: FiledReport, what: str) -> None:
        """Take a line that says the end of `what` for the cause, where nothing else is one."""
        if self._found.events or self._known.faulted:
            return
        report = one.report
        pairs: dict[str, Scalar] = {
            "signature": report.form.name, "role": "root", "text": report.text, "ended": what,
        }  # fmt: skip
        host = self._host(one)
        self._found.events.append((None, host, Event("log.fault", self._at(one), pairs)))
        self._found.roots[self._place(one)] = None

    def _listed(self) -> None:
        """Take a lone SIGKILL in torchrun's table for the cause: torchrun itself lived on."""
        listed = self._known.listed
        killed = [rank for rank, (_, signal) in listed.items() if signal == _SIGKILL]
        others = [one for rank, one in listed.items() if rank not in killed]
        if len(killed) != 1 or self._known.roots or self._known.cut:
            return
        if any(-signal not in _ASKED or at < listed[killed[0]][0] for at, signal in others):
            return  # torchrun itself kills what does not heed SIGTERM
        text = f"rank {killed[0]} was ended by SIGKILL while its launcher lived on"
        pairs: dict[str, Scalar] = {
            "signature": "torchrun.worker_failed", "role": "root", "rank": killed[0], "text": text,
        }  # fmt: skip
        event = Event("log.fault", self._newest, pairs)
        self._found.events.append((killed[0], self._host_of(killed[0]), event))

    def _wish(self, ends: list[FiledReport]) -> FiledReport | None:
        """Return what says that somebody wanted the end, where nothing had ended before."""
        first: dict[str, int] = {}
        for one in ends:
            if one.report.code not in _ASKED:
                first.setdefault(one.file, one.report.line)
        wishes = self._record.of_kind("stop")
        asked = [
            one for one in self._record.of_kind("asked")
            if one.report.form.name == "slurm.step_cancelled"
        ]  # fmt: skip
        told = self._told()
        for one in [*wishes, *asked]:
            before = first.get(one.file, one.report.line) < one.report.line
            if not before and not self._known.roots and not (one in asked and told):
                return one
        return None

    def _of_wish(self, end: tuple[int | None, FiledReport], wish: FiledReport) -> bool:
        """Tell whether a rank failed since somebody wanted the end: what follows is no fault."""
        code, one = end
        if code in (*_ASKED, -_SIGKILL, 0):
            return False
        if one.file == wish.file:
            return one.report.line > wish.report.line
        dated = one.report.dated and wish.report.dated
        return dated and self._at(one) >= self._at(wish)

    def _told(self) -> bool:
        """Tell whether Slurm said why it ends a step before: a task failed."""
        return any(one.report.form.name == "slurm.step_ended" for one in self._record.reports)

    def _ranks(self, one: FiledReport) -> list[int]:
        """Return the ranks that a report is about, where each of its numbers is one."""
        report = one.report
        if report.pid in self._pids:
            return [self._pids[report.pid]]
        if report.form.counts == "task" and self._per_task > 1:
            return []
        if report.form.counts == "local" and not self._one_node(one):
            return []
        return list(report.tasks)

    def _one_node(self, one: FiledReport) -> bool:
        """Tell whether local ranks are ranks: one launcher started the whole job."""
        asked = {
            each.report.pid for each in self._record.reports
            if each.file == one.file and each.report.form.kind == "asked" and each.report.pid
        }  # fmt: skip
        return self._known.size <= max(
            len(asked) + 1, *(task + 1 for task in one.report.tasks), 2
        ) or (self._known.size <= _MOST_LOCAL and not asked)

    def _hosts(self, ends: Iterable[FiledReport]) -> None:
        places = {r: host for r, (host, _) in self._record.places.items() if host}
        for one in ends:
            report = one.report
            if not report.host:
                continue
            each = self._per_task if report.form.counts == "task" else 1
            tasks = report.tasks
            if not tasks and report.code is not None and self._alone():
                tasks = (self._first_rank,)
            for task in tasks:
                places.update(dict.fromkeys(range(task * each, (task + 1) * each), report.host))
        self._found.hosts = {r: h for r, h in places.items() if not self._known.hosts.get(r)}

    def _host_of(self, rank: int | None) -> str:
        if rank is None:
            return ""
        return self._known.hosts.get(rank) or self._found.hosts.get(rank, "")

    def _stopped(self, wish: FiledReport) -> None:
        report = wish.report
        pairs: dict[str, Scalar] = {
            "reason": report.form.reason or "Cancelled",
            "text": report.text,
        }
        host = "" if pairs["reason"] in _STOPPED else self._host(wish)
        if not host and pairs["reason"] in _TAKES_HOSTS:
            host = self._only_host() or UNNAMED_HOST
            spare = [rank for rank in sorted(self._known.ranks) if not self._host_of(rank)]
            self._found.hosts.update(dict.fromkeys(spare, host))
        self._found.events.append((None, host, Event("scheduler.event", self._at(wish), pairs)))
        said: dict[str, Scalar] = {
            "signature": report.form.name, "role": "root", "text": report.text,
        }  # fmt: skip
        self._found.events.append((None, host, Event("log.fault", self._at(wish), said)))
        self._found.roots[wish.file, report.line] = None
        if host:  # what a scheduler takes ends by a signal
            for rank in self._on(host):
                self._found.events.append(self._exit(rank, -15, self._at(wish)))

    def _nodes(self, ends: Iterable[FiledReport]) -> None:
        for one in ends:
            report = one.report
            if report.form.kind != "node":
                continue
            host = self._host(one)
            pairs: dict[str, Scalar] = {"reason": report.form.reason, "text": report.text}
            self._found.events.append((None, host, Event("scheduler.event", self._at(one), pairs)))
            self._found.roots[one.file, report.line] = None

    def _memory(self, ends: Iterable[FiledReport], exits: Exits) -> None:
        """Add kills for memory; a host that no line names is the only one, or that of the rank."""
        for one in ends:
            report = one.report
            if report.form.kind != "oom":
                continue
            ranks: list[int | None] = [*self._ranks(one), *self._killed(exits), None]
            for rank in ranks[:1]:
                host = self._host(one) or self._host_of(rank)
                host = host or self._only_host() or UNNAMED_HOST
                if rank is None and not self._on(host):
                    spare = [r for r in sorted(self._known.ranks) if not self._host_of(r)]
                    self._found.hosts.update(dict.fromkeys(spare, host))
                if rank is not None and not self._host_of(rank):
                    self._found.hosts[rank] = host
                pairs: dict[str, Scalar] = {"text": report.text}
                if rank is not None:
                    pairs["rank"] = rank
                event = Event("host.oom_kill", self._at(one), pairs)
                self._found.events.append((rank, host, event))
                self._found.roots[one.file, report.line] = rank
                if not exits:
                    for each in [rank] if rank is not None else self._on(host):
                        self._found.events.append(self._exit(each, -9, self._at(one)))

    def _killed(self, exits: Exits) -> list[int]:
        """Return the rank that SIGKILL ended, or that says nothing, where it is one."""
        killed = [rank for rank, (code, _) in exits.items() if code == -9]
        if len(killed) != 1:
            killed = list(self._known.silent)
        return killed if len(killed) == 1 else []

    def _exits(self, ends: Iterable[FiledReport]) -> Exits:
        """Return by rank how it ended first; a launcher's guess only where nothing says better."""
        exits: Exits = {}
        guesses: list[FiledReport] = []
        unnamed: list[FiledReport] = []
        for one in ends:
            report = one.report
            if report.form.kind == "node":
                continue
            ranks = [rank for rank in self._ranks(one) if rank not in self._known.listed]
            if ranks != self._ranks(one):
                continue
            if report.form.kind == "verdict":
                guesses.append(one)
            elif not ranks and report.form.kind == "exit":
                unnamed.append(one)
            for rank in ranks if report.form.kind != "verdict" else ():
                vague = rank in exits and exits[rank][0] is None
                if rank not in exits or (vague and report.form.kind != "raised"):
                    exits[rank] = (report.code, one)
        listed = exits.keys() | self._known.listed.keys()
        killed = [one for one in unnamed if (one.report.code or 0) < 0]
        if killed and not (guesses or listed) and self._alone():
            exits[self._first_rank] = (killed[0].report.code, killed[0])
        elif guesses or unnamed:
            self._guessed(exits, guesses, unnamed)
        elif listed and listed <= self._known.cut and self._fewer_silent():
            said = [one for _, one in exits.values()][:1]
            exits |= {rank: (None, one) for one in said for rank in self._known.silent}
        return exits

    @property
    def _first_rank(self) -> int:
        return next(iter(self._known.ranks), 0)

    def _alone(self) -> bool:
        """Tell whether nothing says that the job has more ranks than one."""
        return self._known.size <= 1 and len(self._known.ranks) <= 1

    def _fewer_silent(self) -> bool:
        return 0 < len(self._known.silent) <= len(self._known.cut)

    def _guessed(
        self,
        exits: Exits,
        guesses: list[FiledReport],
        unnamed: list[FiledReport],
    ) -> None:
        """Add who ended by reports that name nobody, or perhaps somebody else."""
        first = (guesses or unnamed)[0]
        known = self._known
        own = known.roots or (frozenset(known.silent) if self._fewer_silent() else frozenset())
        named = {rank for one in guesses for rank in self._ranks(one)}
        if known.roots and not (named & known.roots):
            named -= known.cut
        chosen = (own - exits.keys()) if own and not named & own else (named & own or named)
        if own and chosen <= known.cut:
            chosen = own
        asked = self._record.of_kind("asked")
        if not own and len(asked) > 1 and first.report.form.name.startswith("deepspeed."):
            self._guesses |= chosen
            self._found.missing.append(
                "which rank failed: the launcher names the process that it started last, rank "
                + ", ".join(map(str, sorted(chosen)))
            )
        for one in guesses:  # survivors that the launcher named ended too
            for rank in self._ranks(one):
                exits.setdefault(rank, (one.report.code, one))
        for rank in sorted(chosen):
            code = first.report.code
            if code == _ABORTED and rank not in named:
                code = None
            exits.setdefault(rank, (code, first))

    def _emit(self, exits: Exits, *, wished: bool) -> None:
        """Add the ends of ranks: those of one burst of lines share one time, the culprit first."""
        if not exits:
            return
        order = sorted(exits, key=lambda rank: (self._at(exits[rank][1]), self._class(rank, exits)))
        burst, begun = 0, None
        for rank in order:
            code, one = exits[rank]
            at = self._at(one)
            if begun is None or at - begun > _APART_SECONDS:
                begun, burst = at, 0
            later = _LATER_SECONDS if self._class(rank, exits)[0] >= _FOLLOWED else 0.0
            self._found.events.append(self._exit(rank, code, at + later + burst * _APART_SECONDS))
            burst = min(burst + 1, 20)
        killed = [
            rank for rank, (code, _) in exits.items()
            if code in _KILLED and self._class(rank, exits)[0] < _FOLLOWED
        ]  # fmt: skip
        few = 0 < len(killed) < max(self._known.size, len(self._known.ranks), 2)
        first = order[0]
        if not wished and not self._known.hung:
            if few and first in killed and first not in self._guesses:
                self._root(first, exits[first][1])
            elif not self._known.roots and not self._found.roots:
                self._found.roots[self._place(exits[first][1])] = first
                codes = {code for code, _ in exits.values()}
                if codes <= {*_ASKED, -_SIGKILL}:  # no crash: the line stands for itself
                    self._root(first, exits[first][1], alone=True)
        failed = [rank for rank in order if (exits[rank][0] or 0) > 0]
        own = [r for r in failed if r not in self._known.cut and r not in self._guesses]
        if len(self._ranks(exits[first][1])) > 1:
            own = []  # they failed alike
        quoted = any(one.report.form.kind == "raised" for one in self._record.reports)
        self._found.raised = own[0] if own and not killed and not quoted else None

    def _place(self, one: FiledReport) -> tuple[str, int]:
        return one.file, one.report.line

    def _root(self, rank: int, one: FiledReport, *, alone: bool = False) -> None:
        """Add a launcher's line about who was killed as the line of the cause.

        alone: it may be no cause, but is all that is known of the end.
        """
        report = one.report
        if report.form.kind == "verdict" and rank in self._known.cut:
            return
        pairs: dict[str, Scalar] = {
            "signature": report.form.name, "role": "cascade" if alone else "root", "rank": rank,
            "text": report.text,
        }  # fmt: skip
        self._found.events.append(
            (rank, self._host_of(rank), Event("log.fault", self._at(one), pairs))
        )
        self._found.roots[one.file, report.line] = rank

    def _class(self, rank: int, exits: Exits) -> tuple[int, int]:
        """Return how likely a rank is the first of a burst, the lowest most, and its line."""
        code, one = exits[rank]
        if rank in self._known.roots:
            grade = 0
        elif rank in self._known.cut:
            grade = 5
        elif code in _ASKED or self._followed(one, exits):
            grade = 4
        elif code == _ABORTED:
            grade = 3
        else:
            grade = 1 if code is None or code < 0 else 2
        return grade, one.report.line

    def _followed(self, one: FiledReport, exits: Exits) -> bool:
        """Tell whether a launcher had asked what was left to end, since another had ended."""
        lines = [end.report.line for _, end in exits.values() if end.file == one.file]
        asked = [
            each.report.line
            for each in self._record.of_kind("asked", "follows")
            if each.file == one.file and each.report.line > min(lines)
        ]
        return bool(asked) and one.report.line > min(asked)

    def _exit(self, rank: int, code: int | None, at: float) -> tuple[int, str, Event]:
        pairs: dict[str, Scalar] = {"rank": rank}
        if code is not None:
            pairs |= {"signal": -code} if code < 0 else {"exit_code": code}
        return rank, self._host_of(rank), Event("process.exit", at, pairs)

    def _at(self, one: FiledReport) -> float:
        return one.report.at or self._newest

    def _host(self, one: FiledReport) -> str:
        """Return the host that a report is about: a pod's node, the pod where no line says it."""
        named = one.report.host or one.report.pod
        return self._named_host(self._record.nodes.get(named, named))

    def _named_host(self, host: str) -> str:
        """Return a host as ranks' logs spell it: by its short name where they have that one."""
        every = set(self._known.hosts.values()) | set(self._found.hosts.values())
        if host in every:
            return host
        short = [one for one in every if one and one.partition(".")[0] == host.partition(".")[0]]
        return short[0] if host and len(short) == 1 else host

    def _only_host(self) -> str:
        every = {self._host_of(rank) for rank in self._known.ranks} - {""} or self._known.kernels
        return next(iter(every)) if len(every) == 1 else ""

    def _on(self, host: str) -> list[int]:
        return [
            r
            for r in sorted(self._known.ranks | self._found.hosts.keys())
            if self._host_of(r) == host
        ]
