"""The agent's own parts within one process, before a made-up node whose clock is told to go on.

A day passes in seconds and 100,000 cycles in minutes: nothing waits. What is real: the turns and
subjects that ask the driver's library (the C stub), the supervisor, every reader that looks at the
node, device faults, routing, the page, encoding and spool. What is not: the worker is no process
of its own (worker_within.py), and readers have no threads that time them.
"""

import contextlib
import errno
import selectors
import threading
from pathlib import Path
from typing import Any

from rankscope.agent import exposition, readers
from rankscope.agent.attribution import DeviceAttribution
from rankscope.agent.dcgm_names import DcgmPage
from rankscope.agent.device_faults import FaultTracker
from rankscope.agent.devices import DeviceRegister
from rankscope.agent.exits import ExitWatch
from rankscope.agent.health import AgentHealth
from rankscope.agent.latest import LatestValues
from rankscope.agent.names import NodeNames
from rankscope.agent.nvml.process import WorkerProcess
from rankscope.agent.outgoing import OutgoingTelemetry
from rankscope.agent.routing import TelemetryRouter
from rankscope.agent.settings import AgentSettings
from rankscope.agent.spool import DiskSpool
from rankscope.agent.trainers import TrainerRegister
from rankscope.vocabulary.samples import Event

from .trees import NodeTrees
from .worker_within import ToldClock, WorkerWithin

_ASK_AGAIN_SECONDS = 600.0
_SPOOLED_SECONDS = 30.0


class AgentWithin:
    """One life of an agent. `state` outlives it; `reported` is every event that left it."""

    def __init__(
        self,
        trees: NodeTrees,
        clock: ToldClock,
        *,
        state: Path,
        settings: AgentSettings,
        spool: Path | None = None,
        driver: bool = True,
    ) -> None:
        self._driver = driver
        self.clock = clock
        self.reported: list[Event] = []
        self.keep_told = True
        self.health = AgentHealth()
        self.devices = DeviceRegister(state)
        self.fault_tracker = FaultTracker(
            boot_id=trees.files.read(trees.files.proc / "sys/kernel/random/boot_id"),
            now=clock.now(),
            devices=self.devices,
            state=state,
        )
        self.trainers = TrainerRegister(health=self.health)
        self.latest = LatestValues(period_seconds=settings.readers.period_seconds)
        self.attribution = DeviceAttribution()
        self._closing = contextlib.ExitStack()
        self._selector = selectors.DefaultSelector()
        self.exits = ExitWatch(selector=self._selector, proc=trees.files.proc, pidfds=False)
        self._spooled = threading.Semaphore(0)
        self.outgoing = self._sending(spool)
        dcgm_page = None
        if settings.export.dcgm_names != "off":
            dcgm_page = DcgmPage(
                names=settings.export.dcgm_names, host="node", attribution=self.attribution
            )
        self.routing = TelemetryRouter(
            names=NodeNames(host="node"),
            trainers=self.trainers,
            latest=self.latest,
            exits=self.exits,
            outgoing=self.outgoing,
            fault_tracker=self.fault_tracker,
            health=self.health,
            attribution=self.attribution,
            dcgm_page=dcgm_page,
        )
        self.page = exposition.ExpositionPage(
            latest=self.latest,
            health=self.health,
            groups=False,
            max_series=settings.export.max_series,
            dcgm_page=dcgm_page,
        )
        self.worker: WorkerWithin | None = None
        self._lock = threading.Lock()
        self._waiting: list[Event] = []
        every = readers.everything(
            readers.ReaderContext(
                settings=settings,
                trainers=self.trainers.everyone,
                adopt=self.trainers.adopt,
                emit=self._emit,
                health=self.health,
                devices=self.devices,
                attribution=self.attribution,
                fault_tracker=self.fault_tracker,
                closing=self._closing,
                state=state,
                proc=trees.files.proc,
                sys=trees.files.sys,
                dev=trees.files.dev,
                now=clock.now,
                start_nvml=self._start,
            )
        )
        self._readers = every
        self._due: dict[str, float] = dict.fromkeys((one.name for one in self._readers), 0.0)
        self._supported: set[str] = set()
        next(one for one in every if one.name == "gpu_watch").read(clock.now())  # starts the worker
        self._begin()

    @property
    def running(self) -> list[str]:
        """Return the readers that this node has something for."""
        return sorted(self._supported)

    def cycle(self) -> None:
        """Do what the agent does in one of its seconds, at the clock's time."""
        now = self.clock.now()
        self._begin()
        for reader in self._readers:
            if now < self._due[reader.name]:
                continue
            if reader.name not in self._supported:
                if not reader.supported()[0]:
                    self._due[reader.name] = now + _ASK_AGAIN_SECONDS
                    continue
                self._supported.add(reader.name)
            self._due[reader.name] = now + reader.period
            samples = reader.read(now)
            self.health.show("reader_up", 1, reader.name)
            self.health.happened("reader_last_success", now, reader.name)
            if samples:
                self.routing.route(reader, samples, now)
        for ended in self.exits.ended(now):
            self.routing.end(ended, now)
        self.settle()
        for summary in self.fault_tracker.tick(now):
            self._leave(summary)
        self.routing.forget_silent(before=now - 60.0, now=now)

    def settle(self) -> None:
        """Pass on what readers have told."""
        with self._lock:
            waiting, self._waiting = self._waiting, []
        for event in waiting:
            leaving = self.fault_tracker.take(event, self.clock.now())
            if leaving is not None:
                self._leave(leaving)

    def send(self) -> None:
        """Encode what was gathered, and wait until it is in the spool."""
        if self.outgoing is not None and self.outgoing.gathered:
            while self._spooled.acquire(blocking=False):
                pass  # events left since: counted here, they would let every later batch lag behind
            self.outgoing.flush()
            if not self._spooled.acquire(timeout=_SPOOLED_SECONDS):
                raise TimeoutError("what was gathered never came into the spool")

    def close(self) -> None:
        """End this life."""
        self._closing.close()
        if self.outgoing is not None:
            self.outgoing.close(timeout=5.0)
        self.exits.close()
        self._selector.close()

    def _sending(self, folder: Path | None) -> OutgoingTelemetry | None:
        if folder is None:
            return None
        folder.mkdir(parents=True, exist_ok=True)
        spool = DiskSpool(folder, max_bytes=1 << 20, health=self.health)
        self._closing.callback(spool.close)
        outgoing = OutgoingTelemetry(
            spool=spool, health=self.health, now=self.clock.now, spooled=self._spooled.release
        )
        outgoing.start()
        return outgoing

    def _start(self, **asked: Any) -> WorkerProcess:
        if not self._driver:
            raise FileNotFoundError(errno.ENOENT, "this node has no NVIDIA driver")
        self.worker = WorkerWithin(**asked, clock=self.clock)
        return self.worker

    def _begin(self) -> None:
        """Have a worker begin that the supervisor has started, the first or one in its place."""
        if self.worker is not None and not self.worker.begun:
            self.worker.begin()

    def _emit(self, event: Event) -> None:
        with self._lock:
            self._waiting.append(event)

    def _leave(self, event: Event) -> None:
        if self.keep_told:
            self.reported.append(event)
        self.routing.emit(event)
