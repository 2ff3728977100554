"""NCCL RAS: how many collectives every rank of a job launched, and which ranks do not answer.

Any one process of a job answers for all of it, so one agent asks: that of the node with rank 0. It
sees a process that does not come, not a device that does not finish.
"""

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ...formats.nccl import ras
from ..background import BackgroundReader
from ..collectives import ras_client
from ..collectives.placed import placed
from ..collectives.ras_client import DEFAULT_ADDRESS, RasUnavailableError
from ..collectives.ras_report import RasHistory
from ..health import AgentHealth
from ..rank_processes import Attempt, RankProcess, RankProcesses
from ..training_logs import LogBatch

if TYPE_CHECKING:
    from ..settings import RasSettings

_LOOPBACK = frozenset({"", "localhost", "127.0.0.1", "::1", "0.0.0.0", "::"})  # noqa: S104  compared
_SHARE = 20.0
"""A twentieth of the time at most is spent asking: the service asks all processes of the job."""
_MOST_ADDRESSES = 16
_ABSENT_SECONDS = 60.0


class NcclRas(BackgroundReader):
    """Asks from a thread of its own; what is found leaves by `deliver`."""

    name = "nccl_ras"

    def __init__(
        self,
        *,
        settings: "RasSettings",
        deliver: Callable[[LogBatch], None],
        health: AgentHealth,
        period: float,
        processes: RankProcesses | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(health=health, period=period, now=now, pause=settings.period_seconds)
        self._settings = settings
        self._deliver = deliver
        self._processes = processes or RankProcesses()
        self._answers: dict[Attempt, RasHistory] = {}
        self._leads: set[Attempt] = set()
        self._answered: set[str] = set()
        self._absent: dict[str, float] = {}
        """Services that are not there, and when they are asked again."""

    def supported(self) -> tuple[bool, str]:
        """Return whether the service is asked, and of which jobs."""
        if self._settings.ask == "off":
            return False, "ras.ask is off"
        asked = self._addresses(self._processes.find(self._now()))
        if not asked:
            return True, "no process of rank 0 whose environment may be read runs here"
        nobody = sorted(asked & self._absent.keys())
        silent = f"; nobody listens on {', '.join(nobody)}" if nobody else ""
        return True, f"asks {', '.join(sorted(asked))}{silent}"

    def turn(self, now: float) -> float:
        """Ask every service once; return after how many seconds the next turn is due."""
        pause = self._settings.period_seconds
        processes = self._processes.find(now)
        for address in sorted(self._addresses(processes))[:_MOST_ADDRESSES]:
            if now < self._absent.get(address, 0.0):
                continue
            try:
                answer = ras_client.ask(
                    address,
                    timeout=self._settings.timeout_seconds,
                    max_bytes=self._settings.max_bytes,
                )
                communicators = _communicators(answer.text)
            except RasUnavailableError as error:
                if error.reason == "refused" and address not in self._answered:
                    # A job without NCCL, or with one that is too old, has none: no failure.
                    self._absent[address] = now + _ABSENT_SECONDS
                    continue
                self._failed(error.reason)
                continue
            except ras.RasError:
                self._failed("torn")
                continue
            self._answered.add(address)
            self._health.show("collective_source_up", 1, self.name)
            pause = max(pause, _SHARE * answer.seconds)
            self._take(communicators, processes)
        self._forget(processes)
        return pause

    def _take(
        self, communicators: Sequence[ras.RasCommunicator], processes: list[RankProcess]
    ) -> None:
        if not communicators:
            return  # the text form lists only what is wrong
        where = placed(communicators, processes)
        if where is None:
            self._failed("unknown_job")
            return
        of = where.processes[0].of
        answers = self._answers.setdefault(of, RasHistory())
        report = answers.take(communicators, where, self._now())
        if report.left_out:
            super()._failed("left_out", report.left_out)
        self._deliver(LogBatch(*of, report.here, []))
        if report.elsewhere or report.events:
            self._deliver(LogBatch(*of, report.elsewhere, report.events, host=""))

    def _addresses(self, processes: Sequence[RankProcess]) -> set[str]:
        """Return the services of the jobs that this agent asks about."""
        if self._settings.ask == "off":
            return set()
        self._leads |= {one.of for one in processes if one.rank == 0}
        return {
            self._settings.address or _own(one)
            for one in processes
            if (self._settings.ask == "all" or one.of in self._leads)
            and one.variables.get("NCCL_RAS_ENABLE", "1") != "0"
        }

    def _failed(self, reason: str, by: int = 1) -> None:
        self._health.show("collective_source_up", 0, self.name)
        super()._failed(reason, by)

    def _forget(self, processes: Sequence[RankProcess]) -> None:
        living = {one.of for one in processes}
        self._leads &= living
        if not living:
            self._answered.clear()
            self._absent.clear()
        self._answers = {of: one for of, one in self._answers.items() if of in living}


def _communicators(text: str) -> list[ras.RasCommunicator]:
    """Return the communicators of an answer; raises RasError for what is none, or half of one."""
    if not text.lstrip().startswith("{") and ras.is_answer(text.encode()) and not ras.torn(text):
        try:
            return ras.read(text)
        except ras.RasError:
            return []
    return ras.read(text)


def _own(process: RankProcess) -> str:
    """Return where a process was told to listen, on this node alone.

    The variable is a tenant's: it shall not send the agent to any other machine.
    """
    host, _, port = process.variables.get("NCCL_RAS_ADDR", "").rpartition(":")
    if port.isdecimal() and 0 < int(port) < 65536 and host.strip("[]") in _LOOPBACK:
        return f"{host or 'localhost'}:{port}"
    return DEFAULT_ADDRESS
