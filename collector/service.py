"""A running collector: its stages, HTTP server and periodic work, started and stopped in order."""

import asyncio
import math
import resource
import signal
import socket
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from importlib import metadata
from types import FrameType
from typing import Any

import structlog
import uvicorn
from apscheduler.schedulers.background import BackgroundScheduler

from ..formats import segments
from ..vocabulary.clock import Clock, SlewedClock
from .accounting.metering import UsageMeter
from .api import http_protocol
from .api.app import create_app
from .api.connections import ConnectionRegister
from .api.services import CollectorParts, SiteConnection
from .flows.flow import PayloadLog
from .flows.standalone import FileLog
from .health.defects import DefectLog
from .health.health import CollectorHealth
from .intake import over_grpc
from .kubernetes import starting as kubernetes
from .long_term import starting as long_term
from .pipeline.pipeline import DetectionPipeline
from .pipeline.priors import CatalogueInUse
from .process import ending, garbage, identity, listening, logs, memory
from .profiles.automatic import AutomaticProfiles
from .prometheus.polling import pollers
from .remedies import starting as remedies
from .settings.collector import CollectorSettings
from .store import answering
from .store.clock import COMPARE_SECONDS, StoreClock
from .store.deliver import OutboxDeliverer
from .store.errors import StoreError
from .store.store import IncidentDatabaseStore
from .tracing import starting as tracing

_LOG = structlog.get_logger(__name__)
_TRIM_SECONDS = 60
_METER_SECONDS = 60
_CHECK_SECONDS = 5
_GRACE_SECONDS = 2
"""How long requests in progress may take at the end; streams of events never end by themselves."""
_KEEP_ALIVE_SECONDS = 75
"""Longer than senders pause between two pushes: closing on one that is about to send costs it."""
_DAY_SECONDS = 86_400.0
_SWITCH_SECONDS = 0.001
"""How soon the event loop and the intake get the interpreter while evaluation computes."""


def run(settings: CollectorSettings) -> int:
    """Run a collector until SIGTERM or SIGINT; return the exit code of the command."""
    logs.configure()
    memory.return_large_blocks()
    # Every agent keeps a connection open, and the usual soft limit is 1024 files.
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    try:
        service = CollectorService(settings, clock=SlewedClock())
    except segments.LockedError:
        _print(
            f"another collector uses {settings.data_dir}: set data_dir (RANKSCOPE_DATA_DIR) "
            "to a folder of its own"
        )
        return 2
    except StoreError as error:
        _print(
            f"the incident store cannot be used: {error}; "
            "make it answer, or set store.url (RANKSCOPE_STORE__URL) to another"
        )
        return 1
    except OSError as error:
        _print(f"cannot start: {error}")
        return 1
    garbage.LongLivedObjects().keep_out()
    service.serve()
    if not service.ending:
        ending.within()
    return 0


class CollectorService:
    """One collector: made, served until it is asked to stop, and gone.

    Raises segments.LockedError, StoreError or OSError when it cannot be made.
    """

    def __init__(self, settings: CollectorSettings, *, clock: Clock) -> None:
        self.ready = threading.Event()
        self._settings = settings
        self._health = CollectorHealth()
        log = _log(settings, lambda: self.address)
        self._listening: listening.BoundSocket | None = None
        try:
            self._store = IncidentDatabaseStore(
                settings.store_url,
                webhooks=settings.webhooks,
                console=settings.http.external_url,
                now=clock.now(),
                owner=identity.of(settings.data_dir),
            )
            self._listening = _listen(settings)
        except (StoreError, OSError):
            log.close()
            raise
        self.address = self._listening.address
        self._store_clock = StoreClock(clock, self._store)
        self._store_clock.compare()
        # What several collectors evaluate is read by any of them: one clock, not this machine's.
        self._clock = clock = self._store_clock if settings.log.shared else clock
        self._priors = CatalogueInUse()
        self._store.subscribe_learnt(self._priors.learn)
        self._tracing = tracing.tracing(
            self._health.registry, version=metadata.version("rankscope")
        )
        traced = self._tracing if self._tracing is not None and self._tracing.records else None
        self._stages = log.flow(self._store, clock, self._health, self._pipeline, traced)
        self._automatic = AutomaticProfiles(
            self._stages.profiles, stages=self._stages, settings=settings.profiles, clock=clock
        )
        self._metering = UsageMeter(self._stages.own_summaries, self._store, settings.users)
        self._deliverer = OutboxDeliverer(
            outbox=self._store if traced is None else traced.outbox(self._store),
            clock=self._store_clock,
            registry=self._health.registry,
        )
        self._kubernetes = kubernetes.writer(
            settings.kubernetes, store=self._store, clock=clock, registry=self._health.registry
        )
        self._remedies = remedies.runner(
            settings.actions,
            store=self._store,
            flow=self._stages,
            clock=clock,
            store_clock=self._store_clock,
            owner=identity.of(settings.data_dir),
            registry=self._health.registry,
        )
        self._connected: list[SiteConnection] = [
            *pollers(
                settings.prometheus,
                submit=self._stages.submit,
                clock=clock,
                health=self._health,
                polls=self._stages.polls,
            )
        ]
        self._connected += long_term.writers(
            settings, owner=self._stages, store=self._store, clock=clock, health=self._health
        )
        descriptors, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        if settings.intake.grpc_listen:
            descriptors //= 2
        self._register = ConnectionRegister(
            settings.http,
            descriptors=descriptors,
            health=self._health,
            clock=clock,
        )
        self._connected += over_grpc.intakes(
            settings,
            sink=self._stages,
            clock=clock,
            health=self._health,
            connections=self._register.limit,
        )
        app = create_app(self.services())
        self._server = _ApiServer(
            uvicorn.Config(
                app,
                http=http_protocol.serving(
                    app.state.direct_intake, app.state.guard, self._register
                ),
                loop="uvloop",
                ws="none",
                lifespan="off",
                access_log=False,
                log_config=None,
                timeout_keep_alive=_KEEP_ALIVE_SECONDS,
                timeout_graceful_shutdown=_GRACE_SECONDS,
            ),
            started=self._started,
            defects=DefectLog(health=self._health),
        )

    def _pipeline(self) -> DetectionPipeline:
        """Return a pipeline by the settings, with what people taught it."""
        settings = self._settings
        line = DetectionPipeline(
            detectors=settings.detectors.selection(), settings=settings.evaluation
        )
        line.priors = self._priors
        return line

    def services(self) -> CollectorParts:
        """Return the parts that routes need."""
        return CollectorParts(
            stages=self._stages,
            store=self._store,
            settings=self._settings,
            clock=self._clock,
            store_clock=self._store_clock,
            version=metadata.version("rankscope"),
            health=self._health,
            connected=self._connected,
            register=self._register,
        )

    def serve(self) -> None:
        """Run until asked to stop, by a signal or by `stop`."""
        # The server ends on SIGTERM and then raises the signal again for whoever came before it:
        # that must find somebody, or the process dies before it has cleaned up.
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, lambda _number, _frame: self.stop())
        scheduler = self._periodic_work()
        sys.setswitchinterval(_SWITCH_SECONDS)
        self._stages.start()
        self._deliverer.start()
        self._automatic.start()
        if self._kubernetes is not None:
            self._kubernetes.start()
        for one in self._connected:
            one.start()
        unsubscribe = self._store.subscribe(lambda _: self._deliverer.wake())
        profiling = self._store.subscribe(self._automatic.changed)
        acting = self._store.subscribe(self._remedies.changed)
        self._remedies.start()
        assert self._listening is not None  # noqa: S101  bound in __init__
        try:
            self._server.run(sockets=[self._listening.socket])
        finally:
            scheduler.shutdown(wait=True)
            acting()
            self._remedies.stop()
            profiling()
            self._automatic.stop(timeout=_GRACE_SECONDS)
            for one in self._connected:
                one.stop()
            self._stages.stop(until=self._server.evaluate_until)
            self._meter()
            unsubscribe()
            self._deliverer.stop()
            if self._kubernetes is not None:
                self._kubernetes.stop()
            self._store.close()
            if self._tracing is not None:
                self._tracing.stop()
            self._listening.socket.close()
            _LOG.info("collector stopped")

    @property
    def ending(self) -> bool:
        """Return whether a signal has set the time at which the process ends."""
        return self._server.evaluate_until < math.inf

    def stop(self) -> None:
        """Tell `serve` to end; may be called from any thread."""
        self._server.should_exit = True

    def _periodic_work(self) -> BackgroundScheduler:
        scheduler = BackgroundScheduler(
            timezone="UTC", job_defaults={"coalesce": True, "max_instances": 1}
        )
        now = datetime.now(UTC)
        scheduler.add_job(self._trim, "interval", seconds=_TRIM_SECONDS, next_run_time=now)
        scheduler.add_job(memory.return_freed, "interval", seconds=_TRIM_SECONDS)
        scheduler.add_job(self._meter, "interval", seconds=_METER_SECONDS)
        scheduler.add_job(self._store_clock.compare, "interval", seconds=COMPARE_SECONDS)
        scheduler.add_job(
            answering.check, "interval", (self._store, self._health), seconds=_CHECK_SECONDS
        )
        scheduler.start()
        return scheduler

    def _meter(self) -> None:
        """Keep what jobs used by now."""
        try:
            self._metering.keep()
        except Exception as error:  # noqa: BLE001  tried again in a minute; the rest goes on
            self._health.pipeline_failures.labels("meter").inc()
            _LOG.error("GPU time used could not be stored", error=str(error))

    def _trim(self) -> None:
        """Let go of what is too old or too much."""
        now, stored_now = self._clock.now(), self._store_clock.now()
        try:
            self._health.journal_size.set(self._stages.trim(now))
            self._stages.profiles.trim(now)
            keep = self._settings.store
            self._store.expire(now=stored_now)
            self._store.trim(before=stored_now - keep.keep_days * _DAY_SECONDS)
            self._store.trim_incidents(before=stored_now - keep.keep_incidents_days * _DAY_SECONDS)
            self._priors.learn(self._store.confirmed())  # another collector may share the store
            self._store.trim_remedies(before=stored_now - keep.keep_history_days * _DAY_SECONDS)
            self._store.trim_history(before=stored_now - keep.keep_history_days * _DAY_SECONDS)
        except Exception as error:  # noqa: BLE001  tried again in a minute; the rest goes on
            self._health.pipeline_failures.labels("trim").inc()
            _LOG.error("retention failed", error=str(error))

    async def _started(self) -> None:
        """Say where we listen; payloads are taken by now."""
        if self._listening is not None and self._listening.restricted:
            _LOG.warning(
                "no token is configured: listening on loopback only",
                address=self.address,
                configured=self._settings.http.listen,
            )
        elif not self._settings.protected:
            _LOG.warning("no token is configured: anybody on this machine may read and write")
        print(f"rankscope collector listens on {self.address}", flush=True)  # noqa: T201
        self.ready.set()


def _listen(settings: CollectorSettings) -> listening.BoundSocket:
    """Bind the address. Raises OSError, which names the key and the fix."""
    http = settings.http
    try:
        return listening.listen(http.host, http.port, protected=settings.protected)
    except OSError as error:
        raise OSError(
            f"http.listen {http.listen}: {error.strerror or error}; "
            "set http.listen (RANKSCOPE_HTTP__LISTEN) to an address of this machine that is free"
        ) from None


def _log(settings: CollectorSettings, address: Callable[[], str]) -> PayloadLog:
    """Open the log: files, or what several collectors share. Raises OSError."""
    try:
        # What jobs report is not for every user of the machine.
        settings.data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        files = None if settings.log.shared else FileLog(settings)
    except OSError as error:
        raise OSError(
            f"data_dir {settings.data_dir}: {error.strerror or error}; "
            "set data_dir (RANKSCOPE_DATA_DIR) to a folder that this user may write"
        ) from None
    if files is not None:
        return files
    try:
        from .cluster.log import SharedLog  # noqa: PLC0415  its client is in an extra
    except ModuleNotFoundError as error:
        raise OSError(f"log.url needs {error.name}: pip install 'rankscope[cluster]'") from None
    shared = SharedLog(settings)
    shared.address = address
    return shared


class _ApiServer(uvicorn.Server):
    def __init__(
        self,
        config: uvicorn.Config,
        *,
        started: Callable[[], Awaitable[None]],
        defects: DefectLog,
    ) -> None:
        super().__init__(config)
        self._once_started = started
        self._defects = defects
        self._start_notice: asyncio.Future[None] | None = None
        self.evaluate_until = math.inf
        """When evaluation has to end, by the monotonic clock, once a signal has come."""

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """End, and in time."""
        if self.evaluate_until == math.inf:
            self.evaluate_until = time.monotonic() + ending.EVALUATION_SECONDS
            ending.within()
        super().handle_exit(sig, frame)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        # What a loop meets at each turn, such as no descriptor for another connection, would else
        # be logged at each turn.
        asyncio.get_running_loop().set_exception_handler(self._met)
        await super().startup(sockets)
        self._start_notice = asyncio.ensure_future(self._once_started())

    def _met(self, _loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if not isinstance(error, Exception):
            error = RuntimeError(context.get("message", "the event loop met something"))
        self._defects.met("http", error)


def _print(text: str) -> None:
    """Tell the operator, whatever the log is set to."""
    print(f"rankscope collector: {text}", file=sys.stderr, flush=True)  # noqa: T201
