"""What is said of an attempt as events: phases, non-finite values, ends of processes, logs."""

from dataclasses import dataclass

import numpy as np

from ...vocabulary.samples import Event, Scalar
from .faults import SimulatedFault
from .series.resources import of_job, of_node
from .shape import ReportingHabits, SimulatedCluster
from .training import SimulatedAttempt

_STACKS_AFTER_SECONDS = 30.0
_WAITING = "all_reduce (torch/distributed/distributed_c10d.py:2810); backward (train.py:212)"
_STOPPED = (
    "acquire (threading.py:1000); get (queue.py:171); log (tracker.py:88); step (train.py:230)"
)
_FINISHED = "barrier (torch/distributed/distributed_c10d.py:4180); main (train.py:290)"


@dataclass(frozen=True, slots=True)
class TimedEvent:
    """An event, by true times in seconds: when it happened, when its host sends it."""

    host: int
    at: float
    sent: float
    event: Event


class TimedEvents:
    """Collects the events of a recording; `Event.at` is set when the host's clock is known."""

    def __init__(self, *, cluster: SimulatedCluster, reporting: ReportingHabits, seed: int) -> None:
        """Start with none."""
        self._cluster, self._reporting = cluster, reporting
        self._random = np.random.default_rng([seed, 15])
        self.found: list[TimedEvent] = []

    def of(self, attempt: SimulatedAttempt) -> None:
        self._phases(attempt)
        self._numerics(attempt)
        self._ends(attempt)
        self._stacks(attempt)

    def of_fault(self, fault: SimulatedFault, attempt: SimulatedAttempt) -> None:
        """Add what a fault itself makes others report: a deployment, a line of a log."""
        said = getattr(fault, "said", None)
        if said is None:
            return
        for at, name, pairs in said(attempt):
            rank = pairs.get("rank", 0)
            host = int(attempt.seats.host[rank])
            self._say(attempt, host, name, at, 0.5, **pairs)

    def _say(
        self,
        attempt: SimulatedAttempt,
        host: int,
        name: str,
        at: float,
        delay: float = 0.1,
        *,
        node: bool = False,
        **pairs: Scalar | None,
    ) -> None:
        if not self._reporting.shows(name):
            return
        cluster = self._cluster.name
        resource = of_node(host, cluster) if node else of_job(attempt, host, cluster)
        known = {key: value for key, value in pairs.items() if value is not None}
        sent = at + delay * float(self._random.uniform(0.3, 1.5))
        self.found.append(TimedEvent(host, at, sent, Event(name, at, known, resource)))

    def _phases(self, attempt: SimulatedAttempt) -> None:
        before = np.full(attempt.seats.world, -np.inf)
        for at, phase, step in attempt.phases:
            by_rank = np.broadcast_to(at, attempt.seats.world)
            for rank in range(attempt.seats.world):
                # One process after the other, but each in order.
                own = float(by_rank[rank]) + float(self._random.uniform(0, 0.02))
                moment = max(own, float(before[rank]) + 1e-4)
                before[rank] = moment
                if moment < attempt.died[rank]:
                    host = int(attempt.seats.host[rank])
                    self._say(
                        attempt, host, "training.phase", moment, rank=rank, phase=phase, step=step
                    )

        for at, rank, phase, step in attempt.own_phases:
            if attempt.job.announces:
                host = int(attempt.seats.host[rank])
                self._say(attempt, host, "training.phase", at, rank=rank, phase=phase, step=step)

    def _stacks(self, attempt: SimulatedAttempt) -> None:
        """Add the stacks that the agents take of processes that make no progress."""
        stood = attempt.unfinished
        if not self._reporting.stacks or stood is None:
            return
        at = float(stood.start.max()) + _STACKS_AFTER_SECONDS
        for rank in range(attempt.seats.world):
            if at >= attempt.died[rank]:
                continue
            host, pid = int(attempt.seats.host[rank]), int(attempt.seats.pid[rank])
            text = _WAITING
            if stood.why == "leaves" and rank in stood.culprits:
                text = _FINISHED
            elif stood.limit[rank] < 1:
                text = _STOPPED
            self._say(attempt, host, "process.stack", at, 2.0, rank=rank, pid=pid, text=text)

    def _numerics(self, attempt: SimulatedAttempt) -> None:
        """Say each rank's first non-finite value of each kind, when the step ends."""
        valid: set[tuple[int, str]] = set()
        for row, (step, values) in enumerate(
            zip(attempt.steps.index, attempt.steps.values, strict=True)
        ):
            if not values.bad_reduced:
                continue
            for rank in range(attempt.seats.world):
                kinds = []
                if values.bad_loss[rank]:
                    kinds.append("loss")
                if values.bad_local[rank]:
                    kinds.append("grad_local")
                kinds.append("grad_reduced")
                for what in kinds:
                    if (rank, what) in valid:
                        continue
                    valid.add((rank, what))
                    self._say(
                        attempt,
                        int(attempt.seats.host[rank]),
                        "training.numeric",
                        float(attempt.steps.end[row][rank]),
                        rank=rank,
                        step=step,
                        what=what,
                        value="NaN",
                    )

    def _ends(self, attempt: SimulatedAttempt) -> None:
        for rank, death in sorted(attempt.deaths.items()):
            host, pid = int(attempt.seats.host[rank]), int(attempt.seats.pid[rank])
            known = attempt.job.exit_codes_known
            self._say(
                attempt,
                host,
                "process.exit",
                death.at,
                0.7,
                rank=rank,
                pid=pid,
                exit_code=death.exit_code if known else None,
                signal=death.signal if known else None,
            )
            if death.signature:
                self._say(
                    attempt,
                    host,
                    "log.fault",
                    death.at - 0.05,
                    1.0,
                    rank=rank,
                    signature=death.signature,
                    role=death.role,
                    text=death.text,
                )
            if death.oom and death.worker is not None:
                pid += 1 + death.worker
            if death.oom:
                self._say(
                    attempt,
                    host,
                    "host.oom_kill",
                    death.at,
                    1.0,
                    node=True,
                    rank=rank,
                    pid=pid,
                    cgroup="/kubepods/pod-train",
                )
