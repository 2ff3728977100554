"""Training logs: what jobs write to standard output, standard error and log files.

A thread of its own reads once a second. Loss, step and step time leave as samples of the job with
`source` log; known bad lines as events.
"""

import logging
import threading
import time
import zoneinfo
from collections.abc import Callable
from pathlib import Path

from ...formats import training_logs
from ...vocabulary.samples import Sample
from .. import procfs
from ..health import Health
from ..settings import Logs
from ..training_logs import Batch, Follower, Launched, Sources, following
from ..training_logs.positions import Positions

_TURN_SECONDS = 1.0

_log = logging.getLogger(__name__)


class TrainingLogs:
    """Follows files of jobs; `read` returns nothing, what is read leaves by `deliver`."""

    name = "training_logs"

    def __init__(
        self,
        *,
        settings: Logs,
        deliver: Callable[[Batch | Launched], None],
        health: Health,
        period: float,
        state: Path | None = None,
        forward: following.Forward | None = None,
        proc: Path = procfs.PROC,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.period = period
        self._settings = settings
        self._now = now
        self._sources = Sources(by_process=settings.follow, named=settings.files, proc=proc)
        zone = zoneinfo.ZoneInfo(settings.time_zone) if settings.time_zone else None
        formats = (*(one.format() for one in settings.formats), *training_logs.shipped())
        self._follower = Follower(
            sources=self._sources,
            positions=Positions(state),
            health=health,
            deliver=deliver,
            formats=formats,
            zone=zone,
            share=settings.cpu_share,
            forward=forward,
        )
        self._health = health
        self._thread: threading.Thread | None = None
        self._stopped = threading.Event()

    def supported(self) -> tuple[bool, str]:
        """Return whether anything may be followed, and what is now."""
        if not self._settings.follow and not self._settings.files:
            return False, "logs.follow is off and logs.files names none"
        found = following.described(list(self._sources.find().values()))
        refused = self._sources.refused
        denied = f"; {refused} files may not be read" if refused else ""
        if found:
            return True, f"follows {found}{denied}"
        return True, f"no process with a rank writes to a file that may be read{denied}"

    def read(self, now: float) -> list[Sample]:  # noqa: ARG002  lines carry their own time
        """See to it that the thread runs."""
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._run, name="training_logs", daemon=True)
            self._thread.start()
        return []

    def close(self) -> None:
        """End the thread; what was written until now is read."""
        self._stopped.set()
        if self._thread is not None:
            self._thread.join(5.0)

    def _run(self) -> None:
        while not self._stopped.wait(_TURN_SECONDS):
            try:
                self._follower.turn(self._now())
            except Exception:  # noqa: BLE001  one turn must not end the others
                self._health.count("log_failures", "internal")
                _log.exception("a turn over the logs of training jobs failed")
        self._follower.close(self._now())
