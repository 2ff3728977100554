"""The training processes of this node: which process is which rank of which job."""

import threading
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ..vocabulary.samples import Sample
from . import procfs
from .health import AgentHealth
from .inbox import ReceivedDatagram

_REMEMBER_SECONDS = 60.0
_CLOCKS_SECONDS = 2.0
"""The kernel log's time and a process's start are both counted from the boot, to about a second."""

LAUNCHED = "launched"
"""Origin of what is reported of a process from its launcher's variables alone."""

Key = tuple[str, int]
"""What distinguishes senders: the host's pid; else the address and the pid that they claim."""


@dataclass(slots=True)
class TrainerProcess:
    """One rank's process. `pid` is None where only the process itself reports it.

    `attempt` is None where nobody numbered it; `started_at` is in seconds since the epoch, None
    where the process cannot be seen. `user`: whom the job's GPU time is charged to, "" if unknown.
    `doubt`: why its job and rank are not believed, "" where they are. `sender`: who counts as one
    when the register is full: a user of this host, else an address.
    """

    key: Key
    job: str
    attempt: int | None
    rank: int
    pid: int | None
    container_pid: int | None
    last_received: float
    started_at: float | None = None
    user: str = ""
    doubt: str = ""
    sender: str = ""
    phase: str = ""
    expected: int = 0
    dropped: int = 0
    probed: bool = True
    """Whether it reports itself; else only its launcher's variables say who it is."""


class TrainerRegister:
    """The register of training processes, bounded; readers on other threads see copies."""

    def __init__(
        self,
        *,
        health: AgentHealth,
        capacity: int = 1024,
        started_at: Callable[[int], float | None] = procfs.started_at,
        user_of: Callable[[ReceivedDatagram], str] = lambda _received: "",
        doubt_of: Callable[[ReceivedDatagram], str] = lambda _received: "",
    ) -> None:
        self._health = health
        self._user_of = user_of
        self._doubt_of = doubt_of
        self._started_at = started_at
        self._capacity = capacity
        self._lock = threading.Lock()
        self._known: dict[Key, TrainerProcess] = {}
        self._parents: dict[int, int] = {}
        self._gone: dict[int, tuple[TrainerProcess, float]] = {}

    def receive(
        self, received: ReceivedDatagram, now: float
    ) -> tuple[TrainerProcess, TrainerProcess | None]:
        """Note a datagram; return its sender, and whom the register forgot for it, if any.

        That is, when the register was full, the one silent for longest of the sender that has most,
        or the same process as another rank: a probe may learn its rank only after it began to
        report.
        """
        sent = received.datagram
        key: Key = ("", received.pid) if received.pid else (received.origin, sent.pid)
        with self._lock:
            trainer = self._known.get(key)
            forgotten = trainer
            if trainer is None or (trainer.job, trainer.attempt, trainer.rank) != (
                sent.job,
                sent.attempt,
                sent.rank,
            ):
                if trainer is None and len(self._known) >= self._capacity:
                    forgotten = self._dispensable()
                    del self._known[forgotten.key]
                trainer = TrainerProcess(
                    key=key,
                    job=sent.job,
                    attempt=sent.attempt,
                    rank=sent.rank,
                    pid=received.pid,
                    container_pid=sent.pid if received.pid not in (None, sent.pid) else None,
                    last_received=now,
                    started_at=self._started_at(received.pid) if received.pid else None,
                    user=self._user(received),
                    doubt=self._doubt_of(received),
                    expected=sent.number,
                    dropped=sent.dropped,
                    phase=forgotten.phase if forgotten and forgotten.key == key else "",
                    probed=received.origin != LAUNCHED,
                )
                self._known[key] = trainer
            else:
                forgotten = None
        if received.uid is not None or not trainer.sender:
            trainer.sender = received.origin if received.uid is None else f"user {received.uid}"
        trainer.probed = trainer.probed or received.origin != LAUNCHED
        if sent.number > trainer.expected:
            self._health.count("datagrams_lost", by=sent.number - trainer.expected)
        if sent.dropped > trainer.dropped:
            self._health.count("probe_dropped", by=sent.dropped - trainer.dropped)
        # A smaller number is a datagram overtaken on its way, except 0: a probe attached anew.
        trainer.expected = max(trainer.expected, sent.number + 1) if sent.number else 1
        trainer.dropped = sent.dropped
        trainer.last_received = now
        for event in sent.events:
            if event.name == "training.phase":
                trainer.phase = str(event.attributes.get("phase", ""))
        return trainer, forgotten

    def _dispensable(self) -> TrainerProcess:
        """Return whom to forget: nobody can push out another's processes by naming many."""
        most = Counter(one.sender for one in self._known.values()).most_common(1)[0][0]
        mine = (one for one in self._known.values() if one.sender == most)
        return min(mine, key=lambda one: one.last_received)

    def _user(self, received: ReceivedDatagram) -> str:
        """Return the user of a job: the same for all its processes here, as for one resource."""
        sent = received.datagram
        same = (
            one
            for one in self._known.values()
            if (one.job, one.attempt) == (sent.job, sent.attempt)
        )
        known = next(same, None)
        return self._user_of(received) if known is None else known.user

    def forget(self, trainer: TrainerProcess, now: float) -> None:
        """Take a process out, with the workers it was parent of."""
        with self._lock:
            self._known.pop(trainer.key, None)
            if trainer.pid is not None:
                self._gone.pop(trainer.pid, None)
                self._gone[trainer.pid] = (trainer, now)
                self._gone = {
                    pid: one for pid, one in self._gone.items() if now - one[1] < _REMEMBER_SECONDS
                }
                if len(self._gone) > self._capacity:
                    del self._gone[next(iter(self._gone))]
            for worker in [pid for pid, parent in self._parents.items() if parent == trainer.pid]:
                del self._parents[worker]

    def at(self, pid: object, at: float) -> TrainerProcess | None:
        """Return the training process, or the parent of the worker, that had a pid at a time.

        What is reported of a process's end, such as the kernel's log of an OOM kill, may come up to
        a minute after it. What happened before a process started was about an earlier tenant of
        its pid.
        """
        if not isinstance(pid, int):
            return None
        with self._lock:
            living = self._known.get(("", self._parents.get(pid, pid)))
            if living is not None and _had_started(living, at):
                return living
            ended, ended_at = self._gone.get(pid, (None, 0.0))
            if ended is None or not _had_started(ended, at):
                return None
            return ended if at - ended_at < _REMEMBER_SECONDS else None

    def reports(self, pid: int) -> bool:
        """Return whether the process with a pid of the host's has a probe that reports."""
        with self._lock:
            known = self._known.get(("", pid))
            return known is not None and known.probed

    def silent_since(self, at: float) -> list[TrainerProcess]:
        """Return those without a pid that are silent since a time: nobody sees them exit."""
        with self._lock:
            return [
                one for one in self._known.values() if one.pid is None and one.last_received < at
            ]

    def everyone(self) -> list[TrainerProcess]:
        """Return a list of all that are known now, by rank, newest attempts first."""
        with self._lock:
            return sorted(
                self._known.values(), key=lambda one: (one.job, one.rank, -(one.attempt or 0))
            )

    def adopt(self, parents: Iterable[tuple[int, int]]) -> None:
        """Note all (worker, trainer) pids of now, so that workers' samples go with their job."""
        with self._lock:
            self._parents = dict(parents)

    def owner(self, sample: Sample) -> TrainerProcess | None:
        """Return the training process a sample is about, by its `pid`, or None: the node's own."""
        return self.owner_of(next((v for name, v in sample.attributes if name == "pid"), None))

    def owner_of(self, pid: object) -> TrainerProcess | None:
        """Return the training process with a pid of the host's, or whose worker has it."""
        if not isinstance(pid, int):
            return None
        with self._lock:
            return self._known.get(("", self._parents.get(pid, pid)))

    def __len__(self) -> int:
        return len(self._known)


def _had_started(trainer: TrainerProcess, at: float) -> bool:
    return trainer.started_at is None or at >= trainer.started_at - _CLOCKS_SECONDS
