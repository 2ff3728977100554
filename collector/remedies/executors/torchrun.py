"""Agents end the ranks of a job on their hosts, and torchrun starts them anew where they ran.

torchrun asks its ranks to end and waits for up to 30 s before it kills them: one that is stopped,
or waits in a collective, hears nothing until then. An agent kills at once, on all hosts of the job
in the same seconds, so that no rank waits for peers that are gone. To go on without a host its
torchrun is ended too: those of the others go on with fewer, where they were started with
`--nnodes=MIN:MAX`. Agents ask for orders; what started after an order was given is left alone, so
that an order may be told again.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from ....vocabulary.clock import Clock
from ....vocabulary.remedies import RemedyKind
from ...settings.actions import ExecutorSettings
from ...store.launcher_orders import LauncherOrderRecord
from .contract import Allowed, RefusedOrderError, RemedyOrder, UnansweredOrderError

ABLE: frozenset[RemedyKind] = frozenset(("restart", "exclude_node"))
TAKEN_SECONDS = 60.0
"""An agent that has not asked by then is away: whatever it would do later nobody wants."""
LEAVES_SECONDS = 20.0
"""So long the action waits for the host that is to be left out: one that is lost never asks, and
the job goes on without it meanwhile."""
ANSWERED_SECONDS = 30.0
"""Beyond that, for an answer on its way."""

JobHosts = Callable[[str], Sequence[str]]
"""Returns the hosts of a job, none where it is not known."""


class AskedLaunchers(Protocol):
    """What is needed of the store."""

    def ask_launchers(self, records: Sequence[LauncherOrderRecord]) -> None:
        """Ask hosts for what was not asked of them yet."""
        ...

    def launcher_orders(self, action: str) -> Sequence[LauncherOrderRecord]:
        """Return what was asked for an action."""
        ...


class TorchrunExecutor:
    """Orders to the agents of a job's hosts."""

    asks_only_what_is_left = True

    def __init__(
        self,
        settings: ExecutorSettings,
        clock: Clock,
        *,
        store: AskedLaunchers,
        hosts_of: JobHosts,
    ) -> None:
        self.kinds: frozenset[RemedyKind] = ABLE & frozenset(settings.actions or ABLE)
        self._clock = clock
        self._store = store
        self._hosts_of = hosts_of

    def look(self, order: RemedyOrder) -> Mapping[str, Any]:
        """Return the job's hosts and the time: ranks that start later are none of this order's."""
        hosts = sorted(self._hosts_of(order.job))
        if not hosts:
            raise UnansweredOrderError(f"no host of job {order.job} is known")
        if order.action == "exclude_node":
            if order.host not in hosts:
                raise RefusedOrderError(f"the job does not run on {order.host}")
            if len(hosts) == 1:
                raise RefusedOrderError(f"the job has no host but {order.host}")
        return {"hosts": hosts, "at": self._clock.now()}

    def carry_out(self, order: RemedyOrder, seen: Mapping[str, Any], allowed: Allowed) -> str:
        """Ask all hosts at once; return what they did once each has answered."""
        asked = self._store.launcher_orders(order.id)
        if not asked:
            allowed()
            self._store.ask_launchers(
                [self._record(order, host, float(seen["at"])) for host in seen["hosts"]]
            )
            asked = self._store.launcher_orders(order.id)
        now = self._clock.now()
        refused = [row for row in asked if row.answer == "refused"]
        late = [row for row in asked if not row.answer and _late(row, now)]
        waiting = [row for row in asked if not row.answer and not _late(row, now)]
        if waiting:
            raise UnansweredOrderError(f"waiting for the agents of {_names(waiting)}")
        if refused:
            raise RefusedOrderError("; ".join(f"{row.host}: {row.text}" for row in refused))
        # A host that is lost has no agent that could end anything, and nothing that runs on.
        if away := [row for row in late if row.what != "leave"]:
            raise RefusedOrderError(f"no agent of {_names(away)} did it (restarting.allowed)")
        return "; ".join(f"{row.host}: {row.text or 'nobody answers there'}" for row in asked)

    def undo(self, order: RemedyOrder, seen: Mapping[str, Any], allowed: Allowed) -> str:  # noqa: ARG002
        """Refuse: an agent starts no torchrun."""
        asked = {row.host: row for row in self._store.launcher_orders(order.id)}
        row = None if order.host is None else asked.get(order.host)
        if row is None or row.answer == "refused" or (row.taken_at is None and self._past(row)):
            return "nothing was done there"
        raise RefusedOrderError(f"start torchrun on {order.host} again: an agent cannot")

    def _past(self, row: LauncherOrderRecord) -> bool:
        return self._clock.now() > row.until

    def _record(self, order: RemedyOrder, host: str, at: float) -> LauncherOrderRecord:
        leaves = order.action == "exclude_node" and host == order.host
        return LauncherOrderRecord(
            action=order.id,
            host=host,
            job=order.job,
            what="leave" if leaves else "restart",
            at=at,
            until=self._clock.now() + TAKEN_SECONDS,
        )


def _names(rows: Sequence[LauncherOrderRecord]) -> str:
    return ", ".join(row.host for row in rows)


def _late(row: LauncherOrderRecord, now: float) -> bool:
    if row.taken_at is not None:
        return now > row.until + ANSWERED_SECONDS
    patience = LEAVES_SECONDS if row.what == "leave" else TAKEN_SECONDS
    return now > row.until - TAKEN_SECONDS + patience
