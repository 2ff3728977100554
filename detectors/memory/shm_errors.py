"""Ranks that ended with an error of shared memory, and hosts whose processes did."""

import re
from collections.abc import Sequence

from ...vocabulary.findings import Finding
from ...vocabulary.samples import Event
from ..contract import Detector
from ..findings import report_event
from ..tenants import own_events, says, text_of
from ..window import JobWindow

_SHM = re.compile(
    r"out of shared memory|shared memory limit|insufficient shared memory"
    r"|nccl-shm-\w|/dev/shm/nccl-"
    r"|posix_fallocate failed|shm\.exhausted|dataloader\.shared_memory"
    r"|(unable to|cannot|could not|failed to) [\w ]{0,20}shared memory"
    r"|(/dev/shm|shm_open|shared memory)[^\n]{0,80}no space left"
    r"|no space left[^\n]{0,80}(/dev/shm|shared memory)",
    re.IGNORECASE,
)
_OTHER = re.compile(
    r"too many open files|permission denied|function not implemented", re.IGNORECASE
)
"""Why a segment may not be had though there is room for it."""
_SIGBUS = 7
_BUS_ERROR = re.compile(r"bus error|sigbus", re.IGNORECASE)


class ShmErrorsDetector(Detector):
    """Name the ranks that ended because shared memory could not be had, or their hosts.

    A log line that says so, or a bus error (SIGBUS) of the rank or its data loader: writing to a
    page of a full tmpfs raises one. A bus error alone has other reasons too, a mapped file that was
    cut short among them, and scores less. /dev/shm fills faster than it is reported: such a line
    is often there before any reading of its usage. A line that names shared memory and no rank,
    only the host that it was written on, is the host's. Evidence for a crash.

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
    kinds = ("rank.shm_error", "host.shm_error")

    def __init__(self, *, sure: float = 3.0, likely: float = 1.5) -> None:
        self.sure = sure
        self.likely = likely

    def evaluate(self, window: JobWindow) -> Sequence[Finding]:
        """Return one finding a rank, of its best sign, and one a host of lines without a rank."""
        found: dict[tuple[str, int], Finding] = {}
        for event in own_events(window):
            score, text = self._sign(window, event)
            if not score:
                continue
            row = window.row_of_event(event)
            host = event.resource.host
            if row is not None:
                key = "rank.shm_error", row
            elif event.attributes.get("rank") is None and host in window.hosts:
                key = "host.shm_error", window.hosts.index(host)
            else:
                continue
            if row is None and score < self.sure:
                continue  # the kernel calls errors of PCIe bus errors too
            if score <= (found[key].score if key in found else 0.0):
                continue
            kind, place = key
            ours = kind == "rank.shm_error"
            whose = f"rank {int(window.ranks[place])}" if ours else f"host {host}"
            found[key] = report_event(
                window,
                self.name,
                kind,
                window.rank_entity(place) if ours else window.host_entity(place),
                event,
                score=score,
                observed=text[:200],
                text=f"{whose}: {text[:200]}",
            )
        return [found[key] for key in sorted(found, reverse=True)]

    def _sign(self, window: JobWindow, event: Event) -> tuple[float, str]:
        """Return how sure an event is one of shared memory, 0 for none, and what it says."""
        if event.name == "log.fault" and event.attributes.get("role") != "cascade":
            return self._score(window, event), text_of(event).strip()
        if event.name == "process.exit" and event.attributes.get("signal") == _SIGBUS:
            return self.likely, "ended by signal 7 (bus error)"
        return 0.0, ""

    def _score(self, window: JobWindow, event: Event) -> float:
        if says(window, event, _OTHER):
            return 0.0
        if says(window, event, _SHM):
            return self.sure
        return self.likely if says(window, event, _BUS_ERROR) else 0.0
