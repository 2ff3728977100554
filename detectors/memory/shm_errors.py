"""Ranks that ended with an error of shared memory."""

import re
from collections.abc import Sequence

from ...vocabulary.findings import Finding
from ..contract import Detector
from ..findings import report
from ..tenants import own_events
from ..window import JobWindow

_SHM = re.compile(
    r"out of shared memory|shared memory limit|insufficient shared memory"
    r"|(unable to|cannot|could not|failed to) [\w ]{0,20}shared memory"
    r"|(/dev/shm|shm_open|shared memory)[^\n]{0,80}no space left"
    r"|no space left[^\n]{0,80}(/dev/shm|shared memory)",
    re.IGNORECASE,
)
_SIGBUS = 7
_BUS_ERROR = re.compile(r"bus error|sigbus", re.IGNORECASE)


class ShmErrorsDetector(Detector):
    """Name the ranks that ended because shared memory could not be had.

    A log line that says so, or a bus error (SIGBUS) of the rank or its data loader: writing to a
    page of a full tmpfs raises one. A bus error alone has other reasons too, a mapped file that was
    cut short among them, and scores less. /dev/shm fills faster than it is reported: such a line is
    often there before any reading of its usage. Evidence for a crash.

    Parameters
    ----------
    sure, likely : the score of a line that names shared memory, and of a bus error alone.

    Examples
    --------
    >>> import numpy as np
    >>> from rankscope.detectors.sketch import START, sketch
    >>> from rankscope.vocabulary.samples import Event, TelemetryResource
    >>> line = Event("log.fault", START + 50, {"rank": 3, "role": "root", "text":
    ...     "unable to write to file </torch_7>: No space left on device: /dev/shm"},
    ...     TelemetryResource("host-1", "example"))
    >>> for finding in ShmErrorsDetector().evaluate(sketch(np.full((4, 60), 0.8), events=(line,))):
    ...     print(finding.kind, finding.entity, finding.score)
    rank.shm_error rank 3 on host-1 3.0

    Fails where no log is read and the worker's end is hidden by the error of its trainer. Cannot
    see what filled shared memory.

    References: PyTorch, multiprocessing and data loader messages; Linux
    Documentation/filesystems/tmpfs.
    """

    name = "shm_errors"
    kinds = ("rank.shm_error",)

    def __init__(self, *, sure: float = 3.0, likely: float = 1.5) -> None:
        self.sure = sure
        self.likely = likely

    def evaluate(self, window: JobWindow) -> Sequence[Finding]:
        """Return one finding a rank, of its best sign."""
        found: dict[int, Finding] = {}
        for event in own_events(window):
            row = window.row_of_event(event)
            if row is None:
                continue
            score, text = 0.0, ""
            if event.name == "log.fault" and event.attributes.get("role") != "cascade":
                text = str(event.attributes.get("text", "")).strip()
                score = self._score(text)
            elif event.name == "process.exit" and event.attributes.get("signal") == _SIGBUS:
                text, score = "ended by signal 7 (bus error)", self.likely
            if score > (found[row].score if row in found else 0.0):
                found[row] = report(
                    window,
                    self.name,
                    "rank.shm_error",
                    window.rank_entity(row),
                    onset=event.at,
                    seen=(event.at, event.at),
                    score=score,
                    signal=event.name,
                    observed=text[:200],
                    text=f"rank {int(window.ranks[row])}: {text[:200]}",
                )
        return [found[row] for row in sorted(found)]

    def _score(self, text: str) -> float:
        if _SHM.search(text):
            return self.sure
        return self.likely if _BUS_ERROR.search(text) else 0.0
