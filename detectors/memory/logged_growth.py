"""Memory that grows by what the log of a job that is over says of it."""

from collections.abc import Sequence

from ...vocabulary import entities
from ...vocabulary.findings import Finding
from ...vocabulary.log_lines import DEVICE_GROWS, HOST_GROWS
from .. import tenants
from ..ended_jobs import EndedJobDetector
from ..findings import report
from ..window import JobWindow
from . import growth
from .gpu_leak import ALLOCATED
from .host_processes import PRIVATE

_NO_PID = 0


class LoggedGrowthDetector(EndedJobDetector):
    """Report memory of a device or of a process whose growth a log shows in a column of its lines.

    In no list of detectors: whoever reads the log has judged the growth up to its end, and a live
    job goes on.

    Parameters
    ----------
    over : when the job was over, in seconds since the epoch: nothing is said before.

    Examples
    --------
    >>> import numpy as np
    >>> from rankscope.detectors.sketch import START, sketch
    >>> from rankscope.vocabulary.samples import Event
    >>> said = Event("log.fault", START + 60, {"role": "confirmation", "signature": DEVICE_GROWS,
    ...              "text": "device memory grows from 3 to 9 GiB"})
    >>> window = sketch(np.full((1, 60), 0.8), events=[said], now=START + 61)
    >>> for finding in LoggedGrowthDetector(over=START + 60.5).evaluate(window):
    ...     print(finding.kind, finding.text)
    job.gpu_memory_grows device memory grows from 3 to 9 GiB

    Fails where a log says only now and then what is held. Cannot tell which process of a host
    grows.

    Reference: growth.py, for what is measured.
    """

    name = "logged_growth"
    kinds = ("job.gpu_memory_grows", "process.memory_grows")

    def of_end(self, window: JobWindow) -> Sequence[Finding]:
        """Return a finding on the job, and one on a process of no known number."""
        found: list[Finding] = []
        host = next((name for name in window.hosts if name), entities.UNNAMED_HOST)
        process = entities.process(host, _NO_PID, window.ranks.tolist()[:1])
        for signature, kind, entity, signal in (
            (DEVICE_GROWS, "job.gpu_memory_grows", window.entity, ALLOCATED),
            (HOST_GROWS, "process.memory_grows", process, PRIVATE),
        ):
            lines = tenants.lines_of(window, signature)
            if not lines:
                continue
            found.append(
                report(
                    window,
                    self.name,
                    kind,
                    entity,
                    onset=lines[0].at,
                    seen=(lines[0].at, lines[-1].at),
                    magnitude=growth.INTEREST_SECONDS,
                    score=2.0,
                    signal=signal,
                    observed=signature,
                    text=tenants.text_of(lines[0]),
                )
            )
        return found
