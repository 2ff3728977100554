"""Asks another process what happened in the past, one question at a time, within bounds."""

import json
import os
import subprocess
import sys
import threading
import zlib
from collections import OrderedDict
from dataclasses import asdict
from pathlib import Path
from typing import Any

import structlog

from ..figures.distribution import SpreadQuery
from ..settings.collector import CollectorSettings
from .journal_reader import JournalRangeError, JournalReader
from .stretch import LEAD_SECONDS

_LOG = structlog.get_logger(__name__)
_NO_MEMORY = 3

MOST_KEPT = 256
"""Answers that are kept, about 15 kB each with a thousand ranks."""


class PastError(Exception):
    """The past could not be read; the text says why.

    `busy`: another question is being answered, and this one may be asked again soon.
    """

    def __init__(self, text: str, *, busy: bool = False) -> None:
        super().__init__(text)
        self.busy = busy


class _AnswerCache:
    """The newest answers, as bytes: a thousand ranks are 40 kB so, and ten times that as lists."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._answers: OrderedDict[tuple[str, float, float, SpreadQuery], bytes] = OrderedDict()

    def get(self, asked: tuple[str, float, float, SpreadQuery]) -> dict[str, Any] | None:
        with self._lock:
            found = self._answers.get(asked)
        if found is None:
            return None
        answer: dict[str, Any] = json.loads(zlib.decompress(found))
        return answer

    def put(self, asked: tuple[str, float, float, SpreadQuery], answer: dict[str, Any]) -> None:
        packed = zlib.compress(json.dumps(answer).encode(), 1)
        with self._lock:
            self._answers[asked] = packed
            while len(self._answers) > MOST_KEPT:
                self._answers.popitem(last=False)


class JournalHistory:
    """Answers questions about the journal. Safe to ask from any thread."""

    def __init__(self, settings: CollectorSettings, held: JournalReader) -> None:
        self._settings = settings
        self._held = held
        self._one = threading.Lock()
        self._kept = _AnswerCache()

    def held_from(self, job: str) -> float | None:
        """Return the receive time of the oldest entry that is held (s), None without any.

        Raises PastError.
        """
        try:
            return self._held.since(job)
        except JournalRangeError as error:
            raise PastError(str(error), busy=True) from error

    def root_cause(self, job: str, start: float, end: float) -> dict[str, Any]:
        """Return what `reading.root_cause` found. Raises PastError."""
        found: dict[str, Any] = self._ask({"job": job, "start": start, "end": end})
        return found

    def distribution(
        self, job: str, start: float, end: float, wanted: SpreadQuery, *also: SpreadQuery
    ) -> dict[str, Any]:
        """Return what `reading.distributions` found of the one. Raises PastError.

        What is asked for also is read in the same pass and kept for later questions: what was
        received until now does not change.
        """
        kept = self._kept.get((job, start, end, wanted))
        if kept is not None:
            return kept
        every = [wanted, *also]
        question = {"wanted": [asdict(one) for one in every]}
        answers: list[dict[str, Any]] = self._ask(
            {"job": job, "start": start, "end": end, **question}
        )
        for one, answer in zip(every, answers, strict=True):
            self._kept.put((job, start, end, one), answer)
        return answers[0]

    def _ask(self, asked: dict[str, Any]) -> Any:
        if not self._one.acquire(blocking=False):
            raise PastError("another stretch of the past is being read; ask again", busy=True)
        try:
            start, end = asked["start"] - LEAD_SECONDS, asked["end"]
            with self._held.between([asked["job"]], start, end) as folder:
                return self._answered(asked, folder)
        except JournalRangeError as error:
            raise PastError(str(error), busy=True) from error
        finally:
            self._one.release()

    def _answered(self, asked: dict[str, Any], folder: Path) -> Any:
        past = self._settings.past
        question = {
            **asked,
            "journal": str(folder),
            "memory_bytes": past.memory_bytes,
            "detectors": self._settings.detectors.model_dump(mode="json"),
            "evaluation": self._settings.evaluation.model_dump(mode="json"),
        }
        try:
            done = subprocess.run(
                [sys.executable, "-m", "rankscope.collector.history"],
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
        if done.returncode == _NO_MEMORY:
            raise PastError(
                f"reading it again takes more than {past.memory_bytes >> 20} MiB "
                "(past.memory_bytes); ask for a shorter range"
            )
        if done.returncode != 0:
            _LOG.error(
                "the journal's past could not be read",
                code=done.returncode,
                error=done.stderr.decode(errors="replace")[-2000:],
            )
            raise PastError("reading it again failed; see the collector's log")
        return json.loads(done.stdout)
