"""Restarts of jobs that torchrun started: the agent asks for orders, and ends the ranks at once.

torchrun sees a rank end, ends the others of its host and starts all of them anew in place; before
it kills a rank it waits for up to 30 s, which one that is stopped or waits in a collective takes.
Here they are killed. Only ranks that torchrun started, and that it can start again, are touched:
any others would be gone. Who started after the order was given is left alone, so that it does no
harm to be told again.
"""

import contextlib
import logging
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from .. import procfs
from ..trainers import TrainerProcess
from . import launchers
from .asking import CollectorCallError
from .launchers import TorchLauncher
from .polling import PolledRequests

if TYPE_CHECKING:
    from ..settings import RestartingSettings

_SLACK_SECONDS = 1.0
"""The time of a boot is known in whole seconds."""
_LONGEST = 300
_MOST_REMEMBERED = 1024

_log = logging.getLogger(__name__)


class RestartApi(Protocol):
    """The collector, as far as restarts need it; every call raises CollectorCallError."""

    def launcher_orders(self, host: str) -> Sequence[object]: ...

    def launcher_answer(self, host: str, action: str, *, done: bool, text: str) -> None:
        """Say what was done, or why nothing was."""
        ...


class RefusedRestartError(Exception):
    """Nothing is done; the text says why."""


@dataclass(frozen=True, slots=True)
class LauncherOrder:
    """Ranks of `job` that started before `at` (s since the epoch) are to end.

    `leaves`: their torchrun too, so that the job goes on without this host.
    """

    id: str
    job: str
    leaves: bool
    at: float


class RestartService(PolledRequests):
    """Does what is ordered, once an order."""

    def __init__(
        self,
        settings: "RestartingSettings",
        *,
        host: str,
        collector: RestartApi,
        trainers: Callable[[], Sequence[TrainerProcess]],
        proc: Path = procfs.PROC,
    ) -> None:
        super().__init__("restarting", "orders for restarts", seconds=settings.poll_seconds)
        self._settings = settings
        self._host = host
        self._collector = collector
        self._trainers = trainers
        self._proc = proc
        self._answered: dict[str, tuple[bool, str]] = {}

    def _fetched(self) -> Sequence[object]:
        return self._collector.launcher_orders(self._host)

    def _obey(self, row: object) -> None:
        """Do what is ordered, and answer; what was done before is only answered."""
        order = _order(row)
        if order is None:
            _log.warning("the collector sent an invalid order for a restart")
            return
        if order.id not in self._answered:
            self._answered[order.id] = self._carry_out(order)
            if len(self._answered) > _MOST_REMEMBERED:
                del self._answered[next(iter(self._answered))]
        done, text = self._answered[order.id]
        try:
            self._collector.launcher_answer(self._host, order.id, done=done, text=text[:_LONGEST])
        except CollectorCallError as error:
            _log.warning("the collector did not take an answer (%s): %s", text, error)

    def _carry_out(self, order: LauncherOrder) -> tuple[bool, str]:
        try:
            text = self._ended(order)
        except RefusedRestartError as error:
            _log.warning("an order for job %s is refused: %s", order.job, error)
            return False, str(error)
        _log.warning("by order of action %s: %s", order.id, text)
        return True, text

    def _ended(self, order: LauncherOrder) -> str:
        """End what is to end; return what, in words. Raises RefusedRestartError."""
        allowed = self._settings.jobs
        if allowed and not any(fnmatchcase(order.job, pattern) for pattern in allowed):
            raise RefusedRestartError("this agent ends no ranks of that job (restarting.jobs)")
        ranks = self._ranks(order)
        if not ranks:
            return "no rank of before the order runs here"
        # All are looked at before any is ended: half of a host's ranks is no order.
        found: dict[int, TorchLauncher] = {}
        for rank in ranks:
            launcher = launchers.of(int(rank.pid or 0), proc=self._proc)
            if launcher is None:
                raise RefusedRestartError(f"rank {rank.rank} was not started by torchrun")
            found[launcher.pid] = launcher
        for launcher in found.values():
            if why := launcher.unable(leaves=order.leaves):
                raise RefusedRestartError(why)
        pids = [int(rank.pid or 0) for rank in ranks]
        if order.leaves:
            pids = [*found, *pids]  # it would start them anew
        try:
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):  # it ended meanwhile
                    os.kill(pid, signal.SIGKILL)
        except PermissionError as error:
            raise RefusedRestartError("this agent has no right to end its processes") from error
        names = ", ".join(str(rank.rank) for rank in ranks)
        return f"ended ranks {names}" + (" and their torchrun" if order.leaves else "")

    def _ranks(self, order: LauncherOrder) -> list[TrainerProcess]:
        """Return the processes of the job that are meant, whose pids are still theirs."""
        found = []
        for one in self._trainers():
            if one.job != order.job or one.doubt or one.pid is None or one.started_at is None:
                continue
            started = procfs.started_at(one.pid, self._proc)
            same = started is not None and abs(started - one.started_at) <= _SLACK_SECONDS
            if same and one.started_at < order.at:
                found.append(one)
        return found


def _order(row: object) -> LauncherOrder | None:
    if not isinstance(row, Mapping):
        return None
    identity, job, what, at = (row.get(key) for key in ("id", "job", "what", "at"))
    if not isinstance(identity, str) or not isinstance(job, str) or not identity or not job:
        return None
    if what not in ("restart", "leave") or not isinstance(at, int | float):
        return None
    return LauncherOrder(identity, job, what == "leave", float(at))
