"""Asks another process what happened in the past, one question at a time, within bounds."""

import json
import os
import subprocess
import sys
import threading
from dataclasses import asdict
from pathlib import Path
from typing import Any

import structlog

from ..figures.distribution import Wanted
from ..settings import CollectorSettings

_LOG = structlog.get_logger(__name__)
_NO_MEMORY = 3


class PastError(Exception):
    """The past could not be read; the text says why.

    `busy`: another question is being answered, and this one may be asked again soon.
    """

    def __init__(self, text: str, *, busy: bool = False) -> None:
        super().__init__(text)
        self.busy = busy


class Past:
    """Answers questions about the journal. Safe to ask from any thread."""

    def __init__(self, settings: CollectorSettings) -> None:
        self._settings = settings
        self._one = threading.Lock()

    @property
    def journal(self) -> Path:
        """Return the folder of the journal."""
        return self._settings.journal_folder

    def root_cause(self, job: str, start: float, end: float) -> dict[str, Any]:
        """Return what `reading.root_cause` found. Raises PastError."""
        return self._ask({"job": job, "start": start, "end": end})

    def distribution(self, job: str, start: float, end: float, wanted: Wanted) -> dict[str, Any]:
        """Return what `reading.distribution` found. Raises PastError."""
        return self._ask({"job": job, "start": start, "end": end, "wanted": asdict(wanted)})

    def _ask(self, asked: dict[str, Any]) -> dict[str, Any]:
        past = self._settings.past
        question = {
            **asked,
            "journal": str(self.journal),
            "memory_bytes": past.memory_bytes,
            "detectors": self._settings.detectors.model_dump(mode="json"),
            "evaluation": self._settings.evaluation.model_dump(mode="json"),
        }
        if not self._one.acquire(blocking=False):
            raise PastError("another stretch of the past is being read; ask again", busy=True)
        try:
            done = subprocess.run(
                [sys.executable, "-m", "rankscope.collector.past"],
                input=json.dumps(question).encode(),
                capture_output=True,
                timeout=past.seconds,
                # Threads of a mathematics library would take address space and CPUs.
                env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise PastError(
                f"reading it again takes more than {past.seconds:g} s (past.seconds); "
                "ask for a shorter range"
            ) from None
        finally:
            self._one.release()
        if done.returncode == _NO_MEMORY:
            raise PastError(
                f"reading it again takes more than {past.memory_bytes >> 20} MiB "
                "(past.memory_bytes); ask for a shorter range"
            )
        if done.returncode != 0:
            _LOG.error(
                "the past could not be read",
                code=done.returncode,
                error=done.stderr.decode(errors="replace")[-2000:],
            )
            raise PastError("reading it again failed; see the collector's log")
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer
