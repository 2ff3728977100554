"""The training processes of this node, known by what they said: who is which rank of which job."""

import threading
from collections.abc import Iterable
from dataclasses import dataclass

from ..vocabulary.samples import Sample
from .health import Health
from .inbox import Received

_REMEMBER_SECONDS = 60.0

Key = tuple[str, int]
"""What tells senders apart: the host's pid; else where words came from, and the pid they claim."""


@dataclass(slots=True)
class Trainer:
    """One rank's process. `pid` is None where only the process itself says what it is."""

    key: Key
    job: str
    attempt: int
    rank: int
    pid: int | None
    container_pid: int | None
    heard_at: float
    phase: str = ""
    expected: int = 0
    dropped: int = 0


class Trainers:
    """The register of training processes, bounded; readers on other threads see copies."""

    def __init__(self, *, health: Health, capacity: int = 1024) -> None:
        self._health = health
        self._capacity = capacity
        self._lock = threading.Lock()
        self._known: dict[Key, Trainer] = {}
        self._parents: dict[int, int] = {}
        self._gone: dict[int, tuple[Trainer, float]] = {}

    def hear(self, received: Received, now: float) -> tuple[Trainer, Trainer | None]:
        """Note a datagram; return its sender, and whom the register forgot for it, if any.

        That is the one silent for longest, when the register was full, or the same process as
        another rank: a probe may learn its rank only after it began to speak.
        """
        said = received.datagram
        attempt = said.attempt or 0  # not numbered by the launcher: as the first
        key: Key = ("", received.pid) if received.pid else (received.origin, said.pid)
        with self._lock:
            trainer = self._known.get(key)
            forgotten = trainer
            if trainer is None or (trainer.job, trainer.attempt, trainer.rank) != (
                said.job,
                attempt,
                said.rank,
            ):
                if trainer is None and len(self._known) >= self._capacity:
                    forgotten = min(self._known.values(), key=lambda one: one.heard_at)
                    del self._known[forgotten.key]
                trainer = Trainer(
                    key=key,
                    job=said.job,
                    attempt=attempt,
                    rank=said.rank,
                    pid=received.pid,
                    container_pid=said.pid if received.pid not in (None, said.pid) else None,
                    heard_at=now,
                    expected=said.number,
                    dropped=said.dropped,
                    phase=forgotten.phase if forgotten and forgotten.key == key else "",
                )
                self._known[key] = trainer
            else:
                forgotten = None
        if said.number > trainer.expected:
            self._health.count("datagrams_lost", by=said.number - trainer.expected)
        if said.dropped > trainer.dropped:
            self._health.count("probe_dropped", by=said.dropped - trainer.dropped)
        # A smaller number is a datagram overtaken on its way, except 0: a probe attached anew.
        trainer.expected = max(trainer.expected, said.number + 1) if said.number else 1
        trainer.dropped = said.dropped
        trainer.heard_at = now
        for event in said.events:
            if event.name == "training.phase":
                trainer.phase = str(event.attributes.get("phase", ""))
        return trainer, forgotten

    def forget(self, trainer: Trainer, now: float) -> None:
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

    def ended(self, pid: object, now: float) -> Trainer | None:
        """Return the training process that had a pid until a minute ago.

        What is said of a process's end, such as the kernel's log of an OOM kill, may come after it.
        """
        with self._lock:
            trainer, at = self._gone.get(pid, (None, 0.0)) if isinstance(pid, int) else (None, 0.0)
            return trainer if now - at < _REMEMBER_SECONDS else None

    def silent_since(self, at: float) -> list[Trainer]:
        """Return those without a pid that were last heard before a time: nobody sees them exit."""
        with self._lock:
            return [one for one in self._known.values() if one.pid is None and one.heard_at < at]

    def everyone(self) -> list[Trainer]:
        """Return a list of all that are known now, by rank, newest attempts first."""
        with self._lock:
            return sorted(self._known.values(), key=lambda one: (one.job, one.rank, -one.attempt))

    def adopt(self, parents: Iterable[tuple[int, int]]) -> None:
        """Note all (worker, trainer) pids of now, so that workers' samples go with their job."""
        with self._lock:
            self._parents = dict(parents)

    def owner(self, sample: Sample) -> Trainer | None:
        """Return the training process a sample is about, by its `pid`, or None: the node's own."""
        return self.owner_of(next((v for name, v in sample.attributes if name == "pid"), None))

    def owner_of(self, pid: object) -> Trainer | None:
        """Return the training process with a pid of the host's, or whose worker has it."""
        if not isinstance(pid, int):
            return None
        with self._lock:
            return self._known.get(("", self._parents.get(pid, pid)))

    def __len__(self) -> int:
        """Return how many are known."""
        return len(self._known)
