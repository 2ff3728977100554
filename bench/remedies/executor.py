"""An executor over the cluster in memory: what it changes is real, its answers are unreliable."""

import random
from collections import Counter
from collections.abc import Mapping
from typing import Any

from rankscope.collector.remedies.executors.contract import (
    Allowed,
    RefusedOrderError,
    RemedyOrder,
    UnansweredOrderError,
)
from rankscope.vocabulary.remedies import RemedyKind

from .cluster import TrialCluster
from .kills import KillSwitch


class TrialExecutor:
    """Does what the contract of executors promises; now and then late, away, or lying."""

    kinds: frozenset[RemedyKind] = frozenset(("restart", "exclude_node", "requeue"))
    asks_only_what_is_left = True

    def __init__(
        self, cluster: TrialCluster, kills: KillSwitch, chance: random.Random, *, faulty: float,
        lying: float = 0.0,
    ) -> None:  # fmt: skip
        self.now = 0.0
        self._cluster = cluster
        self._kills = kills
        self._chance = chance
        self._faulty = faulty
        self._lying = lying
        self.lied: set[str] = set()
        self.answers: Counter[str] = Counter()

    def look(self, order: RemedyOrder) -> Mapping[str, Any]:
        """Return the job's attempt, None where it has ended."""
        self._kills.point("before looking")
        if self._chance.random() < self._faulty:
            self.answers["away"] += 1
            raise UnansweredOrderError("503")
        job = self._cluster.jobs[order.job]
        if order.action != "exclude_node" and job.ended:
            raise RefusedOrderError("the job has ended")
        return {"attempt": None if job.ended else job.attempt}

    def carry_out(self, order: RemedyOrder, seen: Mapping[str, Any], allowed: Allowed) -> str:
        """Drain, then restart, each where that is not done."""
        self._unreliable()
        if self._chance.random() < self._lying:
            self.lied.add(order.id)
            return "done"
        if order.action == "exclude_node":
            assert order.host is not None  # noqa: S101  what such an order has
            if not self._cluster.nodes[order.host].drained_by:
                allowed()
                self._kills.point("before a drain")
                self._cluster.drain(order.host, order.id, self.now)
                self._kills.point("after a drain")
            if self._chance.random() < self._faulty:
                self.answers["late"] += 1
                raise UnansweredOrderError("no answer in 15 s, though it was drained")
        job = self._cluster.jobs[order.job]
        if not job.ended and job.attempt == seen["attempt"]:
            allowed()
            self._kills.point("before a restart")
            self._cluster.restart(order.job, order.id, self.now)
            self._kills.point("after a restart")
        if self._chance.random() < self._faulty:
            self.answers["late"] += 1
            raise UnansweredOrderError("no answer in 15 s, though it was restarted")
        return "done"

    def undo(self, order: RemedyOrder, seen: Mapping[str, Any], allowed: Allowed) -> str:  # noqa: ARG002
        """Bring the node back."""
        if self._chance.random() < self._faulty:
            raise UnansweredOrderError("503")
        assert order.host is not None  # noqa: S101  what such an order has
        allowed()
        self._kills.point("before a resume")
        self._cluster.resume(order.host, order.id, self.now)
        self._kills.point("after a resume")
        return "it is back"

    def _unreliable(self) -> None:
        draw = self._chance.random()
        if draw < self._faulty:
            self.answers["away"] += 1
            raise UnansweredOrderError("503")
        if draw < 1.2 * self._faulty:
            self.answers["refused"] += 1
            raise RefusedOrderError("not by me")
