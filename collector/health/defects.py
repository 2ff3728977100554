"""Defects that are met and passed over: counted each time, logged when they are new."""

import traceback

import structlog

from .health import CollectorHealth

_LOG = structlog.get_logger(__name__)
_MOST = 1000
"""Places remembered, so that a defect of every second is one entry of the log."""


class DefectLog:
    """Takes what a stage raised and must not end the others."""

    def __init__(self, *, health: CollectorHealth) -> None:
        self._health = health
        self._seen: set[tuple[str, str, str]] = set()

    def met(self, stage: str, error: Exception) -> None:
        """Count a defect, and log it the first time it is met at its place."""
        self._health.pipeline_failures.labels(stage).inc()
        frames = traceback.extract_tb(error.__traceback__)
        place = f"{frames[-1].filename}:{frames[-1].lineno}" if frames else ""
        key = (stage, type(error).__name__, place)
        if key not in self._seen and len(self._seen) < _MOST:
            self._seen.add(key)
            _LOG.error(
                "an unexpected error was caught; the collector continues",
                stage=stage,
                exc_info=error,
            )
