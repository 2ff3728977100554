"""A cluster in memory that jobs run on: nodes break, jobs slow down or stop, actions change it.

What is true is known here, so that whatever was done can be held against it. Time is an argument.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from rankscope.collector.windows.queries import JobSummary
from rankscope.vocabulary.ids import Job

RESTART_SECONDS = 40.0
"""From the end of an attempt to the first step of the next."""
JUST_SECONDS = 90.0
"""A fault that went by itself so lately may still be acted on: nobody can know yet."""
NO_NODE = "no node is free"
STARTING = "it is being started"

Trouble = Literal["", "slow", "stopped"]


@dataclass(slots=True)
class TrialNode:
    """A node; `fault` is what it has, "" nothing. `healed_at`: when its last one went."""

    name: str
    fault: str = ""
    effect: Trouble = ""
    healed_at: float = -1e9
    drained_by: str = ""

    def heal(self, now: float) -> None:
        """Let its fault go, repaired or by itself."""
        self.fault, self.effect, self.healed_at = "", "", now

    def bad(self, now: float) -> bool:
        """Return whether to act on it is right, as far as anybody can know."""
        return bool(self.fault) or now - self.healed_at < JUST_SECONDS


@dataclass(slots=True)
class TrialJob:
    """A job; `stuck` is a fault of its own processes, which a restart mends."""

    name: str
    size: int
    step_seconds: float
    nodes: list[TrialNode] = field(default_factory=list[TrialNode])
    attempt: int = 0
    step: float = 0.0
    stuck: str = ""
    pace: float = 1.0
    """How many times as long as usual its newest steps took; of one that stands, those before."""
    runs_at: float = 0.0
    ended: bool = False
    troubled_at: float = -1e9
    troubles: dict[float, Trouble] = field(default_factory=dict[float, Trouble])
    """What kept it from its usual speed, by time."""
    reasons: dict[float, frozenset[str]] = field(default_factory=dict[float, frozenset[str]])
    """Why, by time: its faulty nodes, its own fault, nodes that it lacks, a start."""

    def trouble(self, now: float) -> Trouble:
        """Return what keeps it from its usual speed."""
        if self.stuck or len(self.nodes) < self.size:
            return "stopped"
        effects = {node.effect for node in self.nodes if node.fault}
        if "stopped" in effects or now < self.runs_at:
            return "stopped"
        return "slow" if "slow" in effects else ""

    def last_moving(self, at: float) -> Trouble:
        """Return what slowed it when it last made steps before that time, "" nothing."""
        moving = [
            when for when, trouble in self.troubles.items() if when < at and trouble != "stopped"
        ]
        return self.troubles[max(moving)] if moving else ""

    def reasons_now(self, now: float) -> frozenset[str]:
        """Return why it is not at its usual speed: names of nodes and faults."""
        found = {node.name for node in self.nodes if node.fault}
        if self.stuck:
            found.add(self.stuck)
        if len(self.nodes) < self.size:
            found.add(NO_NODE)
        elif now < self.runs_at:
            found.add(STARTING)
        return frozenset(found)


@dataclass(frozen=True, slots=True)
class TrialEffect:
    """Something that changed the cluster: drain, restart, resume; by which action.

    `rightly`: something was wrong there, or was so lately that nobody can know yet.
    """

    at: float
    kind: Literal["drain", "restart", "resume"]
    target: str
    action: str
    rightly: bool


class TrialCluster:
    """Nodes, jobs, and every effect that an executor had on them."""

    slow = 1.8

    def __init__(self, chance: random.Random, *, nodes: int, sizes: Sequence[int]) -> None:
        self.nodes = {f"gpu-{number}": TrialNode(f"gpu-{number}") for number in range(nodes)}
        self.jobs = {
            f"job-{number}": TrialJob(f"job-{number}", size, chance.uniform(1.0, 4.0))
            for number, size in enumerate(sizes)
        }
        self.effects: list[TrialEffect] = []
        self.ills: dict[str, list[float]] = {}
        """When each node had a fault, and each job one of its own: every tick of it."""
        for job in self.jobs.values():
            self._place(job, 0.0)

    def advance(self, until: float, seconds: float) -> None:
        """Let jobs train for some seconds, up to a time."""
        for node in self.nodes.values():
            if node.fault:
                self.ills.setdefault(node.name, []).append(until)
        for job in self.jobs.values():
            if job.ended:
                continue
            if len(job.nodes) < job.size:
                self._place(job, until)
            if job.stuck:
                self.ills.setdefault(job.name, []).append(until)
            trouble = job.trouble(until)
            job.troubles[until] = trouble
            job.reasons[until] = job.reasons_now(until)
            if trouble:
                job.troubled_at = until
            if trouble != "stopped":
                job.pace = self.slow if trouble == "slow" else 1.0
                job.step += seconds / (job.step_seconds * job.pace)

    def summaries(self, now: float) -> list[JobSummary]:
        """Return what a collector would know of the jobs."""
        found = []
        for job in self.jobs.values():
            if job.ended:
                continue
            found.append(
                JobSummary(
                    job=Job(job.name),
                    attempt=job.attempt,
                    cluster=None,
                    first_at=0.0,
                    last_at=now,
                    last_received=now,
                    world_size=8 * job.size,
                    hosts=tuple(node.name for node in job.nodes),
                    ranks=8 * job.size,
                    last_step=int(job.step),
                    step_seconds=job.step_seconds * job.pace,
                )
            )
        return found

    def drain(self, name: str, action: str, now: float) -> None:
        """Take a node out: nothing new is placed there."""
        node = self.nodes[name]
        if not node.drained_by:
            node.drained_by = action
            self.effects.append(TrialEffect(now, "drain", name, action, node.bad(now)))

    def resume(self, name: str, action: str, now: float) -> None:
        """Bring back a node that this action drained."""
        node = self.nodes[name]
        if node.drained_by == action:
            node.drained_by = ""
            self.effects.append(TrialEffect(now, "resume", name, action, rightly=True))

    def restart(self, name: str, action: str, now: float) -> None:
        """End a job's attempt and place it anew on nodes that are not drained."""
        job = self.jobs[name]
        rightly = now - job.troubled_at < JUST_SECONDS
        self.effects.append(TrialEffect(now, "restart", name, action, rightly))
        job.nodes, job.attempt, job.stuck = [], job.attempt + 1, ""
        job.step = max(job.step - 20, 0.0)
        self._place(job, now)

    def _place(self, job: TrialJob, now: float) -> None:
        taken = {node.name for other in self.jobs.values() for node in other.nodes}
        free = [
            node
            for node in self.nodes.values()
            if not node.drained_by and node.name not in taken and node.fault != "host.lost"
        ]
        if len(free) >= job.size:
            job.nodes = free[: job.size]
            job.runs_at = now + (RESTART_SECONDS if job.attempt else 0.0)
