"""Training logs: what jobs write to standard output, standard error and log files.

A thread of its own reads once a second. Loss, step and step time leave as samples of the job with
`source` log; known bad lines as events.
"""

import time
from collections.abc import Callable
from datetime import tzinfo
from pathlib import Path
from typing import TYPE_CHECKING

from ...formats import training_logs
from ..background import BackgroundReader
from ..health import AgentHealth
from ..rank_processes import RankProcesses
from ..training_logs import LaunchedProcesses, LogBatch, LogFollower, LogSources, following, unread
from ..training_logs.positions import FilePositions

if TYPE_CHECKING:
    from ..settings import LogsSettings, OwnLogFormat


_TURN_SECONDS = 1.0


class TrainingLogs(BackgroundReader):
    """Follows files of jobs; what is read leaves by `deliver`."""

    name = "training_logs"

    def __init__(
        self,
        *,
        settings: "LogsSettings",
        deliver: Callable[[LogBatch | LaunchedProcesses], None],
        health: AgentHealth,
        period: float,
        state: Path | None = None,
        forward: following.LogForward | None = None,
        processes: RankProcesses | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(
            health=health, period=period, now=now, pause=_TURN_SECONDS, first=_TURN_SECONDS
        )
        self._settings = settings
        self._sources = LogSources(
            processes=(processes or RankProcesses()) if settings.follow else None,
            named=settings.files,
        )
        zone = _zone(settings.time_zone) if settings.time_zone else None
        own = tuple(map(_own_format, settings.formats))
        self._formats = (*own, *training_logs.shipped()) if own else None
        self._follower = LogFollower(
            sources=self._sources,
            positions=FilePositions(state),
            health=health,
            deliver=deliver,
            formats=self._formats,
            zone=zone,
            share=settings.cpu_share,
            forward=forward,
        )

    def supported(self) -> tuple[bool, str]:
        """Return whether anything may be followed, and what is now."""
        if not self._settings.follow and not self._settings.files:
            return False, "logs.follow is off and logs.files names none"
        sources = list(self._sources.find(self._now()).values())
        found = following.described(sources)
        refused = self._sources.refused
        denied = f"; {refused} files may not be read" if refused else ""
        if found:
            unknown = unread.described(sources, self._formats)
            return True, f"follows {found}{denied}{f'; {unknown}' if unknown else ''}"
        return True, f"no process with a rank writes to a file that may be read{denied}"

    def turn(self, now: float) -> float:
        """Read what was written since the last turn."""
        self._follower.turn(now)
        return _TURN_SECONDS

    def _finish(self) -> None:
        """Read what was written until now."""
        self._follower.close(self._now())

    def _failed(self, reason: str, by: int = 1) -> None:
        self._health.count("log_failures", reason, by=by)


def _own_format(given: "OwnLogFormat") -> "training_logs.LineFormat":
    return training_logs.own(
        given.name,
        contains=given.contains,
        pattern=given.pattern,
        units=given.units,
        rank=given.rank,
    )


def _zone(name: str) -> tzinfo:
    import zoneinfo  # noqa: PLC0415  with how Python was built, 0.3 MB

    return zoneinfo.ZoneInfo(name)
